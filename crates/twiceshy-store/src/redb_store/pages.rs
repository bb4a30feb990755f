//! Where redb's pages lie in a file.

use std::ops::Range;

/// The size of a page of order 0. redb has no others so far.
pub(super) const PAGE: u64 = 4_096;

/// A page of order n has 2^n times the size of a page. redb itself refuses a higher order than this.
const HIGHEST_ORDER: u64 = 20;

/// A region has at most this many pages, and a file this many regions: both numbers have 20 bits in a pointer.
const MOST: u64 = 1 << 20;

/// A pointer to a page:
///
/// ```text
/// index (20 bits) │ region (20 bits) │ 19 bits │ order (5 bits)
/// ```
///
/// The index counts pages of that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer(pub(super) u64);

impl Pointer {
    /// redb refuses a pointer of this order, with an error.
    const REFUSED: u64 = 31 << 59;

    /// The same pointer, so that redb refuses it.
    pub(super) fn refused(self) -> Pointer {
        Pointer(self.0 | Pointer::REFUSED)
    }
}

/// The sizes of a file's regions, in bytes. They never change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regions {
    header: u64,
    whole: u64,
}

impl Regions {
    /// Reads the sizes from the file's header. `None` if it does not reach that far, or if redb would refuse it.
    pub(super) fn of(header: &[u8]) -> Option<Regions> {
        let number = |at: usize| Some(u64::from(u32::from_le_bytes(*header.get(at..)?.first_chunk()?)));
        let (page, header_pages, data_pages) = (number(12)?, number(16)?, number(20)?);
        let valid = page == PAGE && header_pages <= MOST && (1..=MOST).contains(&data_pages);
        valid.then_some(Regions { header: header_pages * PAGE, whole: (header_pages + data_pages) * PAGE })
    }

    /// Where the page lies. `None` if redb refuses the pointer.
    pub(super) fn place(self, pointer: Pointer) -> Option<Range<u64>> {
        let order = pointer.0 >> 59;
        if order > HIGHEST_ORDER {
            return None;
        }
        let size = PAGE << order;
        let index = pointer.0 & (MOST - 1) >> order;
        let region = pointer.0 >> 20 & (MOST - 1);
        // Below 2^54.
        let start = PAGE + region * self.whole + self.header + index * size;
        Some(start..start + size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(page: u32, header_pages: u32, data_pages: u32) -> Vec<u8> {
        [&[0; 12][..], &page.to_le_bytes(), &header_pages.to_le_bytes(), &data_pages.to_le_bytes()].concat()
    }

    #[test]
    fn a_page_lies_behind_the_file_s_header_and_those_of_the_regions() {
        let regions = Regions::of(&header(4_096, 2, 100)).unwrap();
        assert_eq!(regions.place(Pointer(0)), Some(3 * PAGE..4 * PAGE));
        assert_eq!(regions.place(Pointer(7)), Some(10 * PAGE..11 * PAGE));
        assert_eq!(regions.place(Pointer(3 << 59 | 1 << 20 | 5)), Some((105 + 40) * PAGE..(105 + 48) * PAGE));
        // Of the index, only as many bits count as a page of that order can have.
        assert_eq!(regions.place(Pointer(20 << 59 | 0xF_FFFF)), Some(3 * PAGE..3 * PAGE + (PAGE << 20)));
        assert_eq!(regions.place(Pointer(21 << 59)), None);
        assert_eq!(regions.place(Pointer(7).refused()), None);
    }

    #[test]
    fn sizes_that_redb_refuses_are_refused_and_the_largest_do_not_overflow() {
        for sizes in [(8_192, 0, 100), (4_096, 0, 0), (4_096, 0, 1 << 20 | 1), (4_096, u32::MAX, 100)] {
            assert!(Regions::of(&header(sizes.0, sizes.1, sizes.2)).is_none(), "{sizes:?}");
        }
        assert!(Regions::of(&header(4_096, 0, 100)[..20]).is_none());
        let largest = Regions::of(&header(4_096, 1 << 20, 1 << 20)).unwrap();
        assert!(largest.place(Pointer(0x7F_FFFF_FFFF)).unwrap().end < 1 << 54);
    }
}
