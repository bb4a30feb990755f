//! What is remembered of keys that were removed (001 section 4.3).
//!
//! A ghost keeps the quotient and the adaptivity bits of a fingerprint, and forgets the remainder. A key that comes to its
//! quotient and agrees with its bits takes at least those bits: if it is the key that was removed, it collides with nobody
//! whom it was told from before. A ghost without bits would say nothing, and equal ones say it once. Ghosts are never looked
//! up and never matched to keys; they leave with their hash function.

use super::functions::Age;
use super::haunted::{Haunted, Place};
use super::strings::Bits;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ghosts {
    by_age: [Haunted; 2],
    /// Those whose function has ended: they are forgotten a few at a time, since no operation may take as long as there are
    /// ghosts.
    leaving: Vec<Haunted>,
    journal: Option<Vec<Undo>>,
    /// No ghost is ever kept, so that a test can show what they are for.
    #[cfg(feature = "testing")]
    pub(crate) off: bool,
}

/// How many groups of them an operation forgets. It leaves one ghost at most, so they are gone before the next phase ends.
const FORGOTTEN_AT_ONCE: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Undo {
    Came(Age, Place, Bits),
    /// A phase ended.
    Left,
}

impl Ghosts {
    /// Remembers a fingerprint that goes.
    pub(crate) fn add(&mut self, age: Age, place: Place, bits: Bits) {
        #[cfg(feature = "testing")]
        if self.off {
            return;
        }
        if bits == Bits::EMPTY {
            return;
        }
        if self.by_age[age as usize].add(place, bits)
            && let Some(journal) = &mut self.journal
        {
            journal.push(Undo::Came(age, place, bits));
        }
    }

    /// Those of a file, in order.
    pub(crate) fn from_sorted(ghosts: &[(Age, Place, Bits)]) -> Ghosts {
        let of_age = |age| ghosts.iter().filter(move |(own, ..)| *own == age).map(|(_, place, bits)| (*place, *bits));
        Ghosts { by_age: Age::BOTH.map(|age| Haunted::from_sorted(of_age(age))), ..Ghosts::default() }
    }

    /// How many bits a key with this tail must take over.
    pub(crate) fn bits_for(&self, age: Age, place: Place, tail: u64) -> u32 {
        let here = self.by_age[age as usize].at(place);
        here.filter(|bits| bits.is_prefix_of(tail)).map(|bits| bits.len).max().unwrap_or(0)
    }

    /// The old function ends, and the new one is the old one from now on.
    pub(crate) fn end_phase(&mut self) {
        let new = std::mem::take(&mut self.by_age[Age::New as usize]);
        let left = std::mem::replace(&mut self.by_age[Age::Old as usize], new);
        if let Some(journal) = &mut self.journal {
            journal.push(Undo::Left);
        }
        self.leaving.push(left);
    }

    pub(crate) fn len(&self) -> u64 {
        self.iter().count() as u64
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.by_age.iter().chain(&self.leaving).map(Haunted::allocated_bits).sum()
    }

    pub(crate) fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    pub(crate) fn keep(&mut self) {
        self.journal = None;
        if let Some(leaving) = self.leaving.last_mut() {
            (0..FORGOTTEN_AT_ONCE).for_each(|_| leaving.forget_some());
            self.leaving.pop_if(|leaving| leaving.is_empty());
        }
    }

    pub(crate) fn undo(&mut self) {
        for undo in self.journal.take().unwrap_or_default().into_iter().rev() {
            match undo {
                Undo::Came(age, place, bits) => self.by_age[age as usize].remove(place, bits),
                Undo::Left => {
                    let left = self.leaving.pop().unwrap_or_default();
                    self.by_age[Age::New as usize] = std::mem::replace(&mut self.by_age[Age::Old as usize], left);
                }
            }
        }
    }

    /// All of them, for saving, in order: age, level, quotient, bits.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Age, Place, Bits)> + '_ {
        Age::BOTH
            .into_iter()
            .flat_map(|age| self.by_age[age as usize].iter().map(move |(place, bits)| (age, place, bits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(len: u32, bits: u64) -> Bits {
        Bits { len, bits }
    }

    #[test]
    fn a_ghost_gives_its_bits_only_to_keys_of_its_function_and_quotient_that_agree_with_it() {
        let mut ghosts = Ghosts::default();
        ghosts.add(Age::Old, (0, 7), bits(3, 0b101));
        ghosts.add(Age::Old, (0, 7), bits(3, 0b101));
        ghosts.add(Age::Old, (0, 7), bits(1, 0b1));
        ghosts.add(Age::Old, (0, 7), Bits::EMPTY);
        assert_eq!(ghosts.len(), 2, "equal ones merge, and one without bits is not kept");
        assert!(ghosts.iter().is_sorted(), "a file has them in order");
        assert_eq!(ghosts.bits_for(Age::Old, (0, 7), 0b1101), 3);
        assert_eq!(ghosts.bits_for(Age::Old, (0, 7), 0b1111), 1);
        assert_eq!(ghosts.bits_for(Age::Old, (0, 7), 0b1110), 0);
        for (age, place) in [(Age::New, (0, 7)), (Age::Old, (1, 7)), (Age::Old, (0, 8))] {
            assert_eq!(ghosts.bits_for(age, place, 0b101), 0);
        }
    }

    #[test]
    fn ghosts_leave_with_their_function_and_an_operation_that_did_not_hold_is_forgotten() {
        let mut ghosts = Ghosts::default();
        ghosts.add(Age::Old, (0, 1), bits(2, 2));
        ghosts.add(Age::New, (0, 1), bits(1, 1));
        let before = ghosts.clone();
        ghosts.begin();
        ghosts.add(Age::New, (1, 9), bits(4, 3));
        ghosts.end_phase();
        ghosts.add(Age::Old, (0, 1), bits(2, 2));
        assert_eq!(ghosts.len(), 3);
        assert_eq!(ghosts.bits_for(Age::Old, (0, 1), 1), 1, "the new function is the old one now");
        ghosts.undo();
        assert_eq!(ghosts, before);
        ghosts.end_phase();
        ghosts.end_phase();
        assert_eq!(ghosts.len(), 0);
        assert!(ghosts.allocated_bits() > 0, "they are forgotten by operations");
        ghosts.keep();
        ghosts.keep();
        assert_eq!(ghosts.allocated_bits(), 0);
    }
}
