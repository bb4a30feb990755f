//! A pass over the memory, in parts.

use super::Memory;
use crate::remote::Key;

/// The most passes. To fix a query may bring another one back, so a pass that found something wrong is followed by another.
const ROUNDS: u32 = 16;

/// How far a table was taught: the newest queries come first. If not all can be fixed, these matter most.
#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// Queries from this number on were asked in this round.
    before: Option<u64>,
    round: u32,
    /// `true` if a query of this round was wrong.
    was_needed: bool,
}

impl Lesson {
    /// The beginning.
    pub fn new() -> Lesson {
        Lesson::default()
    }

    /// Those of the next `limit` queries that a table gets wrong; `None` after the last round.
    pub fn next(&mut self, memory: &Memory, limit: usize, is_wrong: impl Fn(&[u8]) -> bool) -> Option<Vec<Key>> {
        let mut next = memory.before(self.before, limit.max(1)).peekable();
        if next.peek().is_none() {
            if !self.was_needed || self.round + 1 >= ROUNDS {
                return None;
            }
            *self = Lesson { before: None, round: self.round + 1, was_needed: false };
            return Some(Vec::new());
        }
        let mut wrong = Vec::new();
        for (number, query) in next {
            self.before = Some(number);
            if is_wrong(query) {
                wrong.push(query.clone());
            }
        }
        self.was_needed |= !wrong.is_empty();
        Some(wrong)
    }
}
