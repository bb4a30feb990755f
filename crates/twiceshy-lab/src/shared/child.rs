//! A process that is a member of a shared set and works on a few keys at random.

use super::history::{Begun, Diary, Ended};
use crate::workload::rng::Rng;
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
    /// The first keys are never removed: this many.
    pub kept: u64,
    /// How many millionths its clock runs faster.
    pub faster: i32,
    /// `true` if look-ups do not check that the copy is fresh.
    pub without_lease_check: bool,
}

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

/// Opens the set, says `ready`, waits for a line with the moment of the end, and works until then.
pub fn work_as_member(turn: &MemberTurn, orders: &mut dyn BufRead, mut out: impl Write + Send) -> io::Result<()> {
    let engine = connect(&turn.address).map_err(io::Error::other)?;
    let guard = turn.open(engine).map_err(io::Error::other)?;
    writeln!(out, "ready")?;
    out.flush()?;
    let mut order = String::new();
    orders.read_line(&mut order)?;
    let until: u64 = order.trim().parse().map_err(io::Error::other)?;
    work_on(turn, &guard, until, out);
    Ok(())
}

/// Works until a moment, and returns where it has written down what it did.
pub(super) fn work_on<W: Write + Send>(turn: &MemberTurn, guard: &Blocking, until: u64, out: W) -> W {
    let diary = Diary::new(out);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let diary = &diary;
            scope.spawn(move || change(turn, writer, until, guard, diary));
        }
        look_up(turn, until, guard, &diary);
    });
    let stats = guard.shared().stats();
    diary.line(&format!(
        "stats grown {} learned {} rejoined {} diverged {}",
        stats.grown, stats.learned, stats.rejoined, stats.diverged
    ));
    diary.into_inner()
}

/// Asks the filter again and again.
fn look_up<W: Write>(turn: &MemberTurn, until: u64, guard: &Blocking, diary: &Diary<W>) {
    let mut rng = Rng::stream(turn.seed, 1_000 + turn.process);
    while now() < until {
        let number = rng.below(turn.keys);
        let begin = now();
        if !guard.shared().may_contain(&key(number)) {
            diary.denied(begin, number);
        }
        std::thread::sleep(Duration::from_micros(200 + rng.below(1_500)));
    }
}

fn change<W: Write>(turn: &MemberTurn, writer: u64, until: u64, guard: &Blocking, diary: &Diary<W>) {
    let own = turn.process * WRITERS + writer;
    let mut rng = Rng::stream(turn.seed, 2_000 + own);
    let mut count = 0;
    while now() < until {
        let number = rng.below(turn.keys);
        count += 1;
        match rng.below(100) {
            0..35 => {
                let value = (own << 32) + count;
                let id = diary.begin(Begun::Insert { key: number, value });
                let made = guard.insert(&key(number), &value.to_be_bytes());
                diary.end(id, ended(made.map(drop)));
            }
            35..60 if number >= turn.kept => {
                let id = diary.begin(Begun::Remove { key: number });
                diary.end(id, ended(guard.remove(&key(number)).map(drop)));
            }
            35..95 => {
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
