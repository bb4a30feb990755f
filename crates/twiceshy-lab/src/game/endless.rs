//! A phase that never ends.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use std::collections::VecDeque;

/// Decoys replaced for each mistake. A mistake moves a frontier by three keys, so a small debt is left.
const TURN: usize = 4;

/// Keeps a frontier in byte order from finishing a phase, finds n mistakes meanwhile, deletes the keys above, inserts
/// the mistakes and names a deleted key.
///
/// *How.* A range of the set, between an eighth and a quarter of it in byte order, is replaced by decoys. For each
/// mistake, the four lowest decoys are deleted, and four keys just above the highest are inserted. The frontier passes
/// only decoys, and stays below all other keys.
///
/// *Why it wins.* Like [`swap`](super::swap), but with eight times as many mistakes, since no key above ever takes
/// another function. Honest time stamps do the same to such a frontier, and then what was learned accumulates without
/// bound. A frontier in the order of a secret hash is not affected.
pub(super) struct Endless;

impl Adversary for Endless {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let set = notes.sorted_set();
        let from = set.len() / 8;
        let to = (set.len() / 4).max(from + 1).min(set.len());
        let (replaced, upper) = (&set[from..to], &set[to..]);
        let above = upper.first().copied().unwrap_or_default();
        let mut decoys = Decoys::in_place_of(replaced, oracle, notes)?;
        let mut found = Vec::new();
        while found.len() < set.len() {
            let Some(key) = notes.find_wrong_above(oracle, &above)? else { break };
            found.push(key);
            decoys.turn(oracle, notes)?;
        }
        oracle.delete_all(upper)?;
        for key in found.iter().take(upper.len()) {
            oracle.try_insert(key)?;
            decoys.turn(oracle, notes)?;
        }
        Ok(notes.name(oracle, upper.to_vec()))
    }
}

/// Keys that rise in byte order.
struct Decoys {
    stored: VecDeque<Key>,
    highest: Key,
}

impl Decoys {
    fn in_place_of(replaced: &[Key], oracle: &mut Oracle, notes: &mut Notes) -> Result<Decoys, GameError> {
        oracle.delete_all(replaced)?;
        let mut decoys = Decoys { stored: VecDeque::new(), highest: replaced.first().copied().unwrap_or_default() };
        for _ in replaced {
            decoys.rise(oracle, notes)?;
        }
        Ok(decoys)
    }

    fn rise(&mut self, oracle: &mut Oracle, notes: &mut Notes) -> Result<(), GameError> {
        self.highest = notes.just_above(&self.highest);
        if oracle.try_insert(&self.highest)? {
            self.stored.push_back(self.highest);
        }
        Ok(())
    }

    /// Deletes the lowest decoys and inserts as many above the highest.
    fn turn(&mut self, oracle: &mut Oracle, notes: &mut Notes) -> Result<(), GameError> {
        for _ in 0..TURN {
            if let Some(lowest) = self.stored.pop_front() {
                oracle.delete(&lowest)?;
                self.rise(oracle, notes)?;
            }
        }
        Ok(())
    }
}
