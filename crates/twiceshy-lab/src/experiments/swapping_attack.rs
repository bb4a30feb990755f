//! 000 Theorem 10: the Swapping filter is not adaptive.

use super::games::{self, Match, matches, no_search_wins, won};
use crate::experiment::{Axis, Budget, Contender, Experiment, Picture, Point, Setup, Size, Statement, Table};
use crate::game::AdversaryName;

/// An adversary that finds a key which collides in every cell of a bucket beats a Swapping filter.
pub(super) struct SwappingAttack;

/// The constant of the proof of Theorem 9, which is said to be essentially that of Theorem 10.
const FOUND: f64 = 1.0 - 1.0 / std::f64::consts::E;

/// The filters that do not lose, and the width at which they play. The adversary searches to the end without success,
/// so a game takes the more the wider they are.
fn others() -> [Contender; 3] {
    [Contender::cuckooing(OTHERS_BITS), Contender::telescoping(OTHERS_BITS + 3), Contender::broom(OTHERS_BITS + 6)]
}

const OTHERS_BITS: u32 = 3;

fn widths(size: Size) -> &'static [u32] {
    size.of(&[4], &[4, 5], &[4, 5, 6])
}

/// Keys, and games of a trial: against Swapping, and against others.
fn amounts(size: Size) -> (u64, [u64; 2]) {
    size.of((30, [5, 20]), (100, [5, 20]), (1_000, [20, 20]))
}

impl Experiment for SwappingAttack {
    fn name(&self) -> &'static str {
        "swapping-attack"
    }

    fn claim(&self) -> &'static str {
        "A key that collides in every cell of a bucket beats a Swapping filter"
    }

    fn measures(&self) -> &'static str {
        "Games that the attack on Swapping wins, over fingerprint bits"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 10"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (keys, [swapping, others]) = amounts(size);
        vec![format!(
            "The paper leaves the proof to the reader of Theorem 9. The adversary here asks random keys while they are wrong, and \
             names the first that was wrong 32 times in a row: swaps are random, so four times prove nothing. It \
             tries up to 2/ε^4 keys, or 4 million look-ups. A trial is {swapping} games against Swapping, {others} against the \
             others with {OTHERS_BITS} bits, with {keys} keys each."
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn budget(&self, _: Size) -> Budget {
        Budget { first: 10, most: 80 }
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (keys, [swapping, others_games]) = amounts(setup.size);
        let game = |contender: Contender, bits: u32, games: u64| {
            let mut game = Match::new(&[AdversaryName::Swapping], contender, bits, keys, games);
            game.work = games as f64 * (keys as f64 * 3e-6 + f64::from(1 << (4 * bits)) * 5e-7);
            game.point(setup)
        };
        let own = widths(setup.size).iter().map(|&bits| game(Contender::swapping(bits), bits, swapping));
        own.chain(others().map(|contender| game(contender, OTHERS_BITS, others_games))).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let x = Axis::own_range("bits of a fingerprint or remainder");
        let looks = [vec![Contender::swapping(4)], others().to_vec()].concat();
        vec![games::picture(self.name().into(), "The attack on cells that swap".into(), x, "bits", table, &looks)]
    }

    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        let own = matches(&table.only("filter", "swapping"));
        vec![
            Statement::new(
                "Theorem 10: the adversary wins with probability Ω(1) after Θ(b/ε^b) queries",
                "the share of games won: at least 1 − 1/e, the constant of Theorem 9's proof",
            )
            .every(own.iter().map(|own| won(own).above(FOUND)).collect()),
            no_search_wins(
                "001 and 004: this adversary, which only asks, wins no more than ε against telescoping and broom (with the rules of docs/broom.md)",
                table,
                &["telescoping", "broom"],
            ),
        ]
    }
}
