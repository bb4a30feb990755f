//! 000 section 3.1: the proof of Theorem 1, lemma by lemma.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::paths::{Lemmas, Stream};
use crate::workload::rng::Rng;

/// Queries that break others, or that loop, are rare.
pub(super) struct CuckooingPaths;

/// With few bits there are many false positives, and so paths that meet.
const BITS: u32 = 4;

/// How often each query is asked: once, so that |Q| = n, and repeatedly.
const TIMES: [u64; 2] = [1, 16];

/// N/n, the cells of a table for each key: the theorem's, and one with room to spare.
const SLACK: [f64; 2] = [1.0, 1.5];

/// The keys that the streams of a trial have together.
fn together(size: Size) -> u64 {
    size.of(1 << 13, 1 << 15, 1 << 18)
}

/// n.
fn keys(size: Size) -> &'static [u64] {
    size.of(&[1 << 8, 1 << 11], &[1 << 8, 1 << 13], &[1 << 8, 1 << 11, 1 << 14, 1 << 17])
}

/// The smallest and the largest n.
fn ends(size: Size) -> [u64; 2] {
    let all = keys(size);
    [all[0], all[all.len() - 1]]
}

/// The streams of a trial.
#[derive(Clone, Copy, Debug)]
struct Run {
    n: u64,
    times: u64,
    slack: f64,
}

impl Run {
    fn all(size: Size) -> Vec<Run> {
        let of = |slack: f64, times: u64| keys(size).iter().map(move |n| Run { n: *n, times, slack });
        let mut all: Vec<Run> = TIMES.into_iter().flat_map(|times| of(SLACK[0], times)).collect();
        all.extend(of(SLACK[1], 1));
        all
    }

    /// Of those with the theorem's tables.
    fn theorem(size: Size) -> impl Iterator<Item = Run> {
        Run::all(size).into_iter().filter(|run| run.slack == SLACK[0])
    }

    fn name(self) -> String {
        format!("n = {}, {} cells a table, each query {} times", self.n, self.cells(), self.times)
    }

    fn cells(self) -> u64 {
        (self.n as f64 * self.slack) as u64
    }

    /// The point that follows it. A planted wrong rule: the filter never hears of a mistake.
    fn point(self, setup: &Setup) -> Point {
        let (planted, streams) = (setup.planted, (together(setup.size) / self.n).max(1));
        let work = (streams * self.n) as f64 * 1.5e-6;
        Point::new(self.name(), work, &(self, BITS, streams, planted), move |seed| self.measure(streams, planted, seed))
    }

    fn measure(self, streams: u64, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let Run { n, times, slack } = self;
        let hears = planted != Planted::WrongRule;
        let stream = Stream { keys: n, cells: self.cells(), bits: BITS, support: n / times, times, hears };
        let mut sum = Lemmas::default();
        for number in 0..streams {
            sum.add(&stream.follow(&mut Rng::stream(seed, number))?);
        }
        let a_stream = |count: u64| count as f64 / streams as f64;
        let expected = planted.model(stream.epsilon() * stream.support as f64 / slack);
        let [first, second, third, fourth] = sum.criteria;
        Ok(vec![line![
            n,
            slack,
            n / times,
            times,
            streams,
            a_stream(sum.false_positives),
            expected,
            a_stream(sum.potential),
            a_stream(sum.initial),
            sum.initial_moved as f64 / sum.potential as f64,
            sum.initial_long as f64 / sum.potential as f64,
            sum.moved as f64 / sum.fixes as f64,
            sum.strayed,
            sum.broken_paths,
            a_stream(sum.not_initial),
            sum.not_costly,
            sum.not_costly_by_formula,
            a_stream(first),
            a_stream(sum.distinct_by_first),
            sum.allowed_first / streams as f64,
            sum.moved_by_first as f64 / first as f64,
            a_stream(second),
            a_stream(third),
            a_stream(fourth),
            a_stream(sum.costly),
            sum.cost as f64 / streams as f64,
            sum.allowed / streams as f64,
            sum.dear,
            sum.dear_crossed,
        ]])
    }

    fn sample(self, table: &Table, column: &str) -> Sample {
        table.only("point", self.name()).sample(column)
    }

    /// The mean of one column over the mean of another.
    fn over(self, table: &Table, top: &str, bottom: &str) -> Evidence {
        Evidence::ratio(self.name(), &self.sample(table, top), &self.sample(table, bottom))
    }

    /// A count over all trials, for what must never happen; NaN if nothing was measured.
    fn ever(self, table: &Table, column: &str) -> Evidence {
        let sample = self.sample(table, column);
        let count = if sample.is_empty() { f64::NAN } else { sample.sum() };
        Evidence::exact(self.name(), count)
    }
}

/// From the smallest n to the largest.
#[derive(Clone, Copy)]
struct Growth {
    from: Run,
    to: Run,
}

impl Growth {
    fn new(size: Size, times: u64, slack: f64) -> Growth {
        let [from, to] = ends(size).map(|n| Run { n, times, slack });
        Growth { from, to }
    }

    fn label(self) -> String {
        let Growth { from, to } = self;
        format!("n = {} over {}, N = {} n, each query {} times", to.n, from.n, to.slack, to.times)
    }

    /// How much a column grows.
    fn of(self, table: &Table, column: &str) -> Evidence {
        Evidence::ratio(self.label(), &self.to.sample(table, column), &self.from.sample(table, column))
    }

    /// The same in the median trial, for what a few filters decide.
    fn median(self, table: &Table, column: &str) -> Evidence {
        let of = |run: Run| run.sample(table, column);
        Evidence::median(self.label(), &of(self.to).with(&of(self.from), |to, from| to / from))
    }

    /// How much a power of log n grows.
    fn log_power(self, power: i32) -> f64 {
        ((self.to.n as f64).ln() / (self.from.n as f64).ln()).powi(power)
    }

    /// How much n grows.
    fn keys(self) -> f64 {
        self.to.n as f64 / self.from.n as f64
    }
}

impl Experiment for CuckooingPaths {
    fn name(&self) -> &'static str {
        "cuckooing-paths"
    }

    fn claim(&self) -> &'static str {
        "Cuckooing's false positives are initial ones, or costly ones, and costly ones are rare"
    }

    fn measures(&self) -> &'static str {
        "Paths, loops, costly queries and the potential of Cuckooing, over the number of keys"
    }

    fn source(&self) -> &'static str {
        "000, Lemmas 2 to 8"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let [least, most] = ends(size);
        vec![
            format!(
                "The theorem's own filter: two tables of N = n single cells, {BITS} bits, n = {least} to {most}, under n queries: n distinct \
                 ones, or n/16 asked 16 times each, each time in another order. Beside the filter an oracle of plain vectors \
                 follows its configurations: it takes C_0 from the filter's mirror, moves keys by section 2.3, and must agree with \
                 each answer and each moved key's cell."
            ),
            "A query that collides in both tables counts as two, which the paper assumes without loss of generality. Criterion 1 is \
             taken in words (the query hashes to a slot of the path); its formula leaves out the path's last slot. All counts are of \
             queries that were false positives; a query asked again counts again."
                .into(),
            "In a stream without repetitions the constant of Lemma 7 is its own, 8; its proof has 64. For comparison the same with N = 1.5 n: \
             the analysis that the proofs cite needs N ≥ (1 + δ)n, and two tables of N = n cells are at their threshold."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "n",
            "slack",
            "support",
            "times",
            "streams",
            "false_positives",
            "expected",
            "potential",
            "initial",
            "initial_path",
            "initial_long",
            "path",
            "strayed",
            "broken_paths",
            "not_initial",
            "not_costly",
            "not_costly_by_formula",
            "criterion_1",
            "distinct_1",
            "bound_1",
            "path_1",
            "criterion_2",
            "criterion_3",
            "criterion_4",
            "costly",
            "cost",
            "allowed",
            "dear",
            "dear_crossed",
        ]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 20, most: 40 }, Budget { first: 20, most: 80 }, Budget { first: 20, most: 80 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        Run::all(setup.size).into_iter().map(|run| run.point(setup)).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        vec![counts(table), lengths(table)]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let never = |column: &str| Run::all(size).iter().map(|run| run.ever(table, column).below(0.0)).collect();
        let data = Data { table, size };
        let mut statements = vec![
            Statement::new(
                "This project: the filter does what section 2.3 says",
                "answers and cells of moved keys that differ from the oracle's, over all trials: none",
            )
            .every(never("strayed")),
            Statement::new(
                "Lemma 2: a path that does not loop moves keys from their first slots, then keys from other slots",
                "paths that move a key from its first slot after one from another, over all trials: none",
            )
            .every(never("broken_paths")),
            Statement::new(
                "Lemma 3: every false positive is an initial one or costly",
                "false positives that are neither, over all trials: none",
            )
            .every(never("not_costly")),
            Statement::new(
                "Lemma 3, with Criterion 1 as its formula has it: h_(C_0[ℓ_j])(q_i) = h_(C_0[ℓ_j])(x_(j_ℓ_j)) for a key on the path of q_j",
                "false positives that are neither initial nor costly, over all trials: none",
            )
            .every(never("not_costly_by_formula"))
            .because(
                Statement::new(
                    "the formula names the slots that keys leave, and so not the last slot of a path, which the words include: with it there are none",
                    "false positives that are neither, by the words, over all trials: none",
                )
                .every(never("not_costly")),
            ),
            Statement::new("Lemma 4: E[Φ(0)] is at most ε|Q|", "Φ(0) over ε|Q|: at most 1.1")
                .every(Run::theorem(size).map(|run| run.over(table, "potential", "expected").below(1.1)).collect()),
            data.cheap(),
            Statement::new(
                "Lemma 6: a costly query's amortised cost is expected to be at most 4 + 2ε|Q|k_i/n",
                "the cost of all costly queries over the sum of that: at most 1",
            )
            .every(Run::theorem(size).map(|run| run.over(table, "cost", "allowed").below(1.0)).collect()),
            data.met_by_few(),
            Statement::new(
                "Lemma 7: queries that satisfy Criterion 1 move at most 96 keys on average",
                "keys moved by such a query: at most 96",
            )
            .every(
                Run::theorem(size)
                    .map(|run| Evidence::mean(run.name(), &run.sample(table, "path_1")).below(96.0))
                    .collect(),
            ),
        ];
        // Few streams do not show how counts grow.
        if size != Size::Tiny {
            statements.extend([data.paths_are_short(), data.loops_are_rare(), data.costs_grow_slowly()]);
        }
        statements
    }
}

struct Data<'a> {
    table: &'a Table,
    size: Size,
}

impl Data<'_> {
    /// Lemma 5. Its proof takes a false positive in F_0 to collide with the key that it collided with on C_0.
    fn cheap(&self) -> Statement {
        let dear = Run::all(self.size).into_iter().map(|run| run.ever(self.table, "dear").below(0.0));
        let all = self.table.only("times", 1u64);
        let sums = |column: &str| if all.is_empty() { f64::NAN } else { all.sample(column).sum() };
        let crossed = Evidence::exact("those that do, of all of them", sums("dear_crossed") / sums("dear")).above(1.0);
        Statement::new(
            "Lemma 5: a query that is not costly has an amortised cost of at most 0",
            "queries that are not costly and cost more, over all trials: none",
        )
        .every(dear.collect())
        .because(
            Statement::new(
                "each of them is an initial false positive that hashes to a slot on another's path and meets a moved key there; \
                 Criterion 1 asks that only of queries outside F_0",
                "of all such queries, the share that hash to a slot on the path of another: 1",
            )
            .every(vec![crossed]),
        )
    }

    /// Lemma 7, as it is printed, counts each query as often as it is asked.
    fn met_by_few(&self) -> Statement {
        let over = |column: &'static str| {
            let all = Run::theorem(self.size).map(move |run| run.over(self.table, column, "bound_1"));
            all.map(|it| it.below(1.0)).collect::<Vec<_>>()
        };
        Statement::new(
            "Lemma 7: at most 8|F_0|²/n + 2ε|Q||F_0|/n queries are expected to satisfy Criterion 1",
            "such queries over that bound: at most 1",
        )
        .every(over("criterion_1"))
        .because(
            Statement::new(
                "the proof counts a pair of queries once, but two queries whose paths meet break each other whenever they are asked: \
                 asked once, they are within the bound, and asked 16 times they are not",
                "each query asked once: at most 1; asked 16 times: above 4",
            )
            .every(self.asked_once().into_iter().map(|run| run.over(self.table, "criterion_1", "bound_1").below(1.0)).collect())
            .every(self.asked_often().into_iter().map(|run| run.over(self.table, "criterion_1", "bound_1").above(4.0)).collect()),
        )
    }

    fn asked_once(&self) -> Vec<Run> {
        Run::theorem(self.size).filter(|run| run.times == 1).collect()
    }

    fn asked_often(&self) -> Vec<Run> {
        Run::theorem(self.size).filter(|run| run.times > 1).collect()
    }

    /// The reason for what the lemmas say about lengths and loops: in the median trial a quantity is much smaller where
    /// there is room to spare.
    fn at_the_threshold(&self, column: &str) -> Statement {
        let grows = Growth::new(self.size, 1, SLACK[0]).of(self.table, "initial_path").above(1.1);
        let stays = Growth::new(self.size, 1, SLACK[1]).of(self.table, "initial_path").below(1.05);
        let [_, most] = ends(self.size);
        let [tight, roomy] = SLACK.map(|slack| Run { n: most, times: 1, slack }.sample(self.table, column));
        let label = format!("n = {most}, N = 1.5 n over N = n");
        let fewer = Evidence::median(label, &roomy.with(&tight, |roomy, tight| roomy / tight)).below(0.25);
        Statement::new(
            "the cited bounds need N ≥ (1 + δ)n; with N = n two tables are at their threshold, and paths get longer with n",
            "the mean length of initial paths, largest n over smallest: above 1.1 with N = n, at most 1.05 with N = 1.5 n; there, at the \
             largest n, the same quantity is at most a quarter of that with N = n, in the median trial",
        )
        .every(vec![grows, stays, fewer])
    }

    fn paths_are_short(&self) -> Statement {
        // The sum of 2^(2 − k) over k ≥ 12.
        let share = 2f64.powi(-9);
        let long = |run: &Run| Evidence::mean(run.name(), &run.sample(self.table, "initial_long")).below(share);
        Statement::new(
            "Lemma 7, proof: a path on C_0 moves k keys with probability at most 2^(2 − k)",
            "the share of initial paths of twelve keys or more: at most 2^−9",
        )
        .every(self.asked_once().iter().map(long).collect())
        .because(self.at_the_threshold("initial_long"))
    }

    fn loops_are_rare(&self) -> Statement {
        let growth = Growth::new(self.size, 1, SLACK[0]);
        Statement::new(
            "Lemma 8, proof: O(log² n) queries loop",
            "queries that loop in a stream of the largest n over those of the smallest, in the median trial: at most what log² n grows",
        )
        .every(vec![growth.median(self.table, "criterion_2").below(growth.log_power(2))])
        .because(self.at_the_threshold("criterion_2"))
    }

    /// With |Q| in proportion to n, ε²|Q|²/n grows as n, and faster than log⁴ n.
    fn costs_grow_slowly(&self) -> Statement {
        let growth = |times: u64| {
            let growth = Growth::new(self.size, times, SLACK[0]);
            growth.of(self.table, "allowed").below(2.0 * growth.keys().max(growth.log_power(4)))
        };
        Statement::new(
            "Lemma 8: all costly queries together cost O(ε²|Q|²/n + log⁴ n)",
            "what Lemma 6 allows them, largest n over smallest, |Q| in proportion to n: at most twice what the larger of the terms grows",
        )
        .every(TIMES.map(growth).into())
    }
}

/// The queries that each criterion is met by.
fn counts(table: &Table) -> Picture {
    let own = table.only("slack", SLACK[0]).only("times", 1u64);
    let curve = |(look, label, column): (usize, &str, &str)| Curve::measured(label, look, own.means("n", column));
    let mut lines: Vec<Curve> = [
        (5, "initial false positives", "initial"),
        (1, "Criterion 1: paths meet", "criterion_1"),
        (2, "Criterion 2: loops", "criterion_2"),
        (3, "Criterion 3: hashes to a loop", "criterion_3"),
        (4, "Criterion 4: meets itself", "criterion_4"),
        (6, "not initial", "not_initial"),
    ]
    .map(curve)
    .into();
    lines.push(Curve::model("Lemma 7's bound for Criterion 1", 1, own.means("n", "bound_1")));
    let squares = own.means("n", "n").into_iter().map(|(n, _)| (n, n.log2().powi(2)));
    lines.push(Curve::model("log2² n", 2, squares.collect::<Vec<_>>()));
    Picture {
        name: "cuckooing-paths-criteria".into(),
        title: "False positives of n distinct queries, by criterion".into(),
        x: Axis::log("n, keys"),
        y: Axis::log("false positives of a stream"),
        lines,
    }
}

/// How long the paths are.
fn lengths(table: &Table) -> Picture {
    let curve = |(look, slack): (usize, f64)| {
        let own = table.only("slack", slack).only("times", 1u64);
        Curve::measured(format!("N = {slack} n"), look, own.means("n", "initial_path"))
    };
    Picture {
        name: "cuckooing-paths-lengths".into(),
        title: "Keys on the path of an initial false positive".into(),
        x: Axis::log("n, keys"),
        y: Axis::linear("keys moved, mean"),
        lines: SLACK.into_iter().zip([5, 1]).map(|(slack, look)| curve((look, slack))).collect(),
    }
}
