//! Checks that the values, the index, the log and the filter agree.

use crate::batch::Batch;
use crate::entry::{self, Record};
use crate::error::Error;
use crate::index::Index;
use crate::inner::{Inner, Writer};
use crate::layout::Layout;
use crate::store::{Space, Store};
use crate::sum;
use std::fmt;
use std::ops::Bound;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use twiceshy::remote::Key;

/// How many entries are read in one scan.
const SCANNED_AT_ONCE: usize = 256;

/// How many bytes of keys are read in one scan.
const SCANNED_BYTES: usize = 1 << 20;

/// How many keys are named. If there are more, they are only counted.
const MOST_NAMED: u64 = 1_000;

/// The most keys for which the filter checks that each has its own cell. It needs all of them in memory for that.
const MOST_VALIDATED: u64 = 1 << 20;

/// What [`Guard::check`](crate::Guard::check) found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Checked {
    /// Everything is in order.
    Sound,
    /// The filter was wrong. The store is intact, and a guard that may write rebuilds the filter from it before the next change.
    FilterWrong(String),
    /// The store is damaged: see [`Guard::repair`](crate::Guard::repair).
    StoreDamaged(String),
}

impl Checked {
    /// The first problem found, and what to do; `None` if everything is in order.
    pub fn problem(&self) -> Option<String> {
        match self {
            Checked::Sound => None,
            Checked::FilterWrong(what) => Some(format!(
                "{what}. The store is intact: `twiceshy check --repair` rebuilds the filter from it, and so does a guard that is open for \
                     writing, before its next change"
            )),
            Checked::StoreDamaged(what) => Some(format!("{what}. Repair the store with `twiceshy check --repair`")),
        }
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem().as_deref().unwrap_or("everything is in order"))
    }
}

/// Keys that have the same problem: their number, and the names of the first ones.
#[derive(Debug, Default)]
pub(crate) struct Named {
    pub(crate) count: u64,
    pub(crate) names: Vec<String>,
}

impl Named {
    pub(crate) fn add(&mut self, key: &[u8]) {
        self.count += 1;
        if self.count <= MOST_NAMED {
            self.names.push(printable(key));
        }
    }
}

/// What a store holds, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) keys: u64,
    /// Keys whose value has a wrong checksum.
    pub(crate) damaged: Named,
    /// Keys that have an index entry but no value.
    pub(crate) without_value: Named,
    /// Keys that lack an index entry.
    pub(crate) not_indexed: Named,
    /// Index entries that belong to no key.
    pub(crate) stray: Named,
    /// `true` if the state names no usable index.
    pub(crate) no_index: bool,
    /// `true` if the log has gaps or damaged records.
    pub(crate) log_damaged: bool,
}

impl Survey {
    /// `true` if every key has its index entries, and there are no others.
    pub(crate) fn index_is_sound(&self) -> bool {
        !self.no_index && self.not_indexed.count + self.stray.count + self.without_value.count == 0
    }

    /// The first problem.
    fn problem(&self, counted: u64) -> Option<String> {
        let first = |named: &Named| named.names.first().cloned();
        if let Some(key) = first(&self.damaged) {
            return Some(format!("the value of the key {key} is damaged"));
        }
        if self.no_index {
            return Some("the state record names no usable index".into());
        }
        if let Some(key) = first(&self.not_indexed) {
            return Some(format!("the key {key} lacks an index entry"));
        }
        if let Some(key) = first(&self.without_value) {
            return Some(format!("the index has the key {key}, which has no value"));
        }
        if let Some(entry) = first(&self.stray) {
            return Some(format!("the index entry {entry} belongs to no stored key"));
        }
        if self.keys != counted {
            return Some(format!("there are {} keys, but the state record counts {counted}", self.keys));
        }
        self.log_damaged.then(|| "the log of changes is damaged".into())
    }
}

impl<S: Store> Inner<S> {
    /// Checks everything. Needs constant memory, except for the filter's own check of a set that is not large.
    pub(crate) fn check(&self, writer: &mut Writer) -> Result<Checked, Error<S::Error>> {
        if writer.damaged {
            return Ok(Checked::StoreDamaged("the state record is missing or damaged".into()));
        }
        if let Some(wrong) = self.verify_store(writer)?.into_iter().next() {
            return Ok(Checked::StoreDamaged(wrong));
        }
        if let Some(wrong) = self.survey(writer)?.problem(writer.state.len) {
            return Ok(Checked::StoreDamaged(wrong));
        }
        if !self.has_filter() {
            self.rebuild(writer)?;
        }
        if let Err(wrong) = self.check_filter(writer)? {
            self.lose_filter(writer);
            writer.stale_snapshot = true;
            return Ok(Checked::FilterWrong(wrong));
        }
        Ok(Checked::Sound)
    }

    /// Has the store check its own files. If it was repaired, it may have gone back to an earlier commit, so the filter and the
    /// list of absent queries are dropped.
    pub(crate) fn verify_store(&self, writer: &mut Writer) -> Result<Vec<String>, Error<S::Error>> {
        // Look-ups go to the store meanwhile.
        let aside = self.filter.write().unwrap_or_else(PoisonError::into_inner).take();
        let found = self.store.verify().map_err(Error::Store);
        if matches!(&found, Ok(problems) if problems.is_empty()) {
            *self.filter.write().unwrap_or_else(PoisonError::into_inner) = aside;
            return found;
        }
        drop(aside);
        self.lose_functions(writer);
        // In this order: a look-up that has read the store before must not enter its key now.
        self.pending.change_all();
        self.queue.clear();
        self.doubt_all(writer);
        if found.is_ok() {
            self.settle(writer)?;
        }
        found
    }

    /// Checks every key against the filter.
    pub(crate) fn check_filter(&self, writer: &Writer) -> Result<Result<(), String>, Error<S::Error>> {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else {
            // A store that is only read may have to do without.
            return Ok(if self.read_only { Ok(()) } else { Err("there is no filter".into()) });
        };
        let len = writer.state.len;
        if filter.len() != len {
            return Ok(Err(format!("the filter holds {} keys instead of {len}", filter.len())));
        }
        let (mut stored, mut lost): (Vec<Key>, _) = (Vec::new(), None);
        self.each(Space::Values, |key, _| {
            if lost.is_none() && !filter.contains(key) {
                lost = Some(printable(key));
            }
            if len <= MOST_VALIDATED {
                stored.push(Key::from(key));
            }
            Ok(())
        })?;
        if let Some(key) = lost {
            return Ok(Err(format!("the filter turns away the key {key}")));
        }
        if len > MOST_VALIDATED {
            return Ok(Ok(()));
        }
        let batch = Batch::default();
        let index = Index::new(&self.store, &batch);
        let checked = filter.validate(&stored, &index);
        Ok(checked.and_then(|()| match &writer.growth {
            Some(growth) => growth.validate(&stored, &index),
            None => Ok(()),
        }))
    }

    /// Checks every value, every key against the index, every index entry against its key, and the log.
    pub(crate) fn survey(&self, writer: &Writer) -> Result<Survey, Error<S::Error>> {
        let layout = Layout::of(&writer.state);
        let mut survey = Survey { no_index: layout.is_none(), ..Survey::default() };
        self.each(Space::Values, |key, sound| {
            survey.keys += 1;
            if !sound {
                survey.damaged.add(key);
            }
            let mut entries = layout.iter().flat_map(|layout| layout.bytes(key));
            if !entries.try_fold(true, |all, entry| Ok(all && self.store.contains(Space::Index, &entry)?))? {
                survey.not_indexed.add(key);
            }
            Ok(())
        })?;
        if let Some(layout) = layout {
            self.survey_index(&layout, &mut survey)?;
        }
        survey.log_damaged = !self.log_is_whole(writer)?;
        Ok(survey)
    }

    fn survey_index(&self, layout: &Layout, survey: &mut Survey) -> Result<(), Error<S::Error>> {
        self.each(Space::Index, |bytes, _| {
            // A rebuild leaves entries of other generations, which are deleted later.
            if entry::generation(bytes).is_some_and(|generation| !layout.has(generation)) {
                return Ok(());
            }
            match entry::parse_index(bytes) {
                Some((_, key)) if layout.bytes(key).any(|own| own == bytes) => {
                    // Every key has one entry that is the first.
                    let first = layout.bytes(key).next().is_some_and(|own| own == bytes);
                    if first && !self.store.contains(Space::Values, key)? {
                        survey.without_value.add(key);
                    }
                }
                _ => survey.stray.add(bytes),
            }
            Ok(())
        })
    }

    /// `true` if the log has every commit since it begins.
    fn log_is_whole(&self, writer: &Writer) -> Result<bool, Error<S::Error>> {
        let state = &writer.state;
        let (mut next, mut whole) = (state.log_from.number.saturating_add(1), true);
        let scanned = self.store.scan(Space::Log, Bound::Included(&Record::key(next)), &mut |key, value| {
            let record = Record::from_bytes(next, value, state.sums);
            whole &= Record::number(key) == Some(next) && record.is_some() && next <= state.last.number;
            next = next.saturating_add(1);
            whole
        });
        scanned.map_err(Error::Store)?;
        Ok(whole && next > state.last.number)
    }

    /// Calls `found` with the keys of a map. For the values it also says whether the checksum is right.
    pub(crate) fn each(
        &self,
        space: Space,
        mut found: impl FnMut(&[u8], bool) -> Result<(), S::Error>,
    ) -> Result<(), Error<S::Error>> {
        let sums = space == Space::Values && self.sums.load(Ordering::Relaxed);
        let mut from: Bound<Vec<u8>> = Bound::Unbounded;
        loop {
            let (mut some, mut bytes, mut more) = (Vec::new(), 0, false);
            let scanned = self.store.scan(space, from.as_ref().map(Vec::as_slice), &mut |key, value| {
                bytes += key.len();
                some.push((key.to_vec(), !sums || sum::content(key, value).is_some()));
                more = some.len() >= SCANNED_AT_ONCE || bytes >= SCANNED_BYTES;
                !more
            });
            scanned.map_err(Error::Store)?;
            some.iter().try_for_each(|(key, sound)| found(key, *sound)).map_err(Error::Store)?;
            match some.pop() {
                Some((last, _)) if more => from = Bound::Excluded(last),
                _ => return Ok(()),
            }
        }
    }

    /// A value without its checksum.
    pub(crate) fn value(&self, key: &[u8], bytes: Vec<u8>) -> Result<Vec<u8>, Error<S::Error>> {
        if !self.sums.load(Ordering::Relaxed) {
            return Ok(bytes);
        }
        sum::unseal(key, bytes).ok_or_else(|| {
            self.watch.damaged("a value has a wrong checksum");
            Error::DamagedValue { key: printable(key) }
        })
    }
}

/// The beginning of a key, with bytes that are not printable as escapes.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text: String =
        bytes.iter().take(64).flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from).collect();
    if bytes.len() > 64 { format!("{text}… ({} bytes)", bytes.len()) } else { text }
}
