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
use twiceshy::persist::LoadError;
use twiceshy::remote::{Key, Write};

/// What became of a snapshot.
pub(crate) enum Restored {
    /// A filter, and how many commits it was brought over.
    Filter(AnyFilter, u64),
    /// It is not to be trusted: the filter must be made anew.
    Refused,
    /// The filter in it is of a newer version.
    Newer { found: u16, known: u16 },
}

/// The filter of a snapshot at the store's last commit.
pub(crate) fn restore<S: Store>(snapshot: Snapshot, state: &State, store: &S) -> Result<Restored, S::Error> {
    let Some(size) = Size::from_choice(&state.choice, 1) else { return Ok(Restored::Refused) };
    if snapshot.identity != state.identity || !is_sound(snapshot.mark, state, store)? {
        return Ok(Restored::Refused);
    }
    let filter = match size.load(&snapshot.filter) {
        Ok(filter) if filter.sequence() == snapshot.mark.number => filter,
        Err(LoadError::NewerVersion { found, supported: known }) => return Ok(Restored::Newer { found, known }),
        _ => return Ok(Restored::Refused),
    };
    let behind = state.last.number - snapshot.mark.number;
    // What a broom filter has learned since is lost, and with it its right to its functions.
    if size.kind == FilterKind::Broom && (behind > 0 || state.learned) {
        return Ok(Restored::Refused);
    }
    if behind == 0 {
        return Ok(if filter.len() == state.len { Restored::Filter(filter, 0) } else { Restored::Refused });
    }
    let rolled = Rolling::begin(filter, snapshot.mark, state, store)?.map(Rolling::roll).transpose()?;
    Ok(rolled.flatten().map_or(Restored::Refused, |filter| Restored::Filter(filter, behind)))
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

/// A filter on its way from a snapshot's commit to the store's last.
///
/// It sees the set as it was then, without the keys that have come and with those that have gone, and each step changes what it
/// sees. First keys go, so that there is room; then they come.
struct Rolling<'a, S> {
    filter: AnyFilter,
    store: &'a S,
    /// The state to come to.
    now: &'a State,
    /// The state so far.
    then: State,
    /// What is different in the store so far.
    batch: Batch,
    changed: BTreeMap<Key, bool>,
}

impl<'a, S: Store> Rolling<'a, S> {
    /// None where the log has gaps, or making the filter anew is less work.
    fn begin(filter: AnyFilter, since: Mark, now: &'a State, store: &'a S) -> Result<Option<Rolling<'a, S>>, S::Error> {
        let Some(changed) = difference(since.number, now, store)? else { return Ok(None) };
        let then = State { last: since, ..now.clone() };
        let mut rolling = Rolling { filter, store, now, then, batch: Batch::default(), changed };
        for (key, came) in &rolling.changed {
            let (generation, words) = rolling.filter.entries(key);
            let (key, cell) = (key.clone(), None);
            match came {
                true => {
                    rolling.batch.delete(Space::Values, &*key);
                    rolling.batch.index(&[Write::Remove { generation, key, words, cell }]);
                }
                false => {
                    rolling.batch.put(Space::Values, &*key, []);
                    rolling.batch.index(&[Write::Add { generation, key, words, cell }]);
                }
            }
        }
        Ok(Some(rolling))
    }

    /// None where the filter cannot be brought there.
    fn roll(mut self) -> Result<Option<AnyFilter>, S::Error> {
        let (came, went): (Vec<_>, Vec<_>) = std::mem::take(&mut self.changed).into_iter().partition(|(_, came)| *came);
        for (key, came) in went.into_iter().chain(came) {
            let step = self.step(|filter, view| match came {
                true => filter.insert(&key, view).map(drop),
                false => filter.remove(&key, view).map(drop),
            });
            if step? != Step::Committed {
                return Ok(None);
            }
        }
        self.filter.stand_at(self.now.last.number);
        Ok(Some(self.filter).filter(|filter| filter.len() == self.now.len))
    }

    /// One operation of the filter, whose plan is committed to what it sees.
    fn step(
        &mut self,
        work: impl FnOnce(&mut AnyFilter, &mut View<'_, S>) -> Result<(), Stop<S::Error>>,
    ) -> Result<Step, S::Error> {
        let mut view = View::new(&self.then, &self.batch, Source::Store(self.store));
        let worked = work(&mut self.filter, &mut view);
        let plan = match (worked, view.plan.take()) {
            (Err(Stop::Commit), Some(plan)) => plan,
            (Err(Stop::Store(error)), _) => return Err(error),
            (Ok(()), _) => return Ok(Step::Nothing),
            // Full, or not what the log says.
            _ => return Ok(Step::Impossible),
        };
        self.batch.index(&plan.writes);
        plan.writes.iter().for_each(|write| self.then.apply(write));
        self.then.last.number = plan.sequence;
        let view: View<'_, S> = View::new(&self.then, &self.batch, Source::Store(self.store));
        Ok(if self.filter.resolve(&view).is_ok() { Step::Committed } else { Step::Impossible })
    }
}

/// What came of a step.
#[derive(PartialEq, Eq)]
enum Step {
    Committed,
    /// There was nothing to do.
    Nothing,
    Impossible,
}
