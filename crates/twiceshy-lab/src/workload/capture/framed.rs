//! A capture's bytes, taken in pieces of known length, and what can be wrong with them.

use std::io::{self, Read};

/// No packet and no block of a sound capture is longer.
pub(super) const LONGEST: u32 = 1 << 24;

/// Why a recording cannot be read on.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Reading failed, or the archive around the recording is damaged.
    Io(io::Error),
    /// A capture that is no capture from a byte on.
    Damaged { at: u64, packets: u64, why: String },
    /// A capture of something that has no addresses, or not where it is looked for.
    LinkType { link: u16 },
}

/// Counts the bytes as they are taken.
pub(super) struct Framed<R> {
    reader: R,
    /// Bytes taken so far, and where the piece in hand began.
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

    /// Where the last record began.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Appends `len` bytes to a buffer, or as many as there are before the end; how many that were. The buffer grows with
    /// the bytes that come, not with the length that was asked for.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>, len: u32) -> Result<u32, Fault> {
        let taken = (&mut self.reader).take(len.into()).read_to_end(buffer).map_err(Fault::Io)? as u64;
        self.taken += taken;
        Ok(taken as u32)
    }
}
