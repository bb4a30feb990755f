//! Checks every invariant of a broom filter against its remote.

use super::filter::BroomFilter;
use super::functions::Age;
use super::level::Level;
use super::local::Local;
use super::prints::Prints;
use crate::packed::word::Portable;
use crate::quotient::numbers::Slot;
use crate::remote::{Key, Keys};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the first problem found.
pub(crate) fn check(filter: &BroomFilter, stored: &[Key], keys: &dyn Keys) -> Result<(), String> {
    let functions = &filter.local.functions;
    let mut count = 0;
    for age in Age::BOTH {
        let mut found = Vec::new();
        let walked = keys.walk(functions.generation_of(age), None, usize::MAX, &mut |at| found.push(at.key));
        walked.map_err(|error| error.to_string())?;
        if let Some(key) = found.iter().find(|key| functions.age(key) != age) {
            return Err(format!("the remote has {:02x?} under the other function", &key[..key.len().min(16)]));
        }
        count += found.len();
    }
    if count != stored.len() {
        return Err(format!("the remote has {count} keys under both functions, and {} are stored", stored.len()));
    }
    check_local(&filter.local, stored)?;
    filter.local.tables.iter().try_for_each(check_ghosts)
}

/// No fingerprint is a proper prefix of a ghost, so no mistake can cross a ghost (`docs/broom.md`, Lemma 2).
fn check_ghosts(prints: &Prints) -> Result<(), String> {
    for (_, (base, ghost)) in prints.ghosts.iter() {
        let level = &prints.levels[usize::from(base.level)];
        let run = level.table.run::<Portable>(base.quotient).into_iter().flat_map(Slot::each);
        let stored = run.filter(|slot| level.remainder(*slot) == base.remainder);
        let mut strings = stored.map(|slot| level.string::<Portable>(slot));
        if strings.any(|string| string.len < ghost.len && string.is_prefix_of(ghost.bits)) {
            return Err(format!("a fingerprint of quotient {} is a prefix of a ghost", base.quotient));
        }
    }
    Ok(())
}

fn check_local(local: &Local, keys: &[Key]) -> Result<(), String> {
    if local.keys() != keys.len() as u64 {
        return Err(format!("{} slots are in use, and the remote has {} keys", local.keys(), keys.len()));
    }
    let levels = || local.tables.iter().flat_map(|prints| prints.levels.iter());
    levels().try_for_each(Level::check)?;
    if let Some(lost) = keys.iter().find(|key| !local.contains(key)) {
        return Err(format!("the stored key {:02x?} is not found", &lost[..lost.len().min(16)]));
    }
    // Each key matches at most one slot in a level, and each must have its own. Those in the yard have none.
    let (in_yard, in_slots): (Vec<&Key>, Vec<&Key>) = keys.iter().partition(|key| local.is_in_yard(key));
    let matches = |key: &Key| local.spots(key).any(|spot| spot.level == 0);
    if in_yard.iter().any(|key| matches(key)) {
        return Err("a fingerprint is a prefix of a hash in the yard".into());
    }
    let yards: u64 = local.tables.iter().map(|prints| prints.yard.used()).sum();
    if in_yard.len() as u64 != yards {
        return Err(format!("{} keys match the {yards} hashes in the yard", in_yard.len()));
    }
    let spots: Vec<Vec<(usize, usize, Slot)>> =
        in_slots.iter().map(|key| local.spots(key).map(|spot| (spot.table, spot.level, spot.slot)).collect()).collect();
    let all: BTreeSet<(usize, usize, Slot)> = spots.iter().flatten().copied().collect();
    let numbers: BTreeMap<(usize, usize, Slot), usize> = all.into_iter().zip(0..).collect();
    let slots: u64 = levels().map(Level::used).sum();
    if numbers.len() != spots.len() || slots != spots.len() as u64 || spots.iter().any(Vec::is_empty) {
        return Err(format!("{} keys match {} of {slots} slots", spots.len(), numbers.len()));
    }
    let ends = spots.iter().map(|own| (numbers[&own[0]], numbers[&own[own.len() - 1]]));
    if each_can_have_one(numbers.len(), ends) { Ok(()) } else { Err("not every key can have its own slot".into()) }
}

/// `true` if keys that match one or two slots can have one slot each.
///
/// Let slots be the nodes of a graph and keys its edges. Connected slots have room for the keys between them exactly if
/// there are no more keys than slots: a connected graph with as many edges as nodes has one cycle, and every other edge can
/// point away from it. So it is enough to count, which takes hardly longer than a walk over the keys.
fn each_can_have_one(slots: usize, keys: impl Iterator<Item = (usize, usize)>) -> bool {
    let mut above: Vec<usize> = (0..slots).collect();
    let mut free = vec![1usize; slots];
    for (one, other) in keys {
        let (one, other) = (topmost(&mut above, one), topmost(&mut above, other));
        if one != other {
            above[one] = other;
            free[other] += free[one];
        }
        let Some(left) = free[other].checked_sub(1) else { return false };
        free[other] = left;
    }
    true
}

/// The representative of the slots connected with one.
fn topmost(above: &mut [usize], mut slot: usize) -> usize {
    while above[slot] != slot {
        above[slot] = above[above[slot]];
        slot = above[slot];
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quotient::matching::assign;
    use crate::rng::SplitMix64;

    #[test]
    fn counting_agrees_with_a_matching_of_keys_and_slots() {
        let mut rng = SplitMix64::from_state(4);
        let mut found = [0, 0];
        for _ in 0..3_000 {
            let slots = 1 + rng.below(12) as usize;
            let mut slot = || rng.below(slots as u64) as usize;
            let keys: Vec<(usize, usize)> = (0..slots).map(|_| (slot(), slot())).collect();
            let fits = |key: usize, slot: usize| keys[key].0 == slot || keys[key].1 == slot;
            let can = each_can_have_one(slots, keys.iter().copied());
            assert_eq!(can, assign(slots, fits).is_some(), "{keys:?}");
            found[usize::from(can)] += 1;
        }
        assert!(found[0] > 100 && found[1] > 100, "{found:?}");
    }
}
