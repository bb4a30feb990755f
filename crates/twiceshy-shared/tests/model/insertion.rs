//! An insertion: announce, wait, write the value, acknowledge.

use crate::configuration::Level;
use crate::engine::{ASKED, Announcement, Key, Kind, Position};
use crate::guard::{Guard, require, spend};
use crate::process::{Id, Remover, Writer};
use crate::rules::Rule;
use crate::state::{Promise, State, Stray};

impl Guard {
    /// The announcement is sent, long before it is executed. See [`Writer::Announcing`].
    pub(crate) fn send_announcement(&self, state: &mut State, id: Id) -> Option<()> {
        let process = &mut state.processes[id];
        require(!self.has(Rule::Arrived))?;
        require(process.runs() && process.writer == Writer::Idle && state.budget.insertions > 0)?;
        process.writer = Writer::Announcing(0);
        Some(())
    }

    /// Transaction: appends the record, puts the key into the index, opens the announcement. The answer arrives at
    /// once: a later arrival could only make the wait longer.
    pub(crate) fn announce(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        let age = match state.processes[id].writer {
            Writer::Idle => 0,
            Writer::Announcing(age) => age,
            _ => return None,
        };
        let key = self.configuration.parts[id].inserts?;
        spend(&mut state.budget.insertions)?;
        self.append(state, id, |keys| keys.with(key), Kind::Announcement(key))?;
        let position = state.engine.head();
        let orphan = state.engine.acked[id].is_none();
        state.engine.index = state.engine.index.with(key);
        state.engine.open(Announcement { position, key, owner: id, orphan });
        state.processes[id].writer = Writer::Waiting(position, age);
        Some(())
    }

    /// The wait is over: the value's transaction is sent.
    pub(crate) fn send_value(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        let Writer::Waiting(position, age) = state.processes[id].writer else { return None };
        let waits = self.has(Rule::Wait) && self.at(Level::Exact);
        require(!waits || age >= self.patience(Rule::Drift) || state.engine.all_acked(position))?;
        state.processes[id].writer = Writer::Writing(position);
        Some(())
    }

    /// The value's transaction is executed while its sender waits for it.
    pub(crate) fn commit_value(&self, state: &mut State, id: Id) -> Option<()> {
        let Writer::Writing(position) = state.processes[id].writer else { return None };
        let key = self.configuration.parts[id].inserts?;
        let committed = self.write_row(state, Stray { owner: id, key, position });
        state.processes[id].writer = if committed { Writer::Committed(position) } else { Writer::Idle };
        Some(())
    }

    /// A value's transaction without a sender is executed.
    pub(crate) fn commit_stray(&self, state: &mut State) -> Option<()> {
        let stray = state.stray.take()?;
        self.write_row(state, stray);
        Some(())
    }

    /// Transaction: deletes the announcement and writes the row; `false` if the fence kept it from that.
    fn write_row(&self, state: &mut State, value: Stray) -> bool {
        let mine = |open: &Announcement| match self.has(Rule::FenceByPosition) {
            true => open.position == value.position,
            false => open.owner == value.owner && open.key == value.key,
        };
        let slot = state.engine.announcements.iter().position(|open| open.as_ref().is_some_and(mine));
        match slot {
            Some(slot) => state.engine.delete_announcement(slot),
            None if self.has(Rule::Fence) => return false,
            None => {}
        }
        state.engine.rows = state.engine.rows.with(value.key);
        true
    }

    /// The caller learns that the key is inserted.
    pub(crate) fn acknowledge(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        let Writer::Committed(position) = state.processes[id].writer else { return None };
        state.processes[id].writer = Writer::Idle;
        if self.configuration.parts[id].inserts == Some(ASKED) {
            self.promise(state, position);
        }
        Some(())
    }

    /// Holds later look-ups to an insertion, unless a removal that began before may have followed it.
    pub(crate) fn promise(&self, state: &mut State, position: Position) {
        let removing = state.processes.iter().any(|process| process.remover != Remover::Idle);
        let removed = self.at(Level::AtLeast) && state.engine.has_removal_after(position);
        let token = if self.at(Level::AtLeast) { position } else { 0 };
        if !removing && !removed && state.engine.rows.contains(ASKED) {
            state.promise = Some(Promise { age: 0, token });
        }
    }

    /// The process stops waiting for an answer that is late or lost. What it sent may still be executed, and its
    /// announcement stays open.
    pub(crate) fn give_up(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs() && state.processes[id].writer != Writer::Idle)?;
        spend(&mut state.budget.give_ups)?;
        self.abandon_insertion(state, id, self.configuration.parts[id].inserts?)
    }

    /// The insertion in progress, if any, loses its process.
    pub(crate) fn abandon_insertion(&self, state: &mut State, id: Id, key: Key) -> Option<()> {
        if let Writer::Writing(position) = state.processes[id].writer {
            require(state.stray.is_none())?;
            state.stray = Some(Stray { owner: id, key, position });
        }
        state.processes[id].writer = Writer::Idle;
        Some(())
    }
}
