//! What is measured: one trait for a filled filter, and one type for the way to fill it.

use crate::laps::Laps;
use std::hint::black_box;

/// A filled filter, or anything else that answers look-ups.
pub trait Subject {
    /// `true` if the key may be stored.
    fn contains(&self, key: u64) -> bool;

    /// The bits that are allocated.
    fn bits(&self) -> u64;

    /// The cells or slots, if it has any.
    fn cells(&self) -> Option<u64> {
        None
    }

    /// Answers many look-ups at once; `None` if it has no such operation. `found` gets an answer for each key.
    fn contains_batch(&self, keys: &[u64], found: &mut Vec<bool>) -> Option<()> {
        let _ = (keys, found);
        None
    }
}

/// A subject of any type. The loops over questions are inside, compiled for each type, so that one dynamic call is paid for a
/// chunk of questions and none for a question.
pub trait Asked {
    /// Asks all questions, and counts those answered *present*.
    fn ask(&self, questions: &[u64]) -> u64;

    /// The same in one batch; `None` if the subject has no batches.
    fn ask_batch(&self, questions: &[u64], found: &mut Vec<bool>) -> Option<u64>;

    /// The bits that are allocated.
    fn bits(&self) -> u64;

    /// The cells or slots, if it has any.
    fn cells(&self) -> Option<u64>;
}

impl<S: Subject> Asked for S {
    #[inline(never)]
    fn ask(&self, questions: &[u64]) -> u64 {
        let mut present = 0;
        for question in questions {
            present += u64::from(self.contains(*question));
        }
        black_box(present)
    }

    #[inline(never)]
    fn ask_batch(&self, questions: &[u64], found: &mut Vec<bool>) -> Option<u64> {
        found.clear();
        self.contains_batch(questions, found)?;
        Some(black_box(found.iter().map(|found| u64::from(*found)).sum()))
    }

    fn bits(&self) -> u64 {
        Subject::bits(self)
    }

    fn cells(&self) -> Option<u64> {
        Subject::cells(self)
    }
}

/// The keys to fill a filter with, and what to do besides.
#[derive(Clone, Copy, Debug)]
pub struct Task<'k> {
    /// The keys, in the order of insertion.
    pub keys: &'k [u64],
    /// Distinct absent keys for each stored one that an adaptive filter is asked after it was filled, adapting to every
    /// mistake; `None` if only the time of the fill is wanted.
    pub adapt: Option<u64>,
}

impl Task<'_> {
    /// The number of keys.
    pub fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    /// The cells that give a load of 95 %.
    pub fn cells(&self) -> u64 {
        (self.count() * 100).div_ceil(95).max(1)
    }
}

/// What came of filling a filter.
pub struct Filled {
    /// The time of the insertions, of filter and remote together.
    pub laps: Laps,
    /// The filter, without its remote.
    pub fresh: Box<dyn Asked>,
    /// Only if the task asked for more than the time.
    pub adapted: Option<Adapted>,
    /// The time of the same additions to the remote alone, if there is one.
    pub remote: Option<Laps>,
    /// The time of the same insertions in batches, if the filter has them. Only if the task asked for more than the time.
    pub batch: Option<Laps>,
}

impl Filled {
    /// A filter that does not adapt and has no remote.
    pub fn plain(laps: Laps, fresh: impl Subject + 'static) -> Filled {
        Filled { laps, fresh: Box::new(fresh), adapted: None, remote: None, batch: None }
    }
}

/// A filter after adapting.
pub struct Adapted {
    /// The filter, without its remote.
    pub filter: Box<dyn Asked>,
    /// The mistakes that it adapted to.
    pub mistakes: u64,
}

/// Fills a filter, or says why that failed.
pub type Fill = Box<dyn Fn(Task<'_>) -> anyhow::Result<Filled>>;

/// A filter to measure: its name and the way to fill it.
pub struct Contestant {
    /// The name in all outputs.
    pub name: String,
    /// `true` for filters of twiceshy.
    pub ours: bool,
    /// The name of the hash function.
    pub hash: &'static str,
    /// Makes and fills one.
    pub fill: Fill,
}
