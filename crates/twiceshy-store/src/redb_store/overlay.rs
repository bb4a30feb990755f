//! A file that is only read. What redb writes stays in memory.

use super::file::{MAGIC, NEW, is_unfinished};
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{OnceLock, PoisonError, RwLock};

/// Changes are kept by chunks of this size: a page.
const CHUNK: usize = 4_096;

/// Reads a file, and keeps all writes in memory. So redb can repair a file that was not closed properly, and check it,
/// and the file does not change. Its locks are shared ones: many can read a file at once, while nobody writes to it.
#[derive(Debug)]
pub(super) struct Overlay {
    file: FileBackend,
    /// Begins with the first read, when redb has taken the locks.
    changes: OnceLock<RwLock<Changes>>,
}

#[derive(Debug)]
struct Changes {
    chunks: BTreeMap<u64, Box<[u8; CHUNK]>>,
    len: u64,
    /// The file's bytes are seen up to here. Later ones were cut off.
    seen: u64,
}

impl Overlay {
    pub(super) fn new(file: FileBackend) -> Overlay {
        Overlay { file, changes: OnceLock::new() }
    }

    fn changes(&self) -> io::Result<&RwLock<Changes>> {
        if let Some(changes) = self.changes.get() {
            return Ok(changes);
        }
        // A file whose creation was interrupted holds nothing.
        let len = if self.is_unfinished()? { 0 } else { self.file.len()? };
        Ok(self.changes.get_or_init(|| RwLock::new(Changes { chunks: BTreeMap::new(), len, seen: len })))
    }

    #[cfg(feature = "testing")]
    pub(super) fn file(&self) -> &FileBackend {
        &self.file
    }

    /// Writes all changes to the file, and syncs it.
    #[cfg(feature = "testing")]
    pub(super) fn flush(&self) -> io::Result<()> {
        let mut changes = self.changes()?.write().unwrap_or_else(PoisonError::into_inner);
        self.file.set_len(changes.len)?;
        for (number, chunk) in std::mem::take(&mut changes.chunks) {
            let offset = number * CHUNK as u64;
            let there = changes.len.saturating_sub(offset).min(CHUNK as u64) as usize;
            self.file.write(offset, &chunk[..there])?;
        }
        changes.seen = changes.len;
        self.file.sync_data()
    }

    fn is_unfinished(&self) -> io::Result<bool> {
        let len = self.file.len()?;
        let mut magic = [0; MAGIC];
        if len < MAGIC as u64 || len > NEW {
            return Ok(false);
        }
        self.file.read(0, &mut magic)?;
        let mut bytes = vec![0; if magic == [0; MAGIC] { len as usize } else { 0 }];
        self.file.read(0, &mut bytes)?;
        Ok(is_unfinished(&bytes))
    }

    /// The bytes from `offset` on, without the changes: zeros where the file has none.
    fn read_file(&self, seen: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = usize::try_from(seen.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let (from_file, zeros) = out.split_at_mut(there);
        zeros.fill(0);
        if from_file.is_empty() { Ok(()) } else { self.file.read(offset, from_file) }
    }
}

/// The chunks that `len` bytes from `offset` on touch: number, the range in the chunk, and the range in the bytes.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let start = (at % CHUNK as u64) as usize;
        let count = (CHUNK - start).min(len - done);
        let piece = (at / CHUNK as u64, start..start + count, done..done + count);
        done += count;
        (count > 0).then_some(piece)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changes()?.read().unwrap_or_else(PoisonError::into_inner).len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changes = self.changes()?.read().unwrap_or_else(PoisonError::into_inner);
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > changes.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_file(changes.seen, offset, out)?;
        for (number, inside, piece) in pieces(offset, out.len()) {
            if let Some(chunk) = changes.chunks.get(&number) {
                out[piece].copy_from_slice(&chunk[inside]);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut changes = self.changes()?.write().unwrap_or_else(PoisonError::into_inner);
        let end = (len % CHUNK as u64) as usize;
        let last = len / CHUNK as u64;
        changes.chunks.split_off(&(last + u64::from(end > 0)));
        if let Some(chunk) = changes.chunks.get_mut(&last) {
            chunk[end..].fill(0);
        }
        changes.len = len;
        changes.seen = changes.seen.min(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changes = self.changes()?.write().unwrap_or_else(PoisonError::into_inner);
        for (number, inside, piece) in pieces(offset, data.len()) {
            if !changes.chunks.contains_key(&number) {
                let mut chunk = Box::new([0; CHUNK]);
                self.read_file(changes.seen, number * CHUNK as u64, &mut chunk[..])?;
                changes.chunks.insert(number, chunk);
            }
            if let Some(chunk) = changes.chunks.get_mut(&number) {
                chunk[inside].copy_from_slice(&data[piece]);
            }
        }
        changes.len = changes.len.max(offset + data.len() as u64);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
