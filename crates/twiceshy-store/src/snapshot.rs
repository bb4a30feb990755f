//! The filter's snapshot beside the store. Its bytes are described in `docs/format.md`.

use crate::state::{Mark, State};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"TWSYSNAP";
/// Version 1 was not authenticated, and is not read.
const VERSION: u16 = 2;
/// Magic, version, number, tag, and the length of the filter's bytes.
const FIELDS: usize = 8 + 2 + 8 + 8 + 8;
/// The fields and their code.
const HEADER: usize = FIELDS + CODE;
/// The length of an authentication code.
const CODE: usize = 32;

/// The key that authenticates a store's snapshots.
pub(crate) struct SnapshotKey([u8; 32]);

impl SnapshotKey {
    pub(crate) fn of(state: &State) -> SnapshotKey {
        let mut secret = state.secret.0.to_vec();
        secret.extend(state.identity);
        SnapshotKey(blake3::derive_key("twiceshy 2026-11-17 snapshot of a filter", &secret))
    }

    fn hasher(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&self.0)
    }
}

/// What comes before the filter's bytes. It has its own code, so that no length is believed that the store has not written.
fn header(key: &SnapshotKey, mark: Mark, len: u64) -> [u8; HEADER] {
    let mut fields = MAGIC.to_vec();
    fields.extend(VERSION.to_le_bytes());
    for number in [mark.number, mark.tag, len] {
        fields.extend(number.to_le_bytes());
    }
    let code = key.hasher().update(&fields).finalize();
    let mut header = [0; HEADER];
    header[..FIELDS].copy_from_slice(&fields);
    header[FIELDS..].copy_from_slice(code.as_bytes());
    header
}

/// The commit and the length in a header; `None` if this store has not written it.
fn parse(key: &SnapshotKey, header: &[u8; HEADER]) -> Option<(Mark, u64)> {
    let number = |at: usize| header[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let (mark, len) = (Mark { number: number(10), tag: number(18) }, number(26));
    // Constant time: the comparison of hashes, not of bytes.
    let own = blake3::Hash::from_bytes(*self::header(key, mark, len).last_chunk()?);
    let found = blake3::Hash::from_bytes(*header.last_chunk()?);
    let magic_and_version = MAGIC.iter().copied().chain(VERSION.to_le_bytes());
    (header.iter().copied().take(10).eq(magic_and_version) && own == found).then_some((mark, len))
}

/// Reads a snapshot with `load`, which gets the snapshot's commit and the filter's bytes. `None` if there is no snapshot, if
/// it cannot be read, or if this store has not written it: then what `load` has read is dropped.
///
/// The bytes are checked as they are read, so no more is read and no more memory is used than a filter needs.
pub(crate) fn read<T>(
    path: &Path,
    key: &SnapshotKey,
    load: impl FnOnce(Mark, &mut dyn Read) -> Option<T>,
) -> Option<T> {
    // Opening a pipe would wait for its writer.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let size = file.metadata().ok().filter(|about| about.is_file())?.len();
    let mut file = BufReader::new(file);
    let mut bytes = [0; HEADER];
    file.read_exact(&mut bytes).ok()?;
    let (mark, len) = parse(key, &bytes)?;
    if len.checked_add((HEADER + CODE) as u64) != Some(size) {
        return None;
    }
    let mut hasher = key.hasher();
    hasher.update(&bytes);
    let mut content = Hashed { from: file.take(len), hasher };
    let loaded = load(mark, &mut content)?;
    let whole = content.from.limit() == 0;
    let mut code = [0; CODE];
    content.from.into_inner().read_exact(&mut code).ok()?;
    (whole && content.hasher.finalize() == blake3::Hash::from_bytes(code)).then_some(loaded)
}

/// A reader that hashes what it reads.
struct Hashed<R> {
    from: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(out)?;
        self.hasher.update(&out[..read]);
        Ok(read)
    }
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
pub(crate) fn write(path: &Path, key: &SnapshotKey, mark: Mark, filter: &[u8]) -> io::Result<()> {
    // Appended to the whole name: two snapshots in a folder may differ only in their extension.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    let header = header(key, mark, filter.len() as u64);
    let code = key.hasher().update(&header).update(filter).finalize();
    let written = create_private(beside, path).and_then(|mut file| {
        file.write_all(&header)?;
        file.write_all(filter)?;
        file.write_all(code.as_bytes())?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(beside, path));
    if renamed.is_err() {
        // On a full disk it would only take room.
        drop(std::fs::remove_file(beside));
    }
    renamed?;
    sync_folder(path)
}

/// Creates a file that only its owner can read, since it holds the hash key. It gets the permissions of the file that it will
/// replace, if there is one of the same owner. A file or link with this name is deleted, never written to.
pub(crate) fn create_private(path: &Path, replaced: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    if let Some(about) = replaced.symlink_metadata().ok().filter(|about| about.is_file()) {
        use std::os::unix::fs::MetadataExt;
        if about.uid() == file.metadata()?.uid() {
            file.set_permissions(about.permissions())?;
        }
    }
    #[cfg(not(unix))]
    let _ = replaced;
    Ok(file)
}

/// Syncs a file's entry in its folder.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    // Only Unix needs and allows this.
    if cfg!(unix)
        && let Some(folder) = path.parent()
    {
        // A bare file name is in the current folder.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Secret;

    const MARK: Mark = Mark { number: 77, tag: u64::MAX - 5 };

    fn key(secret: u8) -> SnapshotKey {
        SnapshotKey::of(&State::new([9; 16], Secret([secret; 32]), Vec::new()))
    }

    fn read_with(path: &Path, key: &SnapshotKey) -> Option<(Mark, Vec<u8>)> {
        read(path, key, |mark, from| {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).ok()?;
            Some((mark, bytes))
        })
    }

    #[test]
    fn a_snapshot_is_read_as_written_and_every_damage_is_detected() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot");
        write(&path, &key(1), MARK, b"a filter").expect("a folder");
        assert_eq!(read_with(&path, &key(1)), Some((MARK, b"a filter".to_vec())));
        assert_eq!(read_with(&path, &key(2)), None, "another store's");
        let bytes = std::fs::read(&path).expect("a file");
        assert_eq!(bytes.len(), HEADER + 8 + CODE);
        for len in 0..bytes.len() {
            std::fs::write(&path, &bytes[..len]).expect("a folder");
            assert_eq!(read_with(&path, &key(1)), None, "{len} bytes");
        }
        std::fs::write(&path, [&bytes[..], b"\0"].concat()).expect("a folder");
        assert_eq!(read_with(&path, &key(1)), None, "a byte too many");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).expect("a folder");
            assert_eq!(read_with(&path, &key(1)), None, "byte {at}");
        }
    }

    #[test]
    fn nothing_is_read_behind_a_header_that_the_store_has_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot");
        write(&path, &key(1), MARK, b"a filter").expect("a folder");
        let mut reads = 0;
        for (secret, expected) in [(1, 1), (2, 1)] {
            read(&path, &key(secret), |_, _| {
                reads += 1;
                None::<()>
            });
            assert_eq!(reads, expected);
        }
    }

    #[test]
    fn a_filter_that_does_not_use_all_its_bytes_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot");
        write(&path, &key(1), MARK, b"a filter").expect("a folder");
        let some = read(&path, &key(1), |_, from| {
            let mut bytes = [0; 3];
            from.read_exact(&mut bytes).ok()
        });
        assert_eq!(some, None);
    }

    #[cfg(unix)]
    #[test]
    fn a_snapshot_is_for_its_owner_alone_unless_its_permissions_were_changed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot");
        let mode = || path.metadata().expect("a file").permissions().mode() & 0o777;
        write(&path, &key(1), MARK, b"a filter").expect("a folder");
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("its owner");
        write(&path, &key(1), MARK, b"another").expect("a folder");
        assert_eq!(mode(), 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_temporary_files_place_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, victim) = (folder.path().join("snapshot"), folder.path().join("victim"));
        std::fs::write(&victim, b"precious").expect("a folder");
        std::os::unix::fs::symlink(&victim, folder.path().join("snapshot.new")).expect("a folder");
        write(&path, &key(1), MARK, b"a filter").expect("a folder");
        assert_eq!(std::fs::read(&victim).expect("a file"), b"precious");
        assert_eq!(read_with(&path, &key(1)), Some((MARK, b"a filter".to_vec())));
    }
}
