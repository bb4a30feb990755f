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
mod tests;
