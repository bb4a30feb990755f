//! Fixed-width cells over bytes: any width from 1 to 32 bits, any number of cells.
//!
//! Cell `i` holds the bits `i·w .. (i+1)·w` of a little-endian bit string, so the waste is under eight bits, plus the
//! seven bytes of padding that let every cell be read with a single unaligned 64-bit load:
//!
//! ```text
//!   byte  0        1        2        3        4            w = 5
//!        ┌────────┬────────┬────────┬────────┬────────┐
//!   bits │11100000│32222211│44443333│65555544│…       │    a digit is the number of the cell, bit 7 first
//!        └────────┴────────┴────────┴────────┴────────┘
//! ```
//!
//! A cell starts in byte `i·w / 8` at bit `i·w % 8 ≤ 7` and ends at bit 39 at the latest: inside the eight bytes of
//! the load. The load touches one 64-bit word or two neighbours, and rarely two cache lines.

#![expect(unsafe_code, reason = "a load has one check of its bounds instead of two")]

pub(crate) mod lanes;
pub(crate) mod load;
pub(crate) mod pages;
pub(crate) mod prefetch;
pub(crate) mod word;
#[cfg(target_arch = "x86_64")]
mod word_x86;

/// The padding that a load of the last cell may touch.
const PADDING: usize = 7;

/// A fixed number of cells of the same width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedCells {
    width: u32,
    len: u64,
    bytes: Vec<u8>,
    /// The bytes at which a load of eight may begin: all but the last seven.
    starts: usize,
}

impl PackedCells {
    /// The narrowest cell.
    pub const MIN_WIDTH: u32 = 1;
    /// The widest cell.
    pub const MAX_WIDTH: u32 = 32;

    /// `len` cells of `width` bits, all zero. `None` if the width is not 1 to 32, or the bits cannot be addressed or
    /// allocated.
    pub fn new(len: u64, width: u32) -> Option<PackedCells> {
        Some(PackedCells::over(len, width, pages::zeros(Self::byte_size(len, width)?)?))
    }

    fn over(len: u64, width: u32, bytes: Vec<u8>) -> PackedCells {
        let starts = bytes.len().saturating_sub(PADDING);
        PackedCells { width, len, bytes, starts }
    }

    /// Cells from bytes saved with [`PackedCells::as_bytes`]. `None` if the number of bytes is wrong for `len` cells, or if
    /// a bit outside every cell is set.
    pub fn from_bytes(len: u64, width: u32, saved: &[u8]) -> Option<PackedCells> {
        let size = Self::byte_size(len, width)?;
        if saved.len() != size - PADDING {
            return None;
        }
        let spare = (saved.len() as u64 * 8 - len * u64::from(width)) as u32;
        if saved.last().is_some_and(|last| u32::from(*last) >> (8 - spare) != 0) {
            return None;
        }
        let mut bytes = pages::zeros(size)?;
        bytes[..saved.len()].copy_from_slice(saved);
        Some(PackedCells::over(len, width, bytes))
    }

    fn byte_size(len: u64, width: u32) -> Option<usize> {
        if !(Self::MIN_WIDTH..=Self::MAX_WIDTH).contains(&width) {
            return None;
        }
        let bits = len.checked_mul(u64::from(width))?;
        usize::try_from(bits.div_ceil(8)).ok()?.checked_add(PADDING).filter(|size| *size <= isize::MAX as usize)
    }

    /// The cells' bytes without the padding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - PADDING]
    }

    /// The number of cells.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "the number of cells is fixed; emptiness is the filter's notion")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The width of a cell in bits.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The bits allocated, including padding.
    pub fn allocated_bits(&self) -> u64 {
        self.bytes.len() as u64 * 8
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// Eight bytes, the one that holds this bit first.
    ///
    /// # Panics
    /// If they are not all in the allocation.
    #[inline(always)]
    fn load(&self, bit: u64) -> u64 {
        self.word_at_byte(bit / 8)
    }

    /// Eight bytes from byte `at` on, the first lowest.
    ///
    /// # Panics
    /// If they are not all in the allocation.
    #[inline(always)]
    pub(crate) fn word_at_byte(&self, at: u64) -> u64 {
        if at >= self.starts as u64 {
            outside(at);
        }
        let at = at as usize;
        crate::touched::note(self.bytes.as_ptr().addr() + at, 8);
        // SAFETY: `starts` is the length of `bytes` less seven, and neither changes: so eight bytes begin at `at`.
        let word = unsafe { self.bytes.as_ptr().add(at).cast::<[u8; 8]>().read() };
        u64::from_le_bytes(word)
    }

    /// Eight bytes from the byte that holds this bit, with this bit lowest: so at least 57 bits from it on.
    ///
    /// # Panics
    /// As [`PackedCells::word_at_byte`].
    #[inline(always)]
    pub(crate) fn word_at_bit(&self, bit: u64) -> u64 {
        self.load(bit) >> (bit % 8)
    }

    /// The value of cell `index`.
    ///
    /// # Panics
    /// If the cell lies outside the allocation. Within the padding the value is meaningless.
    #[inline]
    pub fn get(&self, index: u64) -> u32 {
        let bit = index * u64::from(self.width);
        (self.load(bit) >> (bit % 8) & self.mask()) as u32
    }

    /// Eight bytes from the byte in which cell `index` begins, with that cell lowest. They hold as many whole cells as
    /// [`Lanes`](lanes::Lanes) says, and parts of others.
    ///
    /// # Panics
    /// As [`PackedCells::get`].
    #[inline]
    pub(crate) fn word_at(&self, index: u64) -> u64 {
        self.word_at_bit(index * u64::from(self.width))
    }

    /// Requests the memory of cell `index` ahead of its use.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u64) {
        self.prefetch_byte(index * u64::from(self.width) / 8);
    }

    /// Requests the memory of byte `at` ahead of its use.
    #[inline(always)]
    pub(crate) fn prefetch_byte(&self, at: u64) {
        prefetch::prefetch(&self.bytes, at as usize);
    }

    /// Writes cell `index`; bits of `value` above the width are dropped.
    ///
    /// # Panics
    /// If there is no such cell.
    #[inline]
    pub fn set(&mut self, index: u64, value: u32) {
        assert!(index < self.len, "cell {index} of {}", self.len);
        let bit = index * u64::from(self.width);
        let shift = bit % 8;
        let word = self.load(bit) & !(self.mask() << shift) | (u64::from(value) & self.mask()) << shift;
        let at = (bit / 8) as usize;
        self.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
}

#[cold]
#[inline(never)]
fn outside(at: u64) -> ! {
    panic!("no load of eight bytes begins at byte {at} of a table")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn every_width_and_small_length_agrees_with_a_plain_vector() {
        for width in 1..=32u32 {
            for len in [1u64, 2, 3, 7, 8, 63, 64, 65, 130] {
                let mut cells = PackedCells::new(len, width).unwrap();
                let mut plain = vec![0u32; len as usize];
                for step in 0..4 * len {
                    let random = mix(step << 32 | u64::from(width) << 16 | len);
                    let (at, value) = (random % len, (random >> 32) as u32);
                    cells.set(at, value);
                    plain[at as usize] = (u64::from(value) & ((1 << width) - 1)) as u32;
                    assert!((0..len).all(|i| cells.get(i) == plain[i as usize]), "width {width} len {len}");
                }
                let again = PackedCells::from_bytes(len, width, cells.as_bytes()).unwrap();
                assert_eq!(again, cells);
            }
        }
    }

    #[test]
    fn the_waste_is_the_padding_and_less_than_a_byte() {
        for width in 1..=32 {
            let cells = PackedCells::new(1001, width).unwrap();
            let waste = cells.allocated_bits() - 1001 * u64::from(width);
            assert!((56..64).contains(&waste), "{waste} bits at width {width}");
        }
    }

    #[test]
    fn a_load_reads_its_eight_bytes_or_panics() {
        for len in [0u64, 1, 5, 40] {
            let mut cells = PackedCells::new(len, 8).unwrap();
            (0..len).for_each(|cell| cells.set(cell, 1 + cell as u32));
            let padded: Vec<u8> = (1..=len as u8).chain([0; 7]).collect();
            for at in 0..len {
                let expected = u64::from_le_bytes(padded[at as usize..][..8].try_into().unwrap());
                assert_eq!(cells.word_at_byte(at), expected);
                assert_eq!(cells.word_at_bit(8 * at + 3), expected >> 3);
            }
            for beyond in [len, len + 1, len + 7, u64::MAX / 8, u64::MAX] {
                let load = std::panic::catch_unwind(|| cells.word_at_byte(beyond));
                assert!(load.is_err(), "{beyond} of {len}");
            }
        }
    }

    #[test]
    fn invalid_cells_are_refused() {
        for (len, width) in [(10, 0), (10, 33), (u64::MAX, 32), (u64::MAX / 2, 2), (1 << 60, 32)] {
            assert_eq!(PackedCells::new(len, width), None, "{len} cells of {width} bits");
        }
        assert!(PackedCells::new(0, 2).is_some());
    }

    #[test]
    fn saved_bytes_of_the_wrong_number_or_with_stray_bits_are_refused() {
        let cells = PackedCells::new(3, 5).unwrap();
        assert_eq!(cells.as_bytes().len(), 2);
        for wrong in [&[0u8, 0, 0][..], &[0], &[], &[0, 0x80]] {
            assert_eq!(PackedCells::from_bytes(3, 5, wrong), None, "{wrong:?}");
        }
        assert!(PackedCells::from_bytes(3, 5, &[0xFF, 0x7F]).is_some());
        assert!(PackedCells::from_bytes(0, 5, &[]).is_some());
    }
}
