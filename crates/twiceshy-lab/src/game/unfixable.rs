//! The birthday attack: a set of keys of which one is always wrong.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// 000 Theorem 12 and section 5.3. A set of queries is *mutually unfixable* for a stored key x if each of the k hashes
/// that x can be stored under is the hash of one of them: wherever x moves, one of them is wrong.
///
/// It asks a set Q of random keys in 2k rounds, each in a random order. Keys that are wrong in any of the last k rounds
/// are suspects (Q_d): every x that has a hash without a query in Q has settled there by then. If there are no more
/// than c·k suspects, it picks k of them in random order and asks them in this order twice, up to |Q_d|!/(|Q_d| − k)!
/// times. If all 2k look-ups were wrong, x moves in a cycle and the first of them is wrong next, so it is named.
///
/// *The size of Q.* (1 + 1/k)·N/(ε·n^(1/k)). The printed lemmas 13 to 15 have a letter like e where ε is meant: a hash
/// of x is hit with probability ε|Q|/N = (1 + 1/k)/n^(1/k), and all k with (1 + 1/k)^k/n ≤ e/n. This last e is Euler's
/// number, as lemma 15 says: up to e keys of the n have such a set. With Euler's number in the size as well there would
/// be (ε/e)^k of one. N/ε is the number of values of one hash, bucket and fingerprint together.
///
/// *Bounds.* Q is reduced so that the 2k rounds stay within the bound on look-ups. The permutation rounds have their
/// own bound, and both are reported.
///
/// *What k is.* The paper counts d for Cuckooing and d·2^s for Cyclic, and so does this adversary by default. But a key
/// of Cyclic stays in its table and returns to the first function after 2^s steps, so 2^s wins there.
///
/// *What else it finds.* Lemma 17 says that only keys of mutually unfixable sets are suspects, since a stored key that
/// has settled stays there. But a key of Cuckooing is displaced by the walks of others, which helps the adversary. Take
/// a path of stored keys from cell to cell, and two queries: one collides with the first key in the path's first cell,
/// the other with the last key in its last cell. A tree of keys leaves one cell free. If that cell is towards the end
/// of the path, the first key is in the first cell, otherwise the last key is in the last cell: one of the two queries
/// is wrong. In 2×1 tables there are 1/(1 − 2·load) such paths for each key, so at 40 % load 2.25 sets of lemma 15
/// become 11, with 22.5 suspects; ten games with a million keys had 23.2. At half load the sum is limited only by n,
/// and they had 158. (A component with as many keys as cells has no free cell, and a key on a branch of its cycle can
/// never leave; this is derived, not measured.)
pub(super) struct Unfixable;

impl Adversary for Unfixable {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let k = notes.functions(notes.anatomy().hashes(), 2);
        let mut suspects = suspects(oracle, notes, k)?;
        let count = suspects.len() as u64;
        notes.diary.suspects = count;
        if count < k {
            notes.diary.too_few = 1;
        } else if count > k.saturating_mul(notes.tactics().most_suspects) {
            notes.diary.too_many = 1;
        } else if let Some(key) = permutations(oracle, notes, &mut suspects, k)? {
            notes.diary.named = 1;
            return Ok(Named::one(key));
        } else {
            notes.diary.no_permutation = 1;
        }
        Ok(Named::one(notes.fresh()))
    }
}

/// Q_d: the keys of Q that are wrong in any testing round.
fn suspects(oracle: &mut Oracle, notes: &mut Notes, k: u64) -> Result<Vec<Key>, GameError> {
    let wanted = size(notes.anatomy().hash_values(), notes.n(), k);
    let affordable = notes.tactics().most_queries / (2 * k);
    notes.diary.cut_short = u64::from(wanted > affordable);
    notes.diary.elements = wanted.min(affordable);
    let mut asked: Vec<Key> = (0..notes.diary.elements).map(|_| notes.fresh()).collect();
    let mut wrong = Vec::new();
    for round in 0..2 * k {
        notes.shuffle(&mut asked);
        for key in &asked {
            if oracle.lookup(key)? && round >= k {
                wrong.push(*key);
            }
        }
    }
    wrong.sort_unstable();
    wrong.dedup();
    Ok(wrong)
}

/// |Q|, for N/ε values, n keys and k hashes.
fn size(hash_values: f64, n: u64, k: u64) -> u64 {
    let share = 1.0 / k as f64;
    ((1.0 + share) * hash_values / (n as f64).powf(share)).ceil() as u64
}

/// Plays the permutation rounds. Returns the first key of an order in which all were wrong, twice.
fn permutations(
    oracle: &mut Oracle,
    notes: &mut Notes,
    suspects: &mut [Key],
    k: u64,
) -> Result<Option<Key>, GameError> {
    let count = suspects.len() as u64;
    let all = (count - k + 1..=count).fold(1u64, u64::saturating_mul);
    notes.diary.rounds_cut = u64::from(all > notes.tactics().most_rounds);
    for _ in 0..all.min(notes.tactics().most_rounds) {
        notes.diary.rounds += 1;
        let order = notes.some_of(suspects, k as usize);
        let mut wrong = 0;
        for key in order.iter().chain(order) {
            wrong += u64::from(oracle.lookup(key)?);
        }
        if wrong == 2 * k {
            return Ok(order.first().copied());
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_as_large_as_the_paper_has_it() {
        // N = n = 10^6 cells per table, 255 values, k = 2: 1.5 · 255·10^6 / 10^3.
        assert_eq!(size(255e6, 1_000_000, 2), 382_500);
        // k = 1: two for each value and key.
        assert_eq!(size(1_500.0, 100, 1), 30);
    }
}
