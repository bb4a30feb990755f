//! What a desk is asked to do.

use crate::clock::Moment;
use crate::engine::{Open, Renewed};
use crate::error::Error;
use crate::names::{Announcement, Head, MemberId};
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::oneshot;
use twiceshy::remote::Key;

/// What a desk is asked to do.
#[derive(Debug)]
pub(crate) enum Request {
    /// A renewal of this member that was sent at this moment, with the copy at this position, was answered. `None`: this is no member any more.
    Renewed { member: MemberId, sent: Moment, at: u64, renewed: Option<Renewed> },
    /// There may be new records.
    Wake,
    /// A change of the set.
    Change(Change),
    /// The query is not in the set, but the filter let it pass.
    Learn(Key),
    /// The watch is over.
    Unwatch(Announcement),
}

/// A change of the set, and who waits for it.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) what: What,
    pub(crate) reply: oneshot::Sender<Result<Changed, Error>>,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Keys that are about to be inserted.
    Announce { id: Announcement, keys: Vec<Key> },
    /// Keys and their values, in one transaction.
    Put { values: Vec<(Key, Vec<u8>)> },
    /// Keys whose values are deleted.
    Remove { keys: Vec<Key> },
    /// An announcement of a member that is gone. Its keys leave the set, but for these, which have a value.
    Close { open: Open, stored: HashSet<Key> },
    /// Keys whose rows were deleted elsewhere leave the set, but for those that were announced since the watch began.
    Retire { watch: Announcement, keys: Vec<Key> },
    /// Keys whose rows were found elsewhere come into the set.
    Adopt { keys: Vec<Key> },
    /// From now on, notes which of these keys are announced, or of all keys. These announcements do not count: nothing of them is under way any more.
    Watch { id: Announcement, keys: Option<Vec<Key>>, dead: Vec<Announcement> },
    /// The set has every row's key, unless that was doubted since the watch began, or records were missed.
    Complete { watch: Announcement },
    /// The set may lack keys of rows.
    Doubt,
    /// Keys that were written or deleted past the guard, by their outbox entries: these have a value, and those do not.
    Move { entries: Vec<u64>, stored: Vec<Key>, gone: Vec<Key> },
}

/// A change that was made.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// The position of its record.
    pub(crate) at: Head,
    /// When the engine's answer arrived.
    pub(crate) returned: Moment,
    /// Keys that had a value that was deleted.
    pub(crate) deleted: Arc<Vec<Key>>,
    /// Keys that came into the set.
    pub(crate) added: Arc<Vec<Key>>,
    /// Keys that left it.
    pub(crate) removed: Arc<Vec<Key>>,
}

impl Changed {
    /// Nothing had to be changed.
    pub(super) fn nothing(at: Head, returned: Moment) -> Changed {
        Changed { at, returned, deleted: Arc::default(), added: Arc::default(), removed: Arc::default() }
    }
}

impl What {
    /// The bytes of its keys and values.
    pub(super) fn bytes(&self) -> usize {
        match self {
            What::Put { values } => values.iter().map(|(key, value)| key.len() + value.len()).sum(),
            what => what.keys().map(|key| key.len()).sum(),
        }
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        match self {
            What::Announce { keys, .. } | What::Remove { keys } | What::Retire { keys, .. } | What::Adopt { keys } => {
                keys.len()
            }
            What::Watch { .. } | What::Complete { .. } | What::Doubt => 0,
            What::Put { values } => values.len(),
            What::Close { open, .. } => open.keys.len(),
            What::Move { stored, gone, .. } => stored.len() + gone.len(),
        }
    }

    /// Its keys.
    pub(super) fn keys(&self) -> Box<dyn Iterator<Item = &Key> + '_> {
        match self {
            What::Announce { keys, .. } | What::Remove { keys } | What::Retire { keys, .. } | What::Adopt { keys } => {
                Box::new(keys.iter())
            }
            What::Watch { .. } | What::Complete { .. } | What::Doubt => Box::new(std::iter::empty()),
            What::Put { values } => Box::new(values.iter().map(|(key, _)| key)),
            What::Close { open, .. } => Box::new(open.keys.iter()),
            What::Move { stored, gone, .. } => Box::new(stored.iter().chain(gone)),
        }
    }
}
