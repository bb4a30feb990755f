//! L of a broom filter: its fingerprints under two hash functions, and the changes to them (001 section 4).

use super::functions::{Age, Functions};
use super::known::Known;
use super::level::Hash;
use super::overlay::Drafted;
use super::prints::Prints;
use super::rules::{BroomRule, Rules};
use super::shape::Shape;
use super::storage::{Owned, Storage};
use super::strings::Bits;
use super::tables::Tables;
use crate::error::PlanError;
use crate::hash::{HashKey, words_of};
use crate::packed::word::{Portable, Word64, Work, dispatch};
use crate::quotient::matching::assign;
use crate::quotient::numbers::{Quotient, Slot};
use crate::remote::{CellId, Key, Order, Place, Schema, Write};

#[derive(Clone, Debug)]
pub(crate) struct Local<S: Storage = Owned> {
    /// One table for the keys of both ages, or one for each age while it is being replaced.
    pub(crate) tables: Tables<Prints<S>>,
    pub(crate) functions: Functions,
    pub(crate) shape: Shape,
    pub(crate) rules: Rules,
    /// The number of fingerprints extended since this draft began, or since its debt was settled.
    pub(crate) extends: u64,
}

/// A slot of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) table: usize,
    pub(crate) level: usize,
    pub(crate) slot: Slot,
    pub(crate) quotient: Quotient,
}

impl Local {
    pub(crate) fn from_parts(shape: Shape, prints: Prints, functions: Functions) -> Local {
        let rules = Rules::default();
        Local { tables: Tables::new(prints), functions, shape, rules, extends: 0 }
    }

    /// An empty L; `None` if it cannot be allocated.
    pub(crate) fn new(shape: Shape, functions: Functions) -> Option<Local> {
        Some(Local::from_parts(shape, Prints::new(functions.slots[0], &shape)?, functions))
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.tables.iter().map(Prints::allocated_bits).sum()
    }

    /// A draft to plan an operation on.
    pub(crate) fn draft(&self) -> Local<Drafted<'_>> {
        let Local { functions, shape, rules, .. } = *self;
        let tables = self.tables.map_ref(Prints::draft);
        Local { tables, functions, shape, rules, extends: 0 }
    }
}

impl<S: Storage> Local<S> {
    /// The number of keys.
    pub(crate) fn keys(&self) -> u64 {
        self.tables.iter().map(Prints::used).sum()
    }

    /// The maximum number of keys. While a table is being replaced, both tables must be able to hold them.
    pub(crate) fn most(&self) -> u64 {
        self.functions.slots.iter().map(|slots| self.shape.most(*slots)).min().unwrap_or(0)
    }

    /// The slots of the table in use; those of the larger one as soon as it has keys.
    pub(crate) fn slots(&self) -> u64 {
        self.functions.slots[0]
    }

    pub(crate) fn schema(&self, hash: HashKey) -> Schema {
        let orders = Functions::frontier_order(&self.shape).0 + 1;
        Schema { hash, orders, cells: self.slots(), cells_per_bucket: 1 }
    }

    /// The table of the keys of an age.
    #[inline]
    pub(crate) fn table_of(&self, age: Age) -> usize {
        if self.functions.apart { age as usize } else { 0 }
    }

    /// The ages of the keys in a table. At the start of a phase no key is new.
    pub(crate) fn ages_in(&self, table: usize) -> &'static [Age] {
        match (self.functions.apart, self.functions.frontier.0) {
            (true, _) => &Age::BOTH[table..=table],
            (false, 0) => &[Age::Old],
            (false, _) => &Age::BOTH,
        }
    }

    /// A key's hash in a level, under the function that it has.
    pub(crate) fn hash(&self, key: &[u8], level: usize) -> Hash {
        self.hash_at(key, self.functions.age(key), level)
    }

    /// A key's hash in a level, under the function of that age.
    pub(crate) fn hash_at(&self, key: &[u8], age: Age, level: usize) -> Hash {
        let words = self.functions.hash_key(age).words(key);
        self.tables[self.table_of(age)].print(words, level, &self.shape).hash()
    }

    /// The slots that a key matches, at most one in each level.
    pub(crate) fn spots(&self, key: &[u8]) -> impl Iterator<Item = Spot> {
        let (age, words, _) = self.functions.words(key);
        let table = self.table_of(age);
        let prints = &self.tables[table];
        (0..prints.levels.len()).filter_map(move |level| {
            let print = prints.print(words, level, &self.shape);
            Some(Spot { table, level, slot: prints.find::<Portable>(&print, level)?, quotient: print.quotient })
        })
    }

    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        dispatch(Lookup { local: self, key })
    }

    /// `true` if a key's whole hash is in the back yard: then the key is stored there.
    pub(crate) fn is_in_yard(&self, key: &[u8]) -> bool {
        let prints = &self.tables[self.table_of(self.functions.age(key))];
        if prints.yard.used() == 0 {
            return false;
        }
        let hash = self.hash(key, 0);
        prints.yard.contains(hash.quotient, || hash)
    }

    /// The write for a key's entries in the generation of an age.
    pub(crate) fn entry(&self, key: &Key, age: Age, adds: bool) -> Write {
        let (generation, key) = (self.functions.generation_of(age), key.clone());
        let words = self.functions.order_words(&key, age, &self.shape);
        match adds {
            true => Write::Add { generation, key, words, cell: None },
            false => Write::Remove { generation, key, words, cell: None },
        }
    }

    /// Where R has the keys that a key may be mistaken for in a level, under the given functions, which may be earlier
    /// ones.
    pub(crate) fn places(&self, key: &[u8], level: usize, functions: &Functions) -> impl Iterator<Item = Place> {
        let (own, quotient) = functions.quotient(key, level, &self.shape);
        let words = words_of(quotient.0, quotient.0, self.shape.slots_of(level, functions.slots[own as usize]));
        let apart = functions.apart;
        let functions = *functions;
        Age::BOTH.into_iter().filter(move |age| !apart || *age == own).map(move |age| Place {
            generation: functions.generation_of(age),
            order: Order(level as u8),
            words: words.clone(),
            cell: CellId(quotient.0),
        })
    }

    /// The key behind a slot.
    ///
    /// By Invariant 7 a stored key matches exactly one slot of its level, but it may match a slot of the other level. So a
    /// slot with one candidate belongs to that key; otherwise the connected slots and keys are matched. Keys in the yard
    /// have no slot.
    pub(crate) fn owner(&self, spot: Spot, known: &Known<'_>) -> Result<Key, PlanError> {
        let mut spots = vec![spot];
        let mut keys: Vec<(Key, Vec<Spot>)> = Vec::new();
        let mut next = 0;
        while let Some(at) = spots.get(next).copied() {
            next += 1;
            for key in known.candidates(self, at.table, at.level, at.quotient)? {
                let own: Vec<Spot> = self.spots(&key).collect();
                if !own.contains(&at) || keys.iter().any(|(other, _)| *other == key) || self.is_in_yard(&key) {
                    continue;
                }
                own.iter().for_each(|spot| {
                    if !spots.contains(spot) {
                        spots.push(*spot)
                    }
                });
                keys.push((key, own));
                // Each further key adds at most one slot, so there would be too many keys in any case.
                if keys.len() > spots.len() {
                    return Err(PlanError::Disagree);
                }
            }
            if next == 1 && keys.len() == 1 {
                return Ok(keys.swap_remove(0).0);
            }
        }
        if keys.len() != spots.len() {
            return Err(PlanError::Disagree);
        }
        let owners = assign(keys.len(), |key, slot| keys[key].1.contains(&spots[slot])).ok_or(PlanError::Disagree)?;
        owners.first().map(|key| keys[*key].0.clone()).ok_or(PlanError::Disagree)
    }

    /// EXTEND of 4.1: gives the key behind a slot enough bits to distinguish it from a key that matches it, and returns their
    /// number. `None` if 64 are not enough.
    fn extend(&mut self, spot: Spot, key: &[u8], known: &Known<'_>) -> Result<Option<u32>, PlanError> {
        let owner = self.owner(spot, known)?;
        let own = self.hash(&owner, spot.level);
        let shared = (own.tail ^ self.hash(key, spot.level).tail).trailing_zeros();
        if shared == 64 {
            return Ok(None);
        }
        self.tables[spot.table].levels[spot.level].set_string(spot.slot, Bits::prefix(own.tail, shared + 1));
        self.extends += 1;
        #[cfg(feature = "testing")]
        super::collisions::note_join(spot.level, [key, &owner].map(|key| (self.function_of(key), Key::from(key))));
        Ok(Some(shared + 1))
    }

    /// Extends the fingerprint that a query was mistaken for. If it already has adaptivity bits, these stay as a ghost
    /// while the query has its function: other queries may have been distinguished from the key by them, and the adversary
    /// now knows that the two agree there. `false` if 64 bits are not enough.
    pub(crate) fn learn(&mut self, spot: Spot, query: &[u8], known: &Known<'_>) -> Result<bool, PlanError> {
        let hash = self.hash(query, spot.level);
        let prints = &self.tables[spot.table];
        let bits = prints.levels[spot.level].string::<Portable>(spot.slot);
        let told = self.extend(spot, query, known)?.is_some();
        if self.rules.keep(BroomRule::SecondMistake) {
            let age = self.functions.age(query);
            self.tables[spot.table].ghosts.add(age, hash.base(spot.level), bits);
        }
        Ok(told)
    }

    /// Stores a key that is not in the set, with the shortest fingerprint that keeps Invariant 7 and respects the ghosts.
    /// `false` if there are too many keys.
    pub(crate) fn place(&mut self, key: &[u8], known: &Known<'_>) -> Result<bool, PlanError> {
        if self.keys() >= self.most() {
            return Ok(false);
        }
        let placed = self.put(key, known)?;
        Ok(placed && (self.rules.keep(BroomRule::RoomForAll) || self.tables.iter().all(Prints::has_no_overflow)))
    }

    /// The same, for a key that only moves to the other function.
    pub(crate) fn put(&mut self, key: &[u8], known: &Known<'_>) -> Result<bool, PlanError> {
        let age = self.functions.age(key);
        let table = self.table_of(age);
        for level in 0..self.tables[table].levels.len() {
            let hash = self.hash_at(key, age, level);
            let Some(room) = self.tables[table].room(level, hash, &self.shape, self.rules) else { continue };
            if self.tell_apart(table, level, key, hash, known)?.is_none() {
                continue;
            }
            let Some(apart) = self.tables[table].apart(level, hash) else { continue };
            self.tables[table].insert(level, room, hash, apart, age, self.rules);
            return Ok(true);
        }
        let hash = self.hash_at(key, age, 0);
        let Some(apart) = self.tell_apart(table, 0, key, hash, known)? else { return Ok(false) };
        if self.rules.keep(BroomRule::YardGhosts) {
            // A whole hash leaves no ghost when it is removed. But the adversary may have seen that the key matched another one.
            self.tables[table].ghosts.add(age, hash.base(0), Bits::prefix(hash.tail, apart));
        }
        Ok(self.tables[table].yard.insert(hash))
    }

    /// Extends the fingerprint that a new key matches, if any. Returns the bits that distinguish the two, 0 if the key matches
    /// nothing; `None` if 64 are not enough.
    fn tell_apart(
        &mut self,
        table: usize,
        level: usize,
        key: &[u8],
        hash: Hash,
        known: &Known<'_>,
    ) -> Result<Option<u32>, PlanError> {
        match self.tables[table].levels[level].find::<Portable, _>(hash.quotient, || hash) {
            Some(slot) => self.extend(Spot { table, level, slot, quotient: hash.quotient }, key, known),
            None => Ok(Some(0)),
        }
    }

    /// Removes a stored key. Returns its slot and its adaptivity bits; `None` if it was in the yard, since no query is ever
    /// distinguished from a whole hash, and its ghost, if any, was left when it came.
    pub(crate) fn unplace(&mut self, key: &[u8], known: &Known<'_>) -> Result<Option<(Spot, Bits)>, PlanError> {
        if self.is_in_yard(key) {
            let hash = self.hash(key, 0);
            let table = self.table_of(self.functions.age(key));
            return if self.tables[table].yard.remove(hash) { Ok(None) } else { Err(PlanError::Disagree) };
        }
        let spots: Vec<Spot> = self.spots(key).collect();
        let spot = match spots.as_slice() {
            [] => return Err(PlanError::Disagree),
            [only] => *only,
            [first, ..] if *self.owner(*first, known)? == *key => *first,
            [_, second, ..] => *second,
        };
        let level = &mut self.tables[spot.table].levels[spot.level];
        let bits = level.remove(spot.quotient, spot.slot).ok_or(PlanError::Disagree)?;
        Ok(Some((spot, bits)))
    }

    /// Removes a key from the set, and remembers its fingerprint.
    pub(crate) fn remove(&mut self, key: &[u8], known: &Known<'_>) -> Result<(), PlanError> {
        let age = self.functions.age(key);
        if let Some((spot, bits)) = self.unplace(key, known)?
            && self.rules.keep(BroomRule::RemovalGhosts)
        {
            let base = self.hash_at(key, age, spot.level).base(spot.level);
            self.tables[spot.table].ghosts.add(age, base, bits);
        }
        Ok(())
    }
}

/// A look-up, compiled for each implementation of bit counting.
struct Lookup<'a, S: Storage> {
    local: &'a Local<S>,
    key: &'a [u8],
}

impl<S: Storage> Work for Lookup<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn run<W: Word64>(self) -> bool {
        let Lookup { local, key } = self;
        let (age, words, first) = local.functions.words(key);
        local.tables[local.table_of(age)].contains::<W>(words, first, &local.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::SEGMENT;
    use super::super::{BroomFilter, BroomForm};
    use super::*;
    use crate::remote::ByHash;

    /// Three keys that match each other, in the last quotient of a segment, where only one finds room.
    #[test]
    fn keys_that_matched_a_key_and_went_to_the_yard_do_not_match_each_other_when_it_is_gone() {
        let options = BroomFilter::with_slots(SEGMENT + 200, 3).form(BroomForm::BackYard);
        let mut pair = options.build(HashKey::fixed(5), ByHash::new()).expect("an empty remote");
        let here = |key: &[u8; 8]| {
            let local = &pair.filter().local;
            let (hash, position) = (local.hash(key, 0), local.functions.position(key, Age::Old));
            (hash.quotient, hash.remainder) == (Quotient(SEGMENT - 1), 1) && position > u64::MAX / 2
        };
        let found: Vec<[u8; 8]> = (1_000u64..).map(u64::to_be_bytes).filter(here).take(40).collect();
        let (stored, others) = found.split_first().expect("forty");
        pair.insert(stored).expect("room");
        // More keys, so that the frontier moves by little.
        (0u64..1_000).for_each(|number| assert!(pair.insert(&number).expect("room")));
        let mut matched = Vec::new();
        for key in others {
            let matches = pair.contains(key);
            pair.insert(key).expect("room");
            assert!(pair.filter().local.is_in_yard(key));
            pair.remove(key).expect("the sets agree");
            if matches {
                matched.push(*key);
            }
        }
        assert!(matched.len() > 2, "{} keys matched", matched.len());
        let mut local = pair.filter().local.clone();
        let known = Known::new(pair.remote());
        // As if the frontier had passed it: it leaves no ghost.
        local.unplace(stored, &known).expect("it is stored");
        for key in &matched {
            let mut local = local.clone();
            assert!(local.put(key, &known).expect("nothing is read"));
            assert!(matched.iter().all(|other| other == key || !local.contains(other)));
        }
    }
}
