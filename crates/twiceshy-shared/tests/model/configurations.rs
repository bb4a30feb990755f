//! The configurations that are searched. Process 0 inserts, process 1 answers look-ups, process 2 gets in the way.

use crate::configuration::{BYSTANDER, Budget, Configuration, Level, Part};
use crate::engine::{ASKED, Key};
use crate::property::Witness::{self, *};

const OTHER: Key = ASKED + 1;
/// Answers look-ups.
pub(crate) const READER: Part = Part { reads: true, ..BYSTANDER };
/// Inserts the asked key.
pub(crate) const WRITER: Part = Part { inserts: Some(ASKED), ..BYSTANDER };
/// Nothing may happen but what is unlimited.
pub(crate) const NOTHING: Budget = Budget {
    insertions: 0,
    removals: 0,
    closings: 0,
    crashes: 0,
    pauses: 0,
    drifts: 0,
    give_ups: 0,
    engine_crashes: 0,
    growths: 0,
    plain_writes: 0,
    unread_acks: 0,
    snapshots: 0,
    checks: 0,
};

const fn exact(name: &'static str, parts: [Part; 3], budget: Budget, witnesses: &'static [Witness]) -> Configuration {
    Configuration { name, level: Level::Exact, parts, late_writers: false, budget, witnesses }
}

/// Insertion against leases: two members answer look-ups while one inserts, and a clock drifts.
pub(crate) const LEASES: Configuration = exact(
    "insertion and leases",
    [WRITER, READER, READER],
    Budget { insertions: 1, drifts: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, AllAcked, WaitedOut, Drifted],
);

/// Acknowledgements of positions that are not applied, with records of another key between.
pub(crate) const ACKS: Configuration = exact(
    "acknowledgements",
    [WRITER, READER, Part { inserts: Some(OTHER), ..BYSTANDER }],
    Budget { insertions: 2, drifts: 1, unread_acks: 2, ..NOTHING },
    &[Acknowledged, Absent, Present, UnreadAck],
);

/// A process is suspended.
pub(crate) const PAUSE: Configuration = exact(
    "pause",
    [WRITER, Part { pauses: true, ..READER }, BYSTANDER],
    Budget { insertions: 1, drifts: 1, pauses: 2, ..NOTHING },
    &[Acknowledged, Absent, Present, Suspended],
);

/// Two writers with a key each, and no one up to date of itself.
pub(crate) const TWO_KEYS: Configuration = Configuration {
    late_writers: true,
    ..exact(
        "two keys",
        [WRITER, READER, Part { inserts: Some(OTHER), ..BYSTANDER }],
        Budget { insertions: 3, ..NOTHING },
        &[Acknowledged, Absent, Present, Late],
    )
};

/// The key is removed and inserted again.
pub(crate) const REMOVAL: Configuration = exact(
    "removal and reinsertion",
    [WRITER, READER, Part { removes: true, inserts: Some(ASKED), ..BYSTANDER }],
    Budget { insertions: 2, removals: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, Removed, Reinserted, RemovalMeetsOpen, TwoOpen],
);

/// Members are struck out and join again.
pub(crate) const STRIKE_OUT: Configuration = exact(
    "strike-out",
    [WRITER, READER, Part { strikes: true, ..BYSTANDER }],
    Budget { insertions: 2, drifts: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, StruckOut],
);

/// The announcements of struck-out members are closed while another inserts the same key.
pub(crate) const CLOSING: Configuration = exact(
    "closing",
    [WRITER, READER, Part { strikes: true, ..WRITER }],
    Budget { insertions: 2, closings: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, StruckOut, Closed, TakenOut, Fenced, TwoOpen],
);

/// A writer gives up, and its value's transaction is executed later. It does not crash: it stays the same member, even
/// if it was struck out and does not know.
pub(crate) const LATE_VALUES: Configuration = exact(
    "late values",
    [WRITER, READER, Part { strikes: true, ..BYSTANDER }],
    Budget { insertions: 2, closings: 1, give_ups: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, StruckOut, Closed, TakenOut, Fenced, TwoOpen],
);

/// A writer crashes and joins again, and its value's transaction is executed later.
pub(crate) const WRITER_CRASH: Configuration = exact(
    "writer crash",
    [Part { crashes: true, ..WRITER }, READER, Part { strikes: true, ..BYSTANDER }],
    Budget { insertions: 2, closings: 1, crashes: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, DeadStruckOut, Closed, TakenOut, Fenced, TwoOpen, Rejoined],
);

/// The engine crashes under a striker.
pub(crate) const ENGINE_CRASH: Configuration = exact(
    "engine crash",
    [WRITER, READER, Part { strikes: true, ..BYSTANDER }],
    Budget { insertions: 1, engine_crashes: 1, drifts: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, StruckOut, EngineCrashed],
);

/// The table grows, and a member keeps a list of absent queries.
pub(crate) const GROWTH: Configuration = exact(
    "growth and exceptions",
    [WRITER, READER, Part { maintains: true, removes: true, ..BYSTANDER }],
    Budget { insertions: 2, removals: 1, growths: 1, checks: 1, snapshots: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, Excepted, Unloaded, Grown],
);

/// A member crashes and joins again.
pub(crate) const JOIN: Configuration = exact(
    "join",
    [WRITER, Part { crashes: true, ..READER }, Part { strikes: true, ..BYSTANDER }],
    Budget { insertions: 1, crashes: 2, drifts: 1, unread_acks: 1, ..NOTHING },
    &[Acknowledged, Absent, Present, DeadStruckOut, StruckOut, Rejoined],
);

/// Level Within, with rows that others write with plain SQL.
pub(crate) const WITHIN: Configuration = Configuration {
    level: Level::Within,
    ..exact(
        "within and outbox",
        [WRITER, READER, Part { maintains: true, removes: true, ..BYSTANDER }],
        Budget { insertions: 1, removals: 1, plain_writes: 2, drifts: 1, ..NOTHING },
        &[Acknowledged, Absent, Present, InOutbox, Moved],
    )
};

/// Level AtLeast.
pub(crate) const AT_LEAST: Configuration = Configuration {
    level: Level::AtLeast,
    ..exact(
        "at least",
        [
            WRITER,
            Part { crashes: true, ..READER },
            Part { maintains: true, removes: true, inserts: Some(ASKED), ..READER },
        ],
        Budget { insertions: 2, removals: 1, growths: 1, crashes: 1, ..NOTHING },
        &[Acknowledged, BeforeToken],
    )
};
