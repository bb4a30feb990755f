//! Filters from outside: what they must be able to do, and how the lab makes them.

use std::fmt;
use std::sync::Arc;

/// A filter that the lab can measure: anything that can insert, look up and, if it can, adapt.
///
/// The filters of this project have their own way in, since their reads of the remote are counted. All others, also the
/// baselines of this crate, implement this trait. The lab makes a filter for each trial ([`Foreign`]), inserts all keys,
/// calls [`finish`](Rival::finish), asks every query, and reports each false positive
/// ([`was_wrong`](Rival::was_wrong)).
pub trait Rival: Send {
    /// Stores a key. The lab inserts each key once, all of them before the first look-up.
    ///
    /// **Contract.** After `Ok` the key is present until the end of the trial, whatever else is inserted or adapted.
    /// [`Refused::Full`] means that there is no room under this seed: the lab makes the filter again under another one,
    /// up to 20 times. [`Refused::Failed`] ends the run.
    fn insert(&mut self, key: &[u8]) -> Result<(), Refused>;

    /// Called once after the last insertion: for filters that are made of all keys at once. Errors are as in
    /// [`insert`](Rival::insert).
    fn finish(&mut self) -> Result<(), Refused> {
        Ok(())
    }

    /// `true` if the key may be stored.
    ///
    /// **Contract.** Never `false` for a stored key. The lab looks up all stored keys after filling and once more at the
    /// end of the trial; the first that is missing ends the run with an error that names the filter. The answer for a
    /// key changes only through [`was_wrong`](Rival::was_wrong).
    fn contains(&self, key: &[u8]) -> bool;

    /// Called after each false positive: the query is not stored, although [`contains`](Rival::contains) said so. A
    /// filter that does not learn does nothing.
    ///
    /// **Contract.** No stored key may become absent. The query may stay present. An error ends the run.
    fn was_wrong(&mut self, query: &[u8]) -> Result<(), Refused> {
        let _ = query;
        Ok(())
    }

    /// The memory in bits that look-ups need, as allocated now: fixed parts, spare cells and lists included. What a
    /// store would hold anyway, such as the keys themselves, does not count.
    fn bits(&self) -> u64;
}

/// Why a filter refuses to be made, to be filled or to learn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no room for a key. Another seed may help.
    #[error("it is full")]
    Full,
    /// Something else, in words.
    #[error("{0}")]
    Failed(String),
}

impl Refused {
    /// A failure with this cause.
    pub fn failed(why: impl fmt::Display) -> Refused {
        Refused::Failed(why.to_string())
    }
}

/// What a filter is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Room {
    /// The keys that will be inserted.
    pub keys: u64,
    /// The memory that it may take, in bits.
    pub bits: u64,
    /// The seed of all its randomness, its hash functions included. Trials have different seeds; they are independent
    /// only if the filter uses it.
    pub seed: u64,
}

impl Room {
    /// The bits for each key.
    pub fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys.max(1) as f64
    }
}

type Build = dyn Fn(Room) -> Result<Box<dyn Rival>, Refused> + Send + Sync;

/// A filter from outside, by its name and the function that makes it.
///
/// ```
/// use std::collections::HashSet;
/// use twiceshy_lab::open::{Foreign, Refused, Rival};
///
/// /// Keeps every key: no filter makes fewer mistakes, and none takes more memory.
/// struct Exact(HashSet<Vec<u8>>);
///
/// impl Rival for Exact {
///     fn insert(&mut self, key: &[u8]) -> Result<(), Refused> {
///         self.0.insert(key.to_vec());
///         Ok(())
///     }
///     fn contains(&self, key: &[u8]) -> bool {
///         self.0.contains(key)
///     }
///     fn bits(&self) -> u64 {
///         self.0.iter().map(|key| 8 * key.len() as u64).sum()
///     }
/// }
///
/// let exact = Foreign::new("exact set", |_| Ok(Box::new(Exact(HashSet::new()))));
/// assert_eq!(exact.name(), "exact set");
/// ```
#[derive(Clone)]
pub struct Foreign {
    name: String,
    build: Arc<Build>,
}

impl Foreign {
    /// A filter with its name in tables, legends and errors. A run that was interrupted continues only with filters of
    /// the same names, so a name should say what sets two variants apart.
    pub fn new(
        name: impl Into<String>,
        build: impl Fn(Room) -> Result<Box<dyn Rival>, Refused> + Send + Sync + 'static,
    ) -> Foreign {
        Foreign { name: name.into(), build: Arc::new(build) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An empty filter.
    pub fn build(&self, room: Room) -> Result<Box<dyn Rival>, Refused> {
        (self.build)(room)
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Foreign({})", self.name)
    }
}
