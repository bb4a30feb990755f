//! 000 Lemmas 13 to 17: what the birthday attack of Theorem 12 suspects.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::paths::{Birthday, Suspects};
use crate::workload::rng::Rng;
use std::f64::consts::E;

/// The suspects of the birthday attack are the members of mutually unfixable sets.
pub(super) struct BirthdaySuspects;

const BITS: u32 = 8;

/// (k, load): Theorem 1's shape, and more tables at the same load. Two tables are at their threshold at half load, so
/// also below.
const SHAPES: [(u64, f64); 4] = [(2, HALF), (2, QUARTER), (3, HALF), (4, HALF)];

const HALF: f64 = 0.5;

const QUARTER: f64 = 0.25;

/// The looks of members follow those of outsiders.
const MEMBERS: usize = 6;

/// n, with the filters of a trial: enough that a trial's counts are not mostly of one or two keys.
fn keys(size: Size, tables: u64) -> &'static [(u64, u64)] {
    match tables {
        2 => size.of(&[(250, 16)], &[(500, 12), (4_000, 4)], &[(1_000, 32), (10_000, 8), (100_000, 4)]),
        _ => size.of(&[(250, 4)], &[(250, 4), (1_000, 2)], &[(1_000, 8), (10_000, 4), (50_000, 2)]),
    }
}

/// The filters of a trial.
#[derive(Clone, Copy, Debug)]
struct Run {
    n: u64,
    tables: u64,
    load: f64,
    filters: u64,
}

impl Run {
    fn all(size: Size) -> Vec<Run> {
        let shapes = if size == Size::Tiny { &SHAPES[..2] } else { &SHAPES[..] };
        shapes.iter().flat_map(|&(tables, load)| Run::of(size, tables, load)).collect()
    }

    /// Those of one shape, by rising n.
    fn of(size: Size, tables: u64, load: f64) -> Vec<Run> {
        keys(size, tables).iter().map(|&(n, filters)| Run { n, tables, load, filters }).collect()
    }

    fn name(self) -> String {
        format!("{}×1 at load {}, {} keys", self.tables, self.load, self.n)
    }

    fn birthday(self, hears: bool) -> Birthday {
        Birthday { keys: self.n, tables: self.tables, load: self.load, bits: BITS, hears }
    }

    /// The point that plays it. A planted wrong rule: the filter never hears of a mistake.
    fn point(self, setup: &Setup) -> Point {
        let birthday = self.birthday(setup.planted != Planted::WrongRule);
        let asked = birthday.queries() * 3 * self.tables;
        let work = self.filters as f64 * (asked as f64 * 8e-8 + self.n as f64 * 2e-6);
        Point::new(self.name(), work, &(self, BITS, setup.planted), move |seed| self.measure(birthday, seed))
    }

    fn measure(self, birthday: Birthday, seed: u64) -> Result<Vec<Line>, TaskError> {
        let found = (0..self.filters).map(|number| birthday.play(&mut Rng::stream(seed, number)));
        let found = found.collect::<Result<Vec<Suspects>, TaskError>>()?;
        let a_filter = |of: fn(&Suspects) -> u64| found.iter().map(of).sum::<u64>() as f64 / self.filters as f64;
        let with_set = found.iter().filter(|one| one.unfixable > 0).count() as u64;
        Ok(vec![line![
            self.n,
            self.tables,
            self.load,
            self.filters,
            birthday.queries(),
            a_filter(|one| one.values),
            with_set,
            a_filter(|one| one.unfixable),
            a_filter(|one| one.together),
            a_filter(|one| one.members),
            a_filter(|one| one.suspects),
            a_filter(|one| one.suspected_members),
            a_filter(Suspects::outsiders),
            a_filter(|one| one.later_outsiders),
        ]])
    }

    fn sample(self, table: &Table, column: &str) -> Sample {
        table.only("point", self.name()).sample(column)
    }

    fn over(self, table: &Table, top: &str, bottom: &str) -> Evidence {
        Evidence::ratio(self.name(), &self.sample(table, top), &self.sample(table, bottom))
    }
}

impl Experiment for BirthdaySuspects {
    fn name(&self) -> &'static str {
        "birthday-suspects"
    }

    fn claim(&self) -> &'static str {
        "The birthday attack suspects the members of a few mutually unfixable sets, and no other keys"
    }

    fn measures(&self) -> &'static str {
        "Suspects of the birthday attack on Cuckooing with two to four tables, over the number of keys"
    }

    fn source(&self) -> &'static str {
        "000, Lemmas 13 to 17"
    }

    fn method(&self, _: Size) -> Vec<String> {
        vec![
            format!(
                "|Q| = (1 + 1/k)·N/(ε·n^(1/k)) random keys are asked in k preliminary and k testing rounds, each in another order, and in k \
                 more; {BITS} bits, k = 2 to 4 tables of single cells. Mutually unfixable sets are found from the hashes, which the \
                 attack does not know. A key is a member if it is in such a set, an outsider if it is not."
            ),
            "The lemmas require k < log n / (6 log log n), which no n below 2^64 satisfies with k = 2.".into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "n",
            "tables",
            "load",
            "filters",
            "asked",
            "values",
            "with_set",
            "unfixable",
            "together",
            "members",
            "suspects",
            "suspected_members",
            "outsiders",
            "later_outsiders",
        ]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 20, most: 40 }, Budget { first: 16, most: 96 }, Budget { first: 16, most: 96 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        Run::all(setup.size).into_iter().map(|run| run.point(setup)).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let curves = |(look, (tables, load)): (usize, (u64, f64))| {
            let own = table.only("tables", tables).only("load", load);
            let label = |what: &str| format!("{tables}×1 at load {load}, {what}");
            [
                Curve::measured(label("outsiders"), look, own.means("n", "outsiders")),
                Curve::measured(label("members"), look + MEMBERS, own.means("n", "suspected_members")),
            ]
        };
        vec![Picture {
            name: "birthday-suspects".into(),
            title: "Suspects that are in a mutually unfixable set, and others".into(),
            x: Axis::log("n, keys"),
            y: Axis::log("suspects, mean"),
            lines: [5, 1, 2, 3].into_iter().zip(SHAPES).flat_map(curves).collect(),
        }]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let runs = || Run::all(size).into_iter();
        let share = |tables: u64| 1.0 + 1.0 / tables as f64;
        let mean = |run: Run, column: &str| Evidence::mean(run.name(), &run.sample(table, column));
        let mut statements = vec![
            Statement::new(
                "Lemma 13: under each hash, Q has more than |Q|/(1 + 1/k) distinct values",
                "the fewest distinct values over |Q|, times 1 + 1/k: above 1",
            )
            .every(
                runs()
                    .map(|run| {
                        let values = run.sample(table, "values").map(|count| count * share(run.tables));
                        Evidence::ratio(run.name(), &values, &run.sample(table, "asked")).above(1.0)
                    })
                    .collect(),
            ),
            Statement::new(
                "Lemma 14: Q contains a mutually unfixable set with probability above (1 − 1/e)/2",
                "the share of filters for which it does: above 0.316",
            )
            .every(
                runs()
                    .map(|run| {
                        let (with, all) = (run.sample(table, "with_set"), run.sample(table, "filters"));
                        Evidence::share(run.name(), &with, &all).above(0.5 * (1.0 - 1.0 / E))
                    })
                    .collect(),
            ),
            Statement::new(
                "Lemma 15: O(1) stored keys have a mutually unfixable set; by the proof at most e are expected",
                "such keys: at most 2e",
            )
            .every(runs().map(|run| mean(run, "unfixable").below(2.0 * E)).collect()),
            Statement::new(
                "Lemma 16: such a set has O(k) queries",
                "the queries of all sets less 2k for each set: at most 0",
            )
            .every(
                runs()
                    .map(|run| {
                        let sets = run.sample(table, "unfixable").map(|count| 2.0 * run.tables as f64 * count);
                        let over = run.sample(table, "together").with(&sets, |sum, most| sum - most);
                        Evidence::mean(run.name(), &over).below(0.0)
                    })
                    .collect(),
            ),
            Statement::new(
                "This project: most keys of such a set are suspects (Lemma 17 does not say how many)",
                "members that are suspects over members, with the fewest keys: at least 0.8",
            )
            .every(
                runs()
                    .filter(|run| keys(size, run.tables).first().map(|(n, _)| *n) == Some(run.n))
                    .map(|run| run.over(table, "suspected_members", "members").above(0.8))
                    .collect(),
            ),
        ];
        // Few filters do not show why.
        if size != Size::Tiny {
            statements.push(no_others(table, size));
        }
        statements
    }
}

/// Lemma 17.
fn no_others(table: &Table, size: Size) -> Statement {
    let outsiders = |run: Option<&Run>| run.map_or_else(Sample::default, |run| run.sample(table, "outsiders"));
    let [at_half, at_quarter] = [HALF, QUARTER].map(|load| Run::of(size, 2, load));
    let most = outsiders(at_half.last());
    let grows = Evidence::ratio("2×1 at half load, most keys over fewest", &most, &outsiders(at_half.first()));
    let longer =
        Evidence::ratio("2×1 with the most keys, half load over load 0.25", &most, &outsiders(at_quarter.last()));
    let half = Run::all(size).into_iter().filter(|run| run.load == HALF);
    Statement::new(
        "Lemma 17: every suspect is in a mutually unfixable set",
        "members over suspects: at least 0.9",
    )
    .every(Run::all(size).iter().map(|run| run.over(table, "suspected_members", "suspects").above(0.9)).collect())
    .because(
        Statement::new(
            "a key that has settled does not stay: the walks of others displace it. So there are as many outsiders in later rounds, \
             and more of them where paths are longer: with two tables, with more keys at half load, and at half load more than at load 0.25",
            "outsiders in the k rounds after the testing rounds over those in them, at half load: above 0.8; outsiders of two tables, \
             most keys over fewest at half load: above 1.5; with the most keys, half load over load 0.25: above 3",
        )
        .every(half.map(|run| run.over(table, "later_outsiders", "outsiders").above(0.8)).collect())
        .every(vec![grows.above(1.5), longer.above(3.0)]),
    )
}
