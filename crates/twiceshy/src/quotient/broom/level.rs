//! One level of a broom filter: a table of runs, and the adaptivity bits of its slots beside it (001 section 5).
//!
//! A slot holds a fingerprint: quotient, remainder, and a string of adaptivity bits. By Invariant 7 none is a prefix of
//! another, so a query matches one slot at most. Probing is bounded (section 5.3): a key whose window has no free slot does
//! not come in. So no slot is further than the window from its quotient, no offset saturates, and a look-up touches a bounded
//! number of words.
//!
//! **Undoing.** An operation of a broom filter is a chain of small changes, each of which must see the ones before it. They
//! are made on the level itself, which nobody looks at meanwhile, under a journal of what was there before; if the remote
//! then refuses, the journal puts everything back.

use super::strings::{Bits, Strings};
use crate::packed::word::{Portable, Word64};
use crate::persist::{LoadError, Reader, Writer};
use crate::quotient::block::{Annex, Layout, SLOTS};
use crate::quotient::table::{Room, Table};
use std::collections::BTreeMap;

/// How far from its quotient a newcomer looks for a free slot. Measured while a million keys come to 95 % load, 0.47 % of them
/// find none in 256 slots, 0.15 % in 512, 0.03 % in 1,024. When keys are moved on at that load it is up to ten times as many,
/// and 256 are not enough.
pub(crate) const WINDOW: u64 = 16 * SLOTS;

/// The strings of a block that have more bits than three words hold.
type Spilled = Box<[Bits; SLOTS as usize]>;

/// The bytes of such strings in a file: the block, and length and bits of each.
const SPILLED_BYTES: usize = 8 + 9 * SLOTS as usize;

/// In place of a group whose strings are spilled: no group has no end.
const SPILLED: [u64; 3] = [0; 3];

#[derive(Clone, Debug)]
pub(crate) struct Level {
    table: Table,
    /// The strings of each block, three words.
    groups: Vec<[u64; 3]>,
    /// Those that outgrew their words.
    spilled: BTreeMap<u64, Spilled>,
    used: u64,
    journal: Option<Journal>,
}

/// What was there before an operation.
#[derive(Clone, Debug, Default)]
struct Journal {
    blocks: BTreeMap<u64, Before>,
    used: u64,
}

#[derive(Clone, Debug)]
struct Before {
    image: Vec<u8>,
    group: [u64; 3],
    spilled: Option<Spilled>,
}

/// A hash as a level sees it: where it belongs, and the bits that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash {
    pub(crate) quotient: u64,
    pub(crate) remainder: u32,
    /// The next 64 bits, the first one lowest: what adaptivity bits are taken from.
    pub(crate) tail: u64,
}

impl Level {
    /// An empty level; `None` where it cannot be allocated.
    pub(crate) fn new(slots: u64, width: u32) -> Option<Level> {
        let table = Table::new(slots, Layout::new(width, Annex::Nothing))?;
        let blocks = usize::try_from(table.blocks.len()).ok()?;
        let mut groups = Vec::new();
        groups.try_reserve_exact(blocks).ok()?;
        groups.resize(blocks, Strings::EMPTY.to_words());
        Some(Level { table, groups, spilled: BTreeMap::new(), used: 0, journal: None })
    }

    pub(crate) fn slots(&self) -> u64 {
        self.table.slots()
    }

    /// Slots in use.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Blocks whose strings outgrew their words.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled.len() as u64
    }

    /// The adaptivity bits of all slots together.
    pub(crate) fn adaptivity_bits(&self) -> u64 {
        (0..self.table.blocks.len()).map(|block| u64::from(self.group_bits(block))).sum()
    }

    /// The adaptivity bits of the block that has most.
    pub(crate) fn largest_group(&self) -> u32 {
        (0..self.table.blocks.len()).map(|block| self.group_bits(block)).max().unwrap_or(0)
    }

    fn group_bits(&self, block: u64) -> u32 {
        match (self.spilled.get(&block), Strings::from_words(self.groups[block as usize])) {
            (Some(spilled), _) => spilled.iter().map(|string| string.len).sum(),
            (None, Some(strings)) => strings.total(),
            (None, None) => 0,
        }
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        // An entry of the map with its key, and what a node of it wastes on average.
        let spilled = self.spilled.len() * (size_of::<[Bits; SLOTS as usize]>() + 32);
        self.table.blocks.allocated_bits() + (self.groups.capacity() * size_of::<[u64; 3]>() + spilled) as u64 * 8
    }

    /// The slot whose fingerprint is a prefix of this hash. There is one at most.
    #[inline]
    pub(crate) fn find<W: Word64>(&self, hash: Hash) -> Option<u64> {
        let run = self.table.run::<W>(hash.quotient)?;
        for block in run.start / SLOTS..=(run.end - 1) / SLOTS {
            let remainders = self.table.blocks.remainders(block);
            let slots = run.start.max(block * SLOTS) - block * SLOTS..run.end.min((block + 1) * SLOTS) - block * SLOTS;
            let equal =
                slots.filter(|slot| remainders.get(*slot) == hash.remainder).fold(0, |mask, slot| mask | 1 << slot);
            if equal != 0 {
                let found = equal & self.prefixes::<W>(block, hash.tail);
                if found != 0 {
                    return Some(block * SLOTS + u64::from(found.trailing_zeros()));
                }
            }
        }
        None
    }

    /// The slots of a block whose adaptivity bits are a prefix of these.
    fn prefixes<W: Word64>(&self, block: u64, tail: u64) -> u64 {
        match Strings::from_words_unchecked(self.groups[block as usize]) {
            Some(strings) => strings.prefixes::<W>(tail),
            None => {
                let spilled = self.spilled.get(&block).into_iter().flat_map(|strings| (0..).zip(strings.iter()));
                spilled
                    .filter(|(_, string)| string.is_prefix_of(tail))
                    .fold(0, |mask, (slot, _): (u32, _)| mask | 1 << slot)
            }
        }
    }

    /// All slots with this quotient and remainder, and their strings: the hard collisions of a hash.
    pub(crate) fn hard_collisions(&self, hash: Hash) -> Vec<(u64, Bits)> {
        let run = self.table.run::<Portable>(hash.quotient).unwrap_or_default();
        let equal = |slot: &u64| self.table.blocks.remainder(*slot) == hash.remainder;
        run.filter(equal).map(|slot| (slot, self.string::<Portable>(slot))).collect()
    }

    /// The adaptivity bits of a slot.
    #[inline]
    pub(crate) fn string<W: Word64>(&self, slot: u64) -> Bits {
        let (block, at) = (slot / SLOTS, slot % SLOTS);
        match Strings::from_words_unchecked(self.groups[block as usize]) {
            Some(strings) => strings.get::<W>(at as u32),
            None => self.spilled.get(&block).map_or(Bits::EMPTY, |strings| strings[at as usize]),
        }
    }

    /// The room for one more key of this quotient within the window.
    pub(crate) fn room(&self, quotient: u64) -> Option<Room> {
        self.table.room_within(quotient, WINDOW)
    }

    /// Puts a fingerprint where there is room.
    pub(crate) fn insert(&mut self, room: Room, remainder: u32, string: Bits) {
        self.remember(room.quotient / SLOTS..=room.free / SLOTS);
        self.table.insert(room, remainder);
        let mut carried = string;
        for block in room.slot / SLOTS..=room.free / SLOTS {
            let first = room.slot.max(block * SLOTS) % SLOTS;
            let last = room.free.min(block * SLOTS + SLOTS - 1) % SLOTS;
            carried = self.shift(block, last, first, carried);
        }
        self.used += 1;
    }

    /// Takes out the fingerprint in a slot, and gives out its adaptivity bits.
    pub(crate) fn remove(&mut self, quotient: u64, slot: u64) -> Option<Bits> {
        let run = self.table.run::<Portable>(quotient)?;
        let gap = self.table.gap(quotient, &run, slot);
        self.remember(quotient / SLOTS..=gap.freed / SLOTS);
        self.table.remove(gap);
        let mut carried = Bits::EMPTY;
        for block in (slot / SLOTS..=gap.freed / SLOTS).rev() {
            let first = slot.max(block * SLOTS) % SLOTS;
            let last = gap.freed.min(block * SLOTS + SLOTS - 1) % SLOTS;
            carried = self.shift(block, first, last, carried);
        }
        self.used = self.used.saturating_sub(1);
        Some(carried)
    }

    /// Gives a slot other adaptivity bits.
    pub(crate) fn set_string(&mut self, slot: u64, string: Bits) {
        self.remember(slot / SLOTS..=slot / SLOTS);
        self.shift(slot / SLOTS, slot % SLOTS, slot % SLOTS, string);
    }

    /// Takes a block's string number `from` out and puts another in as number `to`. What does not fit into three words is
    /// spilled, and comes back as soon as it does.
    fn shift(&mut self, block: u64, from: u64, to: u64, string: Bits) -> Bits {
        let group = &mut self.groups[block as usize];
        let strings = Strings::from_words_unchecked(*group);
        let packed = strings.and_then(|mut strings| {
            let taken = strings.shift::<Portable>(from as u32, to as u32, string)?;
            Some((strings, taken))
        });
        if let Some((strings, taken)) = packed {
            *group = strings.to_words();
            return taken;
        }
        let mut all = match (self.spilled.remove(&block), strings) {
            (Some(spilled), _) => spilled.to_vec(),
            (None, Some(strings)) => (0..64).map(|slot| strings.get::<Portable>(slot)).collect(),
            (None, None) => vec![Bits::EMPTY; SLOTS as usize],
        };
        let taken = all.remove(from as usize);
        all.insert(to as usize, string);
        match Strings::pack::<Portable>(&all) {
            Some(strings) => *group = strings.to_words(),
            None => {
                *group = SPILLED;
                let mut spilled = Box::new([Bits::EMPTY; SLOTS as usize]);
                spilled.copy_from_slice(&all);
                self.spilled.insert(block, spilled);
            }
        }
        taken
    }

    /// Saves the blocks, the strings of each, and those that are spilled.
    pub(crate) fn write<'a>(&'a self, out: &mut Writer<'a>) {
        out.bytes(self.table.blocks.as_bytes());
        let words = self.groups.iter().flatten().flat_map(|word| word.to_le_bytes());
        out.bytes(words.collect::<Vec<u8>>());
        let mut spilled = Vec::new();
        for (block, strings) in &self.spilled {
            spilled.extend(block.to_le_bytes());
            for string in strings.iter() {
                spilled.push(string.len as u8);
                spilled.extend(string.bits.to_le_bytes());
            }
        }
        out.bytes(spilled);
    }

    /// Reads what [`Level::write`] wrote, and checks all of it.
    pub(crate) fn read(slots: u64, width: u32, from: &mut Reader) -> Result<Level, LoadError> {
        let bytes = from.bytes()?;
        let size = bytes.len();
        let (table, used) = Table::from_bytes(slots, Layout::new(width, Annex::Nothing), bytes)
            .ok_or_else(|| LoadError::invalid(format!("its {slots} slots of {width} bits are not {size} bytes")))?
            .map_err(|wrong| LoadError::invalid(format!("its table is none: {wrong}")))?;
        let bytes = from.bytes()?;
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (groups, more) = words.as_chunks::<3>();
        if groups.len() as u64 != table.blocks.len() || !more.is_empty() || !rest.is_empty() {
            return Err(LoadError::invalid(format!("{} bytes are not the adaptivity bits of its blocks", bytes.len())));
        }
        let bytes = from.bytes()?;
        let (entries, rest) = bytes.as_chunks::<SPILLED_BYTES>();
        if !rest.is_empty() {
            return Err(LoadError::invalid(format!("{} bytes are no adaptivity bits", bytes.len())));
        }
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let mut spilled = BTreeMap::new();
        for entry in entries {
            let (block, strings) = entry.split_at(8);
            let mut read = Box::new([Bits::EMPTY; SLOTS as usize]);
            for (string, bytes) in read.iter_mut().zip(strings.as_chunks::<9>().0) {
                *string = Bits { len: bytes[0].into(), bits: number(&bytes[1..]) };
                if string.len > 64 || Bits::prefix(string.bits, string.len) != *string {
                    return Err(LoadError::invalid("a slot has adaptivity bits that cannot be"));
                }
            }
            spilled.insert(number(block), read);
        }
        let level = Level { table, groups: groups.to_vec(), spilled, used, journal: None };
        if level.spilled.keys().any(|block| *block >= level.table.blocks.len()) {
            return Err(LoadError::invalid("adaptivity bits are of no block"));
        }
        level.check().map_err(LoadError::invalid)?;
        Ok(level)
    }

    /// Checks the table, the strings, the window, and Invariant 7: no fingerprint is a prefix of another.
    pub(crate) fn check(&self) -> Result<(), String> {
        let used = self.table.check().map_err(|wrong| wrong.to_string())?;
        if used != self.used {
            return Err(format!("{used} slots are in use, and {} are counted", self.used));
        }
        let taken = self.table.used();
        for (block, group) in (0..).zip(&self.groups) {
            let spilled = self.spilled.contains_key(&block);
            if spilled != (*group == SPILLED) || !spilled && Strings::from_words(*group).is_none() {
                return Err(format!("the adaptivity bits of block {block} are none"));
            }
            let free = |slot: &u64| taken[block as usize] >> slot & 1 == 0;
            if (0..SLOTS).filter(free).any(|slot| self.string::<Portable>(block * SLOTS + slot) != Bits::EMPTY) {
                return Err(format!("a free slot of block {block} has adaptivity bits"));
            }
        }
        for quotient in 0..self.slots() {
            let Some(run) = self.table.run::<Portable>(quotient) else { continue };
            if run.end > quotient + WINDOW {
                return Err(format!("the run of quotient {quotient} leaves its window"));
            }
            let prints: Vec<(u32, Bits)> =
                run.map(|slot| (self.table.blocks.remainder(slot), self.string::<Portable>(slot))).collect();
            for (at, (remainder, bits)) in prints.iter().enumerate() {
                let prefix = |(other, longer): &(u32, Bits)| {
                    other == remainder && bits.len <= longer.len && bits.is_prefix_of(longer.bits)
                };
                if prints.iter().enumerate().any(|(other, print)| other != at && prefix(print)) {
                    return Err(format!("a fingerprint of quotient {quotient} is a prefix of another"));
                }
            }
        }
        Ok(())
    }

    /// Begins an operation.
    pub(crate) fn begin(&mut self) {
        self.journal = Some(Journal { used: self.used, ..Journal::default() });
    }

    /// The operation holds.
    pub(crate) fn keep(&mut self) {
        self.journal = None;
    }

    /// Puts everything back as it was when the operation began.
    pub(crate) fn undo(&mut self) {
        let Some(journal) = self.journal.take() else { return };
        self.used = journal.used;
        for (block, before) in journal.blocks {
            self.table.blocks.restore(block, &before.image);
            self.groups[block as usize] = before.group;
            match before.spilled {
                Some(spilled) => self.spilled.insert(block, spilled),
                None => self.spilled.remove(&block),
            };
        }
    }

    fn remember(&mut self, blocks: std::ops::RangeInclusive<u64>) {
        let Some(journal) = &mut self.journal else { return };
        for block in blocks {
            journal.blocks.entry(block).or_insert_with(|| Before {
                image: self.table.blocks.image(block).to_vec(),
                group: self.groups[block as usize],
                spilled: self.spilled.get(&block).cloned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    /// The naive twin: fingerprints in the order of their quotients, and of their coming.
    type Twin = Vec<(u64, u32, Bits)>;

    fn check(level: &Level, twin: &Twin, rng: &mut SplitMix64) {
        assert_eq!(level.table.check(), Ok(twin.len() as u64));
        assert_eq!(level.used(), twin.len() as u64);
        let mut held: Twin = Vec::new();
        for quotient in 0..level.slots() {
            for slot in level.table.run::<Portable>(quotient).unwrap_or_default() {
                assert!(slot < quotient + WINDOW, "slot {slot} of quotient {quotient}");
                held.push((quotient, level.table.blocks.remainder(slot), level.string::<Portable>(slot)));
            }
        }
        let mut expected = twin.clone();
        expected.sort_by_key(|(quotient, ..)| *quotient);
        assert_eq!(held, expected);
        for _ in 0..8 {
            let (quotient, remainder, _) =
                twin.get(rng.below(twin.len().max(1) as u64) as usize).copied().unwrap_or_default();
            let hash = Hash { quotient, remainder, tail: rng.next() };
            let matching = |entry: &&(u64, u32, Bits)| {
                (entry.0, entry.1) == (quotient, remainder) && entry.2.is_prefix_of(hash.tail)
            };
            assert_eq!(level.find::<Portable>(hash).is_some(), twin.iter().any(|entry| matching(&entry)));
            assert_eq!(
                level.hard_collisions(hash).len(),
                twin.iter().filter(|entry| (entry.0, entry.1) == (quotient, remainder)).count()
            );
        }
    }

    /// One random change of both.
    fn step(level: &mut Level, twin: &mut Twin, rng: &mut SplitMix64) {
        let string = Bits::prefix(rng.next(), (rng.next() | 1 << 12).trailing_zeros() * 2);
        let quotient = rng.below(level.slots());
        match rng.below(5) {
            0 | 1 => {
                if let Some(room) = level.room(quotient) {
                    let remainder = rng.below(4) as u32;
                    level.insert(room, remainder, string);
                    twin.push((quotient, remainder, string));
                }
            }
            2 => {
                if let Some(run) = level.table.run::<Portable>(quotient) {
                    let nth = rng.below(run.end - run.start);
                    let removed = level.remove(quotient, run.start + nth);
                    let at = (0..twin.len()).filter(|at| twin[*at].0 == quotient).nth(nth as usize).expect("as many");
                    assert_eq!(removed, Some(twin.remove(at).2));
                }
            }
            _ => {
                if let Some(run) = level.table.run::<Portable>(quotient) {
                    let nth = rng.below(run.end - run.start);
                    level.set_string(run.start + nth, string);
                    let at = (0..twin.len()).filter(|at| twin[*at].0 == quotient).nth(nth as usize).expect("as many");
                    twin[at].2 = string;
                }
            }
        }
    }

    #[test]
    fn a_level_agrees_with_a_list_of_fingerprints_and_undoes_what_did_not_hold() {
        let (mut spilled, mut undone) = (0, 0);
        for (slots, seed) in [(40, 1), (64, 2), (150, 3), (400, 4)] {
            let mut rng = SplitMix64::from_state(seed);
            let mut level = Level::new(slots, 2).expect("a small one");
            let mut twin = Twin::new();
            for _ in 0..700 {
                let before = (level.clone(), twin.clone());
                level.begin();
                for _ in 0..1 + rng.below(6) {
                    step(&mut level, &mut twin, &mut rng);
                }
                if rng.below(3) == 0 {
                    level.undo();
                    assert_eq!(level.table, before.0.table);
                    assert_eq!((&level.groups, &level.spilled), (&before.0.groups, &before.0.spilled));
                    twin = before.1;
                    undone += 1;
                } else {
                    level.keep();
                }
                check(&level, &twin, &mut rng);
                spilled = spilled.max(level.spilled());
            }
        }
        assert!(spilled > 0 && undone > 100, "{spilled} blocks spilled, {undone} operations undone");
    }
}
