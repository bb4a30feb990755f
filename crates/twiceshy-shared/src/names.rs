//! Small types for numbers that must not be mistaken for each other.

use std::fmt;

/// A part of the set, with its own log, members and filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(pub u32);

/// The last record of a shard's log.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Head {
    /// How many records were appended.
    pub position: u64,
    /// The random tag of the last record; before the first, that of the set, or 0 if nobody has joined yet. If an engine loses a record, the next one gets its position, but another tag.
    pub tag: u64,
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.position, self.tag)
    }
}

/// A member of a set: one for each time that a process joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(pub u64);

/// An announcement: keys that are about to be inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Announcement(pub u64);

/// A saved filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId(pub u64);

/// A random number that is not 0 and fits into 63 bits, so that every engine can hold it.
pub(crate) fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without random bytes nothing that is shared could be told apart. Linux gives them from early boot on.
    if getrandom::fill(&mut bytes).is_err() {
        return fallback();
    }
    (u64::from_le_bytes(bytes) >> 1).max(1)
}

/// A number that differs from others with high probability, without the operating system's random bytes.
fn fallback() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(std::time::SystemTime::now()) >> 1).max(1)
}
