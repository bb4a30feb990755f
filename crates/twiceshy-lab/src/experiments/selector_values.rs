//! 004 Corollary 3: how far the selectors of a telescoping filter move.

use super::selector_histogram::{Asked, histogram};
use crate::experiment::{
    Axis, Curve, Experiment, Finding, Line, Picture, Row, Setup, Size, Table, Task, TaskError, line,
};
use crate::models::selectors;

/// Few selectors move, and hardly any moves twice.
pub(super) struct SelectorValues;

const BITS: u32 = 8;

const C: [f64; 7] = [1.0, 2.0, 4.0, 7.0, 10.0, 15.0, 20.0];

fn measure(slots: u64, c: f64, asked: Asked, seed: u64) -> Result<Vec<Line>, TaskError> {
    let keys_with = histogram(slots, BITS, c, asked, seed)?;
    let keys: u64 = keys_with.iter().sum();
    let epsilon = (-f64::from(BITS)).exp2();
    let mut lines = Vec::new();
    for (k, found) in (0u32..=5).zip(keys_with.iter().copied().chain(std::iter::repeat(0))) {
        let law = match asked {
            Asked::Once => selectors::asked_once(k, epsilon, c),
            Asked::Repeated => selectors::repeated(k, epsilon, c),
        };
        let share = found as f64 / keys as f64;
        lines.push(line![
            asked.as_str(),
            c,
            k,
            keys,
            found,
            share,
            law,
            selectors::corollary3(k, epsilon, c),
            slots,
            BITS
        ]);
    }
    Ok(lines)
}

impl Experiment for SelectorValues {
    fn name(&self) -> &'static str {
        "selector-values"
    }

    fn claim(&self) -> &'static str {
        "Few hash selectors move, and hardly any moves twice"
    }

    fn source(&self) -> &'static str {
        "004, Corollary 3"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let slots = size.pick("65,536", "1,000,000");
        vec![
            format!(
                "Telescoping filters of {slots} slots with {BITS}-bit remainders and plain selectors, so that no block is ever \
                 reset, at 95 % load, after c·n distinct queries: each asked once, or all repeated until none is \
                 wrong."
            ),
            "The exact laws in the pictures are this project's: queries that share a key's quotient are Poisson with mean c, and \
             each moves the selector on with probability ε whenever it is asked."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["asked", "c", "selector", "keys", "found", "share", "law", "corollary3", "slots", "remainder_bits"]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let slots = setup.size.pick(1 << 16, 1_000_000);
        let seed = setup.seed;
        let mut tasks = Vec::new();
        for asked in [Asked::Once, Asked::Repeated] {
            for c in C {
                let work = slots as f64 * (1e-5 + c * if asked == Asked::Once { 1e-7 } else { 5e-7 });
                let name = format!("asked {}, c = {c}", asked.as_str());
                tasks.push(Task::new(name, work, move || measure(slots, c, asked, seed)));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let picture = |asked: Asked| {
            let own = table.only("asked", asked.as_str());
            let mut lines = Vec::new();
            for k in 1..=4u32 {
                let of_k = own.only("selector", k);
                let look = k as usize - 1;
                lines.push(Curve::measured(format!("selector {k}"), look, of_k.pairs("c", "share")));
                lines.push(Curve::model(format!("selector {k}, law"), look, of_k.pairs("c", "law")));
                lines.push(Curve::model(format!("selector {k}, Corollary 3"), look + 7, of_k.pairs("c", "corollary3")));
            }
            Picture {
                name: format!("selector-values-{}", asked.as_str()),
                title: format!("Queries asked {}", asked.as_str()),
                x: Axis::linear("c: distinct queries over slots"),
                y: Axis::log("share of the keys"),
                lines,
            }
        };
        [Asked::Once, Asked::Repeated].map(picture).into()
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        [Asked::Once, Asked::Repeated].into_iter().flat_map(|asked| of_way(table, asked)).collect()
    }
}

/// The findings for queries asked in one of the two ways.
fn of_way(table: &Table, asked: Asked) -> [Finding; 2] {
    let own = table.only("asked", asked.as_str());
    // Standard deviations of the counts above the predicted share of the keys, if there are enough.
    let above = |row: &Row<'_>, column: &str| {
        let (keys, found) = (row.number("keys")?, row.number("found")?);
        let expected = keys * row.number(column)?;
        (expected >= 5.0 || found >= 5.0).then(|| (found - expected) / expected.max(1.0).sqrt())
    };
    let moved = || own.rows().filter(|row| row.number("selector").is_some_and(|k| k >= 1.0));
    let worst = |column: &str| {
        let all = moved().filter_map(|row| Some((above(&row, column)?, row)));
        all.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let off = own.rows().filter_map(|row| above(&row, "law")).map(f64::abs).fold(0.0, f64::max);
    let (deviations, times, place) = worst("corollary3").map_or((0.0, 0.0, String::new()), |(deviations, row)| {
        let times = row.number("share").unwrap_or(0.0) / row.number("corollary3").unwrap_or(1.0);
        (deviations, times, format!("selector {} at c = {}", row.text("selector"), row.text("c")))
    });
    let by_law = moved().filter_map(|row| Some((row.number("law")? / row.number("corollary3")?, row.text("selector"))));
    let passed = by_law.filter(|(times, _)| *times > 1.0).map(|(_, selector)| selector).min();
    let way = asked.as_str();
    [
        Finding::new(
            format!("Corollary 3 bounds Pr[v = k] for any sequence; here queries are asked {way}"),
            format!("nearest to the bound or above it: {place}, {times:.2} times the bound, {deviations:.1} standard deviations"),
            deviations < 4.0,
        )
        .because(
            "Lemma 2 counts the ways to choose the colliding queries, but not the orders in which they collide: with repeated \
             queries the exact probability of k = 2 is ε²(c + c²), not ε²(c + c²/2)",
        )
        .open_if(
            deviations < 4.0 && passed.is_some(),
            format!(
                "the exact law exceeds the bound from selector {} on, but too few keys get there to measure it",
                passed.unwrap_or_default()
            ),
        )
        .of(own.len()),
        Finding::new(
            format!("The exact law of selectors whose queries are asked {way} (this project's)"),
            format!("the worst count is {off:.1} standard deviations off"),
            off < 4.0,
        )
        .of(own.len()),
    ]
}
