//! How well the models of 003 fit the measurements on a grid of uniformly repeated queries.

use crate::experiment::{Evidence, Statement, Table};

/// With fewer false positives a trial, chance hides a difference of 5 %.
const ENOUGH: f64 = 1_000.0;

/// The column of the model with finite counts, each query counted once.
pub(super) const REFINED: &str = "model";

/// The column of the formula as it is printed.
pub(super) const PRINTED: &str = "model_printed";

/// The measured rate over the model's, in the lines of one run: a fit is within 5 %.
pub(super) fn fit(own: &Table, run: &str, model: &str) -> Evidence {
    Evidence::ratio(format!("{run}, over the model"), &own.sample("fpr"), &own.sample(model)).within(0.95, 1.05)
}

/// The statement that the model of some filters is less than 5 % away in most cases: at more than half of the points.
pub(super) fn fits(paper: &str, table: &Table, model: &str, wanted: impl Fn(&str) -> bool) -> Statement {
    let mut evidence = Vec::new();
    for point in table.values("point") {
        let at_point = table.only("point", point.clone());
        let all = at_point.values("per_key");
        for (ratio, per_key) in at_point.values("ratio").iter().flat_map(|ratio| all.iter().map(move |it| (ratio, it)))
        {
            let own = at_point.only("ratio", ratio.clone()).only("per_key", per_key.clone());
            let expected = own
                .rows()
                .next()
                .and_then(|row| Some((row.text("filter"), row.number("model")? * row.number("queries")?)));
            if expected.is_some_and(|(filter, count)| wanted(&filter) && count >= ENOUGH) {
                evidence.push(fit(&own, &format!("{point}, A/S {ratio}, {per_key} queries a key"), model));
            }
        }
    }
    Statement::new(
        paper,
        "measured rate over the model's at points with 1,000 expected false positives a trial: 0.95 to 1.05 at more than half",
    )
    .most(0.51, evidence)
}
