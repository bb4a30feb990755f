//! Counts about the queries of a trial.

use crate::workload::key_set::KeySet;

/// Remembers which distinct keys were asked for and which were ever wrong, and counts them.
pub(super) trait Known {
    /// Records that the key was asked for. Returns `true` the first time.
    fn asked(&mut self, number: u64, key: &[u8]) -> bool;

    /// Records that the key was wrong. Returns `true` the first time.
    fn wrong(&mut self, number: u64, key: &[u8]) -> bool;
}

/// Generated keys have numbers: two bits each.
pub(super) struct Numbered {
    asked: Vec<u64>,
    wrong: Vec<u64>,
}

impl Numbered {
    pub(super) fn new(keys: u64) -> Numbered {
        let words = keys.div_ceil(64) as usize;
        Numbered { asked: vec![0; words], wrong: vec![0; words] }
    }
}

/// Sets a bit. Returns `true` if it was clear.
fn set(bits: &mut [u64], number: u64) -> bool {
    let (word, bit) = (&mut bits[(number / 64) as usize], 1 << (number % 64));
    let clear = *word & bit == 0;
    *word |= bit;
    clear
}

impl Known for Numbered {
    fn asked(&mut self, number: u64, _: &[u8]) -> bool {
        set(&mut self.asked, number)
    }

    fn wrong(&mut self, number: u64, _: &[u8]) -> bool {
        set(&mut self.wrong, number)
    }
}

/// Keys of a trace are stored whole.
#[derive(Default)]
pub(super) struct Named {
    asked: KeySet,
    wrong: KeySet,
}

impl Known for Named {
    fn asked(&mut self, _: u64, key: &[u8]) -> bool {
        self.asked.insert(key)
    }

    fn wrong(&mut self, _: u64, key: &[u8]) -> bool {
        self.wrong.insert(key)
    }
}

/// The counts of one trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) queries: u64,
    pub(super) distinct: u64,
    pub(super) false_positives: u64,
    pub(super) wrong_at_first: u64,
    pub(super) ever_wrong: u64,
    pub(super) unfixable: u64,
    pub(super) still_present: u64,
    pub(super) rebuilds: u64,
}
