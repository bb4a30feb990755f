//! The adaptivity bits of 64 slots that have more than three words hold.

use super::bit_string::{BitReader, BitWriter};
use super::strings::{Bits, SLOTS};
use crate::touched;

/// 64 strings: for each, as many zeros as it has bits, a one, and these bits. A block in 200 has one when nobody attacks, and many
/// when keys that are alike are inserted; with 16 bytes for each string it came to 20 bits for each key of the filter then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spilled(Box<[u8]>);

/// What one takes beside its bytes: its entry in the map, with what a node of it leaves empty, and the allocation.
const BESIDE: u64 = 48 * 8;

impl Spilled {
    pub(super) fn new(strings: &[Bits]) -> Spilled {
        let mut out = BitWriter::default();
        for string in strings {
            // A string of 64 bits needs one zero more than a word has behind its one.
            out.put_zeros(string.len.min(63));
            if string.len >= 63 {
                out.put(u64::from(string.len == 64), 1);
            }
            out.put(string.bits, string.len);
        }
        Spilled(out.finish())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Strings in the bytes of [`Spilled::as_bytes`]; `None` for bytes that it never gives out.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Spilled> {
        let spilled = Spilled(bytes.into());
        let strings: Vec<Bits> = spilled.iter().collect();
        (Spilled::new(&strings) == spilled).then_some(spilled)
    }

    /// The strings, that of slot 0 first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Bits> + '_ {
        self.note();
        let mut from = BitReader::new(&self.0);
        (0..SLOTS).map(move |_| {
            let zeros = from.take_zeros();
            let len = if zeros == 63 { 63 + from.take(1) as u32 } else { zeros };
            Bits { len, bits: from.take(len) }
        })
    }

    pub(super) fn get(&self, slot: u32) -> Bits {
        self.iter().nth(slot as usize).unwrap_or(Bits::EMPTY)
    }

    pub(super) fn allocated_bits(&self) -> u64 {
        self.0.len() as u64 * 8 + BESIDE
    }

    /// Its words are touched.
    #[inline(always)]
    pub(super) fn note(&self) {
        touched::note_slice(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn strings_of_any_length_come_back() {
        let mut rng = SplitMix64::from_state(9);
        for round in 0..300 {
            let longest = if round % 3 == 0 { 65 } else { 4 };
            let strings: Vec<Bits> =
                (0..SLOTS).map(|_| Bits { len: rng.below(longest) as u32, bits: rng.next() }).collect();
            let strings: Vec<Bits> = strings.iter().map(|string| Bits::prefix(string.bits, string.len)).collect();
            let spilled = Spilled::new(&strings);
            assert!(spilled.iter().eq(strings.iter().copied()));
            assert!((0..SLOTS).all(|slot| spilled.get(slot) == strings[slot as usize]));
            let mut bytes = spilled.as_bytes().to_vec();
            assert_eq!(Spilled::from_bytes(bytes.clone()), Some(spilled));
            bytes.push(0);
            assert_eq!(Spilled::from_bytes(bytes), None);
        }
    }
}
