//! The results of a search: for keys that stay wrong, or for moves of a frontier.

use super::diary::Diary;
use super::{AdversaryName, Settings};
use serde::Serialize;

/// Many searches: sums over the games unless stated otherwise. An adversary that gives up names a random key, and wins
/// at the static rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Search {
    /// Keys that were tried. For `unfixable`, |Q| of every game.
    pub elements: u64,
    /// Games whose search was cut short by the bound on look-ups.
    pub cut_short: u64,
    /// Games in which a key was found and named.
    pub named: u64,
    /// Those of them that were won.
    pub named_wins: u64,
    /// The suspects of `unfixable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspects: Option<Suspects>,
}

/// The suspects of `unfixable`. A game ends in one of four ways: a key is named, or one of the three below.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Suspects {
    /// |Q_d|, the mean over the games.
    pub mean: f64,
    /// Games that ended because there were fewer than k, mostly none.
    pub too_few: u64,
    /// Games that ended because there were more than c·k.
    pub too_many: u64,
    /// Games that ended without a permutation that was wrong throughout.
    pub no_permutation: u64,
    /// Permutation rounds.
    pub rounds: u64,
    /// Games with fewer rounds than in the paper, because of their bound.
    pub rounds_cut: u64,
}

/// What an adversary that sees only answers has found out about a broom filter's frontier: sums over the games, compared
/// with where the frontier was. All are 0 for a filter without a frontier.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Moves {
    /// Insertions of a key, with its removal, that moved the frontier, of which the adversary took notice.
    pub moves_found: u64,
    /// Those of which it did not.
    pub moves_missed: u64,
    /// Those that did not move the frontier, though the adversary thought so.
    pub false_alarms: u64,
}

impl Moves {
    pub(super) fn new(settings: &Settings, diary: &Diary) -> Option<Moves> {
        let &Diary { moves_found, moves_missed, false_alarms, .. } = diary;
        let probes = settings.adversary == AdversaryName::SilentProbing;
        probes.then_some(Moves { moves_found, moves_missed, false_alarms })
    }
}

impl Search {
    pub(super) fn new(settings: &Settings, diary: &Diary) -> Option<Search> {
        let suspects = (settings.adversary == AdversaryName::Unfixable).then(|| Suspects {
            mean: diary.suspects as f64 / settings.games as f64,
            too_few: diary.too_few,
            too_many: diary.too_many,
            no_permutation: diary.no_permutation,
            rounds: diary.rounds,
            rounds_cut: diary.rounds_cut,
        });
        settings.adversary.searches().then_some(Search {
            elements: diary.elements,
            cut_short: diary.cut_short,
            named: diary.named,
            named_wins: diary.named_wins,
            suspects,
        })
    }
}
