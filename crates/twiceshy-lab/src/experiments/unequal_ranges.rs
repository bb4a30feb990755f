//! 003 Figure 4: Cyclic with unequal ranges.

use super::model_fit::{REFINED, fits};
use super::uniform_grid::{self, At, Kind, Run};
use crate::experiment::{Budget, Evidence, Experiment, Picture, Point, Sample, Setup, Size, Statement, Table};
use crate::statistics::Looks;

/// A first function with most of the range helps if cells are large.
pub(super) struct UnequalRanges;

/// r, the share of the first function: 1 − 2^−r.
const SPLITS: [u32; 3] = [1, 2, 3];

/// s: 2^s functions share the rest.
const SELECTOR_BITS: [u32; 4] = [0, 1, 2, 3];

const RATIOS: [u64; 15] = [1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// The A/S for what is in the text and not in Figure 4, by the bits of a cell.
fn some_ratios(bits: u32) -> &'static [u64] {
    if bits > 8 { &[1, 5, 10, 50, 100] } else { &[1, 5, 20, 50] }
}

fn unequal(r: u32, s: u32) -> Kind {
    Kind::Unequal { r, s }
}

/// Swapping, and r = 1, 2, 3 with one s.
fn around(s: u32) -> Vec<Kind> {
    [Kind::Swapping].into_iter().chain(SPLITS.map(|r| unequal(r, s))).collect()
}

/// The filters of Figure 4.
fn figure() -> Vec<Kind> {
    [around(2), vec![Kind::Cyclic { s: 2 }, Kind::Plain]].concat()
}

/// The points with their filters: Figure 4's s = 2 where statements can be decided in seconds, and a few other (r, s) there.
fn quick() -> Vec<(At, Vec<Kind>)> {
    let others = |pairs: &[(u32, u32)]| [around(2), pairs.iter().map(|&(r, s)| unequal(r, s)).collect()].concat();
    vec![
        (At::new(8, 10, 20), around(2)),
        (At::new(8, 10, 50), others(&[(2, 0), (2, 3)])),
        (At::new(12, 100, 1), others(&[(2, 1)])),
        (At::new(12, 100, 5), around(2)),
        (At::new(12, 10, 5), vec![Kind::Swapping, unequal(2, 2)]),
        (At::new(12, 100, 50), others(&[(2, 3)])),
        (At::new(16, 100, 20), others(&[(2, 3)])),
    ]
}

/// Figure 4 in full, and all (r, s) for the queries a key of Figures 1 to 3, with 8 bits only for 10.
fn paper() -> Vec<(At, Vec<Kind>)> {
    let mut points = Vec::new();
    for (bits, all) in [(8, &[10, 100][..]), (12, &[10, 100, 1000]), (16, &[10, 100, 1000])] {
        for per_key in all {
            for at in At::grid(Size::Paper, &[bits], &[*per_key], &RATIOS) {
                let mut kinds = if *per_key == 100 { figure() } else { Vec::new() };
                if some_ratios(bits).contains(&at.ratio) && (bits > 8 || *per_key == 10) {
                    kinds.extend(SELECTOR_BITS.into_iter().flat_map(around));
                }
                let mut distinct: Vec<Kind> = Vec::new();
                kinds.into_iter().for_each(|kind| {
                    if !distinct.contains(&kind) {
                        distinct.push(kind);
                    }
                });
                points.extend((!distinct.is_empty()).then_some((at, distinct)));
            }
        }
    }
    points
}

fn points(size: Size) -> Vec<(At, Vec<Kind>)> {
    size.of(vec![(At::new(8, 10, 20), around(2))], quick(), paper())
}

/// Every filter with unequal ranges, at each of its points.
fn runs(size: Size) -> Vec<Run> {
    let of = |(at, kinds): (At, Vec<Kind>)| kinds.into_iter().map(move |kind| Run { kind, at });
    points(size).into_iter().flat_map(of).filter(|run| matches!(run.kind, Kind::Unequal { .. })).collect()
}

impl Experiment for UnequalRanges {
    fn name(&self) -> &'static str {
        "unequal-ranges"
    }

    fn claim(&self) -> &'static str {
        "A first fingerprint function with most of the range helps if cells are large"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates of Cyclic with unequal ranges under uniform queries, over A/S"
    }

    fn source(&self) -> &'static str {
        "003, Figure 4"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let cells = size.pick("8,400 to 40,000 cells", "131,072 cells");
        let shown = size.pick(
            "s = 2 and a few others",
            "s = 2 with 100 queries per key at all A/S of the paper, and s = 0 to 3 with 10 and, from 12 bits on, 100 and 1,000 queries per \
             key at A/S 1, 5, 10, 50 and 100 (8 bits: 1, 5, 20 and 50). 8 bits with 100 queries per key above A/S 10 are measured at \
             20, 50 and 100 only, with no more than ten trials, since a trial has up to 10⁸ false positives; no statement compares them",
        );
        vec![
            format!(
                "{cells} at 95 % load; r = 1, 2, 3 give the first function 1/2, 3/4, 7/8 of the values, and 2^s others share the \
                 rest: {shown}."
            ),
            "The model is that of section 3.2 with two corrections: the factor inside the printed product belongs \
             outside, and μ_j is ζ divided by the range R_j. The paper compares with Swapping, the best of the others."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        uniform_grid::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        uniform_grid::budget(size)
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let of = |(at, kinds): (At, Vec<Kind>)| kinds.into_iter().map(move |kind| Run { kind, at });
        let runs: Vec<Run> = points(setup.size).into_iter().flat_map(of).collect();
        Run::points(&runs, setup)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let drawn = |s: u32| {
            let kinds = if s == 2 { figure() } else { around(s) };
            let is_there = SPLITS.iter().any(|r| !table.only("filter", unequal(*r, s).label()).is_empty());
            let name = if s == 2 { self.name().to_owned() } else { format!("{} s {s}", self.name()) };
            let all = if is_there { uniform_grid::pictures(&name, table, &kinds) } else { Vec::new() };
            // Of some points there are only the filters that these are compared with.
            let shows = |picture: &Picture| picture.lines.iter().any(|line| line.label.starts_with("cyclic, r"));
            all.into_iter()
                .filter(shows)
                .map(move |picture| Picture { title: format!("{}, s = {s}", picture.title), ..picture })
        };
        SELECTOR_BITS.into_iter().flat_map(drawn).collect()
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let data = Data { table, runs: runs(size), looks: self.looks(table, size) };
        let is_unequal = |filter: &str| filter.starts_with("cyclic, r");
        let mut statements = vec![
            fits("This project: section 3.2, the model, corrected", table, REFINED, is_unequal),
            data.no_benefit(),
        ];
        if size != Size::Tiny {
            let memory = points(size).into_iter().map(|(at, kinds)| uniform_grid::memory(table, at, &kinds)).collect();
            statements.push(uniform_grid::equal_memory(memory));
            statements.extend([
                data.gets_worse(),
                data.wide(),
                data.middle(),
                data.middle_others(),
                data.repeats_do_not_matter(),
            ]);
        }
        statements
    }
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Below,
    Above,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Below => Side::Above,
            Side::Above => Side::Below,
        }
    }

    /// That the evidence lies on this side of a limit.
    fn of(self, limit: f64, evidence: Evidence) -> Evidence {
        match self {
            Side::Below => evidence.below(limit),
            Side::Above => evidence.above(limit),
        }
    }
}

/// What the paper says of a run, compared with Swapping.
#[derive(Clone, Copy, Debug)]
struct Claim {
    run: Run,
    side: Side,
    limit: f64,
}

struct Data<'a> {
    table: &'a Table,
    runs: Vec<Run>,
    looks: Looks,
}

/// r and s of a filter.
fn shares(run: &Run) -> (u32, u32) {
    if let Kind::Unequal { r, s } = run.kind { (r, s) } else { (0, 0) }
}

impl Data<'_> {
    fn some(&self, wanted: impl Fn(&Run) -> bool) -> Vec<Run> {
        self.runs.iter().copied().filter(|run| wanted(run)).collect()
    }

    /// What the paper says of some runs: that their rate is below this multiple of Swapping's, or above it.
    fn claims(&self, side: Side, limit: f64, wanted: impl Fn(&Run) -> bool) -> Vec<Claim> {
        self.some(wanted).into_iter().map(|run| Claim { run, side, limit }).collect()
    }

    fn evidence(&self, claim: &Claim) -> Evidence {
        let run = claim.run;
        claim.side.of(claim.limit, run.over(Run { kind: Kind::Swapping, ..run }, self.table))
    }

    /// A statement that all of these hold. The reason, if some do not: the models of 003 contradict them too.
    fn all(&self, paper: &str, tested: &str, claims: &[Claim]) -> Statement {
        let contradicted: Vec<&Claim> =
            claims.iter().filter(|claim| self.evidence(claim).contradicts(self.looks)).collect();
        let predicted = contradicted.iter().map(|Claim { run, side, limit }| {
            let label = format!("{}, model over Swapping's", run.name());
            side.other().of(*limit, Evidence::exact(label, self.to_swapping(run, "model")))
        });
        let near = self.near(contradicted.iter().map(|claim| claim.run));
        Statement::new(paper, tested).every(claims.iter().map(|claim| self.evidence(claim)).collect()).because(
            Statement::new(
                "the paper's own models contradict it there too, and are right",
                "at the points that surely do not hold: the model's rate over that of Swapping's model, on the same side as the measured \
                 one; measured rate over the model's, 0.8 to 1.25 in the mean over these points",
            )
            .every(predicted.chain(near).collect()),
        )
    }

    /// The measured rate over the model's, in the mean over some runs: each alone may have few false positives.
    fn near(&self, runs: impl Iterator<Item = Run>) -> Option<Evidence> {
        let fits = runs.map(|run| {
            let of = |column| run.of(self.table).sample(column);
            of("fpr").with(&of(REFINED), |measured, model| measured / model)
        });
        let fits: Vec<Sample> = fits.collect();
        let count = fits.len() as f64;
        let sum = fits.into_iter().reduce(|sum, fit| sum.with(&fit, |sum, fit| sum + fit))?;
        Some(Evidence::mean("measured over the model's", &sum.map(|sum| sum / count)).within(0.8, 1.25))
    }

    /// A run's mean rate over Swapping's, measured or by the models.
    fn to_swapping(&self, run: &Run, column: &str) -> f64 {
        let mean = |run: &Run| run.of(self.table).sample(column).mean();
        mean(run) / mean(&Run { kind: Kind::Swapping, ..*run })
    }

    fn no_benefit(&self) -> Statement {
        self.all(
            "section 4.1: with 8 bits there is no benefit",
            "rate over Swapping's, of every (r, s) at every point where the queries are not too many for more trials: above 1",
            &self.claims(Side::Above, 1.0, |run| run.at.bits == 8 && !run.at.is_long()),
        )
    }

    fn gets_worse(&self) -> Statement {
        let from = |run: &Run| Run { at: At { ratio: 20, ..run.at }, ..*run };
        let at = |run: &Run| run.at.bits == 8 && run.at.ratio == 50 && shares(run).1 == 2 && !run.at.is_long();
        let known = |run: &Run| self.runs.iter().any(|other| other.kind == run.kind && other.at == from(run).at);
        let grows = |run: Run| run.over(from(&run), self.table).above(1.0);
        Statement::new(
            "section 4.1: with 8 bits the rate increases as A/S does",
            "s = 2, r = 1, 2, 3: the rate at A/S 50 over that at 20, above 1",
        )
        .every(self.some(|run| at(run) && known(run)).into_iter().map(grows).collect())
    }

    fn wide(&self) -> Statement {
        self.all(
            "section 4.1: with 16 bits there is an improvement for r = 2, 3 and s = 2, 3",
            "rate over Swapping's at every point: below 1",
            &self.claims(Side::Below, 1.0, |run| run.at.bits == 16 && shares(run).0 >= 2 && shares(run).1 >= 2),
        )
    }

    fn middle(&self) -> Statement {
        let gains = |run: &Run| run.at.bits == 12 && shares(run).0 >= 2 && shares(run).1 >= 1;
        let few = self.claims(Side::Below, 1.0, |run| gains(run) && run.at.ratio < 10);
        let many = self.claims(Side::Above, 1.0, |run| gains(run) && run.at.ratio >= 10);
        self.all(
            "section 4.1: with 12 bits there is a gain for A/S below 10 only, for r = 2, 3 and s = 1, 2, 3",
            "rate over Swapping's: below 1 at every point with A/S under 10, above 1 at every one from 10 on",
            &[few, many].concat(),
        )
    }

    /// The paper names r = 2, 3 and s = 1, 2, 3 only, so there is no gain for the others.
    fn middle_others(&self) -> Statement {
        let other = |run: &Run| run.at.bits == 12 && (shares(run).0 == 1 || shares(run).1 == 0);
        self.all(
            "section 4.1: with 12 bits there is no gain for r = 1 or s = 0",
            "rate over Swapping's at every point: at least 0.8, so that less than a fifth is no gain",
            &self.claims(Side::Above, 0.8, other),
        )
    }

    fn repeats_do_not_matter(&self) -> Statement {
        let from = |run: &Run| At { per_key: 10, ..run.at };
        let known = |run: &Run| self.runs.iter().any(|other| other.kind == run.kind && other.at == from(run));
        let of_both = |run: &Run| run.at.per_key > 10 && run.at.bits < 16 && shares(run) == (2, 2) && known(run);
        let all = self.some(|run| of_both(run) && !run.at.is_long());
        let shifted = |run: &Run| run.shifted(Kind::Swapping, from(run), self.table).within(0.8, 1.25);
        let contradicting: Vec<&Run> = all.iter().filter(|run| shifted(run).contradicts(self.looks)).collect();
        let reasons = contradicting.iter().map(|run| {
            let before = Run { at: from(run), ..**run };
            let of = |column| self.to_swapping(run, column) / self.to_swapping(&before, column);
            let predicted = Evidence::exact(format!("{}, by the models", run.name()), of("model"));
            if of("fpr") > 1.0 { predicted.above(1.25) } else { predicted.below(0.8) }
        });
        let near = self.near(contradicting.iter().flat_map(|run| [**run, Run { at: from(run), ..**run }]));
        Statement::new(
            "section 4.1: the relative performance shows little dependence on n_e",
            "r = 2, s = 2, 8 and 12 bits: the rate over Swapping's with 100 (or 1,000) queries a key over the same with 10, 0.8 to 1.25",
        )
        .every(all.iter().map(shifted).collect())
        .because(
            Statement::new(
                "the paper's own models depend on n_e as the measured rates do: Swapping comes to rest where the later functions, which have \
                 few values, do not",
                "at the points that surely do not hold: the models' ratio as the measured one, below 0.8 or above 1.25; measured rates over the \
                 models', 0.8 to 1.25 in the mean over these points",
            )
            .every(reasons.chain(near).collect()),
        )
    }
}
