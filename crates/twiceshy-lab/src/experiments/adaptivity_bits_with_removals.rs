//! 001 section 4.5: adaptivity bits of a broom filter whose keys are removed and inserted while it learns.

use crate::broom::loaded;
use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::collections::VecDeque;
use twiceshy::AdaptiveFilter;
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::ByHash;

/// The adaptivity bits of stored keys and of ghosts stay O(n), and O(log n) in every group.
pub(super) struct AdaptivityBitsWithRemovals;

const REMAINDER: u32 = 4;

/// Measurements in a trial.
const LOOKS: u64 = 12;

/// Keys replaced for each mistake.
const REPLACED: usize = 2;

/// The share of the keys that are away at any time, where removed keys return.
const AWAY: u64 = 8;

/// What happens to the set after each mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    /// The two oldest keys are replaced by keys that were never stored.
    Replaced,
    /// Two random keys are removed, and two that were removed before come back.
    Returning,
    /// The mistake is stored in place of a random key.
    Inserted,
}

impl Traffic {
    fn label(self) -> &'static str {
        match self {
            Traffic::Replaced => "old keys replaced",
            Traffic::Returning => "keys removed and back",
            Traffic::Inserted => "mistakes inserted",
        }
    }
}

fn traffics(size: Size) -> &'static [Traffic] {
    const ALL: [Traffic; 3] = [Traffic::Returning, Traffic::Replaced, Traffic::Inserted];
    size.of(&ALL[..1], &ALL, &ALL)
}

/// The numbers of keys, and how many mistakes there are for each key.
fn amounts(size: Size) -> (&'static [u64], f64) {
    size.of((&[100, 800], 1.5), (&[500, 2_500], 1.25), (&[10_000, 100_000], 1.25))
}

/// The adaptivity bits a key that Lemmas 9 and 15 allow: a mistake takes two on average, with c = 3 a phase has n/3 mistakes,
/// and the bits of three phases may be there, by the proof of Lemma 15.
const OF_THREE_PHASES: f64 = 3.0 * 2.0 / 3.0;

/// Mistakes a key in the first phase, which starts without adaptivity bits: n/3, and a few more for chance.
const FIRST_PHASE: f64 = 0.5;

/// A filter, its keys in the order in which they came, and those that were removed and may return.
struct Stage {
    filter: AdaptiveFilter<BroomFilter, ByHash>,
    inside: VecDeque<[u8; 8]>,
    away: VecDeque<[u8; 8]>,
    keys: Keys,
    stored: u64,
    asked: u64,
    rng: Rng,
}

/// More keys than a trial has.
const MOST: u64 = 1 << 40;

impl Stage {
    /// A filter of `count` keys. If its frontier does not move, no bits are dropped: a planted error.
    fn new(count: u64, moves: bool, seed: u64) -> Result<Stage, TaskError> {
        let options = loaded(count, REMAINDER);
        let options = if moves { options } else { options.reclaim_by_rebuild() };
        let filter = options.build(HashKey::fixed(seed), ByHash::new()).map_err(TaskError::new)?;
        let keys = Keys::new(MOST, MOST, seed).ok_or_else(|| TaskError::new("too many keys"))?;
        let (inside, away) = (VecDeque::new(), VecDeque::new());
        let rng = Rng::stream(seed, 3);
        let mut stage = Stage { filter, inside, away, keys, stored: 0, asked: 0, rng };
        for _ in 0..count {
            let key = stage.new_key();
            stage.insert(key)?;
        }
        for _ in 0..count / AWAY {
            let key = stage.new_key();
            stage.away.push_back(key);
        }
        Ok(stage)
    }

    fn new_key(&mut self) -> [u8; 8] {
        self.stored += 1;
        self.keys.stored(self.stored - 1)
    }

    fn insert(&mut self, key: [u8; 8]) -> Result<(), TaskError> {
        self.filter.insert(&key).map_err(TaskError::new)?;
        self.inside.push_back(key);
        Ok(())
    }

    fn remove(&mut self, at: usize) -> Result<[u8; 8], TaskError> {
        let key = self.inside.swap_remove_front(at).ok_or_else(|| TaskError::new("no key is left"))?;
        self.filter.remove(&key).map_err(TaskError::new)?;
        Ok(key)
    }

    fn any(&mut self) -> usize {
        self.rng.below(self.inside.len() as u64) as usize
    }

    /// Asks for absent keys until one is wrong, tells the filter, and changes the set.
    fn mistake(&mut self, traffic: Traffic) -> Result<(), TaskError> {
        let query = loop {
            self.asked += 1;
            let query = self.keys.absent(self.asked - 1);
            if self.filter.contains(&query) {
                break query;
            }
        };
        self.filter.was_wrong(&query).map_err(TaskError::new)?;
        match traffic {
            Traffic::Replaced => (0..REPLACED).try_for_each(|_| {
                self.remove(0)?;
                let key = self.new_key();
                self.insert(key)
            }),
            Traffic::Returning => (0..REPLACED).try_for_each(|_| {
                let at = self.any();
                let gone = self.remove(at)?;
                self.away.push_back(gone);
                match self.away.pop_front() {
                    Some(back) => self.insert(back),
                    None => Ok(()),
                }
            }),
            Traffic::Inserted => {
                let at = self.any();
                self.remove(at)?;
                self.insert(query)
            }
        }
    }

    fn seen(&self, traffic: Traffic, keys: u64, mistakes: u64) -> Line {
        let stats = self.filter.filter().stats();
        let a_key = |count: u64| count as f64 / keys as f64;
        line![
            traffic.label(),
            keys,
            a_key(mistakes),
            a_key(stats.moved),
            stats.removals as f64 / stats.adapts.max(1) as f64,
            a_key(stats.adaptivity_bits),
            stats.largest_group,
            a_key(stats.ghosts),
            a_key(stats.ghost_bits),
            a_key(self.filter.local_bits()),
        ]
    }
}

fn measure(traffic: Traffic, keys: u64, a_key: f64, moves: bool, seed: u64) -> Result<Vec<Line>, TaskError> {
    let mut stage = Stage::new(keys, moves, seed)?;
    let mistakes = (keys as f64 * a_key) as u64;
    let mut lines = Vec::new();
    for look in 1..=LOOKS {
        for _ in mistakes * (look - 1) / LOOKS..mistakes * look / LOOKS {
            stage.mistake(traffic)?;
        }
        lines.push(stage.seen(traffic, keys, mistakes * look / LOOKS));
    }
    Ok(lines)
}

impl Experiment for AdaptivityBitsWithRemovals {
    fn name(&self) -> &'static str {
        "adaptivity-bits-with-removals"
    }

    fn claim(&self) -> &'static str {
        "Removals add no more than a constant number of adaptivity bits a key, however long keys come and go"
    }

    fn measures(&self) -> &'static str {
        "Adaptivity bits and ghosts of a broom filter whose keys come and go"
    }

    fn source(&self) -> &'static str {
        "001, Lemmas 14 and 16"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "Broom filters of {REMAINDER}-bit remainders at 95 % load are asked for fresh absent keys until one is wrong, and adapt to \
             it, {} times for each key. After each mistake the set changes: the {REPLACED} oldest keys are replaced by new ones; or \
             {REPLACED} random keys are removed and {REPLACED} that were removed before come back, with an eighth of the keys away at \
             any time; or the mistake is stored in place of a random key. Ghosts here keep their remainder and some mistakes \
             leave one too, where the paper's keep only the bits of removed keys (docs/broom.md): their adaptivity bits and all the \
             rest that they take are the ghosts' bits.",
            amounts(size).1
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "traffic",
            "keys",
            "mistakes_per_key",
            "phases",
            "removals_per_mistake",
            "adaptivity_bits_per_key",
            "largest_block",
            "ghosts_per_key",
            "ghost_bits_per_key",
            "bits_per_key",
        ]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 12, most: 16 }, Budget { first: 12, most: 24 }, Budget { first: 10, most: 10 })
    }

    /// A planted wrong rule: the frontier stands still, and nobody rebuilds.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (sizes, a_key) = amounts(setup.size);
        let moves = setup.planted != Planted::WrongRule;
        let point = |(traffic, keys): (Traffic, u64)| {
            let work = keys as f64 * (1.0 + a_key) * setup.size.pick(2e-5, 5e-5);
            let settings = (traffic, keys, a_key, moves, (REMAINDER, LOOKS, REPLACED, AWAY));
            let name = format!("{}, {keys} keys", traffic.label());
            Point::new(name, work, &settings, move |seed| measure(traffic, keys, a_key, moves, seed))
        };
        traffics(setup.size).iter().flat_map(|traffic| sizes.iter().map(|keys| (*traffic, *keys))).map(point).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let picture = |column: &str, name: &str, title: &str, label: &str| Picture {
            name: format!("adaptivity-bits-with-removals-{name}"),
            title: title.into(),
            x: Axis::linear("mistakes that it learned from, over keys"),
            y: Axis::linear(label),
            lines: curves(table, column),
        };
        vec![
            picture(BITS, "mean", "Adaptivity bits while keys come and go", "adaptivity bits a stored key"),
            picture(BLOCK, "largest-block", "The fullest block of 64 slots", "adaptivity bits in the block"),
            picture(GHOSTS, "ghosts", "Ghosts while keys come and go", "ghosts a stored key"),
        ]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let (Some(&least), Some(&most)) = (amounts(size).0.first(), amounts(size).0.last()) else { return Vec::new() };
        let all: Vec<Own> = traffics(size)
            .iter()
            .map(|traffic| Own { traffic: *traffic, table: table.only("traffic", traffic.label()), least, most })
            .filter(Own::is_measured)
            .collect();
        let logs = (most as f64).ln() / (least as f64).ln();
        vec![
            Statement::new(
                "Lemma 14: O(n) adaptivity bits at any time, with removals",
                "the most bits a stored key at any time after the first phase: at most 2, what the mistakes of three phases introduce. \
                 Later over earlier bits, at the largest n: 0.85 to 1.15",
            )
            .every(all.iter().flat_map(|own| [own.most_bits(least), own.most_bits(most)]).collect())
            .every(all.iter().map(|own| own.lasting()).collect()),
            Statement::new(
                "Lemma 14: the same constant for every n, with removals",
                "bits a stored key over those of the smallest n: 0.8 to 1.25",
            )
            .every(all.iter().map(|own| own.over_least(BITS).within(0.8, 1.25)).collect()),
            Statement::new(
                "section 4.3: what is remembered of removed keys is O(n), since it is forgotten when the hash function has changed",
                "the most ghosts a stored key at any time: at most what is removed, and what mistakes may leave, in two phases: 2/3 for \
                 each removal with a mistake, and 2/3",
            )
            .every(all.iter().flat_map(|own| [own.most_ghosts(least), own.most_ghosts(most)]).collect()),
            Statement::new(
                "Lemma 16: O(log n) adaptivity bits for a group of Θ(log n) fingerprints, with removals",
                "bits of the fullest block of 64 slots, mean over time: at most 2 a slot, as of all keys by Lemma 14. Over those at the smallest n: at most \
                 the ratio of log n, and a quarter of it",
            )
            .every(all.iter().flat_map(|own| [own.fullest(least), own.fullest(most)]).collect())
            .every(all.iter().map(|own| own.over_least(BLOCK).below(1.25 * logs)).collect()),
        ]
    }
}

const BITS: &str = "adaptivity_bits_per_key";
const BLOCK: &str = "largest_block";
const GHOSTS: &str = "ghosts_per_key";

/// The lines of one traffic.
struct Own {
    traffic: Traffic,
    table: Table,
    least: u64,
    most: u64,
}

impl Own {
    fn is_measured(&self) -> bool {
        [self.least, self.most].iter().all(|keys| !self.table.only("keys", *keys).is_empty())
    }

    /// For each trial a function of a column at all looks after the first phase.
    fn settled(&self, keys: u64, column: &str, of: impl Fn(&[f64]) -> f64) -> Sample {
        self.table.only("keys", keys).sample_by(|rows| {
            let late =
                rows.iter().filter(|row| row.number("mistakes_per_key").is_some_and(|at| at > FIRST_PHASE - 0.01));
            let values: Vec<f64> = late.filter_map(|row| row.number(column)).collect();
            (!values.is_empty()).then(|| of(&values))
        })
    }

    fn highest(&self, keys: u64, column: &str) -> Sample {
        self.settled(keys, column, |values| values.iter().copied().fold(0.0, f64::max))
    }

    fn label(&self, keys: u64) -> String {
        format!("{}, {keys} keys", self.traffic.label())
    }

    fn most_bits(&self, keys: u64) -> Evidence {
        Evidence::mean(self.label(keys), &self.highest(keys, BITS)).below(OF_THREE_PHASES)
    }

    fn fullest(&self, keys: u64) -> Evidence {
        let a_slot = self.settled(keys, BLOCK, mean).map(|bits| bits / 64.0);
        Evidence::mean(format!("{}, a slot", self.label(keys)), &a_slot).below(OF_THREE_PHASES)
    }

    fn most_ghosts(&self, keys: u64) -> Evidence {
        let removed = self.table.first("removals_per_mistake").unwrap_or(f64::NAN);
        Evidence::mean(self.label(keys), &self.highest(keys, GHOSTS)).below((1.0 + removed) * 2.0 / 3.0)
    }

    fn lasting(&self) -> Evidence {
        let half = |late: bool| {
            self.settled(self.most, BITS, move |values| {
                let (first, second) = values.split_at(values.len() / 2);
                mean(if late { second } else { first })
            })
        };
        let name = format!("{}, later over earlier", self.traffic.label());
        Evidence::ratio(name, &half(true), &half(false)).within(0.85, 1.15)
    }

    fn over_least(&self, column: &str) -> Evidence {
        let [top, bottom] = [self.most, self.least].map(|keys| self.settled(keys, column, mean));
        let name = format!("{}, {} keys over {}", self.traffic.label(), self.most, self.least);
        Evidence::ratio(name, &top, &bottom)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A line for each traffic and number of keys.
fn curves(table: &Table, column: &str) -> Vec<Curve> {
    let mut lines = Vec::new();
    for traffic in table.values("traffic") {
        let own = table.only("traffic", traffic.clone());
        for keys in own.values("keys") {
            let part = own.only("keys", keys.clone());
            let points = part.means("mistakes_per_key", column);
            lines.push(Curve::measured(format!("{traffic}, {keys} keys"), lines.len(), points));
        }
    }
    lines
}
