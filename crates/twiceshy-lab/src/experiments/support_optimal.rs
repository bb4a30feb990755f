//! 000 Theorem 1: Cuckooing is support optimal.

use crate::experiment::{Axis, Curve, Experiment, Finding, Line, Picture, Setup, Size, Table, Task, TaskError, line};
use crate::replay::{AnyFilter, FilterSpec};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::Kind;
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;

/// Cuckooing makes about one mistake for each distinct query that it is wrong about, however often queries are
/// repeated.
pub(super) struct SupportOptimal;

/// The bits of a cell in the runs for the bound.
const BITS: u32 = 8;

/// The bits of a cell in the runs where few queries are repeated often enough to find those that Cyclic cannot fix.
const FEW_BITS: u32 = 4;

/// |Q| there: 1/ε^(2^s) with s = 1 and three bits of fingerprint.
const FEW: u64 = 64;

const TIMES: [u64; 7] = [1, 2, 4, 16, 64, 256, 1024];

const FILTERS: [&str; 2] = ["cuckooing, 2×1", "cyclic, s = 1, 2×1"];

/// n keys in 2n cells. At exactly half load some hash keys leave no room; then another is used, like the paper's
/// rebuild.
fn filled(spec: &FilterSpec, keys: &Keys, rng: &mut Rng) -> Result<AnyFilter<Mirror>, TaskError> {
    let options = spec.options(2 * keys.stored_len()).ok_or_else(|| TaskError::new("a rival"))?;
    for _ in 0..1000 {
        let mut filter = options.build(HashKey::fixed(rng.word()), Mirror::new()).map_err(TaskError::new)?;
        if keys.stored_keys().all(|key| filter.insert(&key).is_ok()) {
            return Ok(filter);
        }
    }
    Err(TaskError::new("no hash key of a thousand leaves room for all keys"))
}

/// Asks each query `times` times, in a random order each time, and counts the false positives.
fn mistakes(mut filter: AnyFilter<Mirror>, keys: &Keys, times: u64, rng: &mut Rng) -> Result<(u64, f64), TaskError> {
    let mut order: Vec<u64> = (0..keys.absent_len()).collect();
    let mut wrong = 0;
    for _ in 0..times {
        rng.shuffle(&mut order);
        for number in &order {
            let query = keys.absent(*number);
            if filter.contains(&query) {
                wrong += 1;
                filter.was_wrong(&query).map_err(TaskError::new)?;
            }
            while filter.wants_rebuild() {
                // If the new hash key leaves no room, the old table stays and another key is tried.
                drop(filter.rekey(HashKey::fixed(rng.word())));
            }
        }
    }
    Ok((wrong, filter.local_bits() as f64 / keys.stored_len() as f64))
}

fn trial(filter: &str, bits: u32, n: u64, times: u64, seed: u64) -> Result<(u64, f64), TaskError> {
    let rng = &mut Rng::stream(seed, n / times);
    let keys = Keys::new(n, n / times, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
    let kind = if filter == FILTERS[0] { Kind::Cuckooing } else { Kind::Cyclic };
    let spec = FilterSpec { tables: Some(2), ..FilterSpec::new(kind, bits) };
    mistakes(filled(&spec, &keys, rng)?, &keys, times, rng)
}

fn measure(
    filter: &'static str,
    bits: u32,
    n: u64,
    times: u64,
    trials: u64,
    seed: u64,
) -> Result<Vec<Line>, TaskError> {
    let outcomes = (0..trials)
        .map(|number| trial(filter, bits, n, times, Rng::stream(seed, number).word()))
        .collect::<Result<Vec<_>, _>>()?;
    let mean = outcomes.iter().map(|(wrong, _)| *wrong as f64).sum::<f64>() / trials as f64;
    let squares: f64 = outcomes.iter().map(|(wrong, _)| (*wrong as f64 - mean).powi(2)).sum();
    let error = (squares / (trials.max(2) - 1) as f64 / trials as f64).sqrt();
    let bits_per_key = outcomes.first().map_or(0.0, |(_, bits)| *bits);
    let epsilon = 1.0 / ((1u64 << bits) - 1) as f64;
    let expected = epsilon * (n / times) as f64;
    let bound = expected * (1.0 + 4.0 * epsilon) + (n as f64).log2();
    Ok(vec![line![filter, n, n / times, times, trials, mean, error, expected, bound, bits_per_key, bits]])
}

impl Experiment for SupportOptimal {
    fn name(&self) -> &'static str {
        "support-optimal"
    }

    fn claim(&self) -> &'static str {
        "Cuckooing makes about ε mistakes per distinct query, however often queries are repeated"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 1"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (n, trials) = (size.pick("4,096", "16,384"), size.pick(20, 40));
        vec![
            format!(
                "The theorem's own shape: two tables of single cells at half load, {BITS} bits a cell, n = {n}. At most n \
                 queries: |Q| distinct ones, each asked n/|Q| times, each time in another order; means over {trials} trials."
            ),
            "The bound drawn is ε|Q|(1 + 4ε) + log2 n: the theorem's terms with small constants instead of its O's. Cyclic \
             with one selector bit has the same cells for comparison."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "filter",
            "n",
            "support",
            "times",
            "trials",
            "false_positives",
            "standard_error",
            "expected",
            "bound",
            "bits_per_key",
            "bits",
        ]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (n, trials) = setup.size.pick((4096, 20), (16_384, 40));
        let seed = setup.seed;
        let mut tasks = Vec::new();
        for filter in FILTERS {
            let points = TIMES.iter().map(|times| (BITS, *times)).chain([(FEW_BITS, n / FEW)]);
            for (bits, times) in points {
                let work = (n * trials) as f64 * 5e-6;
                let name = format!("{filter}, {bits} bits, {times} times");
                tasks.push(Task::new(name, work, move || measure(filter, bits, n, times, trials, seed)));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let table = &table.only("bits", BITS);
        let ascending = |mut points: Vec<(f64, f64)>| {
            points.reverse();
            points
        };
        let curve = |(look, filter): (usize, &str)| {
            let own = table.only("filter", filter);
            let bits = crate::experiment::contest::bits_per_key_label(&own).unwrap_or_default();
            let points = ascending(own.pairs("support", "false_positives"));
            let errors = ascending(own.pairs("support", "standard_error"));
            let intervals =
                points.iter().zip(&errors).map(|((_, mean), (_, error))| (mean - 2.0 * error, mean + 2.0 * error));
            Curve::measured(format!("{filter}, {bits}"), look, points.clone()).within(intervals.collect())
        };
        let own = table.only("filter", FILTERS[0]);
        let mut lines: Vec<Curve> = [(5, FILTERS[0]), (1, FILTERS[1])].map(curve).into();
        lines.push(Curve::model("ε|Q|", 7, ascending(own.pairs("support", "expected"))));
        lines.push(Curve::model("ε|Q|(1 + 4ε) + log2 n", 9, ascending(own.pairs("support", "bound"))));
        vec![Picture {
            name: "support-optimal".into(),
            title: "False positives of n queries for |Q| distinct keys".into(),
            x: Axis::log("|Q|, distinct queries"),
            y: Axis::log("false positives"),
            lines,
        }]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let own = table.only("bits", BITS).only("filter", FILTERS[0]);
        let above = own.rows().filter_map(|row| {
            let slack = row.number("bound")? - (row.number("false_positives")? - 2.0 * row.number("standard_error")?);
            Some((row.text("support"), slack))
        });
        let (support, slack) = above.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((String::new(), f64::NAN));
        let many = own.only("times", 1u32);
        let (all, expected) =
            (many.first("false_positives").unwrap_or(f64::NAN), many.first("expected").unwrap_or(f64::NAN));
        let few = table.only("bits", FEW_BITS);
        let few = FILTERS.map(|filter| few.only("filter", filter).first("false_positives").unwrap_or(f64::NAN));
        let n = table.first("n").unwrap_or(f64::NAN);
        vec![
            Finding::new(
                "Theorem 1: ε|Q| + O(ε²|Q| + log⁴ n) false positives; with our small constants ε|Q|(1 + 4ε) + log2 n",
                format!("the tightest |Q| is {support}: {slack:.2} below the bound, after two standard errors"),
                slack >= 0.0,
            ),
            Finding::new(
                "Theorem 1, the leading term: n distinct queries cost about ε n",
                format!("{all:.2} false positives, ε n = {expected:.2}"),
                (0.7..1.5).contains(&(all / expected)),
            ),
            Finding::new(
                format!(
                    "section 3: |Q| = 1/ε^(2^s) queries, repeated, cost Cyclic Ω(n) false positives (s = 1, 3 bits, |Q| = {FEW})"
                ),
                format!("of {n} queries {:.1} with Cyclic, {:.1} with Cuckooing, on average", few[1], few[0]),
                few[1] > n / 400.0 && few[1] > 2.0 * few[0],
            ),
        ]
    }
}
