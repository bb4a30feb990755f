//! The options of a guard.

use crate::batch::Batch;
use crate::choice::Choice;
use crate::entry::Logged;
use crate::error::Error;
use crate::guard::Guard;
use crate::inner::{Inner, Writer, capacity, read_state};
use crate::pending::Pending;
use crate::policy::{Adapt, Policy};
use crate::queue::Queue;
use crate::rolling::{self, Restored};
use crate::snapshot::{self, Found};
use crate::state::State;
use crate::stats::Counters;
use crate::store::{Durability, Space, Store};
use crate::turns::Turns;
use crossbeam_utils::sync::ShardedLock;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use twiceshy::Kind;
use twiceshy::error::OptionsError;
use twiceshy::filter::Backed;
use twiceshy::hash::{HashKey, NoEntropy};
use twiceshy::remote::Generation;

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
    snapshot: Option<PathBuf>,
    hash: Option<HashKey>,
    background: bool,
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
            background: true,
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

    /// The hash key of a new store, instead of a random one: for tests and experiments.
    #[must_use]
    pub fn hash_key(self, hash: HashKey) -> Self {
        Options { hash: Some(hash), ..self }
    }

    /// Guards a store: a new one, or one that was guarded before.
    pub fn open<S: Store>(self, store: S) -> Result<Guard<S>, Error<S::Error>> {
        let (state, filter, rolled, stale_snapshot) = match read_state(&store)? {
            None if !self.create && !self.create_new => return Err(Error::NoStore),
            None => {
                let (state, filter) = self.make(&store)?;
                (state, Some(filter), 0, true)
            }
            Some(_) if self.create_new => return Err(Error::IsThere),
            Some(state) => {
                self.check(&state)?;
                let (filter, rolled) = self.restore(&state, &store)?;
                let stale = filter.is_none();
                (state, filter, rolled, stale)
            }
        };
        let tags = random_number()?;
        let saved =
            filter.as_ref().filter(|_| !stale_snapshot && rolled == 0).map(|filter| (state.last, filter.stamp()));
        let Choice { kind, .. } = Choice::from_bytes(&state.choice).ok_or(Error::Damaged)?;
        let adapt = if kind.learns() { self.adapt } else { Adapt::Never };
        let inner = Inner {
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
                unsynced: false,
                tags,
                stale_snapshot,
                no_rebuild_before: 0,
            }),
            turns: Turns::default(),
            queue: Queue::new(self.queue),
            learns_at_once: !self.background || adapt == Adapt::Never,
            learning_writes: kind.learning_writes(),
            closing: AtomicBool::new(false),
            policy: Policy::new(adapt),
            counters: Counters::default(),
            snapshot: self.snapshot,
            durability: self.durability,
        };
        inner.counters.rolled_forward.add(rolled);
        Guard::start(inner)
    }

    /// The filter of a new store, and the keys that it is sized for: the expected number fits before it begins to grow.
    pub(crate) fn choice(&self) -> (Choice, u64) {
        let choice = Choice { kind: self.filter.unwrap_or(Kind::Telescoping), rate: self.rate.unwrap_or(1.0 / 256.0) };
        (choice, self.keys.saturating_add(self.keys / 8).max(capacity(0)))
    }

    /// A new guarded store.
    fn make<S: Store>(&self, store: &S) -> Result<(State, Filter), Error<S::Error>> {
        let mut empty = true;
        for space in Space::ALL {
            let found = &mut |_: &[u8], _: &[u8]| {
                empty = false;
                false
            };
            store.scan(space, Bound::Unbounded, found).map_err(Error::Store)?;
        }
        if !empty {
            return Err(Error::Damaged);
        }
        let (choice, keys) = self.choice();
        let hash = match self.hash {
            Some(hash) => hash,
            None => HashKey::random()?,
        };
        let filter = choice.kind.make(keys, choice.rate, hash, Generation(0))?;
        let identity = HashKey::random()?.to_bytes();
        let (mut state, mut batch) = (State::new(identity, choice.to_bytes()), Batch::default());
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

    /// The filter from its snapshot, if that can be trusted.
    fn restore<S: Store>(&self, state: &State, store: &S) -> Result<(Option<Filter>, u64), Error<S::Error>> {
        let Some(path) = &self.snapshot else { return Ok((None, 0)) };
        match snapshot::read(path) {
            Found::Nothing => Ok((None, 0)),
            Found::Newer(found) => {
                Err(Error::Newer { what: path.display().to_string(), found, known: snapshot::VERSION })
            }
            Found::Whole(snapshot) => match rolling::restore(snapshot, state, store).map_err(Error::Store)? {
                Restored::Filter(filter, rolled) => Ok((Some(filter), rolled)),
                Restored::Refused => Ok((None, 0)),
                Restored::Newer { found, known } => {
                    Err(Error::Newer { what: path.display().to_string(), found, known })
                }
            },
        }
    }
}

/// A random number from the operating system, taken from a hash key that is thrown away.
fn random_number() -> Result<u64, NoEntropy> {
    Ok(HashKey::random()?.words(&[]).word(0))
}
