//! Recorded requests, which no paper uses: the filters on real traffic.

use super::telescoping_on_flows::{MEMORY, contenders, equal_memory};
use crate::experiment::contest::{self, At, Contest};
use crate::experiment::{Budget, Contender, Experiment, Picture, Point, Setup, Size, Statement, Table};
use crate::workload::Workload;

/// On recorded requests filters that learn have fewer false positives than those that do not.
pub(super) struct RecordedTraces;

const BITS: u32 = 11;

/// Name and file.
const TRACES: [(&str, &str); 2] =
    [("product recommender", "recommender-requests.txt.xz"), ("ORM cache", "orm-session.txt.xz")];

/// All of them, or a few in the quick size.
fn chosen(size: Size) -> Vec<Contender> {
    let mut all = contenders(BITS);
    if size != Size::Paper {
        let few = ["telescoping", "cuckooing", "cuckoo, plain", "cuckoo with cache"];
        all.retain(|contender| few.contains(&contender.label.as_str()));
    }
    all
}

impl Experiment for RecordedTraces {
    fn name(&self) -> &'static str {
        "recorded-traces"
    }

    fn claim(&self) -> &'static str {
        "On recorded requests filters that learn have fewer false positives than those that do not"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates on recorded requests, over A/S"
    }

    fn source(&self) -> &'static str {
        "this project: no paper uses these traces"
    }

    fn method(&self, _: Size) -> Vec<String> {
        vec![
            "Requests to a product recommender (1,245,184, caffeine simulator) and to an ORM cache (5,000,000, cache2k), in order; \
             the first keys of a trace are stored, with the number chosen to give A/S, and every later request for another key is a \
             query. The trials differ only in the hash key, the same for all filters; statements are about the median trial. The \
             traces are not part of the project: if the folder that holds them is missing, this experiment is left out."
                .into(),
            contest::EQUAL_MEMORY.into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        contest::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        size.pick(Budget { first: 20, most: 40 }, Budget { first: 24, most: 48 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let Some(data) = &setup.data else { return Vec::new() };
        let ratios: &[u64] = setup.size.pick(&[5], &[1, 2, 5, 10, 20, 50, 100]);
        let mut points = Vec::new();
        for (label, file) in TRACES {
            let path = data.join(file);
            if !path.is_file() {
                continue;
            }
            for &ratio in ratios {
                let contest = Contest {
                    contenders: contest::of_width(BITS, chosen(setup.size)),
                    memory: MEMORY,
                    workload: Workload::Trace(path.clone()),
                    workload_label: label.to_owned(),
                    ratio: ratio as f64,
                    queries: None,
                    champions: &["telescoping"],
                    work: 0.5,
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
        let mut statements = vec![equal_memory(table)];
        let known = TRACES.iter().filter(|(label, _)| !table.only("workload", *label).is_empty());
        statements.extend(known.map(|(label, _)| of_trace(table, label)));
        statements
    }
}

fn of_trace(table: &Table, trace: &str) -> Statement {
    let at = At { workload: trace, cell_bits: BITS, ratio: 5 };
    let over = |filter| contest::ratio(table, at, filter, "cuckoo, plain").below(1.0);
    Statement::new(
        format!("This project, {trace}, A/S 5: telescoping and Cuckooing have fewer false positives than a plain cuckoo filter"),
        "their false positives over those of the plain filter, in the median trial: below 1",
    )
    .every(["telescoping", "cuckooing"].map(over).into())
}
