//! How a guard is asked for.

use crate::batch::Batch;
use crate::changing::of_commit;
use crate::entry::Deed;
use crate::error::Error;
use crate::guard::Guard;
use crate::inner::{Inner, Writer, capacity, read_state};
use crate::kind::{AnyFilter, FilterKind, Size};
use crate::pending::Pending;
use crate::policy::{Adapt, Policy};
use crate::queue::Queue;
use crate::recorder::Recorder;
use crate::rolling::{self, Restored};
use crate::snapshot::{self, Found};
use crate::state::State;
use crate::stats::Counters;
use crate::store::{Durability, Space, Store};
use crossbeam_utils::sync::ShardedLock;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex};
use twiceshy::error::{BuildError, OptionsError};
use twiceshy::hash::{HashKey, NoEntropy};

/// What to open. The filter's kind and rate are the store's own once it is made.
#[derive(Clone, Debug)]
pub struct Options {
    filter: Option<FilterKind>,
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
    /// A telescoping filter with one false positive in 256, which learns from each, over a store whose changes are synced.
    pub fn new() -> Options {
        Options {
            filter: None,
            rate: None,
            keys: 0,
            adapt: Adapt::default(),
            durability: Durability::Synced,
            queue: 1_024,
            snapshot: None,
            hash: None,
            background: true,
            create: true,
            create_new: false,
        }
    }

    /// The filter of a store that is made. A store that is there must have been made for the same.
    #[must_use]
    pub fn filter(self, kind: FilterKind) -> Self {
        Options { filter: Some(kind), ..self }
    }

    /// The false-positive rate of a store that is made.
    #[must_use]
    pub fn false_positive_rate(self, rate: f64) -> Self {
        Options { rate: Some(rate), ..self }
    }

    /// Whether a store is made where there is none, as is usual.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Options { create, ..self }
    }

    /// Whether a store that is there already is refused.
    #[must_use]
    pub fn create_new(self, create_new: bool) -> Self {
        Options { create_new, ..self }
    }

    /// How many keys are expected in a store that is made, so that the filter need not grow on the way.
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

    /// Whether a thread of the guard's own learns from false positives, as is usual: look-ups do not wait for it. (Before a store
    /// that answers within 20 µs whoever meets one reads the index himself, if nobody is changing anything: waking the thread
    /// would take longer.) Otherwise whoever meets one learns from it before he has his answer, which may wait for a disk then,
    /// and all that happens can be repeated.
    #[must_use]
    pub fn background(self, background: bool) -> Self {
        Options { background, ..self }
    }

    /// How many false positives may wait to be learned from; more are skipped.
    #[must_use]
    pub fn queue(self, most: usize) -> Self {
        Options { queue: most, ..self }
    }

    /// Where the filter is saved, so that the next open need not rebuild it.
    #[must_use]
    pub fn snapshot(self, path: impl Into<PathBuf>) -> Self {
        Options { snapshot: Some(path.into()), ..self }
    }

    /// The hash key of a store that is made, instead of one from the operating system: for tests and experiments.
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
        let saved = (!stale_snapshot && rolled == 0).then_some((state.last, 0));
        let kind = Size::from_choice(&state.choice, 1).ok_or(Error::Damaged)?.kind;
        let adapt = if kind.learns() { self.adapt } else { Adapt::Never };
        let inner = Inner {
            store,
            filter: ShardedLock::new(filter),
            pending: Pending::default(),
            writer: Mutex::new(Writer {
                state,
                doubt: None,
                saved,
                unsynced: false,
                tags,
                stale_snapshot,
                content_until: 0,
            }),
            queue: Mutex::new(Queue::new(self.queue)),
            something_waits: Condvar::new(),
            learns_at_once: !self.background || adapt == Adapt::Never,
            learning_writes: kind == FilterKind::Broom,
            closing: AtomicBool::new(false),
            policy: Policy::new(adapt),
            counters: Counters::default(),
            snapshot: self.snapshot,
            durability: self.durability,
        };
        inner.counters.rolled_forward.add(rolled);
        Guard::start(inner)
    }

    pub(crate) fn size(&self) -> Size {
        Size {
            kind: self.filter.unwrap_or(FilterKind::Telescoping),
            rate: self.rate.unwrap_or(1.0 / 256.0),
            // As many as are expected come before it begins to grow.
            keys: self.keys.saturating_add(self.keys / 8).max(capacity(0)),
        }
    }

    /// A new guarded store.
    fn make<S: Store>(&self, store: &S) -> Result<(State, AnyFilter), Error<S::Error>> {
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
        let size = self.size();
        let hash = match self.hash {
            Some(hash) => hash,
            None => HashKey::random()?,
        };
        let mut recorder = Recorder::default();
        let filter = size.build(hash, &mut recorder).map_err(|error| match error {
            BuildError::Options(error) => Error::Options(error),
            _ => Error::Damaged,
        })?;
        let identity = HashKey::random()?.to_bytes();
        let (mut state, mut batch) = (State::new(identity, size.choice()), Batch::default());
        if let Some(plan) = &recorder.plan {
            state.advance(plan, Deed::Other, random_number()?, &mut batch);
        }
        state.write(&mut batch);
        store.commit(&batch.into_changes(), Durability::Synced).map_err(of_commit)?;
        Ok((state, filter))
    }

    /// Refuses a store that was made for another filter than is asked for.
    fn check<E>(&self, state: &State) -> Result<(), Error<E>> {
        let made = Size::from_choice(&state.choice, 1).ok_or(Error::Damaged)?;
        let other_kind = self.filter.is_some_and(|kind| kind != made.kind);
        let other_rate = self.rate.is_some_and(|rate| rate != made.rate);
        if let Some(rate) = self.rate
            && !(rate > 0.0 && rate < 1.0)
        {
            return Err(OptionsError::Rate(rate).into());
        }
        if other_kind || other_rate {
            let asked = Size { kind: self.filter.unwrap_or(made.kind), rate: self.rate.unwrap_or(made.rate), keys: 1 };
            let words = |size: Size| format!("{} with a rate of {}", size.kind, size.rate);
            return Err(Error::OtherFilter { made: words(made), asked: words(asked) });
        }
        Ok(())
    }

    /// The filter from its snapshot, if there is one that can be trusted.
    fn restore<S: Store>(&self, state: &State, store: &S) -> Result<(Option<AnyFilter>, u64), Error<S::Error>> {
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

/// A number from the operating system, by way of a hash key that is thrown away.
fn random_number() -> Result<u64, NoEntropy> {
    Ok(HashKey::random()?.words(&[]).word(0))
}
