//! What a guard consists of, and the one lock that orders its changes.

use crate::batch::Batch;
use crate::error::Error;
use crate::kind::AnyFilter;
use crate::pending::Pending;
use crate::policy::Policy;
use crate::queue::Queue;
use crate::state::{Mark, State, StateError};
use crate::stats::Counters;
use crate::store::{Durability, Space, Store};
use crate::view::{Answers, Source, Stop, View};
use crossbeam_utils::sync::ShardedLock;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use twiceshy::remote::{Key, Plan};

/// The parts of a guard.
///
/// **Who may do what when.** Changes, adaptations and snapshots are made under `writer`, one at a time, from plan to apply.
/// Look-ups never wait for it: they read `pending`, then the filter, then the store. The filter's own lock is held for writing
/// only while the processor works, never while the store does.
pub(crate) struct Inner<S> {
    pub(crate) store: S,
    /// None where it is lost or not yet there: then every look-up goes to the store.
    pub(crate) filter: ShardedLock<Option<AnyFilter>>,
    pub(crate) pending: Pending,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) queue: Mutex<Queue>,
    /// Wakes the learner when something waits.
    pub(crate) something_waits: Condvar,
    /// Whether whoever errs learns himself, since there is no learner.
    pub(crate) learns_at_once: bool,
    /// Whether what the filter learns is a commit.
    pub(crate) learning_writes: bool,
    pub(crate) closing: AtomicBool,
    pub(crate) policy: Policy,
    pub(crate) counters: Counters,
    /// Where the snapshot is, if there is to be one.
    pub(crate) snapshot: Option<PathBuf>,
    /// How durable a change is when it returns.
    pub(crate) durability: Durability,
}

/// What only the holder of the lock knows.
pub(crate) struct Writer {
    /// The store's state after the last commit whose outcome is known.
    pub(crate) state: State,
    /// A commit whose outcome is not.
    pub(crate) doubt: Option<Doubt>,
    /// The last tag.
    pub(crate) tags: u64,
    /// What the snapshot that lies there knows: the last commit, and how often the filter had learned since it was opened.
    pub(crate) saved: Option<(Mark, u64)>,
    /// Whether there are commits that no disk has heard of.
    pub(crate) unsynced: bool,
    /// Whether a snapshot lies there that must not be found by a later open.
    pub(crate) stale_snapshot: bool,
    /// The commit from which on a filter that wants a rebuild gets one: not one after the other, should it not help.
    pub(crate) content_until: u64,
}

/// A commit whose answer was lost.
pub(crate) struct Doubt {
    /// The state that it would have made.
    pub(crate) after: State,
    /// The keys that it changes.
    pub(crate) keys: Vec<Key>,
    /// Whether the filter has made its change already, or waits with it.
    pub(crate) applied: bool,
}

impl Writer {
    /// A tag for a commit: it need not be secret, only another one when a lost number is used again. Each open counts on from a
    /// random number.
    pub(crate) fn tag(&mut self) -> u64 {
        self.tags = self.tags.wrapping_add(1);
        self.tags
    }
}

/// What a filter has done, or waits to do.
pub(crate) enum Planned<T> {
    Done(T),
    Waits(Plan),
}

/// Why a filter could not plan.
pub(crate) enum Trouble<E> {
    Store(E),
    Full,
    /// The filter and the store disagree: it must be rebuilt.
    Lost,
}

/// The fewest keys that a filter is made for.
const FEWEST: u64 = 1_024;

/// The keys that a filter is made for when there are so many: half as many again may come before it grows.
pub(crate) fn capacity(keys: u64) -> u64 {
    keys.saturating_add(keys / 2).max(FEWEST)
}

impl<S: Store> Inner<S> {
    /// The lock, with nothing in doubt and the filter in place.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Writer>, Error<S::Error>> {
        let mut writer = self.writer.lock().unwrap_or_else(|poisoned| {
            // Somebody panicked half-way. The store is whole, so begin again from it.
            self.writer.clear_poison();
            let mut writer = poisoned.into_inner();
            let after = writer.state.clone();
            writer.doubt.get_or_insert(Doubt { after, keys: Vec::new(), applied: false });
            self.lose_filter();
            self.pending.clear();
            writer
        });
        self.settle(&mut writer)?;
        self.ensure_filter(&mut writer)?;
        Ok(writer)
    }

    /// Works on the filter while nobody sees it; none where there is none. Should the work panic, the filter is gone, and
    /// look-ups go to the store: nobody asks one that is changed by half.
    pub(crate) fn with_filter<T>(&self, work: impl FnOnce(&mut AnyFilter) -> T) -> Option<T> {
        let mut place = self.filter.write().unwrap_or_else(PoisonError::into_inner);
        let mut filter = place.take()?;
        let done = work(&mut filter);
        *place = Some(filter);
        Some(done)
    }

    pub(crate) fn lose_filter(&self) {
        *self.filter.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Finds out what became of a commit whose answer was lost.
    fn settle(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        let Some(doubt) = &writer.doubt else { return Ok(()) };
        let found = self.read_state()?;
        let happened = found.last == doubt.after.last;
        let (batch, answers) = (Batch::default(), Answers::new());
        let view: View<'_, S> = View::new(&found, &batch, Source::Fetched(&answers));
        let known = happened || found.last == writer.state.last;
        let resolved = match doubt.applied {
            true => Some(happened),
            // As in `take_back`.
            false if self.learning_writes && !happened => Some(false),
            false => self.with_filter(|filter| known && filter.resolve(&view).is_ok()),
        };
        if resolved == Some(false) {
            self.lose_filter();
        }
        self.pending.leave(&doubt.keys);
        writer.state = found;
        writer.doubt = None;
        Ok(())
    }

    fn ensure_filter(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        let is_there = self.filter.read().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_there { Ok(()) } else { self.rebuild(writer) }
    }

    pub(crate) fn read_state(&self) -> Result<State, Error<S::Error>> {
        read_state(&self.store)?.ok_or(Error::Damaged)
    }

    /// Has the filter plan, without the store being asked while others wait for the filter.
    pub(crate) fn plan<T>(
        &self,
        state: &State,
        batch: &Batch,
        mut work: impl FnMut(&mut AnyFilter, &mut View<'_, S>) -> Result<T, Stop<S::Error>>,
    ) -> Result<Planned<T>, Trouble<S::Error>> {
        let mut answers = Answers::new();
        loop {
            let mut view = View::new(state, batch, Source::Fetched(&answers));
            let worked = self.with_filter(|filter| work(filter, &mut view)).ok_or(Trouble::Lost)?;
            match worked {
                Ok(value) => return Ok(Planned::Done(value)),
                Err(Stop::Commit) => return view.plan.map(Planned::Waits).ok_or(Trouble::Lost),
                Err(Stop::Fetch(question)) => {
                    let answer = batch.ask(&question, &self.store).map_err(Trouble::Store)?;
                    answers.insert(question, answer);
                }
                Err(Stop::Full) => return Err(Trouble::Full),
                Err(Stop::Disagree) => return Err(Trouble::Lost),
                Err(Stop::Store(error)) => return Err(Trouble::Store(error)),
            }
        }
    }

    /// Has a filter forget its plan, which was not committed. A broom filter has answered meanwhile as if it had been: what it was
    /// wrong about then is known, so it must not come to the same functions again, and is made anew.
    pub(crate) fn take_back(&self, state: &State) {
        match self.learning_writes {
            true => self.lose_filter(),
            false => self.resolve(state),
        }
    }

    /// Tells a filter that waits what became of its plan: the state is that of the store.
    pub(crate) fn resolve(&self, state: &State) {
        let (batch, answers) = (Batch::default(), Answers::new());
        let view: View<'_, S> = View::new(state, &batch, Source::Fetched(&answers));
        if self.with_filter(|filter| filter.resolve(&view).is_err()) == Some(true) {
            self.lose_filter();
        }
    }
}

/// The state of a store; none where it has none.
pub(crate) fn read_state<S: Store>(store: &S) -> Result<Option<State>, Error<S::Error>> {
    match State::read(|key| store.get(Space::Meta, key)).map_err(Error::Store)? {
        Ok(state) => Ok(state),
        Err(StateError::Newer(found)) => {
            Err(Error::Newer { what: "the store".into(), found: found.into(), known: StateError::KNOWN.into() })
        }
        Err(StateError::Damaged) => Err(Error::Damaged),
    }
}
