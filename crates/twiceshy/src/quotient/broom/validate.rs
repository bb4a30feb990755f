//! Every invariant of a broom filter, checked against its remote.

use super::filter::{BroomFilter, Rebuild};
use super::level::Level;
use super::local::Local;
use crate::remote::{Key, Remote};
use std::collections::BTreeMap;

/// The first thing that is wrong, in words.
pub(crate) fn check<R: Remote>(filter: &BroomFilter, remote: &R) -> Result<(), String> {
    if filter.is_in_doubt() {
        return Ok(());
    }
    let sequence = remote.sequence().map_err(|error| error.to_string())?;
    if sequence != filter.sequence {
        return Err(format!("the filter is at commit {}, the remote at {sequence}", filter.sequence));
    }
    let ordered = remote.key_order().ok_or("the remote does not know its keys in byte order")?;
    let phase = ordered.phase().map_err(|error| error.to_string())?.ok_or("the remote is in no phase")?;
    let functions = &filter.local.functions;
    if (phase.old.1.hash, phase.new.1.hash, &phase.frontier) != (functions.old, functions.new, &functions.frontier) {
        return Err("the filter and the remote have other functions, or another frontier".into());
    }
    let mut keys: Vec<Key> = Vec::new();
    ordered.walk_keys(None, usize::MAX, &mut |key| keys.push(key)).map_err(|error| error.to_string())?;
    check_local(&filter.local, &keys)?;
    if let Some(Rebuild::Grow(filling)) = &filter.rebuild {
        let passed = super::growing::passed_by(filter, filling);
        keys.retain(|key| passed(key));
        check_local(&filling.local, &keys).map_err(|wrong| format!("in the table being filled: {wrong}"))?;
    }
    Ok(())
}

fn check_local(local: &Local, keys: &[Key]) -> Result<(), String> {
    let used = local.used();
    if used != local.keys || local.keys != keys.len() as u64 {
        return Err(format!(
            "{used} slots are in use, the filter counts {} keys, the remote {}",
            local.keys,
            keys.len()
        ));
    }
    for level in &local.levels {
        level.check()?;
    }
    // Each key matches one slot in a level at most; together they must have one each.
    let spots: Vec<Vec<(usize, u64)>> =
        keys.iter().map(|key| local.spots(key).map(|spot| (spot.level, spot.slot)).collect()).collect();
    let lost = |(key, spots): (&Key, &Vec<_>)| spots.is_empty() && !local.contains(key);
    if let Some(at) = keys.iter().zip(&spots).position(lost) {
        return Err(format!("the stored key {:02x?} is not found", &keys[at][..keys[at].len().min(16)]));
    }
    // Those in the yard match no slot; there are as many as it holds.
    let spots: Vec<_> = spots.into_iter().filter(|own| !own.is_empty()).collect();
    let numbers: BTreeMap<(usize, u64), usize> =
        spots.iter().flatten().copied().collect::<std::collections::BTreeSet<_>>().into_iter().zip(0..).collect();
    let slots: u64 = local.levels.iter().map(Level::used).sum();
    if numbers.len() != spots.len() || slots != spots.len() as u64 {
        return Err(format!("{} keys match {} of {slots} slots", spots.len(), numbers.len()));
    }
    let ends = spots.iter().map(|own| (numbers[&own[0]], numbers[&own[own.len() - 1]]));
    if each_can_have_one(numbers.len(), ends) { Ok(()) } else { Err("the keys cannot all have a slot".into()) }
}

/// Whether keys that match one slot or two can have a slot each.
///
/// Let slots be the nodes of a graph and keys its edges. Slots that hang together have room for the keys between them exactly
/// where those are no more: a connected graph with as many edges as nodes has one circle, and every other edge can point away
/// from it. So it is enough to count, which takes hardly longer than a walk over the keys.
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

/// The slot that stands for all that hang together with one.
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
