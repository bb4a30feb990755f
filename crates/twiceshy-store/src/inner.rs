//! What a guard consists of, and the one lock that orders its changes.

use crate::batch::Batch;
use crate::error::Error;
use crate::index::{Failure, Index};
use crate::pending::Pending;
use crate::policy::Policy;
use crate::queue::Queue;
use crate::remembered::Remembered;
use crate::saving::Unsynced;
use crate::state::{Mark, State, StateError};
use crate::stats::{Counters, Stats};
use crate::status::StatusFile;
use crate::store::{Durability, Space, Store};
use crate::turns::Turns;
use crate::watch::{Replaced, Watch};
use crossbeam_utils::sync::ShardedLock;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use twiceshy::error::StalePlan;
use twiceshy::filter::{Backed, Operation};
use twiceshy::growth::{Beside, Growth};
use twiceshy::memory::{Lesson, Recalling};
use twiceshy::plan::{Plan, Stamp, Undo};
use twiceshy::remote::{Key, Write};
use twiceshy::spot_check::SpotCheck;

/// The parts of a guard.
///
/// **Locks.** Changes, adaptations and snapshots are made under `writer`, one at a time, from plan to apply. Look-ups never
/// wait for it: they read `pending`, then the filter, then the store. A plan is made under the filter's read lock, reading
/// the store on the way. The write lock is held only while a plan is applied in memory.
pub(crate) struct Inner<S> {
    /// Before the store, because the file is deleted while the store is still locked: the next guard writes its own.
    pub(crate) status: Option<StatusFile>,
    pub(crate) store: S,
    /// `None` if it is lost or not ready: then every look-up goes to the store.
    pub(crate) filter: ShardedLock<Option<Box<dyn Backed>>>,
    /// The memory of a filter in the making.
    pub(crate) growth_bits: AtomicU64,
    pub(crate) pending: Pending,
    pub(crate) writer: Mutex<Writer>,
    /// Who waits for `writer`.
    pub(crate) turns: Turns,
    pub(crate) queue: Queue,
    /// `true` if the thread that hits a false positive adapts the filter: there is no learner thread.
    pub(crate) learns_at_once: bool,
    /// `true` if the filter writes to the store when it learns.
    pub(crate) learning_writes: bool,
    pub(crate) closing: AtomicBool,
    pub(crate) policy: Policy,
    pub(crate) counters: Counters,
    /// Checks absent answers of a guard beside a store.
    pub(crate) spot: SpotCheck,
    pub(crate) watch: Watch,
    /// Where the snapshot is saved, if anywhere.
    pub(crate) snapshot: Option<PathBuf>,
    /// How durable a change is when it returns.
    pub(crate) durability: Durability,
    /// `true` if nothing may be written, neither to the store nor beside it.
    pub(crate) read_only: bool,
    /// `true` if each value ends with its checksum.
    pub(crate) sums: AtomicBool,
}

/// What only the lock's holder may see.
pub(crate) struct Writer {
    /// The store's state after the last commit whose outcome is known. Replaced by [`Inner::set_state`].
    pub(crate) state: State,
    /// A larger filter that is being filled. Look-ups do not see it.
    pub(crate) growth: Option<Growth>,
    /// A commit whose outcome is not known.
    pub(crate) doubt: Option<Doubt>,
    /// The last tag.
    pub(crate) tags: u64,
    /// What the snapshot on disk contains: the last commit, and the filter's stamp.
    pub(crate) saved: Option<(Mark, Stamp)>,
    pub(crate) unsynced: Unsynced,
    /// `true` if a synced commit says that the filter has learned something that no snapshot has: see [`State::learned`].
    pub(crate) learning_synced: bool,
    /// `true` if there is a snapshot on disk that a later open must not find.
    pub(crate) stale_snapshot: bool,
    /// The filter's wish for a rebuild is ignored before this commit: repeated rebuilds would not help.
    pub(crate) no_rebuild_before: u64,
    /// `true` if the store's state record is missing or damaged: it must be repaired before anything else is done.
    pub(crate) damaged: bool,
    /// From where on the index may have entries of generations that are not in use; `None` if it has none.
    pub(crate) unused_from: Option<Vec<u8>>,
    /// `true` while keys are loaded in bulk: there is no filter, and none is made.
    pub(crate) loading: bool,
    /// `true` if a test asks for another hash key.
    pub(crate) hash_key_asked: bool,
    pub(crate) remembered: Remembered,
    /// Teaches a filter that was made anew.
    pub(crate) lesson: Option<Lesson>,
}

/// A commit whose answer was lost.
pub(crate) struct Doubt {
    /// The state after the commit, if it happened.
    pub(crate) after: State,
    /// The keys that it changes. They are pending until the outcome is known.
    pub(crate) keys: Vec<Key>,
    pub(crate) work: Work,
}

/// The filter's side of a commit.
#[derive(Default)]
pub(crate) struct Work {
    /// Plans that are applied already, in order. They are taken back if the commit fails.
    pub(crate) applied: Vec<Applied>,
    /// The last plan, to be applied after the commit.
    pub(crate) last: Option<Planned>,
    /// `true` if the filter grew meanwhile: then the work cannot be taken back.
    pub(crate) grew: bool,
    /// `true` if the filter in the making takes over after the commit.
    pub(crate) switches: bool,
}

/// A plan for the filter and for the one being filled.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) beside: Option<Beside>,
}

/// How to take a plan back, in the filter and in the one being filled.
pub(crate) struct Applied {
    undo: Undo,
    beside: Option<Undo>,
}

impl Planned {
    /// What the store must write.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &Write> {
        self.plan.writes().iter().chain(self.beside.iter().flat_map(|beside| &beside.writes))
    }
}

impl Writer {
    /// A tag for a commit. It need not be secret, but must differ when a lost commit number is used again. Each open counts
    /// up from a random number.
    pub(crate) fn tag(&mut self) -> u64 {
        self.tags = self.tags.wrapping_add(1);
        self.tags
    }
}

/// The smallest capacity of a filter.
const MIN_CAPACITY: u64 = 1_024;

/// The capacity of a filter for `keys` keys: half as many again fit before it grows.
pub(crate) fn capacity(keys: u64) -> u64 {
    keys.saturating_add(keys / 2).max(MIN_CAPACITY)
}

impl<S: Store> Inner<S> {
    /// Takes the lock, settles any commit in doubt, and makes sure that there is a filter.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Writer>, Error<S::Error>> {
        let mut writer = self.lock_settled()?;
        if writer.damaged {
            return Err(Error::Damaged);
        }
        if writer.loading {
            return Err(Error::Interrupted);
        }
        if !self.has_filter() {
            self.rebuild(&mut writer)?;
        }
        Ok(writer)
    }

    /// Takes the lock, and settles any commit in doubt.
    pub(crate) fn lock_settled(&self) -> Result<MutexGuard<'_, Writer>, Error<S::Error>> {
        let waits = self.turns.wait();
        let mut writer = self.writer.lock().unwrap_or_else(|poisoned| {
            // A thread panicked half-way. The store is consistent, so reload from it.
            self.writer.clear_poison();
            let mut writer = poisoned.into_inner();
            self.doubt_all(&mut writer);
            self.lose_functions(&mut writer);
            self.pending.clear();
            writer
        });
        drop(waits);
        self.settle(&mut writer)?;
        Ok(writer)
    }

    /// Makes this the state after the last commit.
    pub(crate) fn set_state(&self, writer: &mut Writer, state: State) {
        self.counters.keys.store(state.len, Ordering::Relaxed);
        writer.state = state;
    }

    /// What is counted and held now. Neither the store is read nor the writer's lock taken.
    pub(crate) fn stats(&self) -> Stats {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let (bits, cells) = filter.as_ref().map_or((0, 0), |filter| (filter.local_bits(), filter.cells()));
        drop(filter);
        let growth = self.growth_bits.load(Ordering::Relaxed);
        let local_bits = bits + growth + self.queue.local_bits() + self.policy.local_bits();
        let spot = self.spot.counts();
        Stats {
            spot_checks: spot.checks,
            spot_raced: spot.raced,
            denied_rows: spot.denied,
            seen: spot.seen,
            clean_checks: spot.clean,
            local_bits,
            cells,
            queued: self.queue.len() as u64,
            ..self.counters.stats()
        }
    }

    /// Writes the status file, if there is one to be written.
    pub(crate) fn tell_status(&self, at_once: bool) {
        if let Some(status) = &self.status {
            status.tell(at_once, || self.stats());
        }
    }

    pub(crate) fn has_filter(&self) -> bool {
        self.filter.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Works on the filter while no look-up sees it; `None` if there is no filter. If the work panics, the filter is lost
    /// and look-ups go to the store, so a half-changed filter is never used.
    fn with_filter<T>(&self, work: impl FnOnce(&mut dyn Backed) -> T) -> Option<T> {
        let mut place = self.filter.write().unwrap_or_else(PoisonError::into_inner);
        let mut filter = place.take()?;
        let done = work(&mut *filter);
        *place = Some(filter);
        Some(done)
    }

    /// Drops the filter. The next change rebuilds it.
    pub(crate) fn lose_filter(&self, writer: &mut Writer) {
        let lost = self.filter.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(self.set_growth(writer, None));
        // Freed outside the lock.
        drop(lost);
    }

    /// Drops the filter. If it must not come to the same functions again, nor must a later open find them in a snapshot.
    pub(crate) fn lose_functions(&self, writer: &mut Writer) {
        self.lose_filter(writer);
        if self.learning_writes && self.snapshot.is_some() {
            writer.stale_snapshot = true;
            // At once: the process may be killed before the next change.
            self.forget_stale_snapshot(writer);
        }
    }

    /// `true` if the filter says that the key may be stored, or if there is no filter.
    pub(crate) fn may_contain(&self, key: &[u8]) -> bool {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        filter.as_ref().is_none_or(|filter| filter.contains(key))
    }

    /// Plans an operation over the store and a batch, in the filter and in the one being filled.
    pub(crate) fn plan(
        &self,
        writer: &Writer,
        batch: &Batch,
        operation: Operation<'_>,
    ) -> Result<Planned, Failure<S::Error>> {
        let index = Index::new(&self.store, batch);
        let index = Recalling::new(&index, writer.remembered.memory());
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else { return Err(Failure::NoFilter) };
        let plan = filter.plan(operation, &index)?;
        let beside = match writer.growth.as_ref().filter(|_| plan.keys().next().is_some()) {
            Some(growth) => Some(growth.plan(operation, &index)?),
            None => None,
        };
        Ok(Planned { plan, beside })
    }

    /// Applies a plan. If it does not fit, which would be a bug, the filter is dropped.
    pub(crate) fn apply(&self, writer: &mut Writer, planned: Planned) -> Option<Applied> {
        let Planned { plan, beside } = planned;
        let Some(Ok(undo)) = self.with_filter(|filter| filter.apply(plan)) else {
            self.lose_filter(writer);
            return None;
        };
        let beside = match (&mut writer.growth, beside) {
            (Some(_), Some(beside)) if beside.gives_up => {
                self.set_growth(writer, None);
                None
            }
            (Some(growth), Some(beside)) => match growth.apply(beside) {
                Ok(undo) => undo,
                Err(StalePlan) => {
                    self.set_growth(writer, None);
                    None
                }
            },
            _ => None,
        };
        Some(Applied { undo, beside })
    }

    /// Completes the filter's side of a commit that happened.
    pub(crate) fn finish(&self, writer: &mut Writer, work: Work) {
        if let Some(last) = work.last {
            self.apply(writer, last);
        }
        if work.switches {
            self.switch(writer);
        }
    }

    /// Undoes the filter's side of a commit that did not happen.
    ///
    /// Look-ups have seen the plans that were applied, so an adversary may know their answers. A broom filter must not use
    /// the same functions again: it is rebuilt.
    pub(crate) fn take_back(&self, writer: &mut Writer, work: Work) {
        if work.applied.is_empty() && !work.grew {
            return;
        }
        if work.grew || self.learning_writes {
            self.lose_functions(writer);
            return;
        }
        for Applied { undo, beside } in work.applied.into_iter().rev() {
            if self.with_filter(|filter| filter.undo(undo)) != Some(Ok(())) {
                return self.lose_filter(writer);
            }
            if let (Some(growth), Some(beside)) = (&mut writer.growth, beside)
                && growth.undo(beside).is_err()
            {
                self.set_growth(writer, None);
            }
        }
    }

    /// Begins or ends a filter in the making, and counts its memory. Returns the one before.
    pub(crate) fn set_growth(&self, writer: &mut Writer, growth: Option<Growth>) -> Option<Growth> {
        self.growth_bits.store(growth.as_ref().map_or(0, Growth::local_bits), Ordering::Relaxed);
        let before = std::mem::replace(&mut writer.growth, growth);
        if before.as_ref().is_some_and(Growth::own_generation) {
            // Either its entries are not in use now, or those of the filter that it replaces.
            writer.state.keep_used();
            writer.unused_from = Some(Vec::new());
        }
        before
    }

    /// Replaces the filter that answers by the filled one. The old table is freed outside the lock.
    pub(crate) fn switch(&self, writer: &mut Writer) {
        let Some(growth) = self.set_growth(writer, None) else { return };
        let why = if growth.own_generation() { Replaced::ReKeyed } else { Replaced::Grown };
        let mut successor = growth.into_filter();
        match self.with_filter(|filter| filter.replace(&mut *successor).then(|| filter.cells())) {
            Some(Some(cells)) => self.has_replaced(why, cells),
            _ => self.lose_filter(writer),
        }
        drop(successor);
    }

    /// The filter has another table.
    pub(crate) fn has_replaced(&self, why: Replaced, cells: u64) {
        self.counters.grown.add(1);
        self.watch.replaced(why, cells);
    }

    /// Has the state read again before anything else is done.
    pub(crate) fn doubt_all(&self, writer: &mut Writer) {
        let after = writer.state.clone();
        writer.doubt.get_or_insert(Doubt { after, keys: Vec::new(), work: Work::default() });
    }

    /// Finds out whether a commit whose answer was lost has happened.
    pub(crate) fn settle(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if writer.doubt.is_none() {
            return Ok(());
        }
        let mut found = match self.read_state() {
            // It has yet to be repaired.
            Err(Error::Damaged) if writer.damaged => {
                writer.doubt = None;
                return Ok(());
            }
            found => found?,
        };
        let Some(doubt) = writer.doubt.take() else { return Ok(()) };
        let known = writer.state.last;
        if found.secret.is_none() {
            // One was drawn when the store was opened.
            found.secret = writer.state.secret;
        }
        self.set_state(writer, found);
        writer.damaged = false;
        // What was found may not be synced.
        writer.learning_synced = false;
        if writer.state.last == doubt.after.last {
            self.finish(writer, doubt.work);
        } else if writer.state.last == known {
            self.take_back(writer, doubt.work);
        } else {
            self.lose_functions(writer);
        }
        self.pending.leave(&doubt.keys);
        Ok(())
    }

    pub(crate) fn read_state(&self) -> Result<State, Error<S::Error>> {
        read_state(&self.store)?.ok_or(Error::Damaged)
    }
}

/// The state of a store; `None` if it has none.
pub(crate) fn read_state<S: Store>(store: &S) -> Result<Option<State>, Error<S::Error>> {
    match State::read(|key| store.get(Space::Meta, key)).map_err(Error::Store)? {
        Ok(state) => Ok(state),
        Err(StateError::Newer(found)) => {
            Err(Error::Newer { what: "the store".into(), found: found.into(), known: StateError::KNOWN.into() })
        }
        Err(StateError::Damaged) => Err(Error::Damaged),
    }
}
