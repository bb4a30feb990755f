//! `twiceshy model selectors`.

use super::{row, show};
use crate::numbers;
use crate::output::{columns, rate};
use serde::Serialize;
use twiceshy_lab::models::selectors::{asked_once, corollary3, expected_bits, repeated, theorem4};

/// How far the selectors of a telescoping filter move, and what they cost (004 Corollary 3 and Theorem 4).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy model selectors --fpr 1/256 --ratio 4")]
pub(crate) struct Args {
    /// ε, the static false-positive rate
    #[arg(long, value_parser = numbers::rate)]
    fpr: f64,
    /// c: distinct absent keys that were asked for, for each slot
    #[arg(long, default_value = "1", value_parser = numbers::fraction)]
    ratio: f64,
    /// The largest value of a selector that is shown
    #[arg(long, default_value = "4", value_parser = numbers::count::<u32>)]
    most: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    fpr: f64,
    ratio: f64,
    selectors: Vec<Selector>,
    /// Entropy of a selector if queries are repeated.
    expected_bits: f64,
    /// What Theorem 4 allows; null where it does not apply.
    theorem4_bits: Option<f64>,
}

#[derive(Serialize)]
struct Selector {
    value: u32,
    repeated: f64,
    asked_once: f64,
    corollary3: f64,
}

/// The most values that are shown, and the highest c and c·ε that the sums are made for.
const MOST: (u32, f64, f64) = (1_000, 1e7, 5.0);

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let Args { fpr, ratio, most, .. } = *args;
    if !(ratio > 0.0 && ratio <= MOST.1) {
        anyhow::bail!("--ratio must be above 0 and up to {}, such as 4, not {ratio}", MOST.1);
    }
    if ratio * fpr > MOST.2 {
        anyhow::bail!("--ratio times --fpr must be at most {}, not {}: the paper's is below 1", MOST.2, ratio * fpr);
    }
    if most > MOST.0 {
        anyhow::bail!("--most must be at most {}, not {most}", MOST.0);
    }
    let selector = |value: u32| Selector {
        value,
        repeated: repeated(value, fpr, ratio),
        asked_once: asked_once(value, fpr, ratio),
        corollary3: corollary3(value, fpr, ratio),
    };
    let prediction = Prediction {
        model: "selectors",
        fpr,
        ratio,
        selectors: (0..=most).map(selector).collect(),
        expected_bits: expected_bits(fpr, ratio),
        theorem4_bits: theorem4(fpr, ratio),
    };
    let mut laws = vec![["selector", "queries repeated", "each asked once", "Corollary 3"].map(str::to_owned).to_vec()];
    laws.extend(prediction.selectors.iter().map(|it| {
        let bound = if it.corollary3 > 1.0 { "above 1".to_owned() } else { rate(it.corollary3) };
        vec![it.value.to_string(), rate(it.repeated), rate(it.asked_once), bound]
    }));
    let allowed = prediction.theorem4_bits.map_or("does not apply".to_owned(), |bits| format!("{bits:.4}"));
    let rows = [
        row(
            "bits for each selector in the best code, if queries are repeated",
            format!("{:.4}", prediction.expected_bits),
        ),
        row("bits that Theorem 4 allows", allowed),
    ];
    let heading = format!(
        "Selectors at a rate of {} with {ratio} distinct queries a slot: the probability of each value\n\n{}",
        rate(fpr),
        columns(&laws).trim_end()
    );
    show(args.json, &prediction, &heading, &rows)
}
