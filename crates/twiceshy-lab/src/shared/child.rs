//! A process that is a member of a shared set and works on a few keys at random.

use super::history::{Begun, Diary, Ended};
use crate::workload::rng::Rng;
use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;
use twiceshy_shared::servers::now;
use twiceshy_shared::{Blocking, Engine, Error, Opening, connect};

/// What a member is told to do.
#[derive(Clone, Debug)]
pub struct MemberTurn {
    /// The address of the set.
    pub address: String,
    /// It determines the operations.
    pub seed: u64,
    /// The number of this process, which no other has in this run.
    pub process: u64,
    /// The number of keys that are worked on.
    pub keys: u64,
    /// The first keys are never removed, and come one after the other: this many.
    pub kept: u64,
    /// How many millionths its clock runs faster.
    pub faster: i32,
    /// `true` if look-ups do not check that the copy is fresh.
    pub without_lease_check: bool,
}

/// A look-up that comes this long after the one before it tells that the process was stopped: its copy is old now.
const STOPPED: u64 = 100_000_000;

/// The tasks of a process that change the set at the same time.
const WRITERS: u64 = 2;

/// A key that is worked on.
pub(super) fn key(number: u64) -> [u8; 12] {
    let mut key = *b"key-00000000";
    key[4..].copy_from_slice(&number.to_be_bytes());
    key
}

pub(super) fn value(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}

impl MemberTurn {
    pub(super) fn open(&self, engine: Arc<dyn Engine>) -> Result<Blocking, Error> {
        let opening = Opening::new().faster_clock(self.faster);
        let opening = if self.without_lease_check { opening.without_lease_check() } else { opening };
        Blocking::open_with(opening, engine)
    }
}

/// When the processes of a run work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl Shift {
    /// From now on.
    pub(super) fn of(time: Duration) -> Shift {
        let begin = now();
        Shift { begin, end: begin + time.as_nanos() as u64 }
    }

    pub(super) fn is_over(self) -> bool {
        now() >= self.end
    }

    /// As an order to a member.
    pub(super) fn to_line(self) -> String {
        format!("{} {}", self.begin, self.end)
    }

    fn from_line(line: &str) -> Option<Shift> {
        let (begin, end) = line.trim().split_once(' ')?;
        Some(Shift { begin: begin.parse().ok()?, end: end.parse().ok()? })
    }

    /// `true` if a key that is never removed may be inserted. They come one after the other in the first three quarters of the time, so that a
    /// copy that is old lacks some.
    fn has_come(self, number: u64, kept: u64) -> bool {
        now() >= self.begin + (self.end - self.begin) / 4 * 3 / kept.max(1) * number
    }
}

/// Opens the set, says `ready`, waits for a line with the moments of begin and end, and works until then.
pub fn work_as_member(turn: &MemberTurn, orders: &mut dyn BufRead, mut out: impl Write + Send) -> io::Result<()> {
    let engine = connect(&turn.address).map_err(io::Error::other)?;
    let guard = turn.open(engine).map_err(io::Error::other)?;
    writeln!(out, "ready")?;
    out.flush()?;
    let mut order = String::new();
    orders.read_line(&mut order)?;
    let shift = Shift::from_line(&order).ok_or_else(|| io::Error::other("no order was given"))?;
    work_on(turn, &guard, shift, out);
    Ok(())
}

/// Works until the end, and returns where it has written down what it did.
pub(super) fn work_on<W: Write + Send>(turn: &MemberTurn, guard: &Blocking, shift: Shift, out: W) -> W {
    let diary = Diary::new(out);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let diary = &diary;
            scope.spawn(move || change(turn, writer, shift, guard, diary));
        }
        look_up(turn, shift, guard, &diary);
    });
    let stats = guard.shared().stats();
    diary.line(&format!(
        "stats grown {} learned {} rejoined {} diverged {}",
        stats.grown, stats.learned, stats.rejoined, stats.diverged
    ));
    diary.into_inner()
}

/// Asks the filter again and again, and for all keys at once after the process was stopped.
fn look_up<W: Write>(turn: &MemberTurn, shift: Shift, guard: &Blocking, diary: &Diary<W>) {
    let mut rng = Rng::stream(turn.seed, 1_000 + turn.process);
    let mut last = now();
    while !shift.is_over() {
        let one = rng.below(turn.keys);
        let numbers = if now() - last > STOPPED { 0..turn.keys } else { one..one + 1 };
        for number in numbers {
            let begin = now();
            if !guard.shared().may_contain(&key(number)) {
                diary.denied(begin, number);
            }
        }
        last = now();
        std::thread::sleep(Duration::from_micros(200 + rng.below(1_500)));
    }
}

fn change<W: Write>(turn: &MemberTurn, writer: u64, shift: Shift, guard: &Blocking, diary: &Diary<W>) {
    let own = turn.process * WRITERS + writer;
    let mut rng = Rng::stream(turn.seed, 2_000 + own);
    let mut count = 0;
    // Keys that are never removed are inserted once, so that some are older than a fault.
    let mut inserted = HashSet::new();
    while !shift.is_over() {
        let number = rng.below(turn.keys);
        let is_kept = number < turn.kept;
        let may_come = !is_kept || shift.has_come(number, turn.kept) && !inserted.contains(&number);
        count += 1;
        match rng.below(100) {
            0..35 if may_come => {
                let value = (own << 32) + count;
                let id = diary.begin(Begun::Insert { key: number, value });
                let made = guard.insert(&key(number), &value.to_be_bytes());
                if is_kept && made.is_ok() {
                    inserted.insert(number);
                }
                diary.end(id, ended(made.map(drop)));
            }
            35..60 if !is_kept => {
                let id = diary.begin(Begun::Remove { key: number });
                diary.end(id, ended(guard.remove(&key(number)).map(drop)));
            }
            0..95 => {
                let id = diary.begin(Begun::Get { key: number });
                let saw = guard.get(&key(number)).map(|bytes| bytes.and_then(|bytes| value(&bytes)));
                diary.end(id, saw.map_or(Ended::Unknown, Ended::Saw));
            }
            95..98 => {
                // Keys of its own, so that the filter must grow.
                let first = (own << 32) + (count << 8);
                let _ = guard.insert_all((first..first + 40).map(|filler| (filler.to_be_bytes(), b"")));
            }
            _ => {
                // Keys that nobody has: some are mistaken, and learned.
                for _ in 0..50 {
                    let _ = guard.get(&rng.word().to_be_bytes());
                }
            }
        }
        std::thread::sleep(Duration::from_micros(rng.below(3_000)));
    }
}

/// Only a change that was refused before anything was asked of the engine is known not to be made.
fn ended(made: Result<(), Error>) -> Ended {
    match made {
        Ok(()) => Ended::Made,
        Err(Error::Overtaken | Error::Contended(_)) => Ended::NotMade,
        Err(_) => Ended::Unknown,
    }
}
