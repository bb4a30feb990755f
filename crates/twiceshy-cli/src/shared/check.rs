//! `twiceshy check` for a shared set.

use super::Address;
use crate::output::{counted, grouped, print, print_json};
use serde::Serialize;
use std::time::Instant;
use twiceshy_shared::{Blocking, Checked};

#[derive(Serialize)]
struct Report {
    path: String,
    ok: bool,
    /// The worst problem.
    wrong: Option<String>,
    /// All problems, the worst first.
    problems: Vec<String>,
    keys: u64,
    /// `None` if the values are elsewhere.
    values: Option<u64>,
    /// Keys that have neither a value nor an insertion under way.
    left_behind: u64,
    seconds: f64,
}

/// `true` if the set is in order.
pub(crate) fn run(address: &Address, json: bool) -> anyhow::Result<bool> {
    let started = Instant::now();
    let checked = Blocking::check(address.engine()?).map_err(|error| address.refusal(error))?;
    let wrong = checked.problem();
    let Checked { keys, values, left_behind, problems, .. } = checked;
    let report = Report {
        path: address.to_string(),
        ok: wrong.is_none(),
        wrong,
        problems: problems.iter().map(ToString::to_string).collect(),
        keys,
        values,
        left_behind,
        seconds: started.elapsed().as_secs_f64(),
    };
    if json {
        print_json(&report)?
    } else {
        print(&words(&report))?
    }
    Ok(report.ok)
}

/// The report as text.
fn words(report: &Report) -> String {
    let Report { path, problems, seconds, left_behind, .. } = report;
    let keys = counted(report.keys, "key");
    let mut text = match &problems[..] {
        [] => format!("{path}: {keys}, all in order, {seconds:.2} s\n"),
        [wrong] => format!("{path}: {keys}, and something is wrong: {wrong}\n"),
        problems => {
            let lines: String = problems.iter().map(|wrong| format!("- {wrong}\n")).collect();
            format!("{path}: {keys}, and {} things are wrong:\n{lines}", problems.len())
        }
    };
    if *left_behind > 0 {
        let keys = if *left_behind == 1 { "key has" } else { "keys have" };
        text += &format!(
            "{} {keys} neither a value nor an insertion under way: left behind, they cost look-ups, and no row is missing\n",
            grouped(*left_behind)
        );
    }
    text
}
