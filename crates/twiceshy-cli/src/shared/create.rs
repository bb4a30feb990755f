//! `twiceshy create` for a shared set.

use super::Address;
use crate::durations;
use crate::output::{article, counted, grouped, print, print_json, rate};
use anyhow::bail;
use serde::Serialize;
use std::time::Duration;
use twiceshy_shared::{Blocking, Level, Promise, Set, Survey};
use twiceshy_store::Kind;

/// The level of a set in an engine that cannot be exact.
const WITHIN: Level = Level::Within(Duration::from_secs(2));

/// What only a shared set has.
#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Of a shared set: the number of parts, each with its own filter and log. More of them let more processes write at once. It
    /// cannot be changed later [default: 1]
    #[arg(long, value_name = "N", value_parser = crate::numbers::count::<u32>)]
    shards: Option<u32>,
    /// Of a shared set: what it promises. With `exact`, no process denies a key that was inserted before. With `within:2s`, it may be
    /// denied for that time, and insertions do not wait for other processes; Redis can only do that [default: exact; within:2s in Redis]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,
    /// Of an exact shared set: how long a process may answer after it has heard from the database, and how long an insertion waits for
    /// one that has died, such as 500ms or 2s [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = durations::duration)]
    lease: Option<Duration>,
    /// Of a shared set: only keys are in it, and a program of yours keeps the values elsewhere
    #[arg(long)]
    beside: bool,
}

impl Flags {
    /// Refuses the flags of a shared set for a folder.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        let Flags { shards, level, lease, beside } = self;
        let given = [
            (shards.is_some(), "--shards"),
            (level.is_some(), "--level"),
            (lease.is_some(), "--lease"),
            (*beside, "--beside"),
        ];
        match given.iter().find(|(is_given, _)| *is_given) {
            Some((_, flag)) => {
                bail!("{flag} is for a shared set: give an address such as postgres://host/database, or omit {flag}")
            }
            None => Ok(()),
        }
    }
}

/// `exact` or `within:` and a time.
fn level(text: &str) -> Result<Level, String> {
    match text.split_once(':') {
        None if text == "exact" => Ok(Level::Exact),
        Some(("within", time)) => durations::duration(time).map(Level::Within),
        _ => Err(format!("the level must be exact, or within: and a time such as within:2s, not {text}")),
    }
}

#[derive(Serialize)]
struct Report {
    path: String,
    filter: &'static str,
    fpr: f64,
    /// Of all shards.
    cells: u64,
    /// The memory of all shards' filters.
    bytes: u64,
    shards: u32,
    level: &'static str,
    /// The lease of an exact set, the stated time of another.
    lease_seconds: f64,
    beside: bool,
}

/// Makes a set.
pub(crate) fn run(
    address: &Address,
    (kind, fpr, keys): (Kind, Option<f64>, u64),
    flags: &Flags,
    json: bool,
) -> anyhow::Result<()> {
    if flags.lease.is_some() && matches!(flags.level, Some(Level::Within(_))) {
        bail!("--lease is for --level exact: with within, its time is that of the level");
    }
    let mut set = Set::new().filter(kind).shards(flags.shards.unwrap_or(1));
    set = fpr.map_or(set, |fpr| set.false_positive_rate(fpr));
    set = if keys > 0 { set.expected_keys(keys) } else { set };
    let engine = address.engine()?;
    // A lease asks for an exact set.
    let weaker = (engine.promise() == Promise::Within && flags.lease.is_none()).then_some(WITHIN);
    set = flags.level.or(weaker).map_or(set, |level| set.level(level));
    set = flags.lease.map_or(set, |lease| set.lease(lease));
    set = if flags.beside { set.beside() } else { set };
    Blocking::create_with(&set, engine.clone()).map_err(|error| address.refusal(error))?;
    let survey = Blocking::survey(engine).map_err(|error| address.refusal(error))?;
    let report = Report::new(address, &survey);
    if json { print_json(&report) } else { print(&words(&report)) }
}

impl Report {
    fn new(address: &Address, survey: &Survey) -> Report {
        Report {
            path: address.to_string(),
            filter: survey.kind.name(),
            fpr: survey.rate,
            cells: survey.filters().map(|filter| filter.cells).sum(),
            bytes: survey.filters().map(|filter| filter.local_bits.div_ceil(8)).sum(),
            shards: survey.shards.len() as u32,
            level: level_name(survey.level),
            lease_seconds: survey.lease.as_secs_f64(),
            beside: survey.beside,
        }
    }
}

/// The name of a level, without its time.
pub(super) fn level_name(level: Level) -> &'static str {
    match level {
        Level::Exact => "exact",
        Level::Within(_) => "within",
    }
}

/// The report as text.
fn words(report: &Report) -> String {
    let Report { path, filter, fpr, cells, bytes, shards, level, lease_seconds, .. } = report;
    let promise = if *level == "exact" { "exact" } else { &format!("exact after {lease_seconds} s") };
    format!(
        "{path}: a new shared set, {promise}, in {} behind {} {filter} filter of {} cells, {} bytes in the memory of each process, built for a \
         false-positive rate of {}\n",
        counted((*shards).into(), "shard"),
        article(filter),
        grouped(*cells),
        grouped(*bytes),
        rate(*fpr)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_exact_or_a_time() {
        assert_eq!(level("exact"), Ok(Level::Exact));
        assert_eq!(level("within:500ms"), Ok(Level::Within(Duration::from_millis(500))));
        for wrong in ["", "within", "within:", "within:2", "exact:2s", "soon"] {
            assert!(level(wrong).is_err(), "{wrong}");
        }
    }
}
