//! 003 Figure 4: Cyclic with unequal ranges.

use super::model_fit::fits;
use super::uniform_grid::{self, At, Kind, Run};
use crate::experiment::{Budget, Evidence, Experiment, Picture, Point, Setup, Size, Statement, Table};

/// A first function with most of the range helps if cells are large.
pub(super) struct UnequalRanges;

const KINDS: [Kind; 6] = [
    Kind::Swapping,
    Kind::Unequal { r: 1, s: 2 },
    Kind::Unequal { r: 2, s: 2 },
    Kind::Unequal { r: 3, s: 2 },
    Kind::Cyclic { s: 2 },
    Kind::Plain,
];

/// The filters that statements are about, or all.
fn kinds(size: Size) -> &'static [Kind] {
    if size == Size::Paper { &KINDS } else { &KINDS[..4] }
}

const RATIOS: [u64; 15] = [1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

fn grid(size: Size) -> Vec<At> {
    let few = |points: &[(u32, u64, u64)]| points.iter().map(|at| At::new(at.0, at.1, at.2)).collect();
    match size {
        Size::Tiny => few(&[(8, 10, 20)]),
        Size::Quick => few(&[(8, 10, 20), (8, 10, 50), (12, 100, 1), (12, 100, 5), (12, 100, 50), (16, 100, 20)]),
        Size::Paper => At::grid(size, &[8, 12, 16], &[10, 100], &RATIOS),
    }
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
        let cells = size.pick("8,400 to 40,000 cells", "8,400 to 131,072 cells");
        vec![
            format!(
                "{cells} at 95 % load (fewer cells if a trial would take too many queries), 10 or 100 queries per key, s = 2; r = 1, 2, 3 give the first function 1/2, 3/4, 7/8 of the values."
            ),
            "The model is that of section 3.2 with two corrections: the factor inside the printed product belongs \
             outside, and μ_j is ζ divided by the range R_j."
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
        let at = grid(setup.size);
        let runs = at.iter().flat_map(|at| kinds(setup.size).iter().map(|kind| Run { kind: *kind, at: *at }));
        Run::points(&runs.collect::<Vec<Run>>(), setup)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        uniform_grid::pictures(self.name(), table, &KINDS)
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let grid = grid(size);
        let over_swapping = |splits: &[u32], wanted: &dyn Fn(&At) -> bool| -> Vec<Evidence> {
            let at = grid.iter().filter(|at| wanted(at));
            let runs = at.flat_map(|at| splits.iter().map(|r| Run { kind: Kind::Unequal { r: *r, s: 2 }, at: *at }));
            runs.map(|run| run.over(Run { kind: Kind::Swapping, ..run }, table)).collect()
        };
        let below = |evidence: Vec<Evidence>| evidence.into_iter().map(|it| it.below(1.0)).collect();
        let above = |evidence: Vec<Evidence>| evidence.into_iter().map(|it| it.above(1.0)).collect();
        let mut statements = vec![
            fits("section 3.2: the model, corrected", table, |filter| filter.starts_with("cyclic, r")),
            Statement::new(
                "section 4.1: with 8 bits there is no benefit",
                "rate over Swapping's, of r = 1, 2, 3 at every point: above 1",
            )
            .every(above(over_swapping(&[1, 2, 3], &|at| at.bits == 8))),
        ];
        if size != Size::Tiny {
            let wide = Statement::new(
                "section 4.1: with 16 bits, r = 2, 3 are below Swapping",
                "rate over Swapping's at every point: below 1",
            )
            .every(below(over_swapping(&[2, 3], &|at| at.bits == 16)));
            let middle = Statement::new(
                "section 4.1: with 12 bits there is a gain for A/S below 10 only",
                "r = 2, 3, rate over Swapping's: below 1 at every point with A/S under 10, above 1 at every one from 10 on",
            )
            .every(below(over_swapping(&[2, 3], &|at| at.bits == 12 && at.ratio < 10)))
            .every(above(over_swapping(&[2, 3], &|at| at.bits == 12 && at.ratio >= 10)));
            statements.extend([uniform_grid::equal_memory(table, &grid, kinds(size)), wide, middle]);
        }
        statements
    }
}
