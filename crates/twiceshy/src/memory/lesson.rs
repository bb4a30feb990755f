//! A pass over the memory, in parts.

use super::Memory;
use crate::remote::Key;

/// The most passes over all queries. To fix one may bring another back, so a pass that fixed something is followed by another.
const ROUNDS: u32 = 16;

/// How far a table was taught: the newest queries come first. If not all can be fixed, these matter most.
#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// The pass that is under way; `None` before the first.
    pass: Option<Pass>,
    rounds: u32,
    /// `true` if a query of this round was fixed.
    was_needed: bool,
}

/// A pass over the queries with these numbers, from above.
#[derive(Clone, Debug)]
struct Pass {
    first: u64,
    /// The queries from here on were asked.
    below: u64,
    /// Newer ones were remembered since.
    end: u64,
}

impl Lesson {
    /// The beginning.
    pub fn new() -> Lesson {
        Lesson::default()
    }

    /// Those of the next `limit` queries that a table matches; `None` at the end. The caller fixes those that are mistakes.
    pub fn next(&mut self, memory: &Memory, limit: usize, matches: impl Fn(&[u8]) -> bool) -> Option<Vec<Key>> {
        let now = memory.added();
        let pass = self.pass.get_or_insert(Pass { first: 0, below: now, end: now });
        let mut matched = Vec::new();
        let mut asked = 0;
        for (number, query) in memory.newest(pass.first..pass.below, limit.max(1)) {
            (pass.below, asked) = (number, asked + 1);
            if matches(query) {
                matched.push(query.clone());
            }
        }
        if asked > 0 {
            return Some(matched);
        }
        if now > pass.end {
            // Those that were remembered meanwhile.
            *pass = Pass { first: pass.end, below: now, end: now };
            return Some(matched);
        }
        self.rounds += 1;
        if !std::mem::take(&mut self.was_needed) || self.rounds >= ROUNDS {
            return None;
        }
        *pass = Pass { first: 0, below: now, end: now };
        Some(matched)
    }

    /// A query of this lesson was fixed.
    pub fn fixed(&mut self) {
        self.was_needed = true;
    }
}
