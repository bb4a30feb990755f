//! The rounds of a torture.

use super::checking::check;
use super::damage::Shelf;
use super::fate::Fate;
use super::folder::Folder;
use super::model::Model;
use super::ordeal::{Ordeal, Scene, undergo};
use super::process::{Heard, run_child};
use super::report::Report;
use super::script::{Operation, Script};
use super::trouble::Trouble;
use super::{Programs, Settings, Turn, Wrong};
use crate::workload::rng::Rng;
use std::io;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use twiceshy_store::{Durability, Kind};

/// How many rounds a store is used for.
const ROUNDS: u64 = 11;

/// A store under torture.
struct Victim {
    folder: Folder,
    filter: Kind,
    rate: f64,
    /// What it holds, according to the last check.
    model: Model,
    /// What the copy holds that was opened, checked and closed.
    checked: Model,
    rounds: u64,
}

pub(super) struct Torture<'a> {
    settings: &'a Settings,
    programs: &'a Programs<'a>,
    victim: Option<Victim>,
    shelf: Shelf,
    report: Report,
}

impl Torture<'_> {
    pub(super) fn new<'a>(settings: &'a Settings, programs: &'a Programs<'a>) -> Torture<'a> {
        let report = Report { seed: settings.seed, ..Report::default() };
        Torture { settings, programs, victim: None, shelf: Shelf::default(), report }
    }

    pub(super) fn failures(&self) -> usize {
        self.report.failures.len()
    }

    pub(super) fn end(self) -> io::Result<Report> {
        self.victim.map_or(Ok(()), |victim| victim.folder.delete())?;
        Ok(self.report)
    }

    pub(super) fn round(&mut self, round: u64) -> io::Result<()> {
        // The script uses the even streams.
        let mut rng = Rng::stream(self.settings.seed, 2 * round + 1);
        let mut victim = match self.victim.take() {
            Some(victim) => victim,
            None => self.new_victim(&mut rng)?,
        };
        self.report.rounds += 1;
        victim.rounds += 1;
        match self.run_round(&mut victim, round, &mut rng)? {
            Err(wrong) => {
                let kept = victim.folder.path().display();
                let filter = self.settings.filter.map_or(String::new(), |filter| format!(" --filter {filter}"));
                let again = format!("--seed {} --rounds {}{filter}", self.settings.seed, round + 1);
                let sentence =
                    format!("round {round} ({again}), {}: {wrong}; the store is kept in {kept}", victim.filter);
                self.report.failures.push(sentence);
            }
            Ok(()) if victim.rounds == ROUNDS => victim.folder.delete()?,
            Ok(()) => self.victim = Some(victim),
        }
        Ok(())
    }

    fn new_victim(&mut self, rng: &mut Rng) -> io::Result<Victim> {
        let number = self.report.stores;
        self.report.stores += 1;
        self.shelf.begin();
        let in_turn = Kind::ALL[number as usize % Kind::ALL.len()];
        Ok(Victim {
            folder: Folder::make(self.settings.folder.join(format!("torture-{number}")))?,
            filter: self.settings.filter.unwrap_or(in_turn),
            // High, so that there is always something to learn.
            rate: 1.0 / [8.0, 16.0][rng.below(2) as usize],
            model: Model::default(),
            checked: Model::default(),
            rounds: 0,
        })
    }

    /// Runs a child; then damages, checks and possibly restores the store.
    fn run_round(&mut self, victim: &mut Victim, round: u64, rng: &mut Rng) -> io::Result<Result<(), Wrong>> {
        let script = Script::new(self.settings.seed, round);
        let fate = Fate::draw(rng, script.durability());
        let (seed, operations) = (self.settings.seed, fate.operations());
        let turn = Turn { seed, round, filter: victim.filter, rate: victim.rate, operations };
        let heard = run_child((self.programs.child)(&turn, &victim.folder.store()), fate)?;
        self.report.add(&heard);
        let counts = counts(&heard, &script, operations);
        if let Some(wrong) = heard.wrong {
            return Ok(Err(Wrong::Answer(wrong)));
        }
        if let Err(wrong) = self.open(victim, &turn, rng, |model, found| model.reached(script, counts, found))? {
            return Ok(Err(wrong));
        }
        if let Some(model) = self.shelf.go_back(&victim.folder.store(), rng)? {
            self.report.went_back += 1;
            victim.model = model;
            if let Err(wrong) = self.open(victim, &turn, rng, |model, found| model.exactly(found))? {
                return Ok(Err(wrong));
            }
        } else {
            self.shelf.keep(&victim.folder.store(), &victim.model, rng)?;
        }
        self.undergo(victim, turn)
    }

    /// Puts the copy that was checked through an ordeal.
    fn undergo(&mut self, victim: &mut Victim, turn: Turn) -> io::Result<Result<(), Wrong>> {
        // Other streams than those of the script and of the round.
        let mut rng = Rng::stream(self.settings.seed, u64::MAX - turn.round);
        let Some(ordeal) = Ordeal::draw(&mut rng, &self.settings.ordeals) else { return Ok(Ok(())) };
        let (folder, beside) = (victim.folder.checked(), victim.folder.beside());
        if beside.try_exists()? {
            std::fs::remove_dir_all(&beside)?;
        }
        let scene = Scene { turn, folder, beside, model: std::mem::take(&mut victim.checked) };
        match undergo(ordeal, scene, &mut rng, self.programs.probe) {
            Ok(tally) => self.report.survived(tally),
            Err(Trouble::Store(wrong)) => return Ok(Err(wrong)),
            Err(Trouble::Machine(error)) => return Err(error),
        }
        Ok(Ok(()))
    }

    /// Opens a copy of the store and checks it, possibly with other files next to it.
    fn open(
        &mut self,
        victim: &mut Victim,
        turn: &Turn,
        rng: &mut Rng,
        expected: impl FnOnce(Model, &Model) -> Result<Model, String>,
    ) -> io::Result<Result<(), Wrong>> {
        self.report.damaged += u64::from(self.shelf.damage(&victim.folder.store(), rng)?);
        let copy = victim.folder.copy()?;
        let before = std::mem::take(&mut victim.model);
        let checked = catch_unwind(AssertUnwindSafe(|| check(turn, &copy, |found| expected(before, found))));
        let panicked = |_| Err(Wrong::Answer("the check panicked: see its message above".into()));
        Ok(checked.unwrap_or_else(panicked).map(|(model, origin, after)| {
            (victim.model, victim.checked) = (model, after);
            self.report.open(origin);
        }))
    }
}

/// The least and the most operations that the store may reflect: those that are certainly durable, and those
/// acknowledged plus the one in progress.
fn counts(heard: &Heard, script: &Script, most: u64) -> RangeInclusive<u64> {
    let acknowledged = heard.operations;
    let certain = if heard.closed || script.durability() == Durability::Synced {
        acknowledged
    } else {
        let done = script.clone().take(acknowledged as usize).zip(1..);
        done.filter(|(operation, _)| *operation == Operation::Save).map(|(_, number)| number).last().unwrap_or(0)
    };
    certain..=(acknowledged + 1).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(durability: Durability) -> Script {
        let saves = |script: &Script| script.clone().take(100).any(|operation| operation == Operation::Save);
        let mut scripts = (0..).map(|round| Script::new(1, round));
        scripts.find(|script| script.durability() == durability && saves(script)).expect("one")
    }

    fn heard(operations: u64) -> Heard {
        Heard { operations, opened: true, killed: true, ..Heard::default() }
    }

    #[test]
    fn a_synced_operation_that_was_acknowledged_is_certain() {
        let script = script(Durability::Synced);
        assert_eq!(counts(&heard(0), &script, 10_000), 0..=1);
        assert_eq!(counts(&heard(17), &script, 10_000), 17..=18);
        assert_eq!(counts(&heard(40), &script, 40), 40..=40);
    }

    #[test]
    fn a_seen_operation_is_certain_when_a_later_save_was_acknowledged() {
        let script = script(Durability::Seen);
        let saved = 1 + script.clone().position(|operation| operation == Operation::Save).expect("one") as u64;
        assert_eq!(counts(&heard(saved - 1), &script, 10_000), 0..=saved);
        assert_eq!(counts(&heard(saved), &script, 10_000), saved..=saved + 1);
        let closed = Heard { closed: true, killed: false, ..heard(saved - 1) };
        assert_eq!(counts(&closed, &script, saved - 1), saved - 1..=saved - 1);
    }
}
