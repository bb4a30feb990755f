//! Reads a saved filter back: checks all of it first, then hands out its fields.

use std::collections::VecDeque;
use std::fmt;
use std::io::{Cursor, Read};

use super::header::{self, Header};
use super::{LoadError, Part};
use crate::plan::Stamp;

/// The payload is read, kept and released in chunks of this many bytes.
const CHUNK: usize = 256 * 1024;

/// Bytes are turned into words this many at a time.
const BLOCK_WORDS: usize = 1024;

/// A saved filter that was read completely and found intact. Its fields are taken from first to last.
///
/// A length in the file is never trusted. The payload is read in chunks, so memory grows with the bytes that really arrive,
/// plus at most one chunk (256 KiB). A field is allocated only after its length was compared with the bytes left. Chunks
/// are released as their fields are taken, so the peak is one payload and not two if the allocator returns them: with
/// glibc, loading an array of 512 MiB peaked at 522 MiB in a fresh process, and at 1026 MiB when the same process loaded it
/// again.
///
/// Fields are not tagged: they must be taken with the types that they were written with. After an error, the following
/// fields are unreliable.
pub struct Reader {
    header: Header,
    chunks: VecDeque<Cursor<Vec<u8>>>,
    remaining: u64,
    /// `true` if numbers take as few bytes as they need.
    is_short: bool,
}

impl Reader {
    /// Reads `source` to its end and checks the magic bytes, the version, both checksums and all lengths.
    ///
    /// # Errors
    ///
    /// If the bytes are not exactly one intact saved filter. Any [`LoadError`] except [`WrongKind`](LoadError::WrongKind).
    pub fn open(source: &mut (impl Read + ?Sized)) -> Result<Self, LoadError> {
        Self::open_in_chunks(source, CHUNK)
    }

    fn open_in_chunks(source: &mut (impl Read + ?Sized), chunk: usize) -> Result<Self, LoadError> {
        let header = Header::read(source)?;
        let chunks = read_payload(source, &header, chunk)?;
        if !header::read_up_to(source, 1)?.is_empty() {
            return Err(LoadError::TrailingBytes);
        }
        Ok(Self { remaining: header.payload_len, chunks, header, is_short: false })
    }

    /// For what [`Writer::short`](super::Writer::short) wrote.
    pub(crate) fn short(self) -> Reader {
        Reader { is_short: true, ..self }
    }

    /// The kind of filter that was saved.
    pub fn kind(&self) -> u16 {
        self.header.kind
    }

    /// The number of the last commit that the saved filter had applied.
    pub fn sequence(&self) -> u64 {
        self.header.sequence
    }

    /// The stamp of the saved filter.
    pub(crate) fn stamp(&self) -> Stamp {
        self.header.stamp
    }

    /// Checks that the saved filter is of the kind that the caller loads.
    ///
    /// # Errors
    ///
    /// [`LoadError::WrongKind`] if it is not.
    pub fn expect_kind(&self, expected: u16) -> Result<(), LoadError> {
        let found = self.kind();
        if found == expected { Ok(()) } else { Err(LoadError::WrongKind { expected, found }) }
    }

    /// Takes one byte.
    ///
    /// # Errors
    ///
    /// [`LoadError::Invalid`] if the payload has no byte left.
    pub fn u8(&mut self) -> Result<u8, LoadError> {
        self.array().map(u8::from_le_bytes)
    }

    /// The next field as a flag: a byte that is 0 or 1.
    pub(crate) fn flag(&mut self) -> Result<bool, LoadError> {
        match self.u8()? {
            flag @ 0..=1 => Ok(flag == 1),
            other => Err(LoadError::invalid(format!("one of its flags is {other}"))),
        }
    }

    /// Takes two bytes, the lowest first.
    ///
    /// # Errors
    ///
    /// [`LoadError::Invalid`] if the payload has fewer left.
    pub fn u16(&mut self) -> Result<u16, LoadError> {
        self.number(Self::array::<2>, u16::from_le_bytes)
    }

    /// Takes four bytes, the lowest first.
    ///
    /// # Errors
    ///
    /// [`LoadError::Invalid`] if the payload has fewer left.
    pub fn u32(&mut self) -> Result<u32, LoadError> {
        self.number(Self::array::<4>, u32::from_le_bytes)
    }

    /// Takes eight bytes, the lowest first.
    ///
    /// # Errors
    ///
    /// [`LoadError::Invalid`] if the payload has fewer left.
    pub fn u64(&mut self) -> Result<u64, LoadError> {
        self.number(Self::array::<8>, u64::from_le_bytes)
    }

    /// Takes a byte string. The vector has no spare capacity.
    ///
    /// # Errors
    ///
    /// [`LoadError::Invalid`] if the string reaches past the end of the payload.
    pub fn bytes(&mut self) -> Result<Vec<u8>, LoadError> {
        let mut bytes = vec![0; self.length()?];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Takes a byte string as words, each with its lowest byte first. The vector has no spare capacity.
    ///
    /// # Errors
    ///
    /// [`LoadError::Invalid`] if the string reaches past the end of the payload, or ends inside a word.
    pub fn words(&mut self) -> Result<Vec<u64>, LoadError> {
        let len = self.length()?;
        if !len.is_multiple_of(size_of::<u64>()) {
            return Err(LoadError::invalid(format!("an array of words in it has {len} bytes")));
        }
        let len = len / size_of::<u64>();
        let mut words = Vec::with_capacity(len);
        let mut block = [[0; size_of::<u64>()]; BLOCK_WORDS];
        while words.len() < len {
            let part = &mut block[..BLOCK_WORDS.min(len - words.len())];
            self.fill(part.as_flattened_mut())?;
            words.extend(part.iter().map(|&bytes| u64::from_le_bytes(bytes)));
        }
        Ok(words)
    }

    /// Ends the reading.
    ///
    /// # Errors
    ///
    /// [`LoadError::Invalid`] if the payload has bytes that were not taken.
    pub fn finish(self) -> Result<(), LoadError> {
        match self.remaining {
            0 => Ok(()),
            left => Err(LoadError::invalid(format!("{left} bytes are left over after its last field"))),
        }
    }

    #[inline]
    fn number<A, T: TryFrom<u64>>(
        &mut self,
        take: impl FnOnce(&mut Reader) -> Result<A, LoadError>,
        of: impl FnOnce(A) -> T,
    ) -> Result<T, LoadError> {
        match self.is_short {
            false => take(self).map(of),
            true => T::try_from(self.short_number()?).map_err(|_| LoadError::invalid("a number in it is too large")),
        }
    }

    /// A number of seven bits a byte, the lowest first. There is one way to write each number.
    fn short_number(&mut self) -> Result<u64, LoadError> {
        // Most are at hand, and read without a look at each byte's place.
        if let Some(chunk) = self.chunks.front_mut()
            && let Some(bytes) = chunk.get_ref().get(chunk.position() as usize..)
            && let Some((number, len)) = decode(bytes.iter().map(|byte| Ok(*byte)))?
        {
            chunk.set_position(chunk.position() + len);
            self.remaining = self.remaining.checked_sub(len).ok_or_else(past_the_end)?;
            return Ok(number);
        }
        let bytes = std::iter::from_fn(|| Some(self.u8()));
        decode(bytes)?.map(|(number, _)| number).ok_or_else(past_the_end)
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Takes a length, and refuses it if the payload has fewer bytes left. The caller may then allocate that much.
    fn length(&mut self) -> Result<usize, LoadError> {
        let len = self.u64()?;
        usize::try_from(len).ok().filter(|_| len <= self.remaining).ok_or_else(past_the_end)
    }

    /// Takes the next bytes, all or none of them.
    #[inline(always)]
    fn fill(&mut self, out: &mut [u8]) -> Result<(), LoadError> {
        self.remaining = self.remaining.checked_sub(out.len() as u64).ok_or_else(past_the_end)?;
        if let Some(chunk) = self.chunks.front_mut() {
            let at = chunk.position() as usize;
            if let Some(bytes) = chunk.get_ref().get(at..at + out.len()) {
                out.copy_from_slice(bytes);
                chunk.set_position((at + out.len()) as u64);
                return Ok(());
            }
        }
        self.fill_across(out)
    }

    /// The same where the bytes are in several chunks.
    #[cold]
    fn fill_across(&mut self, out: &mut [u8]) -> Result<(), LoadError> {
        let mut filled = 0;
        while filled < out.len() {
            let chunk = self.chunks.front_mut().ok_or_else(past_the_end)?;
            match chunk.read(&mut out[filled..])? {
                0 => drop(self.chunks.pop_front()),
                taken => filled += taken,
            }
        }
        Ok(())
    }
}

/// Shows the position and no field, since a hash key may be among them.
impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("kind", &self.kind())
            .field("sequence", &self.sequence())
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

/// A number of seven bits a byte, and how many bytes it took; `None` if there were too few.
#[inline(always)]
fn decode(bytes: impl Iterator<Item = Result<u8, LoadError>>) -> Result<Option<(u64, u64)>, LoadError> {
    let mut number = 0;
    for (at, byte) in (0..10).zip(bytes) {
        let (byte, shift) = (byte?, 7 * at);
        let bits = u64::from(byte & 0x7f);
        if at == 9 && byte > 1 || at > 0 && byte == 0 {
            return Err(LoadError::invalid("a number in it is longer than any"));
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Ok(Some((number, at + 1)));
        }
    }
    Ok(None)
}

fn past_the_end() -> LoadError {
    LoadError::invalid("a field reaches past the end of its payload")
}

fn read_payload(
    source: &mut (impl Read + ?Sized),
    header: &Header,
    chunk: usize,
) -> Result<VecDeque<Cursor<Vec<u8>>>, LoadError> {
    let mut crc = crc32fast::Hasher::new();
    let mut chunks = VecDeque::new();
    let mut left = header.payload_len;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(chunk).min(chunk);
        let bytes = header::read_up_to(source, wanted)?;
        if bytes.len() < wanted {
            return Err(LoadError::Truncated);
        }
        crc.update(&bytes);
        left -= wanted as u64;
        chunks.push_back(Cursor::new(bytes));
    }
    if crc.finalize() != header.payload_crc {
        return Err(LoadError::Checksum { which: Part::Payload });
    }
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::Writer;
    use proptest::prelude::*;
    use std::io;

    /// A container whose checksums match the payload.
    fn sealed(payload: &[u8]) -> Vec<u8> {
        sealed_with_length(payload, payload.len() as u64)
    }

    fn sealed_with_length(payload: &[u8], payload_len: u64) -> Vec<u8> {
        let header = Header {
            kind: 1,
            sequence: 2,
            payload_len,
            payload_crc: crc32fast::hash(payload),
            stamp: Stamp::default(),
        };
        [&header.encode(), payload].concat()
    }

    fn open(payload: &[u8]) -> Reader {
        Reader::open(&mut sealed(payload).as_slice()).expect("a whole file")
    }

    /// Returns `at_most` bytes per call, and records the largest buffer that it was asked to fill.
    struct Slow<'a> {
        bytes: &'a [u8],
        at_most: usize,
        largest: usize,
        interrupt: bool,
    }

    impl<'a> Slow<'a> {
        fn new(bytes: &'a [u8], at_most: usize) -> Self {
            Self { bytes, at_most, largest: 0, interrupt: false }
        }
    }

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.largest = self.largest.max(out.len());
            let n = out.len().min(self.at_most);
            self.bytes.read(&mut out[..n])
        }
    }

    /// Returns the bytes, then an error instead of the end.
    struct Failing<'a>(&'a [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 if !out.is_empty() => Err(io::Error::other("the disk is gone")),
                n => Ok(n),
            }
        }
    }

    #[test]
    fn a_source_that_gives_single_bytes_and_interrupts_is_read_whole() {
        let file = sealed(&[7; 100]);
        let mut reader = Reader::open(&mut Slow::new(&file, 1)).expect("a whole file");
        assert_eq!(reader.u64().expect("eight bytes"), 0x0707_0707_0707_0707);
    }

    #[test]
    fn a_source_that_fails_at_any_byte_is_an_io_error() {
        let file = sealed(&[7; 100]);
        for len in 0..=file.len() {
            let error = Reader::open_in_chunks(&mut Failing(&file[..len]), 16).expect_err("a failing source");
            assert!(matches!(error, LoadError::Io(_)), "after {len} bytes: {error}");
        }
    }

    #[test]
    fn a_payload_length_without_the_bytes_reads_into_one_chunk_at_a_time() {
        for claimed in [11, 1 << 20, 1 << 40, 1 << 60, u64::MAX] {
            let file = sealed_with_length(&[0; 10], claimed);
            let mut source = Slow::new(&file, usize::MAX);
            assert!(matches!(Reader::open(&mut source), Err(LoadError::Truncated)), "{claimed}");
            assert!(source.largest <= CHUNK, "{claimed}: a buffer of {} bytes", source.largest);
        }
    }

    #[test]
    fn a_payload_length_below_the_real_one_is_refused() {
        let file = sealed_with_length(&[0; 10], 9);
        assert!(matches!(Reader::open(&mut file.as_slice()), Err(LoadError::Checksum { which: Part::Payload })));
    }

    #[test]
    fn a_string_length_past_the_end_is_refused() {
        for claimed in [4, 1 << 40, 1 << 61, u64::MAX - 7, u64::MAX] {
            let payload = [&claimed.to_le_bytes(), b"end".as_slice()].concat();
            assert!(matches!(open(&payload).bytes(), Err(LoadError::Invalid { .. })), "{claimed} bytes");
            assert!(matches!(open(&payload).words(), Err(LoadError::Invalid { .. })), "{claimed} bytes as words");
        }
    }

    #[test]
    fn a_string_that_ends_inside_a_word_is_not_words() {
        let payload = [&9u64.to_le_bytes(), [0; 9].as_slice()].concat();
        assert!(matches!(open(&payload).words(), Err(LoadError::Invalid { .. })));
    }

    #[test]
    fn a_number_past_the_end_takes_nothing() {
        let mut reader = open(&[1, 2, 3]);
        assert!(matches!(reader.u64(), Err(LoadError::Invalid { .. })));
        assert!(matches!(reader.u32(), Err(LoadError::Invalid { .. })));
        assert_eq!(reader.u16().expect("two bytes"), 0x0201);
        assert_eq!(reader.u8().expect("the last byte"), 3);
        assert!(matches!(reader.u8(), Err(LoadError::Invalid { .. })));
    }

    #[test]
    fn short_numbers_are_read_as_written_across_chunks_and_long_forms_are_refused() {
        let numbers = [0, 1, 127, 128, 300, 1 << 14, u64::from(u32::MAX), 1 << 62, 1 << 63, u64::MAX];
        let mut writer = Writer::short();
        numbers.iter().for_each(|number| writer.u64(*number));
        writer.bytes(b"text");
        let mut file = Vec::new();
        writer.finish(1, 2, &mut file).expect("a vector takes every write");
        for chunk in 1..20 {
            let mut reader = Reader::open_in_chunks(&mut file.as_slice(), chunk).expect("a whole file").short();
            assert!(numbers.iter().all(|number| reader.u64().expect("a number") == *number), "chunks of {chunk}");
            assert_eq!(reader.bytes().expect("the text"), b"text");
            reader.finish().expect("no field is left");
        }
        let is_refused = |payload: &[u8]| matches!(open(payload).short().u64(), Err(LoadError::Invalid { .. }));
        assert!(is_refused(&[0x80]) && is_refused(&[]), "no end");
        assert!(is_refused(&[0x80, 0]) && is_refused(&[0xff, 0x80, 0]), "a shorter form is there");
        assert!(is_refused(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), "more than 64 bits");
        assert!(is_refused(&[0xff; 11]));
        assert!(matches!(open(&[0x80, 0x80, 4]).short().u16(), Err(LoadError::Invalid { .. })), "more than 16 bits");
    }

    #[test]
    fn fields_left_over_are_an_error() {
        assert!(matches!(open(&[0]).finish(), Err(LoadError::Invalid { .. })));
    }

    #[test]
    fn arrays_have_no_spare_capacity() {
        let words: Vec<u64> = (0..CHUNK as u64).collect();
        let mut writer = Writer::new();
        writer.bytes(vec![3; 3 * CHUNK + 1]);
        writer.words(&words);
        let mut file = Vec::new();
        writer.finish(1, 2, &mut file).expect("a vector takes every write");

        let mut reader = Reader::open(&mut file.as_slice()).expect("a whole file");
        let bytes = reader.bytes().expect("the bytes");
        assert_eq!((bytes.len(), bytes.capacity()), (3 * CHUNK + 1, 3 * CHUNK + 1));
        let read = reader.words().expect("the words");
        assert_eq!(read.capacity(), words.len());
        assert!(read == words);
        reader.finish().expect("no field is left");
    }

    #[test]
    fn chunks_are_released_as_they_are_taken() {
        let mut reader = Reader::open_in_chunks(&mut sealed(&[0; 80]).as_slice(), 8).expect("a whole file");
        for taken in 1..=10 {
            reader.u64().expect("eight bytes");
            assert!(reader.chunks.len() <= 11 - taken, "{taken} taken, {} kept", reader.chunks.len());
        }
    }

    #[test]
    fn debug_shows_no_field() {
        assert_eq!(format!("{:?}", open(b"secret")), "Reader { kind: 1, sequence: 2, remaining: 6, .. }");
    }

    #[derive(Debug, Clone, PartialEq)]
    enum Field {
        U8(u8),
        U16(u16),
        U32(u32),
        U64(u64),
        Bytes(Vec<u8>),
        Words(Vec<u64>),
    }

    impl Field {
        fn write<'a>(&'a self, writer: &mut Writer<'a>) {
            match self {
                Self::U8(value) => writer.u8(*value),
                Self::U16(value) => writer.u16(*value),
                Self::U32(value) => writer.u32(*value),
                Self::U64(value) => writer.u64(*value),
                Self::Bytes(bytes) => writer.bytes(bytes),
                Self::Words(words) => writer.words(words),
            }
        }

        /// Takes a field of the same type.
        fn take(&self, reader: &mut Reader) -> Result<Self, LoadError> {
            Ok(match self {
                Self::U8(_) => Self::U8(reader.u8()?),
                Self::U16(_) => Self::U16(reader.u16()?),
                Self::U32(_) => Self::U32(reader.u32()?),
                Self::U64(_) => Self::U64(reader.u64()?),
                Self::Bytes(_) => Self::Bytes(reader.bytes()?),
                Self::Words(_) => Self::Words(reader.words()?),
            })
        }

        /// The same from a plain slice, written without any of the reader's code.
        fn take_naively(&self, payload: &mut &[u8]) -> Option<Self> {
            Some(match self {
                Self::U8(_) => Self::U8(number(payload, 1)? as u8),
                Self::U16(_) => Self::U16(number(payload, 2)? as u16),
                Self::U32(_) => Self::U32(number(payload, 4)? as u32),
                Self::U64(_) => Self::U64(number(payload, 8)?),
                Self::Bytes(_) => {
                    let len = number(payload, 8)?;
                    Self::Bytes(payload.split_off(..usize::try_from(len).ok()?)?.to_vec())
                }
                Self::Words(_) => {
                    let len = number(payload, 8)?;
                    let mut bytes = payload.split_off(..usize::try_from(len).ok()?)?;
                    if len % 8 != 0 {
                        return None;
                    }
                    Self::Words((0..len / 8).map_while(|_| number(&mut bytes, 8)).collect())
                }
            })
        }
    }

    fn number(payload: &mut &[u8], size: usize) -> Option<u64> {
        let bytes = payload.split_off(..size)?;
        Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn any_field() -> impl Strategy<Value = Field> {
        prop_oneof![
            any::<u8>().prop_map(Field::U8),
            any::<u16>().prop_map(Field::U16),
            any::<u32>().prop_map(Field::U32),
            any::<u64>().prop_map(Field::U64),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(Field::Bytes),
            proptest::collection::vec(any::<u64>(), 0..6).prop_map(Field::Words),
        ]
    }

    /// Bytes among which small numbers are common, so that some of them are lengths that fit.
    fn any_payload() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![6 => Just(0u8), 2 => 1..20u8, 1 => any::<u8>()];
        proptest::collection::vec(byte, 0..120)
    }

    proptest! {
        #[test]
        fn fields_are_read_as_they_were_written_whatever_the_chunks(
            fields in proptest::collection::vec(any_field(), 0..12),
            kind: u16,
            sequence: u64,
            chunk in 1..100usize,
        ) {
            let mut writer = Writer::new();
            fields.iter().for_each(|field| field.write(&mut writer));
            let mut file = Vec::new();
            writer.finish(kind, sequence, &mut file).expect("a vector takes every write");

            let mut reader = Reader::open_in_chunks(&mut file.as_slice(), chunk).expect("a whole file");
            prop_assert_eq!((reader.kind(), reader.sequence()), (kind, sequence));
            for field in &fields {
                prop_assert_eq!(&field.take(&mut reader).expect("a field"), field);
            }
            prop_assert!(reader.finish().is_ok());
        }

        #[test]
        fn any_payload_taken_as_any_fields_agrees_with_a_naive_reader(
            payload in any_payload(),
            types in proptest::collection::vec(any_field(), 0..40),
            chunk in 1..100usize,
        ) {
            let mut reader = Reader::open_in_chunks(&mut sealed(&payload).as_slice(), chunk).expect("a whole file");
            let mut naive = payload.as_slice();
            for field in types {
                let Some(expected) = field.take_naively(&mut naive) else {
                    let refused = matches!(field.take(&mut reader), Err(LoadError::Invalid { .. }));
                    prop_assert!(refused);
                    return Ok(());
                };
                prop_assert_eq!(field.take(&mut reader).expect("a field"), expected);
                prop_assert_eq!(reader.remaining, naive.len() as u64);
            }
            prop_assert_eq!(reader.finish().is_ok(), naive.is_empty());
        }

        #[test]
        fn a_reader_used_after_errors_never_panics(
            payload in proptest::collection::vec(any::<u8>(), 0..200),
            types in proptest::collection::vec(any_field(), 0..40),
        ) {
            let mut reader = open(&payload);
            let taken = types.iter().filter(|field| field.take(&mut reader).is_ok()).count();
            prop_assert!(taken <= payload.len());
        }
    }
}
