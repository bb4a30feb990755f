//! 000 Theorem 12: no filter with k places per key is adaptive.

use super::games::{self, Match};
use crate::experiment::{Axis, Contender, Curve, Experiment, Finding, Picture, Row, Setup, Size, Table, Task};
use crate::game::{AdversaryName, Tactics};
use crate::replay::{FilterSpec, RemoteName};
use twiceshy::Kind;

/// A birthday attack finds keys of which one is always wrong.
pub(super) struct MutuallyUnfixable;

const BITS: u32 = 8;

fn cuckooing() -> Contender {
    let spec = FilterSpec {
        tables: Some(2),
        cells_per_bucket: Some(1),
        remote: RemoteName::Mirror,
        ..FilterSpec::new(Kind::Cuckooing, BITS)
    };
    Contender { label: "cuckooing, 2×1".into(), look: 5, spec }
}

/// The contenders: Cuckooing as in the theorem, and adaptive filters that the theorem does not cover.
fn contenders() -> [(Contender, Option<f64>); 3] {
    // N = n cells per table.
    [(cuckooing(), Some(0.5)), (Contender::telescoping(BITS + 3), Some(0.95)), (Contender::broom(BITS + 6), Some(0.95))]
}

impl Experiment for MutuallyUnfixable {
    fn name(&self) -> &'static str {
        "mutually-unfixable"
    }

    fn claim(&self) -> &'static str {
        "A birthday attack finds a set of keys about one of which a Cuckooing filter is always wrong"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 12"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![
            format!(
                "Section 5.3 in full, k = 2 tables of single cells with N = n cells each, {BITS} bits: |Q| = (1 + 1/k)·N/(ε·n^(1/k)) \
                 random keys are asked in k preliminary and k testing rounds; pairs of those wrong in a testing round are asked \
                 twice in order, and the first of a pair that was wrong all four times is named. {}",
                size.pick("1,000 to 16,000 keys.", "10,000 to 1,000,000 keys.")
            ),
            "The theorem requires k < log n / (6 log log n), which k = 2 satisfies for no n below 2^64, and ε > n^(−1/k), which holds \
             from n = 65,025 on: these runs are outside its conditions, and show what the attack wins nevertheless. If more \
             than 2,048 keys are suspected it gives up, as in the paper's footnote 11."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let sizes: &[(u64, u64)] = setup
            .size
            .pick(&[(1_000, 60), (4_000, 30), (16_000, 12)], &[(10_000, 200), (100_000, 60), (1_000_000, 30)]);
        let mut tasks = Vec::new();
        for &(keys, games) in sizes {
            for (contender, load) in contenders() {
                let tactics = Tactics { functions: Some(2), most_queries: 1 << 24, ..Tactics::default() };
                let work = games as f64 * keys as f64 * 1.2e-5;
                let game = Match::new(AdversaryName::Unfixable, contender, BITS, keys, games);
                tasks.push(Match { load, tactics, work, ..game }.task(setup));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let looks: Vec<Contender> = contenders().into_iter().map(|(contender, _)| contender).collect();
        let wins = games::picture(
            "mutually-unfixable-wins".into(),
            "Games won by the birthday attack".into(),
            Axis::log("n, keys"),
            "keys",
            table,
            &looks,
        );
        let suspects = |contender: &Contender| {
            let own = table.only("filter", contender.label.as_str());
            Curve::measured(contender.label.clone(), contender.look, own.pairs("keys", "suspects"))
        };
        let suspects = Picture {
            name: "mutually-unfixable-suspects".into(),
            title: "Keys still wrong in the testing rounds".into(),
            x: Axis::log("n, keys"),
            y: Axis::log("suspects, mean over the games"),
            lines: looks.iter().map(suspects).collect(),
        };
        vec![wins, suspects]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let own = table.only("filter", cuckooing().label);
        let number = |row: &Row<'_>, column: &str| row.number(column).unwrap_or(0.0);
        let each = |row: Row<'_>| {
            format!(
                "n = {}: {}, {} named, {:.1} suspects, {:.0} queries a game",
                row.text("keys"),
                games::wins(&row),
                row.text("named"),
                number(&row, "suspects"),
                number(&row, "queries_per_game")
            )
        };
        let all: Vec<String> = own.rows().map(each).collect();
        // |Q| is 1.5·√n·v keys, each asked in four rounds.
        let planned = |row: &Row<'_>| 4.0 * 1.5 * number(row, "keys").sqrt() * f64::from((1 << BITS) - 1);
        let won = !own.is_empty()
            && own.rows().all(|row| {
                number(&row, "win_rate_low") > 0.3 && number(&row, "queries_per_game") < 1.5 * planned(&row)
            });
        let others = table.rows().filter(|row| row.text("filter") != cuckooing().label);
        vec![
            Finding::new(
                "Theorem 12: the adversary wins with probability Ω(1) after O(n^(1 − 1/k)/ε) queries, here no more than 9√n/ε",
                all.join("; "),
                won,
            ),
            games::no_adversary_wins(
                "001 and 004: broom and telescoping are adaptive; no adversary wins more than ε",
                others,
                None,
            ),
        ]
    }
}
