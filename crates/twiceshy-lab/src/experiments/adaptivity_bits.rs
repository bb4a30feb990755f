//! 001 section 4.2: how many adaptivity bits a broom filter holds in the long run.

use crate::broom::{Subject, loaded};
use crate::experiment::{
    Axis, Curve, Experiment, Finding, Line, Picture, Setup, Size, Table, Task, TaskError, Value, line,
};
use crate::fixed_set::FixedSet;

/// A broom filter holds a constant number of adaptivity bits a key, however long it learns.
pub(super) struct AdaptivityBits;

const REMAINDER: u32 = 4;

/// Measurements per n adaptations: the statistics scan all blocks.
const LOOKS: u64 = 8;

fn measure(keys: u64, adapts_a_key: u64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let mut subject = Subject::fixed(keys, loaded(keys, REMAINDER), seed).map_err(TaskError::new)?;
    subject.fill(keys).map_err(TaskError::new)?;
    let (mut lines, mut most) = (Vec::new(), 0);
    for look in 1..=adapts_a_key * LOOKS {
        subject.filter.remote_mut().reset();
        let (from, until) = (keys * (look - 1) / LOOKS, keys * look / LOOKS);
        for _ in from..until {
            let query = subject.next_mistake();
            subject.filter.was_wrong(&query).map_err(TaskError::new)?;
        }
        lines.push(seen(&subject, keys, until, until - from, &mut most));
    }
    Ok(lines)
}

fn seen(subject: &Subject<FixedSet>, keys: u64, adapts: u64, since: u64, most: &mut u64) -> Line {
    let (stats, counts) = (subject.filter.filter().stats(), subject.filter.remote().counts());
    *most = (*most).max(stats.largest_group);
    let a_key = |count: u64| count as f64 / keys as f64;
    line![
        keys,
        a_key(adapts),
        a_key(stats.moved),
        a_key(stats.adaptivity_bits),
        stats.largest_group,
        *most,
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

    fn source(&self) -> &'static str {
        "001, Lemmas 9 and 15"
    }

    fn method(&self, _: Size) -> Vec<String> {
        vec![format!(
            "Broom filters of {REMAINDER}-bit remainders at 95 % load are asked for fresh absent keys and adapt to each \
             mistake; c = 3 keys take the next hash function for each extension. A phase ends when all keys have done so. No key is \
             removed: Lemmas 14 and 16, which are about removals, are measured by `--example broom_traffic`."
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "keys",
            "adapts_per_key",
            "phases",
            "adaptivity_bits_per_key",
            "largest_block",
            "largest_block_so_far",
            "second_level_share",
            "reads_per_mistake",
            "writes_per_mistake",
            "bits_per_key",
        ]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let sizes = setup
            .size
            .pick(vec![(1_000, 10), (4_000, 10), (16_000, 5)], vec![(10_000, 100), (100_000, 30), (1_000_000, 10)]);
        let seed = setup.seed;
        let task = |(keys, adapts): (u64, u64)| {
            let work = (keys * adapts) as f64 * setup.size.pick(8e-6, 3e-5);
            Task::new(format!("{keys} keys"), work, move || measure(keys, adapts, seed))
        };
        sizes.into_iter().map(task).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let picture = |column: &str, title: &str, label: &str| Picture {
            name: format!("adaptivity-bits-{}", if column.starts_with('l') { "largest-block" } else { "mean" }),
            title: title.into(),
            x: Axis::linear("phases: how often all keys have taken another hash function"),
            y: Axis::linear(label),
            lines: curves(table, column),
        };
        vec![
            picture("adaptivity_bits_per_key", "Adaptivity bits over phases", "adaptivity bits a key"),
            picture("largest_block", "The fullest block of 64 slots", "adaptivity bits in the block"),
        ]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        // The first phase starts without any.
        let settled = |keys: &Value| -> Vec<f64> {
            let own = table.only("keys", keys.clone());
            own.pairs("phases", "adaptivity_bits_per_key")
                .into_iter()
                .filter(|(phase, _)| *phase > 1.0)
                .map(|(_, bits)| bits)
                .collect()
        };
        let mean = |bits: &[f64]| bits.iter().sum::<f64>() / bits.len().max(1) as f64;
        let sizes = table.values("keys");
        let means: Vec<f64> = sizes.iter().map(|keys| mean(&settled(keys))).collect();
        let spread = means.iter().copied().fold(0.0, f64::max) / means.iter().copied().fold(f64::INFINITY, f64::min);
        let most = sizes.iter().flat_map(&settled).fold(0.0, f64::max);
        let worst =
            table.rows().filter_map(|row| Some((row.number("largest_block_so_far")?, row.number("keys")?.log2())));
        let worst = worst.map(|(bits, log)| bits / log).fold(0.0, f64::max);
        let of_size = |(keys, mean): (&Value, &f64)| format!("{mean:.3} with {keys} keys");
        vec![
            Finding::new(
                "Lemma 9: O(n) adaptivity bits at any time",
                format!("after the first phase never more than {most:.3} a key"),
                most < 1.0,
            )
            .of(table.len()),
            Finding::new(
                "The same for every n",
                sizes.iter().zip(&means).map(of_size).collect::<Vec<_>>().join(", "),
                spread < 1.25,
            )
            .of(table.len()),
            Finding::new(
                "Lemma 15: O(log n) adaptivity bits for a group of Θ(log n) fingerprints",
                format!("the fullest block of 64 slots held at most {worst:.1} log2 n bits"),
                worst < 10.0,
            )
            .of(table.len()),
        ]
    }
}

/// A line for each number of keys.
fn curves(table: &Table, column: &str) -> Vec<Curve> {
    let sizes = table.values("keys").into_iter().enumerate();
    sizes
        .filter_map(|(look, keys)| {
            let own = table.only("keys", keys.clone());
            let bits = crate::experiment::contest::bits_per_key_label(&own)?;
            Some(Curve::measured(format!("{keys} keys, {bits}"), look, own.pairs("phases", column)))
        })
        .collect()
}
