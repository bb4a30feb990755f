//! 004 Figure 4, right: a stream that keeps the mistakes.

use super::telescoping_on_flows::of_the_paper;
use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size,
    Statement, Table, TaskError, contest, line,
};
use crate::replay::{FilterSpec, cells_for};
use crate::whittling;
use twiceshy::Kind;

/// Telescoping resists a stream that keeps its mistakes, up to A/S of about 20.
pub(super) struct WhittlingStream;

const BITS: u32 = 11;

const MOST_ROUNDS: u64 = 100;

const LOAD: f64 = 0.95;

/// The filters that a statement is about, or all.
fn chosen(size: Size) -> Vec<Contender> {
    let wanted: &[&str] = size.of(
        &["telescoping", "broom"],
        &["telescoping", "broom", "cyclic, s = 1", "cyclic, s = 2", "cyclic, s = 3"],
        &[],
    );
    let is_wanted = |contender: &Contender| size == Size::Paper || wanted.contains(&contender.label.as_str());
    contenders(BITS).into_iter().filter(is_wanted).collect()
}

fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = of_the_paper(bits);
    all.extend([Contender::broom(bits), Contender::cuckoo(bits)]);
    all
}

fn ratios(size: Size) -> &'static [u64] {
    size.pick(&[5, 20, 80], &[1, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100])
}

fn keys(size: Size) -> u64 {
    size.of(500, 1_000, 16_384)
}

fn measure(contender: &Contender, spec: &FilterSpec, ratio: u64, keys: u64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let cells = cells_for(spec, keys, &Contender::telescoping(BITS).spec, LOAD)?;
    let load = keys as f64 / cells as f64;
    let report = whittling::run(&whittling::Settings {
        filter: spec.clone(),
        keys,
        load: Some(load),
        ratio: ratio as f64,
        most_rounds: MOST_ROUNDS,
        seed,
    })?;
    Ok(vec![line![
        contender.label.as_str(),
        BITS,
        ratio,
        keys,
        load,
        report.local_bits_per_key,
        report.final_rate,
        report.left as f64 / keys as f64,
        report.rounds.len() as u64,
    ]])
}

impl Experiment for WhittlingStream {
    fn name(&self) -> &'static str {
        "whittling-stream"
    }

    fn claim(&self) -> &'static str {
        "Telescoping resists a stream that keeps its mistakes, up to an A/S of about 20"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates on a stream that keeps the queries that were wrong"
    }

    fn source(&self) -> &'static str {
        "004, Figure 4 right"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let stream = format!(
            "A set Q of random absent keys is asked ten times in each round; keys that were never wrong in a round leave Q. It \
             ends when |Q| is 1 % of the stored keys, or after {MOST_ROUNDS} rounds; the rate is that of the last round, 0 if Q \
             is empty. {} stored keys. Statements are about the median trial.",
            size.pick("1,000", "16,384 (the paper does not say how many)"),
        );
        vec![stream, contest::EQUAL_MEMORY.into(), contest::LARGER_EXTENSIONS.into()]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["filter", "cell_bits", "ratio", "keys", "load", "bits_per_key", "final_rate", "left_per_key", "rounds"]
    }

    fn budget(&self, size: Size) -> Budget {
        super::flows::budget(size)
    }

    /// The planted wrong rule: telescoping and broom filters are plain quotient filters of the same remainders.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let keys = keys(setup.size);
        let mut points = Vec::new();
        for contender in chosen(setup.size) {
            let mut spec = contender.clone().over_mirror().spec;
            if setup.planted == Planted::WrongRule && ["telescoping", "broom"].contains(&contender.label.as_str()) {
                spec = FilterSpec::new(Kind::Quotient, spec.bits);
            }
            for &ratio in ratios(setup.size) {
                let work = keys as f64 * (1e-5 + ratio as f64 * 3e-6);
                let name = format!("{}, |Q|/|S| {ratio}", contender.label);
                let (contender, spec) = (contender.clone(), spec.clone());
                let settings = format!("{spec:?}, {ratio}, {keys}");
                points
                    .push(Point::new(name, work, &settings, move |seed| measure(&contender, &spec, ratio, keys, seed)));
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let curve = |contender: Contender| {
            let own = table.only("filter", contender.label.as_str());
            let rates = own.medians("ratio", "final_rate");
            (!own.is_empty()).then(|| Curve::measured(contender.label, contender.look, rates))
        };
        vec![Picture {
            name: self.name().into(),
            title: "What is left of a whittled stream".into(),
            x: Axis::log("|Q|/|S| at the beginning"),
            y: Axis::linear("false-positive rate of the last round, median over trials"),
            lines: contenders(BITS).into_iter().filter_map(curve).collect(),
        }]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let mut statements = vec![equal_memory(table, size), telescoping(table), broom(table)];
        if size != Size::Tiny {
            statements.push(cyclic(table));
        }
        statements
    }
}

fn sample(table: &Table, filter: &str, ratio: u64, column: &str) -> Sample {
    table.only("filter", filter).only("ratio", ratio).sample(column)
}

/// The median: most trials end with a rate of 0, of which a mean has no interval.
fn rate(table: &Table, filter: &str, ratio: u64) -> Evidence {
    Evidence::median(format!("{filter} at {ratio}"), &sample(table, filter, ratio, "final_rate"))
}

/// That the filters have the same memory, except the broom filter, which grows with what it learns.
fn equal_memory(table: &Table, size: Size) -> Statement {
    let mut evidence = Vec::new();
    for &ratio in ratios(size) {
        let rows = table.only("ratio", ratio);
        let of_fixed = rows.rows().filter(|row| row.text("filter") != "broom");
        let bits: Vec<f64> = of_fixed.filter_map(|row| row.number("bits_per_key")).collect();
        let (least, most) = (bits.iter().copied().reduce(f64::min), bits.iter().copied().reduce(f64::max));
        if let (Some(least), Some(most)) = (least, most) {
            evidence.push(Evidence::exact(format!("|Q|/|S| {ratio}"), most / least).below(1.01));
        }
    }
    Statement::new(
        "This project: all filters but the broom filter have the same memory",
        "the most bits a key over the fewest, as allocated at the end of a trial, over all trials; at most 1.01",
    )
    .every(evidence)
}

fn telescoping(table: &Table) -> Statement {
    let of = |ratio| rate(table, "telescoping", ratio);
    Statement::new(
        "section 6.1: TAF does very well up to |Q|/|S| of about 20, and then the adversary forces false positives",
        "the rate of the last round in the median trial: at most 0.05 at 5 and 20, at least 0.1 at 80",
    )
    .every(vec![of(5).below(0.05), of(20).below(0.05), of(80).above(0.1)])
}

fn cyclic(table: &Table) -> Statement {
    let of = |s: u32| sample(table, &format!("cyclic, s = {s}"), 80, "final_rate");
    // Differences, not ratios: both rates may be 0.
    let beyond = |share: f64, s: u32| {
        let label = format!("s = 3 less {share} times s = {s}");
        Evidence::median(label, &of(3).with(&of(s), |one, other| one - share * other)).below(0.0)
    };
    Statement::new(
        "section 6.1: Cyclic with s = 3 does surprisingly well",
        "its rate of the last round at |Q|/|S| 80, less half of that of s = 1, and less that of s = 2, in the median trial: at \
         most 0; that of s = 1: at least 0.05",
    )
    .every(vec![beyond(0.5, 1), beyond(1.0, 2), rate(table, "cyclic, s = 1", 80).above(0.05)])
}

fn broom(table: &Table) -> Statement {
    Statement::new(
        "This project, after 001: a broom filter has no such limit",
        "its rate of the last round in the median trial: at most 0.1 at |Q|/|S| 5, 20 and 80",
    )
    .every([5, 20, 80].map(|ratio| rate(table, "broom", ratio).below(0.1)).into())
}
