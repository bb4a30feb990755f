//! `twiceshy info` for a shared set.

use super::Address;
use super::create::level_name;
use crate::output::{columns, counted, grouped, print, print_json, rate};
use serde::Serialize;
use twiceshy_shared::{Blocking, FilterSurvey, Head, Level, MemberSurvey, ShardSurvey, Snapshot, Survey};

#[derive(Serialize)]
struct Report {
    path: String,
    filter: &'static str,
    fpr: f64,
    level: &'static str,
    /// The lease of an exact set, the stated time of another.
    lease_seconds: f64,
    beside: bool,
    /// `false` if all look-ups go to the store until a resync has ended.
    complete: bool,
    keys: u64,
    cells: u64,
    load: f64,
    local_bits: u64,
    /// `None` if the set is empty.
    bits_per_key: Option<f64>,
    /// Rows that were written past all guards and wait for their record.
    outbox: u64,
    /// `true` if there may be more of them.
    outbox_or_more: bool,
    shards: Vec<Shard>,
}

#[derive(Serialize)]
struct Shard {
    shard: u32,
    position: u64,
    /// The tag of the last record, as 16 digits.
    tag: String,
    snapshot: Option<Saved>,
    members: Vec<Member>,
    /// The records that the slowest member has not acknowledged.
    lag: u64,
    announcements: u64,
    announced_keys: u64,
    /// Announcements of members that are gone.
    abandoned: u64,
    #[serde(flatten)]
    filter: Option<Filter>,
    /// Why the filter cannot be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Filter {
    keys: u64,
    cells: u64,
    local_bits: u64,
    /// Of the filter's bits, as 16 digits.
    digest: String,
    /// Since the snapshot.
    log_records: u64,
    log_bytes: u64,
}

#[derive(Serialize)]
struct Saved {
    position: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Member {
    /// As 16 digits.
    id: String,
    acknowledged: u64,
    lag: u64,
    renewed: u64,
}

/// Describes a set. This process does not join it.
pub(crate) fn run(address: &Address, json: bool) -> anyhow::Result<()> {
    let survey = Blocking::survey(address.engine()?).map_err(|error| address.refusal(error))?;
    let report = Report::new(address, &survey);
    if json { print_json(&report) } else { print(&words(&report, &survey)) }
}

/// A number that means nothing but itself.
fn name(number: u64) -> String {
    format!("{number:016x}")
}

impl Report {
    fn new(address: &Address, survey: &Survey) -> Report {
        let sum = |of: fn(&FilterSurvey) -> u64| survey.filters().map(of).sum::<u64>();
        let (keys, cells, local_bits) = (survey.keys(), sum(|filter| filter.cells), sum(|filter| filter.local_bits));
        Report {
            path: address.to_string(),
            filter: survey.kind.name(),
            fpr: survey.rate,
            level: level_name(survey.level),
            lease_seconds: survey.lease.as_secs_f64(),
            beside: survey.beside,
            complete: survey.complete,
            keys,
            cells,
            load: keys as f64 / cells.max(1) as f64,
            local_bits,
            bits_per_key: (keys > 0).then(|| local_bits as f64 / keys as f64),
            outbox: survey.outbox.count,
            outbox_or_more: survey.outbox.or_more,
            shards: survey.shards.iter().map(Shard::from).collect(),
        }
    }
}

impl From<&ShardSurvey> for Shard {
    fn from(of: &ShardSurvey) -> Shard {
        let Head { position, tag } = of.head;
        let member = |MemberSurvey { id, acknowledged, lag, renewed, .. }: &MemberSurvey| Member {
            id: name(id.0),
            acknowledged: *acknowledged,
            lag: *lag,
            renewed: *renewed,
        };
        Shard {
            shard: of.shard.0,
            position,
            tag: name(tag),
            snapshot: of.snapshot.map(|Snapshot { at, bytes, .. }| Saved { position: at.position, bytes }),
            members: of.members.iter().map(member).collect(),
            lag: of.members.iter().map(|member| member.lag).max().unwrap_or(0),
            announcements: of.announcements.open,
            announced_keys: of.announcements.keys,
            abandoned: of.announcements.abandoned,
            filter: of.filter.as_ref().ok().map(Filter::from),
            error: of.filter.as_ref().err().cloned(),
        }
    }
}

impl From<&FilterSurvey> for Filter {
    fn from(filter: &FilterSurvey) -> Filter {
        let FilterSurvey { keys, cells, local_bits, digest, log_records, log_bytes, .. } = *filter;
        Filter { keys, cells, local_bits, digest: name(digest), log_records, log_bytes }
    }
}

/// The report as text.
fn words(report: &Report, survey: &Survey) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let (level, lease) = match survey.level {
        Level::Exact => ("exact".to_owned(), Some(format!("{} s", report.lease_seconds))),
        Level::Within(_) => (format!("exact after {} s", report.lease_seconds), None),
    };
    let values = match (report.beside, report.complete) {
        (false, _) => "in the set",
        (true, true) => "elsewhere",
        (true, false) => "elsewhere; the set may lack keys, so every look-up goes there until `resync`",
    };
    let bits_per_key = report.bits_per_key.map_or("no key".into(), |bits| format!("{bits:.2}"));
    let more = if report.outbox_or_more { " or more" } else { "" };
    let mut rows = vec![
        row("filter", report.filter.into()),
        row("false-positive rate, at most", rate(report.fpr)),
        row("promise", level),
        row("values", values.into()),
        row("keys", grouped(report.keys)),
        row("cells", grouped(report.cells)),
        row("load", format!("{:.1} %", report.load * 100.0)),
        row("bits in the memory of each process", grouped(report.local_bits)),
        row("bits a key", bits_per_key),
        row("rows that wait for their record", format!("{}{more}", grouped(report.outbox))),
        row("shards", grouped(report.shards.len() as u64)),
    ];
    if let Some(lease) = lease {
        rows.insert(3, row("lease", lease));
    }
    let shards: String = report.shards.iter().map(words_of_shard).collect();
    format!("{}\n\n{}{shards}", report.path, columns(&rows))
}

fn words_of_shard(shard: &Shard) -> String {
    let snapshot = shard.snapshot.as_ref().map_or("no snapshot".to_owned(), |Saved { position, bytes }| {
        format!("snapshot of {} bytes at record {}", grouped(*bytes), grouped(*position))
    });
    let filter = match (&shard.filter, &shard.error) {
        (Some(filter), _) => format!(
            "{}, {} cells, {} since the {}, digest {}",
            counted(filter.keys, "key"),
            grouped(filter.cells),
            format_args!("{} of {} bytes", counted(filter.log_records, "record"), grouped(filter.log_bytes)),
            if shard.snapshot.is_some() { "snapshot" } else { "beginning" },
            filter.digest
        ),
        (None, why) => format!("the filter cannot be loaded: {}", why.as_deref().unwrap_or_default()),
    };
    let mut text = format!("\nshard {}: record {}, {snapshot}\n  {filter}\n", shard.shard, grouped(shard.position));
    if shard.announcements > 0 {
        text += &format!(
            "  {} under way with {}, {} of members that are gone\n",
            counted(shard.announcements, "insertion"),
            counted(shard.announced_keys, "key"),
            grouped(shard.abandoned)
        );
    }
    for Member { id, acknowledged, lag, renewed } in &shard.members {
        text += &format!(
            "  member {id}: at record {}, {} behind, renewed {}\n",
            grouped(*acknowledged),
            grouped(*lag),
            counted(*renewed, "time")
        );
    }
    text
}
