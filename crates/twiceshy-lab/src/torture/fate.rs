//! When a child is killed.

use crate::workload::rng::Rng;
use std::time::Duration;
use twiceshy_store::Durability;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Killed this long after its start: while it opens the store, or soon after.
    DiesOpening { after: Duration },
    /// Killed this long after it has acknowledged `operations` operations: in the middle of one.
    DiesWorking { operations: u64, after: Duration },
    /// It ends by itself.
    Lives,
}

impl Fate {
    pub(super) fn draw(rng: &mut Rng, durability: Durability) -> Fate {
        let micros = |rng: &mut Rng, most| Duration::from_micros(rng.below(most));
        match rng.below(12) {
            0 => Fate::Lives,
            1..=2 => Fate::DiesOpening { after: micros(rng, 12_000) },
            _ => {
                // A child that waits for the disk does less.
                let most = if durability == Durability::Synced { 16 } else { 100 };
                Fate::DiesWorking { operations: rng.below(most), after: micros(rng, 3_000) }
            }
        }
    }

    /// How many operations a child is given: more than it can do if it is to be killed.
    pub(super) fn operations(self) -> u64 {
        match self {
            Fate::Lives => 20,
            _ => 10_000,
        }
    }
}
