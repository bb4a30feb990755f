//! A remote with a memory.

use super::Memory;
use crate::remote::{Generation, Keys, Place, Position, RemoteError};

/// The keys of a remote, and what each of them was mistaken for.
pub struct Recalling<'a, K: ?Sized> {
    keys: &'a K,
    memory: &'a Memory,
}

impl<'a, K: Keys + ?Sized> Recalling<'a, K> {
    /// Answers [`Keys::mistaken_for`] from a memory, and all else from the remote.
    pub fn new(keys: &'a K, memory: &'a Memory) -> Recalling<'a, K> {
        Recalling { keys, memory }
    }
}

impl<K: Keys + ?Sized> Keys for Recalling<'_, K> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.keys.candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.keys.walk(generation, after, limit, found)
    }

    fn knows_cells(&self) -> bool {
        self.keys.knows_cells()
    }

    fn mistaken_for(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) {
        self.memory.queries_of(key).for_each(|query| found(query));
    }
}
