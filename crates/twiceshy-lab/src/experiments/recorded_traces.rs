//! Recorded requests, which no paper uses: the filters on real traffic, from any folder of traces.

use super::telescoping_on_flows::{MEMORY, contenders, equal_memory};
use crate::experiment::contest::{self, Contest};
use crate::experiment::{
    Budget, Contender, Evidence, Experiment, Picture, Point, Setup, Size, Statement, Table, Value,
};
use crate::workload::folder::{FolderOfTraces, traces};

/// On recorded requests filters that learn have no more false positives than those that do not.
pub(super) struct RecordedTraces;

const BITS: u32 = 11;

const PLAIN: &str = "cuckoo, plain";

/// "No more": an equal number cannot be told from slightly fewer.
const NO_MORE: f64 = 1.05;

/// The requests of a trace that are used: longer traces are cut.
pub(super) fn most_requests(size: Size) -> u64 {
    size.of(50_000, 1_250_000, 5_000_000)
}

/// The traces of the folder, if there is one.
pub(super) fn found(setup: &Setup) -> FolderOfTraces {
    setup.data.as_deref().map(|folder| traces(folder, most_requests(setup.size))).unwrap_or_default()
}

fn ratios(size: Size) -> &'static [u64] {
    size.of(&[5], &[5, 20], &[1, 2, 5, 10, 20, 50, 100])
}

/// All of them, or a few in the quick size.
fn chosen(size: Size) -> Vec<Contender> {
    let mut all = contenders(BITS);
    if size != Size::Paper {
        let few = ["telescoping", "cuckooing", PLAIN, "cuckoo with cache"];
        all.retain(|contender| few.contains(&contender.label.as_str()));
    }
    all
}

impl Experiment for RecordedTraces {
    fn name(&self) -> &'static str {
        "recorded-traces"
    }

    fn claim(&self) -> &'static str {
        "On recorded requests filters that learn have no more false positives than those that do not"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates on recorded requests, over A/S"
    }

    fn source(&self) -> &'static str {
        "this project: no paper uses these traces"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![
            format!(
                "Every trace in the folder of `--data`: text with one key a line, or packets, plain or compressed; of each the \
                 first {} requests, in order. The first keys of a trace are stored, with the number chosen to give A/S, and every \
                 later request for another key is a query. A/S that leave fewer than 200 keys to store are left out. The trials \
                 differ only in the hash key, the same for all filters; statements are about the median trial. The traces are \
                 not part of the project: without a folder this experiment is left out. Files that are no traces, and lists \
                 without repeated keys, are skipped.",
                most_requests(size)
            ),
            contest::EQUAL_MEMORY.into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        contest::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        size.pick(Budget { first: 20, most: 40 }, Budget { first: 24, most: 48 })
    }

    fn notes(&self, setup: &Setup) -> Vec<String> {
        found(setup).notes
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let mut points = Vec::new();
        for trace in found(setup).traces {
            for &ratio in ratios(setup.size).iter().filter(|ratio| trace.allows(**ratio as f64)) {
                let contenders = contest::of_width(BITS, chosen(setup.size));
                let work = trace.requests as f64 * contenders.len() as f64 * 8e-8;
                let contest = Contest {
                    contenders,
                    memory: MEMORY,
                    workload: trace.workload(),
                    workload_label: trace.label.clone(),
                    ratio: ratio as f64,
                    queries: None,
                    champions: &["telescoping", "cuckooing"],
                    work,
                };
                points.push(contest.point(setup));
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        contest::pictures(self.name(), table, contenders)
    }

    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        if table.is_empty() {
            return Vec::new();
        }
        vec![equal_memory(table), no_more(table, "cuckooing"), no_more(table, "telescoping").because(shorter(table))]
    }
}

/// A comparison of two filters at every point.
fn everywhere(table: &Table, evidence: impl Fn(&Value, &Table) -> Evidence) -> Vec<Evidence> {
    let at_point = |point: &Value| evidence(point, &table.only("point", point.clone()));
    table.values("point").iter().map(at_point).collect()
}

fn no_more(table: &Table, filter: &str) -> Statement {
    let over = |point: &Value, here: &Table| {
        let counts = |filter: &str| here.only("filter", filter).sample("false_positives");
        Evidence::median_ratio(point.to_string(), &counts(filter), &counts(PLAIN)).below(NO_MORE)
    };
    Statement::new(
        format!("This project, on every trace: {filter} has no more false positives than a plain cuckoo filter of the same memory"),
        format!("its false positives over those of the plain filter, in the median trial: at most {NO_MORE}"),
    )
    .every(everywhere(table, over))
}

/// Why a filter that learns may still lose.
fn shorter(table: &Table) -> Statement {
    let over = |point: &Value, here: &Table| {
        let first = |filter: &str| {
            let own = here.only("filter", filter);
            own.sample("first_time_fpr").with(&own.sample("distinct"), |rate, distinct| rate * distinct)
        };
        Evidence::median_ratio(point.to_string(), &first("telescoping"), &first(PLAIN)).above(1.0)
    };
    Statement::new(
        "its fingerprints are shorter, to pay for what it learns: it is wrong about more keys when they are first asked for",
        "keys that are wrong at their first query, telescoping over plain, in the median trial: above 1",
    )
    .every(everywhere(table, over))
}
