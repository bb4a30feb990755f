//! What a shared set costs: look-ups, insertions, and the loads paid for one list of mistakes.

use super::member::Member;
use super::run::{Settings, make_set};
use super::server::Server;
use crate::experiment::{Axis, Curve, Picture};
use serde::Serialize;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::process::Command;
use std::time::{Duration, Instant};
use twiceshy_shared::{Blocking, Level, Opening, Set, connect};
use twiceshy_store::{Guard, MemoryStore, Options};

/// The measurements of a shared set. Speeds are of one process, with the others following.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measured {
    /// The keys in the set.
    pub keys: u64,
    /// The length of the list of mistakes.
    pub mistakes: u64,
    /// The loads that all processes paid when each of them asked for all of it.
    pub loads: u64,
    /// The loads that as many separate guards pay.
    pub loads_of_separate_guards: u64,
    /// Absent look-ups a second of one thread.
    pub lookups_per_second: f64,
    /// The same in batches of 1,000.
    pub batch_lookups_per_second: f64,
    /// The same of a guard that is not shared, with the same keys.
    pub local_lookups_per_second: f64,
    /// The same in batches.
    pub local_batch_lookups_per_second: f64,
    /// Absent look-ups a second at the bare engine, one after the other.
    pub bare_lookups_per_second: f64,
    /// The median time of an insertion into an exact set; `None` if the engine has no exact sets.
    pub insert_ms_median: Option<f64>,
    /// The time that 99 of 100 take at most.
    pub insert_ms_99: Option<f64>,
    /// The median time of an insertion into a set that shows it within a time.
    pub insert_ms_within_median: f64,
    /// The median time of an insertion of a row into the bare engine.
    pub bare_insert_ms_median: f64,
    /// Keys a second in batches of 1,000.
    pub batch_keys_per_second: f64,
    /// The same for rows in the bare engine.
    pub bare_batch_keys_per_second: f64,
    /// The times of all single insertions.
    #[serde(skip)]
    pub times: Times,
    /// The median time from an insertion's end until another process's copy has its record, in a set that shows it within a time.
    pub lag_ms_median: f64,
}

/// The milliseconds of single insertions.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Into an exact set.
    pub exact: Vec<f64>,
    /// Into a set that shows them within a time.
    pub within: Vec<f64>,
    /// Of rows into the bare engine.
    pub bare: Vec<f64>,
}

impl Measured {
    /// How long insertions take: for each share of them, the time that none of it exceeds.
    pub fn picture(&self, engine: &str, processes: u64) -> Picture {
        let curve = |label: &str, look: usize, times: &[f64]| {
            let mut times = times.to_vec();
            times.sort_by(f64::total_cmp);
            let shares = [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 100.0];
            let points = shares.map(|share| (share, median(times.clone(), share / 100.0)));
            (!times.is_empty()).then(|| Curve::measured(label, look, points.to_vec()))
        };
        let Times { exact, within, bare } = &self.times;
        let lines =
            [curve("exact", 0, exact), curve("within 2 s", 1, within), curve("a row in the bare engine", 2, bare)];
        Picture {
            name: "shared-insertions".to_owned(),
            title: format!("Insertions into a set that {processes} processes share, {engine}"),
            x: Axis::linear("share of the insertions, %"),
            y: Axis::log("milliseconds, at most"),
            lines: lines.into_iter().flatten().collect(),
        }
    }
}

/// Keys above this are absent.
const ABSENT: u64 = 1 << 40;

/// The keys in the set when mistakes are searched for.
const KEYS: u64 = 100_000;

/// Single insertions that are measured.
const INSERTIONS: u64 = 300;

/// Batches of 1,000 that are measured.
const BATCHES: u64 = 20;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Follows orders, a line each, and answers each with a line.
pub fn serve_as_member(address: &str, orders: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<()> {
    let engine = connect(address).map_err(io::Error::other)?;
    let guard = Blocking::open_with(Opening::new(), engine).map_err(io::Error::other)?;
    writeln!(out, "ready")?;
    out.flush()?;
    for order in orders.lines() {
        let order = order?;
        let words: Vec<&str> = order.split(' ').collect();
        let numbers: Vec<u64> = words.iter().skip(1).filter_map(|word| word.parse().ok()).collect();
        let answer = match words[0] {
            "batches" => batches(&guard, numbers[0], numbers[1])?,
            "insert" => insertions(&guard, numbers[0], numbers[1])?,
            "find" => find(&guard, numbers[0]),
            "replay" => replay(&guard, &numbers)?,
            "position" => position(&guard),
            "lookups" => lookups(&guard, numbers[0])?,
            "await" => wait_for(&guard, numbers[0]),
            _ => return Err(io::Error::other("an unknown order")),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    guard.close().map_err(io::Error::other)
}

/// Inserts batches of 1,000. Answers with keys a second.
fn batches(guard: &Blocking, first: u64, count: u64) -> io::Result<String> {
    let begin = Instant::now();
    for batch in 0..count {
        let from = first + 1_000 * batch;
        guard.insert_all((from..from + 1_000).map(|number| (key(number), [7; 16]))).map_err(io::Error::other)?;
    }
    Ok((count as f64 * 1_000.0 / begin.elapsed().as_secs_f64()).to_string())
}

/// Inserts keys one after the other. Answers with the milliseconds of each, and the moment of the last one's end.
fn insertions(guard: &Blocking, first: u64, count: u64) -> io::Result<String> {
    let mut times = Vec::new();
    for number in first..first + count {
        let begin = Instant::now();
        guard.insert(&key(number), &[7; 16]).map_err(io::Error::other)?;
        times.push(format!("{:.4}", begin.elapsed().as_secs_f64() * 1e3));
    }
    Ok(times.join(" "))
}

/// Waits until the filter lets a key pass. Answers with the moment.
fn wait_for(guard: &Blocking, number: u64) -> String {
    let begin = Instant::now();
    while !guard.shared().may_contain(&key(number)) && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_micros(50));
    }
    twiceshy_shared::servers::now().to_string()
}

/// Absent keys that the filter lets pass.
fn find(guard: &Blocking, count: u64) -> String {
    let mistakes = (ABSENT..).filter(|number| guard.shared().may_contain(&key(*number))).take(count as usize);
    mistakes.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

/// Asks for each key. Answers with the loads that this cost.
fn replay(guard: &Blocking, numbers: &[u64]) -> io::Result<String> {
    let before = guard.shared().stats().loads;
    for number in numbers {
        if guard.get(&key(*number)).map_err(io::Error::other)?.is_some() {
            return Err(io::Error::other("a mistake was a key"));
        }
    }
    Ok((guard.shared().stats().loads - before).to_string())
}

/// The positions of the copies.
fn position(guard: &Blocking) -> String {
    let copies = guard.shared().stats().copies;
    copies.iter().map(|copy| copy.at.position.to_string()).collect::<Vec<_>>().join(" ")
}

/// Measures look-ups of absent keys, here and in a local guard with as many keys, in turns. Answers with four speeds a second.
fn lookups(guard: &Blocking, keys: u64) -> io::Result<String> {
    let local: Guard<MemoryStore> =
        Options::new().expected_keys(keys).open(MemoryStore::new()).map_err(io::Error::other)?;
    local.insert_all((0..keys).map(|number| (key(number), b""))).map_err(io::Error::other)?;
    let absent: Vec<[u8; 8]> = (2 * ABSENT..)
        .map(key)
        .filter(|key| !guard.shared().may_contain(key) && !local.contains(key).unwrap_or(true))
        .take(200_000)
        .collect();
    let mut best = [0f64; 4];
    for _ in 0..9 {
        let shared = guard.shared();
        let speeds = [
            speed(absent.len(), || {
                absent.iter().for_each(|key| {
                    black_box(shared.may_contain(key));
                })
            }),
            speed(absent.len(), || {
                absent.chunks(1_000).for_each(|keys| drop(black_box(shared.may_contain_batch(keys))))
            }),
            speed(absent.len(), || absent.iter().for_each(|key| drop(black_box(local.contains(key))))),
            speed(absent.len(), || absent.chunks(1_000).for_each(|keys| drop(black_box(local.contains_all(keys))))),
        ];
        best.iter_mut().zip(speeds).for_each(|(best, speed)| *best = best.max(speed));
    }
    Ok(best.map(|speed| format!("{speed:.0}")).join(" "))
}

fn speed(count: usize, work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    count as f64 / begin.elapsed().as_secs_f64()
}

/// A member that follows orders.
struct Servant {
    member: Member,
    read: u64,
}

impl Servant {
    fn start(settings: &Settings, command: Command, name: &str) -> io::Result<Servant> {
        let mut member = Member::start(command, &settings.folder, name)?;
        if !member.is_ready()? {
            return Err(io::Error::other("a member could not open its set"));
        }
        Ok(Servant { member, read: "ready\n".len() as u64 })
    }

    fn answer(&mut self) -> io::Result<Vec<f64>> {
        let line = self.member.next_line(&mut self.read)?;
        Ok(line.split(' ').filter_map(|word| word.parse().ok()).collect())
    }

    fn order(&mut self, order: &str) -> io::Result<Vec<f64>> {
        self.member.order(order)?;
        self.answer()
    }
}

/// Waits until all members are at the same positions and have stopped learning.
fn settle(servants: &mut [Servant]) -> io::Result<()> {
    let mut last = Vec::new();
    loop {
        let now: Vec<Vec<f64>> =
            servants.iter_mut().map(|servant| servant.order("position")).collect::<io::Result<_>>()?;
        if now.iter().all(|position| *position == now[0]) && now == last {
            return Ok(());
        }
        last = now;
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn median(mut times: Vec<f64>, share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

pub(super) fn measure(settings: &Settings, server: &Server, servant: &dyn Fn(&str) -> Command) -> io::Result<Measured> {
    let address = server.address("measured");
    make_set(&address, settings, Duration::from_secs(2), KEYS + 1_000 * BATCHES)?;
    let name = |kind: &str, number: u64| format!("{kind}-{number}");
    let start = |address: &str, kind: &str| {
        let servants =
            (0..settings.processes).map(|number| Servant::start(settings, servant(address), &name(kind, number)));
        servants.collect::<io::Result<Vec<_>>>()
    };
    let mut servants = start(&address, "measured")?;
    servants[0].order(&format!("batches 0 {}", KEYS / 1_000))?;
    settle(&mut servants)?;
    let mut measured = Measured { keys: KEYS, ..Measured::default() };
    // One list of mistakes, asked for by one process and then by all others.
    let list = servants[0].order(&format!("find {}", settings.mistakes))?;
    let list: Vec<String> = list.iter().map(|number| (*number as u64).to_string()).collect();
    measured.mistakes = list.len() as u64;
    let replay = format!("replay {}", list.join(" "));
    for at in 0..servants.len() {
        measured.loads += servants[at].order(&replay)?[0] as u64;
        settle(&mut servants)?;
    }
    measured.loads_of_separate_guards = measured.mistakes * settings.processes;
    let speeds = servants[0].order(&format!("lookups {KEYS}"))?;
    if let [single, batch, local, local_batch] = speeds[..] {
        measured.lookups_per_second = single;
        measured.batch_lookups_per_second = batch;
        measured.local_lookups_per_second = local;
        measured.local_batch_lookups_per_second = local_batch;
    }
    measured.batch_keys_per_second = servants[0].order(&format!("batches {} {BATCHES}", 2 * KEYS))?[0];
    if settings.engine.is_exact() {
        let times = servants[0].order(&format!("insert {} {INSERTIONS}", 4 * KEYS))?;
        measured.insert_ms_median = Some(median(times.clone(), 0.5));
        measured.insert_ms_99 = Some(median(times.clone(), 0.99));
        measured.times.exact = times;
    }
    drop(servants);
    let within = server.address("within");
    let set = Set::new().shards(settings.shards).expected_keys(KEYS).level(Level::Within(Duration::from_secs(2)));
    Blocking::create_with(&set, connect(&within).map_err(io::Error::other)?).map_err(io::Error::other)?;
    let mut servants = start(&within, "within")?;
    let times = servants[0].order(&format!("insert 0 {INSERTIONS}"))?;
    measured.insert_ms_within_median = median(times.clone(), 0.5);
    measured.times.within = times;
    measured.lag_ms_median = lag(&mut servants)?;
    drop(servants);
    let bare = server.bare(INSERTIONS, BATCHES)?;
    measured.bare_insert_ms_median = median(bare.insert_ms.clone(), 0.5);
    measured.times.bare = bare.insert_ms;
    measured.bare_batch_keys_per_second = bare.batch_keys_per_second;
    measured.bare_lookups_per_second = bare.lookups_per_second;
    Ok(measured)
}

/// The time until another member's copy has an insertion.
fn lag(servants: &mut [Servant]) -> io::Result<f64> {
    if servants.len() < 2 {
        return Ok(f64::NAN);
    }
    let mut lags = Vec::new();
    for number in ABSENT / 2..ABSENT / 2 + 50 {
        servants[1].member.order(&format!("await {number}"))?;
        servants[0].order(&format!("insert {number} 1"))?;
        let end = twiceshy_shared::servers::now() as f64;
        let seen = servants[1].answer()?[0];
        lags.push(((seen - end) / 1e6).max(0.0));
    }
    Ok(median(lags, 0.5))
}
