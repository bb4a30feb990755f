//! A plain filter with a list of keys it was wrong about.

use super::list::{Evicts, MistakeList};
use twiceshy::filter::Filter;

/// A filter that checks its positive answers against a list of mistakes.
///
/// **Bounded** to a number of bytes, it is the rival of adaptive filters at equal memory: a plain filter, smaller by
/// the space of the list, which evicts the least recently asked mistake. **Unbounded**, it is the adaptive filter of
/// 001 Lemma 28, which lists every mistake; its memory grows with them.
#[derive(Clone, Debug)]
pub struct WithMistakes<F> {
    filter: F,
    mistakes: MistakeList,
}

/// 001 Lemma 28.
pub type Listed = WithMistakes<super::Bloom>;

impl<F> WithMistakes<F> {
    /// A filter with a list of at most `most_bytes` bytes; unbounded for `None`.
    pub fn new(filter: F, most_bytes: Option<u64>) -> WithMistakes<F> {
        WithMistakes::with(filter, MistakeList::new(most_bytes, Evicts::LeastRecent))
    }

    /// A filter with a list.
    pub fn with(filter: F, mistakes: MistakeList) -> WithMistakes<F> {
        WithMistakes { filter, mistakes }
    }

    /// The filter without its list.
    pub fn filter(&self) -> &F {
        &self.filter
    }

    /// The same, to insert keys.
    pub fn filter_mut(&mut self) -> &mut F {
        &mut self.filter
    }

    /// Records that a key is absent. A key longer than the whole list is ignored.
    pub fn note(&mut self, key: &[u8]) {
        self.mistakes.note(key);
    }

    /// Records that a key is stored now, so that it is no longer turned away.
    pub fn forget(&mut self, key: &[u8]) {
        self.mistakes.forget(key);
    }

    /// `true` if the key is on the list. It counts as asked for now.
    pub fn is_noted(&self, key: &[u8]) -> bool {
        self.mistakes.has(key)
    }

    /// The bits of the list; a bounded one counts as full.
    pub fn list_bits(&self) -> u64 {
        self.mistakes.bits()
    }

    /// The number of keys on the list.
    pub fn noted(&self) -> usize {
        self.mistakes.len()
    }
}

impl<F: Filter> Filter for WithMistakes<F> {
    fn contains(&self, key: &[u8]) -> bool {
        self.filter.contains(key) && !self.is_noted(key)
    }

    fn len(&self) -> u64 {
        self.filter.len()
    }

    fn cells(&self) -> u64 {
        self.filter.cells()
    }

    /// The filter's bits plus those of the list; a bounded list counts as full.
    fn local_bits(&self) -> u64 {
        self.filter.local_bits() + self.list_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls everything present.
    struct Credulous;

    impl Filter for Credulous {
        fn contains(&self, _: &[u8]) -> bool {
            true
        }
        fn len(&self) -> u64 {
            0
        }
        fn cells(&self) -> u64 {
            0
        }
        fn local_bits(&self) -> u64 {
            1000
        }
    }

    #[test]
    fn a_full_list_evicts_the_least_recently_asked_mistake() {
        let mut filter = WithMistakes::new(Credulous, Some(10));
        [&b"one"[..], b"two", b"six"].into_iter().for_each(|key| filter.note(key));
        assert!(!filter.contains(b"one"), "asked for just now");
        filter.note(b"ten");
        assert!(filter.contains(b"two") && !filter.contains(b"one") && !filter.contains(b"ten"));
        filter.note(b"longer than the list");
        assert!(filter.contains(b"longer than the list") && filter.noted() == 3);
        assert_eq!(filter.local_bits(), 1080);
    }

    #[test]
    fn an_unbounded_list_keeps_all_mistakes_and_counts_their_memory() {
        let mut filter = WithMistakes::new(Credulous, None);
        (0..1000u64).for_each(|key| filter.note(&key.to_le_bytes()));
        filter.note(&7u64.to_le_bytes());
        assert!((0..1000u64).all(|key| !filter.contains(&key.to_le_bytes())));
        assert_eq!(filter.local_bits(), 1000 + 1000 * 64);
    }
}
