//! How well the models of 003 fit the measurements on a grid of uniformly repeated queries.

use crate::experiment::{Finding, Table};

/// The distance between models and measurements.
pub(super) struct Fit {
    /// Points that are precise enough.
    pub(super) points: usize,
    /// Those at which the model is more than 5 % away, and by more than chance in 997 of 1,000 cases.
    pub(super) off: Vec<String>,
    /// The mean relative distance.
    pub(super) mean: f64,
    /// The same with signs: positive if the model is above.
    pub(super) bias: f64,
}

/// Standard errors that cover 99.7 %: three if the error is known, more if it is estimated from a few trials (Student's
/// t).
fn three_sigma(trials: u64) -> f64 {
    match trials {
        0..=2 => 235.8,
        3 => 19.2,
        4 => 9.2,
        5 => 6.6,
        6..=9 => 5.5,
        _ => 4.1,
    }
}

/// The relative standard error above which chance hides a difference of 5 %.
const SHARP: f64 = 0.02;

/// The number of false positives below which it does in any case.
const ENOUGH: f64 = 2_000.0;

impl Fit {
    /// The statement that a model is within 5 %, compared with the points.
    pub(super) fn finding(&self, paper: &str) -> Finding {
        let off = if self.off.is_empty() { String::new() } else { format!(" ({})", self.off.join("; ")) };
        let measured = format!(
            "{} points with 2,000 false positives or more and a standard error below 2 %: on average {:.1} % away, {:+.1} % with \
             signs, {} of them by more than 5 % and more than chance{off}",
            self.points,
            self.mean * 100.0,
            self.bias * 100.0,
            self.off.len()
        );
        // Of many points one or two may be off by chance.
        let holds = self.off.len() * 20 <= self.points && self.mean < 0.05 && self.bias.abs() < 0.04;
        Finding::new(paper, measured, holds)
            .because("with cells of few bits a query often collides in two of its cells, which the models count nearly twice")
            .open_if(self.points < 5, "too few points with enough false positives")
    }
}

/// How well the models of some filters fit.
pub(super) fn fit(table: &Table, wanted: impl Fn(&str) -> bool) -> Fit {
    let mut fit = Fit { points: 0, off: Vec::new(), mean: 0.0, bias: 0.0 };
    for row in table.rows().filter(|row| wanted(&row.text("filter"))) {
        let number = |column: &str| row.number(column).unwrap_or(f64::NAN);
        let error = number("standard_error").hypot(number("model_error"));
        let sharp = error < SHARP * number("fpr");
        if !sharp || number("false_positives").max(number("model") * number("queries")) < ENOUGH {
            continue;
        }
        let away = number("model") - number("fpr");
        fit.points += 1;
        fit.mean += (away / number("fpr")).abs();
        fit.bias += away / number("fpr");
        if (away / number("fpr")).abs() > 0.05 && away.abs() > three_sigma(number("trials") as u64) * error {
            fit.off.push(format!(
                "{} of {} bits, {} queries per key, A/S {}: {:+.1} %",
                row.text("filter"),
                row.text("cell_bits"),
                row.text("per_key"),
                row.text("ratio"),
                away / number("fpr") * 100.0
            ));
        }
    }
    fit.mean /= fit.points.max(1) as f64;
    fit.bias /= fit.points.max(1) as f64;
    fit
}
