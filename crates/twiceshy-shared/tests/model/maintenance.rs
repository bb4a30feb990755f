//! The table grows, and rows written with plain SQL find their way into the log.

use crate::engine::{ASKED, Kind};
use crate::guard::{Guard, require, spend};
use crate::process::Id;
use crate::rules::Rule;
use crate::state::State;

impl Guard {
    /// Transaction: appends the switch to a new table.
    pub(crate) fn grow(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        spend(&mut state.budget.growths)?;
        self.append(state, id, |keys| keys, Kind::Growth)
    }

    /// Transaction of somebody who is no process of ours: writes the row of the asked key; a trigger puts the key into
    /// the outbox.
    pub(crate) fn write_plain(&self, state: &mut State) -> Option<()> {
        require(!state.engine.rows.contains(ASKED))?;
        spend(&mut state.budget.plain_writes)?;
        state.engine.rows = state.engine.rows.with(ASKED);
        state.engine.outbox = state.engine.outbox.with(ASKED);
        self.promise(state, 0);
        Some(())
    }

    /// Transaction: appends the record of the key in the outbox and deletes it there. With [`Rule::Outbox`] off: two
    /// transactions, a step each.
    pub(crate) fn move_from_outbox(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        let in_outbox = state.engine.outbox.contains(ASKED);
        require(in_outbox || state.processes[id].moving)?;
        if in_outbox {
            state.engine.outbox = state.engine.outbox.without(ASKED);
            if !self.has(Rule::Outbox) {
                state.processes[id].moving = true;
                return Some(());
            }
        }
        state.processes[id].moving = false;
        state.engine.index = state.engine.index.with(ASKED);
        self.append(state, id, |keys| keys.with(ASKED), Kind::Announcement(ASKED))
    }
}
