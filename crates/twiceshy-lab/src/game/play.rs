//! Plays the games.

use super::diary::Diary;
use super::dispatch::Recipe;
use super::named::Outcome;
use super::notes::Notes;
use super::oracle::{Counts, Oracle};
use super::prelude::{MOST_PRELUDE_KEYS, Prelude};
use super::report::Report;
use super::tactics::Tactics;
use super::{ABSENT, AdversaryName, GameError, Settings};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sums over games. All are whole numbers, so the order of adding does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) outcome: Outcome,
    pub(super) counts: Counts,
    pub(super) diary: Diary,
    pub(super) bits_at_start: u128,
    pub(super) bits_at_end: u128,
    pub(super) moved_on_at_start: u128,
    pub(super) moved_on_at_end: u128,
}

impl Sum {
    fn add(&mut self, more: &Sum) {
        self.outcome.add(&more.outcome);
        self.counts.add(&more.counts);
        self.diary.add(&more.diary);
        self.bits_at_start += more.bits_at_start;
        self.bits_at_end += more.bits_at_end;
        self.moved_on_at_start += more.moved_on_at_start;
        self.moved_on_at_end += more.moved_on_at_end;
    }
}

/// Plays the games of all given adversaries on several threads. Returns a report for each.
pub(super) fn all(
    settings: &Settings,
    adversaries: &[AdversaryName],
    recipe: &Recipe,
    tactics: &Tactics,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Report>, GameError> {
    let table = Table { settings, adversaries, recipe, tactics, prelude: Prelude::new(settings, recipe)? };
    let (next, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let none = vec![Sum::default(); adversaries.len()];
    let sums: Mutex<Result<Vec<Sum>, GameError>> = Mutex::new(Ok(none.clone()));
    std::thread::scope(|threads| {
        for _ in 0..(settings.jobs.max(1) as u64).min(settings.games) {
            threads.spawn(|| {
                let mut mine = none.clone();
                let failed = loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= settings.games {
                        break None;
                    }
                    match table.play(number) {
                        Ok(games) => add_all(&mut mine, &games),
                        Err(error) => break Some(error),
                    }
                    progress(ended.fetch_add(1, Ordering::Relaxed) + 1);
                };
                if failed.is_some() {
                    next.store(settings.games, Ordering::Relaxed);
                }
                if let Ok(mut sums) = sums.lock() {
                    match (&mut *sums, failed) {
                        (Ok(sums), None) => add_all(sums, &mine),
                        (sums @ Ok(_), Some(error)) => *sums = Err(error),
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    let sums = sums.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())?;
    let reports = adversaries.iter().zip(&sums).map(|(&adversary, sum)| {
        let settings = Settings { adversary, ..settings.clone() };
        Report::new(&settings, recipe.static_rate, sum)
    });
    Ok(reports.collect())
}

fn add_all(sums: &mut [Sum], more: &[Sum]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        sum.add(more);
    }
}

/// The adversaries and their opponent.
struct Table<'a> {
    settings: &'a Settings,
    adversaries: &'a [AdversaryName],
    recipe: &'a Recipe,
    tactics: &'a Tactics,
    prelude: Prelude,
}

impl Table<'_> {
    /// The games with one number: ADAPTIVITY-GAME of Figure 1, with a filter that may have been in use before. Every
    /// adversary meets the same filter with the same random seed, and plays as if it were the only one.
    fn play(&self, number: u64) -> Result<Vec<Sum>, GameError> {
        let mut rng = Rng::stream(self.settings.seed, number);
        let too_many = || GameError::Setting("too many keys for 64-bit numbers: use fewer".into());
        let keys = Keys::new(self.settings.keys, ABSENT + MOST_PRELUDE_KEYS, rng.word()).ok_or_else(too_many)?;
        let mut oracle = Oracle::setup(self.recipe, &keys, Rng::new(rng.word()))?;
        self.prelude.play(&mut oracle, &keys, ABSENT)?;
        let notes = Notes::new(keys, self.settings.epsilon, self.recipe.anatomy, self.tactics, Rng::new(rng.word()));
        let Some((last, others)) = self.adversaries.split_last() else { return Ok(Vec::new()) };
        let mut games = Vec::with_capacity(self.adversaries.len());
        for name in others {
            games.push(one(*name, oracle.clone(), notes.clone(), rng.clone())?);
        }
        games.push(one(*last, oracle, notes, rng)?);
        Ok(games)
    }
}

/// One game of one adversary.
fn one(name: AdversaryName, mut oracle: Oracle, mut notes: Notes<'_>, mut rng: Rng) -> Result<Sum, GameError> {
    let (bits_at_start, moved_on_at_start) = (oracle.local_bits().into(), oracle.moved_on().into());
    let outcome = name.adversary().play(&mut oracle, &mut notes)?.decide(&mut oracle, &mut rng)?;
    Ok(Sum {
        outcome,
        counts: oracle.counts(),
        diary: Diary { named_wins: notes.diary.named * outcome.wins, ..notes.diary },
        bits_at_start,
        bits_at_end: oracle.local_bits().into(),
        moved_on_at_start,
        moved_on_at_end: oracle.moved_on().into(),
    })
}
