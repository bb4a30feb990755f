//! 003 Figure 1, the costly part: 8 bits, 1,000 queries a key, A/S from 20.

use super::uniform_grid::{self, At, Kind, Run};
use crate::experiment::{Budget, Experiment, Picture, Point, Setup, Size, Statement, Table};

/// With 8 bits and many keys adaptive filters rotate through their functions, however often the keys are asked for.
pub(super) struct RepeatedQueries;

const KINDS: [Kind; 5] =
    [Kind::Plain, Kind::Cyclic { s: 1 }, Kind::Cyclic { s: 2 }, Kind::Cyclic { s: 3 }, Kind::Swapping];

fn ratios(size: Size) -> &'static [u64] {
    size.of(&[5], &[20], &[20, 50, 100])
}

/// Trials with up to 10^9 false positives each.
const TRIALS: u64 = 2;

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
        vec![format!(
            "The points of `uniform-queries` whose trials have up to 10⁹ false positives, measured in the same way, at fewer A/S and \
             with {TRIALS} trials each. That is too few for a verdict, so no statement is tested here."
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        uniform_grid::COLUMNS
    }

    fn budget(&self, _: Size) -> Budget {
        Budget { first: TRIALS, most: TRIALS }
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let at = ratios(setup.size).iter().map(|ratio| At::new(8, 1_000, *ratio));
        let runs: Vec<Run> = at.flat_map(|at| KINDS.map(|kind| Run { kind, at })).collect();
        Run::points(&runs, setup)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        uniform_grid::pictures(self.name(), table, &KINDS)
    }

    fn statements(&self, _: &Table, _: Size) -> Vec<Statement> {
        Vec::new()
    }
}
