//! The child: takes tickets and closes them until it is done or killed.

use super::{TicketTurn, key};
use crate::torture::Wrong;
use crate::workload::rng::Rng;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::{BufRead, Write};
use std::path::Path;
use twiceshy_store::{Announcement, Beside, RedbStore, Retirement};

/// Keys that most tickets are for: few, so that tickets meet.
const HOT: u64 = 24;

/// An open ticket.
struct Open {
    id: u64,
    keys: Vec<u64>,
    ticket: Ticket,
    /// `true` if its rows were written or deleted.
    acted: bool,
}

enum Ticket {
    Announces(Announcement<RedbStore>),
    Retires(Retirement<RedbStore>),
}

struct Child<'a, I, O> {
    guard: Beside<RedbStore>,
    rng: Rng,
    rows: BTreeSet<u64>,
    open: Vec<Open>,
    tickets: u64,
    input: &'a mut I,
    out: &'a mut O,
}

/// Takes a turn's steps with the guard in a folder. Says each step to `out` before and after it, and reads the answers of the
/// parent, which has the rows, from `input`.
pub fn work_with_tickets(
    turn: &TicketTurn,
    folder: &Path,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<(), Wrong> {
    let guard = turn.open(folder)?;
    let rng = Rng::stream(turn.seed, 2 * turn.round);
    let mut child = Child { guard, rng, rows: BTreeSet::new(), open: Vec::new(), tickets: 0, input, out };
    let worked = child.work(turn.steps);
    if let Err(wrong) = &worked {
        let wrong = wrong.to_string().replace('\n', " ");
        drop(child.say(&format!("wrong {wrong}")));
    }
    worked
}

impl<I: BufRead, O: Write> Child<'_, I, O> {
    fn work(&mut self, steps: u64) -> Result<(), Wrong> {
        self.say("opened")?;
        self.rows = self.numbers()?;
        for _ in 0..steps {
            self.step()?;
            self.check()?;
        }
        self.open.clear();
        self.say("ended")
    }

    fn say(&mut self, line: &str) -> Result<(), Wrong> {
        self.out.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.out.flush()?)
    }

    /// The parent's answer.
    fn answer(&mut self) -> Result<String, Wrong> {
        let mut line = String::new();
        self.input.read_line(&mut line)?;
        Ok(line)
    }

    fn numbers(&mut self) -> Result<BTreeSet<u64>, Wrong> {
        Ok(self.answer()?.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }

    fn step(&mut self) -> Result<(), Wrong> {
        let choice = if self.guard.is_complete() { self.rng.below(100) } else { self.rng.below(130) };
        match choice {
            0..30 => self.announce(),
            30..40 => self.retire(),
            40..63 => self.act(),
            63..87 => self.close(),
            87..90 => self.drop_one(),
            90..92 => self.resync(),
            92..100 => self.look_up(),
            _ => self.resync(),
        }
    }

    fn keys(&mut self) -> Vec<u64> {
        let keys: BTreeSet<u64> = match self.rng.below(30) {
            0 => {
                let from = 20_000 + 500 * self.rng.below(8);
                (from..from + 1_500).collect()
            }
            1..4 => [10_000 + self.rng.below(3_000)].into(),
            _ => (0..=self.rng.below(3)).map(|_| self.rng.below(HOT)).collect(),
        };
        keys.into_iter().collect()
    }

    /// Says what begins, with its keys. Returns its number.
    fn begin(&mut self, what: &str, keys: &[u64]) -> Result<u64, Wrong> {
        self.tickets += 1;
        let numbers: Vec<String> = keys.iter().map(u64::to_string).collect();
        self.say(&format!("{what} {} {}", self.tickets, numbers.join(" ")))?;
        Ok(self.tickets)
    }

    fn announce(&mut self) -> Result<(), Wrong> {
        let keys = self.keys();
        let id = self.begin("announcing", &keys)?;
        let ticket = Ticket::Announces(self.guard.announce(keys.iter().map(|number| key(*number)))?);
        self.open.push(Open { id, keys, ticket, acted: false });
        self.say(&format!("announced {id}"))
    }

    fn retire(&mut self) -> Result<(), Wrong> {
        let keys = self.keys();
        let id = self.begin("retiring", &keys)?;
        let ticket = Ticket::Retires(self.guard.retire(keys.iter().map(|number| key(*number)))?);
        self.open.push(Open { id, keys, ticket, acted: false });
        self.say(&format!("retired {id}"))
    }

    /// Any open ticket.
    fn any(&mut self) -> Option<usize> {
        (!self.open.is_empty()).then(|| self.rng.below(self.open.len() as u64) as usize)
    }

    /// Writes or deletes the rows of a ticket.
    fn act(&mut self) -> Result<(), Wrong> {
        let Some(at) = self.any().filter(|at| !self.open[*at].acted) else { return Ok(()) };
        let open = &mut self.open[at];
        open.acted = true;
        let (id, keys) = (open.id, open.keys.clone());
        let writes = matches!(open.ticket, Ticket::Announces(_));
        self.say(&format!("{} {id}", if writes { "write" } else { "delete" }))?;
        self.answer()?;
        for number in keys {
            if writes {
                self.rows.insert(number)
            } else {
                self.rows.remove(&number)
            };
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Wrong> {
        let Some(at) = self.any() else { return Ok(()) };
        let Open { id, ticket, acted, .. } = self.open.swap_remove(at);
        let how = match (&ticket, acted) {
            (Ticket::Announces(_), true) => "written",
            (Ticket::Retires(_), true) => "deleted",
            _ => "rolled_back",
        };
        self.say(&format!("closing {id} {how}"))?;
        match (ticket, acted) {
            (Ticket::Announces(ticket), true) => ticket.done()?,
            (Ticket::Announces(ticket), false) => ticket.rolled_back()?,
            (Ticket::Retires(ticket), true) => ticket.done()?,
            (Ticket::Retires(ticket), false) => ticket.rolled_back()?,
        }
        self.say(&format!("closed {id} {how}"))
    }

    fn drop_one(&mut self) -> Result<(), Wrong> {
        let Some(at) = self.any() else { return Ok(()) };
        let open = self.open.swap_remove(at);
        self.say(&format!("dropping {}", open.id))?;
        drop(open);
        Ok(())
    }

    fn resync(&mut self) -> Result<(), Wrong> {
        self.say("resyncing")?;
        self.say("cursor")?;
        let rows = self.numbers()?;
        if rows != self.rows {
            return Err(Wrong::Answer("the parent has other rows than the child".into()));
        }
        let cursor = || Ok::<_, Infallible>(rows.iter().map(|number| Ok(key(*number))));
        self.guard.resync(cursor).map_err(|error| Wrong::Answer(error.to_string()))?;
        self.say("resynced")
    }

    fn look_up(&mut self) -> Result<(), Wrong> {
        for _ in 0..40 {
            let number = 50_000 + self.rng.below(200);
            let Ok(found) = self.guard.get_or_load(&key(number), |_| Ok::<_, Infallible>(None::<()>));
            if found.is_some() {
                return Err(Wrong::Answer(format!("row {number} was found")));
            }
        }
        Ok(())
    }

    /// No row's key is turned away.
    fn check(&mut self) -> Result<(), Wrong> {
        let from = self.rng.below(35_000);
        let some = self.rows.range(..HOT).chain(self.rows.range(from..).take(50));
        for number in some {
            let found = self.guard.get_or_load(&key(*number), |_| Ok::<_, Infallible>(Some(())));
            if found != Ok(Some(())) {
                return Err(Wrong::Answer(format!("row {number} was turned away")));
            }
        }
        Ok(())
    }
}
