//! The names of a set in Redis, and the bytes of its index.

use super::slots::slot_of;
use crate::engine::{EngineError, Entry, Open, Span};
use crate::names::{MemberId, Shard};
use twiceshy::remote::{Generation, Key, Order, Position};

/// The longest name of a set.
const LONGEST_NAME: usize = 200;

/// The bytes before the key in an entry of the index: its generation, its order and its word.
pub(super) const PREFIX: usize = 4 + 1 + 8;

/// The names of a set's keys. Those of a shard have the same text between braces, so that a cluster keeps them on one server.
#[derive(Clone, Debug)]
pub(super) struct Names {
    set: String,
}

/// What a shard has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// A hash: the position and the tag of the head, and of the record before the log's first.
    Head,
    /// A stream, with the position as the id of each record.
    Log,
    /// A sorted set without scores: see [`entries`].
    Index,
    /// A hash: values by key.
    Values,
    /// A sorted set without scores: the keys that have a value. A hash cannot be read in an order.
    Valued,
    /// A hash: open announcements by number.
    Open,
    /// A hash: how many open announcements a key has.
    Announced,
    /// A hash: members by number.
    Members,
    /// A hash: snapshots by number.
    Snapshots,
}

impl Names {
    /// Refuses a name that would break the hash tags.
    pub(super) fn new(set: &str) -> Result<Names, EngineError> {
        let is_valid = !set.is_empty() && set.len() <= LONGEST_NAME && !set.contains(['{', '}']);
        is_valid.then(|| Names { set: set.to_owned() }).ok_or_else(|| {
            EngineError::Failed(format!(
                "the name of a set must have 1 to {LONGEST_NAME} bytes and no braces: choose another than {set:?}"
            ))
        })
    }

    pub(super) fn set(&self) -> &str {
        &self.set
    }

    /// The set's own keys: its description, and the number of its shards.
    pub(super) fn own(&self) -> [String; 2] {
        ["description", "shards"].map(|what| format!("twiceshy:{{{}}}:{what}", self.set))
    }

    pub(super) fn own_slot(&self) -> u16 {
        slot_of(self.set.as_bytes())
    }

    /// The channel on which new records are told.
    pub(super) fn channel(&self) -> String {
        format!("twiceshy:{{{}}}:news", self.set)
    }

    pub(super) fn slot(&self, shard: Shard) -> u16 {
        slot_of(format!("{}:{}", self.set, shard.0).as_bytes())
    }

    pub(super) fn of(&self, shard: Shard, part: Part) -> String {
        let part = match part {
            Part::Head => "head",
            Part::Log => "log",
            Part::Index => "index",
            Part::Values => "values",
            Part::Valued => "valued",
            Part::Open => "open",
            Part::Announced => "announced",
            Part::Members => "members",
            Part::Snapshots => "snapshots",
        };
        format!("twiceshy:{{{}:{}}}:{part}", self.set, shard.0)
    }

    /// A hash with the parts of a snapshot.
    pub(super) fn parts(&self, shard: Shard, snapshot: u64) -> String {
        format!("twiceshy:{{{}:{}}}:snapshot:{snapshot}", self.set, shard.0)
    }
}

/// The beginning of the entries of a word: their bytes are in the order of the numbers.
fn prefix(generation: Generation, order: Order, word: u64) -> [u8; PREFIX] {
    let mut bytes = [0; PREFIX];
    bytes[..4].copy_from_slice(&generation.0.to_be_bytes());
    bytes[4] = order.0;
    bytes[5..].copy_from_slice(&word.to_be_bytes());
    bytes
}

/// The entries of a key.
pub(super) fn entries(entry: &Entry) -> impl Iterator<Item = Vec<u8>> + '_ {
    entry.words.iter().map(|(order, word)| [&prefix(entry.generation, order, word)[..], &entry.key].concat())
}

/// The key and the word of an entry.
pub(super) fn parse_entry(entry: &[u8]) -> Option<Position> {
    let (before, key) = entry.split_at_checked(PREFIX)?;
    Some(Position { word: u64::from_be_bytes(before[5..].try_into().ok()?), key: Key::from(key) })
}

/// The bounds of a part of the index, as `ZRANGE … BYLEX` takes them.
pub(super) fn bounds(span: &Span) -> [Vec<u8>; 2] {
    let first = [&b"["[..], &prefix(span.generation, span.order, span.first)].concat();
    [first, end(prefix(span.generation, span.order, span.last))]
}

/// The bounds of what follows a position in order 0 of a generation.
pub(super) fn bounds_after(generation: Generation, after: Option<&Position>) -> [Vec<u8>; 2] {
    let first = match after {
        Some(after) => [&b"("[..], &prefix(generation, Order(0), after.word), &after.key].concat(),
        None => [&b"["[..], &prefix(generation, Order(0), 0)].concat(),
    };
    [first, end(prefix(generation, Order(0), u64::MAX))]
}

/// Below the next prefix.
fn end(mut prefix: [u8; PREFIX]) -> Vec<u8> {
    for byte in prefix.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return [&b"("[..], &prefix].concat();
        }
    }
    b"+".to_vec()
}

/// An announcement's member and keys as bytes. `lua/announcement.lua` reads them, too.
pub(super) fn body(open: &Open) -> Vec<u8> {
    let mut bytes = open.member.0.to_le_bytes().to_vec();
    for key in &open.keys {
        bytes.extend((key.len() as u32).to_le_bytes());
        bytes.extend(&key[..]);
    }
    bytes
}

/// The member and the keys of an announcement.
pub(super) fn parse_body(body: &[u8]) -> Option<(MemberId, Vec<Key>)> {
    let (member, mut rest) = body.split_first_chunk::<8>()?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let (key, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        keys.push(Key::from(key));
        rest = after;
    }
    Some((MemberId(u64::from_le_bytes(*member)), keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Announcement;

    #[test]
    fn names_that_would_break_the_hash_tags_are_refused() {
        for name in ["", "a{b", "}", &"x".repeat(201)] {
            assert!(Names::new(name).is_err(), "{name}");
        }
        let names = Names::new("my set").expect("a good name");
        assert_eq!(names.of(Shard(7), Part::Log), "twiceshy:{my set:7}:log");
        assert_eq!(names.own()[0], "twiceshy:{my set}:description");
    }

    #[test]
    fn the_end_of_a_part_is_above_all_its_keys_and_below_the_next_word() {
        let span = |order, last| Span { generation: Generation(u32::MAX), order: Order(order), first: 0, last };
        assert_eq!(bounds(&span(255, u64::MAX))[1], b"+");
        let [first, last] = bounds(&span(0, 0xFF));
        assert_eq!(first[..], *b"[\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0\0");
        assert_eq!(last[..], *b"(\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\x01\0");
    }

    #[test]
    fn an_announcement_is_read_as_written_and_a_cut_one_is_refused() {
        let keys: Vec<Key> = [&b""[..], b"a", b"\0\0\0\0\0"].map(Key::from).to_vec();
        let open = Open { id: Announcement(1), member: MemberId(5), keys: keys.clone() };
        let bytes = body(&open);
        assert_eq!(parse_body(&bytes), Some((MemberId(5), keys)));
        let cuts: Vec<bool> = (0..bytes.len()).map(|len| parse_body(&bytes[..len]).is_some()).collect();
        // Between two keys it looks whole.
        assert_eq!(cuts.iter().filter(|whole| **whole).count(), 3);
    }
}
