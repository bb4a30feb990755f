//! The oracle of Figure 1: it holds filter, remote and set, and the adversary plays through it alone.

use super::GameError;
use super::defender::{Defender, Phase};
use super::dispatch::Recipe;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::collections::HashSet;
use twiceshy::filter::Adapted;
use twiceshy::hash::HashKey;

/// A key of the game.
pub(crate) type Key = [u8; 8];

/// How many hash keys a rebuild may try.
const HASH_KEYS: u32 = 20;

/// What the rules forbid. The oracle says so instead of letting it pass as nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An insertion of a key that is in the set.
    #[error("a key that is in the set cannot be inserted")]
    InTheSet,
    /// An insertion beyond the capacity.
    #[error("the set has its {0} keys already")]
    Full(u64),
    /// A deletion of a key that is not in the set.
    #[error("a key that is not in the set cannot be deleted")]
    NotInTheSet,
}

/// What happened in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(super) queries: u64,
    pub(super) false_positives: u64,
    pub(super) insertions: u64,
    pub(super) deletions: u64,
    pub(super) adapts: u64,
    pub(super) unfixable: u64,
    pub(crate) rebuilds: u64,
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
    }
}

/// The adversary's only way to the filter. Its three operations are all that the adversary can do; the filter's bits, its
/// hash key and the remote stay behind it, and so does whether it was rebuilt.
pub(crate) struct Oracle {
    filter: Box<dyn Defender>,
    set: HashSet<Key>,
    capacity: u64,
    /// Where new hash keys come from.
    rng: Rng,
    counts: Counts,
}

impl Oracle {
    /// A filter that holds the stored keys, which are as many as it is made for.
    pub(crate) fn setup(recipe: &Recipe, keys: &Keys, mut rng: Rng) -> Result<Oracle, GameError> {
        let filter = (recipe.build)(HashKey::fixed(rng.word()))?;
        let mut oracle =
            Oracle { filter, set: HashSet::new(), capacity: keys.stored_len(), rng, counts: Counts::default() };
        for key in keys.stored_keys() {
            oracle.insert(&key)?;
        }
        oracle.forget_counts();
        Ok(oracle)
    }

    /// What happened until now was not the adversary's doing.
    pub(super) fn forget_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// Whether the filter calls a key present; if that is wrong, the filter hears of it. An adversary who knows the set knows
    /// whether it was.
    pub(crate) fn lookup(&mut self, key: &Key) -> Result<bool, GameError> {
        self.counts.queries += 1;
        let present = self.filter.says_present(key);
        if present && !self.set.contains(key) {
            self.counts.false_positives += 1;
            match self.filter.adapt(key)? {
                None => return Ok(true),
                Some(Adapted::Unfixable) => self.counts.unfixable += 1,
                Some(Adapted::Stored) => return Err(GameError::Seam("an absent key was found stored".into())),
                Some(Adapted::Fixed | Adapted::StillPresent) => {}
            }
            self.counts.adapts += 1;
            self.rebuild_if_wanted()?;
        }
        Ok(present)
    }

    /// Puts a key into the set, which has room for as many as the filter is made for.
    pub(super) fn insert(&mut self, key: &Key) -> Result<(), GameError> {
        if self.set.contains(key) {
            return Err(Refusal::InTheSet.into());
        }
        if self.set.len() as u64 >= self.capacity {
            return Err(Refusal::Full(self.capacity).into());
        }
        self.counts.insertions += 1;
        let mut tries = 0;
        while !self.filter.insert(key)? {
            tries += 1;
            if tries == HASH_KEYS {
                return Err(GameError::Full(HASH_KEYS));
            }
            self.rebuild()?;
        }
        self.set.insert(*key);
        self.rebuild_if_wanted()
    }

    /// Takes a key out of the set.
    pub(super) fn delete(&mut self, key: &Key) -> Result<(), GameError> {
        if !self.set.remove(key) {
            return Err(Refusal::NotInTheSet.into());
        }
        self.counts.deletions += 1;
        self.filter.remove(key)?;
        self.rebuild_if_wanted()
    }

    /// The end of the game: whether the key that the adversary named is a false positive.
    pub(crate) fn is_false_positive(&self, key: &Key) -> bool {
        !self.set.contains(key) && self.filter.says_present(key)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn local_bits(&self) -> u64 {
        self.filter.local_bits()
    }

    /// Where the filter stands in its phases, if it has any.
    pub(super) fn phase(&self) -> Option<Phase<'_>> {
        self.filter.phase()
    }

    /// How many keys have taken another hash function: the whole set for each phase that ended, and those up to the frontier.
    pub(super) fn moved_on(&self) -> u64 {
        self.phase().map_or(0, |phase| {
            let up_to = |frontier: &[u8]| self.set.iter().filter(|key| key[..] <= *frontier).count() as u64;
            phase.ended * self.set.len() as u64 + phase.frontier.map_or(0, up_to)
        })
    }

    fn rebuild_if_wanted(&mut self) -> Result<(), GameError> {
        if self.filter.wants_rebuild() { self.rebuild() } else { Ok(()) }
    }

    /// Another hash key, as `replay` takes one when the filter asks for it.
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
    use crate::replay::FilterName;

    fn keys() -> Keys {
        Keys::new(300, 1_000, 5).expect("few keys")
    }

    fn oracle(name: FilterName) -> Oracle {
        let recipe = Recipe::named(name, 300, 0.05).expect("a filter");
        Oracle::setup(&recipe, &keys(), Rng::new(1)).expect("room for all")
    }

    /// The refusal behind an answer.
    fn refusal(answer: Result<(), GameError>) -> Option<Refusal> {
        match answer {
            Err(GameError::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    #[test]
    fn the_rules_are_kept_and_every_breach_is_said() {
        for &name in FilterName::OURS {
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
        for &name in FilterName::OURS {
            let mut oracle = oracle(name);
            let wrong = (0..1_000)
                .map(|number| keys().absent(number))
                .find(|key| oracle.is_false_positive(key))
                .expect("one in twenty");
            assert!(oracle.lookup(&wrong).expect("an answer"), "{name}");
            let learns = !matches!(name, FilterName::Cuckoo | FilterName::Quotient);
            assert_eq!(oracle.is_false_positive(&wrong), !learns, "{name}");
            assert_eq!([oracle.counts().false_positives, oracle.counts().adapts], [1, u64::from(learns)], "{name}");
        }
    }
}
