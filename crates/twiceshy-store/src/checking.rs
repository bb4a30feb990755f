//! Everything that must hold between the values, the index and the filter.

use crate::batch::Batch;
use crate::entry;
use crate::error::Error;
use crate::inner::{Inner, Writer};
use crate::store::{Space, Store};
use crate::view::{Source, View};
use std::ops::Bound;
use std::sync::PoisonError;
use twiceshy::remote::Key;

/// How many entries are looked at between two questions to the store.
const AT_ONCE: usize = 256;

impl<S: Store> Inner<S> {
    /// The first thing that is wrong, in words. In constant memory but for the filter's own check.
    pub(crate) fn check(&self, writer: &mut Writer) -> Result<Result<(), String>, Error<S::Error>> {
        if let Err(wrong) = self.check_index(writer)? {
            return Ok(Err(format!("{wrong}. Restore the store from a copy")));
        }
        if let Err(wrong) = self.check_filter(writer)? {
            self.lose_filter();
            writer.stale_snapshot = true;
            return Ok(Err(format!("{wrong}. The store is whole, and the filter is made anew from it")));
        }
        Ok(Ok(()))
    }

    /// Every key against the filter.
    fn check_filter(&self, writer: &Writer) -> Result<Result<(), String>, Error<S::Error>> {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else { return Ok(Err("there is no filter".into())) };
        let batch = Batch::default();
        let view = View::new(&writer.state, &batch, Source::Store(&self.store));
        if let Err(wrong) = filter.validate(&view) {
            return Ok(Err(wrong));
        }
        let mut wrong = Ok(());
        self.each(Space::Values, |key| {
            if !filter.answers(key) {
                wrong = Err(format!("the filter turns away the key {}", shown(key)));
            }
            Ok(wrong.is_ok())
        })?;
        Ok(wrong)
    }

    /// Every key against the index, and every entry of the index against its key.
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
                    wrong = Some(format!("the key {} lacks an index entry", shown(key)));
                }
            }
            Ok(wrong.is_none())
        })?;
        if let Some(wrong) = wrong {
            return Ok(Err(wrong));
        }
        self.each(Space::Index, |bytes| {
            entries += 1;
            let stored = match entry::parse_index(bytes) {
                Some((_, key)) => self.store.contains(Space::Values, key)?,
                None => false,
            };
            if !stored {
                wrong = Some(format!("the index entry {} is of no key", shown(bytes)));
            }
            Ok(stored)
        })?;
        if let Some(wrong) = wrong {
            return Ok(Err(wrong));
        }
        if keys != writer.state.len || keys * orders != entries {
            return Ok(Err(format!("{keys} keys have {entries} index entries, and {} are counted", writer.state.len)));
        }
        Ok(Ok(()))
    }

    /// Calls `found` with all keys of a map, until it says `false`.
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
                some.len() < AT_ONCE
            });
            scanned.map_err(Error::Store)?;
            for key in &some {
                if !found(key).map_err(Error::Store)? {
                    return Ok(());
                }
            }
            match some.last() {
                Some(last) if some.len() == AT_ONCE => from = Bound::Excluded(last.to_vec()),
                _ => return Ok(()),
            }
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    let text: String =
        bytes.iter().take(24).flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from).collect();
    if bytes.len() > 24 { format!("{text}… ({} bytes)", bytes.len()) } else { text }
}
