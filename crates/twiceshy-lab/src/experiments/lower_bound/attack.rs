//! The attack of 001 section 6.1 on one filter, with the sets of the proof: OFP, FP_i, FIX and Φ.

use super::side::{Held, Side};
use crate::experiment::TaskError;
use crate::game::in_rounds;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::cell::RefCell;

/// Never asked keys that a state is tested with, for each stored key.
const TESTED: u64 = 4;

/// What an attack found. Original false positives are those of the filter before the first query; of these filters, every
/// false positive is an absolute one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attack {
    pub(super) bits_at_start: f64,
    /// Bits a key of L after the attack.
    pub(super) bits: f64,
    /// |OFP| / u, from keys that are never asked.
    pub(super) original_share: f64,
    /// |Q ∩ OFP|.
    pub(super) asked_original: u64,
    /// |FP_1| and |FP_2|.
    pub(super) first_wrong: u64,
    pub(super) second_wrong: u64,
    pub(super) rounds: u64,
    /// |Φ|: the most of Q ∩ OFP that were fixed at the end of a round.
    pub(super) fixed_most: u64,
    /// How many of FP_1 the filter calls present after the attack.
    pub(super) wrong_at_end: u64,
    /// Whether the key that `rounds` names is wrong: the first of those that survived longest.
    pub(super) named_is_wrong: bool,
    /// The share of never asked keys that are wrong after the attack.
    pub(super) rate_at_end: f64,
    /// Original false positives that were never asked, and how many of them are fixed after the attack.
    pub(super) unasked: u64,
    pub(super) unasked_fixed: u64,
}

/// Keys of a universe of 2^`bits` keys, from random keys of 64 bits.
fn wide(key: [u8; 8], bits: u32) -> Vec<u8> {
    let mut rng = Rng::new(u64::from_be_bytes(key));
    let mut wide = key.to_vec();
    while wide.len() < bits as usize / 8 {
        wide.extend(rng.word().to_be_bytes());
    }
    wide.truncate(bits as usize / 8);
    wide
}

/// Attacks a filter of `keys` keys. A deaf filter is not told of mistakes about odd keys: a planted error.
pub(super) fn attack(side: Side, keys: u64, universe: u32, is_deaf: bool, seed: u64) -> Result<Attack, TaskError> {
    let set = Keys::new(keys, (1 + 2 * TESTED) * keys, seed).ok_or_else(|| TaskError::new("too many keys"))?;
    let stored: Vec<Vec<u8>> = set.stored_keys().map(|key| wide(key, universe)).collect();
    let absent = |numbers: std::ops::Range<u64>| -> Vec<Vec<u8>> {
        numbers.map(|number| wide(set.absent(number), universe)).collect()
    };
    let (asked, before) = (absent(0..keys), absent(keys..(1 + TESTED) * keys));
    let after = absent((1 + TESTED) * keys..(1 + 2 * TESTED) * keys);
    let held = Held::new(side, &stored, Rng::stream(seed, 7).word())?;
    let bits_at_start = held.local_bits() as f64 / keys as f64;
    let original = wrong_of(&held, asked.clone());
    let unasked = wrong_of(&held, before);
    let held = RefCell::new(held);
    let mut fixed_most = 0;
    let is_wrong = |key: &Vec<u8>| {
        let present = held.borrow().contains(key);
        if present && !(is_deaf && key.last().is_some_and(|last| last % 2 == 1)) {
            held.borrow_mut().was_wrong(key)?;
        }
        Ok::<bool, TaskError>(present)
    };
    let rounds = in_rounds(asked, is_wrong, |_| fixed_most = count(&held.borrow(), &original, false).max(fixed_most))?;
    let held = held.into_inner();
    if stored.iter().any(|key| !held.contains(key)) {
        return Err(TaskError::new("a filter called a stored key absent"));
    }
    let wrong_in = |round: usize| rounds.get(round).map_or(0, |wrong| wrong.len() as u64);
    let named = rounds.last().and_then(|last| last.first());
    Ok(Attack {
        bits_at_start,
        bits: held.local_bits() as f64 / keys as f64,
        original_share: unasked.len() as f64 / (TESTED * keys) as f64,
        asked_original: original.len() as u64,
        first_wrong: wrong_in(0),
        second_wrong: wrong_in(1),
        rounds: rounds.len() as u64,
        fixed_most,
        wrong_at_end: rounds.first().map_or(0, |first| count(&held, first, true)),
        named_is_wrong: named.is_some_and(|key| held.contains(key)),
        rate_at_end: count(&held, &after, true) as f64 / (TESTED * keys) as f64,
        unasked: unasked.len() as u64,
        unasked_fixed: count(&held, &unasked, false),
    })
}

/// Those of some absent keys that a state calls present.
fn wrong_of(held: &Held, keys: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let answers = held.answers(&keys);
    keys.into_iter().zip(answers).filter(|(_, present)| *present).map(|(key, _)| key).collect()
}

/// How many of some keys a state calls present, or absent.
fn count(held: &Held, keys: &[Vec<u8>], present: bool) -> u64 {
    held.answers(keys).into_iter().filter(|answer| *answer == present).count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::side::{Base, List};
    use super::*;

    #[test]
    fn a_list_fixes_as_many_mistakes_as_it_has_room_for_and_no_other_key() {
        let (keys, room) = (500, 20);
        let list = f64::from(room) * 64.0 / keys as f64;
        for list in [List::First(list), List::Latest(list), List::Any(list)] {
            let attack = attack(Side::Alone(Base::Bloom(4.0), list), keys, 64, false, 3).expect("an attack");
            assert_eq!(attack.first_wrong, attack.asked_original, "{list:?}");
            assert!((40..120).contains(&attack.first_wrong), "{list:?}: {attack:?}");
            assert_eq!(attack.fixed_most, u64::from(room as u32), "{list:?}");
            assert_eq!(attack.wrong_at_end, attack.first_wrong - u64::from(room as u32), "{list:?}");
            assert!(attack.unasked > 150 && attack.unasked_fixed == 0, "{list:?}: {attack:?}");
        }
    }

    #[test]
    fn a_list_of_all_mistakes_ends_the_attack_in_the_second_round() {
        let attack = attack(Side::Alone(Base::Cuckoo(8), List::All), 500, 256, false, 3).expect("an attack");
        assert_eq!((attack.rounds, attack.second_wrong, attack.wrong_at_end), (1, 0, 0));
        assert_eq!(attack.fixed_most, attack.asked_original);
        let list = (attack.bits - attack.bits_at_start) * 500.0;
        assert!((list - 256.0 * attack.first_wrong as f64).abs() < 1e-6, "{list} bits for {}", attack.first_wrong);
    }

    #[test]
    fn keys_of_a_larger_universe_are_longer_and_begin_alike() {
        let (short, long) = (wide([7; 8], 64), wide([7; 8], 1024));
        assert_eq!((short.len(), long.len(), &long[..8]), (8, 128, &short[..]));
    }
}
