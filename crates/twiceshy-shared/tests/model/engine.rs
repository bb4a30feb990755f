//! The engine's state: the log, the index, the rows, the announcements, the members and the outbox.

use crate::process::{Id, PROCESSES};

/// A key's number.
pub(crate) type Key = u8;

/// The key that look-ups ask for.
pub(crate) const ASKED: Key = 0;

/// A place in the log. 0 is the empty log; the first record has position 1.
pub(crate) type Position = u8;

/// More records than any configuration can append.
const LOG_SIZE: usize = 7;

/// More announcements than any configuration can have open.
pub(crate) const ANNOUNCEMENTS: usize = 3;

/// A set of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Keys(u8);

impl Keys {
    /// `true` if `key` is in the set.
    pub(crate) const fn contains(self, key: Key) -> bool {
        self.0 & (1 << key) != 0
    }

    /// This set with `key`.
    pub(crate) const fn with(self, key: Key) -> Self {
        Self(self.0 | (1 << key))
    }

    /// This set without `key`.
    pub(crate) const fn without(self, key: Key) -> Self {
        Self(self.0 & !(1 << key))
    }

    /// `true` if the set has no key.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a record does beside setting the filter's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Takes a key out.
    #[default]
    Removal,
    /// Announces a key, or moves it here from the outbox.
    Announcement(Key),
    /// Switches to a new table.
    Growth,
}

/// One record of the log. A plan is made against the writer's copy, so a record is the whole content as its writer
/// sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    /// The filter's content once the record is applied.
    pub(crate) content: Keys,
    /// What else the record does.
    pub(crate) kind: Kind,
}

/// An open announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Announcement {
    /// The position of its record: its identity.
    pub(crate) position: Position,
    /// The key that is to be inserted.
    pub(crate) key: Key,
    /// The process that announced it.
    pub(crate) owner: Id,
    /// `true` if the member that announced it is not, or no longer, in the members table.
    pub(crate) orphan: bool,
}

/// The engine's durable state. A step of the model is at most one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Engine {
    log: [Record; LOG_SIZE],
    head: Position,
    /// R: the keys that are inserted or announced.
    pub(crate) index: Keys,
    /// The keys that have a committed row.
    pub(crate) rows: Keys,
    /// The keys that plain SQL has written and that no record announces yet.
    pub(crate) outbox: Keys,
    /// The open announcements.
    pub(crate) announcements: [Option<Announcement>; ANNOUNCEMENTS],
    /// The members table: the position that each member has acknowledged.
    pub(crate) acked: [Option<Position>; PROCESSES],
}

impl Engine {
    /// The position of the last record.
    pub(crate) const fn head(&self) -> Position {
        self.head
    }

    /// The filter's content at `position`.
    pub(crate) fn content(&self, position: Position) -> Keys {
        match position {
            0 => Keys::default(),
            _ => self.record(position).content,
        }
    }

    /// The record at `position`, which is not 0.
    pub(crate) const fn record(&self, position: Position) -> Record {
        self.log[position as usize - 1]
    }

    /// Appends a record.
    pub(crate) fn append(&mut self, content: Keys, kind: Kind) {
        self.log[self.head as usize] = Record { content, kind };
        self.head += 1;
    }

    /// `true` if a record after `position` takes a key out.
    pub(crate) fn has_removal_after(&self, position: Position) -> bool {
        (position + 1..=self.head).any(|at| self.record(at).kind == Kind::Removal)
    }

    /// The last switch to a new table up to `position`.
    pub(crate) fn last_growth(&self, position: Position) -> Option<Position> {
        (1..=position).rev().find(|&at| self.record(at).kind == Kind::Growth)
    }

    /// Opens an announcement.
    pub(crate) fn open(&mut self, announcement: Announcement) {
        let free = self.announcements.iter_mut().find(|slot| slot.is_none());
        *free.expect("a configuration opens at most ANNOUNCEMENTS announcements") = Some(announcement);
    }

    /// Deletes the announcement in `slot`, and moves the later ones up, so that equal sets are equal states.
    pub(crate) fn delete_announcement(&mut self, slot: usize) {
        self.announcements[slot] = None;
        self.announcements[slot..].rotate_left(1);
    }

    /// `true` if an announcement of `key` is open.
    pub(crate) fn has_open(&self, key: Key) -> bool {
        self.announcements.iter().flatten().any(|open| open.key == key)
    }

    /// `true` if every member has acknowledged `position`.
    pub(crate) fn all_acked(&self, position: Position) -> bool {
        self.acked.iter().flatten().all(|&acked| acked >= position)
    }

    /// Deletes `id` from the members table.
    pub(crate) fn delete_member(&mut self, id: Id) {
        self.acked[id] = None;
        for open in self.announcements.iter_mut().flatten() {
            open.orphan |= open.owner == id;
        }
    }
}
