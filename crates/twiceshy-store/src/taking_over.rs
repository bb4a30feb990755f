//! Guarding a store that has values already.

use crate::batch::Batch;
use crate::error::Error;
use crate::inner::{Inner, Writer};
use crate::store::{Durability, Space, Store};
use std::ops::Bound;

/// The record that says that a store is being taken over. It is written before the first index entry, and deleted by the commit
/// that writes the state.
const TAKING_OVER: &[u8] = b"taking over";

/// What a store without a state record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    Nothing,
    /// Values alone, or what an interrupted take-over has left.
    Untaken,
    /// Entries of other maps, which only a guard writes.
    Remains,
}

impl Contents {
    pub(crate) fn of<S: Store>(store: &S) -> Result<Contents, Error<S::Error>> {
        let has_any = |space, besides: Option<&[u8]>| {
            let mut found = false;
            let scanned = store.scan(space, Bound::Unbounded, &mut |key, _| {
                found = Some(key) != besides;
                !found
            });
            scanned.map(|()| found).map_err(Error::Store)
        };
        if has_any(Space::Log, None)? || has_any(Space::Meta, Some(TAKING_OVER))? {
            return Ok(Contents::Remains);
        }
        if store.contains(Space::Meta, TAKING_OVER).map_err(Error::Store)? {
            return Ok(Contents::Untaken);
        }
        Ok(match (has_any(Space::Values, None)?, has_any(Space::Index, None)?) {
            (_, true) => Contents::Remains,
            (true, false) => Contents::Untaken,
            (false, false) => Contents::Nothing,
        })
    }
}

impl Batch {
    /// A take-over, if there was one, ends with this batch.
    pub(crate) fn end_take_over(&mut self) {
        self.delete(Space::Meta, TAKING_OVER);
    }
}

impl<S: Store> Inner<S> {
    /// Indexes all values, and writes the state. If it fails or is interrupted, it can be begun again.
    pub(crate) fn take_over_values(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        let (mut keys, mut longest) = (0, Vec::new());
        self.each(Space::Values, |key, _| {
            keys += 1;
            if key.len() > longest.len() {
                longest = key.to_vec();
            }
            Ok(())
        })?;
        self.check_length(&longest)?;
        let mut batch = Batch::default();
        batch.put(Space::Meta, TAKING_OVER, []);
        // No index entry outlives a crash that this does not outlive, since it is committed first.
        self.commit_batch(writer, batch, Durability::Seen)?;
        self.write_index(writer, keys)
    }
}
