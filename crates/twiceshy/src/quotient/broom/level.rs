//! One level of a broom filter: a table of runs, and the adaptivity bits of its slots (001 section 5).
//!
//! A slot holds a fingerprint: quotient, remainder, and a string of adaptivity bits. By Invariant 7 none is a prefix of
//! another, so a query matches at most one slot. Probing is bounded (section 5.3): a key whose window has no free slot is
//! not inserted. So no slot is further than the window from its quotient, and a look-up touches a bounded number of words.
//!
//! **Drafts.** An operation of a broom filter is a chain of small changes, each of which must see the earlier ones. They
//! are made on a draft of the level, which copies what it changes. The level itself keeps answering.

use super::overlay::{ChangedBytes, ChangedMap, ChangedRow, DraftBytes, DraftMap, DraftRow, Drafted};
use super::overlay::{exchange_bytes, exchange_map, exchange_row};
use super::rests::Rests;
use super::spilled::Spilled;
use super::storage::{Map, Owned, Row, Storage};
use super::strings::{Bits, Strings};
use crate::packed::word::{Portable, Word64};
use crate::quotient::block::{Annex, Layout, SLOTS};
use crate::quotient::numbers::{Block, Quotient, Slot, blocks_between};
use crate::quotient::table::{Room, Table};
use std::collections::BTreeMap;

/// How far from its quotient a new key looks for a free slot. Measured while a million keys are inserted up to 95 % load,
/// 0.47 % of them find none in 256 slots, 0.15 % in 512, 0.03 % in 1,024. When keys are moved at that load it is up to ten
/// times as many, and 256 are not enough.
pub(crate) const WINDOW: u64 = 16 * SLOTS;

/// No run leaves the segment of its quotient: a key that would make one leave it is not inserted. This also bounds a
/// removal, which moves the slots after it down as far as possible. It rejects one key in 900 at 95 % load.
pub(crate) const SEGMENT: u64 = 128 * SLOTS;

/// Replaces a group whose strings are spilled. Every real group has ends.
pub(super) const SPILLED: [u64; 3] = [0; 3];

#[derive(Clone, Debug)]
pub(crate) struct Level<S: Storage = Owned> {
    /// The signatures of remainders, and their positions.
    pub(super) table: Table<S::Bytes>,
    /// The remainders' bits after their signatures, if any (section 5.4).
    pub(super) rests: Option<Rests<S::Bytes>>,
    /// The strings of each block, three words.
    pub(super) groups: S::Row<[u64; 3]>,
    /// The strings that do not fit into their words.
    pub(super) spilled: S::Map<Block, Spilled>,
    pub(super) used: u64,
    /// `true` if runs keep to their segments. `false` in a level that is nearly empty: its clusters are short, and a key at
    /// a segment's end must find room.
    pub(super) segmented: bool,
}

/// What a draft of a level has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LevelEdit {
    pub(super) blocks: ChangedBytes,
    pub(super) rests: ChangedBytes,
    pub(super) groups: ChangedRow<[u64; 3]>,
    pub(super) spilled: ChangedMap<Block, Spilled>,
    pub(super) used: u64,
}

/// A hash as a level sees it: its quotient, and the bits that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash {
    pub(crate) quotient: Quotient,
    pub(crate) remainder: u32,
    /// The next 64 bits, the first one lowest. Adaptivity bits are taken from them.
    pub(crate) tail: u64,
}

/// The bits after a quotient.
pub(crate) trait Behind {
    fn remainder(&self) -> u32;

    /// The 64 bits after the remainder, the first one lowest.
    fn tail(&self) -> u64;
}

impl<B: Behind> Behind for &B {
    #[inline]
    fn remainder(&self) -> u32 {
        (*self).remainder()
    }

    #[inline]
    fn tail(&self) -> u64 {
        (*self).tail()
    }
}

impl Behind for Hash {
    fn remainder(&self) -> u32 {
        self.remainder
    }

    fn tail(&self) -> u64 {
        self.tail
    }
}

impl Level {
    /// An empty level for remainders and signatures of these widths; `None` if it cannot be allocated.
    pub(crate) fn new(slots: u64, (width, signature): (u32, u32)) -> Option<Level> {
        let table = Table::new(slots, Layout::new(signature, Annex::Nothing))?;
        let rests = match width - signature {
            0 => None,
            rest => Some(Rests::new(table.blocks.len(), rest)?),
        };
        let blocks = usize::try_from(table.blocks.len()).ok()?;
        let mut groups = Vec::new();
        groups.try_reserve_exact(blocks).ok()?;
        groups.resize(blocks, Strings::EMPTY.to_words());
        Some(Level { table, rests, groups, spilled: BTreeMap::new(), used: 0, segmented: true })
    }

    /// The same level, but runs may cross segments.
    pub(crate) fn without_segments(self) -> Level {
        Level { segmented: false, ..self }
    }

    /// The number of blocks whose strings do not fit into their words.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled.len() as u64
    }

    /// The number of adaptivity bits of all slots.
    pub(crate) fn adaptivity_bits(&self) -> u64 {
        self.table.blocks.numbers().map(|block| u64::from(self.group_bits(block))).sum()
    }

    /// The largest number of adaptivity bits in a block.
    pub(crate) fn largest_group(&self) -> u32 {
        self.table.blocks.numbers().map(|block| self.group_bits(block)).max().unwrap_or(0)
    }

    fn group_bits(&self, block: Block) -> u32 {
        match (self.spilled.get(&block), Strings::from_words(self.groups[block.index()])) {
            (Some(spilled), _) => spilled.iter().map(|string| string.len).sum(),
            (None, Some(strings)) => strings.total(),
            (None, None) => 0,
        }
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        let spilled: u64 = self.spilled.values().map(Spilled::allocated_bits).sum();
        let rests = self.rests.as_ref().map_or(0, Rests::allocated_bits);
        self.table.blocks.allocated_bits()
            + rests
            + spilled
            + (self.groups.capacity() * size_of::<[u64; 3]>()) as u64 * 8
    }

    pub(crate) fn draft(&self) -> Level<Drafted<'_>> {
        Level {
            table: self.table.over(DraftBytes::new),
            rests: self.rests.as_ref().map(Rests::draft),
            groups: DraftRow::new(&self.groups),
            spilled: DraftMap::new(&self.spilled),
            used: self.used,
            segmented: self.segmented,
        }
    }

    /// Applies a draft's changes. A second call undoes them.
    pub(crate) fn exchange(&mut self, edit: &mut LevelEdit) {
        let (blocks, stride) = self.table.blocks.bytes_mut();
        exchange_bytes(blocks, stride, &mut edit.blocks);
        if let Some(rests) = &mut self.rests {
            rests.exchange(&mut edit.rests);
        }
        exchange_row(&mut self.groups, &mut edit.groups);
        exchange_map(&mut self.spilled, &mut edit.spilled);
        std::mem::swap(&mut self.used, &mut edit.used);
    }
}

impl Level<Drafted<'_>> {
    pub(crate) fn finish(self) -> LevelEdit {
        let stride = self.table.blocks.stride();
        LevelEdit {
            blocks: self.table.blocks.into_bytes().finish(stride),
            rests: self.rests.map(Rests::finish).unwrap_or_default(),
            groups: self.groups.finish(),
            spilled: self.spilled.finish(),
            used: self.used,
        }
    }
}

impl<S: Storage> Level<S> {
    pub(crate) fn slots(&self) -> u64 {
        self.table.slots()
    }

    /// The number of slots in use.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// The bits of a remainder that are compared first, and the others.
    #[inline]
    pub(super) fn parts(&self, remainder: u32) -> (u32, u32) {
        let width = self.table.blocks.width();
        ((u64::from(remainder) & ((1 << width) - 1)) as u32, (u64::from(remainder) >> width) as u32)
    }

    /// The remainder in a slot.
    pub(super) fn remainder(&self, slot: Slot) -> u32 {
        let rest = self.rests.as_ref().map_or(0, |rests| rests.get(slot));
        (u64::from(rest) << self.table.blocks.width()) as u32 | self.table.blocks.remainder(slot)
    }

    /// The slot whose fingerprint is a prefix of a hash. There is at most one. The bits after the quotient are requested
    /// only if the quotient has a run, since they cost a hash word.
    #[inline]
    pub(crate) fn find<W: Word64, B: Behind>(&self, quotient: Quotient, behind: impl FnOnce() -> B) -> Option<Slot> {
        let run = self.table.run::<W>(quotient)?;
        let behind = behind();
        let (signature, rest) = self.parts(behind.remainder());
        for block in blocks_between(run.start, run.end.before()) {
            let signatures = self.table.blocks.remainders(block);
            let places = block.places(&run);
            let mut equal = places.filter(|at| signatures.get(*at) == signature).fold(0u64, |mask, at| mask | 1 << at);
            if let Some(rests) = &self.rests
                && equal != 0
                && rests.get(block.slot(equal.trailing_zeros().into())) != rest
            {
                // With a back yard, the slots of a run with one signature have the same remainder.
                equal = 0;
            }
            if equal != 0 {
                let found = equal & self.prefixes::<W>(block, behind.tail());
                if found != 0 {
                    return Some(block.slot(found.trailing_zeros().into()));
                }
            }
        }
        None
    }

    /// The slots of a block whose adaptivity bits are a prefix of these.
    fn prefixes<W: Word64>(&self, block: Block, tail: u64) -> u64 {
        match Strings::from_words_unchecked(*self.groups.at(block.index())) {
            Some(strings) => strings.prefixes::<W>(tail),
            None => {
                let spilled = self.spilled.get(&block).into_iter().flat_map(|strings| (0u32..).zip(strings.iter()));
                spilled
                    .filter(|(_, string)| string.is_prefix_of(tail))
                    .fold(0, |mask, (slot, _): (u32, _)| mask | 1 << slot)
            }
        }
    }

    /// The strings of all slots with this quotient and remainder: the hard collisions of a hash.
    pub(crate) fn hard_collisions(&self, hash: Hash) -> impl Iterator<Item = Bits> + '_ {
        let run = self.table.run::<Portable>(hash.quotient).into_iter().flat_map(Slot::each);
        run.filter(move |slot| self.remainder(*slot) == hash.remainder).map(|slot| self.string::<Portable>(slot))
    }

    /// The adaptivity bits of a slot.
    #[inline]
    pub(crate) fn string<W: Word64>(&self, slot: Slot) -> Bits {
        let (block, at) = (slot.block(), slot.at());
        match Strings::from_words_unchecked(*self.groups.at(block.index())) {
            Some(strings) => strings.get::<W>(at as u32),
            None => self.spilled.get(&block).map_or(Bits::EMPTY, |strings| strings.get(at as u32)),
        }
    }

    /// A remainder of this quotient's run with the signature of this one. All remainders there with that signature are equal.
    pub(crate) fn with_signature(&self, quotient: Quotient, remainder: u32) -> Option<u32> {
        let (signature, _) = self.parts(remainder);
        let mut run = self.table.run::<Portable>(quotient).into_iter().flat_map(Slot::each);
        run.find(|slot| self.table.blocks.remainder(*slot) == signature).map(|slot| self.remainder(slot))
    }

    /// The end (exclusive) of the slots that a run of this quotient may take.
    pub(super) fn limit(&self, quotient: Quotient) -> Slot {
        let segment = (quotient.0 / SEGMENT + 1) * SEGMENT;
        let end = if !self.segmented || segment >= self.slots() { self.table.end() } else { Slot(segment) };
        end.min(quotient.slot() + WINDOW)
    }

    /// The room for another key of this quotient.
    pub(crate) fn room(&self, quotient: Quotient) -> Option<Room> {
        self.table.room_before(quotient, self.limit(quotient))
    }

    /// Inserts a fingerprint where there is room.
    pub(crate) fn insert(&mut self, room: Room, remainder: u32, string: Bits) {
        let (signature, rest) = self.parts(remainder);
        self.table.insert(room, signature);
        if let Some(rests) = &mut self.rests {
            rests.insert(room.slot, room.free, rest);
        }
        let mut carried = string;
        for block in blocks_between(room.slot, room.free) {
            let first = room.slot.max(block.first_slot()).at();
            let last = room.free.min(block.last_slot()).at();
            carried = self.shift(block, last, first, carried);
        }
        self.used += 1;
    }

    /// Removes the fingerprint in a slot, and returns its adaptivity bits.
    pub(crate) fn remove(&mut self, quotient: Quotient, slot: Slot) -> Option<Bits> {
        let run = self.table.run::<Portable>(quotient)?;
        let gap = self.table.gap(quotient, &run, slot);
        self.table.remove(gap);
        if let Some(rests) = &mut self.rests {
            rests.remove(slot, gap.freed);
        }
        let mut carried = Bits::EMPTY;
        for block in blocks_between(slot, gap.freed).rev() {
            let first = slot.max(block.first_slot()).at();
            let last = gap.freed.min(block.last_slot()).at();
            carried = self.shift(block, first, last, carried);
        }
        self.used = self.used.saturating_sub(1);
        Some(carried)
    }

    /// Replaces the adaptivity bits of a slot.
    pub(crate) fn set_string(&mut self, slot: Slot, string: Bits) {
        self.shift(slot.block(), slot.at(), slot.at(), string);
    }

    /// Removes a block's string number `from` and inserts another as number `to`. Strings that do not fit into three words
    /// are spilled, and return as soon as they fit.
    fn shift(&mut self, block: Block, from: u64, to: u64, string: Bits) -> Bits {
        let group = self.groups.at_mut(block.index());
        let strings = Strings::from_words_unchecked(*group);
        let packed = strings.and_then(|mut strings| {
            let taken = strings.shift::<Portable>(from as u32, to as u32, string)?;
            Some((strings, taken))
        });
        if let Some((strings, taken)) = packed {
            *group = strings.to_words();
            return taken;
        }
        let mut all: Vec<Bits> = match (self.spilled.get(&block), strings) {
            (Some(spilled), _) => spilled.iter().collect(),
            (None, Some(strings)) => (0..64).map(|slot| strings.get::<Portable>(slot)).collect(),
            (None, None) => vec![Bits::EMPTY; SLOTS as usize],
        };
        let taken = all.remove(from as usize);
        all.insert(to as usize, string);
        match Strings::pack::<Portable>(&all) {
            Some(strings) => {
                *group = strings.to_words();
                self.spilled.remove(&block);
            }
            None => {
                *group = SPILLED;
                let spilled = Spilled::new(&all);
                spilled.note();
                self.spilled.insert(block, spilled);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    /// The naive twin: fingerprints in the order of their quotients, then of insertion.
    type Twin = Vec<(Quotient, u32, Bits)>;

    fn check(level: &Level, twin: &Twin, rng: &mut SplitMix64) {
        assert_eq!(level.table.check(), Ok(twin.len() as u64));
        assert_eq!(level.used(), twin.len() as u64);
        let mut held: Twin = Vec::new();
        for quotient in (0..level.slots()).map(Quotient) {
            for slot in level.table.run::<Portable>(quotient).into_iter().flat_map(Slot::each) {
                assert!(slot < quotient.slot() + WINDOW, "slot {slot} of quotient {quotient}");
                held.push((quotient, level.remainder(slot), level.string::<Portable>(slot)));
            }
        }
        let mut expected = twin.clone();
        expected.sort_by_key(|(quotient, ..)| *quotient);
        assert_eq!(held, expected);
        for _ in 0..8 {
            let drawn = twin.get(rng.below(twin.len().max(1) as u64) as usize);
            let (quotient, remainder) = drawn.map_or((Quotient(0), 0), |entry| (entry.0, entry.1));
            let hash = Hash { quotient, remainder, tail: rng.next() };
            let matching = |entry: &&(Quotient, u32, Bits)| {
                (entry.0, entry.1) == (quotient, remainder) && entry.2.is_prefix_of(hash.tail)
            };
            assert_eq!(
                level.find::<Portable, _>(hash.quotient, || hash).is_some(),
                twin.iter().any(|entry| matching(&entry))
            );
            assert_eq!(
                level.hard_collisions(hash).count(),
                twin.iter().filter(|entry| (entry.0, entry.1) == (quotient, remainder)).count()
            );
        }
    }

    /// One random change of both.
    fn step<S: Storage>(level: &mut Level<S>, twin: &mut Twin, rng: &mut SplitMix64) {
        let string = Bits::prefix(rng.next(), (rng.next() | 1 << 12).trailing_zeros() * 2);
        let quotient = Quotient(rng.below(level.slots()));
        match rng.below(5) {
            0 | 1 => {
                let remainder = rng.below(if level.rests.is_some() { 32 } else { 4 }) as u32;
                // A run holds each signature with one remainder only.
                if let Some(room) = level.room(quotient)
                    && level.with_signature(quotient, remainder).is_none_or(|other| other == remainder)
                {
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
    fn a_key_at_the_end_of_a_segment_finds_room_only_where_there_are_no_segments() {
        let mut segmented = Level::new(2 * SEGMENT, (5, 5)).expect("a small one");
        let mut whole = Level::new(2 * SEGMENT, (5, 5)).expect("a small one").without_segments();
        let (last, next) = (Quotient(SEGMENT - 1), Quotient(SEGMENT));
        for level in [&mut segmented, &mut whole] {
            let room = level.room(last).expect("an empty level");
            level.insert(room, 1, Bits::EMPTY);
        }
        assert_eq!((segmented.room(last), segmented.room(next).map(|room| room.slot)), (None, Some(next.slot())));
        assert_eq!(whole.room(last).map(|room| room.slot), Some(next.slot()));
    }

    #[test]
    fn a_level_agrees_with_a_list_of_fingerprints_and_undoes_a_draft_that_was_applied() {
        let (mut spilled, mut undone) = (0, 0);
        for (slots, width, signature) in [(40, 2, 2), (64, 2, 2), (150, 2, 2), (400, 2, 2), (90, 5, 2), (300, 12, 4)] {
            let mut rng = SplitMix64::from_state(slots);
            let mut level = Level::new(slots, (width, signature)).expect("a small one");
            let mut twin = Twin::new();
            for _ in 0..700 {
                let before = (level.clone(), twin.clone());
                let mut draft = level.draft();
                for _ in 0..1 + rng.below(6) {
                    step(&mut draft, &mut twin, &mut rng);
                }
                let mut edit = draft.finish();
                level.exchange(&mut edit);
                if rng.below(3) == 0 {
                    level.exchange(&mut edit);
                    assert_eq!(level.table, before.0.table);
                    assert_eq!((&level.groups, &level.spilled), (&before.0.groups, &before.0.spilled));
                    assert_eq!(level.rests, before.0.rests);
                    twin = before.1;
                    undone += 1;
                }
                check(&level, &twin, &mut rng);
                spilled = spilled.max(level.spilled());
            }
        }
        assert!(spilled > 0 && undone > 100, "{spilled} blocks spilled, {undone} operations undone");
    }
}
