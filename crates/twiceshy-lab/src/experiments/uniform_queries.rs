//! 003 Figures 1 to 3: adaptive cuckoo filters under uniformly repeated queries.

use super::model_fit::{PRINTED, REFINED, fit, fits};
use super::uniform_grid::{self, At, Kind, Run};
use crate::experiment::{Budget, Evidence, Experiment, Picture, Point, Setup, Size, Statement, Table};

/// Adaptive cuckoo filters have lower rates the more queries are repeated, as their models predict.
pub(super) struct UniformQueries;

const KINDS: [Kind; 5] =
    [Kind::Plain, Kind::Cyclic { s: 1 }, Kind::Cyclic { s: 2 }, Kind::Cyclic { s: 3 }, Kind::Swapping];

const CYCLIC: [Kind; 3] = [Kind::Cyclic { s: 1 }, Kind::Cyclic { s: 2 }, Kind::Cyclic { s: 3 }];

const ADAPTIVE: [Kind; 4] = [Kind::Cyclic { s: 1 }, Kind::Cyclic { s: 2 }, Kind::Cyclic { s: 3 }, Kind::Swapping];

const RATIOS: [u64; 15] = [1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// The points: a few with enough false positives, or the paper's.
fn grid(size: Size) -> Vec<At> {
    let few = |points: &[(u32, u64, u64)]| points.iter().map(|at| At::new(at.0, at.1, at.2)).collect();
    match size {
        Size::Tiny => few(&[(8, 10, 1), (8, 10, 50)]),
        Size::Quick => few(&[
            (8, 10, 1),
            (8, 10, 20),
            (8, 10, 50),
            (8, 100, 1),
            (8, 100, 2),
            (12, 10, 5),
            (12, 10, 100),
            (12, 100, 5),
            (16, 100, 20),
        ]),
        Size::Paper => At::grid(size, &[8, 12, 16], &[10, 100, 1000], &RATIOS),
    }
}

impl Experiment for UniformQueries {
    fn name(&self) -> &'static str {
        "uniform-queries"
    }

    fn claim(&self) -> &'static str {
        "Adaptive cuckoo filters have lower rates the more queries are repeated, as their models predict"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates of adaptive cuckoo filters under uniform queries, over A/S"
    }

    fn source(&self) -> &'static str {
        "003, Figures 1 to 3"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let tables = size.pick(
            "8,400 to 40,000 cells at 95 % load, fewer where a trial would have more than 800,000 absent keys;",
            "131,072 cells at 95 % load, as in the paper;",
        );
        let mut method = vec![
            format!(
                "{tables} absent keys are asked for with equal probability, 10, 100 or 1,000 times each on average, and the \
                 filter adapts to every false positive. The rates after 10, 100 and 1,000 queries a key are those of one run. \
                 All A/S of a trial have the same table, and the absent keys of a small A/S are among those of a larger one."
            ),
            "The queries between two false positives are skipped by their exact law (geometric). Collisions are those of the real \
             filter's fingerprints; what a false positive does to the selectors or cells is the paper's rule, replayed, which \
             tests compare with the real filter query by query. Models: section 3.1 as printed (model_printed), and with finitely many \
             queries and binomial collisions (model) for Cyclic, section 3.3 by sampling for Swapping, anew in each trial."
                .into(),
        ];
        if size == Size::Paper {
            method.push(
                "With 8 bits and A/S above 10 a trial has up to 10⁸ false positives for 100 queries a key, so there A/S are 20, 50 and 100 only, with no more than ten trials, and only the statements about the models use them; \
                 with 1,000 queries, up to 10⁹: they are an experiment of their own, `repeated-queries`."
                    .into(),
            );
        }
        method
    }

    fn columns(&self) -> &'static [&'static str] {
        uniform_grid::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        uniform_grid::budget(size)
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let runs: Vec<Run> = grid(setup.size).iter().flat_map(|at| KINDS.map(|kind| Run { kind, at: *at })).collect();
        Run::points(&runs, setup)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        uniform_grid::pictures(self.name(), table, &KINDS)
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        // Long points get no more trials, however unclear they are.
        let data = Data { table, grid: grid(size).into_iter().filter(|at| !at.is_long()).collect() };
        let mut statements = vec![
            printed_formula_fits(table),
            refined_formula_fits(table),
            fits("section 4.1: the same for Swapping, by sampling", table, REFINED, |filter| filter == "swapping"),
            data.loses_when_many(),
        ];
        if size != Size::Tiny {
            // Among the two points of the tiny size, one is where Swapping and s = 1 have the same rate.
            statements.push(data.swapping_is_better());
            statements.push(uniform_grid::equal_memory(data.memory()));
            statements.extend([12, 16].map(|bits| data.wins_at(bits)));
            statements.extend([data.few_keys_help(), data.repeats_help(), data.single_mistakes()]);
        }
        statements
    }
}

/// The printed formula is meant for enough queries that every cell which can come to rest has done so.
fn printed_formula_fits(table: &Table) -> Statement {
    let paper =
        "section 4.1: the error of the estimates is in most cases well below 5 % (Cyclic, the formula as printed)";
    fits(paper, table, PRINTED, |filter| filter.starts_with("cyclic")).because(refined_formula_fits(table))
}

pub(super) fn refined_formula_fits(table: &Table) -> Statement {
    let own = "This project: the formula of section 3.1 fits Cyclic with finitely many queries for a cell, one value fewer for the first \
               function, and no query counted twice";
    fits(own, table, REFINED, |filter| filter.starts_with("cyclic"))
}

/// The measurements, and the points that the statements are about.
struct Data<'a> {
    table: &'a Table,
    grid: Vec<At>,
}

impl Data<'_> {
    /// The rates of adaptive filters over the plain filter's, at some points.
    fn over_plain(&self, wanted: impl Fn(&At) -> bool) -> Vec<(Run, Evidence)> {
        let at = self.grid.iter().filter(|at| wanted(at)).flat_map(|at| ADAPTIVE.map(|kind| Run { kind, at: *at }));
        at.map(|run| (run, run.over(Run { kind: Kind::Plain, ..run }, self.table))).collect()
    }

    fn memory(&self) -> Vec<Evidence> {
        self.grid.iter().map(|at| uniform_grid::memory(self.table, *at, &KINDS)).collect()
    }

    fn wins_at(&self, bits: u32) -> Statement {
        let all = self.over_plain(|at| at.bits == bits);
        let (runs, evidence): (Vec<Run>, Vec<Evidence>) = all.into_iter().unzip();
        Statement::new(
            format!("section 4.1: with {bits} bits the ACFs outperform the cuckoo filter for all A/S"),
            "rate over the plain filter's, of every variant at every point: below 1",
        )
        .every(evidence.into_iter().map(|it| it.below(1.0)).collect())
        .because(self.model_agrees(&runs))
    }

    /// The paper's own model puts the filters above the plain one, where they are, and is right about it.
    fn model_agrees(&self, runs: &[Run]) -> Statement {
        let mean = |run: Run, column: &str| run.of(self.table).sample(column).mean();
        let mut evidence = Vec::new();
        for run in runs {
            let plain = Run { kind: Kind::Plain, ..*run };
            if mean(*run, "fpr") <= mean(plain, "fpr") || run.of(self.table).is_empty() {
                continue;
            }
            let predicted = mean(*run, "model") / mean(plain, "model");
            evidence
                .push(Evidence::exact(format!("{}, model over the plain filter's", run.name()), predicted).above(1.0));
            evidence.push(fit(&run.of(self.table), &run.name(), REFINED));
        }
        Statement::new(
            "selector bits cost fingerprint bits, and with many keys and few repeats that adds more collisions than \
             learning removes: the paper's own model says so there",
            "at the points above the plain filter: the model's rate over the plain filter's, above 1; measured rate over the \
             model's, 0.95 to 1.05",
        )
        .every(evidence)
    }

    fn loses_when_many(&self) -> Statement {
        let few = self.over_plain(|at| at.bits == 8 && at.ratio == 1);
        let many = self.over_plain(|at| at.bits == 8 && at.ratio >= 50);
        Statement::new(
            "section 4.1: with 8 bits an ACF has the lower rate only when A/S is small",
            "rate over the plain filter's: below 1 at more than half of the points with A/S 1, above 1 at all with 50 and more",
        )
        .most(0.51, few.into_iter().map(|(_, it)| it.below(1.0)).collect())
        .every(many.into_iter().map(|(_, it)| it.above(1.0)).collect())
    }

    fn swapping_is_better(&self) -> Statement {
        let mut evidence = Vec::new();
        // With 16 bits a trial has too few false positives, and s = 1 makes as many first mistakes as Swapping.
        for at in self.grid.iter().filter(|at| at.bits < 16) {
            let swapping = Run { kind: Kind::Swapping, at: *at };
            evidence.extend(CYCLIC.map(|kind| swapping.over(Run { kind, at: *at }, self.table).below(1.0)));
        }
        Statement::new(
            "section 4.1: the second variant (Swapping) is better than the first in almost all cases",
            "rate over Cyclic's, for every s at every point with 8 and 12 bits: below 1 in 90 % of the cases",
        )
        .most(0.9, evidence)
    }

    /// The pairs of points that are in the grid.
    fn measured(&self, pairs: [(At, At); 2]) -> Vec<(At, At)> {
        pairs.into_iter().filter(|(one, other)| self.grid.contains(one) && self.grid.contains(other)).collect()
    }

    /// The rates at one point over those at another, for each adaptive filter.
    fn compared(&self, pairs: &[(At, At)]) -> Vec<Evidence> {
        let of = |(one, other): &(At, At)| {
            ADAPTIVE.map(|kind| Run { kind, at: *one }.over(Run { kind, at: *other }, self.table).below(1.0))
        };
        pairs.iter().flat_map(of).collect()
    }

    fn few_keys_help(&self) -> Statement {
        let pairs = self.measured([10, 100].map(|per_key| (At::new(12, per_key, 5), At::new(12, per_key, 100))));
        Statement::new(
            "section 4.1: the false-positive rates of the ACFs are better for lower A/S",
            "12 bits, 10 queries a key, in the paper's size 100 too: the rate at A/S 5 over that at 100, below 1",
        )
        .every(self.compared(&pairs))
    }

    fn repeats_help(&self) -> Statement {
        let pairs = self.measured([5, 100].map(|ratio| (At::new(12, 100, ratio), At::new(12, 10, ratio))));
        Statement::new(
            "section 4.1: the performance improves when the number of queries a key increases",
            "12 bits, A/S 5, in the paper's size 100 too: the rate with 100 queries a key over that with 10, below 1",
        )
        .every(self.compared(&pairs))
    }

    /// If a key meets at most one stored key, Swapping is wrong about it once, and the plain filter every time.
    fn single_mistakes(&self) -> Statement {
        let gain = |at: At| {
            let gain = Run { kind: Kind::Plain, at }.over(Run { kind: Kind::Swapping, at }, self.table);
            gain.within(0.8 * 50.0, 1.25 * 50.0)
        };
        Statement::new(
            "section 4.1: the gain of Swapping is about n_e/2 if A/S times the plain rate is far below 1",
            "12 bits at A/S 5 and 16 bits at A/S 20, 100 queries a key: the plain filter's rate over Swapping's, 0.8 to 1.25 times 50",
        )
        .every([At::new(12, 100, 5), At::new(16, 100, 20)].map(gain).into())
    }
}
