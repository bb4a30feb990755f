//! The oracle of Figure 1. It holds filter, remote and set, and is the adversary's only access to them.

use super::GameError;
use super::defender::{Defender, Phase, Sought};
use super::dispatch::Recipe;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::collections::HashSet;
use twiceshy::filter::Adapted;
use twiceshy::hash::HashKey;

/// A key of the game.
pub(crate) type Key = [u8; 8];

/// How many hash keys to try in a rebuild.
const HASH_KEYS: u32 = 20;

/// A violation of the rules. The oracle returns it instead of ignoring the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Insertion of a key that is in the set.
    #[error("cannot insert a key that is already in the set")]
    InTheSet,
    /// Insertion beyond the capacity.
    #[error("the set is full: it already has {0} keys")]
    Full(u64),
    /// Deletion of a key that is not in the set.
    #[error("cannot delete a key that is not in the set")]
    NotInTheSet,
}

/// Counts of what happened in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(super) queries: u64,
    pub(super) false_positives: u64,
    pub(super) insertions: u64,
    pub(super) deletions: u64,
    pub(super) adapts: u64,
    pub(super) unfixable: u64,
    pub(crate) rebuilds: u64,
    /// Rebuilds requested by the filter that failed under every hash key. The filter continues unchanged.
    pub(super) rebuilds_refused: u64,
    /// Insertions refused because the filter was full.
    pub(super) refusals: u64,
    /// The lowest load at which an insertion was refused, in millionths.
    pub(super) lowest_refused: Option<u64>,
}

impl Counts {
    pub(super) fn add(&mut self, more: &Counts) {
        self.queries += more.queries;
        self.false_positives += more.false_positives;
        self.insertions += more.insertions;
        self.deletions += more.deletions;
        self.adapts += more.adapts;
        self.unfixable += more.unfixable;
        self.rebuilds += more.rebuilds;
        self.rebuilds_refused += more.rebuilds_refused;
        self.refusals += more.refusals;
        self.lowest_refused = lower(self.lowest_refused, more.lowest_refused);
    }
}

/// The lower of two optional numbers.
fn lower(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// The adversary's only access to the filter. It can ask, insert and delete, see whether an insertion was refused, and
/// wait until the filter's owner makes it grow or its process crashes. The filter's bits, its hash key, the remote, and
/// whether the filter was rebuilt stay hidden behind the oracle. Two things about a broom filter are told, to adversaries
/// that say so: where its frontier is, and how many keys are beside its first level.
#[derive(Clone)]
pub(crate) struct Oracle {
    filter: Defender,
    set: HashSet<Key>,
    capacity: u64,
    /// `true` if the filter is not told of mistakes about odd keys.
    is_deaf: bool,
    /// The number of keys when a rebuild that the filter requested failed. No other is tried until the set has fewer
    /// keys.
    no_room_for: Option<usize>,
    /// The source of new hash keys.
    rng: Rng,
    counts: Counts,
}

impl Oracle {
    /// A filter that holds the stored keys, as many as it is built for.
    pub(crate) fn setup(recipe: &Recipe, keys: &Keys, mut rng: Rng) -> Result<Oracle, GameError> {
        let filter = recipe.build(HashKey::fixed(rng.word()))?;
        let mut oracle = Oracle {
            filter,
            set: HashSet::new(),
            capacity: keys.stored_len(),
            is_deaf: recipe.is_deaf,
            no_room_for: None,
            rng,
            counts: Counts::default(),
        };
        for key in keys.stored_keys() {
            oracle.insert(&key)?;
        }
        oracle.forget_counts();
        Ok(oracle)
    }

    /// Resets the counts: what happened before was not done by the adversary.
    pub(super) fn forget_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// Asks the filter for a key. If the answer is wrong, the filter is told. The adversary knows the set, so it knows
    /// whether the answer was wrong.
    pub(crate) fn lookup(&mut self, key: &Key) -> Result<bool, GameError> {
        self.counts.queries += 1;
        let present = self.filter.says_present(key);
        if present && !self.set.contains(key) {
            self.counts.false_positives += 1;
            if self.is_deaf && key[key.len() - 1] % 2 == 1 {
                return Ok(true);
            }
            match self.filter.adapt(key)? {
                None => return Ok(true),
                Some(Adapted::Unfixable) => self.counts.unfixable += 1,
                Some(Adapted::Stored) => return Err(GameError::Seam("an absent key was reported as stored".into())),
                Some(Adapted::Fixed | Adapted::StillPresent) => {}
            }
            self.counts.adapts += 1;
            self.rebuild_if_wanted()?;
        }
        Ok(present)
    }

    /// Asks absent keys one after another, like [`Oracle::lookup`], until one is wrong or `most` were asked. Keys below
    /// `above` are skipped.
    pub(super) fn seek(&mut self, keys: &Keys, above: &Key, from: u64, most: u64) -> Result<Sought, GameError> {
        let sought = self.filter.seek(keys, above, from, most);
        self.counts.queries += sought.asked;
        if let Some(key) = &sought.found {
            // Already looked up: this only tells the filter.
            self.counts.queries -= 1;
            self.lookup(key)?;
        }
        Ok(sought)
    }

    /// Inserts a key. The set holds at most as many keys as the filter is built for. If the filter is full, its owner
    /// gives it another hash key.
    pub(super) fn insert(&mut self, key: &Key) -> Result<(), GameError> {
        self.check_room(key)?;
        self.counts.insertions += 1;
        let mut tries = 0;
        while !self.filter.insert(key)? {
            self.note_refusal();
            tries += 1;
            if tries == HASH_KEYS {
                return Err(GameError::Full(HASH_KEYS));
            }
            self.rebuild()?;
        }
        self.set.insert(*key);
        self.rebuild_if_wanted()
    }

    /// The same, but a full filter refuses the key: returns `false` and leaves the set unchanged.
    pub(super) fn try_insert(&mut self, key: &Key) -> Result<bool, GameError> {
        self.check_room(key)?;
        if !self.filter.insert(key)? {
            self.note_refusal();
            return Ok(false);
        }
        self.counts.insertions += 1;
        self.set.insert(*key);
        self.rebuild_if_wanted()?;
        Ok(true)
    }

    /// Tries to insert keys in this order, as long as the set has room.
    pub(super) fn store<'k>(&mut self, keys: impl IntoIterator<Item = &'k Key>) -> Result<(), GameError> {
        for key in keys {
            if self.room() == 0 {
                break;
            }
            self.try_insert(key)?;
        }
        Ok(())
    }

    fn check_room(&self, key: &Key) -> Result<(), GameError> {
        if self.set.contains(key) {
            return Err(Refusal::InTheSet.into());
        }
        if self.room() == 0 {
            return Err(Refusal::Full(self.capacity).into());
        }
        Ok(())
    }

    fn note_refusal(&mut self) {
        self.counts.refusals += 1;
        let load = (self.filter.load() * 1e6).round() as u64;
        self.counts.lowest_refused = lower(self.counts.lowest_refused, Some(load));
    }

    /// Deletes a key from the set.
    pub(super) fn delete(&mut self, key: &Key) -> Result<(), GameError> {
        if !self.set.remove(key) {
            return Err(Refusal::NotInTheSet.into());
        }
        self.counts.deletions += 1;
        self.filter.remove(key)?;
        self.rebuild_if_wanted()
    }

    /// Deletes all of these keys.
    pub(super) fn delete_all<'k>(&mut self, keys: impl IntoIterator<Item = &'k Key>) -> Result<(), GameError> {
        keys.into_iter().try_for_each(|key| self.delete(key))
    }

    /// The filter's owner makes it grow to twice its cells. The set's capacity stays the same.
    pub(super) fn grow(&mut self) -> Result<(), GameError> {
        match self.filter.grow()? {
            true => Ok(()),
            false => self.rebuild(),
        }
    }

    /// The process crashes, and the filter is recovered from its remote. If the keys do not fit then, the owner gives
    /// it another hash key.
    pub(super) fn crash(&mut self) -> Result<(), GameError> {
        let hash = HashKey::fixed(self.rng.word());
        match self.filter.crash(hash)? {
            true => Ok(()),
            false => self.rebuild(),
        }
    }

    /// How many more keys the set can hold. The adversary knows this from its own moves.
    pub(super) fn room(&self) -> u64 {
        self.capacity - self.set.len() as u64
    }

    /// `true` if a key is in the set. The adversary knows this from its own moves and the refusals.
    pub(super) fn holds(&self, key: &Key) -> bool {
        self.set.contains(key)
    }

    /// Ends the game: `true` if the named key is a false positive.
    pub(crate) fn is_false_positive(&self, key: &Key) -> bool {
        !self.set.contains(key) && self.filter.says_present(key)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn local_bits(&self) -> u64 {
        self.filter.local_bits()
    }

    /// The filter's position in its phases, if it has any.
    pub(super) fn phase(&self) -> Option<Phase> {
        self.filter.phase()
    }

    /// How many keys of a full set have taken another hash function: all for each finished phase, plus a part for the
    /// current one.
    pub(super) fn moved_on(&self) -> u64 {
        self.phase().map_or(0, |phase| ((phase.ended as f64 + phase.part) * self.capacity as f64) as u64)
    }

    fn rebuild_if_wanted(&mut self) -> Result<(), GameError> {
        if !self.filter.wants_rebuild() || self.no_room_for.is_some_and(|keys| self.set.len() >= keys) {
            return Ok(());
        }
        match self.rebuild() {
            Err(GameError::Full(_)) => {
                self.counts.rebuilds_refused += 1;
                self.no_room_for = Some(self.set.len());
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Takes another hash key, as `replay` does when the filter requests it.
    fn rebuild(&mut self) -> Result<(), GameError> {
        self.counts.rebuilds += 1;
        for _ in 0..HASH_KEYS {
            if self.filter.rekey(HashKey::fixed(self.rng.word()))? {
                return Ok(());
            }
        }
        Err(GameError::Full(HASH_KEYS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy::Kind;

    fn keys() -> Keys {
        Keys::new(300, 1_000, 5).expect("few keys")
    }

    #[test]
    fn a_refused_key_is_not_in_the_set_and_the_lowest_load_is_kept() {
        let mut oracle = oracle(Kind::Quotient);
        oracle.filter.left = Some(1);
        oracle.delete_all(&[keys().stored(1), keys().stored(2)]).expect("they are stored");
        assert!(oracle.try_insert(&keys().absent(1)).expect("an answer"), "one is taken");
        let first = oracle.filter.load();
        assert!(!oracle.try_insert(&keys().absent(2)).expect("an answer"), "the next is not");
        assert!(!oracle.holds(&keys().absent(2)) && oracle.room() == 1);
        oracle.delete(&keys().stored(3)).expect("it is stored");
        let second = oracle.filter.load();
        oracle.store(&[keys().absent(3), keys().absent(4)]).expect("refusals are no errors");
        assert_eq!((oracle.counts().refusals, oracle.counts().insertions, oracle.room()), (3, 1, 2));
        let lowest = oracle.counts().lowest_refused.map(|load| load as f64 * 1e-6);
        assert!(second < first && lowest.is_some_and(|lowest| (lowest - second).abs() < 1e-6), "{lowest:?}");
        oracle.grow().expect("another hash key instead");
        oracle.crash().expect("another hash key instead");
        assert_eq!(oracle.counts().rebuilds, 2);
        assert!(matches!(oracle.insert(&keys().absent(2)), Err(GameError::Full(_))), "no hash key helps");
    }

    #[test]
    fn growth_and_crashes_lose_no_key_and_growth_halves_the_load() {
        for &name in Kind::ALL {
            let mut oracle = oracle(name);
            let load = oracle.filter.load();
            oracle.grow().expect("room for all");
            assert!(oracle.filter.load() <= 0.51 * load, "{name}: {} of {load}", oracle.filter.load());
            oracle.crash().expect("the remote has all keys");
            assert!(keys().stored_keys().all(|key| oracle.filter.says_present(&key)), "{name}");
            oracle.delete(&keys().stored(7)).expect("it is stored");
            assert!(oracle.try_insert(&keys().absent(7)).expect("an answer"), "{name}: as before the crash");
        }
    }

    #[test]
    fn a_copy_of_a_game_is_independent() {
        for &name in Kind::ALL {
            let mut one = oracle(name);
            let mut other = one.clone();
            one.delete_all(keys().stored_keys().collect::<Vec<_>>().iter()).expect("they are stored");
            assert!(keys().stored_keys().all(|key| other.filter.says_present(&key)), "{name}");
            other.delete(&keys().stored(1)).expect("the copy has its own remote");
        }
    }

    #[test]
    fn a_search_asks_the_same_keys_as_look_ups() {
        for &name in Kind::ALL {
            let (mut one, mut other) = (oracle(name), oracle(name));
            let above = [128, 0, 0, 0, 0, 0, 0, 0];
            let mut from = 0;
            for _ in 0..5 {
                let sought = one.seek(&keys(), &above, from, 200).expect("a search");
                let asked = (from..sought.next).map(|number| keys().absent(number)).filter(|key| *key >= above);
                let wrong: Vec<Key> = asked.filter(|key| other.lookup(key).expect("an answer")).collect();
                assert_eq!(wrong, Vec::from_iter(sought.found), "{name}");
                assert_eq!(one.counts(), other.counts(), "{name}");
                from = sought.next;
            }
        }
    }

    fn oracle(name: Kind) -> Oracle {
        let recipe = Recipe::named(name, 300, 0.05).expect("a filter");
        Oracle::setup(&recipe, &keys(), Rng::new(1)).expect("room for all")
    }

    /// The rule violation in an error.
    fn refusal(answer: Result<(), GameError>) -> Option<Refusal> {
        match answer {
            Err(GameError::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    #[test]
    fn every_violation_of_the_rules_is_reported() {
        for &name in Kind::ALL {
            let mut oracle = oracle(name);
            let (stored, absent) = (keys().stored(1), keys().absent(1));
            assert_eq!(refusal(oracle.insert(&stored)), Some(Refusal::InTheSet), "{name}");
            assert_eq!(refusal(oracle.insert(&absent)), Some(Refusal::Full(300)), "{name}");
            assert_eq!(refusal(oracle.delete(&absent)), Some(Refusal::NotInTheSet), "{name}");
            assert_eq!(oracle.counts(), Counts::default(), "{name}: what is refused does not count");
            oracle.delete(&stored).expect("it is in the set");
            oracle.insert(&absent).expect("there is room");
            assert!(oracle.lookup(&absent).expect("an answer") && !oracle.is_false_positive(&absent), "{name}");
            let counts = oracle.counts();
            assert_eq!([counts.queries, counts.insertions, counts.deletions], [1, 1, 1], "{name}");
            assert_eq!([counts.false_positives, counts.adapts], [0, 0], "{name}: a stored key is no mistake");
        }
    }

    #[test]
    fn a_look_up_is_answered_before_the_filter_learns_from_it() {
        for &name in Kind::ALL {
            let mut oracle = oracle(name);
            let wrong = (0..1_000)
                .map(|number| keys().absent(number))
                .find(|key| oracle.is_false_positive(key))
                .expect("one in twenty");
            assert!(oracle.lookup(&wrong).expect("an answer"), "{name}");
            let learns = name.learns();
            assert_eq!(oracle.is_false_positive(&wrong), !learns, "{name}");
            assert_eq!([oracle.counts().false_positives, oracle.counts().adapts], [1, u64::from(learns)], "{name}");
        }
    }
}
