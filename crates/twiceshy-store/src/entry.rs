//! The bytes of index entries and log records.

use crate::sum;
use std::ops::RangeInclusive;
use twiceshy::remote::{Generation, Key, Order};

/// The offset of the key in an index entry: after generation, order and word, all big-endian so that they sort as numbers.
pub(crate) const HEAD: usize = 4 + 1 + 8;

/// The index entry of a key.
pub(crate) fn index(generation: Generation, order: Order, word: u64, key: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(HEAD + key.len());
    entry.extend(generation.0.to_be_bytes());
    entry.push(order.0);
    entry.extend(word.to_be_bytes());
    entry.extend(key);
    entry
}

/// The first entry of these words, and the end (exclusive).
pub(crate) fn index_span(generation: Generation, order: Order, words: &RangeInclusive<u64>) -> (Vec<u8>, Vec<u8>) {
    let mut end = index(generation, order, *words.end(), &[]);
    increment(&mut end);
    (index(generation, order, *words.start(), &[]), end)
}

/// The end (exclusive) of an order's entries.
pub(crate) fn order_end(generation: Generation, order: Order) -> Vec<u8> {
    let mut end = index(generation, order, 0, &[]);
    end.truncate(5);
    increment(&mut end);
    end
}

/// The next byte string of the same length. All 255 becomes a longer one, above every entry since there are few orders.
fn increment(bytes: &mut Vec<u8>) {
    for byte in bytes.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
    bytes.iter_mut().for_each(|byte| *byte = u8::MAX);
    bytes.push(u8::MAX);
}

/// The generation of an index entry; `None` if the bytes are not an entry.
pub(crate) fn generation(entry: &[u8]) -> Option<Generation> {
    Some(Generation(u32::from_be_bytes(*entry.first_chunk()?)))
}

/// Word and key of an index entry; `None` if the bytes are not an entry.
pub(crate) fn parse_index(entry: &[u8]) -> Option<(u64, &[u8])> {
    let (head, key) = entry.split_at_checked(HEAD)?;
    let word = head[5..].try_into().ok()?;
    Some((u64::from_be_bytes(word), key))
}

/// What a commit did to the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Logged {
    Added(Key),
    Removed(Key),
    /// Nothing; only the index changed.
    Other,
}

/// A commit in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) tag: u64,
    pub(crate) logged: Logged,
}

impl Record {
    pub(crate) fn key(number: u64) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }

    pub(crate) fn number(key: &[u8]) -> Option<u64> {
        Some(u64::from_be_bytes(key.try_into().ok()?))
    }

    /// The record of a commit as bytes, with a checksum if `sums` is set.
    pub(crate) fn to_bytes(&self, number: u64, sums: bool) -> Vec<u8> {
        let (kind, key): (u8, &[u8]) = match &self.logged {
            Logged::Added(key) => (0, key),
            Logged::Removed(key) => (1, key),
            Logged::Other => (2, &[]),
        };
        let mut bytes = self.tag.to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend(key);
        if sums { sum::seal(&Record::key(number), bytes) } else { bytes }
    }

    /// Reads the record of a commit; `None` if it is damaged.
    pub(crate) fn from_bytes(number: u64, bytes: &[u8], sums: bool) -> Option<Record> {
        let bytes = if sums { sum::content(&Record::key(number), bytes)? } else { bytes };
        let (tag, rest) = bytes.split_first_chunk::<8>()?;
        let (kind, key) = rest.split_first()?;
        let logged = match kind {
            0 => Logged::Added(Key::from(key)),
            1 => Logged::Removed(Key::from(key)),
            2 if key.is_empty() => Logged::Other,
            _ => return None,
        };
        Some(Record { tag: u64::from_le_bytes(*tag), logged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_sort_by_generation_order_word_and_key_and_spans_hold_their_words() {
        let mut all = Vec::new();
        for generation in [0, 1, 255, 256, u32::MAX] {
            for order in [0, 1, 7] {
                for word in [0, 1, 255, 256, u64::MAX - 1, u64::MAX] {
                    for key in [&b""[..], b"\0", b"a", &[255; 20]] {
                        all.push((Generation(generation), Order(order), word, key));
                    }
                }
            }
        }
        let entries: Vec<Vec<u8>> = all.iter().map(|(g, o, w, key)| index(*g, *o, *w, key)).collect();
        assert!(entries.is_sorted());
        for (entry, (_, _, word, key)) in entries.iter().zip(&all) {
            assert_eq!(parse_index(entry), Some((*word, *key)));
        }
        for words in [0..=0, 1..=256, 0..=u64::MAX, u64::MAX..=u64::MAX] {
            for (generation, order) in [(0, 0), (255, 7), (u32::MAX, 7)] {
                let (from, to) = index_span(Generation(generation), Order(order), &words);
                for (entry, (g, o, w, _)) in entries.iter().zip(&all) {
                    let inside = (g.0, o.0) == (generation, order) && words.contains(w);
                    assert_eq!(from <= *entry && *entry < to, inside, "{entry:?} in {words:?}");
                }
            }
        }
        for generation in [0, 256, u32::MAX] {
            for (entry, (g, o, ..)) in entries.iter().zip(&all) {
                let from = index(Generation(generation), Order(7), 0, &[]);
                let inside = from <= *entry && *entry < order_end(Generation(generation), Order(7));
                assert_eq!(inside, g.0 == generation && o.0 == 7);
            }
        }
    }

    #[test]
    fn records_are_read_as_written_and_other_bytes_are_refused() {
        let key = Key::from(&b"key"[..]);
        for logged in [Logged::Added(key.clone()), Logged::Removed(Key::from(&b""[..])), Logged::Other] {
            let record = Record { tag: 0x1234_5678_9ABC_DEF0, logged };
            for sums in [false, true] {
                let bytes = record.to_bytes(5, sums);
                assert_eq!(Record::from_bytes(5, &bytes, sums).as_ref(), Some(&record));
                assert_eq!(Record::from_bytes(6, &bytes, sums).is_some(), !sums, "another commit's record");
            }
        }
        assert_eq!(Record::from_bytes(5, &[0; 8], false), None);
        assert_eq!(Record::from_bytes(5, &[3; 9], false), None);
        assert_eq!(Record::from_bytes(5, &[0, 0, 0, 0, 0, 0, 0, 0, 2, 1], false), None);
        assert_eq!(Record::number(&Record::key(77)), Some(77));
    }
}
