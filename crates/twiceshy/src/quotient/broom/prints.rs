//! The fingerprints of a table: its levels, its back yard and its ghosts.

use super::back_yard::{BackYard, YardEdit};
use super::few::Few;
use super::functions::{Age, Print};
use super::ghosts::Ghosts;
use super::haunted::{Base, HauntedEdit};
use super::level::{Hash, Level, LevelEdit};
use super::overlay::Drafted;
use super::rules::{BroomRule, Rules};
use super::shape::{BroomForm, Shape};
use super::storage::{Owned, Storage};
use super::strings::Bits;
use crate::hash::Words;
use crate::packed::word::Word64;
use crate::quotient::numbers::Slot;
use crate::quotient::table::Room;
use std::cell::OnceCell;

#[derive(Clone, Debug)]
pub(crate) struct Prints<S: Storage = Owned> {
    /// One level, or two with separate hash words (5.3).
    pub(crate) levels: Few<Level<S>>,
    /// Whole hashes of keys that do not fit into the levels (5.4).
    pub(crate) yard: BackYard<S>,
    pub(crate) ghosts: Ghosts<S>,
}

/// What a draft of a table has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrintsEdit {
    pub(super) levels: Few<LevelEdit>,
    pub(super) yard: YardEdit,
    pub(super) ghosts: [HauntedEdit; 2],
}

impl Prints {
    /// An empty table; `None` if it cannot be allocated.
    pub(crate) fn new(slots: u64, shape: &Shape) -> Option<Prints> {
        let levels = (0..).zip(shape.slots(slots)).map(|(level, slots)| {
            let made = Level::new(slots, shape.widths(level));
            if level == 0 { made } else { made.map(Level::without_segments) }
        });
        let yard = BackYard::new(shape.buckets(slots), shape.width)?;
        let levels = Few::from_items(levels.collect::<Option<Vec<_>>>()?.into_iter())?;
        Some(Prints { levels, yard, ghosts: Ghosts::new(shape.remainders()) })
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.levels[0].allocated_bits() + self.aside_bits() + self.ghosts.allocated_bits()
    }

    /// The memory of everything beside the first level, in bits.
    pub(crate) fn aside_bits(&self) -> u64 {
        self.levels[1..].iter().map(Level::allocated_bits).sum::<u64>() + self.yard.allocated_bits()
    }

    pub(crate) fn draft(&self) -> Prints<Drafted<'_>> {
        Prints {
            levels: self.levels.each_ref().map(Level::draft),
            yard: self.yard.draft(),
            ghosts: self.ghosts.draft(),
        }
    }

    /// Applies a draft's changes. A second call undoes them.
    pub(crate) fn exchange(&mut self, edit: &mut PrintsEdit) {
        self.levels.iter_mut().zip(edit.levels.iter_mut()).for_each(|(level, edit)| level.exchange(edit));
        self.yard.exchange(&mut edit.yard);
        self.ghosts.exchange(&mut edit.ghosts);
    }

    /// `true` if every number of an edit lies within this table.
    pub(crate) fn accepts(&self, edit: &PrintsEdit) -> bool {
        let slots: Vec<u64> = self.levels.iter().map(Level::slots).collect();
        self.levels.len() == edit.levels.len()
            && self.levels.iter().zip(edit.levels.iter()).all(|(level, edit)| level.accepts(edit))
            && self.yard.accepts(&edit.yard, self.slots())
            && self.ghosts.accepts(&edit.ghosts, &slots)
    }
}

impl Prints<Drafted<'_>> {
    pub(crate) fn finish(self) -> PrintsEdit {
        PrintsEdit { levels: self.levels.map(Level::finish), yard: self.yard.finish(), ghosts: self.ghosts.finish() }
    }
}

impl<S: Storage> Prints<S> {
    /// The slots of the first level.
    pub(crate) fn slots(&self) -> u64 {
        self.levels[0].slots()
    }

    /// The number of fingerprints and hashes: the number of keys.
    pub(crate) fn used(&self) -> u64 {
        self.levels.iter().map(Level::used).sum::<u64>() + self.yard.used()
    }

    /// The number of keys that did not fit into the first level.
    pub(crate) fn aside(&self) -> u64 {
        self.used() - self.levels[0].used()
    }

    /// `true` if every key is where the paper's filter has room for it.
    pub(crate) fn has_no_overflow(&self) -> bool {
        !self.yard.has_overflown()
    }

    #[inline]
    pub(crate) fn print<'k>(&self, words: Words<'k>, level: usize, shape: &Shape) -> Print<'k> {
        Print::new(words, level, self.levels[level].slots(), shape.widths(level).0)
    }

    /// The slot whose fingerprint is a prefix of a hash.
    #[inline]
    pub(crate) fn find<W: Word64>(&self, print: &Print<'_>, level: usize) -> Option<Slot> {
        self.levels[level].find::<W, _>(print.quotient, || print.behind())
    }

    /// `true` if a fingerprint is a prefix of a key's hash, whose first word is known.
    #[inline(always)]
    pub(crate) fn contains<W: Word64>(&self, words: Words<'_>, first: u64, shape: &Shape) -> bool {
        let first = Print::with_first(words, first, 0, self.slots(), shape.width);
        let behind = OnceCell::new();
        let behind = || behind.get_or_init(|| first.behind());
        self.levels[0].find::<W, _>(first.quotient, behind).is_some()
            || self.levels.len() > 1 && self.find::<W>(&self.print(words, 1, shape), 1).is_some()
            || self.yard.contains(first.quotient, behind)
    }

    /// Room for a key in a level. With a back yard, the slots of a run with one signature have the same remainder, so that a
    /// look-up compares one.
    pub(crate) fn room(&self, level: usize, hash: Hash, shape: &Shape, rules: Rules) -> Option<Room> {
        let stays = |other| other == hash.remainder && rules.keep(BroomRule::YardGhosts);
        let level = &self.levels[level];
        if shape.form == BroomForm::BackYard && !level.with_signature(hash.quotient, hash.remainder).is_none_or(stays) {
            return None;
        }
        level.room(hash.quotient)
    }

    /// The number of adaptivity bits that distinguish a new key from everything stored in its level, and from the hashes in
    /// the yard; `None` if no number does.
    pub(crate) fn apart(&self, level: usize, hash: Hash) -> Option<u32> {
        let collisions = self.levels[level].hard_collisions(hash);
        let apart = collisions.map(|string| string.shared(hash.tail) + 1).max().unwrap_or(0);
        match level {
            0 => Some(apart.max(self.yard.apart(hash)?)),
            _ => Some(apart),
        }
    }

    /// Inserts a fingerprint, with `apart` adaptivity bits and as many more as ghosts require.
    pub(crate) fn insert(&mut self, level: usize, room: Room, hash: Hash, apart: u32, age: Age, rules: Rules) {
        let haunted = self.haunted(level, hash, age, rules);
        self.levels[level].insert(room, hash.remainder, Bits::prefix(hash.tail, apart.max(haunted)));
    }

    fn haunted(&self, level: usize, hash: Hash, age: Age, rules: Rules) -> u32 {
        #[cfg(feature = "testing")]
        if !rules.keep(BroomRule::FirstDifference) {
            return self.ghosts.bits_for_whole_matches(age, hash.base(level), hash.tail);
        }
        let _ = (age, rules, BroomRule::FirstDifference);
        self.ghosts.bits_for(hash.base(level), hash.tail)
    }
}

impl Hash {
    /// The start of its fingerprints in a level.
    pub(crate) fn base(self, level: usize) -> Base {
        Base { level: level as u8, quotient: self.quotient, remainder: self.remainder }
    }
}
