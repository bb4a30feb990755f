//! The remembering filter beside all others at equal memory. No paper has it.

use super::recorded_traces;
use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size,
    Statement, Table, TaskError, Value, contest, line,
};
use crate::replay::{Comparison, FilterSpec, Memory, Recorded, Report, Settings, run, widest_within};
use crate::statistics::Looks;
use crate::workload::Workload;
use crate::workload::folder::FoundTrace;

/// At equal memory the remembering filter has the fewest false positives at every A/S.
pub(super) struct Remembering;

const OWN: &str = "remembering";

/// The bits of its cells.
const BITS: u32 = 11;

/// The load that its tables are planned for.
const LOAD: f64 = 0.935;

/// A name, and the filter by the bits of a cell or slot.
type ByBits = (&'static str, fn(u32) -> Contender);

fn others() -> [ByBits; 8] {
    [
        ("cuckoo, plain", Contender::cuckoo),
        ("cuckoo with cache", Contender::cached),
        ("cyclic, s = 1", |bits| Contender::cyclic(bits, 1)),
        ("swapping", Contender::swapping),
        ("cuckooing", Contender::cuckooing),
        ("telescoping", Contender::telescoping),
        ("extension", Contender::extension),
        ("broom", Contender::broom),
    ]
}

fn ratios(size: Size) -> &'static [u64] {
    size.of(&[10], &[1, 5, 20], &[1, 2, 5, 10, 20, 50, 100])
}

/// The stored keys where the workload does not fix them, and the queries for each absent key.
fn amounts(size: Size) -> (u64, u64) {
    size.of((4_000, 20), (4_000, 10), (50_000, 100))
}

/// A workload with its name.
struct Stream {
    label: String,
    workload: Workload,
    /// The trace, if it is one.
    trace: Option<FoundTrace>,
}

/// Generated workloads, and the traces of `recorded-traces`.
fn streams(setup: &Setup) -> Vec<Stream> {
    let names: &[(&'static str, &str)] = setup.size.of(
        &[("uniform", "uniform")],
        &[("uniform", "uniform"), ("Zipf 1.0", "zipf:1.0")],
        &[("uniform", "uniform"), ("Zipf 1.0", "zipf:1.0"), ("active set", "active-set")],
    );
    let generated = names.iter().filter_map(|(label, text)| {
        Some(Stream { label: (*label).to_owned(), workload: text.parse().ok()?, trace: None })
    });
    let traces = if setup.size == Size::Tiny { Vec::new() } else { recorded_traces::found(setup).traces };
    let is_taken = |label: &str| names.iter().any(|(taken, _)| *taken == label);
    let recorded = traces.into_iter().map(|trace| Stream {
        label: if is_taken(&trace.label) { format!("trace {}", trace.label) } else { trace.label.clone() },
        workload: trace.workload(),
        trace: Some(trace),
    });
    generated.chain(recorded).collect()
}

/// One trial: the remembering filter first, then the others in the memory that it has at the end.
#[derive(Clone)]
struct Trial {
    label: String,
    workload: Workload,
    ratio: u64,
    keys: u64,
    per_key: u64,
    is_planted: bool,
    /// The trace, read once for all trials and ratios.
    recorded: Recorded,
}

impl Trial {
    /// A filter under the workload, with this many cells at this load. Without them it is planned for [`LOAD`].
    fn ask(&self, filter: FilterSpec, size: Option<(u64, f64)>, seed: u64) -> Result<Report, TaskError> {
        if matches!(self.workload, Workload::Generated(_)) {
            let (cells, load) = size.unwrap_or(((self.keys as f64 / LOAD) as u64, LOAD));
            let settings = Settings {
                filter,
                cells: Some(cells),
                load,
                ratio: self.ratio as f64,
                per_key: Some(self.per_key),
                seed,
                workload: self.workload.clone(),
                ..Settings::empty()
            };
            return Ok(run(&settings, &|_| ())?);
        }
        let stream = Comparison {
            filters: vec![filter],
            memory: size.map_or(Memory::Load(LOAD), |(cells, _)| Memory::Cells(cells)),
            ratio: self.ratio as f64,
            queries: (self.workload.to_string() == "active-set").then_some(1_000_000),
            workload: self.workload.clone(),
            deaf: Vec::new(),
        };
        let report = stream.run_again(seed, &self.recorded)?.pop();
        report.ok_or_else(|| TaskError::new("no report of a filter"))
    }

    fn measure(&self, seed: u64) -> Result<Vec<Line>, TaskError> {
        // The planted wrong rule: it does not learn.
        let own = if self.is_planted { Contender::cuckoo(BITS) } else { Contender::remembering(BITS) };
        let own = self.ask(own.spec, None, seed)?;
        let mut lines = vec![self.line(OWN, &own)];
        for (label, contender) in others() {
            let by_bits = |bits| contender(bits).over_mirror().spec;
            let Some((spec, cells)) = widest_within(by_bits, own.keys, own.bits_per_key)? else { continue };
            let size = (cells, own.keys as f64 / cells as f64);
            lines.push(self.line(label, &self.ask(spec, Some(size), seed)?));
        }
        Ok(lines)
    }

    fn line(&self, filter: &str, report: &Report) -> Line {
        // Filters that do not learn need no remote. Of a mistake they only make the store read.
        let learns = !filter.starts_with("cuckoo,") && !filter.starts_with("cuckoo with");
        let work = if learns { report.adapting.remote_reads + report.adapting.remote_writes } else { 0 };
        line![
            self.label.as_str(),
            filter,
            self.ratio,
            report.keys,
            report.load,
            report.bits,
            report.bits_per_key,
            report.queries,
            report.false_positives,
            report.fpr,
            report.first_time_fpr,
            report.regret,
            report.rebuilds,
            report.false_positives + work,
        ]
    }
}

impl Experiment for Remembering {
    fn name(&self) -> &'static str {
        "remembering"
    }

    fn claim(&self) -> &'static str {
        "At equal memory the remembering filter has the fewest false positives at every A/S"
    }

    fn measures(&self) -> &'static str {
        "False positives of the remembering filter and of all others, in equal memory"
    }

    fn source(&self) -> &'static str {
        "this project: no paper has this filter"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (keys, per_key) = amounts(size);
        vec![
            format!(
                "In each trial the remembering filter runs first, with cells of {BITS} bits at the load that it is planned for \
                 ({LOAD}). Every other filter then has the same keys and queries, and the bits a key that it had allocated at the end, \
                 its list of exceptions included: with the widest cells that fit at a load of 95 % or less, and the rest of the \
                 bits as more cells. The broom filter begins with that memory and grows. \"Cuckoo with cache\" is the plain filter with a list \
                 of its latest mistakes."
            ),
            format!(
                "{keys} stored keys and {per_key} queries for each absent key, uniform and Zipf 1.0; in the large size the active set \
                 of FireHose with 1,000,000 queries; the recorded traces as in `recorded-traces`, if the folder that holds them is there."
            ),
            "The cost on the store's side counts a read for each mistake, and all reads and writes of the remote for adapting and \
             rebuilding."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "workload",
            "filter",
            "ratio",
            "keys",
            "load",
            "cell_bits",
            "bits_per_key",
            "queries",
            "false_positives",
            "fpr",
            "first_time_fpr",
            "regret",
            "rebuilds",
            "cost",
        ]
    }

    fn budget(&self, _: Size) -> Budget {
        Budget { first: 12, most: 24 }
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (keys, per_key) = amounts(setup.size);
        let is_planted = setup.planted == Planted::WrongRule;
        let mut points = Vec::new();
        for Stream { label, workload, trace } in streams(setup) {
            let recorded = Recorded::default();
            let allowed = |ratio: &&u64| trace.as_ref().is_none_or(|trace| trace.allows(**ratio as f64));
            // A trace is asked whole at every ratio: one is enough for a quick run.
            let few = |ratio: &&u64| setup.size == Size::Paper || trace.is_none() || **ratio == 20;
            for &ratio in ratios(setup.size).iter().filter(allowed).filter(few) {
                let (label, workload) = (label.clone(), workload.clone());
                let trial = Trial { label, workload, ratio, keys, per_key, is_planted, recorded: recorded.clone() };
                let settings = format!("{}, {ratio}, {keys}, {per_key}, {is_planted}", trial.workload);
                let queries = trace.as_ref().map_or(keys * ratio * per_key, |trace| trace.requests);
                let name = format!("{}, A/S {ratio}", trial.label);
                points.push(Point::new(name, queries as f64 * 4e-7, &settings, move |seed| trial.measure(seed)));
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let looks = || others().map(|(label, contender)| (label, contender(BITS).look));
        let picture = |workload: String| {
            let here = table.only("workload", workload.as_str());
            let curve = |(label, look): (&str, usize)| {
                Curve::measured(label, look, here.only("filter", label).means("ratio", "fpr"))
            };
            let own = (OWN, Contender::remembering(BITS).look);
            Picture {
                name: contest::file_name(&format!("remembering {workload}")),
                title: format!("{workload}, equal memory"),
                x: Axis::log("A/S: absent keys asked for over stored keys"),
                y: Axis::log("false-positive rate"),
                lines: [own].into_iter().chain(looks()).map(curve).collect(),
            }
        };
        table.values("workload").into_iter().map(|workload| picture(workload.to_string())).collect()
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let of = |workload: Value| of_workload(table, &workload.to_string(), self.looks(table, size));
        table.values("workload").into_iter().flat_map(of).collect()
    }
}

fn sample(table: &Table, workload: &str, ratio: &Value, filter: &str, column: &str) -> Sample {
    table.only("workload", workload).only("ratio", ratio.clone()).only("filter", filter).sample(column)
}

fn of_workload(table: &Table, workload: &str, looks: Looks) -> Vec<Statement> {
    let here = table.only("workload", workload);
    let of = |ratio: &Value, filter: &str, column: &str| sample(table, workload, ratio, filter, column);
    let (mut lowest, mut once, mut cheap, mut seldom) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ratio in &here.values("ratio") {
        let own = of(ratio, OWN, "false_positives");
        for (other, _) in others() {
            let theirs = of(ratio, other, "false_positives");
            if !theirs.is_empty() {
                lowest.push(Evidence::ratio(format!("{OWN} / {other}, A/S {ratio}"), &own, &theirs).below(1.0));
            }
        }
        if ratio.number().is_some_and(|ratio| ratio <= 50.0) {
            // Nearly always exactly 1, so there is no spread to take an interval from.
            let worst = of(ratio, OWN, "regret").values().into_iter().reduce(f64::max);
            once.extend(worst.map(|worst| Evidence::exact(format!("A/S {ratio}"), worst).below(1.1)));
        }
        let plain = of(ratio, "cuckoo, plain", "cost");
        let half = Evidence::ratio(format!("A/S {ratio}"), &of(ratio, OWN, "cost"), &plain).below(0.5);
        if half.contradicts(looks) {
            let repeats = of(ratio, "cuckoo, plain", "regret");
            let learning = of(ratio, OWN, "cost").with(&own, |cost, mistakes| cost / mistakes);
            seldom.push(Evidence::ratio(format!("A/S {ratio}"), &repeats, &learning).below(2.0));
        }
        cheap.push(half);
    }
    vec![
        Statement::new(
            format!("This project, {workload}: no filter of the same memory has fewer false positives"),
            "its false positives over those of every other filter: below 1 at every A/S",
        )
        .every(lowest),
        Statement::new(
            format!("This project, {workload}: it makes a mistake about once for each key that it is ever wrong about"),
            "false positives for each key that was ever wrong, in the worst trial: at most 1.1 at every A/S up to 50",
        )
        .every(once),
        Statement::new(
            format!(
                "This project, {workload}: all that it costs the store is less than half of the plain filter's mistakes"
            ),
            "reads and writes of the store's side over those of the plain filter, at most 0.5",
        )
        .every(cheap)
        .because(
            Statement::new(
                "the plain filter repeats each mistake only a few times there, and to learn from one takes a few reads and writes",
                "where it surely costs more: how often the plain filter makes a mistake again, over the reads and writes to learn from one, \
                 at most 2",
            )
            .every(seldom),
        ),
    ]
}
