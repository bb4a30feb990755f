//! What a configuration of the model holds: who does what, and how often.

use crate::engine::Key;
use crate::process::PROCESSES;
use crate::property::Witness;

/// The level at which the set is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Insertions wait; look-ups need a lease.
    Exact,
    /// Insertions do not wait; *absent* may be late by Δ.
    Within,
    /// Insertions return a token; look-ups compare it with their applied position.
    AtLeast,
}

/// What a process does in a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Keeps a lease and answers look-ups. A process that does not is always up to date, unless
    /// [`Configuration::late_writers`] says otherwise: being late could only keep it from appending.
    pub(crate) reads: bool,
    /// Inserts this key.
    pub(crate) inserts: Option<Key>,
    /// Removes the asked key.
    pub(crate) removes: bool,
    /// Strikes out silent members, and closes announcements.
    pub(crate) strikes: bool,
    /// Crashes, and registers again if it reads or inserts.
    pub(crate) crashes: bool,
    /// Is suspended and wakes up.
    pub(crate) pauses: bool,
    /// Grows the table, and moves keys from the outbox.
    pub(crate) maintains: bool,
}

/// A process that does nothing.
pub(crate) const BYSTANDER: Part = Part {
    reads: false,
    inserts: None,
    removes: false,
    strikes: false,
    crashes: false,
    pauses: false,
    maintains: false,
};

/// How often each thing may happen. What is not listed (ticks, renewals, look-ups, strikes) is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Announcements.
    pub(crate) insertions: u8,
    /// Removals of the asked key.
    pub(crate) removals: u8,
    /// Announcements closed by another process.
    pub(crate) closings: u8,
    /// Crashes of a process.
    pub(crate) crashes: u8,
    /// Suspensions of a process.
    pub(crate) pauses: u8,
    /// Ticks in which one clock stands still or runs twice as fast. More than
    /// [`DRIFT`](crate::process::DRIFT) would break the bound that the protocol is given.
    pub(crate) drifts: u8,
    /// Insertions given up: a lost answer, or a request executed long after.
    pub(crate) give_ups: u8,
    /// Crashes of the engine.
    pub(crate) engine_crashes: u8,
    /// Switches to a new table.
    pub(crate) growths: u8,
    /// Rows written with plain SQL.
    pub(crate) plain_writes: u8,
    /// Positions acknowledged without being applied.
    pub(crate) unread_acks: u8,
    /// Snapshots loaded in the place of records.
    pub(crate) snapshots: u8,
    /// Queries checked for the list of absent ones.
    pub(crate) checks: u8,
}

/// A bounded part of the protocol, searched completely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    /// Its name in the printed table.
    pub(crate) name: &'static str,
    /// The set's level.
    pub(crate) level: Level,
    /// What each process does.
    pub(crate) parts: [Part; PROCESSES],
    /// `true` if processes that do not read apply the log step by step too.
    pub(crate) late_writers: bool,
    /// How often each thing may happen.
    pub(crate) budget: Budget,
    /// What must be reachable, or the configuration shows nothing.
    pub(crate) witnesses: &'static [Witness],
}
