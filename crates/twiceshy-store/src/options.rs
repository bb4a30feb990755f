//! The options of a guard.

use crate::batch::Batch;
use crate::beside::Ownership;
use crate::choice::Choice;
use crate::entry::{Logged, Record};
use crate::error::Error;
use crate::guard::Guard;
use crate::inner::{Inner, Writer, capacity, read_state};
use crate::pending::Pending;
use crate::policy::{Adapt, Policy};
use crate::queue::Queue;
use crate::remembered::Remembered;
use crate::rolling;
use crate::saving::Unsynced;
use crate::state::{Secret, State};
use crate::stats::Counters;
use crate::status::StatusFile;
use crate::store::{Durability, Space, Store};
use crate::taking_over::Contents;
use crate::turns::Turns;
use crate::watch::Watch;
use crossbeam_utils::sync::ShardedLock;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use twiceshy::Kind;
use twiceshy::error::OptionsError;
use twiceshy::filter::Backed;
use twiceshy::hash::{HashKey, NoEntropy};
use twiceshy::memory::Limits;
use twiceshy::spot_check::SpotCheck;

/// A filter of any kind.
type Filter = Box<dyn Backed>;

/// How to open a guarded store. The filter's kind and rate are fixed when the store is created.
#[derive(Clone, Debug)]
pub struct Options {
    filter: Option<Kind>,
    rate: Option<f64>,
    keys: u64,
    adapt: Adapt,
    durability: Durability,
    queue: usize,
    pub(crate) snapshot: Option<PathBuf>,
    hash: Option<HashKey>,
    memory: Limits,
    background: bool,
    open_damaged: bool,
    take_over: bool,
    spot_check: Option<u32>,
    spot_clock: Option<fn() -> Duration>,
    pub(crate) name: Option<String>,
    /// Where the guard writes what it says about itself.
    pub(crate) status: Option<PathBuf>,
    pub(crate) read_only: bool,
    pub(crate) create: bool,
    pub(crate) create_new: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// A telescoping filter with a false-positive rate of 1/256 that learns from every false positive, over a store whose
    /// changes are synced.
    pub fn new() -> Options {
        Options {
            filter: None,
            rate: None,
            keys: 0,
            adapt: Adapt::default(),
            durability: Durability::Synced,
            queue: 16_384,
            snapshot: None,
            hash: None,
            memory: Limits::default(),
            background: true,
            open_damaged: false,
            take_over: false,
            spot_check: Some(1_024),
            spot_clock: None,
            name: None,
            status: None,
            read_only: false,
            create: true,
            create_new: false,
        }
    }

    /// The filter of a new store. An existing store must have been created with the same filter.
    #[must_use]
    pub fn filter(self, kind: Kind) -> Self {
        Options { filter: Some(kind), ..self }
    }

    /// The false-positive rate of a new store.
    #[must_use]
    pub fn false_positive_rate(self, rate: f64) -> Self {
        Options { rate: Some(rate), ..self }
    }

    /// `true` (the default) if a store is created when none exists.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Options { create, ..self }
    }

    /// `true` if an existing store is an error.
    #[must_use]
    pub fn create_new(self, create_new: bool) -> Self {
        Options { create_new, ..self }
    }

    /// `true` if the store is only read: changes fail, nothing is saved, and the store must exist. The filter learns in
    /// memory. A broom filter does not, since its learning writes; and if it has no usable snapshot, the store answers alone.
    #[must_use]
    pub fn read_only(self, read_only: bool) -> Self {
        Options { read_only, ..self }
    }

    /// `true` if a store is opened whose state record is missing or damaged. Look-ups are answered from its values, and
    /// changes fail until [`Guard::repair`] was called. The repaired store gets the filter of these options; a store that
    /// knows its filter keeps it.
    #[must_use]
    pub fn open_damaged(self, open_damaged: bool) -> Self {
        Options { open_damaged, ..self }
    }

    /// `true` if a store is guarded although it has values already that no guard wrote: they become the guarded set. Otherwise
    /// such a store is refused with [`Error::NotGuarded`]. Its other maps must be empty.
    ///
    /// Opening it then reads all keys and writes an index entry or more for each. If that fails or is interrupted, the values are
    /// as before, and the store can be taken over again. A store that is guarded already is opened as always.
    ///
    /// The values of such a store have no checksums, and those that are inserted later have none either: a value that changes on
    /// disk is not noticed, unless the store itself notices.
    ///
    /// ```
    /// use twiceshy_store::{Change, Durability, MemoryStore, Options, Space, Store};
    ///
    /// let store = MemoryStore::new();
    /// let change = Change { space: Space::Values, key: b"owl".to_vec(), value: Some(b"hoots".to_vec()) };
    /// store.commit(&[change], Durability::Synced)?;
    ///
    /// let guard = Options::new().take_over(true).open(store)?;
    /// assert_eq!(guard.get(b"owl")?.as_deref(), Some(&b"hoots"[..]));
    /// assert!(!guard.contains(b"wren")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn take_over(self, take_over: bool) -> Self {
        Options { take_over, ..self }
    }

    /// The number of keys expected in a new store. The filter is sized for them.
    #[must_use]
    pub fn expected_keys(self, keys: u64) -> Self {
        Options { keys, ..self }
    }

    /// When the filter learns from a false positive.
    #[must_use]
    pub fn adapt(self, adapt: Adapt) -> Self {
        Options { adapt, ..self }
    }

    /// How durable a change is when it returns.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Options { durability, ..self }
    }

    /// `true` (the default) if a background thread adapts the filter, so that look-ups do not wait for it. If the store
    /// answers within 20 µs, no change is under way and the filter does not write to the store when it learns, the caller that
    /// hits a false positive adapts the filter itself: waking the thread would take longer.
    ///
    /// With `false`, the caller that hits a false positive always adapts the filter before it gets its answer. No false
    /// positive is skipped. Slower, because a look-up may wait for changes, but deterministic.
    #[must_use]
    pub fn background(self, background: bool) -> Self {
        Options { background, ..self }
    }

    /// The number of false positives that may wait to be learned from: 16,384 by default, and never more than 4 MiB of them.
    /// Further ones are skipped. While a false positive waits, its look-ups are answered *absent* without the store.
    ///
    /// A full list takes about 100 bytes for each query besides the query itself; an empty one takes nothing. With 0 the filter
    /// never learns in the background.
    #[must_use]
    pub fn queue(self, most: usize) -> Self {
        Options { queue: most, ..self }
    }

    /// Where the filter is saved, so that the next open need not rebuild it.
    #[must_use]
    pub fn snapshot(self, path: impl Into<PathBuf>) -> Self {
        Options { snapshot: Some(path.into()), ..self }
    }

    /// How many mistakes are remembered, so that a filter which grows or is made anew does not make them again:
    /// [`Limits::OFF`] for none. With a [snapshot](Options::snapshot) they are also kept in a file beside it, whose name is that of
    /// the snapshot and `.mistakes`.
    #[must_use]
    pub fn memory(self, memory: Limits) -> Self {
        Options { memory, ..self }
    }

    /// Of a guard beside a store: one in this many *absent* answers is checked at the store, and more of the first ones. `Some(1_024)` by
    /// default; `None` for none. Without checks nobody notices that rows are written past the guard.
    ///
    /// The answer number k of [`Beside::get_or_load`](crate::Beside::get_or_load) is checked with probability max(1/N, min(1, 256/k)), at
    /// most 100 in a second: about 2,000 loads in the first 262,144 absent answers, then 0.1 %. The caller gets what the loader
    /// finds. If that is a row, and its key is not on its way into the set or out of it, all look-ups are loaded from then on, until a
    /// [`resync`](crate::Beside::resync): see [`Beside::on_drift`](crate::Beside::on_drift).
    #[must_use]
    pub fn spot_check(self, one_in: Option<u32>) -> Self {
        Options { spot_check: one_in, ..self }
    }

    /// The clock of the spot checks, which begin with a fixed seed then: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn spot_clock(self, clock: fn() -> Duration) -> Self {
        Options { spot_clock: Some(clock), ..self }
    }

    /// The guard's name in events and metrics (features `tracing` and `metrics`): the folder's path, or `guard`, if none is given.
    /// Two guards should have two names.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Options { name: Some(name.into()), ..self }
    }

    /// The hash key of a new store, instead of a random one: for tests and experiments.
    #[must_use]
    pub fn hash_key(self, hash: HashKey) -> Self {
        Options { hash: Some(hash), ..self }
    }

    /// Guards a store: a new one, one that was guarded before, or one to be [taken over](Options::take_over).
    pub fn open<S: Store>(self, store: S) -> Result<Guard<S>, Error<S::Error>> {
        self.open_kind(store, Ownership::Owns)
    }

    pub(crate) fn open_kind<S: Store>(self, store: S, owner: Ownership) -> Result<Guard<S>, Error<S::Error>> {
        let (mut damaged, mut taken) = (false, false);
        let found = match read_state(&store) {
            Err(Error::Damaged) if self.open_damaged => None,
            found => found?,
        };
        let contents = if found.is_none() { Contents::of(&store)? } else { Contents::Remains };
        let (state, filter, rolled, stale_snapshot) = match found {
            None if self.take_over && owner == Ownership::Owns && contents == Contents::Untaken => {
                if self.read_only {
                    return Err(Error::ReadOnly);
                }
                self.geometry()?;
                (damaged, taken) = (true, true);
                (State { sums: false, ..new_state(self.choice().0)? }, None, 0, true)
            }
            None if self.open_damaged && contents != Contents::Nothing => {
                damaged = true;
                (self.new_state_of(&store)?, None, 0, true)
            }
            None if contents == Contents::Untaken => return Err(Error::NotGuarded),
            None if self.read_only || !self.create && !self.create_new => return Err(Error::NoStore),
            None if contents == Contents::Remains => return Err(Error::Damaged),
            None => {
                let (state, filter) = self.make(&store)?;
                owner.check(&store, &state)?;
                (state, Some(filter), 0, true)
            }
            Some(_) if self.create_new => return Err(Error::IsThere),
            Some(mut state) => {
                owner.check(&store, &state)?;
                if !self.open_damaged {
                    self.check(&state)?;
                }
                let (filter, rolled) = self.restore(&state, &store)?;
                let stale = filter.is_none();
                if state.secret.is_none() {
                    state.secret = Secret::random()?;
                }
                (state, filter, rolled, stale)
            }
        };
        let (tags, has_filter) = (random_number()?, filter.is_some());
        let saved =
            filter.as_ref().filter(|_| !stale_snapshot && rolled == 0).map(|filter| (state.last, filter.stamp()));
        let sums = AtomicBool::new(state.sums);
        let Choice { kind, rate } = Choice::from_bytes(&state.choice).ok_or(Error::Damaged)?;
        let cannot = self.read_only && kind.learning_writes();
        let adapt = if kind.learns() && !cannot { self.adapt } else { Adapt::Never };
        let limits = if adapt == Adapt::Never { Limits::OFF } else { self.memory };
        // Of a damaged store it is not known how many keys it has.
        let keys = if damaged { u64::MAX } else { state.len };
        let remembered = Remembered::open(self.memory_file().as_deref(), limits, keys, self.read_only);
        let status = self.status.filter(|_| !self.read_only);
        let mut inner = Inner {
            status: status.map(|path| StatusFile::new(path, Choice { kind, rate })),
            store,
            filter: ShardedLock::new(filter),
            growth_bits: AtomicU64::new(0),
            pending: Pending::default(),
            writer: Mutex::new(Writer {
                state,
                growth: None,
                learning_synced: false,
                doubt: None,
                saved,
                unsynced: Unsynced::default(),
                tags,
                stale_snapshot,
                no_rebuild_before: 0,
                damaged,
                // There may be some from before a crash.
                unused_from: Some(Vec::new()),
                loading: false,
                hash_key_asked: false,
                remembered,
                lesson: None,
            }),
            turns: Turns::default(),
            queue: Queue::new(self.queue),
            learns_at_once: !self.background || adapt == Adapt::Never,
            learning_writes: kind.learning_writes(),
            closing: AtomicBool::new(false),
            policy: Policy::new(adapt),
            counters: Counters::default(),
            // Nobody else can write to a store of the guard's own.
            spot: match (self.spot_check.filter(|_| owner == Ownership::Beside), self.spot_clock) {
                (one_in, Some(clock)) => SpotCheck::fixed(one_in, 0, clock),
                (one_in, None) => SpotCheck::new(one_in),
            },
            watch: Watch::new(self.name),
            snapshot: self.snapshot,
            durability: self.durability,
            read_only: self.read_only,
            sums,
        };
        inner.counters.rolled_forward.add(rolled);
        inner.counters.keys.store(if damaged { 0 } else { keys }, Ordering::Relaxed);
        if taken {
            inner.take_over_values(&mut inner.writer.lock().unwrap_or_else(PoisonError::into_inner))?;
        } else if damaged {
            inner.find_sums()?;
        }
        inner.watch.opened(kind, rate, inner.stats().keys, rolled, has_filter, self.read_only);
        if damaged {
            inner.watch.damaged("the state record");
        }
        Guard::start(inner)
    }

    /// Where mistakes are kept.
    fn memory_file(&self) -> Option<PathBuf> {
        let mut path = self.snapshot.as_ref()?.as_os_str().to_owned();
        path.push(".mistakes");
        Some(path.into())
    }

    /// The filter of a new store, and the keys that it is sized for: the expected number fits before it begins to grow.
    pub(crate) fn choice(&self) -> (Choice, u64) {
        let choice = Choice { kind: self.filter.unwrap_or(Kind::Telescoping), rate: self.rate.unwrap_or(1.0 / 256.0) };
        (choice, self.keys.saturating_add(self.keys / 8).max(capacity(0)))
    }

    /// A new guarded store.
    fn make<S: Store>(&self, store: &S) -> Result<(State, Filter), Error<S::Error>> {
        let choice = self.choice().0;
        let hash = match self.hash {
            Some(hash) => hash,
            None => HashKey::random()?,
        };
        let filter = self.empty_filter(hash)?;
        let (mut state, mut batch) = (new_state(choice)?, Batch::default());
        state.advance(filter.opening().iter(), Logged::Other, random_number()?, &mut batch);
        state.write(&mut batch);
        store.commit(&batch.into_changes(), Durability::Synced)?;
        Ok((state, filter))
    }

    /// Returns an error if the store was created with another filter than requested.
    fn check<E>(&self, state: &State) -> Result<(), Error<E>> {
        let made = Choice::from_bytes(&state.choice).ok_or(Error::Damaged)?;
        let other_kind = self.filter.is_some_and(|kind| kind != made.kind);
        let other_rate = self.rate.is_some_and(|rate| rate != made.rate);
        if let Some(rate) = self.rate
            && !(rate > 0.0 && rate < 1.0)
        {
            return Err(OptionsError::Rate(rate).into());
        }
        if other_kind || other_rate {
            let asked = Choice { kind: self.filter.unwrap_or(made.kind), rate: self.rate.unwrap_or(made.rate) };
            return Err(Error::OtherFilter { made: made.to_string(), asked: asked.to_string() });
        }
        Ok(())
    }

    /// The state of a store that has lost it. Its numbers are above those of the log.
    fn new_state_of<S: Store>(&self, store: &S) -> Result<State, Error<S::Error>> {
        let mut state = new_state(self.choice().0)?;
        let mut first = None;
        let scanned = store.scan(Space::Log, Bound::Unbounded, &mut |key, _| {
            if let Some(number) = Record::number(key) {
                first.get_or_insert(number);
                state.last.number = number;
            }
            true
        });
        scanned.map_err(Error::Store)?;
        state.cut_log();
        state.log_oldest = first.unwrap_or(1);
        Ok(state)
    }

    /// The filter from its snapshot, if that can be trusted, and the number of commits replayed onto it.
    fn restore<S: Store>(&self, state: &State, store: &S) -> Result<(Option<Filter>, u64), Error<S::Error>> {
        let Some(path) = &self.snapshot else { return Ok((None, 0)) };
        let restored = rolling::restore(path, state, store).map_err(Error::Store)?;
        Ok(restored.map_or((None, 0), |(filter, rolled)| (Some(filter), rolled)))
    }
}

/// The state of a new store.
fn new_state(choice: Choice) -> Result<State, NoEntropy> {
    Ok(State::new(HashKey::random()?.to_bytes(), Secret::random()?, choice.to_bytes()))
}

/// A random number from the operating system, taken from a hash key that is thrown away.
fn random_number() -> Result<u64, NoEntropy> {
    Ok(HashKey::random()?.words(&[]).word(0))
}
