//! What must never happen, and what must be reachable so that "never" means something.

use stateright::Property;

use crate::configuration::Configuration;
use crate::engine::ASKED;
use crate::guard::Guard;
use crate::process::{PROCESSES, Writer};
use crate::rules::Rule;
use crate::state::State;

/// Something that a configuration must be able to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Witness {
    /// An insertion is acknowledged.
    Acknowledged,
    /// A look-up may say *absent* from the filter.
    Absent,
    /// A look-up that may use the filter finds the key in it.
    Present,
    /// A value is sent because every member has acknowledged.
    AllAcked,
    /// A value is sent although a member has not acknowledged.
    WaitedOut,
    /// A clock has drifted, and an insertion is acknowledged.
    Drifted,
    /// A member has acknowledged a position that it has not applied.
    UnreadAck,
    /// A process is suspended for longer than its lease.
    Suspended,
    /// A process is late with records of two others.
    Late,
    /// The key was removed, and its removal is applied by a process with a lease.
    Removed,
    /// The key was removed and inserted again.
    Reinserted,
    /// A removal meets an open announcement.
    RemovalMeetsOpen,
    /// A live member was struck out.
    StruckOut,
    /// A crashed member was struck out.
    DeadStruckOut,
    /// A process with a lease was struck out or crashed before, and joined again.
    Rejoined,
    /// An announcement was closed by another process.
    Closed,
    /// An announcement was closed by another process, and its key was taken out.
    TakenOut,
    /// A value's transaction is on its way, and its announcement is closed.
    Fenced,
    /// Two announcements of the key are open.
    TwoOpen,
    /// The engine has crashed, and an insertion is acknowledged after it.
    EngineCrashed,
    /// The key is on a list of absent queries.
    Excepted,
    /// A process with a lease has not loaded its new table.
    Unloaded,
    /// A process with a lease has loaded its new table, and the key is in it.
    Grown,
    /// A row was written with plain SQL, and its key is in the outbox.
    InOutbox,
    /// A row that was written with plain SQL is in the filter of a process with a lease.
    Moved,
    /// A process has not reached the caller's token.
    BeforeToken,
}

/// The properties of a configuration: no wrong answer, and its witnesses.
pub(crate) fn properties(configuration: &Configuration) -> Vec<Property<Guard>> {
    let mut all = vec![
        always("no look-up says absent while the row stands from its begin to its answer", |_, state| {
            !state.wrong.row_stood
        }),
        always("no look-up says absent of a key that its level owes to the caller", |_, state| !state.wrong.owed),
    ];
    all.extend(configuration.witnesses.iter().map(|&witness| reachable(witness)));
    all
}

/// A condition on a state. Naming the type lets closures leave theirs out.
type Condition = fn(&Guard, &State) -> bool;

fn always(name: &'static str, condition: Condition) -> Property<Guard> {
    Property::always(name, condition)
}

fn sometimes(name: &'static str, condition: Condition) -> Property<Guard> {
    Property::sometimes(name, condition)
}

fn reachable(witness: Witness) -> Property<Guard> {
    use Witness::*;
    match witness {
        Acknowledged => sometimes("acknowledged", |_, state| state.promise.is_some()),
        Absent => sometimes("absent", |guard, state| readers(guard, state, |id| absent(guard, state, id))),
        Present => sometimes("present", |guard, state| readers(guard, state, |id| !absent(guard, state, id))),
        AllAcked => sometimes("all acked", |_, state| {
            waits(state, |_, position, age| age == 0 && state.engine.all_acked(position))
        }),
        WaitedOut => sometimes("waited out", |guard, state| {
            waits(state, |_, position, age| age >= guard.patience(Rule::Drift) && !state.engine.all_acked(position))
        }),
        Drifted => sometimes("drifted", |guard, state| {
            state.budget.drifts < guard.configuration.budget.drifts && state.promise.is_some()
        }),
        UnreadAck => sometimes("unread ack", |_, state| {
            any(|id| state.engine.acked[id].is_some_and(|acked| acked > state.processes[id].applied))
        }),
        Suspended => sometimes("suspended", |_, state| {
            any(|id| state.processes[id].paused && state.processes[id].lease.is_none())
        }),
        Late => sometimes("late", |_, state| {
            any(|id| state.processes[id].runs() && state.processes[id].applied + 2 <= state.engine.head())
        }),
        Removed => sometimes("removed", |guard, state| {
            guard.configuration.budget.removals > state.budget.removals
                && readers(guard, state, |id| state.processes[id].applied >= 2 && absent(guard, state, id))
        }),
        Reinserted => sometimes("reinserted", |guard, state| {
            state.engine.rows.contains(ASKED)
                && state.engine.has_removal_after(0)
                && state.engine.content(state.engine.head()).contains(ASKED)
                && state.budget.closings == guard.configuration.budget.closings
        }),
        RemovalMeetsOpen => sometimes("removal meets open", |_, state| {
            state.engine.has_open(ASKED)
                && state.engine.rows.contains(ASKED)
                && any(|id| state.processes[id].remover != Default::default())
        }),
        StruckOut => sometimes("struck out", |_, state| {
            any(|id| state.engine.acked[id].is_none() && state.processes[id].registered)
        }),
        DeadStruckOut => sometimes("dead struck out", |_, state| {
            any(|id| state.engine.acked[id].is_none() && state.processes[id].down)
        }),
        Rejoined => sometimes("rejoined", |guard, state| {
            state.budget.crashes < guard.configuration.budget.crashes
                && (0..PROCESSES).all(|id| state.processes[id].registered)
                && readers(guard, state, |id| !absent(guard, state, id))
        }),
        Closed => sometimes("closed", closed),
        TakenOut => sometimes("taken out", |guard, state| {
            closed(guard, state)
                && state.budget.removals == guard.configuration.budget.removals
                && state.engine.has_removal_after(0)
        }),
        Fenced => sometimes("fenced", |_, state| {
            let gone = |position| !state.engine.announcements.iter().flatten().any(|open| open.position == position);
            let writing = |id: usize| matches!(state.processes[id].writer, Writer::Writing(position) if gone(position));
            state.stray.is_some_and(|stray| gone(stray.position)) || any(writing)
        }),
        TwoOpen => sometimes("two open", |_, state| {
            state.engine.announcements.iter().flatten().filter(|open| open.key == ASKED).count() > 1
        }),
        EngineCrashed => {
            sometimes("engine crashed", |_, state| state.budget.engine_crashes == 0 && state.promise.is_some())
        }
        Excepted => sometimes("excepted", |_, state| any(|id| state.processes[id].excepted)),
        Unloaded => sometimes("unloaded", |guard, state| readers(guard, state, |id| state.processes[id].unloaded)),
        Grown => sometimes("grown", |guard, state| {
            state.budget.growths == 0
                && readers(guard, state, |id| !state.processes[id].unloaded && !absent(guard, state, id))
        }),
        InOutbox => sometimes("in outbox", |_, state| state.engine.outbox.contains(ASKED)),
        Moved => sometimes("moved", |guard, state| {
            state.budget.insertions == guard.configuration.budget.insertions
                && readers(guard, state, |id| !absent(guard, state, id))
        }),
        BeforeToken => sometimes("before token", |_, state| {
            any(|id| state.processes[id].look_up.is_some_and(|look_up| look_up.token > state.processes[id].applied))
        }),
    }
}

fn any(condition: impl Fn(usize) -> bool) -> bool {
    (0..PROCESSES).any(condition)
}

/// `true` if a process that may answer from its filter fulfils `condition`.
fn readers(guard: &Guard, state: &State, condition: impl Fn(usize) -> bool) -> bool {
    any(|id| state.processes[id].runs() && guard.in_lease(state, id) && condition(id))
}

fn absent(guard: &Guard, state: &State, id: usize) -> bool {
    guard.filter_says_absent(state, id)
}

/// `true` if an announcer is waiting, and its position and the age of its wait fulfil `condition`.
fn waits(state: &State, condition: impl Fn(usize, u8, u8) -> bool) -> bool {
    any(|id| match state.processes[id].writer {
        Writer::Waiting(position, age) => condition(id, position, age),
        _ => false,
    })
}

fn closed(guard: &Guard, state: &State) -> bool {
    state.budget.closings < guard.configuration.budget.closings
}
