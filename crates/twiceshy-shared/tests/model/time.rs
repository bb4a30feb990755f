//! Time passes, clocks drift, processes are suspended.

use crate::action::Clocks;
use crate::configuration::Level;
use crate::guard::{Guard, require, spend};
use crate::process::{DRIFT, Id, LEASE};
use crate::rules::Rule;
use crate::state::State;

impl Guard {
    /// True time goes on by one; at most one clock differs from it.
    pub(crate) fn tick(&self, state: &mut State, clocks: Clocks) -> Option<()> {
        if clocks != Clocks::Even {
            spend(&mut state.budget.drifts)?;
        }
        for (id, process) in state.processes.iter_mut().enumerate() {
            let ticks = match clocks {
                Clocks::Slow(slow) if slow == id => 0,
                Clocks::Fast(fast) if fast == id => 2,
                _ => 1,
            };
            if !process.paused || self.has(Rule::Boottime) {
                process.age(ticks);
            }
            if !process.paused || self.has(Rule::OwnClock) {
                process.keep_time();
            }
        }
        if self.at(Level::Within) {
            state.age_promise(LEASE + DRIFT);
        }
        Some(())
    }

    /// The process is suspended. Its requests on the way are executed all the same.
    pub(crate) fn pause(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].runs())?;
        spend(&mut state.budget.pauses)?;
        state.processes[id].paused = true;
        Some(())
    }

    /// The process runs again. The kept time is brought up to date at the next tick only: other threads may run first.
    pub(crate) fn wake_up(&self, state: &mut State, id: Id) -> Option<()> {
        require(state.processes[id].paused)?;
        state.processes[id].paused = false;
        Some(())
    }
}
