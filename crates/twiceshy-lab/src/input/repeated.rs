//! Finds a line that makes up a large part of an input, in constant memory.

use std::hash::{BuildHasher as _, RandomState};

/// Candidates kept at a time. A line that is more than one in `CANDIDATES + 1` is always among them.
const CANDIDATES: usize = 15;

/// The share of all lines from which a line is suspicious.
const SHARE: f64 = 0.1;

/// Shorter inputs are not judged.
const FEWEST: u64 = 100;

/// Bytes of a line that are kept to be shown.
const SHOWN: usize = 40;

/// The algorithm of Misra and Gries: each candidate has a count that never exceeds its true number.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    hasher: RandomState,
    candidates: Vec<Candidate>,
    lines: u64,
}

#[derive(Debug)]
struct Candidate {
    hash: u64,
    count: u64,
    shown: Vec<u8>,
}

impl Repeated {
    pub(super) fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        let hash = self.hasher.hash_one(line);
        if let Some(known) = self.candidates.iter_mut().find(|candidate| candidate.hash == hash) {
            known.count += 1;
        } else if self.candidates.len() < CANDIDATES {
            let shown = line[..line.len().min(SHOWN)].to_vec();
            self.candidates.push(Candidate { hash, count: 1, shown });
        } else {
            self.candidates.iter_mut().for_each(|candidate| candidate.count -= 1);
            self.candidates.retain(|candidate| candidate.count > 0);
        }
    }

    /// The most frequent line, if it is suspiciously frequent: its start, the least number of times that it came, and the
    /// number of all lines.
    pub(super) fn suspicious(&self) -> Option<(&[u8], u64, u64)> {
        let most = self.candidates.iter().max_by_key(|candidate| candidate.count)?;
        let enough = self.lines >= FEWEST && most.count as f64 >= SHARE * self.lines as f64;
        enough.then_some((&most.shown[..], most.count, self.lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(lines: impl Iterator<Item = u64>) -> Repeated {
        let mut repeated = Repeated::default();
        lines.for_each(|line| repeated.add(line.to_string().as_bytes()));
        repeated
    }

    #[test]
    fn a_line_that_is_a_fifth_of_all_is_found_and_one_in_fifty_is_not() {
        let often = fed((0..10_000).map(|i| if i % 5 == 0 { 7 } else { 100 + i }));
        let (line, at_least, lines) = often.suspicious().expect("one in five");
        assert_eq!((line, lines), (b"7".as_slice(), 10_000));
        assert!((1_000..=2_000).contains(&at_least), "{at_least}");
        assert!(fed((0..10_000).map(|i| if i % 50 == 0 { 7 } else { 100 + i })).suspicious().is_none());
        assert!(fed(0..10_000).suspicious().is_none());
    }

    #[test]
    fn a_short_input_is_not_judged() {
        assert!(fed((0..99).map(|_| 1)).suspicious().is_none());
        assert!(fed((0..100).map(|_| 1)).suspicious().is_some());
        assert!(fed(0..0).suspicious().is_none());
    }
}
