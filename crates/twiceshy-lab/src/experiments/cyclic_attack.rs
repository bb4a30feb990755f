//! 000 Theorem 9: the Cyclic filter is not adaptive.

use super::games::{self, Match, no_adversary_wins, row_of, wins};
use crate::experiment::{Axis, Contender, Experiment, Finding, Picture, Setup, Size, Table, Task};
use crate::game::AdversaryName;

/// An adversary that asks a key 2^s times beats a Cyclic filter.
pub(super) struct CyclicAttack;

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

/// From here on, a randomly named key seldom wins.
const BITS: [u32; 5] = [4, 5, 6, 7, 8];

impl Experiment for CyclicAttack {
    fn name(&self) -> &'static str {
        "cyclic-attack"
    }

    fn claim(&self) -> &'static str {
        "Asking a key once for each fingerprint function beats a Cyclic filter"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 9"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![
            format!(
                "The adversary asks random keys 2^s times and names the first that was wrong each time; after 2/ε^(2^s) keys it \
                 gives up and names any. {} games for each filter, {} keys each, every game against a new filter. The \
                 same adversary plays against other filters, for which it assumes s = 1.",
                size.pick(60, 1000),
                size.pick(200, 1000)
            ),
            "An adaptive filter loses no more than ε of the games: the static rate of fresh keys.".into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (keys, games) = setup.size.pick((200, 60), (1000, 1000));
        let mut tasks = Vec::new();
        for bits in BITS {
            for contender in contenders(bits) {
                let mut game = Match::new(AdversaryName::Cyclic, contender, bits, keys, games);
                game.work += games as f64 * f64::from(1 << (2 * bits)) * 4e-7;
                tasks.push(game.task(setup));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let looks: Vec<Contender> = contenders(4).into_iter().collect();
        let x = Axis::own_range("bits of a fingerprint or remainder");
        vec![games::picture(self.name().into(), "The attack on selectors".into(), x, "bits", table, &looks)]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let least = table.only("filter", "cyclic, s = 1");
        let worst = least
            .rows()
            .min_by(|a, b| a.number("win_rate").unwrap_or(0.0).total_cmp(&b.number("win_rate").unwrap_or(0.0)));
        let adaptive = table.rows().filter(|row| ["telescoping", "broom"].contains(&row.text("filter").as_str()));
        let cyclic2 = row_of(table, "cyclic, s = 2", 4);
        vec![
            Finding::new(
                "Theorem 9: the adversary wins with probability Ω(1) after Θ(2^s/ε^(2^s)) queries (s = 1)",
                worst
                    .map_or(String::new(), |row| format!("at worst {} games at {} bits", wins(&row), row.text("bits"))),
                worst.and_then(|row| row.number("win_rate_low")).is_some_and(|low| low > 0.8),
            ),
            Finding::new(
                "Theorem 9, s = 2",
                cyclic2.map_or(String::new(), |row| format!("{} games at 4 bits", wins(&row))),
                cyclic2.and_then(|row| row.number("win_rate_low")).is_some_and(|low| low > 0.8),
            ),
            no_adversary_wins(
                "001 Lemma 13 and 004 Theorem 1: this adversary, which only asks, wins no more than ε against broom and telescoping",
                adaptive,
                Some(
                    "telescoping keeps its promise only while its blocks have room for all selectors, and this adversary asks thousands \
                     of keys",
                ),
            ),
        ]
    }
}
