//! Runs of real processes with faults, and the check of their histories.

use super::child::{MemberTurn, Shift, key, value, work_on};
use super::faults::{Cast, Fault};
use super::history::Histories;
use super::linear::{Operation, is_linearizable};
use super::measure::{Measured, measure};
use super::member::Member;
use super::server::{EngineKind, Server};
use super::within::wrong_denial;
use crate::workload::rng::Rng;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use twiceshy_shared::servers::now;
use twiceshy_shared::{Blocking, Engine, Faults, Level, MemoryEngine, Opening, Set, connect};

/// The input of [`run_shared`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The engine.
    pub engine: EngineKind,
    /// The number of processes.
    pub processes: u64,
    /// The number of shards.
    pub shards: u32,
    /// How many histories are made and checked.
    pub runs: u64,
    /// `true` if processes are killed and stopped, connections cut, and the server is restarted.
    pub faults: bool,
    /// The random seed. What happens when also depends on the machine.
    pub seed: u64,
    /// `true` if look-ups do not check that the copy is fresh: to see that the test can fail.
    pub without_lease_check: bool,
    /// How many mistakes are replayed; 0 to measure nothing.
    pub mistakes: u64,
    /// An existing folder for what the processes say. That of a violation stays there.
    pub folder: PathBuf,
}

/// What [`run_shared`] found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The engine.
    pub engine: String,
    /// The seed.
    pub seed: u64,
    /// The processes of each run.
    pub processes: u64,
    /// The shards of each set.
    pub shards: u32,
    /// The histories that were checked.
    pub runs: u64,
    /// The histories that are not linearizable.
    pub violations: u64,
    /// What they are.
    pub failures: Vec<String>,
    /// The operations in all histories.
    pub operations: u64,
    /// Look-ups in them that a filter answered with *absent*.
    pub denied: u64,
    /// Processes that were killed.
    pub killed: u64,
    /// Processes that were stopped for longer than a lease.
    pub stopped: u64,
    /// How often connections were cut.
    pub cut: u64,
    /// How often the server was crashed.
    pub crashed: u64,
    /// Larger tables that were made.
    pub grown: u64,
    /// Mistakes that were learned.
    pub learned: u64,
    /// How often a process had to join anew.
    pub rejoined: u64,
    /// Copies that differed from others.
    pub diverged: u64,
    /// Sets that an engine has lost as a whole, which it may: such runs are not checked.
    pub lost_sets: u64,
    /// The measurements.
    #[serde(flatten)]
    pub measured: Measured,
}

/// The lease of a set in a run.
const LEASE: Duration = Duration::from_millis(250);

/// The work of a run.
struct Work {
    /// How long the processes work.
    time: Duration,
    /// The keys that they work on.
    keys: u64,
    /// The first of them are never removed: this many.
    kept: u64,
}

impl Work {
    /// Few keys and many changes for an exact set, where each answer is checked. A set that shows keys within a time needs keys that stay, and time
    /// for a failover.
    fn on(engine: EngineKind) -> Work {
        match engine.is_exact() {
            true => Work { time: Duration::from_millis(1_200), keys: 6, kept: 0 },
            false => Work { time: Duration::from_millis(1_800), keys: 24, kept: 18 },
        }
    }
}

/// After this many violations the runs end.
const ENOUGH: u64 = 3;

/// Measures, then makes and checks histories. `member` makes the command of a process that calls
/// [`work_as_member`](super::work_as_member), `servant` that of one that calls [`serve_as_member`](super::serve_as_member).
pub fn run_shared(
    settings: &Settings,
    member: &dyn Fn(&MemberTurn) -> Command,
    servant: &dyn Fn(&str) -> Command,
    progress: &dyn Fn(u64),
) -> io::Result<Report> {
    let mut report = Report {
        engine: settings.engine.name().to_owned(),
        seed: settings.seed,
        processes: settings.processes,
        shards: settings.shards,
        ..Report::default()
    };
    let Some(mut server) = Server::start(settings.engine)? else {
        return in_memory(settings, report, progress);
    };
    if settings.mistakes > 0 {
        report.measured = measure(settings, &server, servant)?;
    }
    for run in 0..settings.runs {
        one_run(settings, run, &mut server, member, &mut report)?;
        report.runs += 1;
        progress(run + 1);
        if report.violations >= ENOUGH {
            break;
        }
    }
    Ok(report)
}

fn one_run(
    settings: &Settings,
    run: u64,
    server: &mut Server,
    command: &dyn Fn(&MemberTurn) -> Command,
    report: &mut Report,
) -> io::Result<()> {
    let mut rng = Rng::stream(settings.seed, run);
    let set = format!("run_{run}");
    let address = server.address(&set);
    make_set(&address, settings, LEASE, 50)?;
    let folder = settings.folder.join(format!("run-{run}"));
    std::fs::create_dir_all(&folder)?;
    let work = Work::on(settings.engine);
    let mut started = 0;
    let mut start = || {
        let turn = MemberTurn {
            address: address.clone(),
            seed: settings.seed.wrapping_add(run),
            process: started,
            keys: work.keys,
            kept: work.kept,
            // Within what clocks may differ by.
            faster: if settings.faults { [-5_000, 0, 5_000][started as usize % 3] } else { 0 },
            without_lease_check: settings.without_lease_check,
        };
        started += 1;
        Member::start(command(&turn), &folder, &format!("process-{}", turn.process))
    };
    let mut members = (0..settings.processes).map(|_| start()).collect::<io::Result<Vec<_>>>()?;
    for member in &mut members {
        if !member.is_ready()? {
            return Err(io::Error::other(format!("a member could not open its set: see {}", folder.display())));
        }
    }
    let shift = Shift::of(work.time);
    members.iter_mut().try_for_each(|member| member.order(&shift.to_line()))?;
    let mut cast = Cast { members, start: &mut start, shift };
    let mut excused = Vec::new();
    if settings.faults {
        let faults = Fault::draw(&mut rng, LEASE, settings.engine);
        for fault in faults {
            std::thread::sleep(Duration::from_millis(20 + rng.below(150)));
            match fault {
                Fault::Kill => report.killed += 1,
                Fault::Stop(_) => report.stopped += 1,
                Fault::Cut => report.cut += 1,
                Fault::Crash => report.crashed += 1,
            }
            excused.extend(cast.suffer(fault, server, &set, &mut rng)?);
        }
    }
    let mut histories = Histories::default();
    for member in &mut cast.members {
        // A change may wait for a lease, for a connection, and for another process.
        member.finish(work.time + Duration::from_secs(30))?;
        let said = member.said()?;
        count(&said, report);
        histories.read(&said[..])?;
    }
    drop(cast);
    match look_at_last(&address, work.keys, &mut histories) {
        // An engine that may lose what it has committed has lost the set itself: there is nothing that it held throughout.
        Err(error) if !settings.engine.is_exact() && is_no_set(&error) => {
            report.lost_sets += 1;
            return Ok(());
        }
        looked => looked?,
    }
    report.operations += histories.len();
    check(&histories, run, &folder, settings.engine, &excused, report);
    server.drop_set(&set)
}

/// Makes the set of a run.
pub(super) fn make_set(address: &str, settings: &Settings, lease: Duration, keys: u64) -> io::Result<()> {
    let set = Set::new().shards(settings.shards).expected_keys(keys).lease(lease);
    let set = match settings.engine {
        EngineKind::RedisCluster => set.level(Level::Within(lease)),
        _ => set,
    };
    let engine = connect(address).map_err(io::Error::other)?;
    Blocking::create_with(&set, engine).map_err(io::Error::other)
}

fn is_no_set(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<twiceshy_shared::Error>());
    matches!(cause, Some(twiceshy_shared::Error::NoSet))
}

/// A new member looks at every key when all is over.
fn look_at_last(address: &str, keys: u64, histories: &mut Histories) -> io::Result<()> {
    let engine = connect(address).map_err(io::Error::other)?;
    let guard = Blocking::open_with(Opening::new(), engine).map_err(io::Error::other)?;
    look_with(&guard, keys, histories)?;
    guard.close().map_err(io::Error::other)
}

fn look_with(guard: &Blocking, keys: u64, histories: &mut Histories) -> io::Result<()> {
    for number in 0..keys {
        let begin = now();
        let saw = guard.get(&key(number)).map_err(io::Error::other)?;
        histories.saw(number, begin, now(), saw.and_then(|bytes| value(&bytes)));
    }
    Ok(())
}

/// Counts what a process says of itself.
fn count(said: &[u8], report: &mut Report) {
    for line in String::from_utf8_lossy(said).lines() {
        report.denied += u64::from(line.starts_with("d "));
        let Some(stats) = line.strip_prefix("stats ") else { continue };
        let words: Vec<&str> = stats.split(' ').collect();
        for pair in words.chunks_exact(2) {
            let Ok(number) = pair[1].parse::<u64>() else { continue };
            match pair[0] {
                "grown" => report.grown += number,
                "learned" => report.learned += number,
                "rejoined" => report.rejoined += number,
                "diverged" => report.diverged += number,
                _ => {}
            }
        }
    }
}

fn check(
    histories: &Histories,
    run: u64,
    folder: &Path,
    engine: EngineKind,
    excused: &[(u64, u64)],
    report: &mut Report,
) {
    let is_wrong = |operations: &[Operation]| match engine.is_exact() {
        true => !is_linearizable(operations),
        false => wrong_denial(operations, LEASE, excused).is_some(),
    };
    let wrong: Vec<u64> =
        histories.0.iter().filter(|(_, operations)| is_wrong(operations)).map(|(key, _)| *key).collect();
    if wrong.is_empty() {
        // What nobody needs.
        let _ = std::fs::remove_dir_all(folder);
        return;
    }
    report.violations += 1;
    let (kept, what) =
        (folder.display(), if engine.is_exact() { "are not linearizable" } else { "deny a key too late" });
    report.failures.push(format!("run {run}: the histories of keys {wrong:?} {what}; they are kept in {kept}"));
}

/// Cuts one line after the other, each for longer than a lease. Returns how many.
fn cut_lines(lines: &[MemoryEngine], rng: &mut Rng, shift: Shift) -> u64 {
    let mut cuts = 0;
    loop {
        std::thread::sleep(Duration::from_millis(50 + rng.below(150)));
        if shift.is_over() {
            return cuts;
        }
        let line = &lines[rng.below(lines.len() as u64) as usize];
        line.cut_line(true);
        std::thread::sleep(LEASE + LEASE.mul_f64(rng.unit()));
        line.cut_line(false);
        cuts += 1;
    }
}

/// The same with members in this process, on the engine in memory over lines that lose and delay messages, and are cut for longer than a lease.
fn in_memory(settings: &Settings, mut report: Report, progress: &dyn Fn(u64)) -> io::Result<Report> {
    for run in 0..settings.runs {
        let engine = MemoryEngine::new();
        let set = Set::new().shards(settings.shards).expected_keys(50).lease(LEASE);
        Blocking::create(&set, engine.clone()).map_err(io::Error::other)?;
        let faults = Faults { lost_request: 0.01, lost_answer: 0.01, late: 0.1, delay: LEASE / 8 };
        let line = |_| if settings.faults { engine.with_faults(faults) } else { engine.clone() };
        let lines: Vec<MemoryEngine> = (0..settings.processes).map(line).collect();
        let wanted = Work::on(settings.engine);
        let shift = Shift::of(wanted.time);
        let work = |process: u64| {
            let line: Arc<dyn Engine> = Arc::new(lines[process as usize].clone());
            let turn = MemberTurn {
                address: String::new(),
                seed: settings.seed.wrapping_add(run),
                process,
                keys: wanted.keys,
                kept: wanted.kept,
                faster: if settings.faults { [-5_000, 0, 5_000][process as usize % 3] } else { 0 },
                without_lease_check: settings.without_lease_check,
            };
            let mut said = Vec::new();
            // Over a bad line it may take several attempts to join.
            let mut guard = turn.open(Arc::clone(&line));
            while guard.is_err() && !shift.is_over() {
                guard = turn.open(Arc::clone(&line));
            }
            if let Ok(guard) = guard {
                said = work_on(&turn, &guard, shift, said);
            }
            said
        };
        let said: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..settings.processes).map(|process| scope.spawn(move || work(process))).collect();
            if settings.faults {
                report.cut += cut_lines(&lines, &mut Rng::stream(settings.seed, run), shift);
            }
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        let mut histories = Histories::default();
        let folder = settings.folder.join(format!("run-{run}"));
        std::fs::create_dir_all(&folder)?;
        for (process, said) in said.iter().enumerate() {
            std::fs::write(folder.join(format!("process-{process}")), said)?;
            count(said, &mut report);
            histories.read(&said[..])?;
        }
        let guard = Blocking::open(engine).map_err(io::Error::other)?;
        look_with(&guard, wanted.keys, &mut histories)?;
        report.operations += histories.len();
        check(&histories, run, &folder, settings.engine, &[], &mut report);
        report.runs += 1;
        progress(run + 1);
        if report.violations >= ENOUGH {
            break;
        }
    }
    Ok(report)
}
