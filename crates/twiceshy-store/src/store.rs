//! What a store must be able to do to be guarded.

use std::ops::Bound;

/// One of the maps that a store keeps. Each is ordered by the bytes of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// The user's keys and values.
    Values,
    /// The index by hash: where the filter's fingerprints have their keys. Its values are empty.
    Index,
    /// The keys that came and went, by the number of their commit.
    Log,
    /// A handful of records: the store's identity, the number of the last commit, the hash keys.
    Meta,
}

impl Space {
    /// All of them.
    pub const ALL: [Space; 4] = [Space::Values, Space::Index, Space::Log, Space::Meta];

    /// A name for stores whose maps have names.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Values => "values",
            Space::Index => "index",
            Space::Log => "log",
            Space::Meta => "meta",
        }
    }
}

/// One change of a map: a value for a key, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which map.
    pub space: Space,
    /// The key.
    pub key: Vec<u8>,
    /// Its new value; none where the key goes.
    pub value: Option<Vec<u8>>,
}

/// What a commit must have done when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives a crash of the machine, and so does every commit before it.
    Synced,
    /// It is seen by every read from now on. It survives a crash when a later commit is synced, or is lost with all commits
    /// after it.
    Seen,
}

/// Why a commit did not return success.
#[derive(Debug, thiserror::Error)]
pub enum CommitError<E> {
    /// Nothing has happened.
    #[error("the store refused a commit, and nothing was changed: {0}")]
    Failed(#[source] E),
    /// It may have happened or not: a read tells, when the store can be read again.
    #[error("the store's answer to a commit was lost, so it may have happened: {0}")]
    Unknown(#[source] E),
}

/// A store: four ordered maps from bytes to bytes, changed together.
///
/// **Contract.**
/// * A commit makes all of its changes, in their order, or none; no read sees a part of it.
/// * A read sees every commit that has returned success before it began.
/// * Commits are lost only in the order in which they were made, the last first, and none that was synced or came before one
///   that was.
/// * While a store is open no other process or value can open the same one: it is refused.
///
/// Reads come from many threads at once, also while a commit runs; commits come one after the other.
///
/// **Writing one.** A map is a table, a column family, or a prefix of the keys; a commit is a transaction; `scan` is a range that
/// ends when it is told to. [`Durability::Seen`] may be treated as [`Durability::Synced`]. What matters most is to say
/// [`CommitError::Unknown`] wherever a commit may have happened, such as after a timeout: the guard finds out by reading, and
/// until then believes neither. A store over a network needs a lock of its own against a second guard: a lease, or an advisory
/// lock of the database. The suite `contract` (feature `testing`) tells whether an implementation is right:
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use std::collections::BTreeMap;
/// use std::convert::Infallible;
/// use std::ops::Bound;
/// use std::sync::{Arc, Mutex};
/// use twiceshy_store::{Change, CommitError, Durability, Options, Space, Store, contract};
///
/// type Map = BTreeMap<(Space, Vec<u8>), Vec<u8>>;
///
/// /// One map for all. Whoever has the store open holds the key to its door.
/// struct Shelf {
///     map: Arc<Mutex<Map>>,
///     _open: Arc<()>,
/// }
///
/// impl Store for Shelf {
///     type Error = Infallible;
///
///     fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Infallible> {
///         Ok(self.map.lock().unwrap().get(&(space, key.to_vec())).cloned())
///     }
///
///     fn scan(
///         &self,
///         space: Space,
///         from: Bound<&[u8]>,
///         found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
///     ) -> Result<(), Infallible> {
///         let from = match from {
///             Bound::Unbounded => Bound::Included((space, Vec::new())),
///             from => from.map(|key| (space, key.to_vec())),
///         };
///         let map = self.map.lock().unwrap();
///         let mut range = map.range((from, Bound::Unbounded)).take_while(|((own, _), _)| *own == space);
///         while range.next().is_some_and(|((_, key), value)| found(key, value)) {}
///         Ok(())
///     }
///
///     fn commit(&self, changes: &[Change], _: Durability) -> Result<(), CommitError<Infallible>> {
///         let mut map = self.map.lock().unwrap();
///         for Change { space, key, value } in changes {
///             match value {
///                 Some(value) => drop(map.insert((*space, key.clone()), value.clone())),
///                 None => drop(map.remove(&(*space, key.clone()))),
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let (map, door) = (Arc::new(Mutex::new(Map::new())), Arc::new(()));
/// let open = || match Arc::strong_count(&door) {
///     1 => Ok(Shelf { map: Arc::clone(&map), _open: Arc::clone(&door) }),
///     _ => Err("somebody else has it open"),
/// };
/// contract::check(open)?;
/// map.lock().unwrap().clear();
///
/// let guard = Options::new().open(open()?)?;
/// guard.insert(b"key", b"value")?;
/// assert!(guard.contains(b"key")?);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Store: Send + Sync + 'static {
    /// What goes wrong.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The value of a key.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Whether there is a value for a key.
    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, Self::Error> {
        Ok(self.get(space, key)?.is_some())
    }

    /// Calls `found` with the entries from `from` on, in the order of their keys and all of one moment, until it says
    /// `false`.
    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Self::Error>;

    /// Makes all changes, or none.
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<Self::Error>>;
}
