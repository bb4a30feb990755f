//! 004 Figure 5: insertions and queries per second over the load.

mod subject;

use crate::baseline::Bloom;
use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Setup, Size, Statement, Table, TaskError,
    line,
};
use crate::fixed_set::FixedSet;
use crate::replay::FilterSpec;
use crate::workload::firehose::Firehose;
use crate::workload::firehose::life::PowExp;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::time::Instant;
use subject::{Make, Timed};
use twiceshy::Kind;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::hash::HashKey;
use twiceshy::remote::Key;

/// Telescoping inserts like the others and pays for its code in queries.
pub(super) struct Throughput;

/// Filter, look, and how it is made.
const FILTERS: [(&str, usize, Make); 11] = [
    ("quotient, plain", 6, Make::Ours(Kind::Quotient, REMAINDER)),
    ("telescoping", 7, Make::Ours(Kind::Telescoping, REMAINDER)),
    ("telescoping, plain selectors", 2, Make::Ours(Kind::TelescopingPlain, REMAINDER)),
    ("extension", 8, Make::Ours(Kind::Extension, REMAINDER)),
    ("broom", 9, Make::Ours(Kind::Broom, REMAINDER)),
    (CUCKOO, 0, Make::Ours(Kind::FullKey, CELL)),
    (ADAPTIVE_CUCKOO[0], 1, Make::Ours(Kind::Cyclic, CELL)),
    (ADAPTIVE_CUCKOO[1], 4, Make::Ours(Kind::Swapping, CELL)),
    (ADAPTIVE_CUCKOO[2], 5, Make::Ours(Kind::Cuckooing, CELL)),
    (WITHOUT_REMOTE[0], 3, Make::PartialKey),
    (WITHOUT_REMOTE[1], 10, Make::Bloom),
];

const CUCKOO: &str = "cuckoo, plain";
const ADAPTIVE_CUCKOO: [&str; 3] = ["cyclic, s = 1", "swapping", "cuckooing"];
const WITHOUT_REMOTE: [&str; 2] = ["cuckoo, partial-key", "Bloom"];

/// The loads at which queries are asked.
fn loads(size: Size) -> &'static [f64] {
    size.pick(&[0.5, 0.8, 0.95], &[0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95])
}

/// Slots, and queries at each load.
fn amounts(size: Size) -> (u64, u64) {
    size.of((1 << 12, 10_000), (1 << 15, 40_000), (1 << 22, 2_000_000))
}

const REMAINDER: u32 = 8;

/// Cells of the cuckoo filters: equal memory with telescoping.
const CELL: u32 = 11;

/// Passes over the queries at each load. Every part of the queries counts with its fastest pass: other work on the
/// machine can only slow a pass down.
const PASSES: usize = 5;

/// Parts in which queries and insertions are timed: short ones, so that an interruption spoils only one.
const PARTS: usize = 16;

/// One filter of a trial.
struct Run {
    filter: &'static str,
    make: Make,
    slots: u64,
    loads: &'static [f64],
    /// How often telescoping inserts each key: once, or more often for a planted error.
    insertions: u32,
}

impl Run {
    fn measure(&self, keys: &Keys, remote: FixedSet, asked: &[[u8; 8]], hash: HashKey) -> Result<Vec<Line>, TaskError> {
        match self.make {
            Make::Ours(kind, bits) => {
                let options =
                    FilterSpec::new(kind, bits).options(self.slots).ok_or_else(|| TaskError::new("a rival"))?;
                self.time(options.build(hash, remote).map_err(TaskError::new)?, keys, asked)
            }
            Make::PartialKey => {
                let options = CuckooFilter::with_cells(self.slots, CELL).tables(2).cells_per_bucket(4);
                self.time(options.build(hash).map_err(TaskError::new)?, keys, asked)
            }
            Make::Bloom => {
                let most = self.loads.iter().copied().fold(0.0, f64::max);
                let keys_when_full = (self.slots as f64 * most) as u64;
                self.time(Bloom::new(self.slots, CELL, keys_when_full, hash), keys, asked)
            }
        }
    }

    fn time(&self, mut filter: impl Timed, keys: &Keys, asked: &[[u8; 8]]) -> Result<Vec<Line>, TaskError> {
        let (mut lines, mut filled) = (Vec::new(), 0);
        for &load in self.loads {
            let until = (self.slots as f64 * load) as u64;
            let mut seconds = Vec::new();
            let part = (until - filled).div_ceil(PARTS as u64);
            for first in (filled..until).step_by(part as usize) {
                let numbers = first..until.min(first + part);
                let (begun, count) = (Instant::now(), numbers.end - numbers.start);
                for number in numbers {
                    let key = keys.stored(number);
                    for _ in 1..self.insertions {
                        filter.insert(&key)?;
                        filter.remove(&key)?;
                    }
                    filter.insert(&key)?;
                }
                seconds.push(begun.elapsed().as_secs_f64() / count as f64);
            }
            // The median part: a filter that grows fuller has no fastest one.
            seconds.sort_by(f64::total_cmp);
            let inserting = 1.0 / seconds[seconds.len() / 2];
            filled = until;
            let mut fastest = [f64::INFINITY; PARTS];
            for _ in 0..PASSES {
                for (queries, fastest) in asked.chunks(asked.len().div_ceil(PARTS)).zip(&mut fastest) {
                    let begun = Instant::now();
                    for query in queries {
                        if filter.contains(query) {
                            filter.was_wrong(query)?;
                        }
                    }
                    *fastest = fastest.min(begun.elapsed().as_secs_f64());
                }
            }
            let asking = asked.len() as f64 / fastest.iter().filter(|seconds| seconds.is_finite()).sum::<f64>();
            let bits = filter.local_bits() as f64 / until as f64;
            lines.push(line![self.filter, self.slots, load, inserting / 1e6, asking / 1e6, bits]);
        }
        Ok(lines)
    }
}

/// A trial: all filters one after another, with the same keys and queries, so that they are compared under the same
/// conditions.
fn trial(runs: &[Run], queries: u64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let slots = runs.iter().map(|run| run.slots).max().unwrap_or(0);
    let keys = Keys::new(slots, u64::from(u32::MAX), seed).ok_or_else(|| TaskError::new("too many keys"))?;
    let remote = FixedSet::new(keys.stored_keys().map(|key| Key::from(&key[..])));
    let hash = HashKey::fixed(Rng::stream(seed, 5).word());
    let firehose = Firehose::ActiveSet(PowExp::DEFAULT);
    let asked: Vec<[u8; 8]> = firehose.numbers(seed).take(queries as usize).map(|number| keys.absent(number)).collect();
    let mut lines = Vec::new();
    for run in runs {
        lines.extend(run.measure(&keys, remote.clone(), &asked, hash)?);
    }
    Ok(lines)
}

impl Experiment for Throughput {
    fn name(&self) -> &'static str {
        "throughput"
    }

    fn claim(&self) -> &'static str {
        "Telescoping inserts like the others and pays for its code in queries"
    }

    fn measures(&self) -> &'static str {
        "Insertions and queries a second, over the load"
    }

    fn source(&self) -> &'static str {
        "004, Figure 5"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (slots, queries) = amounts(size);
        vec![
            format!(
                "{slots} slots (the paper: 2^24); the filter is filled step by step, and at each load {queries} queries of the active \
                 set are asked {PASSES} times, with an adaptation to each mistake. Each of {PARTS} parts of the queries counts with \
                 its fastest pass, where the paper has means of ten runs. A trial measures all filters one after another with the \
                 same keys. One thread, nothing else running; times are this machine's, so compare the lines with each other."
            ),
            "Insertions include the remote in memory, which takes most of the time; the partial-key cuckoo filter (2×4) and the \
             Bloom filter have none. The figure has quotient filters and a vacuum filter, of the partial-key kind; the other cuckoo \
             filters and the Bloom filter are this project's addition, in the memory of telescoping: 11 bits a cell. The vacuum filter \
             itself is missing."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["filter", "slots", "load", "million_insertions_per_second", "million_queries_per_second", "bits_per_key"]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 24, most: 24 }, Budget { first: 24, most: 30 }, Budget { first: 10, most: 20 })
    }

    /// A planted wrong rule: telescoping inserts, removes and inserts each key three times.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (slots, queries) = amounts(setup.size);
        let (loads, planted) = (loads(setup.size), setup.planted == Planted::WrongRule);
        let run = move |(filter, _, make): (&'static str, usize, Make)| {
            let insertions = if planted && filter == "telescoping" { 3 } else { 1 };
            Run { filter, make, slots, loads, insertions }
        };
        let work = FILTERS.len() as f64 * (slots as f64 * 3e-6 + (queries * loads.len() as u64) as f64 * 5e-7);
        let settings = (FILTERS, slots, queries, loads, planted, PASSES, PARTS);
        vec![Point::new("all filters", work, &settings, move |seed| trial(&FILTERS.map(run), queries, seed))]
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let picture = |what: &str, column: &str| Picture {
            name: format!("throughput-{what}"),
            title: format!("Million {what} per second"),
            x: Axis::own_range("load: keys over cells or slots"),
            y: Axis::log(format!("million {what} per second, median over trials")),
            lines: FILTERS.iter().map(|(filter, look, ..)| curve(table, filter, *look, column)).collect(),
        };
        vec![picture("insertions", "million_insertions_per_second"), picture("queries", "million_queries_per_second")]
    }

    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        let ratio = |column: &str, top: &str, bottom: &str| {
            let [above, below] = [top, bottom].map(|filter| table.only("filter", filter).sample(column));
            let ratio = above.with(&below, |above, below| above / below);
            (!ratio.is_empty()).then(|| Evidence::typical(format!("{top} over {bottom}"), &ratio))
        };
        let inserts = |top: &str, bottom: &str| ratio("million_insertions_per_second", top, bottom);
        let queries = |top: &str, bottom: &str| ratio("million_queries_per_second", top, bottom);
        let [quotient, telescoping, plain_selectors, extension] =
            ["quotient, plain", "telescoping", "telescoping, plain selectors", "extension"];
        let of = |paper: &str, tested: &str, evidence: Vec<Option<Evidence>>| {
            Statement::new(paper, format!("{tested}, in the typical trial"))
                .every(evidence.into_iter().flatten().collect())
        };
        let hardly_decodes = || {
            of(
                "decoding costs little here: plain selectors, which need none, are as far behind the plain quotient filter, which has no \
                 selectors at all",
                "queries a second over those of the plain quotient filter, TAF and uTAF: at most 0.9; uTAF over TAF: 0.9 to 1.1",
                vec![
                    queries(telescoping, quotient).map(|it| it.below(0.9)),
                    queries(plain_selectors, quotient).map(|it| it.below(0.9)),
                    queries(plain_selectors, telescoping).map(|it| it.within(0.9, 1.1)),
                ],
            )
        };
        vec![
            of(
                "section 6.2: TAF's insertions perform like the others', here like those of the plain quotient filter and of exAF",
                "insertions a second of telescoping over theirs: 0.8 to 1.25",
                [quotient, extension].map(|other| inserts(telescoping, other).map(|it| it.within(0.8, 1.25))).into(),
            ),
            of(
                "section 6.2: exAF, which decodes less, answers significantly faster than TAF",
                "queries a second over those of telescoping: at least 1.1",
                vec![queries(extension, telescoping).map(|it| it.above(1.1))],
            ),
            of(
                "section 6.2: uTAF, which does not decode, answers noticeably faster than TAF",
                "queries a second over those of telescoping: at least 1.1",
                vec![queries(plain_selectors, telescoping).map(|it| it.above(1.1))],
            )
            .because(hardly_decodes()),
            of(
                "section 6.2: uTAF is similar in performance to exAF",
                "queries a second of telescoping with plain selectors over those of extension: 0.8 to 1.25",
                vec![queries(plain_selectors, extension).map(|it| it.within(0.8, 1.25))],
            ),
            of(
                "section 6.2: decodes stop short of dominating the performance of TAF's queries",
                "queries a second of telescoping over those of the plain quotient filter: at least a half",
                vec![queries(telescoping, quotient).map(|it| it.above(0.5))],
            ),
            of(
                "This project's: adaptive cuckoo filters answer nearly as fast as the plain one, adaptations included",
                "queries a second over those of the plain full-key cuckoo filter: at least a half",
                ADAPTIVE_CUCKOO.map(|adaptive| queries(adaptive, CUCKOO).map(|it| it.above(0.5))).into(),
            ),
            of(
                "This project's: filters without a remote, which do not adapt, are filled faster",
                "insertions a second over those of telescoping: at least 1.5",
                WITHOUT_REMOTE.map(|alone| inserts(alone, telescoping).map(|it| it.above(1.5))).into(),
            ),
        ]
    }

    fn is_timed(&self) -> bool {
        true
    }
}

fn curve(table: &Table, filter: &str, look: usize, column: &str) -> Curve {
    let own = table.only("filter", filter);
    Curve::measured(filter, look, own.medians("load", column))
}
