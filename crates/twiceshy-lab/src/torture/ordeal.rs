//! What a store goes through after a round's kill, besides being opened: one ordeal, drawn from the seed.

use super::Turn;
use super::model::Model;
use super::trouble::Trouble;
use super::{flood, forging, probed, storm, tampering};
use crate::workload::rng::Rng;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

/// What is done to stores besides killing their processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordeal {
    /// The snapshot is forged, or something else is in its place.
    Snapshot,
    /// Entries of the store's maps are changed behind the guard's back, and the store is repaired.
    Maps,
    /// The bytes of the store's file are damaged; another process opens it.
    File,
    /// Threads work on a store that fails, loses answers, stalls and panics.
    Threads,
    /// Clients ask for many absent keys while these are inserted.
    Flood,
}

impl Ordeal {
    /// All of them.
    pub const ALL: [Ordeal; 5] = [Ordeal::Snapshot, Ordeal::Maps, Ordeal::File, Ordeal::Threads, Ordeal::Flood];

    /// The name in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Ordeal::Snapshot => "snapshot",
            Ordeal::Maps => "maps",
            Ordeal::File => "file",
            Ordeal::Threads => "threads",
            Ordeal::Flood => "flood",
        }
    }

    /// The ordeal of a round; `None` for a round without one, or with one that was not asked for.
    pub(super) fn draw(rng: &mut Rng, asked: &[Ordeal]) -> Option<Ordeal> {
        let drawn = match rng.below(16) {
            0..=3 => Ordeal::Snapshot,
            4..=6 => Ordeal::Maps,
            7..=10 => Ordeal::File,
            11..=12 => Ordeal::Threads,
            13..=14 => Ordeal::Flood,
            _ => return None,
        };
        asked.contains(&drawn).then_some(drawn)
    }
}

impl fmt::Display for Ordeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Ordeal {
    type Err = String;

    fn from_str(name: &str) -> Result<Ordeal, String> {
        let names = Ordeal::ALL.map(Ordeal::name).join(", ");
        let found = Ordeal::ALL.into_iter().find(|ordeal| ordeal.name() == name);
        found.ok_or_else(|| format!("there is no ordeal {name:?}: choose from {names}"))
    }
}

/// A closed and sound store, whose contents are known.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) turn: Turn,
    pub(super) folder: PathBuf,
    /// A path for another folder beside it.
    pub(super) beside: PathBuf,
    pub(super) model: Model,
}

/// What an ordeal did, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// What was done, and how often.
    pub(super) done: BTreeMap<String, u64>,
    /// Stores that were repaired.
    pub(super) repaired: u64,
    /// Values that a repair reported as lost.
    pub(super) lost: u64,
}

impl Tally {
    pub(super) fn of(name: impl Into<String>) -> Tally {
        Tally { done: [(name.into(), 1)].into(), ..Tally::default() }
    }
}

/// Puts a store through an ordeal. `command` makes the command of a process that opens a damaged store.
pub(super) fn undergo(
    ordeal: Ordeal,
    scene: Scene,
    rng: &mut Rng,
    command: &dyn Fn(&Turn, &Path) -> Command,
) -> Result<Tally, Trouble> {
    match ordeal {
        Ordeal::Snapshot => forging::run(scene, rng),
        Ordeal::Maps => tampering::run(scene, rng),
        Ordeal::File => probed::run(scene, rng, command),
        Ordeal::Threads => storm::run(scene.turn.filter, rng),
        Ordeal::Flood => flood::run(scene.turn.filter, rng),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordeal_is_drawn_and_none_that_was_not_asked_for() {
        let drawn = |asked: &[Ordeal]| {
            let draws = (0..400).filter_map(|round| Ordeal::draw(&mut Rng::stream(1, round), asked));
            draws.map(|ordeal| ordeal.name()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(drawn(&Ordeal::ALL).len(), Ordeal::ALL.len());
        assert_eq!(drawn(&[Ordeal::File]), ["file"].into());
        assert!(drawn(&[]).is_empty());
        assert!(Ordeal::ALL.into_iter().all(|ordeal| ordeal.name().parse() == Ok(ordeal)));
        assert!("flod".parse::<Ordeal>().is_err());
    }
}
