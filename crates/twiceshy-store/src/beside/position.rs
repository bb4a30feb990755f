//! How far a guard has come, to be kept in the store that it stands beside.

use super::Beside;
use super::record::Reached;
use crate::error::Error;
use crate::store::{Durability, Store};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// How far a guard has come: 28 bytes that grow from one announcement to the next, in the order of bytes.
///
/// Write it in the same transaction as the announced rows, in a row of its own that only grows
/// (`SET position = GREATEST(position, $1)`), and hand it back with [`Beside::compare`] after opening. So it is noticed
/// if a backup of the guard's folder was restored, or one of the store from before an announced transaction. A backup of the store from
/// before deletions alone is not noticed, and its rows come back: resync after every restore of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position([u8; 28]);

impl Position {
    pub(crate) fn new(identity: [u8; 16], reached: Reached) -> Position {
        let mut bytes = [0; 28];
        bytes[..16].copy_from_slice(&identity);
        bytes[16..20].copy_from_slice(&reached.resync.to_be_bytes());
        bytes[20..].copy_from_slice(&reached.commit.to_be_bytes());
        Position(bytes)
    }

    /// The bytes to be kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// How far the guard with this identity had come; `None` if it is another guard's, or damaged.
    fn read(bytes: &[u8], identity: [u8; 16]) -> Option<Reached> {
        let rest = bytes.strip_prefix(&identity)?;
        let (resync, commit) = rest.split_first_chunk::<4>()?;
        Some(Reached { resync: u32::from_be_bytes(*resync), commit: u64::from_be_bytes(commit.try_into().ok()?) })
    }
}

/// Whether the guard's folder and the store belong to the same moment: see [`Beside::compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Agreement {
    /// They do, as far as positions can tell.
    Agrees,
    /// The store has rows whose announcement the folder does not know: an older copy of the folder was restored.
    FolderIsOlder,
    /// The store lacks an announced transaction that the folder knows to be done: an older copy of the store was restored. One that only
    /// lacks deletions is not noticed.
    StoreIsOlder,
    /// The position is that of another guard, or damaged.
    OtherGuard,
}

impl<S: Store> Beside<S> {
    /// Compares the guard with the [`Position`] that was last written to the store. `None` means that no position was written yet.
    ///
    /// If they do not agree, the set may lack keys: from now on all look-ups go to the loader, also after the next open, until
    /// [`Beside::resync`] has ended. Positions from then on are higher than all before; only that of another guard has to be
    /// overwritten.
    pub fn compare(&self, position: Option<&[u8]>) -> Result<Agreement, Error<S::Error>> {
        let position = position.map(<[u8]>::to_vec);
        self.shared.at_desk(move |shared| {
            if shared.live().is_resyncing() {
                return Err(Error::Shared("the guard is being resynced: compare it before or after".into()));
            }
            let mut record = *shared.record.lock().unwrap_or_else(PoisonError::into_inner);
            let commit = shared.inner.lock_settled()?.state.last.number;
            let now = Reached { resync: record.resync, commit };
            let reached = match &position {
                Some(bytes) => Position::read(bytes, shared.identity),
                None => Some(Reached::default()),
            };
            let agreement = match reached {
                None => Agreement::OtherGuard,
                // No guard gets there.
                Some(reached) if reached.resync > u32::MAX / 2 => Agreement::OtherGuard,
                Some(reached) if reached > now => Agreement::FolderIsOlder,
                Some(reached) if reached < record.written => Agreement::StoreIsOlder,
                Some(_) => Agreement::Agrees,
            };
            if agreement != Agreement::Agrees {
                shared.complete.store(false, Ordering::SeqCst);
                record.complete = false;
                // The next resync has a higher number, and so has every position after it.
                record.resync = record.resync.max(reached.map_or(0, |reached| reached.resync).min(u32::MAX / 2));
                shared.change(&[], record, Durability::Synced)?;
            }
            Ok(agreement)
        })
    }
}
