//! Members crash, join, and are struck out; the engine crashes.

use crate::guard::{Guard, require, spend};
use crate::process::{Id, LEASE, Lease, Observation, PROCESSES, Process};
use crate::rules::Rule;
use crate::state::State;

impl Guard {
    /// The process loses everything but the requests that it has sent. It stays in the members table.
    pub(crate) fn crash(&self, state: &mut State, id: Id) -> Option<()> {
        require(!state.processes[id].down)?;
        spend(&mut state.budget.crashes)?;
        if let Some(key) = self.configuration.parts[id].inserts {
            self.abandon_insertion(state, id, key)?;
        }
        state.processes[id] = Process { down: true, ..Process::default() };
        Some(())
    }

    /// A joining process reads the head before it registers. Only with [`Rule::Join`] off.
    pub(crate) fn read_head_early(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(!self.has(Rule::Join) && !process.registered && process.early_head.is_none())?;
        process.early_head = Some((state.engine.head(), 0));
        Some(())
    }

    /// Transaction: the process joins as a new member. The row of the member that it was before its crash, which can
    /// only keep announcers waiting, is dropped with it.
    pub(crate) fn register(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(!process.registered && !process.paused)?;
        let lease = match self.has(Rule::Join) {
            true => None,
            false => process.early_head.take(),
        };
        require(lease.is_some() || self.has(Rule::Join))?;
        process.lease = lease.filter(|&(_, age)| age < LEASE).map(|(head, age)| Lease { age, kept_age: age, head });
        process.down = false;
        process.registered = true;
        if !self.applies_in_steps(id) {
            process.applied = state.engine.head();
        }
        self.forget_member(state, id);
        state.engine.acked[id] = Some(state.processes[id].applied);
        Some(())
    }

    /// A process reads the count of renewals of `member`.
    pub(crate) fn watch(&self, state: &mut State, id: Id, member: Id) -> Option<()> {
        require(state.processes[id].runs() && state.engine.acked[member].is_some())?;
        state.processes[id].watch = Some(Observation { member, age: 0, renewals: 0 });
        Some(())
    }

    /// Transaction: deletes the watched member, if it has not renewed since.
    pub(crate) fn strike_out(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        let watch = state.processes[id].watch?;
        require(!self.has(Rule::Silent) || watch.age >= self.patience(Rule::SilentDrift) && watch.renewals == 0)?;
        self.forget_member(state, watch.member);
        Some(())
    }

    /// The engine crashes and comes back with what is durable. With all rules on that is everything.
    pub(crate) fn engine_crashes(&self, state: &mut State) -> Option<()> {
        spend(&mut state.budget.engine_crashes)?;
        for id in 0..PROCESSES {
            if !self.has(Rule::Durable) {
                self.forget_member(state, id);
            }
            if let Some(watch) = &mut state.processes[id].watch
                && !self.has(Rule::RenewalDurable)
            {
                watch.renewals = watch.renewals.saturating_sub(1);
            }
        }
        Some(())
    }

    /// The member's row goes, and nobody watches it any more.
    fn forget_member(&self, state: &mut State, member: Id) {
        state.engine.delete_member(member);
        for process in &mut state.processes {
            process.watch = process.watch.filter(|watch| watch.member != member);
        }
    }
}
