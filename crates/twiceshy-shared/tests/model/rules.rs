//! The protocol's rules, each with a name, each of which can be switched off.

/// One rule of the protocol. The doc says what holds while the rule is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// A record is appended only if the head is still the position that the writer has applied.
    Cas,
    /// An announcer waits for every member's acknowledgement, or for the leases to run out.
    Wait,
    /// The announcer waits for D plus the clocks' drift, not D.
    Drift,
    /// The announcer's wait is counted from the arrival of the announcement's answer, not from the sending.
    Arrived,
    /// A lease is counted from the sending of the renewal, not from the arrival of its answer.
    Sent,
    /// A lease counts only once the head that the renewal returned is applied.
    Applied,
    /// *Absent* is said from the filter only within a lease.
    Lease,
    /// The look-up reads the clock itself, and does not use a time that another thread keeps.
    OwnClock,
    /// The clock runs while the process is suspended.
    Boottime,
    /// The value's transaction deletes its open announcement, and writes nothing if that is gone.
    Fence,
    /// A removal takes the key out of the log only if no announcement of it is open.
    Open,
    /// A removal deletes the row and appends its record in one transaction.
    Row,
    /// Closing another's announcement takes the key out only if it has no row.
    Look,
    /// Others close only the announcements of members that were struck out.
    Struck,
    /// A member is struck out only after a time without a renewal, by the striker's clock.
    Silent,
    /// The time of [`Rule::Silent`] is D plus the clocks' drift, not D.
    SilentDrift,
    /// A renewal of a struck-out member fails.
    StruckKnows,
    /// The members survive a crash of the engine.
    Durable,
    /// The count of renewals survives a crash of the engine.
    RenewalDurable,
    /// Applying an announcement drops its key from the list of queries known to be absent.
    Exceptions,
    /// A process that has not loaded the table that it was switched to asks the store.
    Loaded,
    /// A joining member registers first, and has its lease from a renewal sent after that.
    Join,
    /// With a lease, a member acknowledges only positions that it has applied.
    AcksMeanApplied,
    /// Level Within: the time is counted from the sending of the query, not from its answer's arrival.
    WithinSent,
    /// Level Within: an answer counts only if the outbox was empty.
    WithinOutbox,
    /// The mover appends the record and deletes the outbox entry in one transaction.
    Outbox,
    /// Level AtLeast: *absent* is said only if the applied position is at least the token's.
    AtLeast,
    /// Amendment: a look-up reads its clock before it fetches and probes the filter.
    ProbeLast,
    /// Amendment: a lease counts only once every position that the member acknowledged before it is applied.
    LeaseCoversAcks,
    /// Amendment: the lease of [`Rule::AcksMeanApplied`] may be one that does not count yet.
    PendingLease,
    /// Amendment: closing an announcement takes the key out only if no other announcement of it is open.
    LastOpen,
    /// Amendment: the fence looks for the announcement by its position, not by its owner and key.
    FenceByPosition,
    /// Amendment: a query joins the list of absent ones only if no record after the check's head is applied.
    ExceptionFresh,
    /// Amendment: loading a snapshot, which skips records, empties the list of absent queries.
    SnapshotClears,
}

impl Rule {
    /// How many rules there are.
    pub(crate) const COUNT: usize = Self::SnapshotClears as usize + 1;
}

/// A set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rules(u64);

impl Rules {
    /// All rules, the amendments included.
    pub(crate) const ALL: Self = Self(u64::MAX);

    /// This set without `rule`.
    pub(crate) const fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u32))
    }

    /// `true` if `rule` is on.
    pub(crate) const fn has(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }
}
