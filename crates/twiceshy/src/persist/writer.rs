//! Collects the fields of a filter, and writes them after a header.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use super::header::Header;
use crate::hash::HashKey;
use crate::plan::Stamp;

/// Words are turned into bytes this many at a time.
const BLOCK_WORDS: usize = 1024;

/// The fields of a filter that is being saved, in the order in which they will be read.
///
/// Big arrays are borrowed and not copied: they are read twice by [`finish`](Self::finish), once for the checksum that
/// the header needs, once to be written. So saving needs a few kilobytes, whatever the size of the filter.
#[derive(Default)]
pub struct Writer<'a> {
    segments: Vec<Segment<'a>>,
    /// `true` if numbers take as few bytes as they need.
    is_short: bool,
}

enum Segment<'a> {
    /// Small fields in a row.
    Fields(Vec<u8>),
    Bytes(Cow<'a, [u8]>),
    Words(&'a [u64]),
}

impl<'a> Writer<'a> {
    /// A writer without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer whose numbers take as few bytes as they need, seven bits in each: small ones are short. For
    /// [`Reader::short`](super::Reader::short).
    pub(crate) fn short() -> Self {
        Writer { is_short: true, ..Writer::default() }
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.field(&[value]);
    }

    /// Appends two bytes, the lowest first.
    pub fn u16(&mut self, value: u16) {
        self.number(value.into(), &value.to_le_bytes());
    }

    /// Appends four bytes, the lowest first.
    pub fn u32(&mut self, value: u32) {
        self.number(value.into(), &value.to_le_bytes());
    }

    /// Appends eight bytes, the lowest first.
    pub fn u64(&mut self, value: u64) {
        self.number(value, &value.to_le_bytes());
    }

    /// Appends a byte string: its length, then its bytes. A slice is borrowed, a vector is moved.
    pub fn bytes(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        let bytes = bytes.into();
        self.u64(bytes.len() as u64);
        if self.is_short {
            return self.field(&bytes);
        }
        self.segments.push(Segment::Bytes(bytes));
    }

    /// Appends words as a byte string, each word with its lowest byte first. They are converted while they are
    /// written, a block at a time.
    pub fn words(&mut self, words: &'a [u64]) {
        self.u64(size_of_val(words) as u64);
        self.segments.push(Segment::Words(words));
    }

    /// Writes the header and the fields to `out`, and flushes it.
    ///
    /// `kind` tells loaders what the fields mean; `sequence` is the number of the last commit in them. To replace a file
    /// atomically, the caller must write to a new file, sync it, and rename it over the old one.
    ///
    /// # Errors
    ///
    /// The first error of `out`. [`Reader::open`](super::Reader::open) refuses what was written before it.
    pub fn finish(self, kind: u16, sequence: u64, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.finish_at(kind, sequence, Stamp::default(), out)
    }

    /// The same with the stamp of a filter.
    pub(crate) fn finish_at(
        self,
        kind: u16,
        sequence: u64,
        stamp: Stamp,
        out: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        let mut sum = Checksum::default();
        self.write_fields(&mut sum)?;
        let header = Header { kind, sequence, payload_len: sum.len, payload_crc: sum.crc.finalize(), stamp };
        out.write_all(&header.encode())?;
        self.write_fields(out)?;
        out.flush()
    }

    /// A digest of the fields under a hash key.
    pub(crate) fn digest(&self, hash: &HashKey) -> u64 {
        let mut bytes = b"twiceshy stamp".to_vec();
        // Writing to a vector cannot fail.
        let _ = self.write_fields(&mut bytes);
        hash.words(&bytes).word(0)
    }

    fn number(&mut self, mut value: u64, bytes: &[u8]) {
        if !self.is_short {
            return self.field(bytes);
        }
        let (mut short, mut len) = ([0; 10], 0);
        while value >= 0x80 {
            short[len] = value as u8 | 0x80;
            value >>= 7;
            len += 1;
        }
        short[len] = value as u8;
        self.field(&short[..=len]);
    }

    fn field(&mut self, bytes: &[u8]) {
        if let Some(Segment::Fields(fields)) = self.segments.last_mut() {
            fields.extend_from_slice(bytes);
        } else {
            self.segments.push(Segment::Fields(bytes.to_vec()));
        }
    }

    fn write_fields(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.segments.iter().try_for_each(|segment| match segment {
            Segment::Fields(bytes) => out.write_all(bytes),
            Segment::Bytes(bytes) => out.write_all(bytes),
            Segment::Words(words) => write_words(words, out),
        })
    }
}

/// Shows the number of segments and no field, since a hash key may be among them.
impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("segments", &self.segments.len()).finish_non_exhaustive()
    }
}

fn write_words(words: &[u64], out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let mut block = [[0; size_of::<u64>()]; BLOCK_WORDS];
    for words in words.chunks(BLOCK_WORDS) {
        for (bytes, word) in block.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        out.write_all(block[..words.len()].as_flattened())?;
    }
    Ok(())
}

/// A writer that only computes a checksum.
#[derive(Default)]
struct Checksum {
    crc: crc32fast::Hasher,
    len: u64,
}

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crc.update(bytes);
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::{LoadError, Reader};

    /// Accepts `left` bytes, then fails.
    struct Full {
        taken: Vec<u8>,
        left: usize,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.left);
            if n == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.left -= n;
            self.taken.extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn save(fill: impl FnOnce(&mut Writer<'_>), out: &mut impl Write) -> io::Result<()> {
        let mut writer = Writer::new();
        fill(&mut writer);
        writer.finish(1, 2, out)
    }

    fn saved(fill: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut file = Vec::new();
        save(fill, &mut file).expect("a vector takes every write");
        file
    }

    #[test]
    fn words_are_written_as_the_byte_string_of_their_little_endian_bytes() {
        for len in [0, 1, BLOCK_WORDS - 1, BLOCK_WORDS, BLOCK_WORDS + 1, 3 * BLOCK_WORDS + 5] {
            let words: Vec<u64> = (0..len as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut writer = Writer::new();
            writer.words(&words);
            let mut file = Vec::new();
            writer.finish(1, 2, &mut file).expect("a vector takes every write");
            assert_eq!(file, saved(|writer| writer.bytes(bytes)), "{len} words");
        }
    }

    #[test]
    fn a_moved_vector_is_written_like_a_borrowed_slice() {
        assert_eq!(saved(|writer| writer.bytes(vec![1, 2, 3])), saved(|writer| writer.bytes(&[1, 2, 3])));
    }

    #[test]
    fn a_slice_is_borrowed_and_not_copied() {
        let big = [0; 100];
        let mut writer = Writer::new();
        writer.bytes(&big);
        let Some(Segment::Bytes(Cow::Borrowed(kept))) = writer.segments.last() else {
            panic!("the slice was copied");
        };
        assert!(std::ptr::eq(*kept, big.as_slice()));
    }

    #[test]
    fn a_payload_may_be_empty() {
        let reader = Reader::open(&mut saved(|_| ()).as_slice()).expect("a whole file");
        reader.finish().expect("no field is left");
    }

    #[test]
    fn a_write_that_fails_at_any_byte_is_reported_and_its_remains_are_refused() {
        let fill = |writer: &mut Writer<'_>| {
            writer.u16(7);
            writer.bytes(b"some bytes");
            writer.words(&[1, 2, 3]);
        };
        let whole = saved(fill).len();
        for left in 0..whole {
            let mut out = Full { taken: Vec::new(), left };
            let error = save(fill, &mut out).expect_err("the disk is full");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "after {left} bytes");
            assert!(matches!(Reader::open(&mut out.taken.as_slice()), Err(LoadError::Truncated)));
        }
        save(fill, &mut Full { taken: Vec::new(), left: whole }).expect("there is room for all");
    }

    #[test]
    fn small_fields_in_a_row_are_one_write() {
        let mut writer = Writer::new();
        writer.u8(1);
        writer.u16(2);
        writer.u64(3);
        assert_eq!(writer.segments.len(), 1);
    }

    #[test]
    fn debug_shows_no_field() {
        let mut writer = Writer::new();
        writer.bytes(b"secret");
        assert_eq!(format!("{writer:?}"), "Writer { segments: 2, .. }");
    }
}
