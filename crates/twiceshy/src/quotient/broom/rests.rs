//! The remainders' bits after their signatures: a small number for each slot (001 section 5.4).

use super::overlay::{ChangedBytes, DraftBytes, exchange_bytes};
use crate::quotient::block::{BlockBytes, PADDING};
use crate::quotient::numbers::{Block, Slot, by_block};
use crate::quotient::shift::Shift;
use std::ops::Range;

/// The numbers of 64 slots are packed in 8 bytes for each of their bits, in blocks like the signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rests<B = Vec<u8>> {
    width: u32,
    bytes: B,
}

/// The length of a block of numbers.
fn stride(width: u32) -> usize {
    8 * width as usize
}

impl Rests {
    /// Zeros of `width` bits for all slots of these blocks; `None` if they cannot be allocated.
    pub(crate) fn new(blocks: u64, width: u32) -> Option<Rests> {
        let size = usize::try_from(blocks).ok()?.checked_mul(stride(width))?.checked_add(PADDING)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).ok()?;
        bytes.resize(size, 0);
        Some(Rests { width, bytes })
    }

    /// Saved numbers; `None` if their count is wrong.
    pub(crate) fn from_bytes(blocks: u64, width: u32, saved: &[u8]) -> Option<Rests> {
        let size = usize::try_from(blocks).ok()?.checked_mul(stride(width))?;
        if saved.len() != size {
            return None;
        }
        let mut rests = Rests::new(blocks, width)?;
        rests.bytes[..size].copy_from_slice(saved);
        Some(rests)
    }

    /// The bytes of all numbers, without the padding.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - PADDING]
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.bytes.capacity() as u64 * 8
    }

    pub(crate) fn draft(&self) -> Rests<DraftBytes<'_>> {
        Rests { width: self.width, bytes: DraftBytes::new(&self.bytes) }
    }

    pub(crate) fn exchange(&mut self, changed: &mut ChangedBytes) {
        exchange_bytes(&mut self.bytes, stride(self.width), changed);
    }

    /// `true` if each copy is as long as a block.
    pub(crate) fn accept(&self, changed: &ChangedBytes) -> bool {
        changed.values().all(|copy| copy.len() == stride(self.width))
    }
}

impl Rests<DraftBytes<'_>> {
    pub(crate) fn finish(self) -> ChangedBytes {
        self.bytes.finish(stride(self.width))
    }
}

impl<B: BlockBytes> Rests<B> {
    /// The position of a slot's number: its block, the byte in it, and the bit in that.
    #[inline]
    fn place(&self, slot: Slot) -> (Block, usize, u32) {
        let bit = slot.at() as usize * self.width as usize;
        (slot.block(), bit / 8, (bit % 8) as u32)
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    #[inline]
    fn load(&self, block: Block, at: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(self.bytes.part(block, stride(self.width), at, 8));
        u64::from_le_bytes(word)
    }

    /// The number of a slot.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> u32 {
        let (block, at, bit) = self.place(slot);
        (self.load(block, at) >> bit & self.mask()) as u32
    }

    pub(crate) fn set(&mut self, slot: Slot, value: u32) {
        let (block, at, bit) = self.place(slot);
        let word = self.load(block, at) & !(self.mask() << bit) | (u64::from(value) & self.mask()) << bit;
        self.bytes.part_mut(block, stride(self.width), at, 8).copy_from_slice(&word.to_le_bytes());
    }

    fn words_mut(&mut self, block: Block, shift: &Shift) -> &mut [u8] {
        let Range { start, end } = shift.bytes();
        self.bytes.part_mut(block, stride(self.width), start, end - start)
    }

    /// Inserts a number at slot `from`. Those of `from..to` move one slot up, and that of `to` is lost.
    pub(crate) fn insert(&mut self, from: Slot, to: Slot, value: u32) {
        for (block, slots) in by_block(from..to.next()).rev() {
            let first = slots.start;
            let carried = if first > from { self.get(first.before()) } else { value };
            let shift = Shift::new(self.width, slots);
            shift.up(self.words_mut(block, &shift));
            self.set(first, carried);
        }
    }

    /// Removes the number of slot `from`. Those of `from + 1..=to` move one slot down, and `to` becomes 0.
    pub(crate) fn remove(&mut self, from: Slot, to: Slot) {
        for (block, slots) in by_block(from..to.next()) {
            let last = slots.end.before();
            let carried = if last < to { self.get(last.next()) } else { 0 };
            let shift = Shift::new(self.width, slots);
            shift.down(self.words_mut(block, &shift));
            self.set(last, carried);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::PackedCells;
    use crate::rng::SplitMix64;

    #[test]
    fn numbers_come_and_go_as_in_a_list() {
        let mut rng = SplitMix64::from_state(6);
        for width in 1..=32 {
            let mut rests = Rests::new(3, width).expect("a small one");
            let mut list = vec![0u32; 192];
            for _ in 0..200 {
                let (a, b, value) = (rng.below(192), rng.below(192), rng.next() as u32);
                let (from, to) = (a.min(b), a.max(b));
                if rng.below(2) == 0 {
                    rests.insert(Slot(from), Slot(to), value);
                    list.remove(to as usize);
                    list.insert(from as usize, (u64::from(value) & ((1 << width) - 1)) as u32);
                } else {
                    rests.remove(Slot(from), Slot(to));
                    list.remove(from as usize);
                    list.insert(to as usize, 0);
                }
                assert!((0..192).map(|slot| rests.get(Slot(slot))).eq(list.iter().copied()), "width {width}");
            }
        }
    }

    #[test]
    fn numbers_of_every_width_are_packed_cells_in_a_filter_and_in_a_draft() {
        let mut rng = SplitMix64::from_state(5);
        for width in 1..=32 {
            let mut rests = Rests::new(3, width).expect("a small one");
            let mut cells = PackedCells::new(192, width).expect("a small one");
            for _ in 0..20 {
                let before = rests.clone();
                let mut draft = rests.draft();
                for _ in 0..10 {
                    let (slot, value) = (rng.below(192), rng.next() as u32);
                    draft.set(Slot(slot), value);
                    cells.set(slot, value);
                    assert!((0..192).all(|slot| draft.get(Slot(slot)) == cells.get(slot)), "width {width}");
                }
                let mut changed = draft.finish();
                rests.exchange(&mut changed);
                assert_eq!(rests.as_bytes(), cells.as_bytes());
                let mut undone = rests.clone();
                undone.exchange(&mut changed);
                assert_eq!(undone, before);
            }
            let saved = rests.as_bytes().to_vec();
            assert_eq!(Rests::from_bytes(3, width, &saved), Some(rests));
            assert_eq!(Rests::from_bytes(3, width, &saved[1..]), None);
        }
    }
}
