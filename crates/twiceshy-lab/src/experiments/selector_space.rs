//! 004 Theorem 4: the space of selectors in an optimal code.

use super::selector_histogram::{Asked, histogram};
use crate::experiment::{Axis, Curve, Experiment, Finding, Line, Picture, Setup, Size, Table, Task, TaskError, line};
use crate::models::selectors;

/// An optimal code stores selectors in less than a bit per key.
pub(super) struct SelectorSpace;

const WIDTHS: [u32; 3] = [4, 6, 8];

const B: [f64; 6] = [2.0, 3.0, 4.0, 5.0, 6.0, 8.0];

/// Bits per key, if a selector that a share p of the keys has takes log2(1/p) bits.
fn entropy(keys_with: &[u64]) -> f64 {
    let keys: u64 = keys_with.iter().sum();
    let share = |found: &u64| *found as f64 / keys as f64;
    keys_with.iter().filter(|found| **found > 0).map(|found| -share(found) * share(found).log2()).sum()
}

fn measure(slots: u64, bits: u32, b: f64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let epsilon = (-f64::from(bits)).exp2();
    let c = 1.0 / (b * epsilon.sqrt());
    let found = entropy(&histogram(slots, bits, c, Asked::Repeated, seed)?);
    let bound = 1.0 / std::f64::consts::E + b / (b - 1.0).powi(2);
    Ok(vec![line![bits, b, c, slots, found, selectors::expected_bits(epsilon, c), bound]])
}

impl Experiment for SelectorSpace {
    fn name(&self) -> &'static str {
        "selector-space"
    }

    fn claim(&self) -> &'static str {
        "Selectors fit into less than a bit per key for many queries per key"
    }

    fn source(&self) -> &'static str {
        "004, Theorem 4"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "Telescoping filters with plain selectors, {} slots at 95 % load, after n/(b√ε) distinct queries that are repeated \
             until none is wrong: the bits that the selectors found would take in an optimal code, compared with what the exact law of \
             selectors expects and the theorem's bound of 1/e + b/(b − 1)².",
            size.pick("32,768", "1,000,000")
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["remainder_bits", "b", "c", "slots", "bits_found", "bits_expected", "bound"]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let slots = setup.size.pick(1 << 15, 1_000_000);
        let seed = setup.seed;
        let mut tasks = Vec::new();
        for bits in WIDTHS {
            for b in B {
                let name = format!("{bits} bits, b = {b}");
                tasks.push(Task::new(name, slots as f64 * 1.2e-5, move || measure(slots, bits, b, seed)));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let mut lines = Vec::new();
        for (look, bits) in WIDTHS.into_iter().enumerate() {
            let own = table.only("remainder_bits", bits);
            lines.push(Curve::measured(format!("ε = 2^-{bits}, found"), look, own.pairs("b", "bits_found")));
            lines.push(Curve::model(format!("ε = 2^-{bits}, expected"), look, own.pairs("b", "bits_expected")));
        }
        lines.push(Curve::model("Theorem 4", 9, table.only("remainder_bits", WIDTHS[0]).pairs("b", "bound")));
        vec![Picture {
            name: "selector-space".into(),
            title: "Bits that selectors take after n/(b√ε) distinct queries".into(),
            x: Axis::own_range("b: the larger, the fewer queries"),
            y: Axis::linear("bits a key"),
            lines,
        }]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let ratio = |of: &str, over: &str| {
            let all = table.rows().filter_map(|row| Some((row.number(of)? / row.number(over)?, row)));
            let worst = all.max_by(|a, b| a.0.total_cmp(&b.0));
            worst.map_or((0.0, String::new()), |(ratio, row)| {
                (ratio, format!("ε = 2^-{}, b = {}", row.text("remainder_bits"), row.text("b")))
            })
        };
        let (of_bound, at) = ratio("bits_found", "bound");
        let off =
            table.rows().filter_map(|row| Some((row.number("bits_found")? / row.number("bits_expected")? - 1.0).abs()));
        let off = off.fold(0.0, f64::max);
        vec![
            Finding::new(
                "Theorem 4: at most 1/e + b/(b − 1)² bits a key",
                format!("nearest to the bound: {at}, {:.0} % of it", of_bound * 100.0),
                of_bound <= 1.0,
            )
            .of(table.len()),
            Finding::new(
                "The exact law of selectors (this project's) gives the bits found",
                format!("within {:.1} %", off * 100.0),
                off < 0.05,
            )
            .open_if(
                table.first("slots").is_none_or(|slots| slots < 500_000.0),
                "few keys have moved selectors in tables this small",
            ),
        ]
    }
}
