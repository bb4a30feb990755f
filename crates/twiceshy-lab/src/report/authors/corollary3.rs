//! 004, Corollary 3.

use super::{Topic, chosen, command, mean, measured, paragraph, section};
use crate::experiment::{Row, Table};
use crate::interval::student;
use crate::report::{Report, Section};
use maud::{Markup, html};

pub(super) const EXPERIMENT: &str = "selector-values";

pub(super) fn topic(report: &Report) -> Topic {
    Topic {
        id: "corollary-3",
        heading: "004, Corollary 3: selectors where queries repeat",
        paper: paragraph(
            "Corollary 3 bounds the share of keys whose hash selector has the value k, after c·n unique queries with any number of repetitions: \
             less than ε^k·(c + c²/2! + … + c^k/k!), for c < 1/ε − 1. It follows from Lemma 2, which chooses i of the c·n queries, shares the k collisions among them \
             as k₁ + … + kᵢ = k, and finds a probability of ε^k/nⁱ.",
        ),
        measured: html! { (measured(report, EXPERIMENT, told)) (entropy(report)) },
        why: why(),
        commands: vec![
            (command(report, EXPERIMENT), "shares of the selectors beside the bound, and beside an exact law"),
            (
                "cargo test --release -p twiceshy-lab --lib models::selectors".into(),
                "the exact laws against the bound, by calculation",
            ),
        ],
    }
}

fn why() -> Markup {
    html! {
        p {
            "Lemma 2 multiplies ε^k/nⁱ by the number of ways to choose the i queries, but not by the number of ways to share the k collisions \
             among them, and not by the orders in which they can happen. Take k = 2 and two queries a and b with the key's quotient, each asked \
             again and again. Either a matches the key's first remainder and b its second, or b the first and a the second. These are two \
             events with probability ε² each; the lemma counts the pair once."
        }
        p {
            "If all queries repeat until none is wrong, each of the k steps may be due to any of the K queries with the key's quotient, K being \
             Poisson with mean c. That gives Pr[v ≥ k] ≤ ε^k·E[K^k]: for k = 2, ε²(c + c²) in place of ε²(c + c²/2). It is a bound for every \
             sequence, and the same argument with the counts put in. If each query is asked until it is right and never again, the order of two queries \
             is fixed, but k steps can still be shared among i queries in more than one way. Our filter takes these steps at once: an adaptation steps \
             on until the query no longer matches. With queries that are asked only once, and a filter that steps once for a mistake as yours \
             does, the law is Poisson with mean cε, and the bound holds."
        }
        p {
            "The excess matters where selectors are large, so for small remainders and for many queries per key. It changes little in the \
             filter itself: our code chooses its arithmetic codes by the exact law."
        }
    }
}

fn told(section: &Section) -> Markup {
    let all = points(&section.table);
    let above: Vec<&Point> = all.iter().filter(|point| point.is_above()).collect();
    html! {
        p {
            "The share of keys with selector k over the bound, as the mean over trials. At " (above.len()) " of " (all.len()) " points the \
             whole interval lies above 1" @if above.is_empty() { "." } @else { ". “Until right” means that a query is asked until it is right, and never again:" }
        }
        @if !above.is_empty() {
            div.box.whole tabindex="0" role="region" aria-label="Selectors above the bound" {
                table.data {
                    thead { tr {
                        th scope="col" { "Queries asked" }
                        @for name in ["c", "k", "trials", "share over the bound", "share over the exact law"] { th.number scope="col" { (name) } }
                    } }
                    tbody { @for point in above { tr {
                        td { @if point.asked == "once" { "until right" } @else { (point.asked) } }
                        td.number { (point.c) } td.number { (point.k) } td.number { (point.over_bound.len()) }
                        td.number { (mean(&point.over_bound)) } td.number { (mean(&point.over_law)) }
                    } } }
                }
            }
        }
        (chosen(section, |statement| statement.contains("Corollary 3")))
    }
}

/// Selector k at one c.
struct Point {
    asked: String,
    c: String,
    k: String,
    over_bound: Vec<f64>,
    over_law: Vec<f64>,
}

impl Point {
    fn is_above(&self) -> bool {
        student(&self.over_bound).is_some_and(|(low, _)| low > 1.0)
    }
}

fn points(table: &Table) -> Vec<Point> {
    let mut points = Vec::new();
    for asked in table.values("asked") {
        for c in table.values("c") {
            for k in
                table.values("selector").into_iter().filter(|k| k.number().is_some_and(|k| (1.0..=4.0).contains(&k)))
            {
                let own = table.only("asked", asked.clone()).only("c", c.clone()).only("selector", k.clone());
                let over = |column: &str| {
                    let quotient = |row: &Row<'_>| Some(row.number("share")? / row.number(column)?);
                    own.sample_by(|rows| rows.first().and_then(quotient)).values()
                };
                let (over_bound, over_law) = (over("corollary3"), over("law"));
                if !over_bound.is_empty() {
                    let (asked, c, k) = (asked.to_string(), c.to_string(), k.to_string());
                    points.push(Point { asked, c, k, over_bound, over_law });
                }
            }
        }
    }
    points
}

/// Theorem 4 rests on the corollary; what its own experiment says.
fn entropy(report: &Report) -> Markup {
    html! {
        p { "Theorem 4, the bound on the entropy of selectors, uses the corollary. Its own measurement:" }
        @match section(report, "selector-space") {
            Some(section) => (chosen(section, |statement| statement.starts_with("Theorem 4"))),
            None => (super::not_measured(report, "selector-space")),
        }
    }
}
