//! The parent: it has the rows, hears of every step, and kills.

use super::TicketReport;
use crate::workload::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The most time for a child between two lines.
const PATIENCE: Duration = Duration::from_secs(60);

/// When a child is killed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    /// After this many lines; `None` if it lives.
    lines: Option<u64>,
    /// And this time.
    after: Duration,
}

impl Fate {
    pub(super) fn draw(rng: &mut Rng) -> Fate {
        let lines = if rng.below(12) == 0 { None } else { Some(rng.below(120)) };
        // Most commits take a few milliseconds.
        Fate { lines, after: Duration::from_micros(rng.below(2_500)) }
    }
}

/// The rows, and what is known of the tickets.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) rows: BTreeSet<u64>,
    tickets: BTreeMap<u64, Ticket>,
    /// Keys that may be in the set without a row.
    loose: BTreeSet<u64>,
    /// Keys with a ticket since a resync began.
    touched: Option<BTreeSet<u64>>,
    /// Tickets that were closed.
    closed: u64,
}

#[derive(Debug)]
struct Ticket {
    announces: bool,
    keys: Vec<u64>,
    /// Keys that were announced while this retirement was open.
    announced: BTreeSet<u64>,
}

impl Server {
    /// A server that has some rows already.
    pub(super) fn new(rng: &mut Rng) -> Server {
        let rows = [0, 10, 3_000][rng.below(3) as usize];
        Server { rows: (10_000..10_000 + rows).collect(), ..Server::default() }
    }

    /// Keys that may be in the set without a row.
    pub(super) fn loose(&self) -> impl Iterator<Item = u64> + '_ {
        self.loose.iter().copied()
    }

    /// Serves a child until it ends or is killed. Returns what is wrong.
    pub(super) fn serve(
        &mut self,
        mut command: Command,
        fate: Fate,
        report: &mut TicketReport,
    ) -> io::Result<Option<String>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (sender, lines) = channel();
        let (out, mut replies) = (child.stdout.take(), child.stdin.take());
        let listener = std::thread::spawn(move || {
            let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok);
            let _ = lines.into_iter().try_for_each(|line| sender.send(line));
        });
        let mut last = String::new();
        let mut wrong = self.listen(&lines, &mut replies, fate.lines, Instant::now() + PATIENCE, &mut last);
        let kills = wrong.is_none() && fate.lines.is_some() && last != "ended";
        if kills {
            wrong = self.listen(&lines, &mut replies, None, Instant::now() + fate.after, &mut last);
        }
        let _ = child.kill();
        let status = child.wait()?;
        drop(replies);
        // What it has said before it was killed has happened.
        if wrong.is_none() {
            wrong = self.listen(&lines, &mut None, None, Instant::now() + PATIENCE, &mut last);
        }
        drop(listener.join());
        if last == "ended" {
            report.ended += 1;
        } else if fate.lines.is_none() && wrong.is_none() {
            wrong = Some(format!("a child ended unexpectedly after `{last}` ({status})"));
        } else {
            report.killed += 1;
            *report.killed_after.entry(last.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
        report.cut_off += self.tickets.len() as u64;
        let open: Vec<u64> = self.tickets.values().flat_map(|ticket| ticket.keys.iter().copied()).collect();
        self.loose.extend(open);
        self.tickets.clear();
        self.touched = None;
        report.closed += std::mem::take(&mut self.closed);
        Ok(wrong)
    }

    /// Hears lines and answers them, up to a number of them, a moment, or the end. Returns what is wrong.
    fn listen(
        &mut self,
        lines: &Receiver<String>,
        replies: &mut Option<ChildStdin>,
        mut most: Option<u64>,
        until: Instant,
        last: &mut String,
    ) -> Option<String> {
        while most != Some(0) && last != "ended" {
            match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(wrong) = line.strip_prefix("wrong ") {
                        return Some(wrong.to_owned());
                    }
                    if let Some(reply) = self.hear(&line)
                        && let Some(replies) = replies
                    {
                        // The child may be gone.
                        let _ = writeln!(replies, "{reply}");
                    }
                    *last = line;
                    most = most.map(|most| most - 1);
                }
                Err(RecvTimeoutError::Timeout) if most.is_some() => return Some("a child hangs".to_owned()),
                Err(_) => return None,
            }
        }
        None
    }

    /// Hears a line. Returns the answer that the child waits for, if any.
    fn hear(&mut self, line: &str) -> Option<String> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers: Vec<u64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
        let id = numbers.first().copied().unwrap_or_default();
        match what {
            "opened" | "cursor" => {
                return Some(self.rows.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
            }
            "announcing" | "retiring" => self.open(what == "announcing", id, numbers[1..].to_vec()),
            "write" | "delete" => {
                let keys = self.tickets.get(&id).map(|ticket| ticket.keys.clone()).unwrap_or_default();
                for key in keys {
                    if what == "write" {
                        self.rows.insert(key)
                    } else {
                        self.rows.remove(&key)
                    };
                }
                return Some("ok".to_owned());
            }
            "closed" => self.close(id, rest.ends_with("deleted")),
            "dropping" => {
                let dropped = self.tickets.remove(&id).map(|ticket| ticket.keys).unwrap_or_default();
                self.touch(&dropped);
                self.loose.extend(dropped);
            }
            "resyncing" => {
                let open = self.tickets.values().flat_map(|ticket| ticket.keys.iter().copied());
                self.touched = Some(open.collect());
            }
            "resynced" => {
                let touched = self.touched.take().unwrap_or_default();
                self.loose.retain(|key| touched.contains(key));
            }
            _ => {}
        }
        None
    }

    fn touch(&mut self, keys: &[u64]) {
        self.touched.iter_mut().for_each(|touched| touched.extend(keys));
    }

    fn open(&mut self, announces: bool, id: u64, keys: Vec<u64>) {
        self.touch(&keys);
        let mut announced = BTreeSet::new();
        for other in self.tickets.values_mut() {
            let both: Vec<u64> = keys.iter().copied().filter(|key| other.keys.contains(key)).collect();
            match (announces, other.announces) {
                (true, false) => other.announced.extend(both),
                (false, true) => announced.extend(both),
                _ => {}
            }
        }
        self.tickets.insert(id, Ticket { announces, keys, announced });
    }

    fn close(&mut self, id: u64, deleted: bool) {
        let Some(ticket) = self.tickets.remove(&id) else { return };
        self.closed += 1;
        self.touch(&ticket.keys);
        if deleted {
            self.loose.extend(ticket.announced);
        }
    }
}
