//! 000 Theorem 12: no filter with k places per key is adaptive.

use super::games::{self, Match, matches, no_search_wins, won};
use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Experiment, Picture, Point, Setup, Size, Statement, Table,
};
use crate::game::{AdversaryName, Tactics};
use crate::replay::{FilterSpec, RemoteName};
use twiceshy::Kind;

/// A birthday attack finds keys of which one is always wrong.
pub(super) struct MutuallyUnfixable;

const BITS: u32 = 8;

/// Ω(1): the paper gives no constant, so a half.
const CONSTANT: f64 = 0.5;

/// k: as in Theorem 1, and more.
const TABLES: [u64; 3] = [2, 3, 4];

/// Half load: for k = 2 that is N = n. At 90 % load three and four tables have hundreds of suspects, and no game was won
/// within 2^20 permutation rounds.
const LOAD: f64 = 0.5;

/// Cuckooing with k tables of single cells.
fn cuckooing(tables: u64) -> Contender {
    let spec = FilterSpec {
        tables: Some(tables),
        cells_per_bucket: Some(1),
        remote: RemoteName::Mirror,
        ..FilterSpec::new(Kind::Cuckooing, BITS)
    };
    Contender { label: format!("cuckooing, {tables}×1"), look: 10 + tables as usize, spec }
}

/// Adaptive filters that the theorem does not cover.
fn adaptive() -> [Contender; 2] {
    [Contender::telescoping(BITS + 3), Contender::broom(BITS + 6)]
}

/// The numbers of keys against Cuckooing, with the games of a trial.
fn sizes(size: Size, tables: u64) -> &'static [(u64, u64)] {
    match tables {
        2 => {
            size.of(&[(500, 2)], &[(1_000, 2), (4_000, 2), (16_000, 2)], &[(10_000, 10), (100_000, 4), (1_000_000, 2)])
        }
        3 => size.of(&[(250, 4)], &[(1_000, 2), (4_000, 2)], &[(1_000, 10), (10_000, 4), (100_000, 2)]),
        _ => size.of(&[], &[(1_000, 2)], &[(1_000, 10), (4_000, 4), (10_000, 2)]),
    }
}

/// The numbers of keys against adaptive filters, with the games of a trial.
fn adaptive_sizes(size: Size) -> &'static [(u64, u64)] {
    size.of(&[(250, 16)], &[(500, 16)], &[(10_000, 16)])
}

impl Experiment for MutuallyUnfixable {
    fn name(&self) -> &'static str {
        "mutually-unfixable"
    }

    fn claim(&self) -> &'static str {
        "A birthday attack finds a set of keys about one of which a Cuckooing filter is always wrong"
    }

    fn measures(&self) -> &'static str {
        "Games that the birthday attack on Cuckooing wins, over the number of keys"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 12"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let adaptive = adaptive_sizes(size).iter().map(|(keys, _)| keys.to_string()).collect::<Vec<_>>().join(", ");
        vec![
            format!(
                "Section 5.3 in full, k = 2, 3 and 4 tables of single cells at half load (for k = 2, N = n cells each), {BITS} bits: \
                 |Q| = (1 + 1/k)·N/(ε·n^(1/k)) random keys are asked in k preliminary and k testing rounds; k of those wrong in a testing round are asked \
                 twice in order, and the first of them is named if all 2k look-ups were wrong. {} Telescoping and broom \
                 filters have {adaptive}, for many more games.",
                size.of("250 and 500 keys.", "1,000 to 16,000 keys.", "1,000 to 1,000,000 keys.")
            ),
            "The theorem requires k < log n / (6 log log n), which k = 2 satisfies for no n below 2^64, and ε > n^(−1/k), which holds \
             from n = 65,025 on: these runs are outside its conditions, and show what the attack wins nevertheless. If more \
             than 1,024·k keys are suspected it gives up, as in the paper's footnote 11. A game has at most 2^20 permutation \
             rounds; with k = 4 the paper's number of them, |Q_d|!/(|Q_d| − k)!, is more. Which keys are suspected, and why, is in \
             birthday-suspects."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn budget(&self, _: Size) -> Budget {
        Budget { first: 24, most: 96 }
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let game = |contender: Contender, functions: u64, load: f64, keys: u64, games: u64| {
            let tactics = Tactics { functions: Some(functions), most_queries: 1 << 24, ..Tactics::default() };
            let work = games as f64 * keys as f64 * if functions == 2 { 1.2e-5 } else { 4e-5 };
            let game = Match::new(&[AdversaryName::Unfixable], contender, BITS, keys, games);
            Match { load: Some(load), tactics, work, ..game }.point(setup)
        };
        let of = |k: u64| {
            let all = sizes(setup.size, k).iter();
            all.map(move |&(keys, games)| game(cuckooing(k), k, LOAD, keys, games))
        };
        let mut points: Vec<Point> = TABLES.into_iter().flat_map(of).collect();
        for &(keys, games) in adaptive_sizes(setup.size) {
            points.extend(adaptive().map(|contender| game(contender, 2, 0.95, keys, games)));
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let looks = [TABLES.map(cuckooing).to_vec(), adaptive().to_vec()].concat();
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
            Curve::measured(contender.label.clone(), contender.look, own.means("keys", "suspects"))
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

    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        let of = |tables: u64| matches(&table.only("filter", cuckooing(tables).label));
        let own = of(2);
        let more: Vec<Table> = [3, 4].into_iter().flat_map(of).collect();
        // |Q| is 1.5·√n·v keys, each asked in four rounds; half as many again for the pairs.
        let asked = |own: &Table| {
            let keys = own.first("keys")?;
            let planned = 4.0 * 1.5 * keys.sqrt() * f64::from((1 << BITS) - 1);
            let asked = Evidence::median(format!("look-ups of a game, {keys} keys"), &own.sample("queries_per_game"));
            Some(asked.below(1.5 * planned))
        };
        vec![
            Statement::new(
                "section 5.3: Theorem 12's adversary wins with probability Ω(1) after O(n^(1 − 1/k)/ε) queries; here outside the theorem's \
                 conditions, which no n below 2^64 meets with k = 2",
                "the share of games won: at least half. In the median trial, look-ups of a game: at most 9√n/ε",
            )
            .every(own.iter().map(|own| won(own).above(CONSTANT)).collect())
            .every(own.iter().filter_map(asked).collect()),
            Statement::new(
                "section 5.3: the same for more than two tables, k = 3 and 4",
                "the share of games won: at least half",
            )
            .every(more.iter().map(|own| won(own).above(CONSTANT)).collect()),
            no_search_wins(
                "001 and 004: broom and telescoping are adaptive; this adversary wins no more than ε",
                table,
                &["telescoping", "broom"],
            ),
        ]
    }
}
