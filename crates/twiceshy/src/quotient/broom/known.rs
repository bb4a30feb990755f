//! The set during an operation: the remote's answers, and the operation's changes since.

use super::functions::{Age, Functions};
use super::local::Local;
use super::storage::Storage;
use crate::error::PlanError;
use crate::hash::words_of;
use crate::quotient::numbers::Quotient;
use crate::remote::{CellId, Key, Keys, Order, Place};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// A location of keys: age, level and quotient.
type At = (Age, usize, Quotient);

/// The keys of L's set.
///
/// The remote is at the commit before the operation. Keys that the operation added or moved to the other function are added
/// here; those that it removed are left out.
pub(crate) struct Known<'a> {
    keys: &'a dyn Keys,
    /// Keys that were added, or whose function is not the one that the remote knows, by location.
    here: BTreeMap<At, Vec<Key>>,
    /// Keys that were removed, or are moving to the other function.
    gone: BTreeSet<Key>,
    /// The remote's answers. It does not change while the operation is planned.
    answers: RefCell<BTreeMap<At, Vec<Key>>>,
}

impl<'a> Known<'a> {
    pub(crate) fn new(keys: &'a dyn Keys) -> Known<'a> {
        Known { keys, here: BTreeMap::new(), gone: BTreeSet::new(), answers: RefCell::default() }
    }

    /// The locations of a key, one in each level.
    fn ats<S: Storage>(local: &Local<S>, key: &[u8]) -> impl Iterator<Item = At> {
        let age = local.functions.age(key);
        (0..local.shape.levels()).map(move |level| (age, level, local.hash_at(key, age, level).quotient))
    }

    /// Records that a key is now in L, under its current function.
    pub(crate) fn came<S: Storage>(&mut self, local: &Local<S>, key: &Key) {
        self.gone.remove(key);
        for at in Self::ats(local, key) {
            self.here.entry(at).or_default().push(key.clone());
        }
    }

    /// Records that a key is no longer in L. It still has its old function.
    pub(crate) fn went<S: Storage>(&mut self, local: &Local<S>, key: &Key) {
        for at in Self::ats(local, key) {
            if let Some(here) = self.here.get_mut(&at) {
                here.retain(|here| here != key);
            }
        }
        self.gone.insert(key.clone());
    }

    /// The keys with this quotient in a level of a table.
    pub(crate) fn candidates<S: Storage>(
        &self,
        local: &Local<S>,
        table: usize,
        level: usize,
        quotient: Quotient,
    ) -> Result<Vec<Key>, PlanError> {
        let mut keys: Vec<Key> = Vec::new();
        for age in local.ages_in(table) {
            keys.extend(self.of_age(local, *age, level, quotient)?);
            keys.extend(self.here.get(&(*age, level, quotient)).into_iter().flatten().cloned());
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// The remote's keys that have the function of this age.
    fn of_age<S: Storage>(
        &self,
        local: &Local<S>,
        age: Age,
        level: usize,
        quotient: Quotient,
    ) -> Result<Vec<Key>, PlanError> {
        let place = (age, level, quotient);
        if !self.answers.borrow().contains_key(&place) {
            let answer = self.ask(local, age, level, quotient)?;
            self.answers.borrow_mut().insert(place, answer);
        }
        let own = |key: &&Key| local.functions.age(key) == age && !self.gone.contains(*key);
        Ok(self.answers.borrow().get(&place).into_iter().flatten().filter(own).cloned().collect())
    }

    /// Reads the remote.
    fn ask<S: Storage>(
        &self,
        local: &Local<S>,
        age: Age,
        level: usize,
        quotient: Quotient,
    ) -> Result<Vec<Key>, PlanError> {
        let slots = local.tables[local.table_of(age)].levels[level].slots();
        let words = words_of(quotient.0, quotient.0, slots);
        // A remote may return more than it was asked for.
        let own = |key: &[u8]| local.hash_at(key, age, level).quotient == quotient;
        self.read(local, age, Order(level as u8), words, own)
    }

    fn read<S: Storage>(
        &self,
        local: &Local<S>,
        age: Age,
        order: Order,
        words: RangeInclusive<u64>,
        own: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<Key>, PlanError> {
        let generation = local.functions.generation_of(age);
        let place = Place { generation, order, words, cell: CellId(0) };
        let mut keys = Vec::new();
        let mut found = |key: &[u8]| {
            if own(key) {
                keys.push(Key::from(key));
            }
        };
        self.keys.candidates(&place, &mut found)?;
        Ok(keys)
    }

    /// `true` if a key is in the set. Reads at most once.
    pub(crate) fn stores<S: Storage>(&self, local: &Local<S>, key: &[u8]) -> Result<bool, PlanError> {
        let (age, quotient) = local.functions.quotient(key, 0, &local.shape);
        let here = self.here.get(&(age, 0, quotient)).into_iter().flatten();
        Ok(here.chain(&self.of_age(local, age, 0, quotient)?).any(|stored| **stored == *key))
    }

    /// The keys of the old function whose positions are in a range, in the order of positions.
    pub(crate) fn in_order<S: Storage>(
        &self,
        local: &Local<S>,
        positions: RangeInclusive<u64>,
    ) -> Result<Vec<(u64, Key)>, PlanError> {
        let position = |key: &[u8]| local.functions.position(key, Age::Old);
        let own = |key: &[u8]| positions.contains(&position(key));
        let order = Functions::frontier_order(&local.shape);
        let mut keys = self.read(local, Age::Old, order, positions.clone(), own)?;
        keys.retain(|key| !self.gone.contains(key));
        let came = self.here.range((Age::Old, 0, Quotient(0))..=(Age::Old, 0, Quotient(u64::MAX)));
        keys.extend(came.flat_map(|(_, keys)| keys).filter(|key| own(key)).cloned());
        let mut ordered: Vec<(u64, Key)> = keys.into_iter().map(|key| (position(&key), key)).collect();
        ordered.sort_unstable();
        ordered.dedup();
        Ok(ordered)
    }
}
