//! Tickets at the desk: what they do to the set, in one commit that they share.

use super::desk::{Action, Opened, Reply};
use super::live::{Standing, Step};
use super::record::{BESIDE, BesideRecord, KeyRecord};
use super::shared::Shared;
use super::ticket::Ticket;
use crate::changing::Edit;
use crate::error::Error;
use crate::store::{Change, Durability, Space, Store};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use twiceshy::remote::Key;

/// How many keys are committed together, and how many bytes of them.
pub(crate) const COMMITTED_AT_ONCE: usize = 1_024;
const COMMITTED_BYTES: usize = 4 << 20;

/// How many keys are committed together in bulk: sorted, they share pages of the index.
pub(crate) const LOADED_AT_ONCE: usize = 16_384;

/// A ticket that takes part in a commit.
pub(crate) struct Taking<S: Store> {
    pub(crate) action: Action,
    pub(crate) keys: Vec<Key>,
    pub(crate) reply: oneshot::Sender<Reply<S>>,
    /// `true` if the open tickets know of it.
    pub(crate) added: bool,
}

/// The edits of several tickets, each made on top of those before.
#[derive(Default)]
struct Together {
    edits: Vec<Edit>,
    /// What the edits make of their keys.
    after: HashMap<Key, Option<KeyRecord>>,
}

impl<S: Store> Shared<S> {
    /// Makes the changes of some tickets in one commit, or in a few if there are many keys.
    pub(crate) fn take(self: &Arc<Self>, tickets: &mut VecDeque<Taking<S>>) {
        let mut together = Together::default();
        let planned = tickets.iter_mut().try_for_each(|ticket| self.add(ticket, &mut together));
        let announces = tickets.iter().any(|ticket| matches!(ticket.action, Action::Announce));
        let durability = if announces { Durability::Synced } else { self.inner.durability };
        let done = planned.and_then(|()| self.commit(&together.edits, durability));
        match done {
            Ok(()) => {
                while let Some(ticket) = tickets.pop_front() {
                    self.succeed(ticket);
                }
            }
            Err(error) => {
                let (shared, mut first) = (Arc::from(error.to_string()), Some(error));
                while let Some(ticket) = tickets.pop_front() {
                    let error = first.take().unwrap_or_else(|| Error::Shared(Arc::clone(&shared)));
                    self.fail(ticket, error, false);
                }
            }
        }
    }

    /// Adds a ticket's edits. Reads first: after an error nothing was added.
    fn add(&self, ticket: &mut Taking<S>, together: &mut Together) -> Result<(), Error<S::Error>> {
        let mut found = Vec::with_capacity(ticket.keys.len());
        for key in &ticket.keys {
            found.push(match together.after.get(key) {
                Some(record) => *record,
                None => self.record(key)?,
            });
        }
        let mut live = self.live();
        ticket.added = true;
        for (key, found) in ticket.keys.iter().zip(found) {
            let standing = found.map(|record| record.standing);
            let step = match ticket.action {
                Action::Announce => live.announce(key, standing),
                Action::Close { how, opened: Opened::Serial(serial) } => live.close(key, how, serial, standing),
                Action::Close { how, .. } => live.close(key, how, 0, standing),
            };
            let seen = found.map_or(0, |record| record.seen);
            let after = match step {
                Step::Keep => continue,
                Step::Put(standing) => Some(KeyRecord { standing, seen }),
                Step::Remove => None,
            };
            together.after.insert(key.clone(), after);
            together.edits.push(Edit { key: key.clone(), value: after.map(KeyRecord::to_bytes) });
        }
        Ok(())
    }

    /// The record of a key in the set.
    pub(crate) fn record(&self, key: &Key) -> Result<Option<KeyRecord>, Error<S::Error>> {
        let Some(bytes) = self.inner.store.get(Space::Values, key).map_err(Error::Store)? else { return Ok(None) };
        match self.inner.value(key, bytes) {
            Ok(bytes) => Ok(Some(KeyRecord::from_bytes(&bytes))),
            // It is in the set, and nobody knows since when.
            Err(Error::DamagedValue { .. }) => Ok(Some(KeyRecord { standing: Standing::Open, seen: 0 })),
            Err(error) => Err(error),
        }
    }

    /// Commits edits.
    pub(crate) fn commit(&self, edits: &[Edit], durability: Durability) -> Result<(), Error<S::Error>> {
        self.inner.spot.leaving(edits.iter().filter(|edit| edit.value.is_none()).map(|edit| &*edit.key));
        let mut record = *self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.tidy = false;
        let loads = self.bulk.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let (mut left, most) = (edits, if loads { LOADED_AT_ONCE } else { COMMITTED_AT_ONCE });
        loop {
            let mut bytes = 0;
            let some = left.iter().take(most).take_while(|edit| {
                let fits = bytes < COMMITTED_BYTES;
                bytes += edit.key.len();
                fits
            });
            let (some, rest) = left.split_at(some.count());
            left = rest;
            let durability = if left.is_empty() { durability } else { Durability::Seen };
            self.change(some, record, durability)?;
            if left.is_empty() {
                break;
            }
        }
        let mut writer = self.inner.lock_settled()?;
        if durability == Durability::Synced {
            // What was there already may be in a commit that is not synced yet.
            self.inner.sync(&mut writer)?;
        }
        Ok(())
    }

    /// Makes one commit, of the guard's own record too if it has changed.
    pub(crate) fn change(
        &self,
        edits: &[Edit],
        record: BesideRecord,
        durability: Durability,
    ) -> Result<(), Error<S::Error>> {
        let known = *self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let also = Change { space: Space::Meta, key: BESIDE.to_vec(), value: Some(record.to_bytes()) };
        let doubt = &self.record_in_doubt;
        let also = (known != record || doubt.load(Ordering::SeqCst)).then_some(also);
        // After an error it is not known which of the two is on disk.
        doubt.store(also.is_some(), Ordering::SeqCst);
        match &*self.bulk.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(maker) => self.inner.load(&**maker, edits, also.as_ref(), durability)?,
            None => drop(self.inner.change_with(edits, also.as_ref(), durability)?),
        }
        doubt.store(false, Ordering::SeqCst);
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = record;
        Ok(())
    }

    fn succeed(self: &Arc<Self>, ticket: Taking<S>) {
        match ticket.action {
            Action::Announce => {
                self.live().opened();
                let open = Ticket::new(self, ticket.keys, Opened::Announced);
                // If the caller no longer waits, the ticket is dropped.
                let _ = ticket.reply.send(Ok(Some(open)));
            }
            Action::Close { .. } => {
                self.live().closed();
                self.leave(&ticket.keys);
                let _ = ticket.reply.send(Ok(None));
            }
        }
    }

    /// A ticket was dropped.
    pub(crate) fn forget(&self, keys: Vec<Key>, announces: bool) {
        let mut live = self.live();
        live.closed();
        live.drop_ticket(keys, announces);
    }

    /// An announcement that failed is as if it had never been made. A closing that failed leaves its ticket open. `panicked` is `true` if
    /// it is not known how far it got.
    pub(crate) fn fail(&self, ticket: Taking<S>, error: Error<S::Error>, panicked: bool) {
        match ticket.action {
            // It may be in the set.
            Action::Announce if ticket.added && panicked => self.forget(ticket.keys, true),
            Action::Announce => {
                if ticket.added {
                    let mut live = self.live();
                    ticket.keys.iter().for_each(|key| live.cancel(key));
                }
                self.leave(&ticket.keys);
            }
            Action::Close { how, .. } if ticket.added => {
                let mut live = self.live();
                live.closed();
                live.close_failed(ticket.keys, how);
            }
            Action::Close { how, .. } => self.forget(ticket.keys, how.announces()),
        }
        let _ = ticket.reply.send(Err(error));
    }

    /// The guard is closed: writes down whether all tickets were.
    pub(crate) fn close_tidily(&self) -> Result<(), Error<S::Error>> {
        let tidy = self.live().counts() == (0, 0) && !self.cut_off.load(Ordering::SeqCst);
        let record = *self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let is_written = record.tidy == tidy && !self.record_in_doubt.load(Ordering::SeqCst);
        if self.inner.read_only || is_written {
            return Ok(());
        }
        self.change(&[], BesideRecord { tidy, ..record }, Durability::Synced)
    }
}
