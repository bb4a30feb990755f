//! The guarded store.

use crate::changing::Wish;
use crate::error::Error;
use crate::inner::Inner;
use crate::kind::{FilterKind, Size};
use crate::stats::Stats;
use crate::store::{Space, Store};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use twiceshy::remote::Key;

/// A store behind a filter that turns away look-ups of absent keys, and learns from its mistakes.
///
/// All methods take `&self` and may be called from many threads. Look-ups wait for no change: the filter is locked only
/// while the processor works on it.
///
/// **Answers come from the store.** The filter only says which keys need not be looked for there. Where there is no
/// filter, because it is being rebuilt, every look-up goes to the store; and so do those for keys whose change is under way, or
/// whose commit's answer was lost.
pub struct Guard<S: Store> {
    inner: Arc<Inner<S>>,
    /// The guard's own: one that rebuilds the filter after the store was opened, and the learner.
    threads: Vec<JoinHandle<()>>,
    /// Whether the snapshot has been written for the last time.
    closed: bool,
}

/// How many changes of a batch are committed at once.
const AT_ONCE: usize = 1_000;

/// How many entries an iterator fetches at once.
const FETCHED: usize = 256;

impl<S: Store> Guard<S> {
    pub(crate) fn start(inner: Inner<S>) -> Result<Guard<S>, Error<S::Error>> {
        let inner = Arc::new(inner);
        let mut guard = Guard { inner, threads: Vec::new(), closed: false };
        if guard.inner.filter.read().unwrap_or_else(PoisonError::into_inner).is_none() {
            // If it fails, whoever writes next tries again, and hears of it.
            guard.spawn("rebuilder", |inner| drop(inner.lock()))?;
        }
        if !guard.inner.learns_at_once {
            guard.spawn("learner", |inner| inner.learn_until_closed())?;
        }
        Ok(guard)
    }

    fn spawn(&mut self, name: &str, work: fn(&Inner<S>)) -> Result<(), Error<S::Error>> {
        let inner = Arc::clone(&self.inner);
        let thread = std::thread::Builder::new().name(format!("twiceshy-{name}"));
        let thread = thread.spawn(move || work(&inner)).map_err(Error::NoThread)?;
        self.threads.push(thread);
        Ok(())
    }

    /// The store inside, for reading. Its four maps belong together: what is changed in one of them without the guard is answered
    /// wrongly for ever.
    pub fn store(&self) -> &S {
        &self.inner.store
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error<S::Error>> {
        self.look_up(key, |store| store.get(Space::Values, key), Option::is_some).map(Option::flatten)
    }

    /// Whether a key is stored.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error<S::Error>> {
        Ok(self.look_up(key, |store| store.contains(Space::Values, key), |found| *found)?.unwrap_or(false))
    }

    /// Asks the filter, and then the store if need be; none where the filter turns the key away.
    #[inline]
    fn look_up<T>(
        &self,
        key: &[u8],
        ask: impl FnOnce(&S) -> Result<T, S::Error>,
        found: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, Error<S::Error>> {
        let inner = &*self.inner;
        let mut asked = None;
        // In this order: see `Pending`.
        if !inner.pending.holds(key)
            && let Some(filter) = &*inner.filter.read().unwrap_or_else(PoisonError::into_inner)
        {
            if !filter.answers(key) {
                inner.counters.turned_away.add(1);
                return Ok(None);
            }
            asked = Some(Instant::now());
        }
        let answer = ask(&inner.store).map_err(Error::Store)?;
        match (found(&answer), asked) {
            (true, _) => inner.counters.found.add(1),
            (false, Some(asked)) if !inner.pending.holds(key) => inner.mistake(key, asked.elapsed()),
            (false, _) => {}
        }
        if asked.is_none() {
            inner.counters.unfiltered.add(1);
        }
        Ok(Some(answer))
    }

    /// Stores a value for a key. Whether the key is new.
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool, Error<S::Error>> {
        let wish = Wish { key: Key::from(key), value: Some(value.to_vec()) };
        self.inner.change(wish).map(|stored| !stored)
    }

    /// Takes a key and its value away. Whether the key was stored.
    pub fn remove(&self, key: &[u8]) -> Result<bool, Error<S::Error>> {
        self.inner.change(Wish { key: Key::from(key), value: None })
    }

    /// Stores many values; of a key that comes twice the last one stays. How many keys are new. A thousand at a time are
    /// committed together: after an error those before are stored, and of the others none or a thousand.
    pub fn insert_all<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, Error<S::Error>> {
        let wishes = entries
            .into_iter()
            .map(|(key, value)| Wish { key: Key::from(key.as_ref()), value: Some(value.as_ref().to_vec()) });
        let (wished, stored) = self.change_all(wishes)?;
        Ok(wished - stored)
    }

    /// Takes many keys away. How many of them were stored. Committed as in [`Guard::insert_all`].
    pub fn remove_all<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64, Error<S::Error>> {
        let wishes = keys.into_iter().map(|key| Wish { key: Key::from(key.as_ref()), value: None });
        Ok(self.change_all(wishes)?.1)
    }

    /// How many there were, and how many of the keys were stored before.
    fn change_all(&self, mut wishes: impl Iterator<Item = Wish>) -> Result<(u64, u64), Error<S::Error>> {
        let (mut wished, mut stored) = (0, 0);
        loop {
            let some: Vec<Wish> = wishes.by_ref().take(AT_ONCE).collect();
            if some.is_empty() {
                return Ok((wished, stored));
            }
            wished += some.len() as u64;
            stored += self.inner.change_all(&some)?;
        }
    }

    /// All keys and values, in the order of the keys' bytes. What changes meanwhile may or may not be seen.
    pub fn iter(&self) -> Entries<'_, S> {
        Entries { store: &self.inner.store, fetched: VecDeque::new(), from: Some(Bound::Unbounded) }
    }

    /// How many keys are stored.
    pub fn len(&self) -> Result<u64, Error<S::Error>> {
        Ok(self.inner.read_state()?.len)
    }

    /// Whether no key is stored.
    pub fn is_empty(&self) -> Result<bool, Error<S::Error>> {
        Ok(self.len()? == 0)
    }

    /// The filter that the store was made for, and its false-positive rate.
    pub fn filter(&self) -> Result<(FilterKind, f64), Error<S::Error>> {
        let size = Size::from_choice(&self.inner.read_state()?.choice, 1).ok_or(Error::Damaged)?;
        Ok((size.kind, size.rate))
    }

    /// Waits until the filter is there, and has learned from all false positives that wait. After an open that found no
    /// snapshot to trust, the filter is made in the background.
    pub fn wait(&self) -> Result<(), Error<S::Error>> {
        let mut writer = self.inner.lock()?;
        self.inner.learn_all(&mut writer);
        Ok(())
    }

    /// What was counted since the store was opened.
    pub fn stats(&self) -> Result<Stats, Error<S::Error>> {
        let inner = &self.inner;
        let filter = inner.filter.read().unwrap_or_else(PoisonError::into_inner);
        let (bits, cells) = filter.as_ref().map_or((0, 0), |filter| (filter.local_bits(), filter.cells()));
        drop(filter);
        let queue = inner.queue.lock().unwrap_or_else(PoisonError::into_inner).local_bits();
        let local_bits = bits + queue + inner.policy.local_bits();
        Ok(Stats { keys: self.len()?, local_bits, cells, ..inner.counters.stats() })
    }

    /// Has every change so far be on disk, and writes the filter's snapshot, if the guard has a place for it.
    pub fn save(&self) -> Result<(), Error<S::Error>> {
        let mut writer = self.inner.lock()?;
        self.inner.save(&mut writer)
    }

    /// Checks the filter against the index, every key against both, and every index entry against its key. Costs a walk over
    /// all of them, and changes wait meanwhile. The first thing that is wrong, in words. A filter that is wrong is thrown away,
    /// and made anew from the index before the next change.
    pub fn check(&self) -> Result<Result<(), String>, Error<S::Error>> {
        let mut writer = self.inner.lock()?;
        self.inner.check(&mut writer)
    }

    /// Saves, as [`Guard::save`] does, and lets the store go. It waits for a filter that is being made. Dropping a guard does the same, and tells nobody if it fails.
    pub fn close(mut self) -> Result<(), Error<S::Error>> {
        self.closed = true;
        self.finish()
    }

    /// Learns from what waits, and saves.
    fn finish(&mut self) -> Result<(), Error<S::Error>> {
        self.end_threads();
        self.wait()?;
        self.save()
    }

    fn end_threads(&mut self) {
        self.inner.close();
        // If one panicked, the next to take the lock begins again from the store.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl<S: Store> Drop for Guard<S> {
    fn drop(&mut self) {
        if !self.closed && !std::thread::panicking() {
            drop(self.finish());
        }
        self.end_threads();
    }
}

/// The entries of a guarded store: see [`Guard::iter`].
pub struct Entries<'a, S> {
    store: &'a S,
    fetched: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// Where to go on; none at the end.
    from: Option<Bound<Vec<u8>>>,
}

impl<S: Store> Iterator for Entries<'_, S> {
    type Item = Result<(Vec<u8>, Vec<u8>), Error<S::Error>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.fetched.is_empty()
            && let Some(from) = self.from.take()
        {
            let from = from.as_ref().map(Vec::as_slice);
            let scanned = self.store.scan(Space::Values, from, &mut |key, value| {
                self.fetched.push_back((key.to_vec(), value.to_vec()));
                self.fetched.len() < FETCHED
            });
            if let Err(error) = scanned {
                return Some(Err(Error::Store(error)));
            }
            if self.fetched.len() == FETCHED {
                self.from = self.fetched.back().map(|(key, _)| Bound::Excluded(key.clone()));
            }
        }
        self.fetched.pop_front().map(Ok)
    }
}
