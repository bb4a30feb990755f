//! 001 section 2: the adaptivity game, all filters against adversaries that ask, and against those that insert mistakes.

use super::games::{self, Match, no_adversary_wins, no_pool_wins};
use crate::experiment::{Axis, Contender, Experiment, Finding, Picture, Row, Setup, Size, Table, Task};
use crate::game::AdversaryName;
use twiceshy::Kind;

/// A broom filter loses no more than ε of the games, whatever its adversary asks, inserts and deletes.
pub(super) struct AdaptivityGame;

const ADVERSARIES: [AdversaryName; 3] = [AdversaryName::Fresh, AdversaryName::Repeat, AdversaryName::Rounds];

const BITS: [u32; 4] = [3, 4, 6, 8];

/// Bits at which adversaries that change the set play: few, where mistakes are common, and many, where they are rare.
const MEDDLERS_BITS: [u32; 2] = [4, 8];

/// The adversaries that change the set, or wait for growth or a crash. The timing attack is a separate experiment.
fn set_changers() -> Vec<AdversaryName> {
    let others = |name: &AdversaryName| {
        !name.searches() && !ADVERSARIES.contains(name) && *name != AdversaryName::DeleteReinsert
    };
    AdversaryName::ALL.into_iter().filter(others).collect()
}

/// How much more often than at the static rate a key may be wrong if it avoids the same fingerprints: 1/(1 − 1/2c),
/// since a phase ends after n/c mistakes with c = 3.
const AVOIDANCE: f64 = 1.2;

/// Filters with fingerprints or remainders of `bits` bits, and the number of phases before the games.
pub(super) fn contenders(bits: u32) -> Vec<(Contender, u64)> {
    let used = Contender { label: "broom, 3 phases old".into(), look: 13, ..Contender::broom(bits + 6) };
    vec![
        (Contender::broom(bits + 6), 0),
        (used, 3),
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
                // The rarer the mistakes, the more look-ups a phase takes.
                let work = game.work * (3.0 + phases as f64 * f64::from(1 << bits) / 64.0);
                tasks.push(Match { phases, work, ..game }.task(setup));
            }
        }
    }
    tasks
}

/// All adversaries that change the set against each filter that learns, on the same filters.
fn set_changing(setup: &Setup, keys: u64, games: u64) -> Vec<Task> {
    let all = set_changers();
    let Some((&first, others)) = all.split_first() else { return Vec::new() };
    let mut tasks = Vec::new();
    for bits in MEDDLERS_BITS {
        for (contender, phases) in contenders(bits) {
            if contender.spec.name != Kind::Quotient.into() {
                let game = Match::new(first, contender, bits, keys, games);
                // Together they find about ten mistakes per key.
                let work = game.work * (40.0 + 3.0 * f64::from(1 << bits));
                tasks.push(Match { phases, work, others: others.to_vec(), ..game }.task(setup));
            }
        }
    }
    tasks
}

/// A picture for each requested adversary.
pub(super) fn pictures(name: &str, table: &Table, adversaries: &[AdversaryName]) -> Vec<Picture> {
    let looks: Vec<Contender> = contenders(8).into_iter().map(|(contender, _)| contender).collect();
    let picture = |adversary: &AdversaryName| {
        let own = table.only("adversary", adversary.as_str());
        let x = Axis::own_range("bits of a fingerprint or remainder");
        games::picture(format!("{name}-{adversary}"), format!("The adversary `{adversary}`"), x, "bits", &own, &looks)
    };
    adversaries.iter().map(picture).collect()
}

impl Experiment for AdaptivityGame {
    fn name(&self) -> &'static str {
        "adaptivity-game"
    }

    fn claim(&self) -> &'static str {
        "A broom filter loses no more than ε of the games, whatever its adversary asks, inserts and deletes"
    }

    fn source(&self) -> &'static str {
        "001, section 2 and Lemma 13"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let asking = format!(
            "The adversary asks, and names an absent key; it wins if the filter calls that key present. `fresh` names a key that was \
             never asked, `repeat` repeats its mistakes, `rounds` is the attack of section 6.1. {} games for each \
             filter and width, {} keys each, every game against a new filter. Filters have the same bits of fingerprint, not \
             the same memory; with so few keys a filter's fixed overhead weighs most.",
            size.pick(150, 10_000),
            size.pick(100, 500)
        );
        let set_changing = format!(
            "The other adversaries insert mistakes, delete the keys that these collide with, or wait until the \
             filter grows or its process crashes; `twiceshy attack --help` explains each. They play {} games, and every key counts \
             that would have been an equally good choice, not only the one that decides a game.",
            size.pick(20, 1_000)
        );
        vec![asking, set_changing]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (keys, games, set_changing_games) = setup.size.pick((100, 150, 20), (500, 10_000, 1_000));
        let mut tasks = tasks(setup, &ADVERSARIES, keys, games);
        tasks.extend(set_changing(setup, keys, set_changing_games));
        tasks
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        pictures(self.name(), table, &ADVERSARIES)
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let asks = |row: &Row<'_>| ADVERSARIES.iter().any(|name| name.as_str() == row.text("adversary"));
        let brooms = || table.rows().filter(|row| row.text("filter").starts_with("broom"));
        let plain = table.only("adversary", "repeat").only("filter", "quotient, plain");
        let least = plain.rows().filter_map(|row| row.number("win_rate")).reduce(f64::min).unwrap_or(f64::NAN);
        let telescoping = table.only("filter", "telescoping");
        vec![
            no_adversary_wins(
                "001 Lemma 13: the broom filter's sustained rate is ε; here against adversaries that only ask",
                brooms().filter(asks),
                None,
            ),
            no_pool_wins(
                "docs/broom.md, beyond 001: nor does it lose to adversaries that insert its mistakes, delete keys, or wait for \
                 growth or a crash",
                brooms().filter(|row| !asks(row)),
                AVOIDANCE,
            ),
            Finding::new(
                "A filter that does not learn loses to an adversary that asks twice",
                format!("the plain quotient filter loses at least {:.0} % of the games to `repeat`", least * 100.0),
                least > 0.9,
            ),
            no_adversary_wins(
                "004 Theorem 1: telescoping's sustained rate is ε",
                telescoping.rows().filter(asks),
                Some(
                    "the theorem is for a filter with room for every selector. `repeat` asks 16/ε keys, up to 46 for each stored \
                     one, and with few bits `rounds` causes as many mistakes: more than the blocks' codes have room for, so \
                     they are reset",
                ),
            ),
            forgetful(table),
        ]
    }
}

/// A filter that is recovered under the same hash key makes its old mistakes again.
fn forgetful(table: &Table) -> Finding {
    let rows = table.only("adversary", AdversaryName::Crash.as_str());
    let forgets = |row: &Row<'_>| ["telescoping", "extension"].contains(&row.text("filter").as_str());
    let rates: Vec<f64> = rows.rows().filter(forgets).filter_map(|row| row.number("pool_rate")).collect();
    let least = rates.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
    Finding::new(
        "A filter that is recovered under its old hash key makes its old mistakes again",
        format!("after a crash telescoping and extension are wrong about at least {:.0} % of them", least * 100.0),
        least > 0.5,
    )
    .of(rates.len())
}
