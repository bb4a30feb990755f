//! What the files of every family need: keys, random numbers, and a saved filter taken apart.

use twiceshy::hash::HashKey;

pub(crate) fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

pub(crate) fn mixed(seed: u64) -> u64 {
    HashKey::fixed(0).words(&seed.to_le_bytes()).word(0)
}

/// The next of a string of random numbers.
pub(crate) fn draw(state: &mut u64, bound: u64) -> u64 {
    *state += 1;
    mixed(*state) % bound
}

/// Takes fields off the front of a file.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(crate) fn take(&mut self, len: usize) -> Vec<u8> {
        let (field, rest) = self.0.split_at(len);
        self.0 = rest;
        field.to_vec()
    }

    pub(crate) fn number(&mut self, len: usize) -> u64 {
        self.take(len).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.number(1) as u8
    }

    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let len = self.number(8) as usize;
        self.take(len)
    }
}
