//! 003 Figure 1, the costly part: 8 bits, 1,000 queries a key, A/S from 20.

use super::model_fit::{PRINTED, REFINED, fits};
use super::uniform_grid::{self, At, Kind, Run};
use super::uniform_queries::refined_formula_fits;
use crate::experiment::{Budget, Experiment, Picture, Point, Setup, Size, Statement, Table};

/// With 8 bits and many keys adaptive filters rotate through their functions, however often the keys are asked for.
pub(super) struct RepeatedQueries;

const KINDS: [Kind; 5] =
    [Kind::Plain, Kind::Cyclic { s: 1 }, Kind::Cyclic { s: 2 }, Kind::Cyclic { s: 3 }, Kind::Swapping];

const PER_KEY: u64 = 1_000;

/// Few, since a trial has up to 10⁹ false positives.
fn ratios(size: Size) -> &'static [u64] {
    size.of(&[50], &[20], &[20, 50, 100])
}

impl Experiment for RepeatedQueries {
    fn name(&self) -> &'static str {
        "repeated-queries"
    }

    fn claim(&self) -> &'static str {
        "With 8 bits and many absent keys, cells rotate through false positives, however often keys are asked for"
    }

    fn measures(&self) -> &'static str {
        "False-positive rates with 8 bits a cell after 1,000 queries a key, over A/S"
    }

    fn source(&self) -> &'static str {
        "003, Figure 1"
    }

    fn method(&self, _: Size) -> Vec<String> {
        vec![
            "The points of `uniform-queries` whose trials have up to 10⁹ false positives, measured in the same way, at fewer A/S."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        uniform_grid::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        Budget { first: size.of(10, 5, 10), most: 10 }
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let at = ratios(setup.size).iter().map(|ratio| At::new(8, PER_KEY, *ratio));
        let runs: Vec<Run> = at.flat_map(|at| KINDS.map(|kind| Run { kind, at })).collect();
        Run::points(&runs, setup)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        uniform_grid::pictures(self.name(), table, &KINDS)
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let printed = "section 4.1: the error of the estimates is in most cases well below 5 % (Cyclic, the formula as printed), with 1,000 queries \
             a key as well";
        let sampled = "section 4.1: the same for Swapping, by sampling, with 1,000 queries a key as well";
        let mut statements = vec![
            fits(printed, table, PRINTED, |filter| filter.starts_with("cyclic")).because(refined_formula_fits(table)),
            fits(sampled, table, REFINED, |filter| filter == "swapping"),
        ];
        let many: Vec<u64> = ratios(size).iter().copied().filter(|ratio| *ratio >= 50).collect();
        if !many.is_empty() {
            statements.push(loses_when_many(table, &many));
        }
        statements
    }
}

/// However often keys are asked for, every filter is above the plain one.
fn loses_when_many(table: &Table, ratios: &[u64]) -> Statement {
    let all = ratios
        .iter()
        .flat_map(|ratio| KINDS[1..].iter().map(|kind| Run { kind: *kind, at: At::new(8, PER_KEY, *ratio) }));
    Statement::new(
        "section 4.1: with 8 bits an ACF has the lower rate only when A/S is small, with 1,000 queries a key as well",
        "rate over the plain filter's, of every variant: above 1 at A/S 50 and more",
    )
    .every(all.map(|run| run.over(Run { kind: Kind::Plain, ..run }, table).above(1.0)).collect())
}
