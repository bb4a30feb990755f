//! L of a broom filter: two levels, two hash functions, the ghosts; and what happens to fingerprints (001 section 4).

use super::functions::{Age, Functions};
use super::ghosts::Ghosts;
use super::known::Known;
use super::level::{Hash, Level};
use super::strings::Bits;
use crate::error::SeamError;
use crate::hash::HashKey;
use crate::packed::word::{Portable, Word64, Work, dispatch};
use crate::quotient::matching::assign;
use crate::remote::{Generation, Key, Remote, Schema};
use crate::sizing;

/// The levels: keys whose window in the first is full are in the second.
pub(crate) const LEVELS: usize = 2;

#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) levels: [Level; LEVELS],
    pub(crate) ghosts: Ghosts,
    pub(crate) functions: Functions,
    /// The generation of the old function; that of the new one is the next.
    pub(crate) generation: Generation,
    pub(crate) width: u32,
    pub(crate) keys: u64,
    /// Fingerprints that were extended since the last operation began.
    pub(crate) extends: u64,
    saved: Option<Saved>,
}

/// What an operation began with, beside the levels and the ghosts.
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

/// The slots of the second level. Up to 0.9 % of the keys were seen there at 95 % load, over twelve half phases.
pub(crate) fn second_slots(slots: u64) -> u64 {
    slots / 40 + 64
}

impl Local {
    /// One that was saved.
    pub(crate) fn from_parts(
        levels: [Level; LEVELS],
        ghosts: Ghosts,
        functions: Functions,
        generation: Generation,
        width: u32,
        keys: u64,
    ) -> Local {
        Local { levels, ghosts, functions, generation, width, keys, extends: 0, saved: None }
    }

    /// An empty one; `None` where it cannot be allocated.
    pub(crate) fn new(slots: u64, width: u32, functions: Functions, generation: Generation) -> Option<Local> {
        let levels = [Level::new(slots, width)?, Level::new(second_slots(slots), width)?];
        Some(Local {
            levels,
            ghosts: Ghosts::default(),
            functions,
            generation,
            width,
            keys: 0,
            extends: 0,
            saved: None,
        })
    }

    pub(crate) fn slots(&self) -> u64 {
        self.levels[0].slots()
    }

    pub(crate) fn generation(&self, age: Age) -> Generation {
        Generation(self.generation.0.saturating_add(age as u32))
    }

    pub(crate) fn schema(&self, hash: HashKey) -> Schema {
        Schema { hash, orders: LEVELS as u8, cells: self.slots(), cells_per_bucket: 1 }
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        let frontier = self.functions.frontier.as_ref().map_or(0, |frontier| frontier.len() as u64 * 8);
        self.levels.iter().map(Level::allocated_bits).sum::<u64>() + self.ghosts.allocated_bits() + frontier
    }

    /// A key's hash in a level, under the function that it has.
    #[inline]
    pub(crate) fn hash(&self, key: &[u8], level: usize) -> Hash {
        self.hash_at(key, self.functions.age(key), level)
    }

    fn hash_at(&self, key: &[u8], age: Age, level: usize) -> Hash {
        self.functions.hash(key, age, level, self.levels[level].slots(), self.width)
    }

    #[inline]
    fn spot<W: Word64>(&self, key: &[u8], level: usize) -> Option<Spot> {
        let hash = self.hash(key, level);
        Some(Spot { level, slot: self.levels[level].find::<W>(hash)?, quotient: hash.quotient })
    }

    /// The slots that a key matches, one in each level at most.
    pub(crate) fn spots(&self, key: &[u8]) -> impl Iterator<Item = Spot> {
        (0..LEVELS).filter_map(|level| self.spot::<Portable>(key, level))
    }

    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        dispatch(Lookup { local: self, key })
    }

    /// Begins an operation: whatever it changes can be undone.
    pub(crate) fn begin(&mut self) {
        self.levels.iter_mut().for_each(Level::begin);
        self.ghosts.begin();
        self.extends = 0;
        self.saved = Some(Saved { functions: self.functions.clone(), generation: self.generation, keys: self.keys });
    }

    /// The operation holds.
    pub(crate) fn keep(&mut self) {
        self.levels.iter_mut().for_each(Level::keep);
        self.ghosts.keep();
        self.saved = None;
    }

    /// Puts everything back as it was when the operation began.
    pub(crate) fn undo(&mut self) {
        self.levels.iter_mut().for_each(Level::undo);
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

    /// Whether some level has room for a key under the function of that age.
    pub(crate) fn has_room(&self, key: &[u8], age: Age) -> bool {
        (0..LEVELS).any(|level| self.levels[level].room(self.hash_at(key, age, level).quotient).is_some())
    }

    /// Stores a key that is not in the set, with the shortest fingerprint that keeps Invariant 7 and all that a ghost
    /// remembers. `false` where there is no room.
    pub(crate) fn place<R: Remote>(&mut self, key: &[u8], known: &Known<'_, R>) -> Result<bool, SeamError<R::Error>> {
        if self.keys >= sizing::quotient_most(self.slots()) {
            return Ok(false);
        }
        let placed = self.put(key, known)?;
        self.keys += u64::from(placed);
        Ok(placed)
    }

    fn put<R: Remote>(&mut self, key: &[u8], known: &Known<'_, R>) -> Result<bool, SeamError<R::Error>> {
        let age = self.functions.age(key);
        for level in 0..LEVELS {
            let hash = self.hash_at(key, age, level);
            let Some(room) = self.levels[level].room(hash.quotient) else { continue };
            if let Some(slot) = self.levels[level].find::<Portable>(hash)
                && !self.extend(Spot { level, slot, quotient: hash.quotient }, hash, known)?
            {
                continue;
            }
            let collisions = self.levels[level].hard_collisions(hash);
            let apart = collisions.iter().map(|(_, string)| string.shared(hash.tail) + 1).max().unwrap_or(0);
            let haunted = self.ghosts.bits_for(age, (level as u8, hash.quotient), hash.tail);
            self.levels[level].insert(room, hash.remainder, Bits::prefix(hash.tail, apart.max(haunted)));
            return Ok(true);
        }
        Ok(false)
    }

    /// Takes the fingerprint of a stored key out: where it was, and its adaptivity bits.
    pub(crate) fn unplace<R: Remote>(
        &mut self,
        key: &[u8],
        known: &Known<'_, R>,
    ) -> Result<(Spot, Bits), SeamError<R::Error>> {
        let spots: Vec<Spot> = self.spots(key).collect();
        let spot = match spots.as_slice() {
            [] => return Err(SeamError::Disagree),
            [only] => *only,
            [first, ..] if *self.owner(*first, known)? == *key => *first,
            [_, second, ..] => *second,
        };
        let bits = self.levels[spot.level].remove(spot.quotient, spot.slot).ok_or(SeamError::Disagree)?;
        self.keys = self.keys.saturating_sub(1);
        Ok((spot, bits))
    }
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
        (0..LEVELS).any(|level| self.local.spot::<W>(self.key, level).is_some())
    }
}
