//! Plain, gzip, xz and zstd files, recognised by their first bytes.

use std::io::{self, BufReader, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lzma_rust2::XzReader;

use super::foreign::{START, is_undecided};
use super::gzip_members::GzipMembers;
use super::zstd_frames::ZstdFrames;

/// Large enough that system calls do not matter.
const BUFFER: usize = 1 << 16;

/// The memory limit of an xz archive in KiB: the largest dictionary of xz and a little more.
const XZ_MEMORY: u32 = 1_600 << 10;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Xz,
    Zstd,
}

impl Packing {
    /// The compression of a file that starts with these bytes.
    fn of(start: &[u8]) -> Self {
        let skippable = matches!(start, [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..]);
        match start {
            [0x1F, 0x8B, 0x08, ..] => Self::Gzip,
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Self::Zstd,
            _ if skippable => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// The archive's name; `None` for a plain file.
    pub(crate) fn archive(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Xz => Some("xz"),
            Self::Zstd => Some("zstd"),
        }
    }
}

/// A reader of the unpacked contents.
pub(crate) type Unpacked = BufReader<Whole<Fused<Box<dyn Read + Send>>>>;

/// A reader whose first bytes were peeked at and put back.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// The unpacked contents of a file.
pub(crate) struct Contents {
    pub(crate) packing: Packing,
    /// The first bytes; see [`Wait`].
    pub(crate) start: Vec<u8>,
    /// All bytes, including the start.
    pub(crate) reader: Unpacked,
    /// `true` once the end of an archive has been read that has other bytes after it.
    pub(crate) has_more: Arc<AtomicBool>,
}

/// How many first bytes to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For all that are ever looked at, if the input has them.
    ForAll,
    /// For as few as possible, since the next ones may be long in coming.
    ForTheFirst,
}

/// Peeks at the first bytes and unpacks accordingly. Archives of several members, streams or frames are read to their
/// end. If even the start cannot be unpacked, the error comes with the compression.
pub(crate) fn unpack(file: impl Read + Send + 'static, wait: Wait) -> Result<Contents, (Packing, io::Error)> {
    let (start, file) = peek(file, wait).map_err(|error| (Packing::Plain, error))?;
    let (packing, has_more) = (Packing::of(&start), Arc::<AtomicBool>::default());
    let file = BufReader::with_capacity(BUFFER, file);
    let unpacked: Box<dyn Read + Send> = match packing {
        Packing::Plain => {
            let whole = Cursor::new(Vec::new()).chain(Fused { reader: Some(Box::new(file) as Box<dyn Read + Send>) });
            return Ok(Contents { packing, start, reader: BufReader::with_capacity(BUFFER, whole), has_more });
        }
        Packing::Gzip => Box::new(GzipMembers::new(file, has_more.clone())),
        Packing::Xz => Box::new(XzReader::new_mem_limit(file, true, XZ_MEMORY)),
        Packing::Zstd => Box::new(ZstdFrames::new(file)),
    };
    let (start, whole) = peek(Fused { reader: Some(unpacked) }, Wait::ForAll).map_err(|error| (packing, error))?;
    Ok(Contents { packing, start, reader: BufReader::with_capacity(BUFFER, whole), has_more })
}

/// The first bytes, and a reader of all bytes.
fn peek<R: Read>(mut reader: R, wait: Wait) -> io::Result<(Vec<u8>, Whole<R>)> {
    let (mut start, mut length) = (vec![0; START], 0);
    while length < START && (wait == Wait::ForAll || is_undecided(&start[..length])) {
        match reader.read(&mut start[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    start.truncate(length);
    Ok((start.clone(), Cursor::new(start).chain(reader)))
}

/// Stops after the first error: a decompressor's behaviour after an error is unspecified.
pub(crate) struct Fused<R> {
    reader: Option<R>,
}

impl<R: Read> Read for Fused<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(reader) = &mut self.reader else {
            return Ok(0);
        };
        let result = reader.read(into);
        if result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            self.reader = None;
        }
        result
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::workload::rng::Rng;
    use std::io::Write;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut archive = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        archive.write_all(bytes).expect("memory can be written");
        archive.finish().expect("memory can be written")
    }

    pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// `xz` of the text "fig\npear\n".
    pub(crate) const XZ: &[u8] = &[
        0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00, 0x00, 0x04, 0xE6, 0xD6, 0xB4, 0x46, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00,
        0x00, 0x00, 0x74, 0x2F, 0xE5, 0xA3, 0x01, 0x00, 0x08, 0x66, 0x69, 0x67, 0x0A, 0x70, 0x65, 0x61, 0x72, 0x0A,
        0x00, 0x00, 0x00, 0x00, 0x31, 0x80, 0x6B, 0x19, 0x83, 0x14, 0x35, 0xAF, 0x00, 0x01, 0x21, 0x09, 0x6C, 0x18,
        0xC5, 0xD5, 0x1F, 0xB6, 0xF3, 0x7D, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5A,
    ];

    fn unpacked(bytes: Vec<u8>) -> io::Result<(Packing, Vec<u8>)> {
        let mut contents = unpack(Cursor::new(bytes), Wait::ForTheFirst).map_err(|(_, error)| error)?;
        let mut found = Vec::new();
        contents.reader.read_to_end(&mut found)?;
        assert!(found.starts_with(&contents.start));
        Ok((contents.packing, found))
    }

    /// Text that can be compressed and random bytes that cannot, longer than any buffer.
    fn sample() -> Vec<u8> {
        let mut rng = Rng::new(4);
        (0..300_000).map(|i| if i < 150_000 { (i % 97) as u8 } else { rng.word() as u8 }).collect()
    }

    #[test]
    fn archives_of_several_parts_are_read_to_their_end() {
        let sample = sample();
        let twice = [sample.clone(), sample.clone()].concat();
        let skippable = [b"\x5A\x2A\x4D\x18\x05\0\0\0".to_vec(), vec![7; 5]].concat();
        let zstd = [skippable.clone(), zstd(&sample), skippable.clone(), zstd(b""), zstd(&sample), skippable].concat();
        for (archive, packing, expected) in [
            (twice.clone(), Packing::Plain, &twice),
            ([gzip(&sample), gzip(b""), gzip(&sample)].concat(), Packing::Gzip, &twice),
            (zstd, Packing::Zstd, &twice),
            ([XZ, XZ].concat(), Packing::Xz, &b"fig\npear\nfig\npear\n".to_vec()),
            (Vec::new(), Packing::Plain, &Vec::new()),
            (b"\x1F".to_vec(), Packing::Plain, &b"\x1F".to_vec()),
        ] {
            let (found, bytes) = unpacked(archive).expect("an archive that is whole");
            assert_eq!(found, packing);
            assert!(bytes == *expected, "{packing:?}");
        }
    }

    #[test]
    fn a_wrong_checksum_and_a_skippable_frame_without_an_end_are_errors() {
        // What the `zstd` program makes of the text, its last four bytes the checksum.
        let archive = vec![
            0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x58, 0x49, 0x00, 0x00, 0x66, 0x69, 0x67, 0x0A, 0x70, 0x65, 0x61, 0x72, 0x0A,
            0x7F, 0xAF, 0x14, 0xCD,
        ];
        assert_eq!(unpacked(archive.clone()).expect("a whole archive").1, b"fig\npear\n");
        let mut wrong = archive.clone();
        wrong[archive.len() - 2] ^= 4;
        assert!(unpacked(wrong).is_err());
        let cut = [archive, b"\x5A\x2A\x4D\x18\x05\0\0\0four".to_vec()].concat();
        assert!(unpacked(cut).is_err());
    }

    #[test]
    fn a_cut_or_changed_archive_is_an_error_or_reads_the_same_and_never_panics() {
        let sample = &sample()[149_000..152_000];
        let mut rng = Rng::new(12);
        for archive in [gzip(sample), zstd(sample), XZ.to_vec()] {
            let (_, whole) = unpacked(archive.clone()).expect("an archive that is whole");
            // A cut between two complete parts goes unnoticed; any other cut is detected.
            for cut in 7..archive.len() {
                assert!(unpacked(archive[..cut].to_vec()).is_err(), "cut at {cut} of {}", archive.len());
            }
            let mut unseen = 0;
            for _ in 0..2_000 {
                let mut changed = archive.clone();
                let at = 6 + rng.below(archive.len() as u64 - 6) as usize;
                changed[at] ^= 1 << rng.below(8);
                if let Ok((_, bytes)) = unpacked(changed) {
                    unseen += u32::from(bytes != whole);
                }
            }
            // Only zstd archives may lack a checksum of their contents.
            assert!(unseen == 0 || archive.starts_with(&[0x28]), "{unseen} changes went unseen");
        }
    }
}
