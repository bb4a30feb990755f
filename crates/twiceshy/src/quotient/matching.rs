//! Finds an owner for each slot of a run.
//!
//! A slot and a key fit if the key, under the slot's mark, has the slot's remainder. A run has exactly as many keys as
//! slots, and the true owners are a perfect matching. **Any other perfect matching is as good**: a plan rewrites some
//! slots, each for the key that the matching gave it, and leaves the others, which still hold what their key under the
//! matching has. So afterwards every key has its own slot again, and a look-up sees no more than that.

/// Gives each of `count` slots one of `count` keys: the key of every slot, or `None` if that is impossible.
pub(crate) fn assign(count: usize, fits: impl Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
    let mut key_of = vec![None; count];
    let mut slot_of = vec![None; count];
    (0..count).all(|key| augment(key, count, &fits, &mut key_of, &mut slot_of)).then_some(())?;
    key_of.into_iter().collect()
}

/// Finds `start` a slot by moving others, breadth-first over alternating paths.
fn augment(
    start: usize,
    count: usize,
    fits: &impl Fn(usize, usize) -> bool,
    key_of: &mut [Option<usize>],
    slot_of: &mut [Option<usize>],
) -> bool {
    let mut wanted_by = vec![None; count];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(key) = queue.pop_front() {
        for slot in 0..count {
            if wanted_by[slot].is_some() || !fits(key, slot) {
                continue;
            }
            wanted_by[slot] = Some(key);
            if let Some(holder) = key_of[slot] {
                queue.push_back(holder);
                continue;
            }
            // A free slot: every key on the path moves on by one.
            let mut given = Some(slot);
            while let Some(slot) = given {
                let Some(taker) = wanted_by[slot] else { break };
                given = slot_of[taker].replace(slot);
                key_of[slot] = Some(taker);
            }
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    /// `true` if all keys from `key` on can have one of the slots that are left.
    fn by_trying(key: usize, count: usize, left: u32, edges: &[u32]) -> bool {
        if key == count {
            return true;
        }
        let free = |slot: &usize| left & edges[key] & 1 << slot != 0;
        (0..count).filter(free).any(|slot| by_trying(key + 1, count, left & !(1 << slot), edges))
    }

    #[test]
    fn a_perfect_matching_is_found_exactly_where_trying_all_finds_one() {
        let mut rng = SplitMix64::from_state(8);
        let mut found = [0, 0];
        for _ in 0..4_000 {
            let count = 1 + rng.below(6) as usize;
            let edges: Vec<u32> = (0..count).map(|_| rng.next() as u32 & ((1 << count) - 1)).collect();
            let fits = |key: usize, slot: usize| edges[key] >> slot & 1 == 1;
            let assigned = assign(count, fits);
            assert_eq!(assigned.is_some(), by_trying(0, count, (1 << count) - 1, &edges));
            found[usize::from(assigned.is_some())] += 1;
            if let Some(mut keys) = assigned {
                assert!(keys.iter().enumerate().all(|(slot, key)| fits(*key, slot)));
                keys.sort_unstable();
                assert!(keys.into_iter().eq(0..count), "a key got two slots");
            }
        }
        assert!(found[0] > 500 && found[1] > 500, "{found:?}");
    }
}
