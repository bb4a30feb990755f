//! What goes wrong in a run.

use super::child::Shift;
use super::member::Member;
use super::server::{EngineKind, Server};
use crate::workload::rng::Rng;
use rustix::process::Signal;
use std::io;
use std::time::Duration;

/// A fault, and how long after the begin of a run it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A process is killed, and another one joins.
    Kill,
    /// A process is stopped for this long.
    Stop(Duration),
    /// The server ends the connections of some processes, whatever they are doing.
    Cut,
    /// The server crashes and starts again. In a cluster a primary is replaced by its replica.
    Crash,
}

impl Fault {
    /// The faults of a run with this lease: two to four, and seldom a crash of the server. In a cluster one of each.
    pub(super) fn draw(rng: &mut Rng, lease: Duration, engine: EngineKind) -> Vec<Fault> {
        let longer = |rng: &mut Rng| lease + lease.mul_f64(rng.unit());
        if engine == EngineKind::RedisCluster {
            let mut faults = vec![Fault::Kill, Fault::Stop(longer(rng)), Fault::Crash, Fault::Cut];
            (1..faults.len()).for_each(|at| faults.swap(at, rng.below(at as u64 + 1) as usize));
            return faults;
        }
        let mut faults: Vec<Fault> = (0..2 + rng.below(3))
            .map(|_| match rng.below(10) {
                0..4 => Fault::Stop(longer(rng)),
                4..7 => Fault::Kill,
                _ => Fault::Cut,
            })
            .collect();
        if rng.below(12) == 0 {
            faults.push(Fault::Crash);
        }
        faults
    }
}

/// The members of a run, and the way to start another.
pub(super) struct Cast<'a> {
    pub(super) members: Vec<Member>,
    pub(super) start: &'a mut dyn FnMut() -> io::Result<Member>,
    /// When the members work.
    pub(super) shift: Shift,
}

impl Cast<'_> {
    /// Lets a fault happen. Returns the time in which the engine's promise does not hold, if there is one.
    pub(super) fn suffer(
        &mut self,
        fault: Fault,
        server: &mut Server,
        set: &str,
        rng: &mut Rng,
    ) -> io::Result<Option<(u64, u64)>> {
        let victim = rng.below(self.members.len() as u64) as usize;
        match fault {
            Fault::Kill => {
                self.members[victim].kill();
                let mut newcomer = (self.start)()?;
                if newcomer.is_ready()? && !self.shift.is_over() {
                    newcomer.order(&self.shift.to_line())?;
                }
                self.members.push(newcomer);
            }
            Fault::Stop(time) => {
                self.members[victim].signal(Signal::STOP);
                std::thread::sleep(time);
                self.members[victim].signal(Signal::CONT);
            }
            Fault::Cut => server.cut(rng.below(6) + 1)?,
            Fault::Crash => return server.crash(set, rng).map(Some),
        }
        Ok(None)
    }
}
