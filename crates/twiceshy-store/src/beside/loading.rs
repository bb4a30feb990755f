//! Look-ups through a loader.

use super::Beside;
use super::flights::{Boarded, FlightKey, Lead, Loaded, of_type};
use crate::asking::Asked;
use crate::pending::Mark;
use crate::store::Store;
use std::any::TypeId;
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use twiceshy::remote::Key;

/// How long a thread waits for the load of another before it loads for itself. So loaders that ask for each other's keys go on.
const PATIENCE: Duration = Duration::from_secs(5);

/// A look-up that the filter did not answer.
struct LookUp<'a> {
    key: Key,
    asked: Asked,
    /// Of a moment before the load; `None` if a ticket for the key is open.
    mark: Option<Mark>,
    /// If this checks an *absent* answer of the filter: the moment that the loader's snapshot is not older than.
    checks: Option<Duration>,
    lead: Option<Lead<'a>>,
    began: Instant,
}

/// How a look-up goes on.
enum Next<'a> {
    /// The key is not in the set.
    Absent,
    /// Another loads it.
    Waits(LookUp<'a>, oneshot::Receiver<Loaded>),
    Loads(LookUp<'a>),
}

impl<S: Store> Beside<S> {
    /// The row of a key. The filter turns absent keys away; the others are loaded. If the loader finds nothing, the filter was
    /// wrong, and learns from it.
    ///
    /// Callers that ask for one key at the same time share one load, if they ask for the same type from the same place in the
    /// program: one place should load one thing. If the load fails or takes longer than 5 seconds, the others load for themselves, all
    /// at once. A loader's error is returned as it is, and teaches nothing.
    ///
    /// Some absent keys are loaded all the same, to check the filter: see [`Options::spot_check`](crate::Options::spot_check). So a loader
    /// must see what is committed: a cache, a replica that lags behind, or a transaction with a snapshot older than ten seconds, may still
    /// have rows that were deleted, and would raise an alarm.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("guard");
    /// # let rows = std::collections::BTreeMap::from([("ann".to_string(), 34)]);
    /// use twiceshy_store::Guard;
    ///
    /// let guard = Guard::beside(&path)?;
    /// // It learns which keys there are, once.
    /// guard.adopt(|| Ok::<_, std::io::Error>(rows.keys().map(Ok)))?;
    ///
    /// let age = guard.get_or_load("ann", |name| Ok::<_, std::io::Error>(rows.get(name).copied()))?;
    /// assert_eq!(age, Some(34));
    /// let age = guard.get_or_load("bob", |name| Ok::<_, std::io::Error>(rows.get(name).copied()))?;
    /// assert_eq!(age, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn get_or_load<K, T, E>(&self, key: &K, load: impl FnOnce(&K) -> Result<Option<T>, E>) -> Result<Option<T>, E>
    where
        K: AsRef<[u8]> + ?Sized,
        T: Clone + Send + Sync + 'static,
    {
        let look_up = match self.begin::<T>(key.as_ref(), Location::caller(), Some(std::thread::current().id())) {
            Next::Absent => return Ok(None),
            Next::Loads(look_up) => look_up,
            Next::Waits(look_up, receiver) => match receiver.recv_timeout(PATIENCE).ok().as_ref().and_then(of_type) {
                Some(loaded) => return Ok(self.shared_load(loaded)),
                None => look_up,
            },
        };
        let loaded = load(key)?;
        self.end(look_up, &loaded, true);
        Ok(loaded)
    }

    /// [`Beside::get_or_load`] for an asynchronous loader. The filter's part touches no disk and waits for nothing: learning
    /// happens in threads of the guard.
    ///
    /// A task that waits for the load of another waits as long as that takes. So a loader must not ask, from the same place, for the key
    /// that it loads, nor for one whose loader asks for this one.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let guard = twiceshy_store::Guard::beside(folder.path().join("guard"))?;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// async fn age_of(name: &str) -> Result<Option<u32>, std::io::Error> {
    ///     // Asks the database.
    ///     Ok((name == "ann").then_some(34))
    /// }
    ///
    /// let age = guard.get_or_load_async("ann", |name| age_of(name)).await?;
    /// assert_eq!(age, Some(34));
    /// # Ok::<(), std::io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn get_or_load_async<'a, K, T, E, F, L>(
        &'a self,
        key: &'a K,
        load: L,
    ) -> impl Future<Output = Result<Option<T>, E>> + use<'a, K, T, E, F, L, S>
    where
        K: AsRef<[u8]> + ?Sized,
        T: Clone + Send + Sync + 'static,
        L: FnOnce(&'a K) -> F,
        F: Future<Output = Result<Option<T>, E>>,
    {
        let place = Location::caller();
        async move {
            let look_up = match self.begin::<T>(key.as_ref(), place, None) {
                Next::Absent => return Ok(None),
                Next::Loads(look_up) => look_up,
                Next::Waits(look_up, receiver) => match receiver.await.ok().as_ref().and_then(of_type) {
                    Some(loaded) => return Ok(self.shared_load(loaded)),
                    None => look_up,
                },
            };
            let loaded = load(key).await?;
            self.end(look_up, &loaded, false);
            Ok(loaded)
        }
    }

    /// `true` if the key may have a row: ask the store. `false` if it has none. Touches no disk, and waits for nothing.
    ///
    /// If the store then finds nothing, say so with [`Beside::was_absent`]. `false` is never checked at the store, since there is no loader:
    /// see [`Options::spot_check`](crate::Options::spot_check). If you only use this, show rows to [`Beside::seen`].
    pub fn may_contain(&self, key: impl AsRef<[u8]>) -> bool {
        let key = self.normalized(key.as_ref());
        let asked = self.shared.ask(&key);
        self.shared.inner.count(asked);
        !asked.is_absent()
    }

    /// The store has no row for a key that [`Beside::may_contain`] let pass: the filter learns from it, in a thread of the guard.
    /// Changes nothing for a key that is in the set, for example because a ticket for it is open. With
    /// [`Options::background(false)`](crate::Options::background) the caller waits for it.
    pub fn was_absent(&self, key: impl AsRef<[u8]>) {
        let key = Key::from(&*self.normalized(key.as_ref()));
        let shared = &self.shared;
        // After this mark the set is looked at: a key that was announced before is in it.
        if let Some(mark) = shared.inner.pending.mark(&key)
            && shared.ask(&key) == Asked::Passed
        {
            shared.not_found(key, mark, Duration::MAX, shared.inner.learns_at_once);
        }
    }

    fn begin<T: 'static>(&self, key: &[u8], place: &'static Location<'static>, thread: Option<ThreadId>) -> Next<'_> {
        let key = self.normalized(key);
        let (shared, inner) = (&*self.shared, &*self.shared.inner);
        let asked = shared.ask(&key);
        inner.count(asked);
        if asked.is_absent() {
            return if inner.spot.is_due() { self.check(Key::from(&*key), asked) } else { Next::Absent };
        }
        let key = Key::from(&*key);
        let mark = inner.pending.mark(&key);
        let mut look_up = LookUp { asked, mark, checks: None, lead: None, began: Instant::now(), key };
        let Some(mark) = mark.filter(|_| !shared.cut_off.load(Ordering::SeqCst)) else { return Next::Loads(look_up) };
        let flight = FlightKey { key: look_up.key.clone(), loads: TypeId::of::<T>(), asked_by: place };
        match shared.flights.board(flight, mark, thread, &inner.pending) {
            Boarded::Waits(receiver) => return Next::Waits(look_up, receiver),
            Boarded::Leads(lead) => look_up.lead = Some(lead),
            Boarded::Alone => {}
        }
        Next::Loads(look_up)
    }

    /// Has the key loaded although the filter has turned it away. The load is not shared.
    fn check(&self, key: Key, asked: Asked) -> Next<'_> {
        // The loader may read in a snapshot that is older than this answer, and find a row that was deleted since.
        let checks = Some(self.shared.inner.spot.lately());
        Next::Loads(LookUp { asked, mark: None, checks, lead: None, began: Instant::now(), key })
    }

    fn shared_load<T>(&self, loaded: Option<T>) -> Option<T> {
        self.shared.shared.add(1);
        self.count(&loaded);
        loaded
    }

    fn count<T>(&self, loaded: &Option<T>) {
        if loaded.is_some() {
            self.shared.inner.counters.found.add(1);
        }
    }

    fn end<T: Clone + Send + Sync + 'static>(&self, look_up: LookUp<'_>, loaded: &Option<T>, waits: bool) {
        if let Some(lead) = look_up.lead {
            lead.land(loaded);
        }
        self.count(loaded);
        if let Some(since) = look_up.checks {
            return self.shared.checked(&look_up.key, since, loaded.is_some());
        }
        if let (None, Asked::Passed, Some(mark)) = (loaded, look_up.asked, look_up.mark)
            && self.shared.complete.load(Ordering::SeqCst)
        {
            self.shared.not_found(look_up.key, mark, look_up.began.elapsed(), waits);
        }
    }
}
