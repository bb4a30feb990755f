//! 004 Theorem 4: the space of selectors in an optimal code.

use super::selector_histogram::{Asked, histogram};
use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Row, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::models::selectors;

/// An optimal code stores selectors in less than a bit per key.
pub(super) struct SelectorSpace;

fn widths(size: Size) -> &'static [u32] {
    size.of(&[4], &[4, 6], &[4, 6, 8])
}

fn sparseness(size: Size) -> &'static [f64] {
    size.pick(&[2.0, 4.0], &[2.0, 3.0, 4.0, 5.0, 6.0, 8.0])
}

/// Bits per key, if a selector that a share p of the keys has takes log2(1/p) bits.
fn entropy(keys_with: &[u64]) -> f64 {
    let keys: u64 = keys_with.iter().sum();
    let share = |found: &u64| *found as f64 / keys as f64;
    keys_with.iter().filter(|found| **found > 0).map(|found| -share(found) * share(found).log2()).sum()
}

fn measure(slots: u64, bits: u32, b: f64, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
    let epsilon = (-f64::from(bits)).exp2();
    let c = 1.0 / (b * epsilon.sqrt());
    let found = entropy(&histogram(slots, bits, c, Asked::Repeated, planted, seed)?);
    let bound = 1.0 / std::f64::consts::E + b / (b - 1.0).powi(2);
    Ok(vec![line![bits, b, c, slots, found, planted.model(selectors::expected_bits(epsilon, c)), bound]])
}

fn name(bits: u32, b: f64) -> String {
    format!("{bits} bits, b = {b}")
}

impl Experiment for SelectorSpace {
    fn name(&self) -> &'static str {
        "selector-space"
    }

    fn claim(&self) -> &'static str {
        "Selectors fit into less than a bit per key for many queries per key"
    }

    fn measures(&self) -> &'static str {
        "The entropy of selectors and the bits that their code takes"
    }

    fn source(&self) -> &'static str {
        "004, Theorem 4"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "Telescoping filters with plain selectors, {} slots at 95 % load, after n/(b√ε) distinct queries that are repeated \
             until none is wrong: the bits that the selectors found would take in an optimal code, compared with what the exact law of \
             selectors expects and the theorem's bound of 1/e + b/(b − 1)².",
            size.pick("16,384", "1,000,000")
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["remainder_bits", "b", "c", "slots", "bits_found", "bits_expected", "bound"]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 20, most: 20 }, Budget { first: 20, most: 80 }, Budget { first: 10, most: 40 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let slots = setup.size.pick(1 << 14, 1_000_000);
        let planted = setup.planted;
        let mut points = Vec::new();
        for &bits in widths(setup.size) {
            for &b in sparseness(setup.size) {
                let measure = move |seed: u64| measure(slots, bits, b, planted, seed);
                points.push(Point::new(name(bits, b), slots as f64 * 1.2e-6, &(slots, bits, b, planted), measure));
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let mut lines = Vec::new();
        for (look, bits) in table.values("remainder_bits").into_iter().enumerate() {
            let own = table.only("remainder_bits", bits.clone());
            lines.push(Curve::measured(format!("ε = 2^-{bits}, found"), look, own.means("b", "bits_found")));
            lines.push(Curve::model(format!("ε = 2^-{bits}, expected"), look, own.means("b", "bits_expected")));
        }
        lines.push(Curve::model("Theorem 4", 9, table.means("b", "bound")));
        vec![Picture {
            name: "selector-space".into(),
            title: "Bits that selectors take after n/(b√ε) distinct queries".into(),
            x: Axis::own_range("b: the larger, the fewer queries"),
            y: Axis::linear("bits a key"),
            lines,
        }]
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let over = |column: &'static str| {
            let at = widths(size).iter().flat_map(|bits| sparseness(size).iter().map(|b| name(*bits, *b)));
            at.map(move |point| {
                let quotient = |row: &Row<'_>| Some(row.number("bits_found")? / row.number(column)?);
                let sample = table.only("point", point.as_str()).sample_by(|rows| rows.first().and_then(quotient));
                Evidence::mean(point, &sample)
            })
        };
        vec![
            Statement::new(
                "Theorem 4: at most 1/e + b/(b − 1)² bits a key",
                "bits found over the bound, at every ε and b: at most 1",
            )
            .every(over("bound").map(|it| it.below(1.0)).collect()),
            Statement::new(
                "The exact law of selectors (this project's) gives the bits found",
                "bits found over those expected, at every ε and b: 0.95 to 1.05",
            )
            .every(over("bits_expected").map(|it| it.within(0.95, 1.05)).collect()),
        ]
    }
}
