//! redb's own tables, and whether they are as redb wrote them.
//!
//! redb keeps lists of pages that it will free, and what it knows of free pages, in tables of its own. It compares the
//! checksums of pages only after a crash, so it would free what a damaged list says, and panic with its locks held. A
//! destructor that needs such a lock panics again, which aborts the process. So these tables are compared with their
//! checksums before redb uses them.
//!
//! A commit leads to a tree from names to tables, and each of these to a tree of its own.

use super::pages::{PAGE, Pointer, Regions};
use super::tree::{Page, Root, Tree};
use std::io;

/// redb has no deeper trees.
const DEEPEST: u32 = 128;

/// A page of redb's own tables is never larger. A region's state has at most about 300 KB, and all regions share one value of
/// at most 3 MB.
const LARGEST: u64 = 4 << 20;

/// Compares the pages of redb's own tables with their checksums. `true` if all are right.
pub(super) fn are_sound(
    root: Root,
    regions: Regions,
    length: u64,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<bool> {
    let waiting = vec![Waiting { root, tree: Tree::OfTables, depth: 0 }];
    Check { regions, length, left: length, read, waiting }.run()
}

struct Waiting {
    root: Root,
    tree: Tree,
    depth: u32,
}

struct Check<R> {
    regions: Regions,
    length: u64,
    /// How many bytes may still be read. Every page has one pointer to it, so a sound tree has no more than the file.
    left: u64,
    read: R,
    waiting: Vec<Waiting>,
}

impl<R: Fn(u64, &mut [u8]) -> io::Result<()>> Check<R> {
    fn run(&mut self) -> io::Result<bool> {
        while let Some(Waiting { root, tree, depth }) = self.waiting.pop() {
            let Some(bytes) = self.page(root.pointer)? else { return Ok(false) };
            let page = Page::new(&bytes, tree);
            // The keys of redb's own tables are short, so a branch has the smallest size.
            let fits = !page.is_branch() || bytes.len() as u64 == PAGE && depth < DEEPEST;
            let sound = fits && page.checksum() == Some(root.checksum);
            let Some(next) = page.leads_to().filter(|_| sound) else { return Ok(false) };
            self.waiting.extend(next.into_iter().map(|(root, tree)| Waiting { root, tree, depth: depth + 1 }));
        }
        Ok(true)
    }

    /// Reads a page. `None` if it cannot be one.
    fn page(&mut self, pointer: Pointer) -> io::Result<Option<Vec<u8>>> {
        let Some(place) = self.regions.place(pointer) else { return Ok(None) };
        let size = place.end - place.start;
        if place.end > self.length || size > LARGEST || size > self.left {
            return Ok(None);
        }
        self.left -= size;
        let mut bytes = vec![0; size as usize];
        (self.read)(place.start, &mut bytes)?;
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redb_store::header::trusted_roots;
    use crate::{Change, Durability, Options, RedbError, RedbStore, STORE_FILE, Space, Store};
    use std::cell::RefCell;
    use std::fs::OpenOptions;
    use std::io::{Seek, SeekFrom, Write};
    use std::ops::Range;
    use std::path::{Path, PathBuf};

    fn put(number: u32) -> Change {
        let value = Some(vec![b'v'; number as usize % 60]);
        Change { space: Space::Values, key: number.to_be_bytes().to_vec(), value }
    }

    /// A store whose lists of free pages are not empty, closed. Without a hash key, so it is the same in every run.
    fn closed(path: &Path) -> Vec<u8> {
        let store = RedbStore::open(path).unwrap();
        for start in 0..5 {
            let changes: Vec<Change> = (start..2_000).step_by(5).map(put).collect();
            store.commit(&changes, Durability::Synced).unwrap();
        }
        drop(store);
        std::fs::read(path).unwrap()
    }

    fn check(file: &[u8], read: impl Fn(u64, &mut [u8]) -> io::Result<()>) -> bool {
        let root = trusted_roots(file).unwrap().own.unwrap();
        are_sound(root, Regions::of(file).unwrap(), file.len() as u64, read).unwrap()
    }

    fn copy(file: &[u8], at: u64, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&file[at as usize..][..out.len()]);
        Ok(())
    }

    /// Where the used bytes of redb's own tables lie.
    fn used(file: &[u8]) -> Vec<Range<usize>> {
        let pages = RefCell::new(Vec::new());
        assert!(check(file, |at, out| {
            pages.borrow_mut().push(at as usize..at as usize + out.len());
            copy(file, at, out)
        }));
        let end = |page: &Range<usize>| page.clone().rev().find(|at| check_flipped(file, *at, 1)).map(|last| last + 1);
        pages.into_inner().iter().map(|page| page.start..end(page).unwrap()).collect()
    }

    /// `true` if the flipped bits are noticed.
    fn check_flipped(file: &[u8], damaged: usize, bits: u8) -> bool {
        !check(file, |at, out| {
            copy(file, at, out)?;
            let inside = damaged.wrapping_sub(at as usize);
            if let Some(byte) = out.get_mut(inside) {
                *byte ^= bits;
            }
            Ok(())
        })
    }

    #[test]
    fn every_flipped_bit_of_redbs_own_tables_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = closed(&folder.path().join(STORE_FILE));
        let used = used(&file);
        // The tree of tables, the lists of free pages, and what redb knows of the regions.
        assert!(used.len() >= 4 && used.iter().map(Range::len).sum::<usize>() > 4_000, "{used:?}");
        for at in used.into_iter().flatten() {
            for bit in 0..8 {
                assert!(check_flipped(&file, at, 1 << bit), "bit {bit} of byte {at}");
            }
        }
    }

    fn write_byte(path: &Path, at: usize, byte: u8) {
        let mut file = OpenOptions::new().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    }

    #[test]
    fn a_file_with_damage_in_redbs_own_tables_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(STORE_FILE);
        let file = closed(&path);
        for (at, bit) in used(&file).into_iter().flatten().zip((0..8).cycle()) {
            write_byte(&path, at, file[at] ^ 1 << bit);
            let refused = RedbStore::open(&path).unwrap_err();
            assert!(matches!(&refused, RedbError::Damaged(what) if what.contains("own tables")), "{at}: {refused}");
            if at % 64 == 0 {
                assert!(matches!(RedbStore::open_read_only(&path), Err(RedbError::Damaged(_))));
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                assert!(std::fs::read(&path).unwrap() == damaged);
            }
            write_byte(&path, at, file[at]);
        }
        // All locks are free, and nothing was changed.
        RedbStore::open(&path).unwrap().commit(&[put(1)], Durability::Synced).unwrap();
    }

    fn guarded(folder: &Path) -> (PathBuf, Vec<u8>) {
        let guard = Options::new().open_folder(folder).unwrap();
        guard.insert_all((0..3_000_u32).map(|number| (number.to_be_bytes().to_vec(), b"value".to_vec()))).unwrap();
        guard.close().unwrap();
        let path = folder.join(STORE_FILE);
        let file = std::fs::read(&path).unwrap();
        (path, file)
    }

    #[test]
    fn a_repair_does_without_redbs_own_tables_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, file) = guarded(folder.path());
        for page in used(&file) {
            let mut damaged = file.clone();
            damaged[page].fill(0x55);
            std::fs::write(&path, damaged).unwrap();
            let repaired = Options::new().repair_folder(folder.path()).unwrap();
            assert_eq!((repaired.keys, repaired.lost), (3_000, Vec::<String>::new()));
            assert!(Options::new().open_folder(folder.path()).unwrap().contains(&7_u32.to_be_bytes()).unwrap());
        }
    }

    #[test]
    fn a_repair_copies_what_it_can_if_other_tables_are_damaged_too() {
        let folder = tempfile::tempdir().unwrap();
        let (path, file) = guarded(folder.path());
        let own = used(&file);
        let is_own = |at: usize| own.iter().any(|page| page.start == at);
        let leaves = (1..file.len() / PAGE as usize).map(|page| page * PAGE as usize);
        // Some of them are free.
        let leaves: Vec<usize> =
            leaves.filter(|at| file[*at] == 1 && file[at + 2] > 20 && !is_own(*at)).step_by(8).collect();
        let mut copied = 0;
        for page in &own {
            let mut damaged = file.clone();
            damaged[page.end - 1] ^= 1;
            leaves.iter().for_each(|leaf| damaged[leaf + 2_000] ^= 1);
            std::fs::write(&path, damaged).unwrap();
            let repaired = Options::new().repair_folder(folder.path());
            copied += u32::from(repaired.is_ok_and(|repaired| repaired.keys > 500));
        }
        assert!(copied > 0, "of {}", own.len());
    }

    /// A file of pages, each with the checksum that the next one needs.
    struct Made(Vec<u8>);

    impl Made {
        fn add(&mut self, page: &[u8]) -> Root {
            let pointer = Pointer(self.0.len() as u64 / PAGE - 1);
            let mut whole = page.to_vec();
            whole.resize(PAGE as usize, 0);
            self.0.extend(&whole);
            Root { pointer, checksum: xxhash_rust::xxh3::xxh3_128(page) }
        }

        /// A leaf with one table, which is empty.
        fn leaf(&mut self) -> Root {
            self.add(&[&[1, 0, 1, 0, 13, 0, 0, 0, 73, 0, 0, 0, b't', 3][..], &[0; 59]].concat())
        }

        /// A branch with one key, which is empty.
        fn branch(&mut self, children: [Root; 2]) -> Root {
            let checksums = children.map(|child| child.checksum.to_le_bytes()).concat();
            let pointers = children.map(|child| child.pointer.0.to_le_bytes()).concat();
            self.add(&[&[2, 0, 1, 0, 0, 0, 0, 0][..], &checksums, &pointers, &[60, 0, 0, 0]].concat())
        }

        fn is_sound(&self, root: Root) -> bool {
            let header = [&[0; 13][..], &[16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0]].concat();
            let regions = Regions::of(&header).unwrap();
            are_sound(root, regions, self.0.len() as u64, |at, out| copy(&self.0, at, out)).unwrap()
        }
    }

    #[test]
    fn a_tree_may_be_high_but_neither_endless_nor_shared() {
        for (height, sound) in [(0, true), (1, true), (100, true), (200, false)] {
            let mut file = Made(vec![0; PAGE as usize]);
            let mut root = file.leaf();
            for _ in 0..height {
                let leaf = file.leaf();
                root = file.branch([leaf, root]);
            }
            assert_eq!(file.is_sound(root), sound, "{height}");
        }
        // 2^60 ways lead to the leaf.
        let mut file = Made(vec![0; PAGE as usize]);
        let mut root = file.leaf();
        for _ in 0..60 {
            root = file.branch([root, root]);
        }
        assert!(!file.is_sound(root));
    }
}
