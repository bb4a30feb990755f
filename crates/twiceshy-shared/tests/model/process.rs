//! A process's state, all of it lost in a crash.
//!
//! Times are kept as ages: ticks of the process's own clock since something happened. An age stops counting once no
//! rule can tell it from a higher one, so time is unbounded and the states are finite.

use crate::engine::Position;

/// A process's number.
pub(crate) type Id = usize;

/// How many processes there are.
pub(crate) const PROCESSES: usize = 3;

/// Ticks of a process's clock.
pub(crate) type Ticks = u8;

/// D: how long a lease lasts. Also the Δ of level Within.
pub(crate) const LEASE: Ticks = 2;

/// By how much two clocks may differ over a run: the drift that the waits allow for.
pub(crate) const DRIFT: Ticks = 1;

/// A lease, kept until it has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    /// The ticks since its renewal was sent.
    pub(crate) age: Ticks,
    /// The same by the time that another thread keeps, which stands still in a pause.
    pub(crate) kept_age: Ticks,
    /// The position from which on it counts: the head that the renewal returned, or a higher one that the member had
    /// acknowledged without applying it.
    pub(crate) head: Position,
}

/// A renewal on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Renewal {
    /// None is on its way.
    #[default]
    None,
    /// Sent, not yet executed.
    Sent(Ticks),
    /// Executed, the answer is on its way: the head, if the lease may be had.
    Granted(Ticks, Position),
    /// Executed, the answer says that the outbox is not empty.
    NotClear,
    /// Executed, the answer says that the member was struck out.
    Refused,
}

/// An insertion's progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Writer {
    /// No insertion is in progress.
    #[default]
    Idle,
    /// The announcement is sent. Only with [`Rule::Arrived`](crate::rules::Rule::Arrived) off; otherwise the
    /// announcement is one step, because its plan is checked when it is executed.
    Announcing(Ticks),
    /// Announced at the position; ticks since its answer arrived.
    Waiting(Position, Ticks),
    /// The value's transaction is sent.
    Writing(Position),
    /// The value is committed, the answer is on its way.
    Committed(Position),
}

/// A removal's progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Remover {
    /// No removal is in progress.
    #[default]
    Idle,
    /// The removal has begun.
    Removing,
    /// The row is deleted, the record is not yet appended. Only with [`Rule::Row`](crate::rules::Rule::Row) off.
    RowDeleted,
}

/// A look-up that must not say *absent*: only those are followed, any other may answer what it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LookUp {
    /// `true` if the clock that it read was within the lease.
    pub(crate) in_lease: bool,
    /// `true` if the filter was probed before the clock was read and said *absent*. Only with
    /// [`Rule::ProbeLast`](crate::rules::Rule::ProbeLast) off.
    pub(crate) probed_absent: bool,
    /// `true` if the insertion was acknowledged before it began and no removal has begun since.
    pub(crate) owed: bool,
    /// Level AtLeast: the token.
    pub(crate) token: Position,
}

/// What a striker has seen of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Observation {
    /// The member.
    pub(crate) member: Id,
    /// Ticks since its count of renewals was read.
    pub(crate) age: Ticks,
    /// By how much the count has grown since.
    pub(crate) renewals: u8,
}

/// A process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// `true` if it has crashed and not yet registered again.
    pub(crate) down: bool,
    /// `true` if it believes that it is a member.
    pub(crate) registered: bool,
    /// `true` if it is suspended.
    pub(crate) paused: bool,
    /// The position up to which its copy of the filter is applied.
    pub(crate) applied: Position,
    /// `true` if it has not loaded the table that it was switched to.
    pub(crate) unloaded: bool,
    /// `true` if the asked key is on its list of queries known to be absent.
    pub(crate) excepted: bool,
    /// The head at which the index did not hold the asked key; the answer is on its way.
    pub(crate) checked: Option<Position>,
    /// The lease.
    pub(crate) lease: Option<Lease>,
    /// The renewal on its way.
    pub(crate) renewal: Renewal,
    /// A head read before registering, and its age. Only with [`Rule::Join`](crate::rules::Rule::Join) off.
    pub(crate) early_head: Option<(Position, Ticks)>,
    /// The look-up in progress.
    pub(crate) look_up: Option<LookUp>,
    /// The insertion in progress.
    pub(crate) writer: Writer,
    /// The removal in progress.
    pub(crate) remover: Remover,
    /// The member whose renewals it watches.
    pub(crate) watch: Option<Observation>,
    /// `true` if it has deleted an outbox entry and not yet appended its record. Only with
    /// [`Rule::Outbox`](crate::rules::Rule::Outbox) off.
    pub(crate) moving: bool,
}

impl Process {
    /// `true` if it can take a step.
    pub(crate) const fn runs(&self) -> bool {
        !self.down && !self.paused
    }

    /// Lets its clock run on by `ticks`.
    pub(crate) fn age(&mut self, ticks: Ticks) {
        let add = |age: &mut Ticks, cap: Ticks| *age = (*age + ticks).min(cap);
        if let Some(lease) = &mut self.lease {
            add(&mut lease.age, LEASE);
        }
        if let Renewal::Sent(age) | Renewal::Granted(age, _) = &mut self.renewal {
            add(age, LEASE);
        }
        if let Some((_, age)) = &mut self.early_head {
            add(age, LEASE);
        }
        if let Writer::Announcing(age) | Writer::Waiting(_, age) = &mut self.writer {
            add(age, LEASE + DRIFT);
        }
        if let Some(watch) = &mut self.watch {
            add(&mut watch.age, LEASE + DRIFT);
        }
    }

    /// Brings the kept time up to the clock, and drops a lease that has run out.
    pub(crate) fn keep_time(&mut self) {
        if let Some(lease) = &mut self.lease {
            lease.kept_age = lease.age;
        }
        self.lease = self.lease.filter(|lease| lease.age < LEASE);
    }
}
