//! The filter's snapshot beside the store. Its bytes are described in `docs/format.md`.

use crate::state::Mark;
use std::io::{self, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"TWSYSNAP";
pub(crate) const VERSION: u16 = 1;
/// Magic, version, identity, number, tag, checksum of the filter's bytes, and checksum of the header.
const HEADER: usize = 8 + 2 + 16 + 8 + 8 + 4 + 4;

/// A snapshot as read: which store and commit it belongs to, and its filter's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) identity: [u8; 16],
    pub(crate) mark: Mark,
    pub(crate) filter: Vec<u8>,
}

/// What is at the path.
#[derive(Debug)]
pub(crate) enum Found {
    Whole(Snapshot),
    /// No snapshot, or none that can be trusted.
    Nothing,
    Newer(u16),
}

pub(crate) fn header(identity: [u8; 16], mark: Mark, filter: &[u8]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend(identity);
    header.extend(mark.number.to_le_bytes());
    header.extend(mark.tag.to_le_bytes());
    header.extend(crc32fast::hash(filter).to_le_bytes());
    header.extend(crc32fast::hash(&header).to_le_bytes());
    header
}

pub(crate) fn parse(mut bytes: Vec<u8>) -> Found {
    if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
        return Found::Nothing;
    }
    let filter = bytes.split_off(HEADER);
    let (header, sum) = bytes.split_at(HEADER - 4);
    if crc32fast::hash(header).to_le_bytes() != *sum {
        return Found::Nothing;
    }
    let number = |at: usize| header[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let version = u16::from_le_bytes([header[8], header[9]]);
    if version > VERSION {
        return Found::Newer(version);
    }
    if crc32fast::hash(&filter).to_le_bytes() != header[42..46] {
        return Found::Nothing;
    }
    let mut identity = [0; 16];
    identity.copy_from_slice(&header[10..26]);
    Found::Whole(Snapshot { identity, mark: Mark { number: number(26), tag: number(34) }, filter })
}

/// Reads a snapshot. An unreadable one counts as missing.
pub(crate) fn read(path: &Path) -> Found {
    std::fs::read(path).map_or(Found::Nothing, parse)
}

/// Deletes a snapshot durably.
pub(crate) fn delete(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_folder(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a snapshot to a temporary file, syncs it, and renames it into place.
pub(crate) fn write(path: &Path, header: &[u8], filter: &[u8]) -> io::Result<()> {
    // Appended to the whole name: two snapshots in a folder may differ only in their extension.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(header)?;
    file.write_all(filter)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(&beside, path)?;
    sync_folder(path)
}

/// Syncs a file's entry in its folder.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    // Only Unix needs and allows this.
    if cfg!(unix)
        && let Some(folder) = path.parent()
    {
        // A bare file name is in the current folder.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_read_as_written_and_every_damage_is_detected() {
        let mark = Mark { number: 77, tag: u64::MAX - 5 };
        let mut bytes = header([9; 16], mark, b"a filter");
        assert_eq!(bytes.len(), HEADER);
        bytes.extend(b"a filter");
        let whole = |bytes: &[u8]| matches!(parse(bytes.to_vec()), Found::Whole(_));
        match parse(bytes.clone()) {
            Found::Whole(snapshot) => {
                assert_eq!(snapshot, Snapshot { identity: [9; 16], mark, filter: b"a filter".to_vec() });
            }
            other => panic!("{other:?}"),
        }
        assert!((0..bytes.len()).all(|len| !whole(&bytes[..len])));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(!whole(&damaged), "byte {at}");
        }
        let mut newer = bytes;
        newer[8] = 2;
        let sum = crc32fast::hash(&newer[..HEADER - 4]);
        newer[HEADER - 4..HEADER].copy_from_slice(&sum.to_le_bytes());
        assert!(matches!(parse(newer), Found::Newer(2)));
    }
}
