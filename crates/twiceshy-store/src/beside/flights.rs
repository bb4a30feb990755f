//! Callers that ask for one key at the same time share one load.

use crate::pending::{Mark, Pending};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use twiceshy::remote::Key;

/// What a load is shared by: the key, the type that is loaded, and the place in the program that asks for it. Two places may
/// load different things for one key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct FlightKey {
    pub(crate) key: Key,
    pub(crate) loads: TypeId,
    pub(crate) asked_by: &'static Location<'static>,
}

/// What was loaded: an `Option<T>`.
pub(crate) type Loaded = Arc<dyn Any + Send + Sync>;

/// The loads that are under way.
#[derive(Default)]
pub(crate) struct Flights {
    flights: Mutex<HashMap<FlightKey, Flight>>,
}

/// A load under way.
struct Flight {
    /// Taken before it began.
    mark: Mark,
    /// The thread that loads, if it does nothing else meanwhile.
    leader: Option<ThreadId>,
    waiting: Vec<oneshot::Sender<Loaded>>,
    /// When the list is this long, those who no longer wait are taken out.
    most: usize,
}

/// What a caller does.
pub(crate) enum Boarded<'a> {
    /// It loads, and others may wait for it.
    Leads(Lead<'a>),
    /// It waits for another's load. If that fails, nothing is received.
    Waits(oneshot::Receiver<Loaded>),
    /// It loads alone: the load under way began before a ticket.
    Alone,
}

/// The one that loads. If it is dropped, the others load for themselves.
pub(crate) struct Lead<'a> {
    flights: &'a Flights,
    key: FlightKey,
    landed: bool,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, HashMap<FlightKey, Flight>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins a load that is under way, or leads one. `mark` is the caller's own, of a moment when no ticket for the key was open.
    ///
    /// What the load finds may be older than the call. But no ticket for the key was opened since the load began, and so the
    /// row has not changed between what the load reads and the call.
    ///
    /// `thread` is the one that loads, if it is not free for others meanwhile.
    pub(crate) fn board(&self, key: FlightKey, mark: Mark, thread: Option<ThreadId>, pending: &Pending) -> Boarded<'_> {
        let mut flights = self.lock();
        match flights.get_mut(&key) {
            None => {
                flights.insert(key.clone(), Flight { mark, leader: thread, waiting: Vec::new(), most: 32 });
                Boarded::Leads(Lead { flights: self, key, landed: false })
            }
            // A loader that asks for its own key would wait for itself.
            Some(flight) if flight.leader.is_some_and(|leader| Some(leader) == thread) => Boarded::Alone,
            Some(flight) if pending.is_unchanged(flight.mark) => {
                let (sender, receiver) = oneshot::channel();
                if flight.waiting.len() >= flight.most {
                    // Those who have given up.
                    flight.waiting.retain(|waits| !waits.is_closed());
                    flight.most = 2 * flight.waiting.len().max(32);
                }
                flight.waiting.push(sender);
                Boarded::Waits(receiver)
            }
            Some(_) => Boarded::Alone,
        }
    }
}

impl Lead<'_> {
    /// Gives what was loaded to all who wait.
    pub(crate) fn land<T: Clone + Send + Sync + 'static>(mut self, loaded: &Option<T>) {
        self.landed = true;
        let flight = self.flights.lock().remove(&self.key);
        let Some(flight) = flight.filter(|flight| !flight.waiting.is_empty()) else { return };
        let loaded: Loaded = Arc::new(loaded.clone());
        flight.waiting.into_iter().for_each(|waits| drop(waits.send(Arc::clone(&loaded))));
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if !self.landed {
            // The senders of those who wait are dropped with it.
            let flight = self.flights.lock().remove(&self.key);
            drop(flight);
        }
    }
}

/// What another has loaded.
pub(crate) fn of_type<T: Clone + 'static>(loaded: &Loaded) -> Option<Option<T>> {
    loaded.downcast_ref::<Option<T>>().cloned()
}
