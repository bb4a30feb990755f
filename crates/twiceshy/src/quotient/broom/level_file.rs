//! The bytes of a level, and its invariants.

use super::level::{Level, LevelEdit, SPILLED};
use super::rests::Rests;
use super::spilled::Spilled;
use super::strings::{Bits, Strings};
use crate::packed::word::Portable;
use crate::persist::{LoadError, Reader, Writer};
use crate::quotient::block::{Annex, Layout, SLOTS};
use crate::quotient::numbers::{Block, Quotient, Slot};
use crate::quotient::table::Table;
use std::collections::BTreeMap;
use std::ops::Range;

/// The length of a block's spilled strings in a file: the block, then length and bits of each string.
const SPILLED_BYTES: usize = 8 + 9 * SLOTS as usize;

impl Level {
    /// Saves the blocks, the remainders' bits after the signatures, the strings of each block, and the spilled strings.
    pub(crate) fn write<'a>(&'a self, out: &mut Writer<'a>) {
        out.bytes(self.table.blocks.as_bytes());
        out.bytes(self.rests.as_ref().map_or(&[][..], Rests::as_bytes));
        let words = self.groups.iter().flatten().flat_map(|word| word.to_le_bytes());
        out.bytes(words.collect::<Vec<u8>>());
        let mut spilled = Vec::new();
        for (block, strings) in &self.spilled {
            spilled.extend(block.0.to_le_bytes());
            for string in strings.iter() {
                spilled.push(string.len as u8);
                spilled.extend(string.bits.to_le_bytes());
            }
        }
        out.bytes(spilled);
    }

    /// Reads what [`Level::write`] wrote, and checks all of it.
    pub(crate) fn read(
        slots: u64,
        (width, signature): (u32, u32),
        segmented: bool,
        from: &mut Reader,
    ) -> Result<Level, LoadError> {
        let bytes = from.bytes()?;
        let size = bytes.len();
        let (table, used) = Table::from_bytes(slots, Layout::new(signature, Annex::Nothing), bytes)
            .ok_or_else(|| LoadError::invalid(format!("its {slots} slots of {signature} bits are not {size} bytes")))?
            .map_err(|wrong| LoadError::invalid(format!("its table is invalid: {wrong}")))?;
        let bytes = from.bytes()?;
        let rests = match width - signature {
            0 if bytes.is_empty() => None,
            0 => return Err(LoadError::invalid("its remainders have extra bits")),
            rest => Some(Rests::from_bytes(table.blocks.len(), rest, &bytes).ok_or_else(|| {
                LoadError::invalid(format!("{} bytes are not {rest} bits for each of its slots", bytes.len()))
            })?),
        };
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
            return Err(LoadError::invalid(format!("its adaptivity bits cannot have {} bytes", bytes.len())));
        }
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let mut spilled = BTreeMap::new();
        for entry in entries {
            let (block, strings) = entry.split_at(8);
            let mut read = [Bits::EMPTY; SLOTS as usize];
            for (string, bytes) in read.iter_mut().zip(strings.as_chunks::<9>().0) {
                *string = Bits { len: bytes[0].into(), bits: number(&bytes[1..]) };
                if string.len > 64 || Bits::prefix(string.bits, string.len) != *string {
                    return Err(LoadError::invalid("a slot has invalid adaptivity bits"));
                }
            }
            let block = Block(number(block));
            if spilled.last_key_value().is_some_and(|(last, _)| *last >= block) {
                return Err(LoadError::invalid("adaptivity bits are not in the order of their blocks"));
            }
            spilled.insert(block, Spilled::new(&read));
        }
        let level: Level = Level { table, rests, groups: groups.to_vec(), spilled, used, segmented };
        if level.spilled.keys().any(|block| *block >= level.table.blocks.end()) {
            return Err(LoadError::invalid("adaptivity bits belong to no block"));
        }
        level.check().map_err(LoadError::invalid)?;
        Ok(level)
    }

    /// `true` if every number of an edit lies within this level.
    pub(crate) fn accepts(&self, edit: &LevelEdit) -> bool {
        let (blocks, stride) = (self.table.blocks.end(), self.table.blocks.stride());
        let numbers = edit.blocks.keys().chain(edit.rests.keys()).chain(edit.spilled.keys());
        numbers.into_iter().all(|block| *block < blocks)
            && edit.blocks.values().all(|copy| copy.len() == stride)
            && self.rests.as_ref().map_or(edit.rests.is_empty(), |rests| rests.accept(&edit.rests))
            && edit.groups.keys().all(|block| *block < blocks.index())
            && edit.groups.values().all(|group| *group == SPILLED || Strings::from_words(*group).is_some())
            && edit.used <= self.table.end().0
    }

    /// Checks the table, the strings, the window, and Invariant 7: no fingerprint is a prefix of another.
    pub(crate) fn check(&self) -> Result<(), String> {
        let used = self.table.check().map_err(|wrong| wrong.to_string())?;
        if used != self.used {
            return Err(format!("{used} slots are in use, and {} are counted", self.used));
        }
        let taken = self.table.used();
        for (block, group) in self.table.blocks.numbers().zip(&self.groups) {
            let spilled = self.spilled.contains_key(&block);
            if spilled != (*group == SPILLED) || !spilled && Strings::from_words(*group).is_none() {
                return Err(format!("the adaptivity bits of block {block} are invalid"));
            }
            let free = (0..SLOTS).filter(|at| taken[block.index()] >> at & 1 == 0).map(|at| block.slot(at));
            let holds = |slot: Slot| self.rests.as_ref().is_some_and(|rests| rests.get(slot) != 0);
            if free.into_iter().any(|slot| holds(slot) || self.string::<Portable>(slot) != Bits::EMPTY) {
                return Err(format!("a free slot of block {block} is not empty"));
            }
        }
        // In order: finding each run by its quotient would walk back over all saturated offsets.
        let mut runs = self.table.runs_over(Block(0)..self.table.blocks.end());
        runs.try_for_each(|(quotient, run)| self.check_run(quotient, run))
    }

    fn check_run(&self, quotient: Quotient, run: Range<Slot>) -> Result<(), String> {
        if run.end > self.limit(quotient) {
            return Err(format!("the run of quotient {quotient} goes too far"));
        }
        // In the order of bit strings, a string comes after its prefixes, with only other extensions of them in between.
        let mut prints: Vec<(u32, u64, u32)> = Slot::each(run.clone())
            .map(|slot| (self.remainder(slot), self.string::<Portable>(slot)))
            .map(|(remainder, string)| (remainder, string.bits.reverse_bits(), string.len))
            .collect();
        prints.sort_unstable();
        let prefix = |pair: &[(u32, u64, u32)]| {
            let string = Bits { len: pair[0].2, bits: pair[0].1.reverse_bits() };
            pair[0].0 == pair[1].0 && string.is_prefix_of(pair[1].1.reverse_bits())
        };
        if prints.windows(2).any(prefix) {
            return Err(format!("a fingerprint of quotient {quotient} is a prefix of another"));
        }
        prints.dedup_by_key(|(remainder, ..)| *remainder);
        let mut signatures: Vec<u32> = prints.iter().map(|(remainder, ..)| self.parts(*remainder).0).collect();
        signatures.sort_unstable();
        if signatures.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(format!("two remainders of quotient {quotient} have the same signature"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::{SEGMENT, WINDOW};
    use super::*;

    /// Inserts a fingerprint at any free slot, even out of bounds.
    fn push(level: &mut Level, quotient: u64, remainder: u32, string: Bits) {
        let room = level.table.room(Quotient(quotient)).expect("a free slot");
        level.insert(room, remainder, string);
    }

    fn refused(level: &Level, why: &str) {
        let wrong = level.check().expect_err(why);
        assert!(wrong.contains(why), "{wrong}, and not {why}");
    }

    #[test]
    fn a_run_that_ends_behind_its_window_is_refused() {
        let mut level = Level::new(3_000, (12, 12)).expect("a small one");
        (0..WINDOW).for_each(|remainder| push(&mut level, 100, remainder as u32, Bits::EMPTY));
        assert_eq!(level.check(), Ok(()), "the window is full");
        push(&mut level, 100, WINDOW as u32, Bits::EMPTY);
        refused(&level, "the run of quotient 100 goes too far");
    }

    #[test]
    fn a_run_that_ends_in_another_segment_is_refused() {
        let mut level = Level::new(SEGMENT + 100, (5, 5)).expect("a small one");
        (0..8).for_each(|remainder| push(&mut level, SEGMENT - 8, remainder, Bits::EMPTY));
        assert_eq!(level.check(), Ok(()), "the segment is full");
        push(&mut level, SEGMENT - 8, 8, Bits::EMPTY);
        refused(&level, "goes too far");
    }

    #[test]
    fn a_run_of_the_last_segment_may_go_on_into_the_spare_slots() {
        let mut level = Level::new(SEGMENT, (5, 5)).expect("a small one");
        (0..20).for_each(|remainder| push(&mut level, SEGMENT - 8, remainder, Bits::EMPTY));
        assert_eq!(level.check(), Ok(()));
    }

    #[test]
    fn a_fingerprint_that_is_a_prefix_of_another_is_refused_wherever_they_stand() {
        let strings = [Bits::prefix(0b01, 2), Bits::prefix(0b1011, 4), Bits::prefix(0b0011, 4), Bits::prefix(0b0, 1)];
        for same in 0..4 {
            let mut level = Level::new(90, (4, 4)).expect("a small one");
            strings.iter().for_each(|string| push(&mut level, 7, 9, *string));
            // Another quotient or remainder makes another fingerprint.
            push(&mut level, 7, 8, strings[same]);
            push(&mut level, 8, 9, strings[same]);
            assert_eq!(level.check(), Ok(()));
            push(&mut level, 7, 9, Bits::prefix(strings[same].bits | 1 << 6, 8));
            refused(&level, "a fingerprint of quotient 7 is a prefix of another");
        }
    }

    #[test]
    fn two_remainders_of_a_run_with_one_signature_are_refused() {
        let mut level = Level::new(90, (6, 4)).expect("a small one");
        push(&mut level, 7, 0b01_1001, Bits::EMPTY);
        push(&mut level, 8, 0b11_1001, Bits::EMPTY);
        assert_eq!(level.check(), Ok(()));
        push(&mut level, 7, 0b10_0001, Bits::EMPTY);
        assert_eq!(level.check(), Ok(()));
        push(&mut level, 7, 0b11_1001, Bits::EMPTY);
        refused(&level, "two remainders of quotient 7 have the same signature");
        for widths in [(4, 4), (6, 4)] {
            let mut level = Level::new(90, widths).expect("a small one");
            push(&mut level, 7, 9, Bits::prefix(0, 1));
            push(&mut level, 7, 9, Bits::prefix(1, 1));
            assert_eq!(level.check(), Ok(()));
        }
    }

    #[test]
    fn free_slots_that_hold_something_and_counts_that_lie_are_refused() {
        let sound = Level::new(90, (6, 4)).expect("a small one");
        let mut level = sound.clone();
        level.set_string(Slot(20), Bits::prefix(1, 1));
        refused(&level, "a free slot of block 0 is not empty");
        let mut level = sound.clone();
        level.rests.as_mut().expect("two bits").set(Slot(70), 1);
        refused(&level, "a free slot of block 1 is not empty");
        let level = Level { used: 1, ..sound };
        refused(&level, "0 slots are in use, and 1 are counted");
    }
}
