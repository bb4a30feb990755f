//! 004, Theorem 4, for large ε.

use super::{Topic, paragraph};
use maud::html;

pub(super) fn topic() -> Topic {
    Topic {
        id: "theorem-4",
        heading: "004, Theorem 4: rates near one half",
        paper: paragraph(
            "Theorem 4 bounds what the selectors cost, after n/(b·√ε) unique queries, by 1/e + b/(b − 1)² bits a key in expectation. The proof uses \
             b ≥ 2 and ε < 1/2.",
        ),
        measured: html! {
            p {
                "Not by an experiment: the entropy of the exact law is calculated, and compared with the bound by a test. It holds for every ε up to \
                 1/4, with much room at the rates that filters have, and not near 1/2."
            }
        },
        why: paragraph(
            "The entropy is a sum of p·log(1/p). For p₀ the proof uses log(1 + ε/n) ≤ ε/n, which holds for natural logarithms; in bits the right side \
             is log₂(e) times as large. The terms from k = 1 on use Corollary 3, which is the previous finding. At the rates that a filter has, all \
             of this is small beside the bound, and it holds.",
        ),
        commands: vec![(
            "cargo test --release -p twiceshy-lab --lib models::selectors".into(),
            "see `the_theorem_holds_up_to_a_rate_of_one_quarter_and_not_near_one_half`",
        )],
    }
}
