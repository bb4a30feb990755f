//! The remote representation, R: how a filter gets from a place to the keys behind it.
//!
//! A filter L answers look-ups from its own bits. When it plans a change, it reads the keys behind its fingerprints
//! through [`Keys`], the reading half of R. The owner of both commits what a plan writes through [`Remote`]. In memory there
//! are two kinds:
//!
//! * [`ByHash`]: an ordered set of (order, hash word, whole key). A pure function of the set and the hash key: kicks,
//!   swaps, adaptations and growth write nothing to it, except those of the broom filter. Stores use this form.
//! * [`Mirror`]: the papers' exact copy of the filter's cells (003 section 3). It knows the owner of each cell, and must be
//!   told every move.
//!
//! [`Counting`] wraps either of them and counts the accesses.

mod by_hash;
mod counting;
mod mirror;

pub use by_hash::ByHash;
// For experiments.
#[doc(hidden)]
pub use counting::{Counting, Counts};
#[doc(hidden)]
pub use mirror::Mirror;

use crate::hash::HashKey;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A stored key, shared between plans and remotes.
pub type Key = Arc<[u8]>;

/// A cell of the filter. Cells are numbered by table, then bucket, then position in the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(pub u64);

/// A layout of R. Re-keying makes a new one beside the old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(pub u32);

/// One of the orders in which L is addressed: the table's number in the cuckoo family, 0 in the quotient family. A broom filter
/// has an order for each level, and one more in which its frontier moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Order(pub u8);

/// Where to ask R about a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The layout of R that the filter uses.
    pub generation: Generation,
    /// The order that the words belong to.
    pub order: Order,
    /// The hash words of that order that lead to this bucket.
    pub words: RangeInclusive<u64>,
    /// The exact cell, for remotes that mirror cells.
    pub cell: CellId,
}

/// The most orders that a filter uses.
#[doc(hidden)]
pub const MAX_ORDERS: usize = 8;

/// A key's hash words, one for each order in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderWords {
    words: [u64; MAX_ORDERS],
    len: u8,
}

impl OrderWords {
    /// The words of a key, one for each order. At most [`MAX_ORDERS`]; further ones are dropped.
    pub fn new(words: &[u64]) -> OrderWords {
        let len = words.len().min(MAX_ORDERS);
        let mut all = [0; MAX_ORDERS];
        all[..len].copy_from_slice(&words[..len]);
        OrderWords { words: all, len: len as u8 }
    }

    /// The words, starting with order 0.
    #[inline]
    pub fn as_slice(&self) -> &[u64] {
        &self.words[..usize::from(self.len)]
    }

    /// The orders with their words.
    pub fn iter(&self) -> impl Iterator<Item = (Order, u64)> + '_ {
        self.as_slice().iter().enumerate().map(|(order, word)| (Order(order as u8), *word))
    }
}

/// The layout of a generation's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The hash key that makes the words.
    pub hash: HashKey,
    /// The number of orders.
    pub orders: u8,
    /// The number of cells of the filter, for remotes that mirror them.
    pub cells: u64,
    /// The number of cells in a bucket.
    pub cells_per_bucket: u8,
}

/// One change of R.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A generation begins, empty. The first one is in use at once. A later one exists beside it until a switch, and
    /// replaces an unused one with the same number.
    Begin {
        /// The number of the generation.
        generation: Generation,
        /// The layout of its entries.
        schema: Schema,
    },
    /// Adds a key: one entry for each order. Adding an entry that exists changes nothing.
    Add {
        /// The generation.
        generation: Generation,
        /// The whole key.
        key: Key,
        /// Its word for each order.
        words: OrderWords,
        /// The cell of the key in L, if known. Remotes that mirror cells are always told. The quotient family, whose slots
        /// shift, never tells.
        cell: Option<CellId>,
    },
    /// Removes a key, with its entries in all orders. Removing an entry that does not exist changes nothing.
    Remove {
        /// The generation.
        generation: Generation,
        /// The whole key.
        key: Key,
        /// Its word for each order.
        words: OrderWords,
        /// The cell that L clears; `None` if L leaves an orphan or has no fixed cells.
        cell: Option<CellId>,
    },
    /// L moves a key. All moves of a plan happen at once, after its removals and before its additions. A remote that
    /// does not mirror cells ignores them.
    Move {
        /// The generation.
        generation: Generation,
        /// The old cell of the key.
        from: CellId,
        /// The new cell of the key.
        to: CellId,
    },
    /// The generation becomes the one in use, and the others end.
    Switch {
        /// The generation.
        generation: Generation,
    },
    /// The generation ends without having been used.
    Abandon {
        /// The generation.
        generation: Generation,
    },
    /// Moves the frontier between the keys of the generation in use and those of the next one: see [`Phase`]. Only the
    /// broom filter writes it. A remote that does not support it refuses the commit.
    Frontier {
        /// The new frontier.
        at: Frontier,
    },
}

/// How far a broom filter has moved its keys to the next hash function: those whose position is below this number have
/// moved. Positions are the words of the last order, spread evenly over all 64-bit numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frontier(pub u64);

impl Frontier {
    /// The start of a phase: no key has moved.
    pub const START: Frontier = Frontier(0);

    /// The share of all positions that the frontier has passed, from 0 to 1.
    ///
    /// ```
    /// use twiceshy::remote::Frontier;
    /// assert_eq!(Frontier(1 << 62).share(), 0.25);
    /// ```
    pub fn share(self) -> f64 {
        self.0 as f64 / 18_446_744_073_709_551_616.0
    }
}

/// Two hash functions in use at once, and the frontier between their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The function of the keys above the frontier: the generation in use.
    pub old: (Generation, Schema),
    /// The function of the keys below the frontier: the generation after it.
    pub new: (Generation, Schema),
    /// What the last [`Write::Frontier`] said.
    pub frontier: Frontier,
}

/// Writes that R commits as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The sequence number that this commit creates: one above R's.
    pub sequence: u64,
    /// The identity of the last commit that the filter knows; 0 if it knows none.
    pub follows: u64,
    /// Identifies this commit and all before it. Two filters that come from the same saved one and take different keys give
    /// their commits the same numbers, but different identities. 0 if the filter has none.
    pub identity: u64,
    /// The changes.
    pub writes: Vec<Write>,
}

impl Commit {
    /// Checks that this commit follows a remote's last one, given the number and the identity that the remote keeps. A remote
    /// that keeps no identity passes 0.
    pub fn check(&self, sequence: u64, identity: u64) -> Result<(), CommitError> {
        if sequence.checked_add(1) != Some(self.sequence) {
            return Err(CommitError::OutOfStep { wanted: self.sequence, found: sequence });
        }
        if same_history(self.follows, identity) { Ok(()) } else { Err(CommitError::OtherHistory) }
    }
}

/// `true` if two identities are the same, or if one of them is not known.
pub(crate) fn same_history(one: u64, other: u64) -> bool {
    one == other || one == 0 || other == 0
}

/// An error of the store behind a remote.
pub type RemoteError = Box<dyn std::error::Error + Send + Sync>;

/// Why a commit did not return success.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The remote failed, and nothing was written.
    #[error("the remote refused the commit, and nothing was changed: {0}")]
    Failed(#[source] RemoteError),
    /// The remote failed, and the commit may have happened. Only the remote's sequence number can tell.
    #[error("the remote's answer to a commit was lost, so it may have happened: {0}")]
    Unknown(#[source] RemoteError),
    /// The commit does not follow the remote's last one: another filter writes to it, or this one is out of date.
    #[error("the remote is at commit {found}, so commit {wanted} cannot follow: rebuild the filter from the remote")]
    OutOfStep {
        /// The number that the commit would have created.
        wanted: u64,
        /// The number of the remote's last commit.
        found: u64,
    },
    /// The remote's last commit has the right number, but is not the filter's: the remote belongs to another filter, or both
    /// came from the same saved filter and then took different keys. Nothing was written.
    #[error(
        "the remote's last commit is not this filter's: use the filter's own remote, or rebuild the filter from this one"
    )]
    OtherHistory,
}

impl CommitError {
    /// A commit that failed without writing anything.
    pub fn failed(error: impl Into<RemoteError>) -> CommitError {
        CommitError::Failed(error.into())
    }
}

/// A position in the walk over a generation by its order 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The hash word of order 0.
    pub word: u64,
    /// The key, which tells keys with equal words apart.
    pub key: Key,
}

/// The reading half of a remote: what a filter needs to plan.
///
/// **Contract.** Reads see the last commit. A read may fail: then no plan is made, and nothing changes.
pub trait Keys {
    /// Calls `found` with every stored key that the remote knows for `place`: all keys whose word of that order lies in the
    /// interval, or the key in the cell if [`Keys::knows_cells`]. Never fewer. It may also pass keys outside the interval;
    /// the filter ignores them.
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError>;

    /// Calls `found` with up to `limit` keys of the generation that come after `after` in the order of
    /// (word of order 0, key), in that order.
    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError>;

    /// `true` if [`Keys::candidates`] answers with the owner of the cell. Such a remote must be told of every move, and a
    /// new table of cells is a new generation for it.
    fn knows_cells(&self) -> bool {
        false
    }

    /// Calls `found` with the queries that a stored key is remembered to have been mistaken for. Advisory: a remote without a
    /// [memory](crate::memory) knows none.
    fn mistaken_for(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) {
        let _ = (key, found);
    }
}

/// A remote stores, for every generation, a set of keys with a word for each order.
pub trait Remote: Keys {
    /// Writes the whole commit with its number and identity, or nothing. Refuses one that does not follow the last:
    /// [`Commit::check`].
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError>;

    /// The number of the last commit; 0 before the first.
    fn sequence(&self) -> Result<u64, RemoteError>;

    /// The [identity](Commit::identity) of the last commit; 0 if the remote keeps none. Then the remote of another filter is
    /// refused only if its hash keys differ.
    fn identity(&self) -> Result<u64, RemoteError> {
        Ok(0)
    }

    /// The generation in use and what its entries look like; `None` before the first [`Write::Begin`].
    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError>;

    /// The phase that the remote is in; `None` if it holds no filter with two hash functions. Only remotes of broom filters
    /// need it.
    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        Ok(None)
    }
}

/// Forwards both halves of a remote through a pointer.
macro_rules! forward {
    ($pointer:ty) => {
        impl<R: Keys + ?Sized> Keys for $pointer {
            fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
                (**self).candidates(place, found)
            }

            fn walk(
                &self,
                generation: Generation,
                after: Option<&Position>,
                limit: usize,
                found: &mut dyn FnMut(Position),
            ) -> Result<(), RemoteError> {
                (**self).walk(generation, after, limit, found)
            }

            fn knows_cells(&self) -> bool {
                (**self).knows_cells()
            }

            fn mistaken_for(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) {
                (**self).mistaken_for(key, found);
            }
        }

        impl<R: Remote + ?Sized> Remote for $pointer {
            fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
                (**self).commit(commit)
            }

            fn sequence(&self) -> Result<u64, RemoteError> {
                (**self).sequence()
            }

            fn identity(&self) -> Result<u64, RemoteError> {
                (**self).identity()
            }

            fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
                (**self).in_use()
            }

            fn phase(&self) -> Result<Option<Phase>, RemoteError> {
                (**self).phase()
            }
        }
    };
}

forward!(&mut R);
forward!(Box<R>);

/// An in-memory remote refused a commit that does not match its contents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[doc(hidden)]
pub enum MemoryError {
    /// The generation does not exist: it has not begun, or has ended.
    #[error("the remote has no generation {}: rebuild the filter from the remote", .0.0)]
    NoGeneration(Generation),
    /// The generation is in use.
    #[error("the remote's generation {} is in use: a new one needs another number", .0.0)]
    GenerationInUse(Generation),
    /// A mirror was told of a cell that it does not have, or whose content differs from what the filter assumes.
    #[error("the mirror and the filter disagree about cell {}: rebuild the filter from the remote", .0.0)]
    Cell(CellId),
    /// The mirror cannot be allocated.
    #[error("a mirror of {0} cells cannot be allocated: use fewer cells")]
    NoRoom(u64),
    /// A mirror was told of a frontier.
    #[error("a mirror of cells has no frontier: use `ByHash`")]
    NoFrontier,
    /// A mirror was not told the cell of a key.
    #[error("a mirror of cells must be told the cell of every key")]
    NoCell,
}
