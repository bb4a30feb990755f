//! A disk that forgets what was not synced.

use super::overlay::Overlay;
use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;

/// Keeps writes in memory until they are synced. If the process is killed, the file is what a loss of power would leave.
#[derive(Debug)]
pub(super) struct Volatile(pub(super) Overlay);

impl StorageBackend for Volatile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.flush()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file().try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file().unlock_range(start, end)
    }
}
