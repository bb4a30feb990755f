//! A store in memory: for tests, and for sets that are built at each start.

use crate::store::{Change, CommitError, Durability, Space, Store};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The contents of a memory store. They outlive the stores opened on them, as a file does.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    maps: RwLock<[Map; 4]>,
    open: AtomicBool,
}

impl Memory {
    /// An empty memory.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// A copy of the contents as they are now: what a crash would leave. It can be opened even while the original is open.
    pub fn copy(&self) -> Memory {
        let maps = self.shared.maps.read().unwrap_or_else(PoisonError::into_inner).clone();
        Memory { shared: Arc::new(Shared { maps: RwLock::new(maps), open: AtomicBool::new(false) }) }
    }

    /// Opens it. Fails while it is open.
    pub fn open(&self) -> Result<MemoryStore, MemoryError> {
        if self.shared.open.swap(true, Ordering::AcqRel) {
            return Err(MemoryError::InUse);
        }
        Ok(MemoryStore { shared: Arc::clone(&self.shared) })
    }
}

/// Why a memory store could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// It is open already.
    #[error("another guard has this store open: close it first")]
    InUse,
}

/// An open store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

impl MemoryStore {
    /// An empty store with its own memory.
    pub fn new() -> MemoryStore {
        let shared = Arc::new(Shared::default());
        shared.open.store(true, Ordering::Release);
        MemoryStore { shared }
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.shared.open.store(false, Ordering::Release);
    }
}

impl Store for MemoryStore {
    type Error = MemoryError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, MemoryError> {
        let maps = self.shared.maps.read().unwrap_or_else(PoisonError::into_inner);
        Ok(maps[space as usize].get(key).cloned())
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, MemoryError> {
        let maps = self.shared.maps.read().unwrap_or_else(PoisonError::into_inner);
        Ok(maps[space as usize].contains_key(key))
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), MemoryError> {
        let maps = self.shared.maps.read().unwrap_or_else(PoisonError::into_inner);
        let mut range = maps[space as usize].range::<[u8], _>((from, Bound::Unbounded));
        while range.next().is_some_and(|(key, value)| found(key, value)) {}
        Ok(())
    }

    fn commit(&self, changes: &[Change], _: Durability) -> Result<(), CommitError<MemoryError>> {
        let mut maps = self.shared.maps.write().unwrap_or_else(PoisonError::into_inner);
        for Change { space, key, value } in changes {
            let map = &mut maps[*space as usize];
            match value {
                Some(value) => drop(map.insert(key.clone(), value.clone())),
                None => drop(map.remove(key)),
            }
        }
        Ok(())
    }
}
