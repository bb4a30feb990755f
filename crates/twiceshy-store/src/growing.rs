//! Growing the filter before it is full, a few keys with each insertion.

use crate::batch::Batch;
use crate::changing::{Draft, MOST_GROWTHS};
use crate::choice::Choice;
use crate::entry::Logged;
use crate::error::Error;
use crate::index::{Failure, Index, words_match};
use crate::inner::{Inner, Work, Writer, capacity};
use crate::store::{Durability, Store};
use crate::teaching::teach_growth;
use crate::watch::Replaced;
use std::sync::PoisonError;
use twiceshy::error::PlanError;
use twiceshy::filter::{Operation, Progress, Target};
use twiceshy::growth::Growth;
use twiceshy::hash::HashKey;
use twiceshy::plan::Outcome;
use twiceshy::remote::Write;

/// The load at which a filter begins to grow.
const GROWS_AT: f64 = 0.85;

/// The highest load while a filter grows. Above it insertions become slow, and then fail.
const FULL_AT: f64 = 0.93;

/// How many keys an insertion moves to the larger table.
const KEYS_PER_INSERTION: u64 = 64;

/// How many keys are moved in one step.
const STEP: u64 = 256;

impl<S: Store> Inner<S> {
    /// Makes sure that `more` keys will fit.
    pub(crate) fn make_room(&self, writer: &mut Writer, more: u64) -> Result<(), Error<S::Error>> {
        // If this fails, the next change tries again.
        let _ = self.delete_some(writer, more.max(1).saturating_mul(KEYS_PER_INSERTION));
        for _ in 0..MOST_GROWTHS {
            let need = self.need(writer, more);
            let made = match need {
                Need::Nothing => Ok(()),
                Need::Growth(pace) => {
                    let keys = writer.state.len.saturating_add(more);
                    self.begin_growth(writer, keys, None).and_then(|()| self.bring_over(writer, pace))
                }
                Need::Rebuild(cells) => self.begin(writer, Target::Cells(cells), None),
                Need::HashKey => {
                    let target = Target::Hash(HashKey::random()?);
                    self.begin(writer, target, None)
                }
                Need::MoreKeys(pace) => self.bring_over(writer, pace),
            };
            if matches!(need, Need::Rebuild(_) | Need::HashKey) && !matches!(made, Err(Failure::Store(_))) {
                writer.no_rebuild_before = writer.state.last.number.saturating_add(writer.state.len / 2 + 1_000);
                writer.hash_key_asked = false;
            }
            match made {
                // The table that was growing may be too small for the batch.
                Ok(()) if matches!(need, Need::Growth(u64::MAX) | Need::MoreKeys(u64::MAX)) => {}
                Ok(()) => break,
                // The filter keeps its table. An insertion that finds no room grows it at once.
                Err(Failure::Full) => break,
                Err(Failure::NoFilter) => return self.rebuild(writer),
                Err(Failure::Damaged) => {
                    self.lose_filter(writer);
                    return Err(Error::Inconsistent);
                }
                Err(failure) => return Err(failure.into()),
            }
        }
        Ok(())
    }

    /// `true` if a rebuild within the filter has begun.
    fn rebuilds_within(&self) -> bool {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        filter.as_ref().is_some_and(|filter| filter.is_rebuilding())
    }

    fn need(&self, writer: &Writer, more: u64) -> Need {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else { return Need::Nothing };
        let load = (filter.len() + more) as f64 / filter.cells() as f64;
        // If a batch does not fit, growth is completed first.
        let pace = if load > FULL_AT { u64::MAX } else { more.saturating_mul(KEYS_PER_INSERTION) };
        let grows = writer.growth.is_some() || filter.is_rebuilding();
        match (grows, load > GROWS_AT) {
            // A table under another hash key is no larger. It gives way to one that is.
            (true, _) if load > FULL_AT && rekeys(writer) => Need::Growth(pace),
            (true, _) => Need::MoreKeys(pace),
            (false, true) => Need::Growth(pace),
            (false, false) if writer.state.last.number < writer.no_rebuild_before => Need::Nothing,
            (false, false) if filter.wants_hash_key() && !self.learning_writes || writer.hash_key_asked => {
                // The next generation must be empty. Until it is, each change deletes some of its entries.
                if writer.unused_from.is_none() { Need::HashKey } else { Need::Nothing }
            }
            (false, false) if filter.wants_rebuild() => Need::Rebuild(filter.cells()),
            (false, false) => Need::Nothing,
        }
    }

    /// Begins a table for `keys` keys and some more.
    fn begin_growth(&self, writer: &mut Writer, keys: u64, draft: Option<&mut Draft>) -> Result<(), Failure<S::Error>> {
        let keys = capacity(keys).saturating_mul(4) / 3;
        let choice = Choice::from_bytes(&writer.state.choice).ok_or(Failure::NoFilter)?;
        let cells = choice.cells(keys).map_err(|_| Failure::Full)?;
        self.begin(writer, Target::Cells(cells), draft)
    }

    /// Begins a table, beside the filter or within it. It has at least as many cells as the filter.
    fn begin(&self, writer: &mut Writer, target: Target, draft: Option<&mut Draft>) -> Result<(), Failure<S::Error>> {
        let place = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*place else { return Err(Failure::NoFilter) };
        let target = match target {
            Target::Cells(cells) => Target::Cells(cells.max(filter.cells())),
            target => target,
        };
        let nothing = Batch::default();
        let index = Index::new(&self.store, &nothing);
        let growth = Growth::begin(&**filter, target, &index)?;
        drop(place);
        match growth {
            Some(growth) => {
                if growth.own_generation() {
                    self.write(writer, &growth.opening(None), Work::default())?;
                }
                self.set_growth(writer, Some(growth));
                Ok(())
            }
            None => self.step_within(writer, draft, Operation::Begin(target)),
        }
    }

    /// Moves keys to the larger table, outside any batch.
    fn bring_over(&self, writer: &mut Writer, keys: u64) -> Result<(), Failure<S::Error>> {
        let mut left = keys;
        while left > 0 && !self.step(writer, None, left.min(STEP))? {
            left = left.saturating_sub(STEP);
        }
        Ok(())
    }

    /// One step of growth. `true` when it is complete.
    fn step(&self, writer: &mut Writer, draft: Option<&mut Draft>, keys: u64) -> Result<bool, Failure<S::Error>> {
        let Some(growth) = &writer.growth else {
            self.step_within(writer, draft, Operation::Step(keys as usize))?;
            let ended = !self.rebuilds_within();
            if ended {
                self.has_replaced(Replaced::Grown, self.stats().cells);
                self.begin_lesson(writer);
            }
            return Ok(ended);
        };
        let (nothing, len) = (Batch::default(), draft.as_ref().map_or(writer.state.len, |draft| draft.state.len));
        let index = Index::new(&self.store, draft.map_or(&nothing, |draft| &draft.batch));
        let some = growth.next_keys(keys as usize, &index).map_err(PlanError::from)?;
        if !words_match(growth.source().1, &some) {
            return Err(Failure::Damaged);
        }
        if some.is_empty() {
            if growth.filter().len() != len {
                return Err(Failure::Damaged);
            }
            return if teach_growth(writer, keys as usize, &index)? { Ok(false) } else { self.take_over(writer) };
        }
        if growth.own_generation() {
            // Before the keys are in the table, so that each of its places has all its candidates.
            self.write(writer, &growth.additions(&some), Work::default())?;
        }
        let Some(growth) = &mut writer.growth else { return Err(Failure::NoFilter) };
        let filled = growth.fill(some, &index).map_err(Failure::from);
        if matches!(filled, Err(Failure::Full)) {
            self.set_growth(writer, None);
        }
        filled.map(|()| false)
    }

    /// Replaces the filter by the one that is filled. From here on the index of a new generation is in use.
    fn take_over(&self, writer: &mut Writer) -> Result<bool, Failure<S::Error>> {
        let writes = writer.growth.as_ref().map_or_else(Vec::new, Growth::switch);
        match writes.is_empty() {
            true => self.switch(writer),
            false => self.write(writer, &writes, Work { switches: true, ..Work::default() })?,
        }
        Ok(true)
    }

    /// Commits what a growth writes to the index, outside any batch of changes.
    fn write(&self, writer: &mut Writer, writes: &[Write], work: Work) -> Result<(), Failure<S::Error>> {
        let (mut draft, tag) = (Draft::new(&writer.state), writer.tag());
        draft.state.advance(writes.iter(), Logged::Other, tag, &mut draft.batch);
        draft.work = work;
        self.commit(writer, draft, &[], Durability::Seen).map_err(own_failure)
    }

    /// A step of a filter that rebuilds itself. Its writes are committed at once, or with the changes of a draft.
    fn step_within(
        &self,
        writer: &mut Writer,
        draft: Option<&mut Draft>,
        operation: Operation<'_>,
    ) -> Result<(), Failure<S::Error>> {
        let mut own = Draft::new(&writer.state);
        let in_batch = draft.is_some();
        let draft = draft.unwrap_or(&mut own);
        let planned = self.plan(writer, &draft.batch, operation)?;
        let gives_up = planned.plan.outcome() == Outcome::Rebuild(Progress::GaveUp);
        let tag = writer.tag();
        if planned.writes().next().is_none() {
            // Nothing to commit.
            draft.work.last = Some(planned);
            self.apply_last(writer, draft)?;
            return if gives_up { Err(Failure::Full) } else { Ok(()) };
        }
        draft.add(planned, Logged::Other, tag);
        if in_batch {
            return self.apply_last(writer, draft);
        }
        self.commit(writer, own, &[], Durability::Seen).map_err(own_failure)
    }

    /// Completes growth within a batch, because the next key does not fit. Each growth that was not enough makes the next
    /// table larger.
    pub(crate) fn grow_now(
        &self,
        writer: &mut Writer,
        draft: &mut Draft,
        growths: u32,
    ) -> Result<(), Failure<S::Error>> {
        // What was applied before cannot be taken back from the new table.
        draft.work.grew |= !draft.work.applied.is_empty();
        if rekeys(writer) {
            // It is no larger, and its commits cannot be part of this one.
            self.set_growth(writer, None);
            draft.state.keep_used();
        }
        if writer.growth.is_none() && !self.rebuilds_within() {
            let keys = draft.state.len.saturating_add(1).saturating_mul(1 << growths.min(16));
            self.begin_growth(writer, keys, Some(draft))?;
        }
        while !self.step(writer, Some(draft), STEP)? {}
        Ok(())
    }
}

/// `true` if a table under another hash key is being filled.
fn rekeys(writer: &Writer) -> bool {
    writer.growth.as_ref().is_some_and(Growth::own_generation)
}

/// Why a commit of growth itself failed. If its answer was lost, the next thread to take the lock finds out.
fn own_failure<E>(error: Error<E>) -> Failure<E> {
    match error {
        Error::Store(error) | Error::Unknown(error) => Failure::Store(error),
        _ => Failure::NoFilter,
    }
}

/// What a filter needs before the next insertion.
enum Need {
    Nothing,
    /// A larger table, and this many keys moved to it at once.
    Growth(u64),
    /// A new table of the same size.
    Rebuild(u64),
    /// A new table of the same size, under another hash key.
    HashKey,
    /// This many more keys moved to the table being filled.
    MoreKeys(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::options::Options;
    use twiceshy::Kind;

    #[test]
    fn a_filter_of_every_kind_grows_to_the_end_within_a_draft() {
        for kind in Kind::ALL {
            let options = Options::new().filter(*kind).background(false);
            let guard = options.open(MemoryStore::new()).expect("an empty store");
            let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            guard.insert_all((0..600).map(|number| (key(number), b""))).expect("memory");
            let inner = guard.inner();
            let mut writer = inner.lock().expect("memory");
            let cells = |place: &Inner<MemoryStore>| {
                let filter = place.filter.read().unwrap_or_else(PoisonError::into_inner);
                filter.as_ref().map_or(0, |filter| filter.cells())
            };
            let (before, mut draft) = (cells(inner), Draft::new(&writer.state));
            assert!(inner.grow_now(&mut writer, &mut draft, 2).is_ok(), "{kind}");
            assert!(cells(inner) > before, "{kind}");
            if draft.batch.is_empty() {
                // Nothing was written, and nothing need be taken back.
                assert!(!draft.work.grew && draft.work.applied.is_empty(), "{kind}");
            } else {
                inner.commit(&mut writer, draft, &[], Durability::Synced).expect("memory");
            }
            drop(writer);
            assert_eq!(guard.check().expect("memory"), crate::Checked::Sound, "{kind}");
            assert!((0..600).all(|number| guard.contains(&key(number)).expect("memory")), "{kind}");
        }
    }

    #[test]
    fn a_filter_that_is_full_while_it_takes_another_hash_key_grows_under_its_own() {
        for kind in Kind::ALL.iter().filter(|kind| !kind.learning_writes()) {
            let options = Options::new().filter(*kind).background(false);
            let guard = options.open(MemoryStore::new()).expect("an empty store");
            let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            guard.insert_all((0..600).map(|number| (key(number), b""))).expect("memory");
            let inner = guard.inner();
            let mut writer = inner.lock().expect("memory");
            let (in_use, cells) = (writer.state.in_use, guard.stats().cells);
            writer.hash_key_asked = true;
            assert!(inner.make_room(&mut writer, 1).is_ok() && inner.make_room(&mut writer, 1).is_ok(), "{kind}");
            assert!(rekeys(&writer) && writer.state.generations.len() == 2, "{kind}");
            assert_eq!(writer.growth.as_ref().map(|growth| growth.filter().len()), Some(64), "{kind}");
            let mut draft = Draft::new(&writer.state);
            assert!(inner.grow_now(&mut writer, &mut draft, 2).is_ok(), "{kind}");
            assert!(writer.growth.is_none() && guard.stats().cells > cells, "{kind}");
            assert_eq!((writer.state.in_use, writer.state.generations.len()), (in_use, 1), "{kind}");
            assert_eq!(draft.state.generations, writer.state.generations, "{kind}");
            drop(writer);
            assert_eq!(guard.check().expect("memory"), crate::Checked::Sound, "{kind}");
            assert!((0..600).all(|number| guard.contains(&key(number)).expect("memory")), "{kind}");
        }
    }
}
