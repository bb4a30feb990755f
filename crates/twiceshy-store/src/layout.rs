//! Where the index entries of a key belong.

use crate::choice::Choice;
use crate::entry;
use crate::inner::capacity;
use crate::state::State;
use twiceshy::filter::Backed;
use twiceshy::remote::{Frontier, Generation, OrderWords};

/// The entries that keys must have, according to the state record alone. No filter is needed that holds the set.
pub(crate) struct Layout {
    /// Empty filters: of the generation in use, and of the next one if there is a frontier between the two.
    old: Box<dyn Backed>,
    new: Option<(Box<dyn Backed>, Frontier)>,
}

impl Layout {
    /// `None` if the state names no usable index.
    pub(crate) fn of(state: &State) -> Option<Layout> {
        let Choice { kind, rate } = Choice::from_bytes(&state.choice)?;
        let empty = |generation: Generation| {
            let schema = state.schema(generation)?;
            let filter = kind.make(capacity(0), rate, schema.hash, generation).ok()?;
            (filter.layout().1.orders == schema.orders).then_some(filter)
        };
        let old = empty(state.in_use?)?;
        let new = match old.phase() {
            Some(_) => {
                let phase = state.phase()?;
                Some((empty(phase.new.0)?, phase.frontier))
            }
            None => None,
        };
        Some(Layout { old, new })
    }

    /// `true` if the index has entries of this generation.
    pub(crate) fn has(&self, generation: Generation) -> bool {
        let newer = self.new.as_ref().map(|(new, _)| new.layout().0);
        generation == self.old.layout().0 || Some(generation) == newer
    }

    /// The generation of a key, and its word for each order.
    pub(crate) fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        let entries = self.old.entries(key);
        match &self.new {
            // The last order is that of the frontier.
            Some((new, frontier)) if entries.1.as_slice().last().is_some_and(|at| *at < frontier.0) => new.entries(key),
            _ => entries,
        }
    }

    /// The index entries of a key, as bytes.
    pub(crate) fn bytes(&self, key: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let (generation, words) = self.entries(key);
        let entries: Vec<_> = words.iter().map(|(order, word)| entry::index(generation, order, word, key)).collect();
        entries.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::options::Options;
    use std::sync::PoisonError;
    use twiceshy::Kind;

    #[test]
    fn a_layout_says_what_the_filter_says() {
        for kind in Kind::ALL {
            let options = Options::new().filter(*kind).false_positive_rate(0.1).background(false);
            let guard = options.open(MemoryStore::new()).expect("an empty store");
            guard.insert_all((0..800u64).map(|number| (number.to_be_bytes(), b""))).expect("memory");
            // A broom filter moves its frontier when it learns.
            for number in 1_000..4_000u64 {
                assert!(!guard.contains(&number.to_be_bytes()).expect("memory"));
            }
            let layout = Layout::of(&guard.inner().read_state().expect("memory")).expect("an index");
            let filter = guard.inner().filter.read().unwrap_or_else(PoisonError::into_inner);
            let filter = filter.as_ref().expect("a filter");
            assert!((0..800u64).all(|key| layout.entries(&key.to_be_bytes()) == filter.entries(&key.to_be_bytes())));
        }
    }
}
