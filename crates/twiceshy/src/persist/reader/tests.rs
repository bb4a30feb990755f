//! Files as they are, cut, damaged and hostile.

use super::*;
use crate::persist::Writer;
use proptest::prelude::*;
use std::io;

/// A container whose checksums match the payload.
fn sealed(payload: &[u8]) -> Vec<u8> {
    sealed_with_length(payload, payload.len() as u64)
}

fn sealed_with_length(payload: &[u8], payload_len: u64) -> Vec<u8> {
    let header =
        Header { kind: 1, sequence: 2, payload_len, payload_crc: crc32fast::hash(payload), stamp: Stamp::default() };
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
