//! Tickets: how the guard hears that rows come and go.

use super::desk::{Action, Opened, Reply};
use super::live::Closing;
use super::shared::Shared;
use crate::error::Error;
use crate::store::Store;
use std::sync::{Arc, Weak};
use twiceshy::remote::Key;

/// What both kinds of tickets are made of. If it is dropped before it is closed, it counts as open until the next resync.
pub(crate) struct Ticket<S: Store> {
    /// Weak, so that a ticket does not keep the guard's file open.
    shared: Weak<Shared<S>>,
    keys: Vec<Key>,
    opened: Opened,
    closed: bool,
}

impl<S: Store> Ticket<S> {
    pub(crate) fn new(shared: &Arc<Shared<S>>, keys: Vec<Key>, opened: Opened) -> Ticket<S> {
        Ticket { shared: Arc::downgrade(shared), keys, opened, closed: false }
    }

    fn close(mut self, how: Closing) -> oneshot::Receiver<Reply<S>> {
        self.closed = true;
        match self.shared.upgrade() {
            Some(shared) => shared.hand_in(Action::Close { how, opened: self.opened }, std::mem::take(&mut self.keys)),
            // Nobody will send a reply.
            None => oneshot::channel().1,
        }
    }
}

impl<S: Store> Drop for Ticket<S> {
    fn drop(&mut self) {
        if !self.closed
            && let Some(shared) = self.shared.upgrade()
        {
            shared.forget(std::mem::take(&mut self.keys), matches!(self.opened, Opened::Announced));
        }
    }
}

fn received<S: Store>(reply: Result<Reply<S>, oneshot::RecvError>) -> Result<(), Error<S::Error>> {
    reply.unwrap_or(Err(Error::Closed)).map(drop)
}

/// Keys whose rows are about to be written. They are in the set already: look-ups go to the loader.
///
/// If it is dropped, or the process ends before it is closed, it counts as open until the next
/// [`resync`](super::Beside::resync): its keys stay in the set, at worst a load each time they are asked for.
#[must_use = "a ticket that is dropped counts as open until the next resync: close it with `done` or `rolled_back`"]
pub struct Announcement<S: Store>(Ticket<S>);

/// Keys whose rows are about to be deleted. They leave the set with [`Retirement::done`].
#[must_use = "a ticket that is dropped leaves its keys in the set: close it with `done` or `rolled_back`"]
pub struct Retirement<S: Store>(Ticket<S>);

impl<S: Store> Announcement<S> {
    /// The rows were written, and everybody can see them.
    pub fn done(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::Written).recv())
    }

    /// The rows were not written, and never will be: the keys that this ticket brought into the set leave it. If you do not know
    /// what became of the transaction, drop the ticket instead.
    pub fn rolled_back(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::RolledBack).recv())
    }

    /// [`Announcement::done`] without waiting in this thread.
    pub async fn done_async(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::Written).await)
    }

    /// [`Announcement::rolled_back`] without waiting in this thread.
    pub async fn rolled_back_async(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::RolledBack).await)
    }

    pub(crate) fn of(reply: Result<Reply<S>, oneshot::RecvError>) -> Result<Announcement<S>, Error<S::Error>> {
        let ticket = reply.unwrap_or(Err(Error::Closed))?;
        ticket.map(Announcement).ok_or(Error::Closed)
    }
}

impl<S: Store> Retirement<S> {
    /// The rows were deleted, and nobody can see them: the keys leave the set, except those that were announced meanwhile or
    /// whose announcement was never closed.
    pub fn done(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::Deleted).recv())
    }

    /// The rows were not deleted.
    pub fn rolled_back(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::Kept).recv())
    }

    /// [`Retirement::done`] without waiting in this thread.
    pub async fn done_async(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::Deleted).await)
    }

    /// [`Retirement::rolled_back`] without waiting in this thread.
    pub async fn rolled_back_async(self) -> Result<(), Error<S::Error>> {
        received::<S>(self.0.close(Closing::Kept).await)
    }

    pub(crate) fn of(shared: &Arc<Shared<S>>, keys: Vec<Key>) -> Retirement<S> {
        let opened = Opened::Serial(shared.live().retire(&keys));
        Retirement(Ticket::new(shared, keys, opened))
    }
}

impl<S: Store> std::fmt::Debug for Announcement<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Announcement of {} keys", self.0.keys.len())
    }
}

impl<S: Store> std::fmt::Debug for Retirement<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Retirement of {} keys", self.0.keys.len())
    }
}
