//! What the birthday attack of 000 section 5.3 suspects, and why.

use super::hashed::Hashed;
use super::{Filter, filled};
use crate::experiment::TaskError;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::collections::HashMap;
use twiceshy::hash::HashKey;

/// A filter and the queries of the attack's rounds. The permutation rounds are not played: games are in
/// [`game`](crate::game).
#[derive(Clone, Copy, Debug)]
pub struct Birthday {
    /// n, the stored keys.
    pub keys: u64,
    /// k, the tables: 2, 3 or 4.
    pub tables: u64,
    /// The stored keys over the cells.
    pub load: f64,
    /// Bits of a cell, at most 12.
    pub bits: u32,
    /// `true` if the filter is told of its mistakes, as it should be.
    pub hears: bool,
}

/// What one set of queries gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Suspects {
    /// |Q|.
    pub asked: u64,
    /// The least |R_Q(β)|: the distinct values of Q under a hash.
    pub values: u64,
    /// |X_Q|: stored keys that have a mutually unfixable set.
    pub unfixable: u64,
    /// The sizes of their largest sets, together.
    pub together: u64,
    /// Queries that are in such a set.
    pub members: u64,
    /// |Q_d|: queries that were wrong in a testing round.
    pub suspects: u64,
    /// Those of them that are in such a set.
    pub suspected_members: u64,
    /// Queries outside of all such sets that were wrong in the k rounds after the testing rounds.
    pub later_outsiders: u64,
}

impl Suspects {
    /// Suspects that are in no mutually unfixable set.
    pub fn outsiders(&self) -> u64 {
        self.suspects - self.suspected_members
    }
}

impl Birthday {
    /// N, the cells of a table.
    pub fn cells(&self) -> u64 {
        (self.keys as f64 / self.load / self.tables as f64).ceil() as u64
    }

    fn values(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// |Q| = (1 + 1/k)·N/(ε·n^(1/k)).
    pub fn queries(&self) -> u64 {
        let share = 1.0 / self.tables as f64;
        let hash_values = (self.cells() * self.values()) as f64;
        ((1.0 + share) * hash_values / (self.keys as f64).powf(share)).ceil() as u64
    }

    /// Plays the k preliminary and the k testing rounds, and k more.
    pub fn play(&self, rng: &mut Rng) -> Result<Suspects, TaskError> {
        match self.tables {
            2 => self.play_with::<2>(rng),
            3 => self.play_with::<3>(rng),
            4 => self.play_with::<4>(rng),
            other => Err(TaskError::new(format!("the tables must be 2, 3 or 4, not {other}"))),
        }
    }

    fn play_with<const K: usize>(&self, rng: &mut Rng) -> Result<Suspects, TaskError> {
        let asked = self.queries();
        let keys = Keys::new(self.keys, asked, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
        let (mut filter, hash) = filled(self.tables, self.cells(), self.bits, &keys, rng)?;
        let sets = self.sets::<K>(&keys, hash);
        let mut order: Vec<u32> = (0..asked as u32).collect();
        self.rounds(&mut filter, &keys, &mut order, rng)?;
        let suspects = self.rounds(&mut filter, &keys, &mut order, rng)?;
        let later = self.rounds(&mut filter, &keys, &mut order, rng)?;
        let both = |wrong: &[bool], wanted: bool| {
            wrong.iter().zip(&sets.members).filter(|(wrong, member)| **wrong && **member == wanted).count() as u64
        };
        let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count() as u64;
        Ok(Suspects {
            asked,
            values: sets.values,
            unfixable: sets.unfixable,
            together: sets.together,
            members: count(&sets.members),
            suspects: count(&suspects),
            suspected_members: both(&suspects, true),
            later_outsiders: both(&later, false),
        })
    }

    /// k rounds, each in another order. Returns which queries were wrong.
    fn rounds(
        &self,
        filter: &mut Filter,
        keys: &Keys,
        order: &mut [u32],
        rng: &mut Rng,
    ) -> Result<Vec<bool>, TaskError> {
        let mut wrong = vec![false; order.len()];
        for _ in 0..self.tables {
            rng.shuffle(order);
            for query in order.iter() {
                let key = keys.absent(u64::from(*query));
                if filter.contains(&key) {
                    wrong[*query as usize] = true;
                    if self.hears {
                        filter.was_wrong(&key).map_err(TaskError::new)?;
                    }
                }
            }
        }
        Ok(wrong)
    }

    /// The mutually unfixable sets in Q, by the hashes alone.
    fn sets<const K: usize>(&self, keys: &Keys, hash: HashKey) -> Sets {
        let hashed = |key: [u8; 8]| Hashed::<K>::of(hash, &key, self.cells(), self.values());
        let mut under: Vec<HashMap<u64, Vec<u32>>> = vec![HashMap::new(); K];
        for query in 0..keys.absent_len() {
            let own = hashed(keys.absent(query));
            for (table, map) in under.iter_mut().enumerate() {
                map.entry(own.under(table)).or_default().push(query as u32);
            }
        }
        let values = under.iter().map(HashMap::len).min().unwrap_or_default() as u64;
        let mut sets = Sets { values, unfixable: 0, together: 0, members: vec![false; keys.absent_len() as usize] };
        for key in keys.stored_keys() {
            let own = hashed(key);
            let met: Option<Vec<&Vec<u32>>> = (0..K).map(|table| under[table].get(&own.under(table))).collect();
            let Some(met) = met else { continue };
            let mut set: Vec<u32> = met.into_iter().flatten().copied().collect();
            set.sort_unstable();
            set.dedup();
            sets.unfixable += 1;
            sets.together += set.len() as u64;
            set.iter().for_each(|query| sets.members[*query as usize] = true);
        }
        sets
    }
}

/// The mutually unfixable sets of a Q.
struct Sets {
    values: u64,
    unfixable: u64,
    together: u64,
    members: Vec<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_members_of_unfixable_sets_are_suspected_and_a_deaf_filter_suspects_every_mistake() {
        let birthday = Birthday { keys: 500, tables: 2, load: 0.5, bits: 8, hears: true };
        let (mut members, mut suspected, mut outsiders) = (0, 0, 0);
        for seed in 0..10 {
            let found = birthday.play(&mut Rng::new(seed)).expect("room");
            assert!(found.together >= 2 * found.unfixable && found.values <= found.asked, "{found:?}");
            (members, suspected) = (members + found.members, suspected + found.suspected_members);
            outsiders += found.outsiders();
            let deaf = Birthday { hears: false, ..birthday }.play(&mut Rng::new(seed)).expect("room");
            assert!(deaf.outsiders() > found.outsiders(), "{deaf:?}");
        }
        // Not all: of two keys under the same hash, the second may be asked after the first in every testing round.
        assert!(members > 10 && 5 * suspected > 4 * members, "{suspected} of {members}");
        assert!(outsiders > 0);
    }
}
