//! Queries that are answered *absent* although a fingerprint matches: a short exact list in L.
//!
//! An entry is half of a query's first hash word. It must never hide a stored key: none is made whose bits a stored key has,
//! and it goes when a key with its bits is inserted. Only a look-up that matches a fingerprint looks into the list.

use super::shape::Shape;
use crate::hash::Words;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::{CellId, Generation, Order, Place};

/// One entry for this many cells at most: half a bit for each cell.
const CELLS_PER_ENTRY: u64 = 64;

/// The fewest entries that a table has room for.
const FEWEST: u64 = 32;

/// The bits of a query that an entry keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bits(pub(crate) u32);

impl Bits {
    #[inline]
    pub(crate) fn of(words: &Words<'_>) -> Bits {
        Bits((words.word(0) >> 32) as u32)
    }

    /// Where a remote knows all keys with these bits.
    pub(crate) fn place(self, generation: Generation) -> Place {
        let first = u64::from(self.0) << 32;
        Place { generation, order: Order(0), words: first..=first | u64::from(u32::MAX), cell: CellId(0) }
    }
}

/// The entries in their order, and how many were wanted without room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exceptions {
    entries: Vec<Bits>,
    /// Mistakes that could be neither fixed nor listed since the table was made.
    pub(crate) refused: u64,
}

/// The most entries of a table of this shape.
pub(crate) fn most(shape: &Shape) -> u64 {
    (shape.cells() / CELLS_PER_ENTRY).max(FEWEST)
}

impl Exceptions {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(crate) fn contains(&self, bits: Bits) -> bool {
        self.entries.binary_search(&bits).is_ok()
    }

    /// Adds an entry that is not in the list, or takes one out that is.
    pub(crate) fn flip(&mut self, bits: Bits) {
        match self.entries.binary_search(&bits) {
            Ok(at) => drop(self.entries.remove(at)),
            Err(at) => {
                // Small steps, since all that is allocated counts.
                if self.entries.len() == self.entries.capacity() {
                    self.entries.reserve_exact((self.entries.len() / 8).max(16));
                }
                self.entries.insert(at, bits);
            }
        }
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Bits>()
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>) {
        out.u64(self.refused);
        out.u64(self.len());
        self.entries.iter().for_each(|bits| out.u32(bits.0));
    }

    pub(crate) fn read(from: &mut Reader, shape: &Shape) -> Result<Exceptions, LoadError> {
        let (refused, count) = (from.u64()?, from.u64()?);
        if count > most(shape) {
            return Err(LoadError::invalid(format!("its list of {count} exceptions is too long")));
        }
        let mut entries = Vec::new();
        for _ in 0..count {
            let bits = Bits(from.u32()?);
            if entries.last().is_some_and(|last| *last >= bits) {
                return Err(LoadError::invalid("its list of exceptions is out of order"));
            }
            entries.push(bits);
        }
        entries.shrink_to_fit();
        Ok(Exceptions { entries, refused })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::RememberingFilter;
    use crate::filter::{Backed, Filter, Operation};
    use crate::hash::HashKey;
    use crate::remote::{ByHash, Position};

    #[test]
    fn entries_come_and_go() {
        let mut list = Exceptions::default();
        for number in [5, 3, u32::MAX, 0, 9] {
            list.flip(Bits(number));
            assert!(list.contains(Bits(number)) && !list.contains(Bits(4)));
        }
        list.flip(Bits(3));
        assert!(!list.contains(Bits(3)) && list.contains(Bits(9)));
        assert_eq!((list.len(), list.is_empty()), (4, false));
    }

    /// Two keys whose entries would be equal.
    fn alike(hash: &HashKey) -> (Vec<u8>, Vec<u8>) {
        let mut seen = std::collections::HashMap::new();
        for number in 0u64.. {
            let key = number.to_be_bytes().to_vec();
            if let Some(other) = seen.insert(Bits::of(&hash.words(&key)), key.clone()) {
                return (other, key);
            }
        }
        unreachable!("there are more keys than entries")
    }

    #[test]
    fn a_stored_key_is_hidden_by_no_entry() {
        let hash = HashKey::fixed(9);
        let (stored, query) = alike(&hash);
        let mut pair = RememberingFilter::with_cells(64, 4).build(hash, ByHash::new()).unwrap();
        let bits = Bits::of(&hash.words(&query));
        assert_eq!(pair.filter().exception_for(&query, pair.remote()).unwrap(), Some(bits));
        pair.insert(&stored[..]).unwrap();
        assert_eq!(pair.filter().exception_for(&query, pair.remote()).unwrap(), None);
        pair.remove(&stored[..]).unwrap();
        assert_eq!(pair.filter().exception_for(&query, pair.remote()).unwrap(), Some(bits));
        // The other way round: the entry is there first, and the key takes it out, however it arrives.
        for way in 0..2 {
            let mut filter = pair.filter().clone();
            filter.local.exceptions.flip(bits);
            assert!(filter.local.is_exception(&stored));
            let plan = match way {
                0 => filter.plan(Operation::Insert(&stored), pair.remote()).unwrap(),
                _ => {
                    let at = Position { word: hash.words(&stored).word(0), key: (&*stored).into() };
                    filter.plan(Operation::Bring(&at), pair.remote()).unwrap()
                }
            };
            filter.apply(plan).unwrap();
            assert!(Filter::contains(&filter, &stored), "way {way}");
        }
        let mut filter = pair.filter().clone();
        filter.local.exceptions.flip(bits);
        let at = Position { word: hash.words(&stored).word(0), key: (&*stored).into() };
        filter.fill(&at, pair.remote()).unwrap();
        assert!(Filter::contains(&filter, &stored), "filled");
    }

    #[test]
    fn the_place_of_an_entry_holds_exactly_the_words_with_its_bits() {
        for key in 0..100u64 {
            let bytes = key.to_le_bytes();
            let words = HashKey::fixed(4).words(&bytes);
            let place = Bits::of(&words).place(Generation(1));
            assert!(place.words.contains(&words.word(0)));
            assert_eq!(place.words.start() >> 32, place.words.end() >> 32);
            assert_eq!(place.words.end() - place.words.start(), u64::from(u32::MAX));
        }
    }
}
