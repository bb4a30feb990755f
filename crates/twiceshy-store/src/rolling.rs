//! Bringing a snapshot to the store's last commit.
//!
//! The changes since are kept in memory, so there is a limit to their number and bytes. Beyond it the filter is rebuilt, which
//! needs no memory but the filter's own.

use crate::batch::Batch;
use crate::choice::Choice;
use crate::entry::{Logged, Record};
use crate::index::{Failure, Index};
use crate::snapshot::{self, SnapshotKey};
use crate::state::{Mark, State};
use crate::store::{Space, Store};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use twiceshy::filter::{Backed, Operation};
use twiceshy::remote::{Key, Write};

/// The most records that are brought onto a snapshot.
pub(crate) const MOST_RECORDS: u64 = 100_000;

/// The most bytes that these records may have.
pub(crate) const MOST_BYTES: u64 = 8 << 20;

/// A filter, and the number of commits replayed onto it.
type Restored = (Box<dyn Backed>, u64);

/// Restores the filter of the snapshot at a path, at the store's last commit. `None` if there is no snapshot that can be
/// trusted: then the filter must be rebuilt.
pub(crate) fn restore<S: Store>(path: &Path, state: &State, store: &S) -> Result<Option<Restored>, S::Error> {
    let Some(Choice { kind, .. }) = Choice::from_bytes(&state.choice) else { return Ok(None) };
    if state.secret.is_none() {
        // Anyone could make a code with it.
        return Ok(None);
    }
    let loaded = snapshot::read(path, &SnapshotKey::of(state), |mark, bytes| {
        let (filter, sequence) = kind.load(bytes).ok()?;
        (sequence == mark.number).then_some((filter, mark))
    });
    let Some((filter, mark)) = loaded else { return Ok(None) };
    if !belongs(&*filter, state) || !is_sound(mark, state, store)? {
        return Ok(None);
    }
    let behind = state.last.number - mark.number;
    // What a broom filter has learned since is lost, so it must not use its functions again.
    if kind.learning_writes() && (behind > 0 || state.learned) {
        return Ok(None);
    }
    let rolled = match behind {
        0 => Some(filter),
        _ => match difference(mark.number, state, store)? {
            Some(changed) => roll(filter, changed, store)?,
            None => None,
        },
    };
    Ok(rolled.filter(|filter| filter.len() == state.len).map(|filter| (filter, behind)))
}

/// `true` if a filter has the functions that the store knows. Its code says that the store has written the snapshot, but
/// another hash key than the index has would lose every key, so this is checked too.
fn belongs(filter: &dyn Backed, state: &State) -> bool {
    let (generation, schema) = filter.layout();
    let known = state.schema(generation).filter(|_| state.in_use == Some(generation));
    let phase = match filter.phase() {
        Some(own) => state.phase().is_some_and(|known| {
            known.new.0 == own.new.0 && known.new.1.hash == own.new.1.hash && known.frontier == own.frontier
        }),
        None => true,
    };
    phase && known.is_some_and(|known| (known.hash, known.orders) == (schema.hash, schema.orders))
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
    let record = record.and_then(|bytes| Record::from_bytes(mark.number, &bytes, state.sums));
    Ok(record.is_some_and(|record| record.tag == mark.tag))
}

/// The keys that were added (`true`) and removed (`false`) since a commit, without those that were both; `None` if the log
/// has gaps or is too long.
fn difference<S: Store>(since: u64, state: &State, store: &S) -> Result<Option<BTreeMap<Key, bool>>, S::Error> {
    if state.last.number - since > MOST_RECORDS {
        return Ok(None);
    }
    let mut changed: BTreeMap<Key, bool> = BTreeMap::new();
    let (mut next, mut whole, mut bytes) = (since.saturating_add(1), true, 0);
    store.scan(Space::Log, Bound::Included(&Record::key(next)), &mut |key, value| {
        bytes += value.len() as u64;
        // The last batch may have passed the limit.
        whole &= Record::number(key) == Some(next) && bytes <= 2 * MOST_BYTES;
        let Some(record) = Record::from_bytes(next, value, state.sums).filter(|_| whole) else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::options::Options;
    use crate::store::Durability;
    use twiceshy::Kind;
    use twiceshy::hash::HashKey;
    use twiceshy::remote::Generation;

    /// A snapshot that the store itself has written, of a filter that is not its own: a bug, or a thief of the secret.
    #[test]
    fn a_filter_with_other_functions_is_refused_even_if_its_code_is_right() {
        for kind in Kind::ALL {
            let folder = tempfile::tempdir().expect("a folder");
            let (path, memory) = (folder.path().join("snapshot"), Memory::new());
            let options = || Options::new().filter(*kind).hash_key(HashKey::fixed(1)).background(false);
            let guard = options().open(memory.open().expect("nobody")).expect("an empty store");
            let state = guard.inner().read_state().expect("memory");
            let made = |hash: u64, generation: u32| {
                let filter = kind.make(1_024, 1.0 / 256.0, HashKey::fixed(hash), Generation(generation));
                let mut bytes = Vec::new();
                filter.expect("a filter").save(state.last.number, &mut bytes).expect("memory");
                bytes
            };
            for (bytes, own) in [(made(1, 0), true), (made(2, 0), false), (made(1, 1), false)] {
                snapshot::write(&path, &SnapshotKey::of(&state), state.last, &bytes).expect("a folder");
                let restored = restore(&path, &state, guard.store()).expect("memory");
                assert_eq!(restored.is_some(), own, "{kind}");
            }
        }
    }

    #[test]
    fn a_store_without_a_secret_trusts_no_snapshot() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, memory) = (folder.path().join("snapshot"), Memory::new());
        let guard = Options::new().background(false).open(memory.open().expect("nobody")).expect("an empty store");
        let mut state = guard.inner().read_state().expect("memory");
        state.secret = crate::state::Secret([0; 32]);
        let mut bytes = Vec::new();
        let filter = guard.inner().filter.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        filter.as_ref().expect("a filter").save(state.last.number, &mut bytes).expect("memory");
        snapshot::write(&path, &SnapshotKey::of(&state), state.last, &bytes).expect("a folder");
        assert!(restore(&path, &state, guard.store()).expect("memory").is_none());
    }

    #[test]
    fn a_log_of_too_many_bytes_is_not_brought_forward() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, memory) = (folder.path().join("snapshot"), Memory::new());
        let options = || Options::new().snapshot(&path).background(false);
        options().open(memory.open().expect("nobody")).expect("an empty store").close().expect("a folder");
        let guard = Options::new().background(false).open(memory.open().expect("nobody")).expect("a store");
        let (mut longest, key) = (0, |number: u64| [&number.to_be_bytes()[..], &[0; 1 << 18]].concat());
        for number in 0..100 {
            guard.insert(&key(number), b"").expect("memory");
            guard.remove(&key(number)).expect("memory");
            longest = longest.max(guard.inner().read_state().expect("memory").log_bytes);
        }
        assert!(longest > MOST_BYTES / 2 && longest < 2 * MOST_BYTES, "{longest} bytes of log");
        let mut bytes = 0;
        let count = &mut |_: &[u8], value: &[u8]| {
            bytes += value.len() as u64;
            true
        };
        guard.store().scan(Space::Log, Bound::Unbounded, count).expect("memory");
        assert!(bytes < 3 * MOST_BYTES, "{bytes} bytes of log in the store");
        // A log that was written without the limit.
        let mut state = guard.inner().read_state().expect("memory");
        let (since, mut batch) = (state.last.number, Batch::default());
        for number in 1..=100 {
            let record = Record { tag: 0, logged: Logged::Added(Key::from(key(number))) };
            let at = since + number;
            batch.put(Space::Log, Record::key(at), record.to_bytes(at, true));
        }
        guard.store().commit(&batch.into_changes(), Durability::Synced).expect("memory");
        state.last.number += 30;
        assert_eq!(difference(since, &state, guard.store()).expect("memory").map(|changed| changed.len()), Some(30));
        state.last.number += 70;
        assert!(difference(since, &state, guard.store()).expect("memory").is_none());
    }
}
