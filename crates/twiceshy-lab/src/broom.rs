//! A broom filter under experiment: the filter, its remote, and keys to store and to ask for.

use crate::fixed_set::FixedSet;
use crate::workload::keys::Keys;
use twiceshy::error::OptionsError;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{BroomFilter, BroomOptions};
use twiceshy::remote::{ByHash, Counting, Key, Remote};
use twiceshy::{AdaptiveFilter, Error};

/// More stored keys than an experiment has, and as many absent ones.
const MOST: u64 = 1 << 48;

/// A broom filter over a counting remote in memory. The same options give the same run.
///
/// ```
/// use twiceshy_lab::broom::{Subject, loaded};
///
/// let mut subject = Subject::new(loaded(1000, 8))?;
/// subject.fill(1000)?;
/// let query = subject.next_mistake();
/// subject.filter.was_wrong(&query)?;
/// assert!(!subject.filter.contains(&query));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Subject<R = ByHash> {
    /// L over R.
    pub filter: AdaptiveFilter<BroomFilter, Counting<R>>,
    keys: Keys,
    filled: u64,
    asked: u64,
}

/// The options of a filter that `keys` keys load to 95 %, with remainders of this width.
pub fn loaded(keys: u64, width: u32) -> BroomOptions {
    BroomFilter::with_slots((keys as f64 / 0.95).ceil() as u64, width)
}

impl Subject {
    /// An empty filter.
    pub fn new(options: BroomOptions) -> Result<Subject, Error> {
        Subject::over(ByHash::new(), options, 1)
    }
}

impl Subject<FixedSet> {
    /// An empty filter whose set will be the keys of these numbers and no others, for long experiments.
    pub fn fixed(numbers: u64, options: BroomOptions, seed: u64) -> Result<Subject<FixedSet>, Error> {
        let keys = Keys::new(MOST, MOST, seed).ok_or(OptionsError::Capacity(MOST))?;
        Subject::over(FixedSet::new((0..numbers).map(|number| Key::from(&keys.stored(number)[..]))), options, seed)
    }
}

impl<R: Remote> Subject<R> {
    fn over(remote: R, options: BroomOptions, seed: u64) -> Result<Subject<R>, Error> {
        let keys = Keys::new(MOST, MOST, seed).ok_or(OptionsError::Capacity(MOST))?;
        let filter = options.build(HashKey::fixed(seed), Counting::new(remote))?;
        Ok(Subject { filter, keys, filled: 0, asked: 0 })
    }

    /// The key to be stored under a number.
    pub fn key(&self, number: u64) -> [u8; 8] {
        self.keys.stored(number)
    }

    /// Inserts the keys of the next numbers, from 0 on.
    pub fn fill(&mut self, keys: u64) -> Result<(), Error> {
        for number in self.filled..self.filled + keys {
            self.filter.insert(&self.keys.stored(number))?;
            self.filled = number + 1;
        }
        Ok(())
    }

    /// A key that was never stored and never asked for.
    pub fn next_absent(&mut self) -> [u8; 8] {
        self.asked += 1;
        self.keys.absent(self.asked - 1)
    }

    /// Such a key that the filter calls present. Does not end where the filter calls none so.
    pub fn next_mistake(&mut self) -> [u8; 8] {
        loop {
            let query = self.next_absent();
            if self.filter.contains(&query) {
                return query;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy::filter::Filter;

    #[test]
    fn a_subject_holds_just_the_keys_of_its_first_numbers_and_mistakes_are_other_keys() {
        let mut subject = Subject::new(loaded(500, 4)).expect("the remote is empty");
        subject.fill(300).expect("there is room");
        subject.fill(200).expect("there is room");
        assert_eq!((subject.filter.len(), subject.filter.filter().cells()), (500, 527));
        assert!((0..500).all(|number| subject.filter.contains(&subject.key(number))));
        let stored: Vec<[u8; 8]> = (0..500).map(|number| subject.key(number)).collect();
        for _ in 0..20 {
            let query = subject.next_mistake();
            assert!(subject.filter.contains(&query) && !stored.contains(&query));
        }
    }
}
