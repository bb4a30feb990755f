//! Bringing a snapshot to the store's last commit.

use crate::batch::Batch;
use crate::choice::Choice;
use crate::entry::{Logged, Record};
use crate::index::{Failure, Index};
use crate::snapshot::Snapshot;
use crate::state::{Mark, State};
use crate::store::{Space, Store};
use std::collections::BTreeMap;
use std::ops::Bound;
use twiceshy::filter::{Backed, Operation};
use twiceshy::persist::LoadError;
use twiceshy::remote::{Key, Write};

/// The result of restoring a snapshot.
pub(crate) enum Restored {
    /// The filter, and the number of commits replayed onto it.
    Filter(Box<dyn Backed>, u64),
    /// It cannot be trusted: the filter must be rebuilt.
    Refused,
    /// A newer version wrote the filter.
    Newer { found: u16, known: u16 },
}

/// Restores a snapshot's filter, at the store's last commit.
pub(crate) fn restore<S: Store>(snapshot: Snapshot, state: &State, store: &S) -> Result<Restored, S::Error> {
    let Some(Choice { kind, .. }) = Choice::from_bytes(&state.choice) else { return Ok(Restored::Refused) };
    if snapshot.identity != state.identity || !is_sound(snapshot.mark, state, store)? {
        return Ok(Restored::Refused);
    }
    let filter = match kind.load(&mut snapshot.filter.as_slice()) {
        // A filter under an earlier hash key has no index any more.
        Ok((filter, sequence)) if sequence == snapshot.mark.number && state.fits(filter.layout()) => filter,
        Err(LoadError::NewerVersion { found, supported: known }) => return Ok(Restored::Newer { found, known }),
        _ => return Ok(Restored::Refused),
    };
    let behind = state.last.number - snapshot.mark.number;
    // What a broom filter has learned since is lost, so it must not use its functions again.
    if kind.learning_writes() && (behind > 0 || state.learned) {
        return Ok(Restored::Refused);
    }
    let rolled = match behind {
        0 => Some(filter),
        _ => match difference(snapshot.mark.number, state, store)? {
            Some(changed) => roll(filter, changed, store)?,
            None => None,
        },
    };
    let sound = rolled.filter(|filter| filter.len() == state.len);
    Ok(sound.map_or(Restored::Refused, |filter| Restored::Filter(filter, behind)))
}

/// `true` if a commit is the store's last, or one that its log reaches back to.
fn is_sound<S: Store>(mark: Mark, state: &State, store: &S) -> Result<bool, S::Error> {
    if mark == state.last || mark == state.log_from {
        return Ok(true);
    }
    if !(state.log_from.number..state.last.number).contains(&mark.number) {
        return Ok(false);
    }
    let record = store.get(Space::Log, &Record::key(mark.number))?;
    Ok(record.and_then(|bytes| Record::from_bytes(&bytes)).is_some_and(|record| record.tag == mark.tag))
}

/// The keys that were added (`true`) and removed (`false`) since a commit, without those that were both; `None` if the log
/// has gaps.
fn difference<S: Store>(since: u64, state: &State, store: &S) -> Result<Option<BTreeMap<Key, bool>>, S::Error> {
    let mut changed: BTreeMap<Key, bool> = BTreeMap::new();
    let (mut next, mut whole) = (since.saturating_add(1), true);
    store.scan(Space::Log, Bound::Included(&Record::key(next)), &mut |key, value| {
        let (number, record) = (Record::number(key), Record::from_bytes(value));
        whole &= number == Some(next);
        let Some(record) = record.filter(|_| whole) else {
            whole = false;
            return false;
        };
        match record.logged {
            Logged::Added(key) => toggle(&mut changed, key, true),
            Logged::Removed(key) => toggle(&mut changed, key, false),
            Logged::Other => {}
        }
        next += 1;
        next <= state.last.number
    })?;
    Ok((whole && next > state.last.number).then_some(changed))
}

/// A key that was removed and added again, or added and removed, has not changed.
fn toggle(changed: &mut BTreeMap<Key, bool>, key: Key, added: bool) {
    if changed.remove(&key).is_none() {
        changed.insert(key, added);
    }
}

/// Brings a filter from a snapshot's commit to the store's last; `None` if it cannot be brought there.
///
/// The filter sees the set as it was then: without the keys added since, and with those removed. Each step updates what it
/// sees. Removals come first, to make room.
fn roll<S: Store>(
    mut filter: Box<dyn Backed>,
    changed: BTreeMap<Key, bool>,
    store: &S,
) -> Result<Option<Box<dyn Backed>>, S::Error> {
    let mut batch = Batch::default();
    for (key, added) in &changed {
        let (generation, words) = filter.entries(key);
        let (key, cell) = (key.clone(), None);
        batch.index(&match added {
            true => Write::Remove { generation, key, words, cell },
            false => Write::Add { generation, key, words, cell },
        });
    }
    let (added, removed): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, added)| *added);
    for (key, added) in removed.into_iter().chain(added) {
        let operation = if added { Operation::Insert(&key) } else { Operation::Remove(&key) };
        let plan = match filter.plan(operation, &Index::new(store, &batch)).map_err(Failure::from) {
            Ok(plan) if !plan.is_nothing() => plan,
            Err(Failure::Store(error)) => return Err(error),
            // Full, or inconsistent with the log.
            _ => return Ok(None),
        };
        plan.writes().iter().for_each(|write| batch.index(write));
        if filter.apply(plan).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(filter))
}
