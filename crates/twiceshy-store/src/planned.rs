//! What a new store will be built with, without building it.

use crate::options::Options;
use twiceshy::Kind;
use twiceshy::error::OptionsError;
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::remote::Generation;

/// An empty filter up to this many keys is made to see what it takes. Larger ones are computed from it.
const MOST_MADE: u64 = 1 << 24;

/// The filter of a new store: see [`Options::planned`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Planned {
    /// The kind.
    pub kind: Kind,
    /// The false-positive rate that it is built for.
    pub rate: f64,
    /// The number of keys that it is built for: the expected ones and some more, so that it need not grow at once.
    pub capacity: u64,
    /// Its cells or slots.
    pub cells: u64,
    /// The bits of a cell or of a remainder.
    pub width: u32,
    /// The index entries that the store keeps for each key. An insertion writes all of them.
    pub index_entries: u8,
    /// The memory of the empty filter in bits: exact up to 16 million keys, computed from that above.
    pub local_bits: u64,
}

impl Options {
    /// What a new store with these options is built with. The sizes are those of the code that makes it.
    ///
    /// ```
    /// use twiceshy_store::{Kind, MemoryStore, Options};
    ///
    /// let options = Options::new().filter(Kind::Extension).false_positive_rate(0.01).expected_keys(5_000);
    /// let planned = options.planned()?;
    /// let guard = options.open(MemoryStore::new())?;
    /// assert_eq!(guard.stats().cells, planned.cells);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn planned(&self) -> Result<Planned, OptionsError> {
        let (choice, capacity) = self.choice();
        let (cells, width) = self.geometry()?;
        let made = choice.kind.make(capacity.min(MOST_MADE), choice.rate, HashKey::fixed(0), Generation(0))?;
        let larger = cells as f64 / made.cells() as f64;
        Ok(Planned {
            kind: choice.kind,
            rate: choice.rate,
            capacity,
            cells,
            width,
            index_entries: made.layout().1.orders,
            local_bits: (made.local_bits() as f64 * larger) as u64,
        })
    }

    /// The cells of a new store's filter, and their width in bits. Makes nothing.
    pub fn geometry(&self) -> Result<(u64, u32), OptionsError> {
        let (choice, capacity) = self.choice();
        choice.kind.geometry(capacity, choice.rate)
    }

    /// The empty filter of a new store.
    pub(crate) fn empty_filter(&self, hash: HashKey) -> Result<Box<dyn Backed>, OptionsError> {
        let (choice, capacity) = self.choice();
        choice.kind.make(capacity, choice.rate, hash, Generation(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;

    #[test]
    fn a_filled_store_is_what_was_planned() {
        for kind in Kind::ALL {
            for (keys, rate) in [(0, 0.5), (100, 0.01), (3_000, 1.0 / 256.0), (20_000, 0.0001)] {
                let options = Options::new().filter(*kind).false_positive_rate(rate).expected_keys(keys);
                let planned = options.planned().expect("usual options");
                let guard = options.background(false).open(MemoryStore::new()).expect("an empty store");
                let empty = guard.stats();
                assert_eq!((planned.kind, planned.rate), guard.filter().expect("memory"));
                assert_eq!((planned.cells, planned.local_bits), (empty.cells, empty.local_bits), "{kind}");
                let layout =
                    guard.inner().filter.read().expect("no panic").as_ref().map(|filter| filter.layout().1.orders);
                assert_eq!(layout, Some(planned.index_entries), "{kind}");
                guard.insert_all((0..keys).map(|number| (number.to_be_bytes(), b""))).expect("memory");
                let filled = guard.stats();
                assert_eq!((filled.cells, filled.grown), (planned.cells, 0), "{kind}: it need not grow");
                let more = filled.local_bits as f64 / planned.local_bits as f64;
                assert!((1.0..1.05).contains(&more), "{kind}, {keys} keys: {more}");
            }
        }
    }

    #[test]
    fn a_plan_for_more_keys_than_fit_in_memory_is_made_without_them() {
        let planned = Options::new().expected_keys(10_000_000_000).planned().expect("ten billion keys");
        assert!(planned.cells > 11_000_000_000);
        let bits = planned.local_bits as f64 / planned.cells as f64;
        assert!((10.9..11.2).contains(&bits), "8 bits of a remainder and 3 beside it: {bits}");
        assert!(Options::new().expected_keys(u64::MAX).planned().is_err());
        assert!(Options::new().false_positive_rate(2.0).planned().is_err());
    }
}
