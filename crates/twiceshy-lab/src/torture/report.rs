//! What a torture has come to.

use super::checking::Origin;
use super::process::Heard;
use serde::Serialize;

/// Many rounds: a child works on a store and is killed, and the store is opened and checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Rounds.
    pub rounds: u64,
    /// Stores that were made.
    pub stores: u64,
    /// Children that were killed before they had the store open.
    pub killed_opening: u64,
    /// Children that were killed with the store open.
    pub killed_working: u64,
    /// Children that came to their end.
    pub ended: u64,
    /// Operations that were acknowledged.
    pub operations: u64,
    /// False positives that the filters have learned from.
    pub adapted: u64,
    /// How often the filters have grown.
    pub grown: u64,
    /// Stores whose files were damaged, or exchanged for older ones, before they were opened.
    pub damaged: u64,
    /// Stores that were put back to what they were some rounds before.
    pub went_back: u64,
    /// Opens and checks that found no store yet, or one without a filter to save.
    pub new: u64,
    /// Opens and checks that found a snapshot of the last commit.
    pub from_snapshot: u64,
    /// Opens and checks that found an older one, and brought it forward.
    pub rolled_forward: u64,
    /// Commits that snapshots were brought over.
    pub commits_rolled_forward: u64,
    /// Opens and checks that had to rebuild the filter.
    pub rebuilt: u64,
    /// What went wrong, one sentence each.
    pub failures: Vec<String>,
}

impl Report {
    /// A child has lived.
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

    /// A store was opened and checked.
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
