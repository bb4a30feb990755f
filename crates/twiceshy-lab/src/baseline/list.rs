//! A list of mistakes, with or without a bound.

use crate::workload::rng::Rng;
use lru::LruCache;
use std::cell::RefCell;
use std::collections::HashMap;

/// Which mistake leaves a full list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evicts {
    /// The one that was asked for least recently.
    LeastRecent,
    /// Any, with equal chance. The number is the random seed.
    Random(u64),
    /// None: a full list takes no other mistake.
    Nothing,
}

/// Keys that a filter was wrong about.
///
/// It holds whole keys: shorter fingerprints could turn away stored keys that look alike. Only the keys' bytes are counted,
/// not the index that finds them, which favours the list.
#[derive(Clone, Debug)]
pub struct MistakeList {
    kept: RefCell<Kept>,
    bytes: u64,
    most_bytes: Option<u64>,
}

#[derive(Clone, Debug)]
enum Kept {
    ByUse(LruCache<Box<[u8]>, ()>),
    /// Each key's number in `keys`; random evictions if there is a source of randomness.
    InSlots {
        numbers: HashMap<Box<[u8]>, usize>,
        keys: Vec<Box<[u8]>>,
        rng: Option<Rng>,
    },
}

impl MistakeList {
    /// An empty list of at most `most_bytes` bytes; unbounded for `None`.
    pub fn new(most_bytes: Option<u64>, evicts: Evicts) -> MistakeList {
        let in_slots = |rng| Kept::InSlots { numbers: HashMap::new(), keys: Vec::new(), rng };
        let kept = match evicts {
            Evicts::LeastRecent => Kept::ByUse(LruCache::unbounded()),
            Evicts::Random(seed) => in_slots(Some(Rng::new(seed))),
            Evicts::Nothing => in_slots(None),
        };
        MistakeList { kept: RefCell::new(kept), bytes: 0, most_bytes }
    }

    /// `true` if a key is on the list. Counts as a use of it.
    pub fn has(&self, key: &[u8]) -> bool {
        self.kept.borrow_mut().has(key)
    }

    /// Adds a key. A key longer than the whole list is ignored.
    pub fn note(&mut self, key: &[u8]) {
        let most = self.most_bytes.unwrap_or(u64::MAX);
        let (kept, size) = (self.kept.get_mut(), key.len() as u64);
        if size > most || kept.has(key) {
            return;
        }
        while self.bytes + size > most {
            let Some(evicted) = kept.evict() else { return };
            self.bytes -= evicted.len() as u64;
        }
        kept.add(key);
        self.bytes += size;
    }

    /// Takes a key off the list, since it is stored now.
    pub fn forget(&mut self, key: &[u8]) {
        if self.kept.get_mut().remove(key) {
            self.bytes -= key.len() as u64;
        }
    }

    /// Empties the list.
    pub fn clear(&mut self) {
        while let Some(evicted) = self.kept.get_mut().pop() {
            self.bytes -= evicted.len() as u64;
        }
    }

    /// The number of keys on the list.
    pub fn len(&self) -> usize {
        match &*self.kept.borrow() {
            Kept::ByUse(keys) => keys.len(),
            Kept::InSlots { keys, .. } => keys.len(),
        }
    }

    /// `true` if no key is on the list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its memory in bits; a bounded list counts as full.
    pub fn bits(&self) -> u64 {
        8 * self.most_bytes.unwrap_or(self.bytes)
    }
}

impl Kept {
    fn has(&mut self, key: &[u8]) -> bool {
        match self {
            Kept::ByUse(keys) => keys.get(key).is_some(),
            Kept::InSlots { numbers, .. } => numbers.contains_key(key),
        }
    }

    fn add(&mut self, key: &[u8]) {
        match self {
            Kept::ByUse(keys) => drop(keys.put(key.into(), ())),
            Kept::InSlots { numbers, keys, .. } => {
                numbers.insert(key.into(), keys.len());
                keys.push(key.into());
            }
        }
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        match self {
            Kept::ByUse(keys) => keys.pop(key).is_some(),
            Kept::InSlots { numbers, keys, .. } => numbers.remove(key).is_some_and(|at| {
                keys.swap_remove(at);
                if let Some(moved) = keys.get(at) {
                    numbers.insert(moved.clone(), at);
                }
                true
            }),
        }
    }

    /// Takes off the key that leaves a full list; `None` if none does.
    fn evict(&mut self) -> Option<Box<[u8]>> {
        match self {
            Kept::ByUse(_) => self.pop(),
            Kept::InSlots { rng: None, .. } => None,
            Kept::InSlots { keys, rng: Some(rng), .. } => {
                let evicted = keys.get(rng.below(keys.len().max(1) as u64) as usize)?.clone();
                self.remove(&evicted).then_some(evicted)
            }
        }
    }

    /// Takes off any key; of those by use, the least recent.
    fn pop(&mut self) -> Option<Box<[u8]>> {
        match self {
            Kept::ByUse(keys) => keys.pop_lru().map(|(key, ())| key),
            Kept::InSlots { numbers, keys, .. } => {
                let key = keys.pop()?;
                numbers.remove(&key);
                Some(key)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(count: u32) -> impl Iterator<Item = [u8; 4]> {
        (0..count).map(u32::to_be_bytes)
    }

    #[test]
    fn a_list_that_evicts_nothing_keeps_the_first_and_one_that_evicts_at_random_keeps_any() {
        let mut first = MistakeList::new(Some(43), Evicts::Nothing);
        keys(30).for_each(|key| first.note(&key));
        assert_eq!(keys(30).filter(|key| first.has(key)).collect::<Vec<_>>(), keys(10).collect::<Vec<_>>());
        let mut times = [0u32; 30];
        for seed in 0..3_000 {
            let mut any = MistakeList::new(Some(43), Evicts::Random(seed));
            keys(30).for_each(|key| any.note(&key));
            assert_eq!((any.len(), any.bits()), (10, 344));
            keys(30).zip(&mut times).for_each(|(key, times)| *times += u32::from(any.has(&key)));
        }
        // The last is always there; the first survived twenty evictions, one in ten each.
        assert_eq!(times[29], 3_000);
        let survived = 3_000.0 * 0.9f64.powi(20);
        assert!((f64::from(times[0]) - survived).abs() < 4.0 * survived.sqrt(), "{times:?}");
    }

    #[test]
    fn a_key_that_is_forgotten_makes_room() {
        for evicts in [Evicts::Nothing, Evicts::Random(1), Evicts::LeastRecent] {
            let mut list = MistakeList::new(Some(12), evicts);
            keys(3).for_each(|key| list.note(&key));
            list.forget(&0u32.to_be_bytes());
            list.forget(&9u32.to_be_bytes());
            list.note(&5u32.to_be_bytes());
            let kept = [1u32, 2, 5].iter().all(|key| list.has(&key.to_be_bytes()));
            assert!(kept && list.len() == 3, "{evicts:?}: {list:?}");
            list.clear();
            assert!(list.is_empty() && !list.has(&2u32.to_be_bytes()), "{evicts:?}");
            keys(3).for_each(|key| list.note(&key));
            assert_eq!(list.len(), 3, "{evicts:?}: room for as many as before");
        }
    }
}
