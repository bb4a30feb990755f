//! 001 section 4.2: the frontier against the amortised rebuild.

use crate::broom::{Subject, loaded};
use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::workload::rng::Rng;
use twiceshy::hash::HashKey;

/// A frontier spreads the work of a rebuild over the mistakes.
pub(super) struct FrontierOrRebuild;

const WAYS: [&str; 2] = ["frontier", "rebuild"];

const REMAINDER: u32 = 4;

/// Keys of the small and of the large filter, and mistakes for each key.
fn amounts(size: Size) -> ([u64; 2], u64) {
    size.of(([500, 2_000], 1), ([1_000, 4_000], 2), ([50_000, 200_000], 3))
}

/// Measurements per n adaptations.
const LOOKS: u64 = 16;

/// A trial. `by_rebuild` is `true` for the amortised way.
fn measure(way: &str, by_rebuild: bool, keys: u64, adapts_a_key: u64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let options = loaded(keys, REMAINDER);
    let options = if by_rebuild { options.reclaim_by_rebuild() } else { options };
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

    fn measures(&self) -> &'static str {
        "Work and rates of a broom filter, by frontier and by rebuilding"
    }

    fn source(&self) -> &'static str {
        "001, section 4.2"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let ([small, large], adapts) = amounts(size);
        vec![format!(
            "Two broom filters of {small} and of {large} keys, with {REMAINDER}-bit remainders at 95 % load, learn from fresh absent \
             keys, {adapts} for each key: one moves c = 3 keys to the next hash function for each extension of a fingerprint, the \
             other moves none until there has been an extension for every third key, and then moves all of them to another hash \
             function."
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

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 24, most: 24 }, Budget { first: 24, most: 48 }, Budget { first: 24, most: 24 })
    }

    /// A planted wrong rule makes the frontier's filter rebuild as well.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (sizes, adapts) = amounts(setup.size);
        let planted = setup.planted == Planted::WrongRule;
        let mut points = Vec::new();
        for way in WAYS {
            for keys in sizes {
                let by_rebuild = way == "rebuild" || planted;
                let settings = (way, by_rebuild, keys, adapts, REMAINDER, LOOKS);
                let measure = move |seed| measure(way, by_rebuild, keys, adapts, seed);
                points.push(Point::new(
                    format!("{way}, {keys} keys"),
                    (keys * adapts) as f64 * 3e-5,
                    &settings,
                    measure,
                ));
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let largest = table.rows().filter_map(|row| row.number("keys")).fold(0.0, f64::max);
        let lines = |column: &str| -> Vec<Curve> {
            let curve = |(look, way): (usize, &&str)| {
                let own = table.only("way", *way).only("keys", largest);
                Curve::measured(*way, look, own.means("adapts_per_key", column))
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

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let ([small, large], _) = amounts(size);
        let times = large as f64 / small as f64;
        let own = |way: &str, keys: u64| table.only("way", way).only("keys", keys);
        let grows = |way: &str, sample: &dyn Fn(&Table) -> Sample| {
            let (top, bottom) = (sample(&own(way, large)), sample(&own(way, small)));
            let label = format!("{way}, {large} keys over {small}");
            (!top.is_empty()).then(|| Evidence::median(label, &top.with(&bottom, |top, bottom| top / bottom)))
        };
        let costliest = |table: &Table| last(table, "most_writes_of_a_mistake");
        let mean = |table: &Table| table.sample("writes_per_mistake");
        let bounded = grows("frontier", &costliest).map(|it| it.below(1.5));
        let linear = grows("rebuild", &costliest).map(|it| it.within(0.9 * times, 1.1 * times));
        let constant = WAYS.iter().filter_map(|way| grows(way, &mean)).map(|it| it.within(0.9, 1.1));
        let rates = [small, large].map(|keys| {
            let [top, bottom] = WAYS.map(|way| last(&own(way, keys), "fpr"));
            (!top.is_empty()).then(|| Evidence::ratio(format!("{keys} keys"), &top, &bottom).within(0.9, 1.1))
        });
        vec![
            Statement::new(
                "section 4.2: with a frontier the work of each operation is bounded; a rebuild's is linear in the keys",
                format!(
                    "entries that the costliest mistake writes to the remote, with {times} times as many keys, in the median trial: at \
                     most 1.5 times as many with a frontier; {times} times as many, within 10 %, with rebuilds"
                ),
            )
            .every(bounded.into_iter().chain(linear).collect()),
            Statement::new(
                "section 4.2: both pay O(1) on average",
                format!("entries written for a mistake, with {times} times as many keys, in the median trial: 0.9 to 1.1 times"),
            )
            .every(constant.collect()),
            Statement::new(
                "This project's: both keep the rate of false positives",
                "the rate of fresh queries with a frontier over that with rebuilds: 0.9 to 1.1",
            )
            .every(rates.into_iter().flatten().collect()),
        ]
    }
}

/// For each trial the value of a column at the last look.
fn last(own: &Table, column: &str) -> Sample {
    own.sample_by(|rows| rows.iter().filter_map(|row| row.number(column)).next_back())
}
