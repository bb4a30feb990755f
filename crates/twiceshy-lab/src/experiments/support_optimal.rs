//! 000 Theorem 1: Cuckooing is support optimal.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
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

/// n.
fn keys(size: Size) -> u64 {
    size.of(16_384, 4096, 16_384)
}

/// How often each query is asked.
fn times(size: Size) -> &'static [u64] {
    size.of(&[1, 16], &[1, 4, 16, 64], &[1, 2, 4, 16, 64, 256, 1024])
}

/// The most filters of a trial.
const MOST_FILTERS: u64 = 32;

const FILTERS: [&str; 3] = ["cuckooing, 2×1", "cyclic, s = 1, 2×1", "swapping, 2×2"];

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
fn mistakes(
    mut filter: AnyFilter<Mirror>,
    keys: &Keys,
    times: u64,
    hears: bool,
    rng: &mut Rng,
) -> Result<(u64, f64), TaskError> {
    let mut order: Vec<u64> = (0..keys.absent_len()).collect();
    let mut wrong = 0;
    for _ in 0..times {
        rng.shuffle(&mut order);
        for number in &order {
            let query = keys.absent(*number);
            if filter.contains(&query) {
                wrong += 1;
                if hears {
                    filter.was_wrong(&query).map_err(TaskError::new)?;
                }
            }
            while filter.wants_rebuild() {
                // If the new hash key leaves no room, the old table stays and another key is tried.
                drop(filter.rekey(HashKey::fixed(rng.word())));
            }
        }
    }
    Ok((wrong, filter.local_bits() as f64 / keys.stored_len() as f64))
}

/// A filter under n queries for n/`times` keys.
#[derive(Clone, Copy, Debug)]
struct Run {
    filter: &'static str,
    bits: u32,
    n: u64,
    times: u64,
    /// The filters of a trial: if few keys are asked for, most filters make no mistake.
    filters: u64,
}

impl Run {
    fn new(filter: &'static str, bits: u32, n: u64, times: u64) -> Run {
        // Ten mistakes or more a trial, each of another key, or of the few keys that no adaptation helps.
        let enough = if bits == BITS { ((10 * times) << bits) / n } else { MOST_FILTERS };
        Run { filter, bits, n, times, filters: enough.clamp(4, MOST_FILTERS) }
    }

    fn name(self) -> String {
        format!("{}, {} bits, n = {}, {} times", self.filter, self.bits, self.n, self.times)
    }

    /// The point that measures it. A planted wrong rule: the filter never hears of a mistake.
    fn point(self, setup: &Setup) -> Point {
        let (planted, work) = (setup.planted, (self.n * self.filters) as f64 * 1e-6);
        Point::new(self.name(), work, &(self, planted), move |seed| self.measure(planted, seed))
    }

    /// The false positives of a filter, on average over those of the trial.
    fn measure(self, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let Run { filter, bits, n, times, filters } = self;
        let (kind, per_bucket) = match filter {
            "cuckooing, 2×1" => (Kind::Cuckooing, 1),
            "swapping, 2×2" => (Kind::Swapping, 2),
            _ => (Kind::Cyclic, 1),
        };
        let spec = FilterSpec { tables: Some(2), cells_per_bucket: Some(per_bucket), ..FilterSpec::new(kind, bits) };
        let (mut wrong, mut bits_per_key) = (0, 0.0);
        for number in 0..filters {
            let rng = &mut Rng::stream(seed, number);
            let keys = Keys::new(n, n / times, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
            let asked = filled(&spec, &keys, rng)?;
            let (count, memory) = mistakes(asked, &keys, times, planted != Planted::WrongRule, rng)?;
            (wrong, bits_per_key) = (wrong + count, memory);
        }
        let epsilon = 1.0 / ((1u64 << bits) - 1) as f64;
        let expected = epsilon * (n / times) as f64;
        let bound = expected * (1.0 + 4.0 * epsilon) + (n as f64).log2();
        let mean = wrong as f64 / filters as f64;
        let (expected, bound) = (planted.model(expected), planted.model(bound));
        Ok(vec![line![filter, n, n / times, times, filters, mean, expected, bound, bits_per_key, bits]])
    }

    /// Its false positives, divided by a number.
    fn over(self, table: &Table, divisor: f64) -> Sample {
        table.only("point", self.name()).sample("false_positives").map(|count| count / divisor)
    }

    /// Its false positives over what a column says.
    fn share(self, table: &Table, column: &str) -> Evidence {
        let divisor = table.only("point", self.name()).first(column).unwrap_or(f64::NAN);
        Evidence::mean(format!("|Q| = {}", self.n / self.times), &self.over(table, divisor))
    }
}

impl Experiment for SupportOptimal {
    fn name(&self) -> &'static str {
        "support-optimal"
    }

    fn claim(&self) -> &'static str {
        "Cuckooing makes about ε mistakes per distinct query, however often queries are repeated"
    }

    fn measures(&self) -> &'static str {
        "False positives of Cuckooing, Cyclic and Swapping over the number of distinct queries"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 1 and section 3"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let n = size.pick("4,096", "16,384");
        vec![
            format!(
                "The theorem's own shape: two tables of single cells at half load, {BITS} bits a cell, n = {n}. At most n \
                 queries: |Q| distinct ones, each asked n/|Q| times, each time in another order. A trial asks 4 to 32 \
                 filters, the more the fewer mistakes a filter makes."
            ),
            "The bound drawn is ε|Q|(1 + 4ε) + log2 n: the theorem's terms with small constants instead of its O's. Cyclic \
             with one selector bit has the same cells for comparison, and, where few keys are asked for, Swapping with two cells a \
             bucket: a key that agrees with a stored one under both functions is wrong in either cell."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["filter", "n", "support", "times", "filters", "false_positives", "expected", "bound", "bits_per_key", "bits"]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 20, most: 20 }, Budget { first: 20, most: 80 }, Budget { first: 20, most: 80 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let n = keys(setup.size);
        if setup.size == Size::Tiny {
            return times(setup.size).iter().map(|times| Run::new(FILTERS[0], BITS, n, *times).point(setup)).collect();
        }
        let few = [n / 4, n].map(|n| (FEW_BITS, n, n / FEW));
        let all = times(setup.size).iter().map(|times| (BITS, n, *times)).chain(few);
        let compared = |bits: u32| if bits == BITS { &FILTERS[..2] } else { &FILTERS[..] };
        all.flat_map(|(bits, n, times)| {
            compared(bits).iter().map(move |filter| Run::new(filter, bits, n, times).point(setup))
        })
        .collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let table = &table.only("bits", BITS);
        let curve = |(look, filter): (usize, &str)| {
            let own = table.only("filter", filter);
            Curve::measured(filter, look, own.means("support", "false_positives"))
        };
        let own = table.only("filter", FILTERS[0]);
        let mut lines: Vec<Curve> = [(5, FILTERS[0]), (1, FILTERS[1])].map(curve).into();
        lines.push(Curve::model("ε|Q|", 7, own.means("support", "expected")));
        lines.push(Curve::model("ε|Q|(1 + 4ε) + log2 n", 9, own.means("support", "bound")));
        vec![Picture {
            name: "support-optimal".into(),
            title: "False positives of n queries for |Q| distinct keys".into(),
            x: Axis::log("|Q|, distinct queries"),
            y: Axis::log("false positives"),
            lines,
        }]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let n = keys(size);
        let cuckooing = |times: u64| Run::new(FILTERS[0], BITS, n, times);
        let few = |filter: usize, n: u64| Run::new(FILTERS[filter], FEW_BITS, n, n / FEW).over(table, 1.0);
        let growth = ((n as f64).ln() / (n as f64 / 4.0).ln()).powi(4);
        let mut statements = vec![
            Statement::new(
                "Theorem 1: ε|Q| + O(ε²|Q| + log⁴ n) false positives; with our small constants ε|Q|(1 + 4ε) + log2 n",
                "false positives of Cuckooing over that bound, at every |Q|: at most 1",
            )
            .every(times(size).iter().map(|times| cuckooing(*times).share(table, "bound").below(1.0)).collect()),
            Statement::new(
                "Theorem 1, the leading term: n distinct queries cost about ε n",
                "false positives of Cuckooing over ε n: 0.8 to 1.25",
            )
            .every(vec![cuckooing(1).share(table, "expected").within(0.8, 1.25)]),
        ];
        if size != Size::Tiny {
            statements.push(
            Statement::new(
                format!(
                    "section 3: |Q| = 1/ε^(2^s) queries, repeated, cost Cyclic Ω(n) false positives (s = 1, 3 bits, |Q| = {FEW})"
                ),
                "false positives with n over those with n/4: more than log⁴ n grows; Cuckooing's over Cyclic's: at most 0.5",
            )
            .every(vec![
                Evidence::ratio("Cyclic, n over n/4", &few(1, n), &few(1, n / 4)).above(growth),
                Evidence::ratio("Cuckooing over Cyclic", &few(0, n), &few(1, n)).below(0.5),
            ]),
            );
            statements.push(
                Statement::new(
                    format!(
                        "section 3: Swapping too does not perform much better than a cuckoo filter on such queries (b = 2, 4 bits, |Q| = {FEW}, \
                         a quarter of 1/ε^b)"
                    ),
                    "false positives with n over those with n/4: more than log⁴ n grows; Cuckooing's over Swapping's: at most 0.5",
                )
                .every(vec![
                    Evidence::ratio("Swapping, n over n/4", &few(2, n), &few(2, n / 4)).above(growth),
                    Evidence::ratio("Cuckooing over Swapping", &few(0, n), &few(2, n)).below(0.5),
                ]),
            );
        }
        statements
    }
}
