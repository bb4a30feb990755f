//! The model itself: a configuration under a set of rules.

use stateright::{Model, Property};

use crate::action::{Action, candidates};
use crate::configuration::{Configuration, Level};
use crate::engine::{Engine, Keys, Kind};
use crate::process::{DRIFT, Id, LEASE, Lease, PROCESSES, Process, Ticks};
use crate::property;
use crate::rules::{Rule, Rules};
use crate::state::{State, Wrong};

/// A configuration of the protocol under a set of rules.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Who does what, and how often.
    pub(crate) configuration: Configuration,
    /// The rules that are on.
    pub(crate) rules: Rules,
    candidates: Vec<Action>,
}

/// Ends a step that is not possible in this state.
pub(crate) fn require(condition: bool) -> Option<()> {
    condition.then_some(())
}

/// Takes one from a budget, or ends the step if it is used up.
pub(crate) fn spend(budget: &mut u8) -> Option<()> {
    *budget = budget.checked_sub(1)?;
    Some(())
}

impl Guard {
    /// The model of a configuration.
    pub(crate) fn new(configuration: Configuration, rules: Rules) -> Self {
        let candidates = candidates(&configuration);
        Self { configuration, rules, candidates }
    }

    /// `true` if `rule` is on.
    pub(crate) fn has(&self, rule: Rule) -> bool {
        self.rules.has(rule)
    }

    /// How long one waits until a lease of another has surely run out, if `rule` says to allow for drift.
    pub(crate) fn patience(&self, rule: Rule) -> Ticks {
        if self.has(rule) { LEASE + DRIFT } else { LEASE }
    }

    /// A transaction of `id` appends a record that it planned against its own copy.
    ///
    /// The plan is made and executed in one step. A plan that was made earlier is one of a process whose applied
    /// position is late, and is refused alike.
    pub(crate) fn append(&self, state: &mut State, id: Id, change: impl Fn(Keys) -> Keys, kind: Kind) -> Option<()> {
        let base = state.processes[id].applied;
        require(!self.has(Rule::Cas) || base == state.engine.head())?;
        let content = change(state.engine.content(base));
        state.engine.append(content, kind);
        for other in 0..PROCESSES {
            let process = &mut state.processes[other];
            if !self.applies_in_steps(other) && !process.down {
                process.applied = state.engine.head();
                self.ack(state, other);
            }
        }
        Some(())
    }

    /// `true` if `id` applies records by steps of their own.
    pub(crate) fn applies_in_steps(&self, id: Id) -> bool {
        self.configuration.parts[id].reads || self.configuration.late_writers
    }

    /// The member acknowledges what it has applied. A later acknowledgement could only keep an announcer waiting.
    pub(crate) fn ack(&self, state: &mut State, id: Id) {
        if let Some(acked) = &mut state.engine.acked[id] {
            *acked = (*acked).max(state.processes[id].applied);
        }
    }

    fn first_state(&self) -> State {
        let mut engine = Engine::default();
        engine.acked = [Some(0); PROCESSES];
        let processes = self.configuration.parts.map(|part| Process {
            registered: true,
            lease: part.reads.then_some(Lease { age: 0, kept_age: 0, head: 0 }),
            ..Process::default()
        });
        let budget = self.configuration.budget;
        State { engine, processes, stray: None, budget, promise: None, wrong: Wrong::default() }
    }

    fn take(&self, state: &mut State, action: Action) -> Option<()> {
        match action {
            Action::Tick(clocks) => self.tick(state, clocks),
            Action::Pause(id) => self.pause(state, id),
            Action::WakeUp(id) => self.wake_up(state, id),
            Action::SendRenewal(id) => self.send_renewal(state, id),
            Action::ExecuteRenewal(id) => self.execute_renewal(state, id),
            Action::RenewalArrives(id) => self.renewal_arrives(state, id),
            Action::LoseRenewal(id) => self.lose_renewal(state, id),
            Action::Apply(id) => self.apply(state, id),
            Action::AckUnread(id) => self.ack_unread(state, id),
            Action::LoadTable(id) => self.load_table(state, id),
            Action::LoadSnapshot(id) => self.load_snapshot(state, id),
            Action::BeginLookUp(id) => self.begin_look_up(state, id),
            Action::AnswerLookUp(id) => self.answer_look_up(state, id),
            Action::CheckIndex(id) => self.check_index(state, id),
            Action::CheckArrives(id) => self.check_arrives(state, id),
            Action::SendAnnouncement(id) => self.send_announcement(state, id),
            Action::Announce(id) => self.announce(state, id),
            Action::SendValue(id) => self.send_value(state, id),
            Action::CommitValue(id) => self.commit_value(state, id),
            Action::Acknowledge(id) => self.acknowledge(state, id),
            Action::GiveUp(id) => self.give_up(state, id),
            Action::CommitStray => self.commit_stray(state),
            Action::BeginRemoval(id) => self.begin_removal(state, id),
            Action::Remove(id) => self.remove(state, id),
            Action::CloseAnnouncement(id, slot) => self.close_announcement(state, id, slot),
            Action::Crash(id) => self.crash(state, id),
            Action::ReadHeadEarly(id) => self.read_head_early(state, id),
            Action::Register(id) => self.register(state, id),
            Action::Watch(id, member) => self.watch(state, id, member),
            Action::StrikeOut(id) => self.strike_out(state, id),
            Action::EngineCrashes => self.engine_crashes(state),
            Action::Grow(id) => self.grow(state, id),
            Action::WritePlain => self.write_plain(state),
            Action::MoveFromOutbox(id) => self.move_from_outbox(state, id),
        }
    }

    /// `true` if the set's level is `level`.
    pub(crate) fn at(&self, level: Level) -> bool {
        self.configuration.level == level
    }
}

impl Model for Guard {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.first_state()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.wrong == Wrong::default() {
            actions.extend(&self.candidates);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = *last;
        self.take(&mut next, action)?;
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        property::properties(&self.configuration)
    }
}
