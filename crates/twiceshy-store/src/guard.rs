//! The guarded store.

use crate::asking::Asked;
use crate::changing::Edit;
use crate::checking::Checked;
use crate::choice::Choice;
use crate::error::Error;
use crate::inner::Inner;
use crate::repairing::Repaired;
use crate::stats::Stats;
use crate::store::{Space, Store};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use twiceshy::Kind;
use twiceshy::remote::Key;

/// A store behind a filter that turns away look-ups of absent keys, and learns from its mistakes.
///
/// All methods take `&self` and may be called from many threads. Look-ups never wait for a change: the filter is locked
/// only while it is updated in memory.
///
/// **Answers come from the store.** The filter only says which keys are certainly absent. Look-ups bypass the filter while
/// it is being rebuilt, and for keys whose change is under way or whose commit's answer was lost.
pub struct Guard<S: Store> {
    inner: Arc<Inner<S>>,
    /// The guard's own threads: the learner, and one that rebuilds the filter after opening.
    threads: Vec<JoinHandle<()>>,
    /// `true` if [`Guard::close`] was called.
    closed: bool,
}

/// How many changes of a batch are committed together.
const COMMITTED_AT_ONCE: usize = 1_000;

/// How many bytes of keys and values are committed together. The last change may exceed it.
const COMMITTED_BYTES: usize = 4 << 20;

/// How many entries an iterator fetches at once.
const FETCHED_AT_ONCE: usize = 256;

/// The keys that the filter is asked for at once, while no change can be applied.
const AT_ONCE: usize = 256;

impl<S: Store> Guard<S> {
    pub(crate) fn start(mut inner: Inner<S>) -> Result<Guard<S>, Error<S::Error>> {
        // A generation that was begun before a crash is abandoned: its filter is gone.
        inner.writer.get_mut().unwrap_or_else(PoisonError::into_inner).state.keep_used();
        let inner = Arc::new(inner);
        let mut guard = Guard { inner, threads: Vec::new(), closed: false };
        if guard.inner.has_filter() {
            guard.inner.teach_at_opening();
        } else {
            // If it fails, the next change tries again and gets the error.
            guard.spawn("rebuilder", |inner| drop(inner.lock()))?;
        }
        guard.inner.tell_status(true);
        if !guard.inner.learns_at_once {
            guard.spawn("learner", |inner| inner.learn_until_closed())?;
        }
        Ok(guard)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner<S>> {
        &self.inner
    }

    fn spawn(&mut self, name: &str, work: fn(&Inner<S>)) -> Result<(), Error<S::Error>> {
        let inner = Arc::clone(&self.inner);
        let thread = std::thread::Builder::new().name(format!("twiceshy-{name}"));
        let thread = thread.spawn(move || work(&inner)).map_err(Error::NoThread)?;
        self.threads.push(thread);
        Ok(())
    }

    /// The store inside, for reading. Its four maps belong together: a change that bypasses the guard leads to wrong
    /// answers. Each value ends with a checksum, unless the store was [taken over](crate::Options::take_over).
    pub fn store(&self) -> &S {
        &self.inner.store
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error<S::Error>> {
        let value = self.look_up(key, |store| store.get(Space::Values, key), Option::is_some)?.flatten();
        value.map(|bytes| self.inner.value(key, bytes)).transpose()
    }

    /// `true` if the key is stored.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error<S::Error>> {
        Ok(self.look_up(key, |store| store.contains(Space::Values, key), |found| *found)?.unwrap_or(false))
    }

    /// What [`Guard::contains`] says of each key. The filter is asked for many keys at once, which is several times as fast in
    /// a large set; the store is asked for those that it lets pass, one by one.
    ///
    /// ```
    /// # let guard = twiceshy_store::Options::new().open(twiceshy_store::MemoryStore::new())?;
    /// guard.insert(b"owl", b"")?;
    /// assert_eq!(guard.contains_all(&["owl", "wren"])?, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_all<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>, Error<S::Error>> {
        let mut found = vec![true; keys.len()];
        for (keys, found) in keys.chunks(AT_ONCE).zip(found.chunks_mut(AT_ONCE)) {
            self.turn_away(keys, found);
            for (key, found) in keys.iter().zip(found).filter(|(_, found)| **found) {
                *found = self.contains(key.as_ref())?;
            }
        }
        Ok(found)
    }

    /// What [`Guard::get`] says of each key, in order. The filter is asked for many keys at once, as by
    /// [`Guard::contains_all`], and the store when the iterator gets to a key that it lets pass. So a key that is inserted while
    /// the iterator is in use may still be answered as before.
    ///
    /// ```
    /// # let guard = twiceshy_store::Options::new().open(twiceshy_store::MemoryStore::new())?;
    /// guard.insert(b"owl", b"hoots")?;
    /// let values = guard.get_all(&["owl", "wren"]).collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(values, [Some(b"hoots".to_vec()), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_all<'a, K: AsRef<[u8]>>(
        &'a self,
        keys: &'a [K],
    ) -> impl Iterator<Item = Result<Option<Vec<u8>>, Error<S::Error>>> + 'a {
        keys.chunks(AT_ONCE).flat_map(|keys| {
            let mut passes = [true; AT_ONCE];
            self.turn_away(keys, &mut passes[..keys.len()]);
            let passed = keys.iter().zip(passes);
            passed.map(|(key, passes)| if passes { self.get(key.as_ref()) } else { Ok(None) })
        })
    }

    /// Asks the filter alone: `found`, which is `true` for all keys, becomes `false` for those that are absent without the store.
    /// The same steps as in [`Guard::look_up`], for all keys together, of which there are at most [`AT_ONCE`].
    fn turn_away<K: AsRef<[u8]>>(&self, keys: &[K], found: &mut [bool]) {
        let inner = &*self.inner;
        let (mut bytes, mut present, mut pending) = ([&[][..]; AT_ONCE], [true; AT_ONCE], [false; AT_ONCE]);
        let (bytes, present) = (&mut bytes[..keys.len()], &mut present[..keys.len()]);
        bytes.iter_mut().zip(keys).for_each(|(bytes, key)| *bytes = key.as_ref());
        // In this order: see `Pending`.
        let before = inner.pending.now();
        bytes.iter().zip(&mut pending).for_each(|(key, pending)| *pending = inner.pending.holds(key));
        let filter = inner.filter.read().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = &*filter else { return };
        filter.contains_batch(bytes, present);
        if inner.pending.now() != before {
            return;
        }
        for ((found, present), pending) in found.iter_mut().zip(present).zip(pending) {
            *found = *present || pending;
        }
        inner.counters.turned_away.add(found.iter().filter(|found| !**found).count() as u64);
    }

    /// Asks the filter, the list of false positives that wait to be learned from, and then the store if necessary; `None` if
    /// the key is absent without the store.
    #[inline]
    fn look_up<T>(
        &self,
        key: &[u8],
        ask: impl FnOnce(&S) -> Result<T, S::Error>,
        found: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, Error<S::Error>> {
        let inner = &*self.inner;
        let asked = inner.ask(key);
        inner.count(asked);
        if asked.is_absent() {
            return Ok(None);
        }
        let passed = asked == Asked::Passed;
        // Before the store is asked: see `Queue`.
        let mark = if passed { inner.pending.mark(key) } else { None };
        let began = passed.then(Instant::now);
        let answer = ask(&inner.store).map_err(Error::Store)?;
        match (found(&answer), began, mark) {
            (true, ..) => inner.counters.found.add(1),
            (false, Some(began), Some(mark)) => inner.mistake(key, mark, began.elapsed()),
            (false, ..) => {}
        }
        Ok(Some(answer))
    }

    /// Stores a value for a key. `true` if the key is new.
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool, Error<S::Error>> {
        let edit = Edit { key: Key::from(key), value: Some(value.to_vec()) };
        self.inner.change(&[edit]).map(|stored| stored == 0)
    }

    /// Removes a key and its value. `true` if the key was stored.
    pub fn remove(&self, key: &[u8]) -> Result<bool, Error<S::Error>> {
        self.inner.change(&[Edit { key: Key::from(key), value: None }]).map(|stored| stored == 1)
    }

    /// Stores many values, and returns how many keys are new. If a key occurs twice, its last value is kept. Entries are
    /// committed a thousand at a time, or fewer if they are large: after an error, the batches before it are stored.
    pub fn insert_all<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, Error<S::Error>> {
        let edits = entries
            .into_iter()
            .map(|(key, value)| Edit { key: Key::from(key.as_ref()), value: Some(value.as_ref().to_vec()) });
        let (edits, stored) = self.change_all(edits)?;
        Ok(edits - stored)
    }

    /// Removes many keys, and returns how many of them were stored. Committed as in [`Guard::insert_all`].
    pub fn remove_all<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64, Error<S::Error>> {
        let edits = keys.into_iter().map(|key| Edit { key: Key::from(key.as_ref()), value: None });
        Ok(self.change_all(edits)?.1)
    }

    /// Returns how many edits there were, and how many of their keys were stored before.
    fn change_all(&self, mut edits: impl Iterator<Item = Edit>) -> Result<(u64, u64), Error<S::Error>> {
        let (mut count, mut stored) = (0, 0);
        loop {
            let (mut some, mut bytes) = (Vec::new(), 0);
            while some.len() < COMMITTED_AT_ONCE && bytes < COMMITTED_BYTES {
                let Some(edit) = edits.next() else { break };
                bytes += edit.key.len() + edit.value.as_ref().map_or(0, Vec::len);
                some.push(edit);
            }
            if some.is_empty() {
                return Ok((count, stored));
            }
            count += some.len() as u64;
            stored += self.inner.change(&some)?;
        }
    }

    /// All keys and values, in the order of the keys' bytes. Changes made meanwhile may or may not be seen.
    pub fn iter(&self) -> Entries<'_, S> {
        Entries { inner: &self.inner, fetched: VecDeque::new(), from: Some(Bound::Unbounded) }
    }

    /// The number of stored keys.
    pub fn len(&self) -> Result<u64, Error<S::Error>> {
        Ok(self.inner.read_state()?.len)
    }

    /// `true` if no key is stored.
    pub fn is_empty(&self) -> Result<bool, Error<S::Error>> {
        Ok(self.len()? == 0)
    }

    /// The filter that the store was created with, and its false-positive rate.
    pub fn filter(&self) -> Result<(Kind, f64), Error<S::Error>> {
        let choice = Choice::from_bytes(&self.inner.read_state()?.choice).ok_or(Error::Damaged)?;
        Ok((choice.kind, choice.rate))
    }

    /// Waits until the filter is ready and has learned from all queued false positives. After an open without a usable
    /// snapshot, the filter is rebuilt in the background.
    pub fn wait(&self) -> Result<(), Error<S::Error>> {
        self.inner.learn_all()
    }

    /// Counts since the store was opened. Reads nothing but memory, and waits for no change.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// Syncs all changes to disk and saves the filter's snapshot, if a snapshot path is set.
    pub fn save(&self) -> Result<(), Error<S::Error>> {
        let mut writer = self.inner.lock()?;
        self.inner.save(&mut writer)?;
        drop(writer);
        self.inner.tell_status(true);
        Ok(())
    }

    /// Checks the store's own files, every value against its checksum, every key against the index and the filter, every
    /// index entry against its key, and the log. Reads all of them. Changes wait meanwhile, and look-ups while the store
    /// checks its files. A wrong filter is dropped, and rebuilt from the index before the next change. Nothing else is
    /// changed: see [`Guard::repair`].
    pub fn check(&self) -> Result<Checked, Error<S::Error>> {
        let mut writer = self.inner.lock_settled()?;
        let checked = self.inner.check(&mut writer)?;
        match checked {
            Checked::Sound => {}
            Checked::FilterWrong(_) => self.inner.watch.damaged("the filter, says a check"),
            Checked::StoreDamaged(_) => self.inner.watch.damaged("the store, says a check"),
        }
        Ok(checked)
    }

    /// Makes right from the values whatever is wrong: state record, index, log and filter. What cannot be made right is
    /// named: values that have changed on disk, and keys that have lost their value. Changes wait meanwhile.
    ///
    /// To repair a store whose state record is damaged, open it with [`Options::open_damaged`](crate::Options::open_damaged).
    pub fn repair(&self) -> Result<Repaired, Error<S::Error>> {
        let mut writer = self.inner.lock_settled()?;
        let done = self.inner.repair(&mut writer)?;
        self.inner.watch.repaired(done.keys, done.repaired.len(), done.lost.len());
        Ok(done)
    }

    /// Asks for another hash key before the next insertion, as a filter does that its hash key keeps from learning.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub fn ask_for_hash_key(&self) -> Result<(), Error<S::Error>> {
        self.inner.lock()?.hash_key_asked = true;
        Ok(())
    }

    /// Saves as [`Guard::save`] does, and closes the store. Learns from waiting false positives first, for up to about a
    /// second; the others are forgotten, and repeat if they matter. If the filter is still being rebuilt, the rebuild ends and
    /// nothing is saved: the next open begins it again. Dropping a guard does the same, but ignores errors.
    pub fn close(mut self) -> Result<(), Error<S::Error>> {
        self.closed = true;
        self.finish()
    }

    /// Publishes the guard's [stats](Guard::stats) to the recorder of the crate `metrics`. Call it whenever the metrics are
    /// collected, or every few seconds. It reads nothing but memory. Look-ups do not touch the recorder, so they stay fast.
    ///
    /// A count `x` becomes the counter `twiceshy_x_total`, and what there is now (`keys`, `local_bits`, `cells`, `remembered`,
    /// `queued`) the gauge `twiceshy_x`, each with the label `guard`: see [`Options::name`](crate::Options::name). The counters
    /// get what has happened since the last call, so a guard that is opened again goes on counting. Closing a guard that was
    /// published publishes its last counts, and sets its gauges to 0.
    ///
    /// The histogram `twiceshy_false_positive_seconds`, the time that the store took for each false positive, needs no call.
    #[cfg(feature = "metrics")]
    pub fn publish(&self) {
        self.inner.watch.publish(|| self.inner.stats());
    }

    /// Closes the store, and tells.
    fn finish(&mut self) -> Result<(), Error<S::Error>> {
        let finished = self.learn_and_save();
        self.inner.watch.closed(finished.as_ref().err().map(|error| error as _));
        #[cfg(feature = "metrics")]
        self.inner.watch.publish_last(|| self.inner.stats());
        finished
    }

    /// Learns from waiting false positives for at most about a second, and saves.
    fn learn_and_save(&mut self) -> Result<(), Error<S::Error>> {
        self.end_threads();
        match self.inner.learn_before_closing().and_then(|()| self.save()) {
            // Without a filter there is no snapshot. The store is synced all the same.
            Err(Error::Interrupted | Error::Inconsistent | Error::Damaged) => {
                let mut writer = self.inner.writer.lock().unwrap_or_else(PoisonError::into_inner);
                // What is in memory may not be what the store has.
                if writer.damaged || writer.doubt.is_some() { Ok(()) } else { self.inner.save(&mut writer) }
            }
            saved => saved,
        }
    }

    fn end_threads(&mut self) {
        self.inner.close();
        // If a thread panicked, the next one to take the lock reloads from the store.
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
    inner: &'a Inner<S>,
    fetched: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// Where to go on; `None` at the end.
    from: Option<Bound<Vec<u8>>>,
}

impl<S: Store> Iterator for Entries<'_, S> {
    type Item = Result<(Vec<u8>, Vec<u8>), Error<S::Error>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.fetched.is_empty()
            && let Some(from) = self.from.take()
        {
            let from = from.as_ref().map(Vec::as_slice);
            let scanned = self.inner.store.scan(Space::Values, from, &mut |key, value| {
                self.fetched.push_back((key.to_vec(), value.to_vec()));
                self.fetched.len() < FETCHED_AT_ONCE
            });
            if let Err(error) = scanned {
                return Some(Err(Error::Store(error)));
            }
            if self.fetched.len() == FETCHED_AT_ONCE {
                self.from = self.fetched.back().map(|(key, _)| Bound::Excluded(key.clone()));
            }
        }
        let (key, bytes) = self.fetched.pop_front()?;
        Some(self.inner.value(&key, bytes).map(|value| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::options::Options;
    use std::time::Duration;

    type Look = fn(&Guard<MemoryStore>) -> bool;

    /// A change begins after a look-up has found its key not pending, and takes the key out of the filter before the look-up
    /// asks the filter.
    #[test]
    fn a_key_is_found_while_a_change_that_may_fail_has_taken_it_out_of_the_filter() {
        let guard = || Options::new().open(MemoryStore::new()).expect("an empty store");
        let (guard, empty) = (guard(), guard());
        guard.insert(b"key", b"value").expect("memory");
        let looks: [Look; 3] = [
            |guard| guard.contains(b"key").expect("memory"),
            |guard| guard.contains_all(&[b"key"]).expect("memory")[0],
            |guard| guard.get_all(&[b"key"]).all(|value| value.expect("memory").is_some()),
        ];
        for (number, look) in looks.into_iter().enumerate() {
            let inner = guard.inner();
            let mut filter = inner.filter.write().expect("no panic");
            let without = empty.inner().filter.write().expect("no panic").take();
            let found = std::thread::scope(|threads| {
                let looking = threads.spawn(|| look(&guard));
                // It waits for the filter by now.
                std::thread::sleep(Duration::from_millis(50));
                let keys = [Key::from(&b"key"[..])];
                inner.pending.enter(&keys);
                let whole = std::mem::replace(&mut *filter, without);
                drop(filter);
                let found = looking.join().expect("no panic");
                let mut filter = inner.filter.write().expect("no panic");
                *empty.inner().filter.write().expect("no panic") = std::mem::replace(&mut *filter, whole);
                inner.pending.leave(&keys);
                found
            });
            assert!(found, "look-up {number}");
        }
    }
}
