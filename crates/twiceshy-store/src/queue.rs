//! False positives that wait to be learned from.

use std::collections::{HashSet, VecDeque};
use twiceshy::remote::Key;

/// A queue of distinct queries, bounded in number and bytes, so that an attacker cannot make it grow.
#[derive(Debug)]
pub(crate) struct Queue {
    order: VecDeque<Key>,
    waiting: HashSet<Key>,
    bytes: usize,
    most: usize,
}

/// The limit on the bytes of all queries together.
const MOST_BYTES: usize = 1 << 20;

/// What happened to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    Waits,
    /// It was waiting already.
    Merged,
    /// There is no room.
    Skipped,
}

impl Queue {
    pub(crate) fn new(most: usize) -> Queue {
        Queue { order: VecDeque::new(), waiting: HashSet::new(), bytes: 0, most }
    }

    pub(crate) fn push(&mut self, query: &[u8]) -> Queued {
        if self.waiting.contains(query) {
            return Queued::Merged;
        }
        if self.order.len() >= self.most || self.bytes + query.len() > MOST_BYTES {
            return Queued::Skipped;
        }
        let query = Key::from(query);
        self.bytes += query.len();
        self.order.push_back(query.clone());
        self.waiting.insert(query);
        Queued::Waits
    }

    pub(crate) fn pop(&mut self) -> Option<Key> {
        let query = self.order.pop_front()?;
        self.bytes -= query.len();
        self.waiting.remove(&query);
        Some(query)
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.order.clear();
        self.waiting.clear();
        self.bytes = 0;
    }

    /// Its memory, approximately.
    pub(crate) fn local_bits(&self) -> u64 {
        (self.bytes + self.order.capacity() * size_of::<Key>() + self.waiting.capacity() * (size_of::<Key>() + 1))
            as u64
            * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_merges_repeats_and_skips_what_does_not_fit() {
        let mut queue = Queue::new(2);
        assert_eq!(queue.push(b"a"), Queued::Waits);
        assert_eq!(queue.push(b"a"), Queued::Merged);
        assert_eq!(queue.push(&vec![0; MOST_BYTES]), Queued::Skipped);
        assert_eq!(queue.push(b"b"), Queued::Waits);
        assert_eq!(queue.push(b"c"), Queued::Skipped);
        assert_eq!(queue.pop().as_deref(), Some(&b"a"[..]));
        assert_eq!(queue.push(b"a"), Queued::Waits);
        assert_eq!((queue.pop().as_deref(), queue.pop().as_deref()), (Some(&b"b"[..]), Some(&b"a"[..])));
        assert_eq!((queue.pop(), queue.waiting.len(), queue.bytes), (None, 0, 0));
    }
}
