//! The operations of a child. They depend only on the seed and the round, so an acknowledgement is just a number.

use super::keys::{ASKED, STORED, key, value};
use crate::workload::rng::Rng;
use twiceshy_store::{Adapt, Durability};

/// One call of the guard, or some look-ups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Insert(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    InsertAll(Vec<(Vec<u8>, Vec<u8>)>),
    RemoveAll(Vec<Vec<u8>>),
    Ask(Vec<Vec<u8>>),
    /// Also syncs everything before it.
    Save,
}

impl Operation {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Operation::Insert(..) => "insert",
            Operation::Remove(_) => "remove",
            Operation::InsertAll(_) => "insert_all",
            Operation::RemoveAll(_) => "remove_all",
            Operation::Ask(_) => "contains",
            Operation::Save => "save",
        }
    }

    /// The keys that it uses.
    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let keys: Vec<&[u8]> = match self {
            Operation::Insert(key, _) | Operation::Remove(key) => vec![key],
            Operation::InsertAll(entries) => entries.iter().map(|(key, _)| &**key).collect(),
            Operation::RemoveAll(keys) | Operation::Ask(keys) => keys.iter().map(Vec::as_slice).collect(),
            Operation::Save => Vec::new(),
        };
        keys.into_iter()
    }
}

/// The most keys in a batch. The guard commits that many together, so a batch is stored completely or not at all.
const BATCH: u64 = 300;

/// How many absent keys a round looks up repeatedly.
const FAVOURITES: u64 = 40;

/// For how many operations the set grows, or shrinks, at a stretch.
const STRETCH: u64 = 40;

/// The endless operations of a round.
#[derive(Clone, Debug)]
pub(super) struct Script {
    rng: Rng,
    round: u64,
    /// The next operation's number.
    number: u64,
    durability: Durability,
    adapt: Adapt,
    /// Out of 24 operations.
    saves: u64,
    grows: bool,
    favourites: Vec<u64>,
}

impl Script {
    pub(super) fn new(seed: u64, round: u64) -> Script {
        let mut rng = Rng::stream(seed, 2 * round);
        Script {
            round,
            number: 0,
            durability: if rng.below(2) == 0 { Durability::Synced } else { Durability::Seen },
            adapt: if rng.below(2) == 0 { Adapt::Always } else { Adapt::WhenItPays },
            // Without saves the log gets long, and lost sequence numbers are used again.
            saves: [0, 4][rng.below(2) as usize],
            grows: rng.below(3) > 0,
            favourites: (0..FAVOURITES).map(|_| rng.below(ASKED)).collect(),
            rng,
        }
    }

    /// The durability of the round's changes when they return.
    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    pub(super) fn adapt(&self) -> Adapt {
        self.adapt
    }

    /// Keys for a batch; small batches are as frequent as large ones.
    fn batch(&mut self) -> Vec<Vec<u8>> {
        let most = if self.rng.below(2) == 0 { 10 } else { BATCH };
        let len = 1 + self.rng.below(most);
        (0..len).map(|_| key(self.rng.below(STORED))).collect()
    }

    fn change(&mut self) -> Operation {
        let comes = (self.rng.below(4) > 0) == self.grows;
        let alone = self.rng.below(4) > 0;
        match (comes, alone) {
            (true, true) => Operation::Insert(key(self.rng.below(STORED)), value(self.round, self.number, 0)),
            (false, true) => Operation::Remove(key(self.rng.below(STORED))),
            (true, false) => {
                let keys = self.batch().into_iter().enumerate();
                Operation::InsertAll(keys.map(|(at, key)| (key, value(self.round, self.number, at))).collect())
            }
            (false, false) => Operation::RemoveAll(self.batch()),
        }
    }

    /// Look-ups of random keys, and of the same keys again and again.
    fn ask(&mut self) -> Operation {
        let len = 1 + self.rng.below(40);
        let number = |rng: &mut Rng| match rng.below(2) {
            0 => rng.below(ASKED),
            _ => self.favourites[rng.below(FAVOURITES) as usize],
        };
        Operation::Ask((0..len).map(|_| key(number(&mut self.rng))).collect())
    }
}

impl Iterator for Script {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        if self.number % STRETCH == STRETCH - 1 {
            self.grows = self.rng.below(2) == 0;
        }
        let operation = match self.rng.below(24) {
            number if number < self.saves => Operation::Save,
            number if number < 12 => self.ask(),
            _ => self.change(),
        };
        self.number += 1;
        Some(operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_reproducible_and_differs_by_round() {
        let some = |seed, round| Script::new(seed, round).take(200).collect::<Vec<_>>();
        assert_eq!(some(3, 7), some(3, 7));
        assert_ne!(some(3, 7), some(3, 8));
        assert_ne!(some(3, 7), some(4, 7));
    }

    #[test]
    fn a_script_has_every_operation_and_its_batches_are_committed_at_once() {
        let mut counts = [0; 6];
        for operation in (0..20).flat_map(|round| Script::new(1, round).take(100)) {
            let (kind, len) = match &operation {
                Operation::Insert(..) => (0, 1),
                Operation::Remove(_) => (1, 1),
                Operation::InsertAll(entries) => (2, entries.len()),
                Operation::RemoveAll(keys) => (3, keys.len()),
                Operation::Ask(keys) => (4, keys.len()),
                Operation::Save => (5, 1),
            };
            assert!(len > 0 && len < 1_000);
            counts[kind] += 1;
        }
        assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
    }
}
