//! 004 Figure 5: insertions and queries per second over the load.

use crate::experiment::{Axis, Curve, Experiment, Finding, Line, Picture, Setup, Size, Table, Task, TaskError, line};
use crate::fixed_set::FixedSet;
use crate::replay::{FilterSpec, told};
use crate::workload::firehose::Firehose;
use crate::workload::firehose::life::PowExp;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::time::Instant;
use twiceshy::Kind;
use twiceshy::hash::HashKey;
use twiceshy::remote::Key;

/// Telescoping inserts like the others and pays for its code in queries.
pub(super) struct Throughput;

/// Filter, look, and the bits of a remainder or cell.
const FILTERS: [(&str, usize, Kind, u32); 8] = [
    ("quotient, plain", 6, Kind::Quotient, REMAINDER),
    ("telescoping", 7, Kind::Telescoping, REMAINDER),
    ("telescoping, plain selectors", 2, Kind::TelescopingPlain, REMAINDER),
    ("extension", 8, Kind::Extension, REMAINDER),
    ("broom", 9, Kind::Broom, REMAINDER),
    ("cuckoo, plain", 0, Kind::FullKey, CELL),
    ("cuckooing", 5, Kind::Cuckooing, CELL),
    ("swapping", 4, Kind::Swapping, CELL),
];

const LOADS: [f64; 7] = [0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95];

const REMAINDER: u32 = 8;

/// Cells of the cuckoo filters: equal memory with telescoping.
const CELL: u32 = 11;

/// Passes over the queries at each load, the median of which counts.
const PASSES: usize = 5;

struct Run {
    filter: &'static str,
    spec: FilterSpec,
    slots: u64,
    queries: u64,
    seed: u64,
}

impl Run {
    fn measure(&self) -> Result<Vec<Line>, TaskError> {
        let &Run { filter: name, ref spec, slots, queries, seed } = self;
        let most = (slots as f64 * LOADS[LOADS.len() - 1]) as u64;
        let firehose = Firehose::ActiveSet(PowExp::DEFAULT);
        let keys = Keys::new(most, u64::from(u32::MAX), seed).ok_or_else(|| TaskError::new("too many keys"))?;
        let remote = FixedSet::new(keys.stored_keys().map(|key| Key::from(&key[..])));
        let hash = HashKey::fixed(Rng::stream(seed, 5).word());
        let options = spec.options(slots).ok_or_else(|| TaskError::new("a rival"))?;
        let mut filter = options.build(hash, remote).map_err(TaskError::new)?;
        let asked: Vec<[u8; 8]> =
            firehose.numbers(seed).take(queries as usize).map(|number| keys.absent(number)).collect();
        let (mut lines, mut filled) = (Vec::new(), 0);
        for load in LOADS {
            let until = (slots as f64 * load) as u64;
            let begun = Instant::now();
            for number in filled..until {
                filter.insert(&keys.stored(number)).map_err(TaskError::new)?;
            }
            let inserting = (until - filled) as f64 / begun.elapsed().as_secs_f64();
            filled = until;
            let mut passes = Vec::new();
            for _ in 0..PASSES {
                let begun = Instant::now();
                for query in &asked {
                    if filter.contains(query) {
                        told(&mut filter, query).map_err(TaskError::new)?;
                    }
                }
                passes.push(asked.len() as f64 / begun.elapsed().as_secs_f64());
            }
            passes.sort_by(f64::total_cmp);
            let (asking, spread) = (passes[PASSES / 2], passes[PASSES - 1] / passes[0] - 1.0);
            lines.push(line![
                name,
                slots,
                load,
                inserting / 1e6,
                asking / 1e6,
                spread,
                filter.local_bits() as f64 / until as f64
            ]);
        }
        Ok(lines)
    }
}

impl Experiment for Throughput {
    fn name(&self) -> &'static str {
        "throughput"
    }

    fn claim(&self) -> &'static str {
        "Telescoping inserts like the others and pays for its code in queries"
    }

    fn source(&self) -> &'static str {
        "004, Figure 5"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![
            format!(
                "{} slots; the filter is filled step by step, and at each load {} queries of the active set are asked, with an \
                 adaptation to each mistake: the median of five passes, where the paper has means of ten runs. One thread, nothing else running; times are this machine's, so compare the lines with \
                 each other.",
                size.pick("131,072", "16,777,216"),
                size.pick("500,000", "10 million")
            ),
            "Insertions include the remote in memory, which takes most of the time. The vacuum filter of the paper's figure \
             is missing here."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "filter",
            "slots",
            "load",
            "million_insertions_per_second",
            "million_queries_per_second",
            "spread_of_queries",
            "bits_per_key",
        ]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (slots, queries) = setup.size.pick((1 << 17, 500_000), (1 << 24, 10_000_000));
        let seed = setup.seed;
        let task = |(filter, _, kind, bits): (&'static str, usize, Kind, u32)| {
            let work = slots as f64 * 3e-6 + queries as f64 * 7.0 * 1e-7;
            let run = Run { filter, spec: FilterSpec::new(kind, bits), slots, queries, seed };
            Task::new(filter, work, move || run.measure())
        };
        FILTERS.map(task).into()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let picture = |what: &str, column: &str| Picture {
            name: format!("throughput-{what}"),
            title: format!("Million {what} per second"),
            x: Axis::own_range("load: keys over cells or slots"),
            y: Axis::linear(format!("million {what} per second")),
            lines: FILTERS.iter().map(|(filter, look, ..)| curve(table, filter, *look, column)).collect(),
        };
        vec![picture("insertions", "million_insertions_per_second"), picture("queries", "million_queries_per_second")]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let mean = |filter: &str, column: &str| {
            let own = table.only("filter", filter);
            let all: Vec<f64> = own.rows().filter_map(|row| row.number(column)).collect();
            all.iter().sum::<f64>() / all.len().max(1) as f64
        };
        let queries = |filter: &str| mean(filter, "million_queries_per_second");
        let inserts = |filter: &str| mean(filter, "million_insertions_per_second");
        let spread = mean("telescoping", "spread_of_queries").max(mean("quotient, plain", "spread_of_queries"));
        let inserting = inserts("telescoping") / inserts("quotient, plain");
        let [telescoping, plain_selectors, extension] = ["telescoping", "telescoping, plain selectors", "extension"]
            .map(|filter| queries(filter) / queries("quotient, plain"));
        vec![
            Finding::new(
                "section 6.2: TAF's insertions perform like the others', here like the plain quotient filter's",
                format!("{inserting:.2} times as fast as the plain quotient filter"),
                inserting > 0.5,
            ),
            Finding::new(
                "section 6.2: TAF lags behind in queries; exAF and uTAF, which decode less, are faster",
                format!("telescoping {telescoping:.2}, plain selectors {plain_selectors:.2}, extension {extension:.2} of the plain filter's queries"),
                telescoping < extension.min(plain_selectors) * 0.95,
            )
            .because(
                "here a look-up decodes selectors only where a run's remainders could match, and a block that never adapted has \
                 nothing to decode: the paper's filter pays for that with each query, this one seldom",
            )
            .open_if(spread > 0.1, "passes over the same queries differ by more than the filters do: run it on a quiet machine, or in the paper's size"),
        ]
    }

    fn is_timed(&self) -> bool {
        true
    }
}

fn curve(table: &Table, filter: &str, look: usize, column: &str) -> Curve {
    let own = table.only("filter", filter);
    let full = own.rows().last().and_then(|row| row.number("bits_per_key")).unwrap_or(f64::NAN);
    Curve::measured(format!("{filter}, {full:.2} bits a key when full"), look, own.pairs("load", column))
}
