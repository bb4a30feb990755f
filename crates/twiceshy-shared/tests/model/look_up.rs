//! Look-ups in two steps: begin and read the clock; probe the filter and answer.

use crate::configuration::Level;
use crate::engine::ASKED;
use crate::guard::{Guard, require, spend};
use crate::process::{DRIFT, Id, LEASE, LookUp};
use crate::rules::Rule;
use crate::state::State;

impl Guard {
    /// A look-up begins and reads the clock. It is followed only if *absent* would be wrong.
    pub(crate) fn begin_look_up(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs() && state.processes[id].look_up.is_none())?;
        let promise = state.promise;
        let owed = match self.configuration.level {
            Level::Exact | Level::AtLeast => promise.is_some(),
            Level::Within => promise.is_some_and(|promise| promise.age >= LEASE + DRIFT),
        };
        require(owed || self.at(Level::Exact) && state.engine.rows.contains(ASKED))?;
        let probe_first = !self.has(Rule::ProbeLast);
        state.processes[id].look_up = Some(LookUp {
            in_lease: !probe_first && self.in_lease(state, id),
            probed_absent: probe_first && self.filter_says_absent(state, id),
            owed,
            token: promise.map_or(0, |promise| promise.token),
        });
        Some(())
    }

    /// The look-up answers: *absent* from the filter, or what the store says, which is right.
    ///
    /// The lease may be read before the clock or after it: a reading of the clock that is within the lease of now
    /// counts too.
    pub(crate) fn answer_look_up(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        let look_up = state.processes[id].look_up.take()?;
        let may_use_filter = match self.configuration.level {
            Level::AtLeast => !self.has(Rule::AtLeast) || state.processes[id].applied >= look_up.token,
            Level::Exact | Level::Within => !self.has(Rule::Lease) || look_up.in_lease || self.in_lease(state, id),
        };
        let absent = match self.has(Rule::ProbeLast) {
            true => self.filter_says_absent(state, id),
            false => look_up.probed_absent,
        };
        if may_use_filter && absent {
            state.wrong.row_stood = self.at(Level::Exact);
            state.wrong.owed = look_up.owed;
        }
        Some(())
    }

    /// `true` if the filter of `id`, or its list of absent queries, says *absent*.
    pub(crate) fn filter_says_absent(&self, state: &State, id: Id) -> bool {
        let process = &state.processes[id];
        let table = match state.engine.last_growth(process.applied) {
            Some(_) if process.unloaded && self.has(Rule::Loaded) => return false,
            Some(growth) if process.unloaded => growth - 1,
            _ => process.applied,
        };
        process.excepted || !state.engine.content(table).contains(ASKED)
    }

    /// Transaction: reads the head, and that the index does not hold the asked key.
    pub(crate) fn check_index(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(process.runs() && process.checked.is_none() && !process.excepted)?;
        require(!state.engine.index.contains(ASKED))?;
        spend(&mut state.budget.checks)?;
        process.checked = Some(state.engine.head());
        Some(())
    }

    /// The answer arrives: the query is put on the list of absent ones.
    pub(crate) fn check_arrives(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(process.runs())?;
        let head = process.checked.take()?;
        process.excepted = !self.has(Rule::ExceptionFresh) || process.applied <= head;
        Some(())
    }
}
