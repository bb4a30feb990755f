//! Files of redb: making them, and making those again whose creation was interrupted.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens the file for reading and writing, or creates it for its owner alone. `true` if it is new.
pub(super) fn open_or_create(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    // Another process may create or delete it in between: the third attempt's answer is given as it is.
    for _ in 0..2 {
        match options.clone().open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map(|file| (file, false)),
        }
        match create(options.clone(), path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, true)),
        }
    }
    options.open(path).map(|file| (file, false))
}

fn create(mut options: OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create_new(true).open(path)
}

/// The length of redb's magic bytes.
pub(super) const MAGIC: usize = 9;
/// The header lies within these bytes. After it, only zeros are written before the magic.
const HEADER: usize = 4_096;
/// New files are smaller than this.
pub(super) const NEW: u64 = 4 << 20;

/// redb writes the magic of a new file last, and refuses a file without it. A crash just before leaves a file that holds
/// nothing and cannot be opened. This empties such a file, so that it can be created again. `true` if it did.
pub(super) fn clear_unfinished(path: &Path) -> io::Result<bool> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    // A process that has it open is about to write the magic.
    if file.try_lock().is_err() || file.metadata()?.len() > NEW {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let unfinished = is_unfinished(&bytes);
    if unfinished {
        file.set_len(0)?;
    }
    Ok(unfinished)
}

/// `true` if these are the bytes of a file whose creation was interrupted.
pub(super) fn is_unfinished(bytes: &[u8]) -> bool {
    bytes.len() > HEADER && bytes[..MAGIC].iter().chain(&bytes[HEADER..]).all(|byte| *byte == 0)
}
