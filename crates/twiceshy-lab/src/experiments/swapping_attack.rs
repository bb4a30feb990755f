//! 000 Theorem 10: the Swapping filter is not adaptive.

use super::games::{self, Match, no_adversary_wins, wins};
use crate::experiment::{Axis, Contender, Experiment, Finding, Picture, Setup, Size, Table, Task};
use crate::game::AdversaryName;

/// An adversary that finds a key which collides in every cell of a bucket beats a Swapping filter.
pub(super) struct SwappingAttack;

fn contenders(bits: u32) -> Vec<Contender> {
    vec![
        Contender::swapping(bits),
        Contender::cuckooing(bits),
        Contender::telescoping(bits + 3),
        Contender::broom(bits + 6),
    ]
}

impl Experiment for SwappingAttack {
    fn name(&self) -> &'static str {
        "swapping-attack"
    }

    fn claim(&self) -> &'static str {
        "A key that collides in every cell of a bucket beats a Swapping filter"
    }

    fn source(&self) -> &'static str {
        "000, Theorem 10"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "The paper leaves the proof to the reader of Theorem 9. The adversary here asks random keys while they are wrong, and \
             names the first that was wrong 32 times in a row: swaps are random, so four times prove nothing. It \
             tries up to 2/ε^4 keys, or 4 million look-ups. {} games for each filter, {} keys each.",
            size.pick(40, 200),
            size.pick(200, 1000)
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (keys, games) = setup.size.pick((200, 40), (1000, 200));
        let widths: &[u32] = setup.size.pick(&[4, 5], &[4, 5, 6]);
        let mut tasks = Vec::new();
        for &bits in widths {
            // Against the others it searches to the end without success: one game is enough.
            let rivals = if bits == widths[0] { contenders(bits) } else { vec![Contender::swapping(bits)] };
            for contender in rivals {
                let mut game = Match::new(AdversaryName::Swapping, contender, bits, keys, games);
                game.work += games as f64 * f64::from(1 << (4 * bits)) * 2.5e-7;
                tasks.push(game.task(setup));
            }
        }
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let x = Axis::own_range("bits of a fingerprint or remainder");
        vec![games::picture(
            self.name().into(),
            "The attack on cells that swap".into(),
            x,
            "bits",
            table,
            &contenders(3),
        )]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let rate = |row: &crate::experiment::Row<'_>| row.number("win_rate").unwrap_or(0.0);
        let own = table.only("filter", "swapping");
        let worst = own.rows().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        let adaptive = ["telescoping", "broom"];
        let others = table.rows().filter(|row| adaptive.contains(&row.text("filter").as_str()));
        vec![
            Finding::new(
                "Theorem 10: the adversary wins with probability Ω(1) after Θ(b/ε^b) queries",
                worst
                    .map_or(String::new(), |row| format!("at worst {} games at {} bits", wins(&row), row.text("bits"))),
                worst.and_then(|row| row.number("win_rate_low")).is_some_and(|low| low > 0.7),
            ),
            no_adversary_wins(
                "001 and 004: this adversary, which only asks, wins no more than ε against broom and telescoping",
                others,
                Some(
                    "telescoping keeps its promise only while its blocks have room for all selectors, and this adversary asks thousands \
                     of keys",
                ),
            ),
        ]
    }
}
