//! What a store must be able to do to be guarded.

use std::ops::Bound;

/// One of the maps that a store keeps. Each is ordered by the bytes of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// The user's keys and values.
    Values,
    /// The index by hash: the keys behind the filter's fingerprints. Its values are empty.
    Index,
    /// The keys that were added and removed, by commit number.
    Log,
    /// A few records: the store's identity, the number of the last commit, the hash keys.
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

/// One change of a map: sets or deletes the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The map.
    pub space: Space,
    /// The key.
    pub key: Vec<u8>,
    /// Its new value; `None` if the key is deleted.
    pub value: Option<Vec<u8>>,
}

/// What a commit guarantees when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives a crash of the machine, as does every commit before it.
    Synced,
    /// Every later read sees it. It survives a crash if a later commit is synced; otherwise it may be lost, with all
    /// commits after it.
    Seen,
}

/// Why a commit did not return success.
#[derive(Debug, thiserror::Error)]
pub enum CommitError<E> {
    /// Nothing has happened.
    #[error("the store refused a commit, and nothing was changed: {0}")]
    Failed(#[source] E),
    /// It may have happened. A read tells once the store can be read again.
    #[error("the store's answer to a commit was lost, so it may have happened: {0}")]
    Unknown(#[source] E),
}

/// A store: four ordered maps from bytes to bytes, changed together.
///
/// **Contract.**
/// * A commit makes all of its changes, in order, or none; no read sees a part of it.
/// * A read sees every commit that has returned success before it began.
/// * After a crash, only the latest commits may be lost, never one that was synced or that precedes a synced one.
/// * While a store is open, no other process or value can open it.
///
/// Reads come from many threads at once, even during a commit. Commits come one at a time.
///
/// **Writing one.** A map is a table, a column family, or a key prefix. A commit is a transaction. `scan` is a range query
/// that stops when told to. [`Durability::Seen`] may be treated as [`Durability::Synced`]. Above all, return
/// [`CommitError::Unknown`] whenever a commit may have happened, such as after a timeout: the guard reads the store to find
/// out, and assumes neither until then. A store over a network needs its own lock against a second guard: a lease, or an
/// advisory lock of the database. The suite `contract` (feature `testing`) checks an implementation:
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
/// /// One map for all spaces. `_open` shows that the store is open.
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
///     _ => Err("the store is open already"),
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
    /// The store's error.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The value of a key.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// `true` if there is a value for the key.
    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, Self::Error> {
        Ok(self.get(space, key)?.is_some())
    }

    /// Calls `found` with the entries from `from` on, in key order and from a single snapshot, until it returns `false`.
    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Self::Error>;

    /// Makes all changes, or none.
    ///
    /// A key that is longer than [`longest_key`](Store::longest_key) is refused with [`CommitError::Failed`].
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<Self::Error>>;

    /// The length of the longest key that a map can have; `None`, the default, if all that fit into memory are possible. A longer
    /// key may be looked up, and is absent; a scan may begin at one.
    ///
    /// The index holds each key of the user with 13 bytes before it, so the user's keys must be that much shorter.
    fn longest_key(&self) -> Option<usize> {
        None
    }

    /// Checks the store's own files, and repairs what it can. Returns a sentence for each problem that it found and repaired:
    /// none if all is well. An error says what could not be repaired, or why the check could not be made.
    ///
    /// A repair may undo the last commits, synced or not. So whatever was read from the store before may be out of date after
    /// it, a filter too: drop it, and open the store again. By default there is nothing to check.
    fn verify(&self) -> Result<Vec<String>, Self::Error> {
        Ok(Vec::new())
    }
}
