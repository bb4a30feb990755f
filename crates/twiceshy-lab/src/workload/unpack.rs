//! Plain, gzip, xz and zstd files, recognised by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::zstd_frames::ZstdFrames;

/// Large enough that system calls do not matter.
const BUFFER: usize = 1 << 16;

/// The bytes that tell the formats apart.
const LONGEST_MAGIC: usize = 6;

/// What an xz archive may ask for, in KiB: its own largest dictionary and a little.
const XZ_MEMORY: u32 = 1_600 << 10;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Xz,
    Zstd,
}

impl Packing {
    /// The packing of a file that begins with these bytes.
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

    /// The archive's name, or nothing for a plain file.
    pub(super) fn archive(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Xz => Some("xz"),
            Self::Zstd => Some("zstd"),
        }
    }
}

/// A reader of what the file holds once it is unpacked.
pub(super) type Unpacked = BufReader<Fused<Box<dyn Read + Send>>>;

/// Looks at the first bytes and unpacks accordingly. Archives of several members, streams or frames are read to their end.
pub(super) fn unpack(mut file: impl Read + Send + 'static) -> io::Result<(Packing, Unpacked)> {
    let mut start = Vec::new();
    file.by_ref().take(LONGEST_MAGIC as u64).read_to_end(&mut start)?;
    let packing = Packing::of(&start);
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(file));
    let unpacked: Box<dyn Read + Send> = match packing {
        Packing::Plain => Box::new(whole),
        Packing::Gzip => Box::new(MultiGzDecoder::new(whole)),
        Packing::Xz => Box::new(XzReader::new_mem_limit(whole, true, XZ_MEMORY)),
        Packing::Zstd => Box::new(ZstdFrames::new(whole)),
    };
    Ok((packing, BufReader::with_capacity(BUFFER, Fused { reader: Some(unpacked) })))
}

/// Ends after the first error, since no unpacker says what another read would do then.
pub(super) struct Fused<R> {
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

/// The first bytes of what is to come, as many of `wanted` as there are before the end, without taking them.
///
/// A reader whose buffer holds fewer is given a new one around the same bytes.
pub(super) fn peek(reader: &mut impl BufRead, wanted: usize) -> io::Result<Vec<u8>> {
    let start = reader.fill_buf()?;
    Ok(start[..start.len().min(wanted)].to_vec())
}
