//! What happens to a filter after its queries, and which of its fixed mistakes it makes again.

use super::ReplayError;
use super::subject::Subject;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::time::Instant;
use twiceshy::hash::HashKey;
use twiceshy::remote::Key;

/// A change of the whole table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Afterwards {
    /// The table doubles this many times.
    Grow(u32),
    /// A new table of the same size, under the same hash key.
    Rebuild,
    /// A table under another hash key.
    Rekey,
    /// The filter is lost, and made anew from its keys and its saved memory.
    Recover,
}

impl FromStr for Afterwards {
    type Err = String;

    fn from_str(text: &str) -> Result<Afterwards, String> {
        let times = |times: &str| times.parse().ok().filter(|times| (1..=16).contains(times)).map(Afterwards::Grow);
        match (text, text.split_once(':')) {
            ("grow", _) => Some(Afterwards::Grow(1)),
            ("rebuild", _) => Some(Afterwards::Rebuild),
            ("rekey", _) => Some(Afterwards::Rekey),
            ("recover", _) => Some(Afterwards::Recover),
            (_, Some(("grow", number))) => times(number),
            _ => None,
        }
        .ok_or_else(|| "must be grow:N (with N from 1 to 16), rebuild, rekey or recover".to_owned())
    }
}

impl fmt::Display for Afterwards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Afterwards::Grow(times) => write!(f, "grow:{times}"),
            Afterwards::Rebuild => f.write_str("rebuild"),
            Afterwards::Rekey => f.write_str("rekey"),
            Afterwards::Recover => f.write_str("recover"),
        }
    }
}

/// What is left of what a filter has learned, summed over the trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Relearned {
    /// What was done after the queries.
    pub then: String,
    /// Queries that were wrong once, and no longer before that.
    pub fixed_before: u64,
    /// Those of them that are wrong after it.
    pub wrong_again: u64,
    /// Remembered queries before it, each counted once for every key that it was mistaken for.
    pub remembered: u64,
    /// Reads of the remote meanwhile.
    pub then_remote_reads: u64,
    /// The time that it took, in seconds.
    pub then_seconds: f64,
}

impl Relearned {
    pub(super) fn add(&mut self, other: &Relearned) {
        self.then.clone_from(&other.then);
        self.fixed_before += other.fixed_before;
        self.wrong_again += other.wrong_again;
        self.remembered += other.remembered;
        self.then_remote_reads += other.then_remote_reads;
        self.then_seconds += other.then_seconds;
    }
}

/// Changes the filter, and asks the mistakes again that were fixed.
pub(super) fn relearn(
    then: Afterwards,
    subject: &mut Subject,
    mistakes: &[Key],
    hash: HashKey,
) -> Result<Relearned, ReplayError> {
    let fixed: Vec<&Key> = mistakes.iter().filter(|query| !subject.contains(query)).collect();
    let (reads, remembered) = (subject.counts().0.reads, subject.remembered());
    let begun = Instant::now();
    subject.afterwards(then, hash)?;
    let then_seconds = begun.elapsed().as_secs_f64();
    Ok(Relearned {
        then: then.to_string(),
        fixed_before: fixed.len() as u64,
        wrong_again: fixed.iter().filter(|query| subject.contains(query)).count() as u64,
        remembered,
        then_remote_reads: subject.counts().0.reads - reads,
        then_seconds,
    })
}
