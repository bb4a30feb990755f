//! The container of a saved filter: a checked header, then the fields that the filter wrote.
//!
//! The container knows nothing of filters. It carries a kind number, the sequence number of the last commit that the
//! filter had applied, and a flat payload, and promises that a [`Reader`] hands out only what a [`Writer`] was given:
//! a file that was cut, changed or extended is refused as a whole, before its first field is read. What the fields
//! mean, and whether their values make sense together, is for each filter to check, with [`LoadError::invalid`].
//!
//! The checksums detect accidents, not forgeries. So a loader must survive any field values, and a saved filter needs the
//! same protection as its hash key.
//!
//! The bytes are described in `docs/format.md`, and only there.
//!
//! ```
//! use twiceshy::persist::{LoadError, Reader, Writer};
//!
//! const KIND: u16 = 7;
//! let cells: Vec<u64> = (0..1000).collect();
//!
//! let mut file = Vec::new();
//! let mut writer = Writer::new();
//! writer.u8(12);
//! writer.words(&cells);
//! writer.finish(KIND, 42, &mut file)?;
//!
//! let mut reader = Reader::open(&mut file.as_slice())?;
//! reader.expect_kind(KIND)?;
//! assert_eq!(reader.sequence(), 42);
//! assert_eq!(reader.u8()?, 12);
//! assert_eq!(reader.words()?, cells);
//! reader.finish()?;
//! # Ok::<(), LoadError>(())
//! ```

pub(crate) mod hash_key;
mod header;
mod reader;
mod writer;

use std::fmt;
use std::io;

#[doc(hidden)]
pub use reader::Reader;
#[doc(hidden)]
pub use writer::Writer;

#[doc(hidden)]
/// The newest version of the container format that this library reads, and the one that it writes.
pub const FORMAT_VERSION: u16 = header::VERSION;

/// Why a filter was not saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The destination failed.
    #[error("writing the filter failed: {0}")]
    Io(#[from] io::Error),

    /// A commit's outcome is unknown.
    #[error("a commit's outcome is unknown: call `resolve` before saving")]
    InDoubt,
}

/// The name of a kind, for error messages.
fn name_of(kind: u16) -> String {
    let names = [
        "CuckooFilter",
        "FullKeyFilter",
        "CyclicFilter",
        "SwappingFilter",
        "CuckooingFilter",
        "QuotientFilter",
        "TelescopingFilter",
        "PlainTelescopingFilter",
        "ExtensionFilter",
        "BroomFilter of an earlier kind",
        "BroomFilter",
        "QuotientFilter",
        "TelescopingFilter",
        "PlainTelescopingFilter",
        "ExtensionFilter",
        "RememberingFilter",
    ];
    names.get(usize::from(kind)).map_or_else(|| format!("filter of kind {kind}"), |name| (*name).to_owned())
}

/// Why a saved filter was not loaded.
///
/// None of these errors loses a key: the set is in the remote, and the filter can be rebuilt from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The source failed.
    #[error("reading the saved filter failed: {0}; try again, or rebuild the filter from its remote")]
    Io(#[from] io::Error),

    /// The file does not begin with the magic bytes.
    #[error("this is not a saved twiceshy filter: check the path, or rebuild the filter from its remote")]
    NotAFilter,

    /// The header is intact, but of a version newer than this library.
    #[error("written by a newer version (format {found}; this reads up to {supported}): upgrade twiceshy")]
    NewerVersion {
        /// The version in the header.
        found: u16,
        /// The newest version that this library reads.
        supported: u16,
    },

    /// The file ends before its header or its payload does.
    #[error("the saved filter ends too early: fetch a whole copy, or rebuild the filter from its remote")]
    Truncated,

    /// The bytes are not the ones that were written.
    #[error("the {which} does not match its checksum, the file is damaged: rebuild the filter from its remote")]
    Checksum {
        /// The part that was damaged.
        which: Part,
    },

    /// The file is a valid saved filter, but not of the kind that was asked for.
    #[error(
        "the file holds a {}, not a {}: load it as what it is, or rebuild the filter from its remote",
        name_of(*found),
        name_of(*expected)
    )]
    WrongKind {
        /// The kind that the caller loads.
        expected: u16,
        /// The kind in the header.
        found: u16,
    },

    /// A broom filter saved by an earlier version. It could be attacked by inserting its mistakes.
    #[error(
        "the file holds a broom filter of an earlier kind, which is not safe against attacks: build a new one from its remote \
         with `BroomOptions::recover`"
    )]
    Outdated,

    /// The file goes on after the payload.
    #[error("bytes follow the end of the saved filter: fetch a clean copy, or rebuild the filter from its remote")]
    TrailingBytes,

    /// The checksums match, but the content is invalid for this kind and version.
    #[error("the saved filter is invalid ({what}): rebuild the filter from its remote")]
    Invalid {
        /// What is wrong, as a clause: "its fingerprints have 77 bits".
        what: String,
    },
}

impl LoadError {
    /// An error about values that were read intact but are invalid.
    ///
    /// ```
    /// use twiceshy::persist::LoadError;
    ///
    /// let error = LoadError::invalid(format!("its fingerprints have {} bits", 77));
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the saved filter is invalid (its fingerprints have 77 bits): rebuild the filter from its remote",
    /// );
    /// ```
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }
}

/// A part of a saved filter with its own checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(hidden)]
pub enum Part {
    /// The header, from the magic bytes up to its own checksum.
    Header,
    /// Everything after the header.
    Payload,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Payload => "payload",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: u16 = 0x0203;
    const SEQUENCE: u64 = 0x1122_3344_5566_7788;

    /// A container with one field of each type, as version 1 wrote it. It never changes: later versions must still read it.
    #[rustfmt::skip]
    const GOLDEN: [u8; 114] = [
        b'T', b'W', b'I', b'C', b'E', b'S', b'H', b'Y',
        0x01, 0x00,                                     // version
        0x03, 0x02,                                     // kind
        0x40, 0x00, 0x00, 0x00,                         // header length
        0x32, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // payload length
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // sequence number
        0x3c, 0xf6, 0xde, 0x17,                         // checksum of the payload
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // reserved
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0xee, 0x8a, 0xa5, 0xdd,                         // checksum of the header
        0x01,                                           // u8
        0x03, 0x02,                                     // u16
        0x07, 0x06, 0x05, 0x04,                         // u32
        0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, // u64
        0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // bytes: length
        b'k', b'e', b'y',
        0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // words: length in bytes
        0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x10,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    ];

    fn written() -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(0x01);
        writer.u16(0x0203);
        writer.u32(0x0405_0607);
        writer.u64(0x0809_0a0b_0c0d_0e0f);
        writer.bytes(b"key");
        writer.words(&[0x1011_1213_1415_1617, u64::MAX]);
        let mut file = Vec::new();
        writer.finish(KIND, SEQUENCE, &mut file).expect("a vector takes every write");
        file
    }

    fn load(mut file: &[u8]) -> Result<(), LoadError> {
        let mut reader = Reader::open(&mut file)?;
        reader.expect_kind(KIND)?;
        assert_eq!(reader.sequence(), SEQUENCE);
        assert_eq!(reader.u8()?, 0x01);
        assert_eq!(reader.u16()?, 0x0203);
        assert_eq!(reader.u32()?, 0x0405_0607);
        assert_eq!(reader.u64()?, 0x0809_0a0b_0c0d_0e0f);
        assert_eq!(reader.bytes()?, b"key");
        assert_eq!(reader.words()?, [0x1011_1213_1415_1617, u64::MAX]);
        reader.finish()
    }

    /// The same as version 2 writes it, with an empty stamp: only the version and the header's checksum differ.
    fn golden_2() -> [u8; GOLDEN.len()] {
        let mut file = GOLDEN;
        file[8] = 0x02;
        file[60..64].copy_from_slice(&[0xf9, 0x8e, 0xf0, 0x67]);
        file
    }

    #[test]
    fn what_is_written_today_is_the_golden_file_of_version_2() {
        assert_eq!(written(), golden_2());
    }

    #[test]
    fn the_golden_files_are_read_field_by_field() {
        load(&GOLDEN).expect("version 1 is read forever");
        load(&golden_2()).expect("version 2 is read forever");
    }

    #[test]
    fn a_file_cut_at_any_length_is_truncated() {
        for len in 0..GOLDEN.len() {
            let error = load(&GOLDEN[..len]).expect_err("a cut file");
            assert!(matches!(error, LoadError::Truncated), "cut at {len}: {error}");
        }
    }

    #[test]
    fn a_file_with_any_byte_changed_to_any_value_is_refused() {
        let mut file = GOLDEN;
        for at in 0..file.len() {
            for flip in 1..=u8::MAX {
                file[at] ^= flip;
                let error = load(&file).expect_err("a damaged file");
                let named = match at {
                    0..8 => matches!(error, LoadError::NotAFilter),
                    12..16 => matches!(
                        error,
                        LoadError::Invalid { .. } | LoadError::Truncated | LoadError::Checksum { which: Part::Header }
                    ),
                    8..64 => matches!(error, LoadError::Checksum { which: Part::Header }),
                    _ => matches!(error, LoadError::Checksum { which: Part::Payload }),
                };
                assert!(named, "byte {at} changed by {flip:#x}: {error}");
                file[at] ^= flip;
            }
        }
    }

    #[test]
    fn a_file_with_a_byte_too_many_is_refused() {
        let mut file = GOLDEN.to_vec();
        file.push(0);
        assert!(matches!(load(&file), Err(LoadError::TrailingBytes)));
    }

    #[test]
    fn a_filter_of_another_kind_is_refused_by_both_numbers() {
        let reader = Reader::open(&mut GOLDEN.as_slice()).expect("a whole file");
        let error = reader.expect_kind(9).expect_err("another kind");
        assert!(matches!(error, LoadError::WrongKind { expected: 9, found: KIND }));
    }

    #[test]
    fn an_error_says_what_to_do() {
        let newer = LoadError::NewerVersion { found: 2, supported: 1 };
        assert_eq!(newer.to_string(), "written by a newer version (format 2; this reads up to 1): upgrade twiceshy");
        let others = [
            LoadError::Io(io::Error::other("the disk is gone")),
            LoadError::NotAFilter,
            LoadError::Truncated,
            LoadError::Checksum { which: Part::Payload },
            LoadError::WrongKind { expected: 1, found: 2 },
            LoadError::TrailingBytes,
            LoadError::invalid("it has no tables"),
        ];
        for error in others {
            assert!(error.to_string().ends_with("rebuild the filter from its remote"), "{error}");
        }
    }
}
