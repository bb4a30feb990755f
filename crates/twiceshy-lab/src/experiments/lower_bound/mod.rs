//! 001 section 6: a filter with few bits and no remote cannot adapt.

mod attack;
mod bound;
mod side;
mod statements;

use crate::experiment::{
    Axis, Budget, Curve, Experiment, Line, Picture, Planted, Point, Setup, Size, Statement, Table, TaskError, line,
};
use crate::statistics;
use attack::attack;
use bound::Universe;
use side::{BROOM, Base, LISTED, List, Side};

/// A filter with few bits and no remote cannot adapt.
pub(super) struct LowerBound;

/// n, with u > n^4 in the smallest universe.
fn keys(size: Size) -> u64 {
    size.of(512, 2_048, 16_384)
}

/// log u: the bits of a key.
fn universes(size: Size) -> &'static [u32] {
    size.of(&[64, 256], &[64, 256, 1024], &[64, 256, 1024])
}

/// The bits of a list over n log log u, for filters on the way to Lemma 28's.
fn budgets(size: Size) -> &'static [f64] {
    size.of(&[0.25, 1.5], &[0.0, 0.25, 0.5, 0.75, 1.5], &[0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5])
}

/// Parts of the bound's memory that a filter spends on its list.
const PARTS: [f64; 3] = [0.0, 0.25, 0.5];

/// The part that a cuckoo filter's fingerprints are of the bound's memory, with their load; the list takes the rest.
const CUCKOO_PART: f64 = 0.8;

/// One filter in one universe.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Match {
    /// What it is there for.
    role: &'static str,
    side: Side,
    universe: Universe,
    /// The bits of its list over n log log u; NaN for a list without a bound.
    budget: f64,
}

pub(super) const AT_BOUND: &str = "in the bound's memory";
pub(super) const ON_THE_WAY: &str = "Lemma 28's filter, its list bounded";
pub(super) const HOLDS: &str = "all mistakes";

/// All matches of a size.
fn matches(size: Size) -> Vec<Match> {
    let mut all = Vec::new();
    for &bits in universes(size) {
        let universe = Universe { bits, keys: keys(size) };
        let of = |role, side, budget| Match { role, side, universe, budget };
        let bound = universe.bound();
        for part in PARTS {
            let side = Side::Alone(Base::Bloom(bound * (1.0 - part)), List::First(bound * part));
            all.push(of(AT_BOUND, side, bound * part / universe.log_log()));
        }
        let cell = (CUCKOO_PART * bound).floor();
        if cell >= 5.0 {
            let list = bound - cell / side::CUCKOO_LOAD;
            let side = Side::Alone(Base::Cuckoo(cell as u32), List::First(list));
            all.push(of(AT_BOUND, side, list / universe.log_log()));
        }
        let base = Base::Bloom(universe.bloom_bits());
        for &budget in budgets(size) {
            let list = budget * universe.log_log();
            let lists = [List::First(list), List::Latest(list), List::Any(list)];
            // What a full list does with another mistake matters little: one universe shows it.
            let lists = &lists[..if bits == 64 { 3 } else { 1 }];
            all.extend(lists.iter().map(|list| of(ON_THE_WAY, Side::Alone(base, *list), budget)));
        }
        all.push(of(HOLDS, Side::Alone(base, List::All), f64::NAN));
        all.push(of(HOLDS, Side::Broom, f64::NAN));
    }
    all
}

impl Match {
    fn name(&self) -> String {
        let Match { role, side, universe, budget } = self;
        let budget = if budget.is_nan() { String::new() } else { format!(", {budget:.3}") };
        format!("{}, {role}{budget}, {} bits", side.label(), universe.bits)
    }

    /// Seconds of a trial: keys, mostly of making them longer, and the broom filter's updates.
    fn work(&self) -> f64 {
        let broom = if self.side == Side::Broom { 3e-5 } else { 0.0 };
        self.universe.keys as f64 * (3e-6 + f64::from(self.universe.bits) * 4e-9 + broom)
    }

    fn measure(&self, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let Match { role, side, universe, budget } = *self;
        let found = attack(side, universe.keys, universe.bits, planted == Planted::WrongRule, seed)?;
        let named = u32::from(found.named_is_wrong);
        Ok(vec![line![
            side.label(),
            role,
            universe.bits,
            universe.keys,
            universe.epsilon_0(),
            universe.bound(),
            budget,
            found.bits_at_start,
            found.bits,
            found.original_share,
            found.asked_original,
            found.first_wrong,
            found.second_wrong,
            found.rounds,
            found.fixed_most,
            found.wrong_at_end,
            named,
            found.rate_at_end,
            found.unasked,
            found.unasked_fixed,
        ]])
    }
}

impl Experiment for LowerBound {
    fn name(&self) -> &'static str {
        "lower-bound"
    }

    fn claim(&self) -> &'static str {
        "A filter with few bits and no remote cannot adapt"
    }

    fn measures(&self) -> &'static str {
        "Old mistakes that filters with and without a remote repeat, over their memory"
    }

    fn source(&self) -> &'static str {
        "001, Lemma 4, Theorem 5 and section 6"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let universes: Vec<String> = universes(size).iter().map(ToString::to_string).collect();
        vec![
            format!(
                "The attack of section 6.1: a random set Q of n = {} absent keys is asked, then those that were wrong, then those \
                 that were wrong again, for 32 rounds at most. Keys have {} bits, so that log log u grows. A filter without a \
                 remote cannot know which stored key a mistake collides with, and may never turn a stored key away, so it can \
                 only list mistakes, as whole keys. It is a Bloom filter, or a partial-key cuckoo filter, with a list of all its \
                 mistakes (Lemma 28), or of as many as fit: the first, the latest, or random ones.",
                keys(size),
                universes.join(", ")
            ),
            "\"In the bound's memory\" means n log(1/ε₀) + 4n bits, the most for which section 6 shows that no filter without a remote \
             is adaptive; ε₀ = max(n^(−1/4), log² log u / log u). Beside them is a broom filter with remainders of 3 bits, \
             whose remote is not counted; with so few keys its fixed overhead weighs most of its memory. The adversary may name any \
             false positive of its first round: the share of these that are wrong at the end is its chance to win. Of all these \
             filters every false positive is an absolute one, in the paper's words: another set would have led to the same bits."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "filter",
            "role",
            "log_u",
            "keys",
            "epsilon_0",
            "bound_bits_per_key",
            "list_over_n_log_log_u",
            "bits_per_key_start",
            "bits_per_key",
            "original_share",
            "asked_original",
            "first_wrong",
            "second_wrong",
            "rounds",
            "fixed_most",
            "wrong_at_end",
            "named_is_wrong",
            "rate_at_end",
            "unasked",
            "unasked_fixed",
        ]
    }

    fn budget(&self, _: Size) -> Budget {
        // A median of trials that all agree is clear after about thirty.
        Budget { first: 32, most: 64 }
    }

    /// A planted wrong rule: no filter is told of mistakes about odd keys.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let planted = setup.planted;
        let point = |it: Match| {
            Point::new(it.name(), it.work(), &(it, planted == Planted::WrongRule), move |seed| {
                it.measure(planted, seed)
            })
        };
        matches(setup.size).into_iter().map(point).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let on_the_way = table.only("role", ON_THE_WAY);
        let mut lines = Vec::new();
        for universe in on_the_way.values("log_u") {
            let own = on_the_way.only("log_u", universe.clone());
            for filter in own.values("filter") {
                let label = format!("{filter}, keys of {universe} bits");
                lines.push(curve(
                    &own.only("filter", filter),
                    label,
                    lines.len(),
                    "list_over_n_log_log_u",
                    wrong_share,
                ));
            }
        }
        let budget = Picture {
            name: "lower-bound-list".into(),
            title: "Mistakes of the first round that are wrong again".into(),
            x: Axis::linear("bits of the list over n log log u"),
            y: Axis::linear("share that is wrong at the end"),
            lines,
        };
        let holding = [(LISTED, 13), (BROOM, 9)].map(|(filter, look)| {
            curve(&table.only("role", HOLDS).only("filter", filter), filter.into(), look, "log_u", |own| {
                own.sample("bits_per_key")
            })
        });
        let bound = table.means("log_u", "bound_bits_per_key");
        let memory = Picture {
            name: "lower-bound-memory".into(),
            title: "Memory of the filters that repeat no mistake".into(),
            x: Axis::log("log u: bits of a key"),
            y: Axis::linear("bits a key of L after the attack"),
            lines: holding.into_iter().chain([Curve::model("n log(1/ε₀) + 4n", 0, bound)]).collect(),
        };
        vec![budget, memory]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        statements::all(table, universes(size))
    }
}

/// For each trial, the share of the first round's mistakes that are wrong at the end. A trial without mistakes says nothing.
fn wrong_share(own: &Table) -> crate::experiment::Sample {
    own.sample_by(|rows| {
        let sum = |column: &str| rows.iter().filter_map(|row| row.number(column)).sum::<f64>();
        let first = sum("first_wrong");
        (first > 0.0).then(|| sum("wrong_at_end") / first)
    })
}

/// Means of a quantity over a column, with 95 % intervals.
fn curve(
    own: &Table,
    label: String,
    look: usize,
    along: &str,
    of: impl Fn(&Table) -> crate::experiment::Sample,
) -> Curve {
    let mut points: Vec<(f64, statistics::Interval)> = Vec::new();
    for value in own.values(along) {
        let Some(x) = value.number() else { continue };
        let sample = of(&own.only(along, value));
        if !sample.is_empty() {
            points.push((x, statistics::mean(&sample.values(), 0.05)));
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let drawn = points.iter().map(|(x, interval)| (*x, interval.estimate)).collect::<Vec<_>>();
    let finite = points.iter().all(|(_, interval)| interval.low.is_finite() && interval.high.is_finite());
    let curve = Curve::measured(label, look, drawn);
    if finite { curve.within(points.iter().map(|(_, it)| (it.low, it.high)).collect()) } else { curve }
}
