//! Repairing a store from its values.

use crate::batch::Batch;
use crate::checking::{Named, Survey};
use crate::choice::Choice;
use crate::entry;
use crate::error::Error;
use crate::inner::{Doubt, Inner, Work, Writer, capacity};
use crate::state::{Mark, State};
use crate::store::{CommitError, Durability, Space, Store};
use std::ops::Bound;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use twiceshy::hash::HashKey;
use twiceshy::remote::{Generation, Key, Order, Write};

/// How many keys are indexed in one commit.
const INDEXED_AT_ONCE: usize = 1_024;

/// How many bytes of keys are indexed in one commit. The last key may exceed it.
const INDEXED_BYTES: usize = 1 << 20;

/// What [`Guard::repair`](crate::Guard::repair) did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Repaired {
    /// The number of stored keys.
    pub keys: u64,
    /// What was wrong and is right now, one sentence each.
    pub repaired: Vec<String>,
    /// What cannot be made right, one sentence for each key.
    pub lost: Vec<String>,
}

impl<S: Store> Inner<S> {
    /// Makes right whatever can be made right from the values.
    pub(crate) fn repair(&self, writer: &mut Writer) -> Result<Repaired, Error<S::Error>> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let mut done = Repaired::default();
        done.repaired.extend(self.verify_store(writer)?);
        let survey = self.survey(writer)?;
        done.keys = survey.keys;
        survey.name_losses(&mut done);
        self.repair_state(writer, &survey, &mut done)?;
        self.repair_filter(writer, &mut done)?;
        match self.save(writer) {
            // The next open rebuilds the filter.
            Err(Error::Io { .. }) => Ok(done),
            saved => saved.map(|()| done),
        }
    }

    /// Repairs state record, index and log.
    fn repair_state(&self, writer: &mut Writer, survey: &Survey, done: &mut Repaired) -> Result<(), Error<S::Error>> {
        if writer.damaged {
            done.repaired.push("the state record was missing or damaged: written anew".into());
        }
        if !writer.damaged && writer.state.len != survey.keys {
            let counted = writer.state.len;
            done.repaired.push(format!("the state record counted {counted} keys instead of {}", survey.keys));
        }
        if !survey.index_is_sound() || writer.damaged {
            let (missing, stray) = (survey.not_indexed.count, survey.stray.count + survey.without_value.count);
            done.repaired.push(match survey.no_index {
                true => "the index was unknown: written anew".into(),
                false => format!(
                    "the index lacked entries of {missing} keys and had {stray} entries that belong to no key: written anew"
                ),
            });
            self.write_index(writer, survey.keys)?;
        } else if writer.state.len != survey.keys || survey.log_damaged {
            self.end_log(writer, State { len: survey.keys, ..writer.state.clone() })?;
        }
        if survey.log_damaged {
            done.repaired.push("the log of changes was damaged: dropped".into());
        }
        Ok(())
    }

    /// Makes this state the store's, in a commit that no snapshot has, and empties the log.
    fn end_log(&self, writer: &mut Writer, mut after: State) -> Result<(), Error<S::Error>> {
        after.last = Mark { number: after.last.number.saturating_add(1), tag: writer.tag() };
        after.cut_log();
        writer.stale_snapshot = self.snapshot.is_some();
        self.lose_filter(writer);
        let mut batch = Batch::default();
        batch.end_take_over();
        after.write(&mut batch);
        match self.commit_batch(writer, batch, Durability::Synced) {
            Ok(()) => {
                self.set_state(writer, after);
                writer.damaged = false;
                Ok(())
            }
            Err(CommitError::Failed(error)) => Err(Error::Store(error)),
            Err(CommitError::Unknown(error)) => {
                writer.doubt = Some(Doubt { after, keys: Vec::new(), work: Work::default() });
                Err(Error::Unknown(error))
            }
        }
    }

    /// Writes the index of all values under a new hash key. The old one stays whole until the new one is complete.
    pub(crate) fn write_index(&self, writer: &mut Writer, keys: u64) -> Result<(), Error<S::Error>> {
        self.lose_filter(writer);
        let Choice { kind, rate } = Choice::from_bytes(&writer.state.choice).ok_or(Error::Damaged)?;
        let known = writer.state.generations.iter().map(|(generation, _)| generation.0).max();
        let last = known.max(self.last_generation()?.map(|generation| generation.0)).unwrap_or(0);
        // A broom filter uses two.
        let first = last.checked_add(1).filter(|first| *first < u32::MAX).ok_or(Error::NoRoom)?;
        let filter = kind.make(capacity(keys), rate, HashKey::random()?, Generation(first))?;
        let (mut batch, mut count) = (Batch::default(), 0);
        let mut from = Bound::Unbounded;
        loop {
            let (mut some, mut bytes): (Vec<Key>, usize) = (Vec::new(), 0);
            let scanned = self.store.scan(Space::Values, from.as_ref().map(|key: &Key| &**key), &mut |key, _| {
                some.push(Key::from(key));
                bytes += key.len();
                some.len() < INDEXED_AT_ONCE && bytes < INDEXED_BYTES
            });
            scanned.map_err(Error::Store)?;
            let Some(last) = some.last().cloned() else { break };
            count += some.len() as u64;
            for key in some {
                let (generation, words) = filter.entries(&key);
                batch.index(&Write::Add { generation, key, words, cell: None });
            }
            self.commit_batch(writer, std::mem::take(&mut batch), Durability::Seen)?;
            from = Bound::Excluded(last);
        }
        let mut state = State { in_use: None, generations: Vec::new(), len: count, ..writer.state.clone() };
        filter.opening().iter().for_each(|write| state.apply(write));
        self.end_log(writer, state)?;
        self.delete_unused(writer)
    }

    /// The last generation of which the index has entries.
    fn last_generation(&self) -> Result<Option<Generation>, Error<S::Error>> {
        let (mut last, mut from) = (None, Some(Generation(0)));
        while let Some(generation) = from.take() {
            let start = entry::index(generation, Order(0), 0, &[]);
            let scanned = self.store.scan(Space::Index, Bound::Included(&start), &mut |bytes, _| {
                let found = entry::generation(bytes);
                last = found.or(last);
                from = found.and_then(|found| found.0.checked_add(1)).map(Generation);
                false
            });
            scanned.map_err(Error::Store)?;
        }
        Ok(last)
    }

    fn repair_filter(&self, writer: &mut Writer, done: &mut Repaired) -> Result<(), Error<S::Error>> {
        if self.has_filter() {
            let Err(wrong) = self.check_filter(writer)? else { return Ok(()) };
            done.repaired.push(format!("{wrong}: the filter was rebuilt"));
            writer.stale_snapshot = self.snapshot.is_some();
        }
        self.rebuild(writer)
    }

    /// Finds out whether the values end with checksums, in a store that can no longer say so itself.
    pub(crate) fn find_sums(&mut self) -> Result<(), Error<S::Error>> {
        self.sums.store(true, Ordering::Relaxed);
        let (mut values, mut sound) = (0u64, 0u64);
        self.each(Space::Values, |_, right| {
            values += 1;
            sound += u64::from(right);
            Ok(())
        })?;
        // A checksum that is right by chance: one in four billion.
        let sums = sound > 0 || values == 0;
        self.sums.store(sums, Ordering::Relaxed);
        self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).state.sums = sums;
        Ok(())
    }
}

impl Survey {
    /// Names the keys that have lost something.
    fn name_losses(&self, done: &mut Repaired) {
        done.lose(&self.damaged, "is damaged: insert it again, or remove it");
        done.lose(&self.without_value, "is gone: insert it again");
    }
}

impl Repaired {
    /// Names keys that have lost their value.
    pub(crate) fn lose(&mut self, named: &Named, then: &str) {
        self.lost.extend(named.names.iter().map(|key| format!("the value of the key {key} {then}")));
        let more = named.count - named.names.len() as u64;
        if more > 0 {
            self.lost.push(format!("{more} more: the value {then}"));
        }
    }
}
