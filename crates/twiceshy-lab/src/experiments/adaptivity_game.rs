//! 001 section 2: the adaptivity game, all filters against adversaries that ask, and against those that insert mistakes.

use super::games::{self, MARGIN, Match, all_pools_no_worse, matches, pool_no_worse, wins_more, wins_no_more, won};
use crate::experiment::{
    Axis, Budget, Contender, Experiment, Picture, Point, SECOND_BROOM, Setup, Size, Statement, Table,
};
use crate::game::AdversaryName;
use crate::replay::FilterSpec;
use twiceshy::Kind;

/// A broom filter loses no more than ε of the games, whatever its adversary asks, inserts and deletes.
pub(super) struct AdaptivityGame;

/// The adversaries that only ask.
const ASKING: [AdversaryName; 3] = [AdversaryName::Fresh, AdversaryName::Repeat, AdversaryName::Rounds];

/// Adversaries with short games that name a single key: it takes thousands of games to tell ε from more.
const BRIEF: [AdversaryName; 4] =
    [AdversaryName::Fresh, AdversaryName::Repeat, AdversaryName::Rounds, AdversaryName::FullOracle];

/// Adversaries that have dozens of keys to name in every game, of which about ε are wrong: their mean share tells more
/// than the games won. The others have few keys, or hardly ever a wrong one, so that their games are counted.
const POOLS: [AdversaryName; 8] = [
    AdversaryName::Endless,
    AdversaryName::Crash,
    AdversaryName::Flood,
    AdversaryName::Avoiders,
    AdversaryName::Chain,
    AdversaryName::Grandchildren,
    AdversaryName::Lottery,
    AdversaryName::Lives,
];

/// The adversaries that change the set, or wait for growth or a crash, but for `full-oracle`, which is brief. The timing
/// attack is a separate experiment.
fn set_changers(size: Size) -> Vec<AdversaryName> {
    let others =
        |name: &AdversaryName| !name.searches() && !BRIEF.contains(name) && *name != AdversaryName::DeleteReinsert;
    let tiny = [AdversaryName::Swap, AdversaryName::Crash, AdversaryName::Avoiders, AdversaryName::Revenants];
    AdversaryName::ALL.into_iter().filter(others).filter(|name| size != Size::Tiny || tiny.contains(name)).collect()
}

/// Filters with fingerprints or remainders of `bits` bits, and the number of phases before the games.
pub(super) fn contenders(bits: u32) -> Vec<(Contender, u64)> {
    let used = Contender { label: "broom, 3 phases old".into(), look: SECOND_BROOM, ..Contender::broom(bits + 6) };
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

/// Telescoping with a byte for each selector: room for every one.
fn roomy(bits: u32) -> Contender {
    Contender {
        label: ROOMY.into(),
        look: Contender::roomy(bits).look,
        spec: FilterSpec::new(Kind::TelescopingPlain, bits),
    }
}

const ROOMY: &str = "telescoping, plain selectors";

pub(super) const BROOMS: [&str; 2] = ["broom", "broom, 3 phases old"];

/// Filters that keep their hash key when they are recovered from the remote.
const FORGETFUL: [&str; 2] = ["telescoping", "extension"];

/// The filters of the tiny size.
const TINY: [&str; 5] = ["broom", "telescoping", ROOMY, "extension", "quotient, plain"];

/// Widths of brief games, and of those that change the set.
fn widths(size: Size) -> [&'static [u32]; 2] {
    size.of([&[4], &[4]], [&[4, 6], &[4]], [&[3, 4, 6, 8], &[4, 8, 10]])
}

/// Widths at which a broom filter of 500 keys has a back yard.
const YARD_BITS: [u32; 2] = [8, 10];

/// The fewest keys of a game that is judged at these widths.
const YARD_KEYS: u64 = 500;

/// Those of the adversaries that change the set which mostly name a fresh key at these widths: it would take too many games.
const TOO_FEW_TO_NAME: [AdversaryName; 1] = [AdversaryName::SilentProbing];

/// Keys, and games of a trial: of brief adversaries and of those that change the set.
fn amounts(size: Size) -> (u64, [u64; 2]) {
    size.of((40, [50, 10]), (60, [75, 16]), (500, [100, 20]))
}

/// The brief adversaries against each filter, on the same filters.
fn brief(setup: &Setup) -> Vec<Point> {
    let (keys, [games, _]) = amounts(setup.size);
    let mut points = Vec::new();
    for &bits in widths(setup.size)[0] {
        for (contender, phases) in [contenders(bits), vec![(roomy(bits), 0)]].concat() {
            let plays = match setup.size {
                Size::Tiny => TINY.contains(&contender.label.as_str()),
                // The rarer the mistakes, the longer it takes to grow old.
                Size::Quick => phases == 0 || bits == 4,
                Size::Paper => true,
            };
            if !plays {
                continue;
            }
            // The last one's games are the longest.
            let adversaries = setup.size.of(&ASKING[..], &BRIEF[..], &BRIEF[..]);
            let game = Match::new(adversaries, contender, bits, keys, games);
            let work = game.work * (1.0 + phases as f64 * f64::from(1 << bits) / 64.0);
            points.push(Match { phases, work, ..game }.point(setup));
        }
    }
    points
}

/// All adversaries that change the set against the filters that learn, on the same filters. Only in the paper's size
/// against those that no statement is about.
fn set_changing(setup: &Setup) -> Vec<Point> {
    let (keys, [_, games]) = amounts(setup.size);
    let all = set_changers(setup.size);
    let plays = |contender: &Contender| {
        let label = contender.label.as_str();
        let judged = BROOMS.contains(&label) || FORGETFUL.contains(&label);
        match setup.size {
            Size::Tiny => judged && TINY.contains(&label),
            Size::Quick => judged,
            Size::Paper => label != "quotient, plain",
        }
    };
    let mut points = Vec::new();
    for &bits in widths(setup.size)[1] {
        // The others do not depend on their width as broom does, and take long where mistakes are rare.
        let plays =
            |contender: &Contender| plays(contender) && (bits <= 8 || BROOMS.contains(&contender.label.as_str()));
        for (contender, phases) in contenders(bits).into_iter().filter(|(contender, _)| plays(contender)) {
            let game = Match::new(&all, contender, bits, keys, games);
            // Together they find about ten mistakes per key.
            let work = game.work * (10.0 + f64::from(1 << bits));
            points.push(Match { phases, work, ..game }.point(setup));
        }
    }
    points
}

/// Broom filters with a back yard. At the papers' sizes these widths are among those of [`set_changing`].
fn with_yard(setup: &Setup) -> Vec<Point> {
    if setup.size != Size::Quick {
        return Vec::new();
    }
    let [narrow, _] = YARD_BITS;
    let game = |adversaries: &[AdversaryName], bits, games| {
        let game = Match::new(adversaries, Contender::broom(bits + 6), bits, YARD_KEYS, games);
        Match { work: game.work * f64::from(1 << bits) / 20.0, ..game }.point(setup)
    };
    let mut points = vec![game(&POOLS, narrow, 20)];
    for bits in YARD_BITS {
        // Each tries some 70,000 insertions a game.
        for adversary in [AdversaryName::SilentSiblings, AdversaryName::Crowding] {
            points.push(game(&[adversary], bits, 20));
        }
    }
    points
}

/// A picture for each requested adversary.
pub(super) fn pictures(name: &str, table: &Table, adversaries: &[AdversaryName]) -> Vec<Picture> {
    let looks: Vec<Contender> = contenders(8).into_iter().map(|(contender, _)| contender).collect();
    let picture = |adversary: &AdversaryName| {
        let own = table.only("adversary", adversary.as_str());
        let x = Axis::own_range("bits of a fingerprint or remainder");
        games::picture(format!("{name}-{adversary}"), format!("The adversary “{adversary}”"), x, "bits", &own, &looks)
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

    fn measures(&self) -> &'static str {
        "Games that every adversary wins against every filter"
    }

    fn source(&self) -> &'static str {
        "001, section 2 and Lemma 13"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (keys, [brief, set_changing]) = amounts(size);
        let asking = format!(
            "The adversary asks, and names an absent key; it wins if the filter calls that key present. `fresh` names a key that was \
             never asked, `repeat` repeats its mistakes, `rounds` is the attack of section 6.1. A trial is {brief} games for each \
             filter and width, {keys} keys each, every game against a new filter. Filters have the same bits of fingerprint, not \
             the same memory; with so few keys a filter's fixed overhead weighs most."
        );
        let set_changing = format!(
            "The other adversaries insert mistakes, delete the keys that these collide with, or wait until the \
             filter grows or its process crashes; `twiceshy attack --help` explains each. They play {set_changing} games in a \
             trial. For those that have dozens of keys to name, every key counts that would have been an equally good choice, \
             not only the one that decides a game."
        );
        vec![asking, set_changing]
    }

    fn columns(&self) -> &'static [&'static str] {
        games::COLUMNS
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 10, most: 160 }, Budget { first: 10, most: 160 }, Budget { first: 50, most: 200 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let mut points = brief(setup);
        points.extend(set_changing(setup));
        points.extend(with_yard(setup));
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        pictures(self.name(), table, &ASKING)
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let all = matches(table);
        let of = |filters: &'static [&'static str]| {
            let named =
                |own: &&Table| own.rows().next().is_some_and(|row| filters.contains(&row.text("filter").as_str()));
            all.iter().filter(named)
        };
        let no_more = format!("the share of games won: at most {MARGIN}");
        let mut statements = vec![
            Statement::new(
                "001 Lemma 13: the broom filter's sustained rate is ε; here against adversaries that only ask",
                no_more.clone(),
            )
            .every(of(&BROOMS).filter(|own| plays(own, &ASKING)).filter_map(wins_no_more).collect()),
            Statement::new(
                "docs/broom.md, beyond 001: nor does it lose to adversaries that insert its mistakes, delete keys, or wait for \
                 growth or a crash",
                format!("the share of games won, or of wrong ones among dozens of keys to name: at most {MARGIN}"),
            )
            .every(of(&BROOMS).filter(|own| !plays(own, &ASKING)).filter_map(best_estimate).collect()),
            Statement::new(
                "This project's: a filter that does not learn loses to an adversary that asks twice",
                "the share of games that `repeat` wins against the plain quotient filter: at least 90 %",
            )
            .every(
                of(&["quotient, plain"])
                    .filter(|own| plays(own, &[AdversaryName::Repeat]))
                    .map(|own| won(own).above(0.9))
                    .collect(),
            ),
            Statement::new(
                "004 Theorem 1: telescoping's sustained rate is ε, if it has room for every selector; here a byte for each",
                no_more,
            )
            .every(of(&[ROOMY]).filter(|own| plays(own, &ASKING)).filter_map(wins_no_more).collect()),
            Statement::new(
                "This project's: a filter that is recovered under its old hash key makes its old mistakes again",
                "the share of games that `crash` wins against telescoping and extension: at least half",
            )
            .every(
                of(&FORGETFUL)
                    .filter(|own| plays(own, &[AdversaryName::Crash]))
                    .map(|own| won(own).above(0.5))
                    .collect(),
            ),
        ];
        if size != Size::Tiny {
            statements.push(
                Statement::new(
                    "docs/broom.md, beyond 001: nor if it has a back yard, where ε is far below one per cent",
                    "the share of wrong ones among all keys that an adversary had to name in all of its games, with 500 keys and \
                     remainders of 8 or 10 bits: at most 1.25 times the static rate",
                )
                .every(of(&BROOMS).filter(|own| has_yard(own)).filter_map(all_pools_no_worse).collect()),
            );
        }
        // With the 500 keys of the paper's size, at the widths where ε is large enough to tell, 16/ε queries are fewer than one a key, and
        // do not fill the codes.
        if size != Size::Paper {
            statements.push(
                Statement::new(
                    "This project's: with the codes of section 5, which have less room, telescoping loses in a small set to an adversary \
                     that asks 16/ε keys",
                    format!("the share of games that `repeat` wins against it: more than {MARGIN}"),
                )
                .every(
                    of(&["telescoping"])
                        .filter(|own| plays(own, &[AdversaryName::Repeat]))
                        .filter_map(wins_more)
                        .collect(),
                ),
            );
        }
        statements
    }
}

/// `true` if a match is played by one of these.
fn plays(own: &Table, adversaries: &[AdversaryName]) -> bool {
    let name = own.rows().next().map(|row| row.text("adversary"));
    adversaries.iter().any(|adversary| name.as_deref() == Some(adversary.as_str()))
}

/// `true` if a match is against a filter with a back yard, by an adversary with more than a fresh key to name.
fn has_yard(own: &Table) -> bool {
    let is_wide = own.first("bits").is_some_and(|bits| YARD_BITS.map(f64::from).contains(&bits));
    let is_large = own.first("keys").is_some_and(|keys| keys >= YARD_KEYS as f64);
    is_wide && is_large && plays(own, &set_changers(Size::Paper)) && !plays(own, &TOO_FEW_TO_NAME)
}

/// That an adversary wins no more than ε, by the estimate that suits it.
fn best_estimate(own: &Table) -> Option<crate::experiment::Evidence> {
    if plays(own, &POOLS) { pool_no_worse(own) } else { wins_no_more(own) }
}
