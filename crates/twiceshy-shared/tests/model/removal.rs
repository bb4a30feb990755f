//! Removals, and the closing of announcements that nobody finishes.

use crate::configuration::Level;
use crate::engine::{ASKED, Key, Kind};
use crate::guard::{Guard, require, spend};
use crate::process::{Id, Remover};
use crate::rules::Rule;
use crate::state::State;

impl Guard {
    /// A removal of the asked key begins: from here on look-ups may say either.
    pub(crate) fn begin_removal(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(process.runs() && process.remover == Remover::Idle)?;
        spend(&mut state.budget.removals)?;
        process.remover = Remover::Removing;
        state.promise = None;
        for process in &mut state.processes {
            if let Some(look_up) = &mut process.look_up {
                look_up.owed = false;
            }
            process.look_up = process.look_up.filter(|_| self.at(Level::Exact));
        }
        Some(())
    }

    /// Transaction: deletes the row and takes the key out of the log and the index, unless it is announced. With
    /// [`Rule::Row`] off: two transactions, a step each.
    pub(crate) fn remove(&self, state: &mut State, id: Id) -> Option<()> {
        let process = state.processes[id];
        require(process.runs() && process.remover != Remover::Idle)?;
        if process.remover == Remover::Removing {
            require(!self.has(Rule::Cas) || process.applied == state.engine.head())?;
            delete_row(state);
            if !self.has(Rule::Row) {
                state.processes[id].remover = Remover::RowDeleted;
                return Some(());
            }
        }
        state.processes[id].remover = Remover::Idle;
        if self.has(Rule::Open) && state.engine.has_open(ASKED) {
            return Some(());
        }
        self.take_out(state, id, ASKED)
    }

    /// Transaction: deletes the announcement in `slot`, whose owner was struck out, and takes its key out if nothing
    /// needs it.
    pub(crate) fn close_announcement(&self, state: &mut State, id: Id, slot: usize) -> Option<()> {
        require(state.processes[id].runs())?;
        let open = state.engine.announcements[slot]?;
        require(open.orphan || !self.has(Rule::Struck))?;
        spend(&mut state.budget.closings)?;
        state.engine.delete_announcement(slot);
        let has_row = self.has(Rule::Look) && state.engine.rows.contains(open.key);
        let has_other = self.has(Rule::LastOpen) && state.engine.has_open(open.key);
        if has_row || has_other {
            return Some(());
        }
        self.take_out(state, id, open.key)
    }

    fn take_out(&self, state: &mut State, id: Id, key: Key) -> Option<()> {
        self.append(state, id, |keys| keys.without(key), Kind::Removal)?;
        state.engine.index = state.engine.index.without(key);
        Some(())
    }
}

/// Deletes the asked key's row. A look-up that is in progress may say *absent* from now on.
fn delete_row(state: &mut State) {
    if state.engine.rows.contains(ASKED) {
        state.engine.rows = state.engine.rows.without(ASKED);
        for process in &mut state.processes {
            process.look_up = None;
        }
    }
}
