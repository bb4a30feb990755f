//! What the filter says of a key, before any store is asked.

use crate::inner::Inner;
use std::sync::PoisonError;

/// What the filter says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The filter turned it away.
    Absent,
    /// The filter let it pass, but it waits to be learned from, so it is absent.
    KnownAbsent,
    /// It may be there.
    Passed,
    /// There is no filter now, or a change of the key is under way.
    Unfiltered,
}

impl Asked {
    pub(crate) fn is_absent(self) -> bool {
        matches!(self, Asked::Absent | Asked::KnownAbsent)
    }
}

impl<S> Inner<S> {
    /// Asks the filter, and the list of false positives that wait to be learned from.
    #[inline]
    pub(crate) fn ask(&self, key: &[u8]) -> Asked {
        // In this order: see `Pending`.
        let before = self.pending.now();
        if self.pending.holds(key) {
            return Asked::Unfiltered;
        }
        let absent = match &*self.filter.read().unwrap_or_else(PoisonError::into_inner) {
            Some(filter) => !filter.contains(key),
            None => return Asked::Unfiltered,
        };
        match absent {
            true if self.pending.now() == before => Asked::Absent,
            true => Asked::Unfiltered,
            false if self.queue.holds(key) => Asked::KnownAbsent,
            false => Asked::Passed,
        }
    }

    /// Counts an answer.
    #[inline]
    pub(crate) fn count(&self, asked: Asked) {
        match asked {
            Asked::Absent => self.counters.turned_away.add(1),
            Asked::KnownAbsent => self.counters.known_absent.add(1),
            Asked::Unfiltered => self.counters.unfiltered.add(1),
            Asked::Passed => {}
        }
    }
}
