//! 001 section 2: the adaptivity game, all filters against all adversaries that ask.

use super::games::{self, Match, nobody_wins};
use crate::experiment::{Axis, Contender, Experiment, Finding, Picture, Setup, Size, Table, Task};
use crate::game::AdversaryName;

/// A broom filter loses no more than ε of the games, whoever asks.
pub(super) struct AdaptivityGame;

const ADVERSARIES: [AdversaryName; 3] = [AdversaryName::Fresh, AdversaryName::Repeat, AdversaryName::Rounds];

const BITS: [u32; 4] = [3, 4, 6, 8];

/// Filters with fingerprints or remainders of so many bits, and the phases that they have behind them.
pub(super) fn contenders(bits: u32) -> Vec<(Contender, u64)> {
    let worn = Contender { label: "broom, 3 phases old".into(), look: 13, ..Contender::broom(bits + 6) };
    vec![
        (Contender::broom(bits + 6), 0),
        (worn, 3),
        (Contender::telescoping(bits + 3), 0),
        (Contender::extension(bits + 3), 0),
        (Contender::cyclic(bits + 1, 1), 0),
        (Contender::swapping(bits), 0),
        (Contender::cuckooing(bits), 0),
        (Contender::quotient(bits + 2), 0),
    ]
}

/// A match of each adversary against each filter.
pub(super) fn tasks(setup: &Setup, adversaries: &[AdversaryName], keys: u64, games: u64) -> Vec<Task> {
    let mut tasks = Vec::new();
    for &adversary in adversaries {
        for bits in BITS {
            for (contender, phases) in contenders(bits) {
                let game = Match::new(adversary, contender, bits, keys, games);
                // A phase costs the more look-ups the rarer mistakes are.
                let work = game.work * (3.0 + phases as f64 * f64::from(1 << bits) / 64.0);
                tasks.push(Match { phases, work, ..game }.task(setup));
            }
        }
    }
    tasks
}

/// A picture for each adversary.
pub(super) fn pictures(name: &str, table: &Table) -> Vec<Picture> {
    let looks: Vec<Contender> = contenders(8).into_iter().map(|(contender, _)| contender).collect();
    let picture = |adversary: crate::experiment::Value| {
        let own = table.only("adversary", adversary.clone());
        let x = Axis::own_range("bits of a fingerprint or remainder");
        games::picture(format!("{name}-{adversary}"), format!("The adversary `{adversary}`"), x, "bits", &own, &looks)
    };
    table.values("adversary").into_iter().map(picture).collect()
}

impl Experiment for AdaptivityGame {
    fn name(&self) -> &'static str {
        "adaptivity-game"
    }

    fn claim(&self) -> &'static str {
        "A broom filter loses no more than ε of the games, whoever asks"
    }

    fn source(&self) -> &'static str {
        "001, section 2 and Lemma 13"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "The adversary asks, and names an absent key; it wins if the filter calls that key present. `fresh` names a key that \
             nobody asked for, `repeat` asks its finds again and again, `rounds` is the attack of section 6.1. {} games for each \
             filter and width, {} keys each, every game against a filter of its own. Filters have the same bits of fingerprint, not \
             the same memory; with so few keys what a filter has but once weighs most.",
            size.pick(150, 10_000),
            size.pick(100, 500)
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (keys, games) = setup.size.pick((100, 150), (500, 10_000));
        tasks(setup, &ADVERSARIES, keys, games)
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        pictures(self.name(), table)
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let brooms = table.rows().filter(|row| row.text("filter").starts_with("broom"));
        let plain = table.only("adversary", "repeat").only("filter", "quotient, plain");
        let least = plain.rows().filter_map(|row| row.number("win_rate")).reduce(f64::min).unwrap_or(f64::NAN);
        let telescoping = table.only("filter", "telescoping");
        vec![
            nobody_wins("001 Lemma 13: the broom filter's sustained rate is ε", brooms, None),
            Finding::new(
                "A filter that does not learn loses to whoever asks twice",
                format!("the plain quotient filter loses at least {:.0} % of the games to `repeat`", least * 100.0),
                least > 0.9,
            ),
            nobody_wins(
                "004 Theorem 1: telescoping's sustained rate is ε",
                telescoping.rows(),
                Some(
                    "the theorem is for a filter with room for every selector. `repeat` asks 16/ε keys, up to 46 for each stored \
                     one, and with few bits `rounds` makes as many mistakes: beyond what the blocks' codes have room for, so that \
                     they are reset",
                ),
            ),
        ]
    }
}
