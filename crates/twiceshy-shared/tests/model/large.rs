//! Larger bounds: minutes each, so ignored by default.

use crate::configuration::{BYSTANDER, Budget, Configuration, Part};
use crate::configurations::*;
use crate::property::Witness::*;
use crate::rules::Rules;
use crate::search::holds;

/// Two members that answer look-ups and insert, so that a process looks up what it has announced itself.
const READING_WRITERS: Configuration = Configuration {
    name: "large: reading writers",
    parts: [Part { reads: true, ..WRITER }, Part { reads: true, ..WRITER }, BYSTANDER],
    budget: Budget { insertions: 2, drifts: 1, unread_acks: 1, ..NOTHING },
    ..LEASES
};

/// Strike-outs, closings, a removal and a crash, which leaves late requests behind, together.
const CLOSING_AND_REMOVAL: Configuration = Configuration {
    name: "large: closing and removal",
    parts: [Part { crashes: true, ..WRITER }, READER, Part { strikes: true, removes: true, ..WRITER }],
    budget: Budget { insertions: 2, removals: 1, closings: 1, crashes: 1, ..NOTHING },
    witnesses: &[Acknowledged, Absent, Present, StruckOut, Closed, TakenOut, Fenced, TwoOpen, Reinserted],
    ..CLOSING
};

/// One member that answers look-ups under everything that can happen to a member.
const TROUBLED_READER: Configuration = Configuration {
    name: "large: troubled reader",
    parts: [
        WRITER,
        Part { crashes: true, pauses: true, ..READER },
        Part { strikes: true, maintains: true, ..BYSTANDER },
    ],
    budget: Budget {
        insertions: 1,
        crashes: 1,
        pauses: 1,
        drifts: 1,
        growths: 1,
        unread_acks: 1,
        checks: 1,
        snapshots: 1,
        ..NOTHING
    },
    witnesses: &[Acknowledged, Absent, Present, StruckOut, DeadStruckOut, Rejoined, Excepted, Unloaded, Grown],
    ..JOIN
};

#[test]
#[ignore = "minutes"]
fn reading_writers_hold() {
    holds(READING_WRITERS, Rules::ALL, 2);
}

#[test]
#[ignore = "minutes"]
fn closing_and_removal_hold() {
    holds(CLOSING_AND_REMOVAL, Rules::ALL, 2);
}

#[test]
#[ignore = "minutes"]
fn a_troubled_reader_holds() {
    holds(TROUBLED_READER, Rules::ALL, 2);
}
