//! The one thread that changes the set. Tickets that wait for it share a commit.

use super::live::Closing;
use super::shared::Shared;
use super::taking::{COMMITTED_AT_ONCE, Taking};
use super::ticket::Ticket;
use crate::error::Error;
use crate::pending::Mark;
use crate::store::{Space, Store};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use twiceshy::remote::Key;

/// What became of a ticket. An announcement is a ticket now; if nobody receives it, it is dropped.
pub(crate) type Reply<S> = Result<Option<Ticket<S>>, Error<<S as Store>::Error>>;

/// What the thread is asked to do.
pub(crate) enum Task<S: Store> {
    /// A ticket, which shares a commit with others.
    Ticket { action: Action, keys: Vec<Key>, reply: oneshot::Sender<Reply<S>> },
    /// Anything else, alone.
    Work(Box<dyn FnOnce() + Send>),
}

/// What a ticket does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Announce,
    Close { how: Closing, opened: Opened },
}

/// When a ticket was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opened {
    /// An announcement: `Live` has its serial numbers.
    Announced,
    /// A retirement: its serial number.
    Serial(u64),
}

/// A key that its loader did not find, although the filter let it pass.
pub(crate) struct Suspect {
    pub(crate) key: Key,
    /// Taken before the loader was asked.
    pub(crate) mark: Mark,
    /// The time that the loader took.
    pub(crate) took: Duration,
}

/// The tasks that wait for the thread.
pub(crate) struct Desk<S: Store> {
    waiting: Mutex<Waiting<S>>,
    bell: Condvar,
}

struct Waiting<S: Store> {
    tasks: VecDeque<Task<S>>,
    suspects: VecDeque<Suspect>,
    suspect_bytes: usize,
    closed: bool,
}

/// How many suspects may wait, and how many bytes of them. Further ones are skipped: they repeat if they matter.
const MOST_SUSPECTS: usize = 16_384;
const MOST_SUSPECT_BYTES: usize = 4 << 20;

/// How many suspects are examined before tickets get their turn.
const EXAMINED_AT_ONCE: usize = 64;

impl<S: Store> Default for Desk<S> {
    fn default() -> Desk<S> {
        let waiting = Waiting { tasks: VecDeque::new(), suspects: VecDeque::new(), suspect_bytes: 0, closed: false };
        Desk { waiting: Mutex::new(waiting), bell: Condvar::new() }
    }
}

impl<S: Store> Desk<S> {
    fn lock(&self) -> MutexGuard<'_, Waiting<S>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a task in. If the guard is closed, the task is dropped, and with it the sender of its reply.
    pub(crate) fn hand_in(&self, task: Task<S>) {
        self.hand(|tasks| tasks.push_back(task));
    }

    /// Hands a task in that is done before those that wait.
    pub(crate) fn hand_in_first(&self, task: Task<S>) {
        self.hand(|tasks| tasks.push_front(task));
    }

    fn hand(&self, put: impl FnOnce(&mut VecDeque<Task<S>>)) {
        let mut waiting = self.lock();
        if !waiting.closed {
            put(&mut waiting.tasks);
            drop(waiting);
            self.bell.notify_one();
        }
    }

    /// Hands in a key that was not found. `false` if there is no room.
    pub(crate) fn suspect(&self, suspect: Suspect) -> bool {
        let mut waiting = self.lock();
        let bytes = waiting.suspect_bytes + suspect.key.len();
        if waiting.closed || waiting.suspects.len() >= MOST_SUSPECTS || bytes > MOST_SUSPECT_BYTES {
            return false;
        }
        waiting.suspect_bytes = bytes;
        waiting.suspects.push_back(suspect);
        drop(waiting);
        self.bell.notify_one();
        true
    }

    pub(crate) fn has_suspects(&self) -> bool {
        !self.lock().suspects.is_empty()
    }

    /// Ends the thread when it has done all that waits.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.bell.notify_all();
    }

    /// Waits for tasks. Returns those that can be done together; `None` at the end.
    fn next(&self) -> Option<(Vec<Task<S>>, Vec<Suspect>)> {
        let idle =
            |waiting: &mut Waiting<S>| waiting.tasks.is_empty() && waiting.suspects.is_empty() && !waiting.closed;
        let mut waiting = self.bell.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        let tasks = waiting.take_tasks();
        let suspects = waiting.suspects.len().min(EXAMINED_AT_ONCE);
        let suspects: Vec<Suspect> = waiting.suspects.drain(..suspects).collect();
        waiting.suspect_bytes -= suspects.iter().map(|suspect| suspect.key.len()).sum::<usize>();
        (!tasks.is_empty() || !suspects.is_empty()).then_some((tasks, suspects))
    }
}

impl<S: Store> Waiting<S> {
    /// One task that is done alone, or tickets up to about as many keys as are committed at once.
    fn take_tasks(&mut self) -> Vec<Task<S>> {
        let (mut tasks, mut keys) = (Vec::new(), 0);
        while keys < COMMITTED_AT_ONCE
            && let Some(task) = self.tasks.pop_front()
        {
            match &task {
                Task::Ticket { keys: own, .. } => keys += own.len().max(1),
                Task::Work(_) if tasks.is_empty() => return vec![task],
                Task::Work(_) => {
                    self.tasks.push_front(task);
                    break;
                }
            }
            tasks.push(task);
        }
        tasks
    }
}

impl<S: Store> Shared<S> {
    /// The thread's loop, until the guard is closed.
    pub(crate) fn attend_desk(self: &Arc<Self>) {
        while let Some((tasks, suspects)) = self.desk.next() {
            let (mut tickets, mut works) = (VecDeque::new(), Vec::new());
            for task in tasks {
                match task {
                    Task::Ticket { action, keys, reply } => {
                        tickets.push_back(Taking { action, keys, reply, added: false });
                    }
                    Task::Work(work) => works.push(work),
                }
            }
            // The store may panic. The thread must survive, and so must the tickets: they fail.
            if !tickets.is_empty() && catch_unwind(AssertUnwindSafe(|| self.take(&mut tickets))).is_err() {
                let text: Arc<str> = "the guard's own file panicked".into();
                tickets.into_iter().for_each(|ticket| self.fail(ticket, Error::Shared(Arc::clone(&text)), true));
            }
            for suspect in suspects {
                drop(catch_unwind(AssertUnwindSafe(|| self.examine(suspect))));
            }
            // After the suspects that came before: see `Beside::wait`. If a task panics, its caller gets no reply, and an error for that.
            works.into_iter().for_each(|work| drop(catch_unwind(AssertUnwindSafe(work))));
        }
    }

    /// Learns from a false positive, unless the key is in the set: then the filter was right, and its row is not there yet or
    /// no longer.
    pub(crate) fn examine(&self, suspect: Suspect) {
        match self.inner.store.contains(Space::Values, &suspect.key) {
            Ok(false) => self.inner.mistake(&suspect.key, suspect.mark, suspect.took),
            Ok(true) => self.drifted.add(1),
            // Nothing is learned from an error.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;

    #[test]
    fn a_task_that_was_handed_in_first_is_done_before_those_that_wait() {
        let (desk, done) = (Desk::<MemoryStore>::default(), Arc::new(Mutex::new(Vec::new())));
        let work = |name| {
            let done = Arc::clone(&done);
            Task::Work(Box::new(move || done.lock().expect("no panic").push(name)))
        };
        desk.hand_in(work(1));
        desk.hand_in(work(2));
        desk.hand_in_first(work(0));
        desk.close();
        while let Some((tasks, _)) = desk.next() {
            tasks.into_iter().for_each(|task| {
                if let Task::Work(work) = task {
                    work()
                }
            });
        }
        assert_eq!(*done.lock().expect("no panic"), [0, 1, 2]);
    }
}
