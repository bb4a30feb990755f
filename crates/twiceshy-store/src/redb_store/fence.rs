//! What lies between redb and a file.

use super::expected::{Expected, Verdict};
use super::header::{self, HEADER};
use super::pages::{Pointer, Regions};
use super::system_tables;
use super::tree::{Page, Root, Tree};
use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// Passes reads, writes and locks of redb on, and does five things more:
///
/// * It can be *stopped*: then redb writes no more. After a panic redb's memory cannot be trusted, so the file stays as a
///   crash would leave it. If there was no commit since the file was opened, its header is put back. redb never changes
///   a page of the last commit in place, so the file is as it was, and can be opened without a repair, which may not be
///   possible.
/// * It *keeps* the locks while a file is being opened, so that a new file can be removed before anyone else gets it.
/// * It *defuses* damaged pages: those that cannot be pages, and pointers beyond the end of the file. redb allocates memory
///   for a page, up to 4 GiB, before it finds that the page is not there, and refuses all reads afterwards.
/// * It *checks* redb's own tables when a file is opened, and refuses a file where they are damaged: see
///   [`system_tables`].
/// * It *compares* the pages of the user's tables with their checksums, and knows if a damaged one was read: see
///   [`Expected`]. It passes them on all the same: other entries of the page may be readable.
#[derive(Debug)]
pub(super) struct Fence {
    inner: Box<dyn StorageBackend>,
    keeps_locks: AtomicBool,
    writing: Mutex<Writing>,
    /// 0 while it is not known.
    length: AtomicU64,
    regions: OnceLock<Regions>,
    tables: Tables,
    /// `true` if redb's own tables are sound.
    sound: OnceLock<bool>,
    expected: RwLock<Expected>,
    has_read_damage: AtomicBool,
}

/// What is done about redb's own tables when a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// If they are damaged, the file is refused.
    Check,
    /// redb does not see them. It makes new ones, if the user's tables are whole, so all must be read.
    Hide,
    /// redb uses them as they are. Then nothing may be committed, and the database must not be closed either, because that
    /// is a commit.
    Trust,
}

#[derive(Debug, Default)]
struct Writing {
    stopped: bool,
    /// `true` if a commit may have been made since the file was opened.
    committed: bool,
    /// The header, as far as it was read before it was first written.
    header: Vec<u8>,
    header_written: bool,
    /// The file's length before it was first changed.
    length: Option<u64>,
}

impl Writing {
    /// `true` if the file was closed properly before it was opened. Then opening it commits nothing.
    fn was_clean(&self) -> bool {
        header::is_clean(&self.header)
    }
}

impl Fence {
    pub(super) fn new(inner: impl StorageBackend, tables: Tables) -> Arc<Fence> {
        Arc::new(Fence {
            inner: Box::new(inner),
            keeps_locks: AtomicBool::new(true),
            writing: Mutex::default(),
            length: AtomicU64::new(0),
            regions: OnceLock::new(),
            tables,
            sound: OnceLock::new(),
            expected: RwLock::default(),
            has_read_damage: AtomicBool::new(false),
        })
    }

    /// `true` if the file was refused because redb's own tables are damaged.
    pub(super) fn has_refused(&self) -> bool {
        self.sound.get() == Some(&false)
    }

    /// `true` if nothing may be committed.
    pub(super) fn is_for_reading(&self) -> bool {
        self.tables == Tables::Trust
    }

    /// `true` if redb has read a damaged page.
    pub(super) fn has_read_damage(&self) -> bool {
        self.has_read_damage.load(Ordering::Acquire)
    }

    /// The damaged pages are no longer part of the store.
    pub(super) fn is_repaired(&self) {
        self.has_read_damage.store(false, Ordering::Release);
    }

    /// Looks at the trees when redb has locked the file and reads its header for the first time. Nothing is written before.
    fn begin(&self, header: &mut [u8]) -> io::Result<()> {
        if header.len() < HEADER || self.sound.get().is_some() {
            return Ok(());
        }
        if self.tables == Tables::Hide {
            header::hide_own_tables(header);
        }
        // Without these redb refuses the file, or compares all checksums itself.
        let begins = Regions::of(header).zip(header::trusted_roots(header));
        let Some((regions, roots)) = begins.filter(|_| self.tables == Tables::Check) else {
            let _ = self.sound.set(true);
            return Ok(());
        };
        if let Some(root) = roots.user {
            self.expect(regions, [(root, Tree::OfTables)]);
        }
        let read = |at, out: &mut [u8]| self.inner.read(at, out);
        let sound = match roots.own {
            Some(root) => system_tables::are_sound(root, regions, self.inner.len()?, read)?,
            None => true,
        };
        if *self.sound.get_or_init(|| sound) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// Compares a page that redb reads with its checksum, and learns those of the pages that it leads to.
    fn compare(&self, at: u64, page: &[u8]) {
        let judged = self.expected.read().unwrap_or_else(PoisonError::into_inner).judge(at, page);
        match (judged, self.regions.get()) {
            (Verdict::Damaged, _) => self.has_read_damage.store(true, Ordering::Release),
            (Verdict::Sound(tree), Some(regions)) => {
                self.expect(*regions, Page::new(page, tree).leads_to().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn expect(&self, regions: Regions, roots: impl IntoIterator<Item = (Root, Tree)>) {
        let mut roots = roots.into_iter().peekable();
        if roots.peek().is_some() {
            let mut expected = self.expected.write().unwrap_or_else(PoisonError::into_inner);
            roots.for_each(|(root, tree)| expected.expect(regions, root, tree));
        }
    }

    /// Refuses writes from now on. Puts the header back if nothing was committed.
    pub(super) fn stop(&self) {
        let mut writing = self.writing();
        if !writing.stopped && writing.header_written && !writing.committed && writing.was_clean() {
            // If this fails, the file is repaired when it is opened: as after a crash.
            let _ = self.put_back(&writing);
        }
        writing.stopped = true;
    }

    fn put_back(&self, writing: &Writing) -> io::Result<()> {
        if let Some(length) = writing.length {
            self.inner.set_len(length)?;
        }
        self.inner.write(0, &writing.header)?;
        self.inner.sync_data()
    }

    /// A commit begins. From now on the header is not put back.
    pub(super) fn commits(&self) {
        self.writing().committed = true;
    }

    /// The attempt to open the file is over. Its locks are released now, or when the store is closed.
    pub(super) fn settle(&self, is_open: bool) {
        self.keeps_locks.store(false, Ordering::Release);
        if !is_open {
            self.release();
        }
    }

    /// Releases the locks, which redb may not do after a panic. Not while the file is being opened.
    pub(super) fn release(&self) {
        if !self.keeps_locks.load(Ordering::Acquire) {
            // A lock that cannot be released ends with the process.
            let _ = self.inner.close();
        }
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, change: impl FnOnce(&mut Writing) -> io::Result<()>) -> io::Result<()> {
        let mut writing = self.writing();
        if writing.stopped {
            return Err(io::Error::other("the file is damaged, and no more is written to it"));
        }
        change(&mut writing)
    }

    /// `true` if the page lies in the file.
    fn holds(&self, page: Pointer) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        let Some(regions) = self.regions.get().filter(|_| length > 0) else { return true };
        // redb itself refuses pointers without a place.
        regions.place(page).is_none_or(|place| place.end <= length)
    }

    /// Notes the sizes of the regions.
    fn learn(&self, header: &[u8]) {
        if let Some(regions) = Regions::of(header) {
            let _ = self.regions.set(regions);
        }
    }

    /// Makes redb refuse what it would stumble over: pages that cannot be pages, and wild pointers.
    ///
    /// ```text
    /// a leaf page:    1 │ 0 │ entries (u16) │ where each key ends (u32) │ where each value ends (u32) │ keys │ values
    /// a branch page:  2 │ 0 │ keys (u16) │ 4 bytes │ a checksum (16 bytes) for each child │ a pointer (8 bytes) for each child │ …
    /// ```
    fn defuse(&self, page: &mut [u8]) {
        let [kind, _, low, high, ..] = *page else { return };
        let count = usize::from(u16::from_le_bytes([low, high]));
        let pointers = 8 + 16 * (count + 1)..8 + 24 * (count + 1);
        match kind {
            1 if is_leaf(page, count) => {}
            2 if count > 0 && pointers.end <= page.len() => {
                for bytes in page[pointers].chunks_exact_mut(8) {
                    let pointer = Pointer(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
                    if !self.holds(pointer) {
                        bytes.copy_from_slice(&pointer.refused().0.to_le_bytes());
                    }
                }
            }
            _ => refuse_page(page),
        }
    }
}

/// `true` if the page can be a leaf of one of the tables. Ours have keys and values of any length. redb's own have keys of at
/// least 5 bytes, all of one length, and no ends of keys. (This is why the version of redb is fixed in `Cargo.toml`.)
fn is_leaf(page: &[u8], count: usize) -> bool {
    let rising = |table: usize, from: usize| {
        let mut ends = page.get(table..table + 4 * count)?.chunks_exact(4);
        ends.try_fold(from, |last, end| {
            let end = u32::from_le_bytes(end.try_into().ok()?) as usize;
            (last <= end && end <= page.len()).then_some(end)
        })
    };
    let ours = || rising(4, 4 + 8 * count).and_then(|keys| rising(4 + 4 * count, keys));
    count > 0 && (ours().is_some() || rising(4, 4 + 9 * count).is_some())
}

/// A branch page with an empty key, and with pointers that redb refuses. In place of a page that makes no sense: redb panics
/// at that, even in destructors while it panics already, which aborts the process.
fn refuse_page(page: &mut [u8]) {
    page.fill(0);
    if let Some((start, _)) = page.split_first_chunk_mut::<60>() {
        start[0] = 2;
        start[2] = 1;
        let refused = Pointer(0).refused().0.to_le_bytes();
        start[40..48].copy_from_slice(&refused);
        start[48..56].copy_from_slice(&refused);
        // Where the key ends.
        start[56] = 60;
    }
}

/// The half of a [`Fence`] that redb owns.
#[derive(Debug)]
pub(super) struct Fenced(pub(super) Arc<Fence>);

impl StorageBackend for Fenced {
    fn len(&self) -> io::Result<u64> {
        let length = self.0.inner.len()?;
        self.0.length.store(length, Ordering::Relaxed);
        Ok(length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.inner.read(offset, out)?;
        if offset > 0 {
            self.0.compare(offset, out);
            self.0.defuse(out);
            return Ok(());
        }
        self.0.learn(out);
        let mut writing = self.0.writing();
        if !writing.header_written && out.len() > writing.header.len() {
            writing.header = out.to_vec();
        }
        drop(writing);
        self.0.begin(out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.write(|writing| {
            writing.length = writing.length.or(self.0.inner.len().ok());
            self.0.inner.set_len(len)?;
            self.0.length.store(len, Ordering::Relaxed);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(|writing| {
            if offset == 0 {
                writing.header_written = true;
                self.0.learn(data);
            }
            let len = data.len() as u64;
            self.0.expected.write().unwrap_or_else(PoisonError::into_inner).forget(offset, len);
            self.0.inner.write(offset, data)?;
            self.0.length.fetch_max(offset + len, Ordering::Relaxed);
            Ok(())
        })
    }

    fn close(&self) -> io::Result<()> {
        if self.0.keeps_locks.load(Ordering::Acquire) { Ok(()) } else { self.0.inner.close() }
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.inner.query_lock_range(start, end)
    }
}
