//! L of a broom filter: the levels or the level and the back yard, two hash functions, the ghosts; and what happens to
//! fingerprints (001 section 4).

use super::back_yard::BackYard;
use super::functions::{Age, Functions, Print};
use super::ghosts::Ghosts;
use super::known::Known;
use super::level::{Hash, Level};
use super::shape::Shape;
use super::strings::Bits;
use crate::error::SeamError;
use crate::hash::{HashKey, Words, words_of};
use crate::packed::word::{Portable, Word64, Work, dispatch};
use crate::quotient::matching::assign;
use crate::quotient::table::Room;
use crate::remote::{CellId, Generation, Key, Order, Place, Remote, Schema};

#[derive(Clone, Debug)]
pub(crate) struct Local {
    /// One, or two with hash words of their own (5.3).
    pub(crate) levels: Vec<Level>,
    /// Whole hashes of keys that the one level has no place for (5.4).
    pub(crate) yard: Option<BackYard>,
    pub(crate) ghosts: Ghosts,
    pub(crate) functions: Functions,
    /// The generation of the old function; that of the new one is the next.
    pub(crate) generation: Generation,
    pub(crate) shape: Shape,
    pub(crate) keys: u64,
    /// Fingerprints that were extended since the last operation began.
    pub(crate) extends: u64,
    saved: Option<Saved>,
}

/// What an operation began with, beside the levels, the yard and the ghosts.
#[derive(Clone, Debug)]
struct Saved {
    functions: Functions,
    generation: Generation,
    keys: u64,
}

/// A slot of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) level: usize,
    pub(crate) slot: u64,
    pub(crate) quotient: u64,
}

impl Local {
    /// One that was saved.
    pub(crate) fn from_parts(
        shape: Shape,
        levels: Vec<Level>,
        yard: Option<BackYard>,
        ghosts: Ghosts,
        functions: Functions,
        generation: Generation,
    ) -> Local {
        let mut local = Local { levels, yard, ghosts, functions, generation, shape, keys: 0, extends: 0, saved: None };
        local.keys = local.used();
        local
    }

    /// An empty one; `None` where it cannot be allocated.
    pub(crate) fn new(slots: u64, shape: Shape, functions: Functions, generation: Generation) -> Option<Local> {
        let levels = (0..).zip(shape.slots(slots)).map(|(level, slots)| {
            let made = Level::new(slots, shape.widths(level));
            if level == 0 { made } else { made.map(Level::without_segments) }
        });
        let levels = levels.collect::<Option<Vec<Level>>>()?;
        let yard = match shape.buckets(slots) {
            Some(buckets) => Some(BackYard::new(buckets, shape.width)?),
            None => None,
        };
        Some(Local::from_parts(shape, levels, yard, Ghosts::default(), functions, generation))
    }

    /// Fingerprints and hashes that are held.
    pub(crate) fn used(&self) -> u64 {
        self.levels.iter().map(Level::used).sum::<u64>() + self.yard.as_ref().map_or(0, BackYard::used)
    }

    /// Keys that the first level has no place for.
    pub(crate) fn aside(&self) -> u64 {
        self.used() - self.levels[0].used()
    }

    pub(crate) fn slots(&self) -> u64 {
        self.levels[0].slots()
    }

    pub(crate) fn generation(&self, age: Age) -> Generation {
        generation_of(self.generation, age)
    }

    pub(crate) fn schema(&self, hash: HashKey) -> Schema {
        Schema { hash, orders: self.shape.levels() as u8, cells: self.slots(), cells_per_bucket: 1 }
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        let frontier = self.functions.frontier.as_ref().map_or(0, |frontier| frontier.len() as u64 * 8);
        self.levels[0].allocated_bits() + self.aside_bits() + self.ghosts.allocated_bits() + frontier
    }

    /// The bits of what stands beside the first level.
    pub(crate) fn aside_bits(&self) -> u64 {
        let levels = self.levels[1..].iter().map(Level::allocated_bits).sum::<u64>();
        levels + self.yard.as_ref().map_or(0, BackYard::allocated_bits)
    }

    #[inline]
    fn print<'k>(&self, words: Words<'k>, level: usize) -> Print<'k> {
        Print::new(words, level, self.levels[level].slots(), self.shape.widths(level).0)
    }

    /// A key's hash in a level, under the function that it has.
    pub(crate) fn hash(&self, key: &[u8], level: usize) -> Hash {
        self.print(self.functions.words(key), level).hash()
    }

    /// A key's hash in a level, under the function of that age.
    pub(crate) fn hash_at(&self, key: &[u8], age: Age, level: usize) -> Hash {
        self.print(self.functions.hash_key(age).words(key), level).hash()
    }

    #[inline]
    fn find<W: Word64>(&self, print: &Print<'_>, level: usize) -> Option<u64> {
        self.levels[level].find::<W>(print.quotient, print.remainder, || print.tail())
    }

    /// The slots that a key matches, one in each level at most.
    pub(crate) fn spots(&self, key: &[u8]) -> impl Iterator<Item = Spot> {
        let words = self.functions.words(key);
        (0..self.levels.len()).filter_map(move |level| {
            let print = self.print(words, level);
            Some(Spot { level, slot: self.find::<Portable>(&print, level)?, quotient: print.quotient })
        })
    }

    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        dispatch(Lookup { local: self, key })
    }

    /// The functions and the generation that an operation in progress began with.
    pub(crate) fn before(&self) -> Option<(&Functions, Generation)> {
        self.saved.as_ref().map(|saved| (&saved.functions, saved.generation))
    }

    /// Where R has the keys that a key may be taken for in a level, under functions that may not be those of now.
    pub(crate) fn places(&self, key: &[u8], level: usize, functions: &Functions, generation: Generation) -> [Place; 2] {
        let quotient = self.print(functions.words(key), level).quotient;
        let words = words_of(quotient, quotient, self.levels[level].slots());
        Age::BOTH.map(|age| Place {
            generation: generation_of(generation, age),
            order: Order(level as u8),
            words: words.clone(),
            cell: CellId(quotient),
        })
    }

    /// Begins an operation: whatever it changes can be undone.
    pub(crate) fn begin(&mut self) {
        self.levels.iter_mut().for_each(Level::begin);
        self.yard.iter_mut().for_each(BackYard::begin);
        self.ghosts.begin();
        self.extends = 0;
        self.saved = Some(Saved { functions: self.functions.clone(), generation: self.generation, keys: self.keys });
    }

    /// The operation holds.
    pub(crate) fn keep(&mut self) {
        self.levels.iter_mut().for_each(Level::keep);
        self.yard.iter_mut().for_each(BackYard::keep);
        self.ghosts.keep();
        self.saved = None;
    }

    /// Puts everything back as it was when the operation began.
    pub(crate) fn undo(&mut self) {
        self.levels.iter_mut().for_each(Level::undo);
        self.yard.iter_mut().for_each(BackYard::undo);
        self.ghosts.undo();
        if let Some(saved) = self.saved.take() {
            (self.functions, self.generation, self.keys) = (saved.functions, saved.generation, saved.keys);
        }
    }

    /// The key behind a slot.
    ///
    /// By Invariant 7 a stored key matches one slot of its level and no other there; but it may match a slot of the other
    /// level. So a slot with one candidate is that key's, and otherwise the slots and keys that hang together are matched.
    pub(crate) fn owner<R: Remote>(&self, spot: Spot, known: &Known<'_, R>) -> Result<Key, SeamError<R::Error>> {
        let mut spots = vec![spot];
        let mut keys: Vec<(Key, Vec<Spot>)> = Vec::new();
        let mut next = 0;
        while let Some(at) = spots.get(next).copied() {
            next += 1;
            for key in known.candidates(self, at.level, at.quotient)? {
                let own: Vec<Spot> = self.spots(&key).collect();
                if !own.contains(&at) || keys.iter().any(|(other, _)| *other == key) {
                    continue;
                }
                own.iter().for_each(|spot| {
                    if !spots.contains(spot) {
                        spots.push(*spot)
                    }
                });
                keys.push((key, own));
                // A key brings one more slot at most, so there would be too many keys whatever else there is.
                if keys.len() > spots.len() {
                    return Err(SeamError::Disagree);
                }
            }
            if next == 1 && keys.len() == 1 {
                return Ok(keys.swap_remove(0).0);
            }
        }
        if keys.len() != spots.len() {
            return Err(SeamError::Disagree);
        }
        let owners = assign(keys.len(), |key, slot| keys[key].1.contains(&spots[slot])).ok_or(SeamError::Disagree)?;
        owners.first().map(|key| keys[*key].0.clone()).ok_or(SeamError::Disagree)
    }

    /// EXTEND of 4.1: gives the key behind a slot as many bits as tell it from a query. `false` where 64 do not.
    pub(crate) fn extend<R: Remote>(
        &mut self,
        spot: Spot,
        query: Hash,
        known: &Known<'_, R>,
    ) -> Result<bool, SeamError<R::Error>> {
        let owner = self.owner(spot, known)?;
        let own = self.hash(&owner, spot.level);
        let shared = (own.tail ^ query.tail).trailing_zeros();
        if shared < 64 {
            self.levels[spot.level].set_string(spot.slot, Bits::prefix(own.tail, shared + 1));
            self.extends += 1;
        }
        Ok(shared < 64)
    }

    /// Whether there is room for a key under the function of that age.
    pub(crate) fn has_room(&self, key: &[u8], age: Age) -> bool {
        let Some(yard) = &self.yard else {
            return (0..self.levels.len())
                .any(|level| self.levels[level].room(self.hash_at(key, age, level).quotient).is_some());
        };
        let hash = self.hash_at(key, age, 0);
        self.slot_in_front(yard, hash).is_some() || yard.has_room(hash)
    }

    /// Room in the level before the yard, and the adaptivity bits that a key needs there: none where its signature is taken.
    fn slot_in_front(&self, yard: &BackYard, hash: Hash) -> Option<(Room, u32)> {
        let [level] = self.levels.as_slice() else { return None };
        if level.has_signature(hash.quotient, hash.remainder) {
            return None;
        }
        Some((level.room(hash.quotient)?, yard.apart(hash)?))
    }

    /// Stores a key that is not in the set, with the shortest fingerprint that keeps Invariant 7 and all that a ghost
    /// remembers. `false` where there is no room.
    pub(crate) fn place<R: Remote>(&mut self, key: &[u8], known: &Known<'_, R>) -> Result<bool, SeamError<R::Error>> {
        if self.keys >= self.shape.most(self.slots()) {
            return Ok(false);
        }
        let placed = self.put(key, known)?;
        self.keys += u64::from(placed);
        Ok(placed)
    }

    fn put<R: Remote>(&mut self, key: &[u8], known: &Known<'_, R>) -> Result<bool, SeamError<R::Error>> {
        if self.yard.is_some() {
            return self.put_before_yard(key, known);
        }
        let age = self.functions.age(key);
        for level in 0..self.levels.len() {
            let hash = self.hash_at(key, age, level);
            let Some(room) = self.levels[level].room(hash.quotient) else { continue };
            if !self.tell_apart(level, hash, known)? {
                continue;
            }
            let collisions = self.levels[level].hard_collisions(hash);
            let apart = collisions.map(|string| string.shared(hash.tail) + 1).max().unwrap_or(0);
            self.insert(level, room, hash, age, apart);
            return Ok(true);
        }
        Ok(false)
    }

    /// The same in the form of 5.4. No two of a run have the same signature, so there are no hard collisions in the level;
    /// but its fingerprints must be no prefixes of the hashes in the yard.
    fn put_before_yard<R: Remote>(&mut self, key: &[u8], known: &Known<'_, R>) -> Result<bool, SeamError<R::Error>> {
        let age = self.functions.age(key);
        let hash = self.hash_at(key, age, 0);
        if !self.tell_apart(0, hash, known)? {
            return Ok(false);
        }
        let front = self.yard.as_ref().and_then(|yard| self.slot_in_front(yard, hash));
        match (front, &mut self.yard) {
            (Some((room, apart)), _) => self.insert(0, room, hash, age, apart),
            (None, Some(yard)) => return Ok(yard.insert(hash)),
            (None, None) => return Ok(false),
        }
        Ok(true)
    }

    /// Extends the fingerprint that a newcomer matches, if there is one. `false` where 64 bits are not enough.
    fn tell_apart<R: Remote>(
        &mut self,
        level: usize,
        hash: Hash,
        known: &Known<'_, R>,
    ) -> Result<bool, SeamError<R::Error>> {
        match self.levels[level].find::<Portable>(hash.quotient, hash.remainder, || hash.tail) {
            Some(slot) => self.extend(Spot { level, slot, quotient: hash.quotient }, hash, known),
            None => Ok(true),
        }
    }

    /// Puts a fingerprint of at least `apart` adaptivity bits where there is room.
    fn insert(&mut self, level: usize, room: Room, hash: Hash, age: Age, apart: u32) {
        let haunted = self.ghosts.bits_for(age, (level as u8, hash.quotient), hash.tail);
        self.levels[level].insert(room, hash.remainder, Bits::prefix(hash.tail, apart.max(haunted)));
    }

    /// Takes a stored key out: where its fingerprint was, and its adaptivity bits; none where it was in the yard, since whoever
    /// is told from a whole hash has never been taken for it.
    pub(crate) fn unplace<R: Remote>(
        &mut self,
        key: &[u8],
        known: &Known<'_, R>,
    ) -> Result<Option<(Spot, Bits)>, SeamError<R::Error>> {
        let spots: Vec<Spot> = self.spots(key).collect();
        let spot = match spots.as_slice() {
            [] => {
                let hash = self.hash(key, 0);
                if !self.yard.as_mut().is_some_and(|yard| yard.remove(hash)) {
                    return Err(SeamError::Disagree);
                }
                self.keys = self.keys.saturating_sub(1);
                return Ok(None);
            }
            [only] => *only,
            [first, ..] if *self.owner(*first, known)? == *key => *first,
            [_, second, ..] => *second,
        };
        let bits = self.levels[spot.level].remove(spot.quotient, spot.slot).ok_or(SeamError::Disagree)?;
        self.keys = self.keys.saturating_sub(1);
        Ok(Some((spot, bits)))
    }
}

/// The generation of a function, where that of the old one is known.
pub(crate) fn generation_of(old: Generation, age: Age) -> Generation {
    Generation(old.0.saturating_add(age as u32))
}

/// A look-up, compiled for the processor's way of counting bits.
struct Lookup<'a> {
    local: &'a Local,
    key: &'a [u8],
}

impl Work for Lookup<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<W: Word64>(self) -> bool {
        let Lookup { local, key } = self;
        let words = local.functions.words(key);
        let first = local.print(words, 0);
        if local.find::<W>(&first, 0).is_some() {
            return true;
        }
        match &local.yard {
            Some(yard) => yard.contains(first.quotient, first.remainder, || first.tail()),
            None => local.find::<W>(&local.print(words, 1), 1).is_some(),
        }
    }
}
