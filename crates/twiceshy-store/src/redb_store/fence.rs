//! What lies between redb and a file.

use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The size of a page of order 0. redb has no others so far.
const PAGE: u64 = 4_096;
/// A byte of flags in the header, and the flag of a file that is open or was not closed properly.
const GOD_BYTE: usize = 9;
const RECOVERY_REQUIRED: u8 = 2;

/// Passes reads, writes and locks of redb on, and does three things more:
///
/// * It can be *stopped*: then redb writes no more. After a panic redb's memory cannot be trusted, so the file stays as a
///   crash would leave it. If there was no commit since the file was opened, its header is put back. redb never changes
///   a page of the last commit in place, so the file is as it was, and can be opened without a repair, which may not be
///   possible.
/// * It *keeps* the locks while a file is being opened, so that a new file can be removed before anyone else gets it.
/// * It *defuses* damaged pages: those that cannot be pages, and pointers beyond the end of the file. redb allocates memory
///   for a page, up to 4 GiB, before it finds that the page is not there, and refuses all reads afterwards.
#[derive(Debug)]
pub(super) struct Fence {
    inner: Box<dyn StorageBackend>,
    keeps_locks: AtomicBool,
    writing: Mutex<Writing>,
    /// 0 while it is not known.
    length: AtomicU64,
    /// The bytes of a region and of its header. 0 while they are not known.
    region: AtomicU64,
    region_header: AtomicU64,
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
        self.header.get(GOD_BYTE).is_some_and(|byte| byte & RECOVERY_REQUIRED == 0)
    }
}

impl Fence {
    pub(super) fn new(inner: impl StorageBackend) -> Arc<Fence> {
        Arc::new(Fence {
            inner: Box::new(inner),
            keeps_locks: AtomicBool::new(true),
            writing: Mutex::default(),
            length: AtomicU64::new(0),
            region: AtomicU64::new(0),
            region_header: AtomicU64::new(0),
        })
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

    /// Notes the size of the regions. It never changes.
    fn learn(&self, header: &[u8]) {
        let number = |at: usize| {
            let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(bytes)))
        };
        let (header_pages, data_pages) = (number(16), number(20));
        if data_pages > 0 {
            self.region_header.store(header_pages * PAGE, Ordering::Relaxed);
            self.region.store((header_pages + data_pages) * PAGE, Ordering::Relaxed);
        }
    }

    /// `true` if the page lies in the file.
    fn holds(&self, page: u64) -> bool {
        let region = self.region.load(Ordering::Relaxed);
        let length = self.length.load(Ordering::Relaxed);
        let order = page >> 59;
        // redb itself refuses an order above 20.
        if region == 0 || length == 0 || order > 20 {
            return true;
        }
        let size = PAGE << order;
        let index = page & (0xF_FFFF >> order);
        let start = PAGE + (page >> 20 & 0xF_FFFF) * region + self.region_header.load(Ordering::Relaxed) + index * size;
        start + size <= length
    }

    /// Makes redb refuse what it would stumble over: pages that cannot be pages, and wild pointers.
    ///
    /// ```text
    /// a leaf page:    1 │ 0 │ entries (u16) │ where each key ends (u32) │ where each value ends (u32) │ keys │ values
    /// a branch page:  2 │ 0 │ keys (u16) │ 4 bytes │ a checksum (16 bytes) for each child │ a pointer (8 bytes) for each child │ …
    /// a pointer:      index (20 bits) │ region (20 bits) │ 19 bits │ order (5 bits)
    /// ```
    fn defuse(&self, page: &mut [u8]) {
        let [kind, _, low, high, ..] = *page else { return };
        let count = usize::from(u16::from_le_bytes([low, high]));
        let pointers = 8 + 16 * (count + 1)..8 + 24 * (count + 1);
        match kind {
            1 if is_leaf(page, count) => {}
            2 if count > 0 && pointers.end <= page.len() => {
                for bytes in page[pointers].chunks_exact_mut(8) {
                    let pointer = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                    if !self.holds(pointer) {
                        bytes.copy_from_slice(&(pointer | REFUSED).to_le_bytes());
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

/// redb refuses a pointer of this order, with an error.
const REFUSED: u64 = 31 << 59;

/// A branch page with an empty key, and with pointers that redb refuses. In place of a page that makes no sense: redb panics
/// at that, even in destructors while it panics already, which aborts the process.
fn refuse_page(page: &mut [u8]) {
    page.fill(0);
    if let Some((start, _)) = page.split_first_chunk_mut::<60>() {
        start[0] = 2;
        start[2] = 1;
        start[40..48].copy_from_slice(&REFUSED.to_le_bytes());
        start[48..56].copy_from_slice(&REFUSED.to_le_bytes());
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
            self.0.defuse(out);
            return Ok(());
        }
        self.0.learn(out);
        let mut writing = self.0.writing();
        if !writing.header_written && out.len() > writing.header.len() {
            writing.header = out.to_vec();
        }
        Ok(())
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
            self.0.inner.write(offset, data)?;
            self.0.length.fetch_max(offset + data.len() as u64, Ordering::Relaxed);
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
