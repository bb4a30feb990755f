//! The results of torture.

use super::checking::Origin;
use super::ordeal::Tally;
use super::process::Heard;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts over all rounds. In each, a child works on a store and is killed, and the store is opened and checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Rounds.
    pub rounds: u64,
    /// Stores made.
    pub stores: u64,
    /// Children killed before they had opened the store.
    pub killed_opening: u64,
    /// Children killed with the store open.
    pub killed_working: u64,
    /// Children that ended by themselves.
    pub ended: u64,
    /// Acknowledged operations.
    pub operations: u64,
    /// False positives that the filters learned from.
    pub adapted: u64,
    /// How often the filters grew.
    pub grown: u64,
    /// Stores whose files were damaged or replaced by older ones before they were opened.
    pub damaged: u64,
    /// Stores restored to a copy from some rounds before.
    pub went_back: u64,
    /// Opens that found no store yet, or one without a filter to save.
    pub new: u64,
    /// Opens that found a snapshot of the last commit.
    pub from_snapshot: u64,
    /// Opens that found an older snapshot and rolled it forward.
    pub rolled_forward: u64,
    /// Commits that snapshots were rolled forward over.
    pub commits_rolled_forward: u64,
    /// Opens that had to rebuild the filter.
    pub rebuilt: u64,
    /// What was done to stores besides killing their processes, by name, and how often.
    pub ordeals: BTreeMap<String, u64>,
    /// Stores that were repaired after their maps were changed behind the guard's back.
    pub repaired: u64,
    /// Values that were damaged or gone, and that the repair has named.
    pub lost: u64,
    /// The failures, one sentence each.
    pub failures: Vec<String>,
}

impl Report {
    /// Adds what a child reported.
    pub(super) fn add(&mut self, heard: &Heard) {
        match (heard.killed, heard.opened) {
            (true, false) => self.killed_opening += 1,
            (true, true) => self.killed_working += 1,
            (false, _) => self.ended += 1,
        }
        self.operations += heard.operations;
        self.adapted += heard.adapted;
        self.grown += heard.grown;
    }

    /// Adds what an ordeal did.
    pub(super) fn survived(&mut self, tally: Tally) {
        for (name, count) in tally.done {
            *self.ordeals.entry(name).or_default() += count;
        }
        self.repaired += tally.repaired;
        self.lost += tally.lost;
    }

    /// Adds one opened and checked store.
    pub(super) fn open(&mut self, origin: Origin) {
        match origin {
            Origin::New => self.new += 1,
            Origin::Snapshot => self.from_snapshot += 1,
            Origin::RolledForward(commits) => {
                self.rolled_forward += 1;
                self.commits_rolled_forward += commits;
            }
            Origin::Rebuilt => self.rebuilt += 1,
        }
    }
}
