//! 004 Figure 4, right: a stream that keeps the mistakes.

use crate::experiment::{
    Axis, Contender, Curve, Experiment, Finding, Line, Picture, Setup, Size, Table, Task, TaskError, contest, line,
};
use crate::whittling;
use crate::workload::rng::Rng;

/// Telescoping resists a stream that keeps its mistakes, up to A/S of about 20.
pub(super) struct WhittlingStream;

const BITS: u32 = 11;

const MOST_ROUNDS: u64 = 100;

fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = vec![Contender::telescoping(bits), Contender::extension(bits), Contender::cuckooing(bits)];
    all.extend((1..=3).map(|s| Contender::cyclic(bits, s)));
    all.extend([Contender::swapping(bits), Contender::broom(bits), Contender::cuckoo(bits)]);
    all
}

fn ratios(size: Size) -> &'static [u64] {
    size.pick(&[1, 5, 10, 20, 40, 80], &[1, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100])
}

fn measure(contender: &Contender, ratio: u64, keys: u64, trials: u64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let (mut rates, mut left, mut rounds, mut bits) = (Vec::new(), 0, 0, 0.0);
    for trial in 0..trials {
        let report = whittling::run(&whittling::Settings {
            filter: contender.clone().over_mirror().spec,
            keys,
            load: Some(0.95),
            ratio: ratio as f64,
            most_rounds: MOST_ROUNDS,
            seed: Rng::stream(seed, trial).word(),
        })?;
        rates.push(report.final_rate);
        left += report.left;
        rounds += report.rounds.len() as u64;
        bits = report.local_bits_per_key;
    }
    let mean = |sum: f64| sum / trials as f64;
    let rate = mean(rates.iter().sum());
    Ok(vec![line![
        contender.label.as_str(),
        BITS,
        ratio,
        keys,
        bits,
        trials,
        rate,
        mean(left as f64) / keys as f64,
        mean(rounds as f64),
        0.95
    ]])
}

impl Experiment for WhittlingStream {
    fn name(&self) -> &'static str {
        "whittling-stream"
    }

    fn claim(&self) -> &'static str {
        "Telescoping resists a stream that keeps its mistakes, up to an A/S of about 20"
    }

    fn source(&self) -> &'static str {
        "004, Figure 4 right"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let stream = format!(
            "A set Q of random absent keys is asked ten times in each round; keys that were never wrong in a round leave Q. It \
             ends when |Q| is 1 % of the stored keys, or after {MOST_ROUNDS} rounds; the rate is that of the last round, 0 if Q \
             is empty. {} stored keys at 95 % load, {} trials, {BITS} bits a cell or slot for every filter.",
            size.pick("2,000", "65,536"),
            size.pick(2, 10)
        );
        vec![stream, contest::LARGER_EXTENSIONS.into()]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "filter",
            "cell_bits",
            "ratio",
            "keys",
            "bits_per_key",
            "trials",
            "final_rate",
            "left_per_key",
            "rounds",
            "load",
        ]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (keys, trials) = setup.size.pick((2_000, 2), (65_536, 10));
        let mut tasks = Vec::new();
        for contender in contenders(BITS) {
            for &ratio in ratios(setup.size) {
                let (contender, seed) = (contender.clone(), setup.seed);
                let work = trials as f64 * keys as f64 * (1e-5 + ratio as f64 * 3e-6);
                let name = format!("{}, |Q|/|S| {ratio}", contender.label);
                tasks.push(Task::new(name, work, move || measure(&contender, ratio, keys, trials, seed)));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let curve = |contender: Contender| {
            let own = table.only("filter", contender.label.as_str());
            let bits = contest::bits_per_key_label(&own)?;
            Some(Curve::measured(
                format!("{}, {bits}", contender.label),
                contender.look,
                own.pairs("ratio", "final_rate"),
            ))
        };
        vec![Picture {
            name: self.name().into(),
            title: "What is left of a whittled stream".into(),
            x: Axis::linear("|Q|/|S| at the beginning"),
            y: Axis::linear("false-positive rate of the last round"),
            lines: contenders(BITS).into_iter().filter_map(curve).collect(),
        }]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let rate = |filter: &str, ratio: u64| {
            table.only("filter", filter).only("ratio", ratio).first("final_rate").unwrap_or(f64::NAN)
        };
        let [small, at, past] = [5, 20, 80].map(|ratio| rate("telescoping", ratio));
        let broom = [5, 20, 80].map(|ratio| rate("broom", ratio));
        let cyclic = [1, 2, 3].map(|s| rate(&format!("cyclic, s = {s}"), 40));
        vec![
            Finding::new(
                "section 6.1: TAF does very well up to |Q|/|S| of about 20, and then the adversary forces false positives",
                format!("{small:.3} at 5, {at:.3} at 20, {past:.3} at 80"),
                small < 0.05 && at < 0.05 && past > 0.1,
            ),
            Finding::new(
                "section 6.1: Cyclic with s = 3 does surprisingly well",
                format!("at 40: {:.3} with s = 3, {:.3} with s = 2, {:.3} with s = 1", cyclic[2], cyclic[1], cyclic[0]),
                cyclic[2] < 0.5 * cyclic[0] && cyclic[2] <= cyclic[1],
            ),
            Finding::new(
                "001: a broom filter has no such limit",
                format!("its rate in the last round at 5, 20, 80: {:.4}, {:.4}, {:.4}", broom[0], broom[1], broom[2]),
                broom.iter().all(|rate| *rate < 0.1),
            ),
        ]
    }
}
