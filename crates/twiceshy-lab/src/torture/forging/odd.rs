//! Things in the snapshot's place that must not be read to their end.

use super::layout::FIELDS;
use crate::workload::rng::Rng;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// The lengths of a huge file, the first that the disk allows. It takes no room: nothing is written to it.
const LENGTHS: [u64; 3] = [1 << 40, 1 << 36, 1 << 32];

/// A huge file that begins like a snapshot: like the store's own, or like one that says how long it is.
pub(super) fn huge(path: &Path, own: &[u8], rng: &mut Rng) -> io::Result<()> {
    let mut file = File::create(path)?;
    let len = LENGTHS.into_iter().find(|len| file.set_len(*len).is_ok());
    let len = len.ok_or_else(|| io::Error::other("the disk allows no huge file"))?;
    file.write_all(own)?;
    if rng.below(2) == 0 {
        drop(file);
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.write_all(&own[..FIELDS - 8])?;
        file.write_all(&(len - (FIELDS as u64 + 64)).to_le_bytes())?;
    }
    Ok(())
}

/// A pipe that nobody writes to. Opening it waits for a writer.
pub(super) fn pipe(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)?;
    let made = Command::new("mkfifo").arg(path).status()?;
    if made.success() { Ok(()) } else { Err(io::Error::other(format!("mkfifo failed: {made}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_file_begins_like_a_snapshot_and_is_huge() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, own) = (folder.path().join("snapshot"), [7; 200]);
        for seed in 0..4 {
            huge(&path, &own, &mut Rng::new(seed)).expect("a folder");
            let mut begins = [0; FIELDS - 8];
            io::Read::read_exact(&mut File::open(&path).expect("a file"), &mut begins).expect("a long file");
            assert_eq!(begins, own[..FIELDS - 8]);
            assert!(path.metadata().expect("a file").len() >= 1 << 32);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot");
        std::fs::write(&path, b"a snapshot").expect("a folder");
        pipe(&path).expect("mkfifo");
        use std::os::unix::fs::FileTypeExt;
        assert!(path.metadata().expect("a pipe").file_type().is_fifo());
    }
}
