//! Is a history of one key linearizable? An exact check.
//!
//! A key is a register that holds a value or nothing. Every operation takes effect at one moment between its begin and its end, if it has ended; one
//! whose end was never seen may have taken effect at any moment since, or never. The search tries every operation that could be the next, and
//! remembers what it has tried: which operations have taken effect, and what the register held then.
//!
//! A run with faults has many operations whose end was never seen, and as many ways to choose among them would be too many. Three things shorten
//! the search and change no answer. One that writes what nobody saw explains nothing. One that writes what is there already changes nothing. Of
//! several that write the same, whichever takes effect, the oldest could have.

use std::collections::HashSet;

/// What an operation does to the register, or saw in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Sets the value. `None` is a removal.
    Write(Option<u64>),
    /// Sees the value.
    Read(Option<u64>),
}

/// An operation on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When it was begun.
    pub begin: u64,
    /// When its result was known; `None` if it never was.
    pub end: Option<u64>,
    /// What it does.
    pub does: Does,
}

/// Operations in the order in which they began, as a set of bits.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Done(Vec<u64>);

impl Done {
    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn with(&self, at: usize) -> Done {
        let mut more = self.clone();
        more.0[at / 64] |= 1 << (at % 64);
        more
    }
}

/// `true` if the operations can be put in an order that explains what was seen. The register is empty at first.
pub fn is_linearizable(operations: &[Operation]) -> bool {
    let is_seen = |value| operations.iter().any(|other| other.end.is_some() && other.does == Does::Read(value));
    // A read without a result tells nothing.
    let tells = |operation: &&Operation| match operation.does {
        _ if operation.end.is_some() => true,
        Does::Write(value) => is_seen(value),
        Does::Read(_) => false,
    };
    let mut operations: Vec<Operation> = operations.iter().filter(tells).copied().collect();
    operations.sort_by_key(|operation| operation.begin);
    let nothing = Done(vec![0; operations.len().div_ceil(64).max(1)]);
    let mut seen = HashSet::from([(nothing.clone(), None)]);
    let mut open = vec![(nothing, None)];
    while let Some((done, value)) = open.pop() {
        let waiting = || operations.iter().enumerate().filter(|(at, _)| !done.has(*at));
        if waiting().all(|(_, operation)| operation.end.is_none()) {
            return true;
        }
        // What begins after another has ended comes after it.
        let first_end = waiting().filter_map(|(_, operation)| operation.end).min().unwrap_or(u64::MAX);
        let mut tried: Vec<Does> = Vec::new();
        for (at, operation) in waiting().take_while(|(_, operation)| operation.begin <= first_end) {
            if operation.end.is_none() {
                if operation.does == Does::Write(value) || tried.contains(&operation.does) {
                    continue;
                }
                tried.push(operation.does);
            }
            let next = match operation.does {
                Does::Write(written) => (done.with(at), written),
                Does::Read(read) if read == value => (done.with(at), value),
                Does::Read(_) => continue,
            };
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::rng::Rng;

    fn operation(begin: u64, end: impl Into<Option<u64>>, does: Does) -> Operation {
        Operation { begin, end: end.into(), does }
    }

    #[test]
    fn what_was_acknowledged_must_be_seen() {
        let wrote = operation(0, 10, Does::Write(Some(1)));
        let denied = |begin| operation(begin, begin + 5, Does::Read(None));
        assert!(is_linearizable(&[wrote, denied(9)]));
        assert!(!is_linearizable(&[wrote, denied(11)]));
        assert!(is_linearizable(&[wrote, denied(11), operation(8, 12, Does::Write(None))]));
        assert!(is_linearizable(&[wrote, denied(11), operation(8, None, Does::Write(None))]));
        assert!(!is_linearizable(&[wrote, denied(11), operation(17, None, Does::Write(None))]));
        assert!(is_linearizable(&[]));
    }

    #[test]
    fn a_value_that_was_seen_stays_until_it_is_changed() {
        let lost = operation(0, None, Does::Write(Some(1)));
        let saw = |begin, value| operation(begin, begin + 1, Does::Read(value));
        assert!(is_linearizable(&[lost, saw(5, None), saw(10, Some(1))]));
        assert!(!is_linearizable(&[lost, saw(5, Some(1)), saw(10, None)]));
        assert!(!is_linearizable(&[saw(5, Some(3))]));
        let never_ended = Operation { end: None, ..saw(5, Some(3)) };
        assert!(is_linearizable(&[never_ended]));
    }

    /// Tries every order of every choice of the operations that may have had no effect.
    fn by_force(operations: &[Operation]) -> bool {
        fn go(left: &mut Vec<Operation>, value: Option<u64>) -> bool {
            if left.iter().all(|operation| operation.end.is_none()) {
                return true;
            }
            for at in 0..left.len() {
                let operation = left[at];
                if left.iter().any(|other| other.end.is_some_and(|end| end < operation.begin)) {
                    continue;
                }
                let next = match operation.does {
                    Does::Write(written) => written,
                    Does::Read(read) if read == value || operation.end.is_none() => value,
                    Does::Read(_) => continue,
                };
                left.remove(at);
                let fits = go(left, next);
                left.insert(at, operation);
                if fits {
                    return true;
                }
            }
            false
        }
        go(&mut operations.to_vec(), None)
    }

    #[test]
    fn many_changes_whose_end_was_never_seen_do_not_make_the_search_long() {
        let mut operations = Vec::new();
        for at in 0..200 {
            operations.push(operation(10 * at, None, Does::Write(None)));
            operations.push(operation(10 * at + 1, None, Does::Write(Some(1_000 + at))));
            operations.push(operation(10 * at + 2, 10 * at + 3, Does::Write(Some(at))));
            operations.push(operation(10 * at + 4, 10 * at + 5, Does::Read((at % 3 > 0).then_some(at))));
        }
        assert!(is_linearizable(&operations));
        operations.push(operation(5_000, 5_001, Does::Read(Some(3))));
        assert!(!is_linearizable(&operations), "that was overwritten long before");
    }

    #[test]
    fn the_search_finds_what_trying_every_order_finds() {
        let mut rng = Rng::stream(7, 1);
        let (mut yes, mut no) = (0, 0);
        for _ in 0..4_000 {
            let operations: Vec<Operation> = (0..6)
                .map(|_| {
                    let (begin, value) = (rng.below(12), rng.below(3));
                    let value = (value > 0).then_some(value);
                    let does = if rng.below(2) == 0 { Does::Write(value) } else { Does::Read(value) };
                    operation(begin, (rng.below(5) > 0).then(|| begin + 1 + rng.below(5)), does)
                })
                .collect();
            let fits = is_linearizable(&operations);
            assert_eq!(fits, by_force(&operations), "{operations:?}");
            if fits { yes += 1 } else { no += 1 }
        }
        assert!(yes > 300 && no > 300, "{yes} {no}");
    }
}
