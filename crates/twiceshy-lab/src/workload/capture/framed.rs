//! Reads a capture in pieces of known length, and the faults it may have.

use std::io::{self, Read};

/// Longer than any packet or block of a valid capture.
pub(super) const LONGEST: u32 = 1 << 24;

/// Why reading a recording failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Reading failed, or the archive around the recording is damaged.
    Io(io::Error),
    /// The capture is damaged from a byte on.
    Damaged { at: u64, packets: u64, why: String },
    /// The capture's link type is not supported.
    LinkType { link: u16 },
}

/// Counts the bytes as they are read.
pub(super) struct Framed<R> {
    reader: R,
    /// Bytes read so far, and the offset of the current record.
    taken: u64,
    begun: u64,
}

impl<R: Read> Framed<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, taken: 0, begun: 0 }
    }

    /// Marks the beginning of a record, for errors.
    pub(super) fn begin(&mut self) {
        self.begun = self.taken;
    }

    /// The offset of the current record.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Appends `len` bytes to a buffer, or fewer at the end of the file, and returns how many. The buffer grows with
    /// the bytes that are read, not with the requested length.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>, len: u32) -> Result<u32, Fault> {
        let taken = (&mut self.reader).take(len.into()).read_to_end(buffer).map_err(Fault::Io)? as u64;
        self.taken += taken;
        Ok(taken as u32)
    }
}
