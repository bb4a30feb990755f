//! 002, Theorem 1, with the paper's own algorithm: what an insertion costs, and how often the table is re-hashed.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::models::components::Components;
use crate::models::insertion::Alternating;
use crate::statistics;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::cuckoo::CuckooTable;
use twiceshy::hash::HashKey;

/// Algorithm 2 takes constant time, and hardly ever re-hashes.
pub(super) struct AlternatingInsertion;

/// δ of the tables whose insertions are counted.
fn slacks(size: Size) -> &'static [f64] {
    size.of(&[0.5], &[0.2, 0.5, 1.0], &[0.1, 0.2, 0.5, 1.0])
}

/// The keys of those tables, rising.
fn keys(size: Size) -> &'static [u64] {
    size.of(&[1_000, 4_000], &[4_000, 32_000], &[10_000, 100_000, 1_000_000])
}

/// The share of the insertions, the last ones, whose cost is counted: the load is near its limit of 1/(2 + δ).
const LAST: f64 = 0.1;

/// The keys of a trial: of small tables there are several.
const COUNTED_KEYS: u64 = 64_000;

/// δ of the tables whose re-hashes are counted.
const REHASH_SLACK: f64 = 1.0;

/// The keys of those tables, rising, and the tables of a trial. In the first, re-hashes are frequent enough to be counted.
fn small_tables(size: Size) -> &'static [(u64, u64)] {
    size.of(
        &[(32, 400), (128, 50), (512, 20)],
        &[(32, 1_500), (256, 500), (1_024, 250)],
        &[(32, 4_000), (256, 2_000), (1_024, 1_000), (4_096, 500)],
    )
}

/// δ of the larger tables with the planted wrong rule: they are filled nearly to one half.
const WRONG_SLACK: f64 = 0.02;

/// A point: tables with this many keys and slack.
#[derive(Clone, Copy, Debug)]
struct Tables {
    kind: &'static str,
    keys: u64,
    slack: f64,
    /// The slack that the tables really have.
    built: f64,
    count: u64,
}

/// What the insertions showed.
#[derive(Clone, Debug, Default)]
struct Counted {
    insertions: u64,
    steps: u64,
    longest: u64,
    /// Insertions with at least the steps of [`survivals`].
    surviving: [u64; 2],
}

/// The steps from which on inequality 3 bounds the chance by 0.9, and twice as many.
fn survivals(bounds: &Alternating) -> [u64; 2] {
    let first = (1..=bounds.most_steps()).find(|steps| bounds.survival(*steps) <= 0.9).unwrap_or(bounds.most_steps());
    [first, 2 * first]
}

impl Counted {
    fn add(&mut self, steps: u64, survivals: [u64; 2]) {
        self.insertions += 1;
        self.steps += steps;
        self.longest = self.longest.max(steps);
        self.surviving.iter_mut().zip(survivals).for_each(|(count, least)| *count += u64::from(steps >= least));
    }
}

impl Tables {
    fn name(self) -> String {
        format!("{}, {} keys, slack {}", self.kind, self.keys, self.slack)
    }

    fn empty(self, rng: &mut Rng) -> Result<(CuckooTable, u64), TaskError> {
        let table =
            CuckooTable::alternating(self.keys, self.built, HashKey::fixed(rng.word())).map_err(TaskError::new)?;
        let max = table.most_displaced().ok_or_else(|| TaskError::new("the table does not alternate"))?;
        Ok((table, max))
    }

    /// The cost of the last insertions.
    fn cost(self, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let bounds = Alternating::new(self.slack, self.keys).map_err(TaskError::new)?;
        let (mut rng, survivals) = (Rng::stream(seed, self.keys), survivals(&bounds));
        let (mut counted, mut rehashed) = (Counted::default(), 0);
        for _ in 0..self.count {
            let (mut table, max) = self.empty(&mut rng)?;
            let keys = Keys::new(self.keys, 0, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
            let last = self.keys - (self.keys as f64 * LAST) as u64;
            for (number, key) in (0..).zip(keys.stored_keys()) {
                if number >= last {
                    counted.add(steps(&table, &key, max)?, survivals);
                }
                table.insert(&key).map_err(TaskError::new)?;
            }
            rehashed += table.rehashes();
        }
        let mut line = line!["cost", self.keys, self.slack, self.count, rehashed];
        line.extend(line!["", "", ""]);
        line.extend(line![counted.insertions, counted.steps as f64 / counted.insertions as f64]);
        line.extend(line![planted.model(bounds.mean_steps()), counted.longest, bounds.most_steps()]);
        for (count, steps) in counted.surviving.into_iter().zip(survivals) {
            line.extend(line![count, planted.model(bounds.survival(steps))]);
        }
        Ok(vec![line])
    }

    /// Re-hashes counted, re-hashes expected from the chance of each insertion, and the chance of one more.
    fn rehashes(self, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let bounds = Alternating::new(self.slack, self.keys).map_err(TaskError::new)?;
        let mut rng = Rng::stream(seed, self.keys);
        let (mut counted, mut expected, mut chance) = (0u64, 0.0, 0.0);
        for _ in 0..self.count {
            let (mut table, _) = self.empty(&mut rng)?;
            let keys = Keys::new(self.keys, 0, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
            let half = table.shape().buckets() as u32;
            let mut components = Components::new(half);
            for (number, key) in (0..).zip(keys.stored_keys()) {
                expected += components.chance();
                let before = table.rehashes();
                table.insert(&key).map_err(TaskError::new)?;
                if table.rehashes() > before {
                    // All keys have other cells.
                    counted += 1;
                    components = Components::new(half);
                    for number in 0..number {
                        components.insert(cells_of(&table, &keys.stored(number))?);
                    }
                }
                components.insert(cells_of(&table, &key)?);
            }
            chance += components.chance();
        }
        let mean = |sum: f64| sum / self.count as f64;
        let bound = planted.model(bounds.rehash());
        let mut line = line!["rehash", self.keys, self.slack, self.count, counted];
        line.extend(line![mean(expected), mean(chance), bound]);
        Ok(vec![line])
    }
}

/// Both cells of a key.
fn cells_of(table: &CuckooTable, key: &[u8]) -> Result<[u32; 2], TaskError> {
    let mut cells = table.cells_of(key).map(|cell| cell.0 as u32);
    cells.next().zip(cells.next()).map(<[u32; 2]>::from).ok_or_else(|| TaskError::new("a key has no two cells"))
}

/// The iterations of Algorithm 2's loop for a key, none if its second cell is free.
fn steps(table: &CuckooTable, key: &[u8], max: u64) -> Result<u64, TaskError> {
    let walk = table.walk(key, max).ok_or_else(|| TaskError::new("the table is not 2×1"))?;
    let is_direct = walk.cells.first().is_some_and(|cell| cell.0 >= table.shape().buckets());
    Ok(if is_direct { 0 } else { walk.cells.len() as u64 })
}

impl Experiment for AlternatingInsertion {
    fn name(&self) -> &'static str {
        "alternating-insertion"
    }

    fn claim(&self) -> &'static str {
        "Cuckoo hashing inserts in expected constant time, and a table of n keys is re-hashed with probability O(1/n)"
    }

    fn measures(&self) -> &'static str {
        "The steps of Algorithm 2 and the chance of a re-hash, over the number of keys"
    }

    fn source(&self) -> &'static str {
        "002, Theorem 1"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let list = |numbers: Vec<u64>| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        vec![
            format!(
                "The paper's own algorithm and bound: two halves of single cells, |T| = (2 + δ)n, an insertion gives up after Max = \
                 ⌈6 log_(1+δ/2) |T|⌉ displaced keys. Tables of {} keys are filled; counted are the iterations of the loop in the last \
                 tenth of the insertions, 0 if the second cell was free.",
                list(keys(size).to_vec())
            ),
            format!(
                "Re-hashes are rare, so many tables of {} keys with δ = {REHASH_SLACK} are filled. Before each insertion its chance to \
                 fail is known from the cells of the keys: both of its cells must be in components of the cuckoo graph that have a \
                 cycle (Proposition 1, 3(c); see cuckoo-graph, which finds no other failure). The chances are summed, and in the \
                 smallest tables compared with the re-hashes that happened.",
                list(small_tables(size).iter().map(|(keys, _)| *keys).collect())
            ),
            "The paper's hash functions are Max-universal; here it is the library's keyed hash, the first cell from the high half of a \
             word and the second from the low half. A re-hash is built beside the table."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "kind",
            "keys",
            "slack",
            "tables",
            "rehashes",
            "expected_rehashes",
            "chance",
            "bound_chance",
            "insertions",
            "steps",
            "bound_steps",
            "longest",
            "max",
            "surviving",
            "bound_surviving",
            "surviving_twice",
            "bound_surviving_twice",
        ]
    }

    fn budget(&self, size: Size) -> Budget {
        size.pick(Budget { first: 12, most: 48 }, Budget { first: 10, most: 40 })
    }

    /// A planted wrong rule: the larger tables are filled nearly to one half.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let planted = setup.planted;
        let point = |tables: Tables, smallest: u64| {
            let wrong = planted == Planted::WrongRule && tables.keys > smallest;
            let tables = Tables { built: if wrong { WRONG_SLACK } else { tables.slack }, ..tables };
            let measure = move |seed: u64| match tables.kind {
                "cost" => tables.cost(planted, seed),
                _ => tables.rehashes(planted, seed),
            };
            let work = (tables.keys * tables.count) as f64 * if tables.keys > 50_000 { 1.5e-6 } else { 4e-7 };
            Point::new(tables.name(), work, &(tables, planted), measure)
        };
        let (sizes, small) = (keys(setup.size), small_tables(setup.size));
        let mut points = Vec::new();
        for &slack in slacks(setup.size) {
            let count = |keys: u64| (COUNTED_KEYS / keys).max(1);
            let tables = |keys: &u64| Tables { kind: "cost", keys: *keys, slack, built: slack, count: count(*keys) };
            points.extend(sizes.iter().map(|keys| point(tables(keys), sizes[0])));
        }
        let slack = REHASH_SLACK;
        points.extend(
            small
                .iter()
                .map(|&(keys, count)| point(Tables { kind: "rehash", keys, slack, built: slack, count }, small[0].0)),
        );
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let cost = table.only("kind", "cost");
        let mut lines = Vec::new();
        for (look, slack) in cost.values("slack").into_iter().enumerate() {
            let own = cost.only("slack", slack.clone());
            lines.push(with_intervals(format!("δ = {slack}"), look, &own, |own| own.sample("steps")));
            lines.push(Curve::model(format!("δ = {slack}, bound"), look, own.means("keys", "bound_steps")));
        }
        let rehash = table.only("kind", "rehash");
        vec![
            Picture {
                name: "alternating-insertion-steps".into(),
                title: "Steps of an insertion at load 1/(2 + δ)".into(),
                x: Axis::log("n, keys"),
                y: Axis::log("iterations of the loop"),
                lines,
            },
            Picture {
                name: "alternating-insertion-rehashes".into(),
                title: format!("The chance of a re-hash, δ = {REHASH_SLACK}"),
                x: Axis::log("n, keys"),
                y: Axis::log("probability"),
                lines: vec![
                    with_intervals("while n keys are inserted".into(), 0, &rehash, |own| {
                        own.sample("expected_rehashes")
                    }),
                    with_intervals("by one more insertion".into(), 1, &rehash, |own| own.sample("chance")),
                    Curve::model("by one more insertion, bound", 1, rehash.means("keys", "bound_chance")),
                ],
            },
        ]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let cost = table.only("kind", "cost");
        let (sizes, small) = (keys(size), small_tables(size));
        let own = |slack: f64, keys: u64| cost.only("slack", slack).only("keys", keys);
        let each = |of: &dyn Fn(f64, u64) -> Evidence| -> Vec<Evidence> {
            slacks(size).iter().flat_map(|slack| sizes.iter().map(move |keys| of(*slack, *keys))).collect()
        };
        let constant = |slack: &f64| {
            let [few, many] = [sizes[0], sizes[sizes.len() - 1]].map(|keys| own(*slack, keys).sample("steps"));
            Evidence::ratio(format!("δ = {slack}"), &many, &few).within(0.9, 1.1)
        };
        let mean = |slack: f64, keys: u64| {
            let own = own(slack, keys);
            let over = own.sample("steps").with(&own.sample("bound_steps"), |found, bound| found / bound);
            Evidence::mean(format!("δ = {slack}, {keys} keys"), &over).below(1.0)
        };
        // The insertions of a table are not quite independent, but the bound is a hundred times what is found.
        let survives = |column: &'static str, bound: &'static str| {
            let own = &own;
            move |slack: f64, keys: u64| {
                let own = own(slack, keys);
                let label = format!("δ = {slack}, {keys} keys");
                let share = Evidence::share(label, &own.sample(column), &own.sample("insertions"));
                share.below(own.first(bound).unwrap_or(0.0))
            }
        };
        let rehash = table.only("kind", "rehash");
        // From the second size on: in the smallest tables most components are cut off by the table's end.
        let grown = |column: &str, power: i32| {
            let scaled =
                |keys: u64| rehash.only("keys", keys).sample(column).map(|chance| chance * (keys as f64).powi(power));
            let pairs = small[1..].iter().zip(&small[2..]);
            let pair = |((few, _), (many, _)): (&(u64, u64), &(u64, u64))| {
                Evidence::ratio(format!("{many} over {few} keys"), &scaled(*many), &scaled(*few)).below(GROWTH)
            };
            pairs.map(pair).collect::<Vec<_>>()
        };
        let bounded = |(keys, _): &(u64, u64)| {
            let own = rehash.only("keys", *keys);
            let over = own.sample("chance").with(&own.sample("bound_chance"), |chance, bound| chance / bound);
            Evidence::mean(format!("{keys} keys, over the bound"), &over).below(1.0)
        };
        let counted = {
            let own = rehash.only("keys", small[0].0);
            let expected = own.sample("expected_rehashes").with(&own.sample("tables"), |mean, tables| mean * tables);
            Evidence::ratio(format!("{} keys", small[0].0), &own.sample("rehashes"), &expected).within(0.7, 1.4)
        };
        vec![
            Statement::new(
                "Theorem 1: expected constant-time insertion",
                format!(
                    "iterations of the loop with {} keys over those with {}, 0.9 to 1.1",
                    sizes[sizes.len() - 1],
                    sizes[0]
                ),
            )
            .every(slacks(size).iter().map(constant).collect()),
            Statement::new(
                "Theorem 1: the expected iterations are at most the sum of its bounds, O(1 + 1/(1 − (1 + δ/2)^(−1/3)))",
                "mean iterations over the bound: below 1",
            )
            .every(each(&mean)),
            Statement::new(
                "Inequality 3: k iterations do not suffice with probability below 2(1 + δ/2)^(1 − k/3)",
                "share of such insertions, at the first k for which the bound is at most 0.9, and at twice that k: below the bound",
            )
            .every(each(&survives("surviving", "bound_surviving")))
            .every(each(&survives("surviving_twice", "bound_surviving_twice"))),
            Statement::new(
                "Theorem 1: an insertion ends in a re-hash with probability O(1/n²)",
                format!("n² times the chance, at four times the keys over that at n: at most {GROWTH}. The chance: below the bound"),
            )
            .every(grown("chance", 2))
            .every(small.iter().map(bounded).collect()),
            Statement::new(
                "Theorem 1: filling a table re-hashes it with probability O(1/n)",
                format!("n times the expected re-hashes, at four times the keys over that at n: at most {GROWTH}"),
            )
            .every(grown("expected_rehashes", 1)),
            Statement::new(
                "This project: the chances computed from the cells are those of the algorithm",
                "re-hashes counted over those expected, in the smallest tables: 0.7 to 1.4",
            )
            .every(vec![counted]),
        ]
    }
}

/// O(1/n) has a constant, which n times the chance may approach from below. The ratio would be 4 if the chance fell with one
/// power of n less; this is halfway, on a logarithmic scale.
const GROWTH: f64 = 2.0;

/// A curve through the means of the trials, with 95 % intervals.
fn with_intervals(label: String, look: usize, table: &Table, of: impl Fn(&Table) -> Sample) -> Curve {
    let at = |keys| {
        let own = table.only("keys", keys);
        let found = statistics::mean(&of(&own).values(), 0.05);
        let (low, high) = (found.low.max(0.0), found.high);
        let high = if high.is_finite() { high } else { found.estimate };
        ((own.first("keys").unwrap_or(f64::NAN), found.estimate), (low.min(found.estimate), high))
    };
    let (points, intervals): (Vec<_>, Vec<_>) = table.values("keys").into_iter().map(at).unzip();
    Curve::measured(label, look, points).within(intervals)
}
