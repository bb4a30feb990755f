//! The keys behind slots, from one ordered read of the remote.

use super::local::Local;
use super::matching::assign;
use super::numbers::{Block, Quotient, Slot};
use super::rule::Rule;
use super::strand::Strand;
use crate::error::PlanError;
use crate::remote::{Key, Keys};
use std::collections::BTreeMap;
use std::ops::Range;

/// A run with its quotient.
pub(crate) type Run = (Quotient, Range<Slot>);

/// The keys of L's set with their quotients, as the remote knows them.
///
/// The quotients are consecutive, so their words form one interval and the remote is read once.
pub(crate) fn keys_of<R: Rule>(
    local: &Local<R>,
    remote: &dyn Keys,
    first: Quotient,
    last: Quotient,
) -> Result<BTreeMap<Quotient, Vec<Key>>, PlanError> {
    let mut keys: BTreeMap<Quotient, Vec<Key>> = BTreeMap::new();
    let mut found = |key: &[u8]| {
        let quotient = local.quotient(key);
        if (first..=last).contains(&quotient) {
            keys.entry(quotient).or_default().push(key.into());
        }
    };
    remote.candidates(&local.place(first, last, first.slot()), &mut found)?;
    // Sorted, since the order of the remote may vary: a run must have the same matching throughout a plan.
    for run in keys.values_mut() {
        run.sort_unstable();
        run.dedup();
    }
    Ok(keys)
}

/// Gives each slot of a run one of its keys. There must be as many keys as slots, and each must fit: otherwise L and R hold
/// different sets.
pub(crate) fn match_run<R: Rule>(
    local: &Local<R>,
    run: Range<Slot>,
    keys: &[Key],
) -> Result<Vec<(Slot, Key)>, PlanError> {
    let slots: Vec<Slot> = Slot::each(run.clone()).collect();
    if slots.len() != keys.len() {
        return Err(PlanError::Disagree);
    }
    let marks = local.marks_of(run);
    let strands: Vec<Strand<'_>> = keys.iter().map(|key| local.strand(key)).collect();
    let fits =
        |key: usize, slot: usize| local.fits(&strands[key], marks[slot], local.table().blocks.remainder(slots[slot]));
    let assigned = assign(keys.len(), fits).ok_or(PlanError::Disagree)?;
    Ok(slots.into_iter().zip(assigned.into_iter().map(|key| keys[key].clone())).collect())
}

/// The owners of all slots in some blocks, and of the rest of the runs that reach into them.
pub(crate) fn owners_over<R: Rule>(
    local: &Local<R>,
    remote: &dyn Keys,
    blocks: Range<Block>,
) -> Result<BTreeMap<Slot, Key>, PlanError> {
    let runs: Vec<Run> = local.table().runs_over(blocks).collect();
    let (Some((first, _)), Some((last, _))) = (runs.first(), runs.last()) else { return Ok(BTreeMap::new()) };
    let mut keys = keys_of(local, remote, *first, *last)?;
    let mut owners = BTreeMap::new();
    for (quotient, run) in runs {
        owners.extend(match_run(local, run, &keys.remove(&quotient).unwrap_or_default())?);
    }
    // L does not hold a key whose quotient has no run.
    if keys.is_empty() { Ok(owners) } else { Err(PlanError::Disagree) }
}
