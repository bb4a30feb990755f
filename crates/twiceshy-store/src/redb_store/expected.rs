//! What the pages of the user's tables must hold.
//!
//! redb does not compare the checksums of pages that it reads. A damaged pointer can lead to a page that is free, or
//! belongs to another place. A commit that replaces such a page frees it, and then one page has two owners: redb
//! overwrites one with the other, and may panic with its locks held, which aborts the process. So a file in which a damaged
//! page was read must not be written.
//!
//! A page's checksum is where the pointer to it is. The first pointers are in the header, and redb reads every other one
//! from a page before it follows it. So the checksums of all pages that redb can ask for are known, of those that were in
//! the file when it was opened. Pages that redb has written since need none.

use super::pages::{PAGE, Regions};
use super::tree::{Page, Root, Tree, Widths};
use std::collections::HashMap;

/// The tables of this crate have keys and values of any length.
const ENTRIES: Tree = Tree::Table(Widths::ANY);

/// The checksums of pages, by where the pages begin. Half of a checksum is enough to notice damage.
#[derive(Debug, Default)]
pub(super) struct Expected {
    of_tables: HashMap<u64, u64>,
    of_entries: HashMap<u64, u64>,
}

/// Whether a page is as expected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Damaged,
    /// It is not known what the page must hold.
    Unknown,
    Sound(Tree),
}

impl Expected {
    /// Compares a page with its checksum.
    pub(super) fn judge(&self, at: u64, page: &[u8]) -> Verdict {
        let of_tables = self.of_tables.get(&at).map(|checksum| (Tree::OfTables, checksum));
        let expected = of_tables.or_else(|| self.of_entries.get(&at).map(|checksum| (ENTRIES, checksum)));
        let Some((tree, expected)) = expected else { return Verdict::Unknown };
        let checksum = Page::new(page, tree).checksum().map(half);
        if checksum == Some(*expected) { Verdict::Sound(tree) } else { Verdict::Damaged }
    }

    /// Learns what a page must hold.
    pub(super) fn expect(&mut self, regions: Regions, root: Root, tree: Tree) {
        let pages = match tree {
            Tree::OfTables => &mut self.of_tables,
            ENTRIES => &mut self.of_entries,
            // Not a table of this crate.
            Tree::Table(_) => return,
        };
        if let Some(place) = regions.place(root.pointer) {
            pages.insert(place.start, half(root.checksum));
        }
    }

    /// Forgets the pages that lie in these bytes: redb has written them.
    pub(super) fn forget(&mut self, at: u64, len: u64) {
        for page in (at..at + len).step_by(PAGE as usize) {
            self.of_tables.remove(&page);
            self.of_entries.remove(&page);
        }
    }
}

fn half(checksum: u128) -> u64 {
    checksum as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redb_store::pages::Pointer;
    use xxhash_rust::xxh3::xxh3_128;

    /// A leaf with an empty key and a value of one byte.
    const LEAF: [u8; 13] = [1, 0, 1, 0, 12, 0, 0, 0, 13, 0, 0, 0, 7];

    fn page(index: u64) -> u64 {
        (index + 1) * PAGE
    }

    fn expecting(pointers: &[u64]) -> Expected {
        let regions = Regions::of(&[&[0; 13][..], &[16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0]].concat()).unwrap();
        let mut expected = Expected::default();
        for pointer in pointers {
            expected.expect(regions, Root { pointer: Pointer(*pointer), checksum: xxh3_128(&LEAF) }, ENTRIES);
        }
        expected
    }

    #[test]
    fn a_page_is_judged_by_what_is_used_of_it_and_only_if_it_is_known() {
        let expected = expecting(&[5]);
        let mut bytes = [&LEAF[..], &[0; 100]].concat();
        assert_eq!(expected.judge(page(5), &bytes), Verdict::Sound(ENTRIES));
        assert_eq!(expected.judge(page(6), &bytes), Verdict::Unknown);
        bytes[50] = 1;
        assert_eq!(expected.judge(page(5), &bytes), Verdict::Sound(ENTRIES));
        for at in 0..LEAF.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(expected.judge(page(5), &damaged), Verdict::Damaged, "byte {at}");
        }
        assert_eq!(expected.judge(page(5), &[]), Verdict::Damaged);
    }

    #[test]
    fn all_pages_that_were_overwritten_are_forgotten_and_no_others() {
        let mut expected = expecting(&[3, 4, 5, 6]);
        expected.forget(page(4), 2 * PAGE);
        let judged = [3, 4, 5, 6].map(|index| expected.judge(page(index), &LEAF));
        assert_eq!(judged, [Verdict::Sound(ENTRIES), Verdict::Unknown, Verdict::Unknown, Verdict::Sound(ENTRIES)]);
    }
}
