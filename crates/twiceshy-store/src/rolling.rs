//! A snapshot is brought to the store's last commit.

use crate::batch::Batch;
use crate::entry::{Deed, Record};
use crate::kind::{AnyFilter, FilterKind, Size};
use crate::snapshot::Snapshot;
use crate::state::{Mark, State};
use crate::store::{Space, Store};
use crate::view::{Source, Stop, View};
use std::collections::BTreeMap;
use std::ops::Bound;
use twiceshy::remote::{Key, Write};

/// A filter from a snapshot, and how many commits it was brought over; none where the snapshot is not to be trusted, and the
/// filter must be rebuilt.
pub(crate) fn restore<S: Store>(
    snapshot: Snapshot,
    state: &State,
    store: &S,
) -> Result<Option<(AnyFilter, u64)>, S::Error> {
    let Some(size) = Size::from_choice(&state.choice, 1) else { return Ok(None) };
    if snapshot.identity != state.identity || !is_sound(snapshot.mark, state, store)? {
        return Ok(None);
    }
    let Ok(filter) = size.load(&snapshot.filter) else { return Ok(None) };
    if filter.sequence() != snapshot.mark.number {
        return Ok(None);
    }
    let behind = state.last.number - snapshot.mark.number;
    if behind == 0 {
        return Ok(Some((filter, 0)));
    }
    // Its frontier has moved on with the commits between, and with it the functions of some keys.
    if size.kind == FilterKind::Broom {
        return Ok(None);
    }
    Ok(roll_forward(filter, snapshot.mark.number, state, store)?.map(|filter| (filter, behind)))
}

/// Whether a commit is the store's last, or one that its log goes back to.
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

/// The keys that came (`true`) and went (`false`) since a commit, without those that did both; none where the log has gaps.
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
        match record.deed {
            Deed::Came(key) => toggle(&mut changed, key, true),
            Deed::Went(key) => toggle(&mut changed, key, false),
            Deed::Other => {}
        }
        next += 1;
        next <= state.last.number
    })?;
    Ok((whole && next > state.last.number).then_some(changed))
}

/// A key that went and came again, or came and went, is where it was.
fn toggle(changed: &mut BTreeMap<Key, bool>, key: Key, came: bool) {
    if changed.remove(&key).is_none() {
        changed.insert(key, came);
    }
}

/// Makes the changes since the snapshot: removals first, so that there is room, then insertions. The filter sees the index as
/// it was then, without the keys that have come and with those that have gone, and each change changes what it sees.
fn roll_forward<S: Store>(
    mut filter: AnyFilter,
    since: u64,
    state: &State,
    store: &S,
) -> Result<Option<AnyFilter>, S::Error> {
    let Some(changed) = difference(since, state, store)? else { return Ok(None) };
    let mut then = State { last: Mark { number: since, tag: 0 }, ..state.clone() };
    let mut batch = Batch::default();
    for (key, came) in &changed {
        let (generation, words) = filter.entries(key);
        let (key, cell) = (key.clone(), None);
        batch.index(&[match came {
            true => Write::Remove { generation, key, words, cell },
            false => Write::Add { generation, key, words, cell },
        }]);
    }
    let (came, went): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, came)| *came);
    for (key, came) in went.into_iter().chain(came) {
        let mut view = View::new(&then, &batch, Source::Store(store));
        let planned =
            if came { filter.insert(&key, &mut view).map(drop) } else { filter.remove(&key, &mut view).map(drop) };
        let plan = match (planned, view.plan.take()) {
            (Err(Stop::Commit), Some(plan)) => plan,
            (Err(Stop::Store(error)), _) => return Err(error),
            // Full, or not what the log says: rebuild.
            _ => return Ok(None),
        };
        then.last.number = plan.sequence;
        batch.index(&plan.writes);
        let view: View<'_, S> = View::new(&then, &batch, Source::Store(store));
        if filter.resolve(&view).is_err() {
            return Ok(None);
        }
    }
    filter.stand_at(state.last.number);
    Ok(Some(filter))
}
