//! The state of the whole system, and what the checker remembers of its history.

use crate::configuration::Budget;
use crate::engine::{Engine, Key, Position};
use crate::process::{Id, LEASE, PROCESSES, Process, Ticks};

/// A value's transaction whose sender has crashed or given up. It may be executed at any time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stray {
    /// The process that sent it.
    pub(crate) owner: Id,
    /// The key of the row that it writes.
    pub(crate) key: Key,
    /// The position of the announcement that it was sent under.
    pub(crate) position: Position,
}

/// An acknowledged insertion of the asked key that no removal was begun of since. Not part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Promise {
    /// Ticks of true time since the acknowledgement. Counted at level Within only.
    pub(crate) age: Ticks,
    /// The token that the caller was given. Used at level AtLeast only.
    pub(crate) token: Position,
}

/// A wrong answer that was given. Not part of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Wrong {
    /// A look-up said *absent* although the row stood from its begin to its answer.
    pub(crate) row_stood: bool,
    /// A look-up said *absent* of a key that its level owed to the caller.
    pub(crate) owed: bool,
}

/// The state of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The engine.
    pub(crate) engine: Engine,
    /// The processes.
    pub(crate) processes: [Process; PROCESSES],
    /// A request without a sender.
    pub(crate) stray: Option<Stray>,
    /// What may still happen.
    pub(crate) budget: Budget,
    /// The promise that look-ups are held to.
    pub(crate) promise: Option<Promise>,
    /// The wrong answers.
    pub(crate) wrong: Wrong,
}

impl State {
    /// True time goes on by a tick, as far as the history needs it.
    pub(crate) fn age_promise(&mut self, cap: Ticks) {
        if let Some(promise) = &mut self.promise {
            promise.age = (promise.age + 1).min(cap);
        }
    }

    /// `true` if the clock of `id`, read now, is within a lease: not yet whether the lease counts.
    pub(crate) fn clock_in_lease(&self, id: Id) -> bool {
        self.processes[id].lease.is_some_and(|lease| lease.kept_age < LEASE)
    }
}
