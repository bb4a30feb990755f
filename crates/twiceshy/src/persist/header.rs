//! The fixed header: the offset of each field, its encoding, and the order of the checks.
//!
//! ```text
//!  0        8    10   12       16            24            32       36          44         52        60       64
//!  ┌────────┬────┬────┬────────┬─────────────┬─────────────┬────────┬───────────┬──────────┬─────────┬────────┐
//!  │ magic  │ver │kind│ header │ payload     │ sequence    │payload │ stamp:    │ stamp:   │ stamp:  │ header │
//!  │        │    │    │ length │ length      │ number      │checksum│ history   │ changes  │committed│checksum│
//!  └────────┴────┴────┴────────┴─────────────┴─────────────┴────────┴───────────┴──────────┴─────────┴────────┘
//!  ╰── same in every version ──╯                                             always the last four bytes ╰──────╯
//! ```
//!
//! Version 1 had no stamp: its 24 bytes are zero. A filter from such a file takes a stamp from the file's checksum.

use std::io::{self, Read};
use std::ops::Range;

use super::{LoadError, Part};
use crate::plan::Stamp;

/// The version that is written, and the newest that is read.
pub(super) const VERSION: u16 = 2;

/// The version before stamps.
const WITHOUT_STAMP: u16 = 1;

const MAGIC: &[u8; 8] = b"TWICESHY";

const MAGIC_AT: Range<usize> = 0..MAGIC.len();
const VERSION_AT: Range<usize> = after(&MAGIC_AT, size_of::<u16>());
const KIND_AT: Range<usize> = after(&VERSION_AT, size_of::<u16>());
const HEADER_LEN_AT: Range<usize> = after(&KIND_AT, size_of::<u32>());
const PAYLOAD_LEN_AT: Range<usize> = after(&HEADER_LEN_AT, size_of::<u64>());
const SEQUENCE_AT: Range<usize> = after(&PAYLOAD_LEN_AT, size_of::<u64>());
const PAYLOAD_CRC_AT: Range<usize> = after(&SEQUENCE_AT, size_of::<u32>());
const HISTORY_AT: Range<usize> = after(&PAYLOAD_CRC_AT, size_of::<u64>());
const CHANGES_AT: Range<usize> = after(&HISTORY_AT, size_of::<u64>());
const COMMITTED_AT: Range<usize> = after(&CHANGES_AT, size_of::<u64>());
const HEADER_CRC_AT: Range<usize> = after(&COMMITTED_AT, size_of::<u32>());

/// The header's length.
pub(super) const HEADER_LEN: usize = HEADER_CRC_AT.end;

/// The longest header of any version, so that a reader can check the header of a version that it does not know.
const MAX_HEADER_LEN: usize = 4096;

const fn after(previous: &Range<usize>, size: usize) -> Range<usize> {
    previous.end..previous.end + size
}

/// The header's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u16,
    pub(super) sequence: u64,
    pub(super) payload_len: u64,
    pub(super) payload_crc: u32,
    pub(super) stamp: Stamp,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[MAGIC_AT].copy_from_slice(MAGIC);
        bytes[VERSION_AT].copy_from_slice(&VERSION.to_le_bytes());
        bytes[KIND_AT].copy_from_slice(&self.kind.to_le_bytes());
        bytes[HEADER_LEN_AT].copy_from_slice(&(HEADER_LEN as u32).to_le_bytes());
        bytes[PAYLOAD_LEN_AT].copy_from_slice(&self.payload_len.to_le_bytes());
        bytes[SEQUENCE_AT].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[PAYLOAD_CRC_AT].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[HISTORY_AT].copy_from_slice(&self.stamp.history.to_le_bytes());
        bytes[CHANGES_AT].copy_from_slice(&self.stamp.changes.to_le_bytes());
        bytes[COMMITTED_AT].copy_from_slice(&self.stamp.committed.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// Reads a header and checks it. The checksum is checked before the version: a damaged version number is damage, not a
    /// later release.
    pub(super) fn read(source: &mut (impl Read + ?Sized)) -> Result<Self, LoadError> {
        let bytes = read_whole(source)?;
        let (covered, crc) = bytes.split_last_chunk().ok_or(LoadError::Truncated)?;
        if crc32fast::hash(covered) != u32::from_le_bytes(*crc) {
            return Err(LoadError::Checksum { which: Part::Header });
        }
        match u16::from_le_bytes(field(&bytes, VERSION_AT)?) {
            0 => Err(LoadError::invalid("its format has the version 0")),
            version @ WITHOUT_STAMP..=VERSION => Self::decode(&bytes, version),
            found => Err(LoadError::NewerVersion { found, supported: VERSION }),
        }
    }

    fn decode(bytes: &[u8], version: u16) -> Result<Self, LoadError> {
        if bytes.len() != HEADER_LEN {
            return Err(LoadError::invalid(format!("its header has {} bytes, not {HEADER_LEN}", bytes.len())));
        }
        let stamp = Stamp {
            history: u64::from_le_bytes(field(bytes, HISTORY_AT)?),
            changes: u64::from_le_bytes(field(bytes, CHANGES_AT)?),
            committed: u64::from_le_bytes(field(bytes, COMMITTED_AT)?),
        };
        let without = version == WITHOUT_STAMP;
        if without && stamp != Stamp::default() {
            return Err(LoadError::invalid("a reserved byte of its header is not zero"));
        }
        let sequence = u64::from_le_bytes(field(bytes, SEQUENCE_AT)?);
        let payload_crc = u32::from_le_bytes(field(bytes, PAYLOAD_CRC_AT)?);
        let payload_len = u64::from_le_bytes(field(bytes, PAYLOAD_LEN_AT)?);
        let kind = u16::from_le_bytes(field(bytes, KIND_AT)?);
        let stamp = if without { Stamp::new(&[payload_crc.into(), sequence, kind.into(), payload_len]) } else { stamp };
        Ok(Self { kind, sequence, stamp, payload_len, payload_crc })
    }
}

/// Reads as many bytes as the header claims; only the magic bytes and that length have been checked.
fn read_whole(source: &mut (impl Read + ?Sized)) -> Result<Vec<u8>, LoadError> {
    let mut bytes = read_up_to(source, HEADER_LEN_AT.end)?;
    let magic = bytes.get(MAGIC_AT).unwrap_or(&bytes);
    if !MAGIC.starts_with(magic) {
        return Err(LoadError::NotAFilter);
    }
    let claimed = u32::from_le_bytes(field(&bytes, HEADER_LEN_AT)?);
    let len = usize::try_from(claimed).unwrap_or(usize::MAX);
    if !(HEADER_LEN_AT.end + size_of::<u32>()..=MAX_HEADER_LEN).contains(&len) {
        return Err(LoadError::invalid(format!("its header claims a length of {claimed} bytes")));
    }
    bytes.append(&mut read_up_to(source, len - bytes.len())?);
    if bytes.len() < len {
        return Err(LoadError::Truncated);
    }
    Ok(bytes)
}

fn field<const N: usize>(bytes: &[u8], at: Range<usize>) -> Result<[u8; N], LoadError> {
    bytes.get(at).and_then(|field| field.try_into().ok()).ok_or(LoadError::Truncated)
}

/// Writes the checksum of a header of any length into its last four bytes.
pub(super) fn seal(header: &mut [u8]) {
    if let Some((covered, crc)) = header.split_last_chunk_mut() {
        *crc = crc32fast::hash(covered).to_le_bytes();
    }
}

/// The next `limit` bytes, or fewer if the source ends.
pub(super) fn read_up_to(source: &mut (impl Read + ?Sized), limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(limit);
    source.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        let stamp = Stamp { history: 13, changes: 17, committed: 19 };
        Header { kind: 3, sequence: 5, payload_len: 7, payload_crc: 11, stamp }
    }

    /// A header with `value` at `at`, and a matching checksum.
    fn forged<const N: usize>(at: Range<usize>, value: [u8; N]) -> Vec<u8> {
        let mut bytes = header().encode();
        bytes[at].copy_from_slice(&value);
        seal(&mut bytes);
        bytes.to_vec()
    }

    fn read(bytes: &[u8]) -> Result<Header, LoadError> {
        Header::read(&mut &*bytes)
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        assert_eq!(read(&header().encode()).expect("a whole header"), header());
    }

    #[test]
    fn the_header_has_the_length_that_the_format_gives() {
        assert_eq!(HEADER_LEN, 64);
    }

    #[test]
    fn another_file_is_not_called_truncated_however_short() {
        for other in [b"P".as_slice(), b"TWICE shy", &[0; 100]] {
            assert!(matches!(read(other), Err(LoadError::NotAFilter)));
        }
    }

    #[test]
    fn a_newer_version_is_named_when_its_header_is_intact() {
        let error = read(&forged(VERSION_AT, 3u16.to_le_bytes())).expect_err("version 3");
        assert!(matches!(error, LoadError::NewerVersion { found: 3, supported: 2 }), "{error}");
    }

    #[test]
    fn a_newer_version_may_have_a_longer_header() {
        let mut bytes = forged(VERSION_AT, 3u16.to_le_bytes());
        bytes.resize(100, 0xaa);
        bytes[HEADER_LEN_AT].copy_from_slice(&100u32.to_le_bytes());
        seal(&mut bytes);
        assert!(matches!(read(&bytes), Err(LoadError::NewerVersion { found: 3, .. })));
    }

    #[test]
    fn a_longer_header_of_this_version_is_invalid() {
        let mut bytes = header().encode().to_vec();
        bytes.resize(100, 0);
        bytes[HEADER_LEN_AT].copy_from_slice(&100u32.to_le_bytes());
        seal(&mut bytes);
        assert!(matches!(read(&bytes), Err(LoadError::Invalid { .. })));
    }

    #[test]
    fn version_zero_is_invalid() {
        assert!(matches!(read(&forged(VERSION_AT, [0; 2])), Err(LoadError::Invalid { .. })));
    }

    #[test]
    fn any_byte_of_a_stamp_in_a_header_of_version_1_is_refused() {
        let mut without = header();
        without.stamp = Stamp::default();
        let mut bytes = without.encode();
        bytes[VERSION_AT].copy_from_slice(&WITHOUT_STAMP.to_le_bytes());
        seal(&mut bytes);
        assert!(read(&bytes).is_ok());
        for at in HISTORY_AT.start..COMMITTED_AT.end {
            let mut forged = bytes;
            forged[at] = 1;
            seal(&mut forged);
            assert!(matches!(read(&forged), Err(LoadError::Invalid { .. })), "byte {at}");
        }
    }

    #[test]
    fn a_header_length_that_no_version_has_is_refused() {
        for claimed in [0, 15, 16, 19, 4097, u32::MAX] {
            let error = read(&forged(HEADER_LEN_AT, claimed.to_le_bytes())).expect_err("a hostile length");
            assert!(matches!(error, LoadError::Invalid { .. }), "{claimed}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_sealed_header_of_any_content_is_read_or_refused_and_never_panics(
            bytes in proptest::collection::vec(any::<u8>(), 20..200),
            version in 0u16..4,
        ) {
            let mut bytes = bytes;
            let len = bytes.len() as u32;
            bytes[MAGIC_AT].copy_from_slice(MAGIC);
            bytes[VERSION_AT].copy_from_slice(&version.to_le_bytes());
            bytes[HEADER_LEN_AT].copy_from_slice(&len.to_le_bytes());
            seal(&mut bytes);
            match read(&bytes) {
                Ok(header) if version == VERSION => prop_assert_eq!(header.encode().to_vec(), bytes),
                Ok(_) => prop_assert_eq!(version, WITHOUT_STAMP),
                Err(LoadError::NewerVersion { found, .. }) => prop_assert_eq!((found, version), (3, 3)),
                Err(error) => prop_assert!(matches!(error, LoadError::Invalid { .. }), "{error}"),
            }
        }
    }
}
