//! 001 section 4.2: the frontier against the amortised rebuild.

use crate::broom::{Subject, loaded};
use crate::experiment::{Axis, Curve, Experiment, Finding, Line, Picture, Setup, Size, Table, Task, TaskError, line};
use crate::workload::rng::Rng;
use twiceshy::hash::HashKey;

/// A frontier spreads the work of a rebuild over the mistakes.
pub(super) struct FrontierOrRebuild;

const WAYS: [&str; 2] = ["frontier", "rebuild"];

const REMAINDER: u32 = 4;

/// More entries than a mistake ever writes with a frontier. It moves three keys on average and sometimes six, depending
/// on how many are in that share of the range, with three entries out and in for each. 32 keys are one case in
/// billions.
const MOST_ENTRIES: f64 = 192.0;

/// Measurements per n adaptations.
const LOOKS: u64 = 16;

fn measure(way: &str, keys: u64, adapts_a_key: u64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let options = loaded(keys, REMAINDER);
    let options = if way == "rebuild" { options.reclaim_by_rebuild() } else { options };
    let mut subject = Subject::fixed(keys, options, seed).map_err(TaskError::new)?;
    subject.fill(keys).map_err(TaskError::new)?;
    let mut rng = Rng::stream(seed, keys);
    let (mut lines, mut most, mut asked, mut rebuilds) = (Vec::new(), 0, 0u64, 0u64);
    for look in 1..=adapts_a_key * LOOKS {
        let (from, until) = (keys * (look - 1) / LOOKS, keys * look / LOOKS);
        let mut writes = 0;
        for _ in from..until {
            let query = next_mistake(&mut subject, &mut asked);
            subject.filter.remote_mut().reset();
            subject.filter.was_wrong(&query).map_err(TaskError::new)?;
            if subject.filter.wants_rebuild() {
                rebuilds += 1;
                subject.filter.rekey(HashKey::fixed(rng.word())).map_err(TaskError::new)?;
            }
            let written = subject.filter.remote().counts().writes;
            (writes, most) = (writes + written, most.max(written));
        }
        let stats = subject.filter.filter().stats();
        let a_key = |count: u64| count as f64 / keys as f64;
        lines.push(line![
            way,
            keys,
            a_key(until),
            a_key(stats.adaptivity_bits),
            writes as f64 / (until - from) as f64,
            most,
            rebuilds,
            until as f64 / asked as f64,
            a_key(subject.filter.local_bits()),
        ]);
    }
    Ok(lines)
}

fn next_mistake<R: twiceshy::remote::Remote>(subject: &mut Subject<R>, asked: &mut u64) -> [u8; 8] {
    loop {
        let query = subject.next_absent();
        *asked += 1;
        if subject.filter.contains(&query) {
            return query;
        }
    }
}

impl Experiment for FrontierOrRebuild {
    fn name(&self) -> &'static str {
        "frontier-or-rebuild"
    }

    fn claim(&self) -> &'static str {
        "A frontier spreads the work of a rebuild over the mistakes"
    }

    fn source(&self) -> &'static str {
        "001, section 4.2"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "Two broom filters of {} keys and {REMAINDER}-bit remainders at 95 % load learn from fresh absent keys: one moves \
             c = 3 keys to the next hash function for each extension of a fingerprint, the other moves none until there has been an \
             extension for every third key, and then moves all of them to another hash function.",
            size.pick("8,000", "1,000,000")
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "way",
            "keys",
            "adapts_per_key",
            "adaptivity_bits_per_key",
            "writes_per_mistake",
            "most_writes_of_a_mistake",
            "rebuilds",
            "fpr",
            "bits_per_key",
        ]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (keys, adapts) = setup.size.pick((8_000, 2), (1_000_000, 3));
        let seed = setup.seed;
        let task =
            |way: &'static str| Task::new(way, (keys * adapts) as f64 * 3e-5, move || measure(way, keys, adapts, seed));
        WAYS.map(task).into()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let lines = |column: &str| -> Vec<Curve> {
            let curve = |(look, way): (usize, &&str)| {
                let own = table.only("way", *way);
                let bits = crate::experiment::contest::bits_per_key_label(&own).unwrap_or_default();
                Curve::measured(format!("{way}, {bits}"), look, own.pairs("adapts_per_key", column))
            };
            WAYS.iter().enumerate().map(curve).collect()
        };
        vec![
            Picture {
                name: "frontier-or-rebuild-bits".into(),
                title: "Adaptivity bits while the filter learns".into(),
                x: Axis::linear("mistakes that it learned from, over keys"),
                y: Axis::linear("adaptivity bits a key"),
                lines: lines("adaptivity_bits_per_key"),
            },
            Picture {
                name: "frontier-or-rebuild-writes".into(),
                title: "The costliest mistake for the remote so far".into(),
                x: Axis::linear("mistakes that it learned from, over keys"),
                y: Axis::log("entries written to the remote"),
                lines: lines("most_writes_of_a_mistake"),
            },
        ]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let last = |way: &str, column: &str| table.only("way", way).rows().filter_map(|row| row.number(column)).last();
        let number = |way: &str, column: &str| last(way, column).unwrap_or(f64::NAN);
        let most = WAYS.map(|way| number(way, "most_writes_of_a_mistake"));
        let mean = WAYS.map(|way| {
            let own = table.only("way", way);
            let all: Vec<f64> = own.rows().filter_map(|row| row.number("writes_per_mistake")).collect();
            all.iter().sum::<f64>() / all.len().max(1) as f64
        });
        let rates = WAYS.map(|way| number(way, "fpr"));
        vec![
            Finding::new(
                "section 4.2: with a frontier the work of each operation is bounded; a rebuild's is linear in the keys",
                format!(
                    "the costliest mistake wrote {} entries with a frontier, {} with a rebuild of {} keys",
                    most[0],
                    most[1],
                    number("rebuild", "keys")
                ),
                most[0] <= MOST_ENTRIES && most[1] >= number("rebuild", "keys"),
            ),
            Finding::new(
                "section 4.2: both pay O(1) on average",
                format!("{:.1} entries written for a mistake with a frontier, {:.1} with rebuilds", mean[0], mean[1]),
                mean.iter().all(|writes| *writes < 32.0),
            )
            .of(table.len()),
            Finding::new(
                "Both keep the rate of false positives",
                format!("{:.4} with a frontier, {:.4} with rebuilds, of fresh queries", rates[0], rates[1]),
                (rates[0] / rates[1] - 1.0).abs() < 0.25,
            ),
        ]
    }
}
