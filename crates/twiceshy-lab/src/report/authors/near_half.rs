//! 004, Theorem 4, for large ε.

use super::{Topic, paragraph, shown};
use crate::models::selectors::{expected_bits, theorem4};
use maud::html;

/// From a practical rate to nearly the largest of the theorem.
const RATES: [f64; 8] = [1.0 / 256.0, 1.0 / 16.0, 0.25, 0.3, 0.35, 0.4, 0.45, 0.499];

/// Of these the one with the most bits beside the bound is shown.
const SPARSITIES: [f64; 7] = [2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 20.0];

pub(super) fn topic() -> Topic {
    let lines = RATES.map(|epsilon| {
        let of = |b: f64| {
            // A little fewer than 1/(b·√ε), so that b is not below 2.
            let c = 0.999_999 / (b * epsilon.sqrt());
            (b, expected_bits(epsilon, c), theorem4(epsilon, c).unwrap_or(f64::NAN))
        };
        let worst = SPARSITIES.map(of).into_iter().max_by(|one, other| (one.1 / one.2).total_cmp(&(other.1 / other.2)));
        let (b, bits, bound) = worst.unwrap_or((f64::NAN, f64::NAN, f64::NAN));
        [shown(epsilon), shown(b), shown(bits), shown(bound), shown(bits / bound)]
    });
    Topic {
        id: "theorem-4",
        heading: "004, Theorem 4: rates above a third",
        paper: paragraph(
            "Theorem 4 bounds what the selectors cost, after n/(b·√ε) unique queries, by 1/e + b/(b − 1)² bits a key in expectation, for b ≥ 2 and \
             ε < 1/2.",
        ),
        measured: html! {
            p {
                "Calculated, not measured: the entropy of the exact law where queries repeat, beside the bound, at that b, of seven from 2 to 20, where it comes \
                 closest. The bound holds with room at the rates that filters have, and fails from about ε = 1/3 on."
            }
            div.box.whole tabindex="0" role="region" aria-label="Bits of selectors" {
                table.data {
                    thead { tr { @for name in ["ε", "b", "bits a key", "bound", "bits over bound"] { th.number scope="col" { (name) } } } }
                    tbody { @for line in &lines { tr { @for cell in line { td.number { (cell) } } } } }
                }
            }
        },
        why: paragraph(
            "Step (3) puts log(1/ε^k) in place of log(1/(k·ε^k·c^k)). The first is the smaller one if k·c^k < 1: at k = 1 for every c below 1, as where the bound fails. \
             Two other steps hold for natural logarithms only, and the entropy is in bits: log(1 + ε/n) ≤ ε/n for p₀, and √x·log(1/x) < 1 for the \
             others, which in bits is up to 1.06, at x = e⁻². The terms from k = 1 on use Corollary 3 too, which is the previous finding. At the \
             rates that a filter has, all of this is small beside the bound.",
        ),
        commands: vec![(
            "cargo test --release -p twiceshy-lab --lib models::selectors".into(),
            "the entropy and the bound by calculation",
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_up_to_three_tenths_and_fails_above_a_third() {
        let text = topic().measured.into_string();
        let over = |epsilon: f64| -> f64 {
            let row = text.split("<tr>").find(|row| row.contains(&format!(">{}<", shown(epsilon)))).unwrap_or_default();
            let last =
                row.split("</td>").filter_map(|cell| cell.rsplit('>').next()).filter(|cell| !cell.is_empty()).last();
            last.and_then(|cell| cell.parse().ok()).unwrap_or(f64::NAN)
        };
        assert!(over(0.25) < 0.95 && over(0.3) < 1.0 && over(0.35) > 1.0 && over(0.499) > 1.25, "{text}");
    }
}
