//! Checks that the values, the index and the filter agree.

use crate::batch::Batch;
use crate::entry;
use crate::error::Error;
use crate::index::Index;
use crate::inner::{Inner, Writer};
use crate::store::{Space, Store};
use std::fmt;
use std::ops::Bound;
use std::sync::PoisonError;
use twiceshy::remote::Key;

/// How many entries are read in one scan.
const SCANNED_AT_ONCE: usize = 256;

/// What [`Guard::check`](crate::Guard::check) found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Checked {
    /// Everything is in order.
    Sound,
    /// The filter was wrong. The store is intact, and the filter will be rebuilt from it.
    FilterWrong(String),
    /// Values and index do not match: restore the store from a backup.
    StoreDamaged(String),
}

impl Checked {
    /// The first problem found, and what to do; `None` if everything is in order.
    pub fn problem(&self) -> Option<String> {
        match self {
            Checked::Sound => None,
            Checked::FilterWrong(what) => {
                Some(format!("{what}. The store is intact, and the filter will be rebuilt from it"))
            }
            Checked::StoreDamaged(what) => Some(format!("{what}. Restore the store from a backup")),
        }
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem().as_deref().unwrap_or("everything is in order"))
    }
}

impl<S: Store> Inner<S> {
    /// Checks everything. Needs constant memory, except for the filter's own check.
    pub(crate) fn check(&self, writer: &mut Writer) -> Result<Checked, Error<S::Error>> {
        if let Err(wrong) = self.check_index(writer)? {
            return Ok(Checked::StoreDamaged(wrong));
        }
        if let Err(wrong) = self.check_filter(writer)? {
            self.lose_filter(writer);
            writer.stale_snapshot = true;
            return Ok(Checked::FilterWrong(wrong));
        }
        Ok(Checked::Sound)
    }

    /// Checks every key against the filter.
    fn check_filter(&self, writer: &Writer) -> Result<Result<(), String>, Error<S::Error>> {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else { return Ok(Err("there is no filter".into())) };
        let mut stored: Vec<Key> = Vec::new();
        self.each(Space::Values, |key| {
            stored.push(Key::from(key));
            Ok(true)
        })?;
        if let Some(key) = stored.iter().find(|key| !filter.contains(key)) {
            return Ok(Err(format!("the filter turns away the key {}", printable(key))));
        }
        let batch = Batch::default();
        let index = Index::new(&self.store, &batch);
        let checked = filter.validate(&stored, &index);
        Ok(checked.and_then(|()| match &writer.growth {
            Some(growth) => growth.validate(&stored, &index),
            None => Ok(()),
        }))
    }

    /// Checks every key against the index, and every index entry against its key.
    fn check_index(&self, writer: &Writer) -> Result<Result<(), String>, Error<S::Error>> {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else { return Ok(Err("there is no filter".into())) };
        let (mut keys, mut entries, mut orders, mut wrong) = (0u64, 0u64, 0, None);
        self.each(Space::Values, |key| {
            keys += 1;
            let (generation, words) = filter.entries(key);
            orders = words.as_slice().len() as u64;
            for (order, word) in words.iter() {
                if !self.store.contains(Space::Index, &entry::index(generation, order, word, key))? {
                    wrong = Some(format!("the key {} lacks an index entry", printable(key)));
                }
            }
            Ok(wrong.is_none())
        })?;
        if let Some(wrong) = wrong {
            return Ok(Err(wrong));
        }
        self.each(Space::Index, |bytes| {
            // A rebuild that was interrupted leaves entries of other generations. The next one deletes them.
            if entry::generation(bytes).is_some_and(|generation| !writer.state.uses(generation)) {
                return Ok(true);
            }
            entries += 1;
            let stored = match entry::parse_index(bytes) {
                Some((_, key)) => self.store.contains(Space::Values, key)?,
                None => false,
            };
            if !stored {
                wrong = Some(format!("the index entry {} belongs to no stored key", printable(bytes)));
            }
            Ok(stored)
        })?;
        if let Some(wrong) = wrong {
            return Ok(Err(wrong));
        }
        if keys != writer.state.len || keys * orders != entries {
            return Ok(Err(format!(
                "{keys} keys have {entries} index entries, but the state counts {} keys",
                writer.state.len
            )));
        }
        Ok(Ok(()))
    }

    /// Calls `found` with the keys of a map, until it returns `false`.
    fn each(
        &self,
        space: Space,
        mut found: impl FnMut(&[u8]) -> Result<bool, S::Error>,
    ) -> Result<(), Error<S::Error>> {
        let mut from: Bound<Vec<u8>> = Bound::Unbounded;
        loop {
            let mut some: Vec<Key> = Vec::new();
            let scanned = self.store.scan(space, from.as_ref().map(Vec::as_slice), &mut |key, _| {
                some.push(Key::from(key));
                some.len() < SCANNED_AT_ONCE
            });
            scanned.map_err(Error::Store)?;
            for key in &some {
                if !found(key).map_err(Error::Store)? {
                    return Ok(());
                }
            }
            match some.last() {
                Some(last) if some.len() == SCANNED_AT_ONCE => from = Bound::Excluded(last.to_vec()),
                _ => return Ok(()),
            }
        }
    }
}

fn printable(bytes: &[u8]) -> String {
    let text: String =
        bytes.iter().take(24).flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from).collect();
    if bytes.len() > 24 { format!("{text}… ({} bytes)", bytes.len()) } else { text }
}
