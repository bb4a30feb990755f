//! Insertions and removals: the value, the index entries and the log in one commit.

use crate::batch::Batch;
use crate::entry::{self, Logged, Record};
use crate::error::Error;
use crate::index::Failure;
use crate::inner::{Doubt, Inner, Planned, Work, Writer};
use crate::state::{Mark, State};
use crate::store::{Change, CommitError, Durability, Space, Store};
use crate::sum;
use twiceshy::filter::Operation;
use twiceshy::remote::{Key, Write};

/// A change that the caller asks for: a value for a key, or its removal.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) key: Key,
    pub(crate) value: Option<Vec<u8>>,
}

/// How many unneeded log records each commit deletes: more than the one it adds.
const LOG_DELETIONS: u64 = 16;

/// How many remembered queries a filter that was made anew is asked with each change.
const LESSON: usize = 64;

/// How often a filter grows for one key before the change fails.
pub(crate) const MOST_GROWTHS: u32 = 8;

impl State {
    /// Advances the state by a plan, and adds its writes to the batch.
    pub(crate) fn advance<'w>(
        &mut self,
        writes: impl Iterator<Item = &'w Write>,
        logged: Logged,
        tag: u64,
        batch: &mut Batch,
    ) {
        for write in writes {
            batch.index(write);
            self.apply(write);
        }
        match &logged {
            Logged::Added(_) => self.len = self.len.saturating_add(1),
            Logged::Removed(_) => self.len = self.len.saturating_sub(1),
            Logged::Other => {}
        }
        self.last = Mark { number: self.last.number.saturating_add(1), tag };
        let record = Record { tag, logged }.to_bytes(self.last.number, self.sums);
        self.log_bytes = self.log_bytes.saturating_add(record.len() as u64);
        batch.put(Space::Log, Record::key(self.last.number), record);
        let kept = self.log_from.number.saturating_add(1);
        for number in self.log_oldest..kept.min(self.log_oldest.saturating_add(LOG_DELETIONS)) {
            batch.delete(Space::Log, Record::key(number));
            self.log_oldest = number + 1;
        }
    }
}

/// A change of the set.
struct Changing<'a> {
    edits: &'a [Edit],
    keys: &'a [Key],
    /// Another record that is written with it.
    also: Option<&'a Change>,
    durability: Durability,
}

/// Edits to be committed together.
pub(crate) struct Draft {
    /// The state after them.
    pub(crate) state: State,
    pub(crate) batch: Batch,
    pub(crate) work: Work,
    /// The keys that are new.
    added: Vec<Key>,
}

impl Draft {
    pub(crate) fn new(state: &State) -> Draft {
        Draft { state: state.clone(), batch: Batch::default(), work: Work::default(), added: Vec::new() }
    }

    /// Adds a plan, to be applied when the commit has happened.
    pub(crate) fn add(&mut self, planned: Planned, logged: Logged, tag: u64) {
        self.state.advance(planned.writes(), logged, tag, &mut self.batch);
        self.work.last = Some(planned);
    }
}

impl<S: Store> Inner<S> {
    /// Makes changes, all or none. Returns how many of the keys were stored before.
    pub(crate) fn change(&self, edits: &[Edit]) -> Result<u64, Error<S::Error>> {
        self.change_with(edits, None, self.durability)
    }

    /// The same, with another record in the same commit.
    pub(crate) fn change_with(
        &self,
        edits: &[Edit],
        also: Option<&Change>,
        durability: Durability,
    ) -> Result<u64, Error<S::Error>> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        edits.iter().filter(|edit| edit.value.is_some()).try_for_each(|edit| self.check_length(&edit.key))?;
        let mut writer = self.lock()?;
        self.forget_stale_snapshot(&mut writer);
        self.make_room(&mut writer, edits.iter().filter(|edit| edit.value.is_some()).count() as u64)?;
        let keys: Vec<Key> = edits.iter().map(|edit| edit.key.clone()).collect();
        self.pending.enter(&keys);
        // After that and before the commit: see `Queue`.
        self.queue.take_out(&keys);
        let change = Changing { edits, keys: &keys, also, durability };
        let mut changed = self.try_change(&mut writer, &change);
        if matches!(changed, Err(Error::Inconsistent)) && writer.doubt.is_none() {
            // Filter and store disagree. With a rebuilt filter the change may succeed.
            changed = self.rebuild(&mut writer).and_then(|()| self.try_change(&mut writer, &change));
        }
        // A doubt of a rebuild has no keys; one of this change keeps them pending.
        if writer.doubt.as_ref().is_none_or(|doubt| doubt.keys.is_empty()) {
            self.pending.leave(&keys);
        }
        let stored = changed?;
        self.after_change(&mut writer);
        self.teach(&mut writer, LESSON.saturating_mul(edits.len()));
        Ok(stored)
    }

    /// Returns an error if the store has no room for the index entry of a key.
    pub(crate) fn check_length(&self, key: &[u8]) -> Result<(), Error<S::Error>> {
        let longest = self.store.longest_key().map_or(usize::MAX, |longest| longest.saturating_sub(entry::HEAD));
        if key.len() > longest { Err(Error::KeyTooLong { len: key.len(), longest }) } else { Ok(()) }
    }

    /// Plans each change on top of the earlier ones, which are applied already, and commits them together. The last plan is
    /// applied after the commit.
    fn try_change(&self, writer: &mut Writer, change: &Changing<'_>) -> Result<u64, Error<S::Error>> {
        let mut draft = Draft::new(&writer.state);
        match self.draft_all(writer, &mut draft, change.edits) {
            Ok(stored) if draft.batch.is_empty() && change.also.is_none() => Ok(stored),
            Ok(stored) => {
                change.also.into_iter().for_each(|also| draft.batch.also(also));
                let added = std::mem::take(&mut draft.added);
                self.commit(writer, draft, change.keys, change.durability)?;
                self.remember_inserted(writer, &added);
                Ok(stored)
            }
            Err(error) => {
                self.take_back(writer, draft.work);
                Err(error)
            }
        }
    }

    fn draft_all(&self, writer: &mut Writer, draft: &mut Draft, edits: &[Edit]) -> Result<u64, Error<S::Error>> {
        let mut stored_before = 0;
        for edit in edits {
            let stored = match draft.batch.get(Space::Values, &edit.key) {
                Some(value) => value.is_some(),
                None => self.was_stored(edit)?,
            };
            stored_before += u64::from(stored);
            if stored != edit.value.is_some() {
                self.draft_one(writer, draft, edit).map_err(Error::from)?;
            }
            if stored || edit.value.is_some() {
                draft.batch.edit(edit, draft.state.sums);
            }
        }
        Ok(stored_before)
    }

    /// `true` if the key of an edit is stored. An insertion does not rely on the filter: if it were wrong, the key would be
    /// counted and indexed twice.
    fn was_stored(&self, edit: &Edit) -> Result<bool, Error<S::Error>> {
        let may_be = self.may_contain(&edit.key);
        if !may_be && edit.value.is_none() {
            return Ok(false);
        }
        let stored = self.store.contains(Space::Values, &edit.key).map_err(Error::Store)?;
        if stored && !may_be { Err(Error::Inconsistent) } else { Ok(stored) }
    }

    /// Adds a change of the set to a draft. Grows the filter first if necessary.
    fn draft_one(&self, writer: &mut Writer, draft: &mut Draft, edit: &Edit) -> Result<(), Failure<S::Error>> {
        self.apply_last(writer, draft)?;
        let operation = match edit.value {
            Some(_) => Operation::Insert(&edit.key),
            None => Operation::Remove(&edit.key),
        };
        let mut growths = 0;
        let planned = loop {
            match self.plan(writer, &draft.batch, operation) {
                Err(Failure::Full) if growths < MOST_GROWTHS => {
                    growths += 1;
                    match self.grow_now(writer, draft, growths) {
                        // That table was too small, too.
                        Ok(()) | Err(Failure::Full) => {}
                        Err(failure) => return Err(failure),
                    }
                }
                planned => break planned?,
            }
        };
        if planned.plan.is_nothing() {
            // The filter sees nothing to do, but the store does.
            return Err(Failure::NoFilter);
        }
        if edit.value.is_some() {
            draft.added.push(edit.key.clone());
        }
        let tag = writer.tag();
        draft.add(planned, edit.logged(), tag);
        Ok(())
    }

    /// Applies a draft's last plan, so that another can be made on top of it.
    pub(crate) fn apply_last(&self, writer: &mut Writer, draft: &mut Draft) -> Result<(), Failure<S::Error>> {
        if let Some(last) = draft.work.last.take() {
            let applied = self.apply(writer, last).ok_or(Failure::NoFilter)?;
            draft.work.applied.push(applied);
        }
        Ok(())
    }

    /// Commits a draft. Then applies its last plan, or takes all its plans back if the commit failed.
    pub(crate) fn commit(
        &self,
        writer: &mut Writer,
        draft: Draft,
        keys: &[Key],
        durability: Durability,
    ) -> Result<(), Error<S::Error>> {
        let Draft { state: after, mut batch, work, .. } = draft;
        after.write(&mut batch);
        match self.commit_batch(writer, batch, durability) {
            Ok(()) => {
                self.set_state(writer, after);
                self.finish(writer, work);
                Ok(())
            }
            Err(CommitError::Failed(error)) => {
                self.take_back(writer, work);
                Err(Error::Store(error))
            }
            Err(CommitError::Unknown(error)) => {
                writer.doubt = Some(Doubt { after, keys: keys.to_vec(), work });
                Err(Error::Unknown(error))
            }
        }
    }
}

impl Edit {
    fn logged(&self) -> Logged {
        match self.value {
            Some(_) => Logged::Added(self.key.clone()),
            None => Logged::Removed(self.key.clone()),
        }
    }
}

impl Batch {
    pub(crate) fn edit(&mut self, edit: &Edit, sums: bool) {
        match &edit.value {
            Some(value) if sums => self.put(Space::Values, &*edit.key, sum::seal(&edit.key, value.clone())),
            Some(value) => self.put(Space::Values, &*edit.key, value.clone()),
            None => self.delete(Space::Values, &*edit.key),
        }
    }
}

impl<E> From<Failure<E>> for Error<E> {
    fn from(failure: Failure<E>) -> Error<E> {
        match failure {
            Failure::Store(error) => Error::Store(error),
            Failure::Full => Error::NoRoom,
            Failure::NoFilter | Failure::Damaged => Error::Inconsistent,
        }
    }
}

impl<E> From<CommitError<E>> for Error<E> {
    fn from(error: CommitError<E>) -> Error<E> {
        match error {
            CommitError::Failed(error) => Error::Store(error),
            CommitError::Unknown(error) => Error::Unknown(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::MemoryStore;
    use crate::options::Options;
    use crate::{Checked, Kind};
    use std::sync::PoisonError;
    use twiceshy::hash::HashKey;
    use twiceshy::remote::Generation;

    /// The filter forgets everything, as one would that came from a snapshot with a wrong hash key.
    #[test]
    fn a_filter_that_has_lost_keys_does_not_make_an_insertion_count_them_twice() {
        for kind in Kind::ALL {
            let guard = Options::new().filter(*kind).background(false).open(MemoryStore::new()).expect("a store");
            guard.insert_all((0..300u64).map(|key| (key.to_be_bytes(), b"1"))).expect("memory");
            let wrong = kind.make(1_024, 1.0 / 256.0, HashKey::fixed(9), Generation(0)).expect("a filter");
            *guard.inner().filter.write().unwrap_or_else(PoisonError::into_inner) = Some(wrong);
            let new = guard.insert_all((0..310u64).map(|key| (key.to_be_bytes(), b"2"))).expect("memory");
            assert_eq!((new, guard.len().expect("memory")), (10, 310), "{kind}");
            assert_eq!(guard.check().expect("memory"), Checked::Sound, "{kind}");
            assert!((0..310u64).all(|key| guard.remove(&key.to_be_bytes()).expect("memory")), "{kind}");
        }
    }
}
