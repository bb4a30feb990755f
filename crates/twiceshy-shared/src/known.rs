//! The index as a filter reads it while it plans: what was fetched from the engine.
//!
//! A plan is made in memory, so it can be made again. A filter that asks for a part of the index that is not here gets an error that names the
//! part. It is fetched, and the plan is made once more.

use crate::engine::Span;
use std::collections::{BTreeSet, HashMap, HashSet};
use twiceshy::error::PlanError;
use twiceshy::hash::HashKey;
use twiceshy::remote::{Generation, Key, Keys, Order, OrderWords, Place, Position, RemoteError};

/// A part of the index that is not here.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a part of the index must be fetched first")]
struct Missing(Span);

/// Parts of the index at one position of the log, changed by what is not in the log yet.
#[derive(Debug, Default)]
pub(crate) struct Known {
    fetched: HashMap<Span, Vec<Key>>,
    /// Keys that are in the index, with their words, and the same by their words.
    shown: HashMap<Key, (Generation, OrderWords)>,
    by_word: BTreeSet<(Generation, Order, u64, Key)>,
    hidden: HashSet<Key>,
    /// Only keys up to this position of the walk under this hash key, for a table that is being filled.
    cut: Option<(HashKey, Option<Position>)>,
}

impl Known {
    /// For a table that is being filled, with the keys up to a position.
    pub(crate) fn up_to(hash: HashKey, cursor: Option<Position>) -> Known {
        Known { cut: Some((hash, cursor)), ..Known::default() }
    }

    pub(crate) fn fetched(&mut self, span: Span, keys: Vec<Key>) {
        self.fetched.insert(span, keys);
    }

    /// From now on the key is in the index, with these words.
    pub(crate) fn show(&mut self, key: &Key, generation: Generation, words: OrderWords) {
        self.hidden.remove(key);
        self.shown.insert(key.clone(), (generation, words));
        self.by_word.extend(words.iter().map(|(order, word)| (generation, order, word, key.clone())));
    }

    /// From now on the key is not in the index.
    pub(crate) fn hide(&mut self, key: &Key) {
        if let Some((generation, words)) = self.shown.remove(key) {
            for (order, word) in words.iter() {
                self.by_word.remove(&(generation, order, word, key.clone()));
            }
        }
        self.hidden.insert(key.clone());
    }

    /// Moves the end of the keys that are in a table being filled.
    pub(crate) fn move_on(&mut self, to: &Position) {
        if let Some((_, cursor)) = &mut self.cut {
            *cursor = Some(to.clone());
        }
    }

    fn holds(&self, key: &[u8]) -> bool {
        match &self.cut {
            Some((hash, cursor)) => passed(cursor.as_ref(), *hash, key),
            None => true,
        }
    }
}

/// `true` if a walk has passed this key.
pub(crate) fn passed(cursor: Option<&Position>, hash: HashKey, key: &[u8]) -> bool {
    cursor.is_some_and(|cursor| (hash.words(key).word(0), key) <= (cursor.word, &*cursor.key))
}

/// The part of the index behind a place.
pub(crate) fn span(place: &Place) -> Span {
    Span { generation: place.generation, order: place.order, first: *place.words.start(), last: *place.words.end() }
}

/// The part that a plan failed for want of; `None` if it failed for another reason.
pub(crate) fn missing(error: &PlanError) -> Option<Span> {
    match error {
        PlanError::Keys(error) => error.downcast_ref::<Missing>().map(|missing| missing.0),
        _ => None,
    }
}

impl Keys for Known {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        let span = span(place);
        let fetched = self.fetched.get(&span).ok_or(Missing(span))?;
        let fetched = fetched.iter().filter(|key| !self.hidden.contains(*key) && !self.shown.contains_key(*key));
        let Span { generation, order, first, last } = span;
        let begin = (generation, order, first, Key::from(&[][..]));
        let is_in =
            |shown: &&(Generation, Order, u64, Key)| (shown.0, shown.1) == (generation, order) && shown.2 <= last;
        let shown = self.by_word.range(begin..).take_while(is_in).map(|(.., key)| key);
        fetched.chain(shown).filter(|key| self.holds(key)).for_each(|key| found(key));
        Ok(())
    }

    fn walk(
        &self,
        _: Generation,
        _: Option<&Position>,
        _: usize,
        _: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        Err("a shared filter is never filled while a plan is made".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy::remote::CellId;

    fn place(words: std::ops::RangeInclusive<u64>) -> Place {
        Place { generation: Generation(0), order: Order(0), words, cell: CellId(0) }
    }

    fn ask(known: &Known, place: &Place) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        known.candidates(place, &mut |key| keys.push(key.to_vec())).expect("fetched");
        keys.sort();
        keys
    }

    #[test]
    fn a_part_that_is_missing_is_named_and_then_known() {
        let (mut known, place) = (Known::default(), place(3..=9));
        let error = known.candidates(&place, &mut |_| ()).expect_err("nothing was fetched");
        let wanted = missing(&PlanError::Keys(error)).expect("its name");
        assert_eq!(wanted, span(&place));
        known.fetched(wanted, vec![Key::from(&b"a"[..]), Key::from(&b"b"[..])]);
        assert_eq!(ask(&known, &place), [b"a", b"b"]);
        assert!(missing(&PlanError::Disagree).is_none());
    }

    #[test]
    fn changes_of_a_batch_are_seen_over_what_was_fetched() {
        let (mut known, place) = (Known::default(), place(0..=u64::MAX));
        let keys: Vec<Key> = ["a", "b", "c"].map(|key| Key::from(key.as_bytes())).to_vec();
        known.fetched(span(&place), keys[..2].to_vec());
        known.hide(&keys[0]);
        let show =
            |known: &mut Known, at: usize| known.show(&keys[at], Generation(0), OrderWords::new(&[at as u64, 100]));
        show(&mut known, 2);
        show(&mut known, 1);
        assert_eq!(ask(&known, &place), [b"b", b"c"]);
        known.hide(&keys[2]);
        show(&mut known, 0);
        assert_eq!(ask(&known, &place), [b"a", b"b"]);
        let part = Place { words: 0..=0, ..place };
        known.fetched(span(&part), Vec::new());
        assert_eq!(ask(&known, &part), [b"a"], "only those with a word in the place");
    }

    #[test]
    fn a_table_that_is_being_filled_sees_the_keys_up_to_its_cursor() {
        let hash = HashKey::fixed(1);
        let keys: Vec<Key> = (0..20u64).map(|key| Key::from(&key.to_le_bytes()[..])).collect();
        let mut order: Vec<Position> =
            keys.iter().map(|key| Position { word: hash.words(key).word(0), key: key.clone() }).collect();
        order.sort();
        let place = place(0..=u64::MAX);
        let mut known = Known::up_to(hash, None);
        known.fetched(span(&place), keys);
        assert!(ask(&known, &place).is_empty());
        known.move_on(&order[6]);
        assert_eq!(ask(&known, &place).len(), 7);
    }
}
