//! 001 section 4.2: how many adaptivity bits a broom filter holds in the long run.

use crate::broom::{Subject, loaded};
use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::fixed_set::FixedSet;

/// A broom filter holds a constant number of adaptivity bits a key, however long it learns.
pub(super) struct AdaptivityBits;

const REMAINDER: u32 = 4;

/// Measurements per n adaptations: the statistics scan all blocks.
const LOOKS: u64 = 8;

/// The bits a key that the mistakes of a phase introduce, by the proof of Lemma 9: a mistake takes two on average, and
/// with c = 3 a phase has n/3 mistakes.
const OF_A_PHASE: f64 = 2.0 / 3.0;

/// The numbers of keys, and how many mistakes there are for each key.
fn amounts(size: Size) -> (&'static [u64], u64) {
    size.of((&[1_000, 4_000], 2), (&[1_000, 16_000], 2), (&[10_000, 100_000, 1_000_000], 6))
}

/// A trial. `moves` is `false` for a planted error: the frontier stands still, so that no bits are dropped.
fn measure(keys: u64, adapts_a_key: u64, moves: bool, seed: u64) -> Result<Vec<Line>, TaskError> {
    let options = loaded(keys, REMAINDER);
    let options = if moves { options } else { options.reclaim_by_rebuild() };
    let mut subject = Subject::fixed(keys, options, seed).map_err(TaskError::new)?;
    subject.fill(keys).map_err(TaskError::new)?;
    let mut lines = Vec::new();
    for look in 1..=adapts_a_key * LOOKS {
        subject.filter.remote_mut().reset();
        let (from, until) = (keys * (look - 1) / LOOKS, keys * look / LOOKS);
        for _ in from..until {
            let query = subject.next_mistake();
            subject.filter.was_wrong(&query).map_err(TaskError::new)?;
        }
        lines.push(seen(&subject, keys, until, until - from));
    }
    Ok(lines)
}

fn seen(subject: &Subject<FixedSet>, keys: u64, adapts: u64, since: u64) -> Line {
    let (stats, counts) = (subject.filter.filter().stats(), subject.filter.remote().counts());
    let a_key = |count: u64| count as f64 / keys as f64;
    line![
        keys,
        a_key(adapts),
        a_key(stats.moved),
        a_key(stats.adaptivity_bits),
        stats.largest_group,
        a_key(stats.second_level),
        counts.reads as f64 / since as f64,
        counts.writes as f64 / since as f64,
        a_key(subject.filter.local_bits()),
    ]
}

impl Experiment for AdaptivityBits {
    fn name(&self) -> &'static str {
        "adaptivity-bits"
    }

    fn claim(&self) -> &'static str {
        "A broom filter holds a constant number of adaptivity bits a key, however long it learns"
    }

    fn measures(&self) -> &'static str {
        "Adaptivity bits of a broom filter over the phases"
    }

    fn source(&self) -> &'static str {
        "001, Lemmas 9 and 15"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "Broom filters of {REMAINDER}-bit remainders at 95 % load are asked for fresh absent keys and adapt to each \
             mistake, {} for each key; c = 3 keys take the next hash function for each extension. A phase ends when all keys have \
             done so. No key is removed: for Lemmas 14 and 16 see `adaptivity-bits-with-removals`.",
            amounts(size).1
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "keys",
            "adapts_per_key",
            "phases",
            "adaptivity_bits_per_key",
            "largest_block",
            "second_level_share",
            "reads_per_mistake",
            "writes_per_mistake",
            "bits_per_key",
        ]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 12, most: 12 }, Budget { first: 12, most: 24 }, Budget { first: 12, most: 12 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (sizes, adapts) = amounts(setup.size);
        let moves = setup.planted != Planted::WrongRule;
        let point = |&keys: &u64| {
            let work = (keys * adapts) as f64 * setup.size.pick(8e-6, 3e-5);
            let settings = (keys, adapts, moves, REMAINDER, LOOKS);
            Point::new(format!("{keys} keys"), work, &settings, move |seed| measure(keys, adapts, moves, seed))
        };
        sizes.iter().map(point).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let picture = |column: &str, title: &str, label: &str| Picture {
            name: format!("adaptivity-bits-{}", if column.starts_with('l') { "largest-block" } else { "mean" }),
            title: title.into(),
            x: Axis::linear("mistakes that it learned from, over keys"),
            y: Axis::linear(label),
            lines: curves(table, column),
        };
        vec![
            picture("adaptivity_bits_per_key", "Adaptivity bits while the filter learns", "adaptivity bits a key"),
            picture("largest_block", "The fullest block of 64 slots", "adaptivity bits in the block"),
        ]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let sizes = amounts(size).0;
        let own = |keys: u64| table.only("keys", keys);
        let label = |keys: u64| format!("{keys} keys");
        let Some(&least) = sizes.first() else { return Vec::new() };
        let measured: Vec<u64> = sizes.iter().copied().filter(|keys| !own(*keys).is_empty()).collect();
        let highest = |&keys: &u64| Evidence::mean(label(keys), &highest(&own(keys))).below(OF_A_PHASE);
        let lasting = |&keys: &u64| {
            let (early, late) = halves(&own(keys));
            Evidence::ratio(format!("{keys} keys, later over earlier"), &late, &early).within(0.9, 1.1)
        };
        let over_least = |keys: u64, column: &str| {
            let [top, bottom] = [keys, least].map(|keys| settled(&own(keys), column, mean));
            Evidence::ratio(format!("{keys} keys over {least}"), &top, &bottom)
        };
        let others = || measured.iter().copied().filter(|keys| *keys > least);
        let alike = |keys: u64| over_least(keys, BITS).within(0.9, 1.1);
        let slow = |keys: u64| over_least(keys, "largest_block").below((keys as f64).ln() / (least as f64).ln());
        vec![
            Statement::new(
                "Lemma 9: O(n) adaptivity bits at any time",
                "the most bits a key at any time after the first phase: at most 2/3, what the mistakes of a phase introduce. \
                 Later over earlier bits, at the largest n: 0.9 to 1.1",
            )
            .every(measured.iter().map(highest).collect())
            .every(measured.last().map(lasting).into_iter().collect()),
            Statement::new("Lemma 9: the same constant for every n", "bits a key over those of the smallest n: 0.9 to 1.1")
                .every(others().map(alike).collect()),
            Statement::new(
                "Lemma 15: O(log n) adaptivity bits for a group of Θ(log n) fingerprints",
                "bits of the fullest block of 64 slots over those at the smallest n: at most the ratio of log n",
            )
            .every(others().map(slow).collect()),
        ]
    }
}

/// Mistakes a key in the first phase, which starts without adaptivity bits: n/3, and a few more for chance.
const FIRST_PHASE: f64 = 0.5;

const BITS: &str = "adaptivity_bits_per_key";

/// For each trial a function of a column at all looks after the first phase.
fn settled(own: &Table, column: &str, of: impl Fn(&[f64]) -> f64) -> Sample {
    own.sample_by(|rows| {
        let late = rows.iter().filter(|row| row.number("adapts_per_key").is_some_and(|adapts| adapts > FIRST_PHASE));
        let values: Vec<f64> = late.filter_map(|row| row.number(column)).collect();
        (!values.is_empty()).then(|| of(&values))
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn highest(own: &Table) -> Sample {
    settled(own, BITS, |bits| bits.iter().copied().fold(0.0, f64::max))
}

/// The means of the first and of the second half of the looks after the first phase.
fn halves(own: &Table) -> (Sample, Sample) {
    let half = |late: bool| {
        settled(own, BITS, move |bits| {
            let (first, second) = bits.split_at(bits.len() / 2);
            mean(if late { second } else { first })
        })
    };
    (half(false), half(true))
}

/// A line for each number of keys.
fn curves(table: &Table, column: &str) -> Vec<Curve> {
    let sizes = table.values("keys").into_iter().enumerate();
    sizes
        .map(|(look, keys)| {
            let own = table.only("keys", keys.clone());
            Curve::measured(format!("{keys} keys"), look, own.means("adapts_per_key", column))
        })
        .collect()
}
