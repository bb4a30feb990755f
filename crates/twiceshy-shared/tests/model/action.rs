//! The steps that the system can take. Their guards and effects are in the modules named beside them.

use crate::configuration::Configuration;
use crate::engine::ANNOUNCEMENTS;
use crate::process::{Id, PROCESSES};

/// How the clocks run in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Clocks {
    /// All by one.
    Even,
    /// This process's clock stands still.
    Slow(Id),
    /// This process's clock runs by two.
    Fast(Id),
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    // `time`
    Tick(Clocks),
    Pause(Id),
    WakeUp(Id),
    // `lease`
    SendRenewal(Id),
    ExecuteRenewal(Id),
    RenewalArrives(Id),
    LoseRenewal(Id),
    Apply(Id),
    AckUnread(Id),
    LoadTable(Id),
    LoadSnapshot(Id),
    // `look_up`
    BeginLookUp(Id),
    AnswerLookUp(Id),
    CheckIndex(Id),
    CheckArrives(Id),
    // `insertion`
    SendAnnouncement(Id),
    Announce(Id),
    SendValue(Id),
    CommitValue(Id),
    Acknowledge(Id),
    GiveUp(Id),
    CommitStray,
    // `removal`
    BeginRemoval(Id),
    Remove(Id),
    CloseAnnouncement(Id, usize),
    // `membership`
    Crash(Id),
    ReadHeadEarly(Id),
    Register(Id),
    Watch(Id, Id),
    StrikeOut(Id),
    EngineCrashes,
    // `maintenance`
    Grow(Id),
    WritePlain,
    MoveFromOutbox(Id),
}

/// All steps that a configuration may take in some state, in a fixed order.
pub(crate) fn candidates(configuration: &Configuration) -> Vec<Action> {
    use Action::*;
    let mut all = vec![Tick(Clocks::Even), CommitStray, EngineCrashes, WritePlain];
    for (id, part) in configuration.parts.iter().enumerate() {
        all.extend([Tick(Clocks::Slow(id)), Tick(Clocks::Fast(id)), Apply(id)]);
        if part.reads {
            all.extend([SendRenewal(id), ExecuteRenewal(id), RenewalArrives(id), LoseRenewal(id)]);
            all.extend([AckUnread(id), LoadTable(id), BeginLookUp(id), AnswerLookUp(id)]);
            all.extend([CheckIndex(id), CheckArrives(id), LoadSnapshot(id)]);
        }
        if part.inserts.is_some() {
            all.extend([SendAnnouncement(id), Announce(id), SendValue(id), CommitValue(id)]);
            all.extend([Acknowledge(id), GiveUp(id)]);
        }
        if part.removes {
            all.extend([BeginRemoval(id), Remove(id)]);
        }
        if part.strikes {
            all.extend((0..PROCESSES).filter(|&other| other != id).map(|other| Watch(id, other)));
            all.push(StrikeOut(id));
            all.extend((0..ANNOUNCEMENTS).map(|slot| CloseAnnouncement(id, slot)));
        }
        if part.crashes {
            all.push(Crash(id));
        }
        if part.reads || part.inserts.is_some() {
            all.extend([ReadHeadEarly(id), Register(id)]);
        }
        if part.pauses {
            all.extend([Pause(id), WakeUp(id)]);
        }
        if part.maintains {
            all.extend([Grow(id), MoveFromOutbox(id)]);
        }
    }
    all
}
