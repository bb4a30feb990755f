//! `twiceshy info`.

use crate::guarded::{self, Access, Done, InUse, Wait, exists, refusal};
use crate::output::{columns, counted, grouped, print, print_json, rate};
use crate::place::Place;
use crate::shared;
use anyhow::{Context, anyhow};
use clap::ValueHint;
use serde::Serialize;
use std::io;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use twiceshy_store::{KEYS_FILE, Kind, Options, SNAPSHOT_FILE, STORE_FILE, Stats, Status, Tickets};

/// Describe a guarded store: its filter, the space it takes, and how it was opened. Changes nothing. If another process has the
/// store open, prints the figures that this process has last written beside it.
///
/// Of a shared set: what it promises, and of each shard the position of its log, its filter with its digest, the newest snapshot, and the
/// processes that follow it, with the records that they lag behind. This process does not join it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder, or the address of a shared set
    #[arg(value_name = "STORE", value_parser = Place::parser(), value_hint = ValueHint::AnyPath)]
    path: Place,
    #[command(flatten)]
    wait: Wait,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    path: String,
    filter: &'static str,
    fpr: f64,
    keys: u64,
    cells: u64,
    load: f64,
    local_bits: u64,
    /// `None` if the store is empty.
    bits_per_key: Option<f64>,
    store_bytes: u64,
    /// 0 if there is no snapshot.
    snapshot_bytes: u64,
    /// `true` if the filter was rebuilt from the index because no snapshot was usable.
    rebuilt: bool,
    /// Commits replayed on top of the snapshot.
    rolled_forward: u64,
    /// Remembered mistakes.
    remembered: u64,
    /// `None` if another process has opened it.
    open_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// The process that has the store open.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<Running>,
    /// A guard that stands beside a store and has its keys alone: `true` if it has them all. Not known while a process has it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
    /// `true` if a process died before it closed that guard, and may have cut tickets off.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_off: Option<bool>,
    /// `true` if a resync would save look-ups from going to the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_resync: Option<bool>,
}

/// What an open guard says.
struct About {
    filter: Kind,
    fpr: f64,
    stats: Stats,
    open_seconds: f64,
    /// Of a guard beside a store.
    tickets: Option<Tickets>,
}

/// A process that has the store open, and what it says about itself.
#[derive(Serialize)]
struct Running {
    pid: u32,
    /// `false` if no such process runs on this machine. `None` if that cannot be found out.
    exists: Option<bool>,
    version: String,
    opened_seconds_ago: u64,
    written_seconds_ago: u64,
    stats: Stats,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let path = match &args.path {
        Place::Folder(path) => path,
        Place::Address(address) => return shared::info(address, args.json),
    };
    // A process that has written its figures need not be waited for.
    let report = args.wait.until_free(|| report(path))?;
    if args.json { print_json(&report) } else { print(&words(&report)) }
}

fn report(path: &Path) -> anyhow::Result<Report> {
    let opened = if path.join(KEYS_FILE).exists() { about_beside(path) } else { about(path) };
    match opened {
        Ok(Done { value: About { filter, fpr, stats, open_seconds, tickets }, warning }) => {
            let report = Report::new(path, filter, fpr, &stats)?;
            Ok(Report {
                open_seconds: Some(open_seconds),
                warning,
                complete: tickets.map(|tickets| tickets.complete),
                cut_off: tickets.map(|tickets| tickets.cut_off),
                needs_resync: tickets.map(|tickets| tickets.needs_resync()),
                ..report
            })
        }
        Err(error) if error.is::<InUse>() => {
            let status = status(path, error)?;
            let report = Report::new(path, status.filter, status.rate, &status.stats)?;
            Ok(Report { running: Some(status.into()), ..report })
        }
        Err(error) => Err(error),
    }
}

fn about(path: &Path) -> anyhow::Result<Done<About>> {
    let started = Instant::now();
    guarded::with(path, Access::Read(Wait::NOT), |guard| {
        let about = || {
            guard.wait()?;
            let open_seconds = started.elapsed().as_secs_f64();
            let (filter, fpr) = guard.filter()?;
            Ok(About { filter, fpr, stats: guard.stats(), open_seconds, tickets: None })
        };
        about().map_err(|error| refusal(path, error))
    })
}

/// The same for a guard beside a store.
fn about_beside(path: &Path) -> anyhow::Result<Done<About>> {
    let started = Instant::now();
    let about = || {
        let guard = Options::new().read_only(true).beside(path)?;
        guard.wait()?;
        let open_seconds = started.elapsed().as_secs_f64();
        let (filter, fpr) = guard.filter()?;
        Ok(About { filter, fpr, stats: guard.stats(), open_seconds, tickets: Some(guard.tickets()) })
    };
    Ok(Done { value: about().map_err(|error| refusal(path, error))?, warning: None })
}

/// What the process that has the store open says; its error if it says nothing.
fn status(path: &Path, in_use: anyhow::Error) -> anyhow::Result<Status> {
    Status::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => in_use,
        _ => anyhow!("{in_use} ({error})"),
    })
}

impl Report {
    fn new(path: &Path, filter: Kind, fpr: f64, stats: &Stats) -> anyhow::Result<Report> {
        Ok(Report {
            path: path.display().to_string(),
            filter: filter.name(),
            fpr,
            keys: stats.keys,
            cells: stats.cells,
            load: stats.keys as f64 / stats.cells.max(1) as f64,
            local_bits: stats.local_bits,
            bits_per_key: (stats.keys > 0).then(|| stats.local_bits as f64 / stats.keys as f64),
            // Only one of them is there.
            store_bytes: size(&path.join(STORE_FILE))? + size(&path.join(KEYS_FILE))?,
            snapshot_bytes: size(&path.join(SNAPSHOT_FILE))?,
            rebuilt: stats.rebuilt > 0,
            rolled_forward: stats.rolled_forward,
            remembered: stats.remembered,
            open_seconds: None,
            warning: None,
            running: None,
            complete: None,
            cut_off: None,
            needs_resync: None,
        })
    }
}

impl From<Status> for Running {
    fn from(status: Status) -> Running {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Running {
            pid: status.pid,
            exists: exists(status.pid),
            opened_seconds_ago: now.saturating_sub(status.opened),
            written_seconds_ago: status.age().as_secs(),
            version: status.version,
            stats: status.stats,
        }
    }
}

/// The size of a file in bytes, 0 if it does not exist.
fn size(file: &Path) -> anyhow::Result<u64> {
    match file.metadata() {
        // A folder may be in the way of the snapshot.
        Ok(about) => Ok(if about.is_file() { about.len() } else { 0 }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// The report as text.
fn words(report: &Report) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let bits_per_key = report.bits_per_key.map_or("no key".into(), |bits| format!("{bits:.2}"));
    let mut rows = vec![
        row("filter", report.filter.into()),
        row("false-positive rate, at most", rate(report.fpr)),
        row("keys", grouped(report.keys)),
        row("cells", grouped(report.cells)),
        row("load", format!("{:.1} %", report.load * 100.0)),
        row("bits in memory", grouped(report.local_bits)),
        row("bits a key", bits_per_key),
        row("bytes of the store", grouped(report.store_bytes)),
        row("bytes of the snapshot", grouped(report.snapshot_bytes)),
        row("remembered mistakes", grouped(report.remembered)),
    ];
    rows.extend(report.open_seconds.map(|seconds| row("opened in", format!("{seconds:.3} s"))));
    if let Some(Running { opened_seconds_ago, stats, .. }) = &report.running {
        rows.push(row("opened", format!("{} s ago", grouped(*opened_seconds_ago))));
        let figures = [
            ("look-ups turned away", stats.turned_away),
            ("look-ups that found their key", stats.found),
            ("false positives", stats.false_positives),
            ("learned from", stats.adapted),
            ("skipped", stats.skipped),
            ("waiting to be learned from", stats.queued),
        ];
        rows.extend(figures.map(|(name, figure)| row(name, grouped(figure))));
    }
    let mut end = report.running.as_ref().map_or_else(|| origin(report), whose);
    end.push_str(match report.complete {
        Some(true) => " It stands beside a store, whose keys it knows.",
        Some(false) => " It stands beside a store, and does not know all of its keys: call `adopt` or `resync`.",
        None => "",
    });
    if report.cut_off == Some(true) {
        end.push_str(
            " A process did not close it, and may have cut tickets off: their keys stay in the set, and no load is shared, until `resync`.",
        );
    }
    format!("{}\n\n{}\n{end}\n", report.path, columns(&rows))
}

/// Whose figures these are, and how old they are.
fn whose(running: &Running) -> String {
    let Running { pid, version, .. } = running;
    let ago = counted(running.written_seconds_ago, "second");
    if running.exists == Some(false) {
        return format!(
            "The store is open elsewhere. These figures were written {ago} ago by the process {pid} (twiceshy {version}), which does \
             not run here any more: they may be of an earlier process that did not close the store."
        );
    }
    format!(
        "The process {pid} (twiceshy {version}) has the store open. These are its figures of {ago} ago: it writes them when they \
         change, at most once a second."
    )
}

/// Where the filter came from when the store was opened.
fn origin(report: &Report) -> String {
    match (report.rebuilt, report.rolled_forward) {
        _ if report.cells == 0 => {
            "There is no filter: its snapshot is missing, damaged or too old. The next command that may write makes it anew."
                .into()
        }
        (true, _) => "The filter was rebuilt from the store: its snapshot was missing, damaged or too old.".into(),
        (false, 0) => "The filter came from its snapshot.".into(),
        (false, commits) => {
            format!("The filter came from its snapshot, brought forward over {} commits.", grouped(commits))
        }
    }
}
