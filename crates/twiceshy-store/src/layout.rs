//! Where the index entries of a key belong.

use crate::choice::Choice;
use crate::entry;
use crate::state::State;
use twiceshy::Kind;
use twiceshy::remote::{Frontier, Generation, OrderWords, Schema};

/// The entries that keys must have, according to the state record alone. No filter is needed.
pub(crate) struct Layout {
    kind: Kind,
    /// The generation in use.
    old: (Generation, Schema),
    /// The next one, if there is a frontier between the two.
    new: Option<(Generation, Schema, Frontier)>,
}

impl Layout {
    /// `None` if the state names no index.
    pub(crate) fn of(state: &State) -> Option<Layout> {
        let Choice { kind, .. } = Choice::from_bytes(&state.choice)?;
        let in_use = state.in_use?;
        let old = (in_use, state.schema(in_use)?);
        let new = match kind.learning_writes() {
            true => state.phase().map(|phase| Some((phase.new.0, phase.new.1, phase.frontier)))?,
            false => None,
        };
        Some(Layout { kind, old, new })
    }

    /// `true` if the index has entries of this generation.
    pub(crate) fn has(&self, generation: Generation) -> bool {
        generation == self.old.0 || self.new.is_some_and(|(new, ..)| generation == new)
    }

    /// The generation of a key, and its word for each order.
    pub(crate) fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        let words = self.kind.order_words(&self.old.1, key);
        match &self.new {
            // The last order is that of the frontier.
            Some((new, schema, frontier)) if words.as_slice().last().is_some_and(|at| *at < frontier.0) => {
                (*new, self.kind.order_words(schema, key))
            }
            _ => (self.old.0, words),
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

    #[test]
    fn a_layout_says_what_the_filter_says() {
        for kind in Kind::ALL {
            for (keys, rate) in [(800, 0.1), (5_000, 1.0 / 256.0)] {
                let options = Options::new().filter(*kind).false_positive_rate(rate).background(false);
                let guard = options.open(MemoryStore::new()).expect("an empty store");
                guard.insert_all((0..keys).map(|number: u64| (number.to_be_bytes(), b""))).expect("memory");
                // A broom filter moves its frontier when it learns.
                for number in keys..keys + 3_000 {
                    assert!(!guard.contains(&number.to_be_bytes()).expect("memory"));
                }
                let layout = Layout::of(&guard.inner().read_state().expect("memory")).expect("an index");
                let filter = guard.inner().filter.read().unwrap_or_else(PoisonError::into_inner);
                let filter = filter.as_ref().expect("a filter");
                let same = |key: u64| layout.entries(&key.to_be_bytes()) == filter.entries(&key.to_be_bytes());
                assert!((0..keys).all(same), "{kind}");
            }
        }
    }
}
