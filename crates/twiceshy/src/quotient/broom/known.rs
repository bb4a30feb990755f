//! The set as an operation in progress knows it: what the remote says, and what the operation has done since.

use super::functions::Age;
use super::local::Local;
use crate::error::SeamError;
use crate::hash::words_of;
use crate::remote::{CellId, Key, Order, Place, Remote};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Whether L holds a key.
type Cut<'a> = &'a dyn Fn(&[u8]) -> bool;

/// The keys of L's set.
///
/// The remote stands at the commit before the operation. Keys that the operation has brought or moved to the other function
/// are added here, one that it takes away is left out.
pub(crate) struct Known<'a, R> {
    remote: &'a R,
    /// Keys that came, or have another function than the remote believes.
    pub(crate) here: Vec<Key>,
    /// A key that goes.
    pub(crate) gone: Option<Key>,
    /// Which of the remote's keys are in L, where it is being filled.
    cut: Option<Cut<'a>>,
    /// What the remote has answered: it does not change while the operation is planned.
    answers: RefCell<BTreeMap<(Age, usize, u64), Vec<Key>>>,
    /// The next keys of a walk in byte order.
    ahead: RefCell<Vec<Key>>,
}

/// How many keys a walk brings: as many as an operation moves on, with the usual c.
const AHEAD: usize = 6;

impl<'a, R: Remote> Known<'a, R> {
    pub(crate) fn new(remote: &'a R) -> Known<'a, R> {
        Known {
            remote,
            here: Vec::new(),
            gone: None,
            cut: None,
            answers: RefCell::default(),
            ahead: RefCell::default(),
        }
    }

    /// For a table that is being filled: only these of the remote's keys.
    pub(crate) fn cut(remote: &'a R, cut: Cut<'a>) -> Known<'a, R> {
        Known { cut: Some(cut), ..Known::new(remote) }
    }

    fn is_gone(&self, key: &[u8]) -> bool {
        self.gone.as_ref().is_some_and(|gone| **gone == *key)
    }

    /// The keys with this quotient in a level.
    pub(crate) fn candidates(
        &self,
        local: &Local,
        level: usize,
        quotient: u64,
    ) -> Result<Vec<Key>, SeamError<R::Error>> {
        let mut keys: Vec<Key> = Vec::new();
        // At the beginning of a phase no key has the new function.
        let ages = if local.functions.frontier.is_some() { &Age::BOTH[..] } else { &[Age::Old] };
        for age in ages {
            keys.extend(self.of_age(local, *age, level, quotient)?);
        }
        let here = self.here.iter().filter(|key| local.hash(key, level).quotient == quotient);
        keys.extend(here.cloned());
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// Those of the remote that have the function of this age.
    fn of_age(&self, local: &Local, age: Age, level: usize, quotient: u64) -> Result<Vec<Key>, SeamError<R::Error>> {
        let place = (age, level, quotient);
        if !self.answers.borrow().contains_key(&place) {
            let answer = self.ask(local, age, level, quotient)?;
            self.answers.borrow_mut().insert(place, answer);
        }
        let own = |key: &&Key| {
            local.functions.age(key) == age && !self.is_gone(key) && self.cut.is_none_or(|holds| holds(key))
        };
        Ok(self.answers.borrow().get(&place).into_iter().flatten().filter(own).cloned().collect())
    }

    /// Reads the remote.
    fn ask(&self, local: &Local, age: Age, level: usize, quotient: u64) -> Result<Vec<Key>, SeamError<R::Error>> {
        let slots = local.levels[level].slots();
        let words = words_of(quotient, quotient, slots);
        let place = Place { generation: local.generation(age), order: Order(level as u8), words, cell: CellId(0) };
        let mut keys = Vec::new();
        let mut found = |key: &[u8]| {
            // A remote may bring more than it was asked for.
            if local.hash_at(key, age, level).quotient == quotient {
                keys.push(Key::from(key));
            }
        };
        self.remote.candidates(&place, &mut found).map_err(SeamError::Remote)?;
        Ok(keys)
    }

    /// Whether the remote has a key, by one read at most.
    pub(crate) fn stores(&self, local: &Local, key: &[u8]) -> Result<bool, SeamError<R::Error>> {
        let quotient = local.hash(key, 0).quotient;
        let keys = self.of_age(local, local.functions.age(key), 0, quotient)?;
        Ok(keys.iter().any(|stored| **stored == *key))
    }

    /// The first key above the frontier, in byte order.
    pub(crate) fn next_above(&self, frontier: Option<&Key>) -> Result<Option<Key>, SeamError<R::Error>> {
        let above = |key: &&Key| frontier.is_none_or(|frontier| *key > frontier);
        let mut ahead = self.ahead.borrow_mut();
        ahead.retain(|key| above(&key) && !self.is_gone(key));
        if ahead.is_empty()
            && let Some(ordered) = self.remote.key_order()
        {
            let mut found = |key: Key| {
                if !self.is_gone(&key) {
                    ahead.push(key);
                }
            };
            // One more, since the first of them may be the one that goes.
            let most = AHEAD + usize::from(self.gone.is_some());
            ordered.walk_keys(frontier.map(|key| &**key), most, &mut found).map_err(SeamError::Remote)?;
        }
        Ok(self.here.iter().filter(above).chain(ahead.first()).min().cloned())
    }
}
