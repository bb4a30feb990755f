//! 000 Theorem 9: the Cyclic filter is not adaptive.

use super::games::{self, Match, matches, no_search_wins, won};
use crate::experiment::{Axis, Budget, Contender, Experiment, Picture, Point, Setup, Size, Statement, Table};
use crate::game::AdversaryName;

/// An adversary that asks a key 2^s times beats a Cyclic filter.
pub(super) struct CyclicAttack;

/// The proof's probability that a key is found: 1 − (1 − p)^(1/p), which is more than 1 − 1/e.
const FOUND: f64 = 1.0 - 1.0 / std::f64::consts::E;

/// The contenders with fingerprints or remainders of `bits` bits.
fn contenders(bits: u32) -> Vec<Contender> {
    let mut all = vec![Contender::cyclic(bits + 1, 1)];
    if bits == 4 {
        all.push(Contender::cyclic(bits + 2, 2));
    }
    all.extend([Contender::swapping(bits), Contender::cuckooing(bits), Contender::telescoping(bits + 3)]);
    all.push(Contender::broom(bits + 6));
    all
}

/// From 4 bits on, a randomly named key seldom wins.
fn widths(size: Size) -> &'static [u32] {
    size.of(&[4], &[4, 6, 8], &[4, 5, 6, 7, 8])
}

/// The widest remainders of adaptive filters. They play many games, and each takes 2^(2·bits) look-ups and more.
fn widest_adaptive(size: Size) -> u32 {
    size.pick(6, 8)
}

/// Keys, and games of a trial: of a filter that is beaten, and of one that is not.
fn amounts(size: Size) -> (u64, [u64; 2]) {
    size.of((60, [5, 20]), (200, [5, 20]), (1_000, [100, 100]))
}

impl Experiment for CyclicAttack {
    fn name(&self) -> &'static str {
        "cyclic-attack"
    }

    fn claim(&self) -> &'static str {
        "Asking a key once for each fingerprint function beats a Cyclic filter"
    }

    fn measures(&self) -> &'static str {
        "Games that the attack on Cyclic wins, over fingerprint and selector bits"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 9"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (keys, [beaten, adaptive]) = amounts(size);
        vec![
            format!(
                "The adversary asks random keys 2^s times and names the first that was wrong each time; after 2/ε^(2^s) keys it \
                 gives up and names any. A trial is {beaten} games against a filter, {adaptive} against telescoping and broom, \
                 with {keys} keys each, every game against a new filter. The same adversary plays against other filters, for \
                 which it assumes s = 1."
            ),
            "An adaptive filter loses no more than ε of the games: the static rate of fresh keys.".into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 10, most: 80 }, Budget { first: 10, most: 80 }, Budget { first: 10, most: 40 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (keys, [beaten, adaptive]) = amounts(setup.size);
        let mut points = Vec::new();
        for &bits in widths(setup.size) {
            for contender in contenders(bits) {
                let is_adaptive = ADAPTIVE.contains(&contender.label.as_str());
                if is_adaptive && bits > widest_adaptive(setup.size) {
                    continue;
                }
                let games = if is_adaptive { adaptive } else { beaten };
                let mut game = Match::new(&[AdversaryName::Cyclic], contender, bits, keys, games);
                game.work = games as f64 * (keys as f64 * 3e-6 + f64::from(1 << (2 * bits)) * 2e-7);
                points.push(game.point(setup));
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let looks: Vec<Contender> = contenders(4).into_iter().collect();
        let x = Axis::own_range("bits of a fingerprint or remainder");
        vec![games::picture(self.name().into(), "The attack on selectors".into(), x, "bits", table, &looks)]
    }

    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        let tested = "the share of games won: at least 1 − 1/e, the proof's probability that the key is found";
        let beaten = |paper: &str, filter: &str| {
            let all = matches(&table.only("filter", filter));
            Statement::new(paper, tested).every(all.iter().map(|own| won(own).above(FOUND)).collect())
        };
        vec![
            beaten(
                "Theorem 9: the adversary wins with probability Ω(1) after Θ(2^s/ε^(2^s)) queries (s = 1)",
                "cyclic, s = 1",
            ),
            beaten("Theorem 9, s = 2", "cyclic, s = 2"),
            no_search_wins(
                "001 Lemma 13 and 004 Theorem 1: this adversary, which only asks, wins no more than ε against telescoping and broom (with the rules of docs/broom.md)",
                table,
                &ADAPTIVE,
            ),
        ]
    }
}

/// The filters that are adaptive by their theorems.
const ADAPTIVE: [&str; 2] = ["telescoping", "broom"];
