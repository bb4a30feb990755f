//! A member renews its lease, applies the log and acknowledges it. At level Within the lease is the time in which a
//! query's answer may be used.

use crate::configuration::Level;
use crate::engine::{ASKED, Kind};
use crate::guard::{Guard, require, spend};
use crate::process::{Id, LEASE, Lease, Renewal};
use crate::rules::Rule;
use crate::state::State;

impl Guard {
    /// A member sends a renewal. It has one on its way at a time.
    pub(crate) fn send_renewal(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(process.runs() && process.registered && process.renewal == Renewal::None)?;
        require(!self.at(Level::AtLeast))?;
        process.renewal = Renewal::Sent(0);
        Some(())
    }

    /// Transaction: counts the renewal and reads the head, unless the member was struck out.
    pub(crate) fn execute_renewal(&self, state: &mut State, id: Id) -> Option<()> {
        let Renewal::Sent(age) = state.processes[id].renewal else { return None };
        let blocked = self.at(Level::Within) && self.has(Rule::WithinOutbox) && !state.engine.outbox.is_empty();
        let struck_out = state.engine.acked[id].is_none() && self.has(Rule::StruckKnows);
        state.processes[id].renewal = match (struck_out, blocked) {
            (true, _) => Renewal::Refused,
            (false, true) => Renewal::NotClear,
            (false, false) => Renewal::Granted(age, state.engine.head()),
        };
        for watch in state.processes.iter_mut().filter_map(|process| process.watch.as_mut()) {
            if watch.member == id && !struck_out {
                watch.renewals = (watch.renewals + 1).min(2);
            }
        }
        Some(())
    }

    /// The answer arrives. A member that was struck out learns it.
    pub(crate) fn renewal_arrives(&self, state: &mut State, id: Id) -> Option<()> {
        let acked = state.engine.acked[id].filter(|_| self.has(Rule::LeaseCoversAcks)).unwrap_or(0);
        let process = &mut state.processes[id];
        require(process.runs())?;
        match process.renewal {
            Renewal::None | Renewal::Sent(_) => return None,
            Renewal::NotClear => {}
            Renewal::Refused => {
                process.registered = false;
                process.lease = None;
            }
            Renewal::Granted(age, head) => {
                let rule = if self.at(Level::Within) { Rule::WithinSent } else { Rule::Sent };
                let age = if self.has(rule) { age } else { 0 };
                if age < LEASE {
                    process.lease = Some(Lease { age, kept_age: age, head: head.max(acked) });
                }
            }
        }
        process.renewal = Renewal::None;
        Some(())
    }

    /// The request or its answer is lost.
    pub(crate) fn lose_renewal(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(process.runs() && process.renewal != Renewal::None)?;
        process.renewal = Renewal::None;
        Some(())
    }

    /// The process applies the next record and acknowledges it.
    pub(crate) fn apply(&self, state: &mut State, id: Id) -> Option<()> {
        require(self.applies_in_steps(id))?;
        let process = &mut state.processes[id];
        require(process.runs() && process.applied < state.engine.head())?;
        process.applied += 1;
        match state.engine.record(process.applied).kind {
            Kind::Announcement(ASKED) if self.has(Rule::Exceptions) => process.excepted = false,
            Kind::Growth => process.unloaded = self.configuration.parts[id].reads,
            Kind::Announcement(_) | Kind::Removal => {}
        }
        self.ack(state, id);
        Some(())
    }

    /// The member acknowledges the head without having applied it. It may do so while it has no lease, not even one
    /// that does not count yet.
    pub(crate) fn ack_unread(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        let has_lease = match self.has(Rule::PendingLease) {
            true => state.clock_in_lease(id),
            false => self.in_lease(state, id),
        };
        require(!self.has(Rule::AcksMeanApplied) || !has_lease)?;
        let head = state.engine.head();
        let acked = state.engine.acked[id].as_mut()?;
        require(*acked < head)?;
        spend(&mut state.budget.unread_acks)?;
        *acked = head;
        Some(())
    }

    /// The process loads a snapshot of the head instead of applying the records up to it.
    pub(crate) fn load_snapshot(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(process.runs() && process.applied < state.engine.head())?;
        spend(&mut state.budget.snapshots)?;
        process.applied = state.engine.head();
        process.unloaded = false;
        process.excepted &= !self.has(Rule::SnapshotClears);
        self.ack(state, id);
        Some(())
    }

    /// `true` if the clock of `id`, read now, is within a lease that counts.
    pub(crate) fn in_lease(&self, state: &State, id: Id) -> bool {
        let process = &state.processes[id];
        let head = process.lease.map_or(0, |lease| lease.head);
        state.clock_in_lease(id) && (!self.has(Rule::Applied) || process.applied >= head)
    }

    /// The process has loaded the table that it was switched to, up to its applied position.
    pub(crate) fn load_table(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(process.runs() && process.unloaded)?;
        process.unloaded = false;
        Some(())
    }
}
