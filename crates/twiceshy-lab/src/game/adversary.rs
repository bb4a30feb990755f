//! The adversaries, by the names that the command takes.

use super::GameError;
use super::avoiders::Avoiders;
use super::chain::Chain;
use super::crash::Crash;
use super::crowding::Crowding;
use super::cyclic::Cyclic;
use super::delete_reinsert::DeleteReinsert;
use super::endless::Endless;
use super::few::Few;
use super::flood::Flood;
use super::fresh::Fresh;
use super::full_oracle::FullOracle;
use super::grandchildren::Grandchildren;
use super::growth::Growth;
use super::lives::Lives;
use super::lottery::Lottery;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;
use super::phase_riders::PhaseRiders;
use super::repeat::Repeat;
use super::revenants::Revenants;
use super::rounds::Rounds;
use super::seesaw::Seesaw;
use super::siblings::Siblings;
use super::siblings_ages::SiblingsAges;
use super::siblings_frontier::SiblingsFrontier;
use super::silent_probing::SilentProbing;
use super::silent_siblings::SilentSiblings;
use super::swap::Swap;
use super::swapping::Swapping;
use super::unfixable::Unfixable;
use std::fmt;
use std::str::FromStr;
use twiceshy::Kind;

/// A strategy in the game.
pub(super) trait Adversary: Sync {
    /// Plays one game and returns the key it names, or a pool of keys that are equally good choices. Naming is not
    /// asking: the filter is not told.
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError>;
}

/// An adversary known to the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdversaryName {
    /// Asks nothing and names a random key.
    Fresh,
    /// Repeats the mistakes that it found.
    Repeat,
    /// The attack in rounds of 001 section 6.1.
    Rounds,
    /// The timing attack of 001 section 4.3.
    DeleteReinsert,
    /// Searches for a key that is wrong under all functions of a cell: 000 Theorem 9.
    Cyclic,
    /// Searches for a key that is wrong in every order of a bucket's keys: 000 Theorem 10.
    Swapping,
    /// The birthday attack of 000 Theorem 12.
    Unfixable,
    /// Inserts mistakes in place of the keys that they collide with.
    Swap,
    /// The same, while it keeps a frontier in byte order from finishing a phase.
    Endless,
    /// Pairs mistakes about the same key.
    Siblings,
    /// The same with mistakes under both hash functions.
    SiblingsAges,
    /// The same without deleting the keys that the mistakes collide with.
    SiblingsFrontier,
    /// Waits until the filter grows.
    Growth,
    /// Waits until the process crashes.
    Crash,
    /// Fills the filter with its own mistakes.
    Flood,
    /// Uses a refused insertion as an answer.
    FullOracle,
    /// Looks for keys that avoid the same fingerprints.
    Avoiders,
    /// Replaces keys by their mistakes, over generations.
    Chain,
    /// Collects all mistakes about a few keys.
    Few,
    /// Uses mistakes about mistakes.
    Grandchildren,
    /// Deletes and re-inserts everything, repeatedly.
    Revenants,
    /// Carries related keys from phase to phase.
    PhaseRiders,
    /// Stores keys and their mistakes in turns.
    Seesaw,
    /// Stores and asks known keys at random.
    Lottery,
    /// Collects mistakes across crashes and growth.
    Lives,
    /// Keeps keys whose insertion moved the frontier.
    SilentSiblings,
    /// The same by answers alone.
    SilentProbing,
    /// Fills the back yard, and keeps keys whose insertion moved the frontier far.
    Crowding,
}

/// Something that an adversary does, besides naming a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Move {
    /// Asks for keys, and learns which answers were wrong.
    Ask,
    /// Inserts keys.
    Insert,
    /// Deletes keys.
    Delete,
    /// Waits until the filter grows.
    AwaitGrowth,
    /// Waits until the process crashes and the filter is recovered.
    AwaitCrash,
}

impl Move {
    /// The move as the end of a sentence that begins with "it".
    fn words(self) -> &'static str {
        match self {
            Move::Ask => "asks",
            Move::Insert => "inserts",
            Move::Delete => "deletes",
            Move::AwaitGrowth => "waits until the filter grows",
            Move::AwaitCrash => "waits until the process crashes",
        }
    }
}

/// What the lab knows about an adversary.
struct Entry {
    name: &'static str,
    help: &'static str,
    adversary: &'static dyn Adversary,
    moves: &'static [Move],
    beats: &'static [Kind],
}

const ASKS: &[Move] = &[Move::Ask];
const CHANGES: &[Move] = &[Move::Ask, Move::Insert, Move::Delete];

const ALL_BUT_BROOM: &[Kind] = &[
    Kind::FullKey,
    Kind::Cyclic,
    Kind::Swapping,
    Kind::Cuckooing,
    Kind::Quotient,
    Kind::Telescoping,
    Kind::TelescopingPlain,
    Kind::Extension,
    Kind::Remembering,
];
/// Without the filter that remembers its mistakes, the last of them.
const ALL_BUT_BROOM_AND_REMEMBERING: &[Kind] = ALL_BUT_BROOM.split_at(ALL_BUT_BROOM.len() - 1).0;
/// Without the filter that has room for every selector.
const ALL_BUT_BROOM_AND_PLAIN: &[Kind] =
    &[Kind::FullKey, Kind::Cyclic, Kind::Swapping, Kind::Cuckooing, Kind::Quotient, Kind::Telescoping, Kind::Extension];

impl AdversaryName {
    /// All names.
    pub const ALL: [AdversaryName; 28] = [
        AdversaryName::Fresh,
        AdversaryName::Repeat,
        AdversaryName::Rounds,
        AdversaryName::DeleteReinsert,
        AdversaryName::Cyclic,
        AdversaryName::Swapping,
        AdversaryName::Unfixable,
        AdversaryName::Swap,
        AdversaryName::Endless,
        AdversaryName::Siblings,
        AdversaryName::SiblingsAges,
        AdversaryName::SiblingsFrontier,
        AdversaryName::Growth,
        AdversaryName::Crash,
        AdversaryName::Flood,
        AdversaryName::FullOracle,
        AdversaryName::Avoiders,
        AdversaryName::Chain,
        AdversaryName::Few,
        AdversaryName::Grandchildren,
        AdversaryName::Revenants,
        AdversaryName::PhaseRiders,
        AdversaryName::Seesaw,
        AdversaryName::Lottery,
        AdversaryName::Lives,
        AdversaryName::SilentSiblings,
        AdversaryName::SilentProbing,
        AdversaryName::Crowding,
    ];

    fn entry(self) -> Entry {
        let entry = |name, help, adversary, moves, beats| Entry { name, help, adversary, moves, beats };
        match self {
            AdversaryName::Fresh => {
                entry("fresh", "Asks nothing and names a random key: wins at the static rate.", &Fresh, &[], &[])
            }
            AdversaryName::Repeat => entry(
                "repeat",
                "Repeats the mistakes that it found, and names the one that was wrong most often.",
                &Repeat,
                ASKS,
                &[Kind::FullKey, Kind::Cyclic, Kind::Cuckooing, Kind::Quotient],
            ),
            AdversaryName::Rounds => entry(
                "rounds",
                "Asks n keys, then those that were wrong, then those that were wrong again, and so on; names a survivor.",
                &Rounds,
                ASKS,
                &[Kind::FullKey, Kind::Quotient],
            ),
            AdversaryName::DeleteReinsert => entry(
                "delete-reinsert",
                "Deletes and re-inserts keys to find the one that a mistake collides with; does that once more and names the mistake.",
                &DeleteReinsert,
                CHANGES,
                ALL_BUT_BROOM_AND_REMEMBERING,
            ),
            AdversaryName::Cyclic => entry(
                "cyclic",
                "Searches for a key that is wrong under all fingerprint functions of a cell; made for cyclic.",
                &Cyclic,
                ASKS,
                &[Kind::FullKey, Kind::Cyclic, Kind::Quotient, Kind::Remembering],
            ),
            AdversaryName::Swapping => entry(
                "swapping",
                "Searches for a key that is wrong in every order of a bucket's keys; made for swapping.",
                &Swapping,
                ASKS,
                &[Kind::FullKey, Kind::Cyclic, Kind::Swapping, Kind::Cuckooing, Kind::Quotient, Kind::Remembering],
            ),
            AdversaryName::Unfixable => entry(
                "unfixable",
                "Searches for a set of keys of which one is always wrong; made for cuckooing.",
                &Unfixable,
                ASKS,
                &[Kind::FullKey, Kind::Cyclic, Kind::Cuckooing, Kind::Quotient],
            ),
            AdversaryName::Swap => entry(
                "swap",
                "Finds n/8 mistakes, deletes the upper half of the keys, inserts the mistakes and names a deleted key.",
                &Swap,
                CHANGES,
                ALL_BUT_BROOM,
            ),
            AdversaryName::Endless => entry(
                "endless",
                "Keeps a frontier in byte order busy with rising keys so that a phase never ends, and finds n mistakes meanwhile; then plays `swap`.",
                &Endless,
                CHANGES,
                ALL_BUT_BROOM,
            ),
            AdversaryName::Siblings => entry(
                "siblings",
                "Finds mistakes, deletes all keys, inserts half of the mistakes and names one of the other half.",
                &Siblings,
                CHANGES,
                &[Kind::FullKey, Kind::Quotient, Kind::Extension],
            ),
            AdversaryName::SiblingsAges => entry(
                "siblings-ages",
                "The same with mistakes found at the end of one phase and used at the beginning of the next.",
                &SiblingsAges,
                CHANGES,
                &[Kind::FullKey, Kind::Quotient, Kind::Telescoping, Kind::Extension],
            ),
            AdversaryName::SiblingsFrontier => entry(
                "siblings-frontier",
                "The same without deleting the keys that the mistakes collide with: the frontier passes them instead.",
                &SiblingsFrontier,
                CHANGES,
                ALL_BUT_BROOM_AND_PLAIN,
            ),
            AdversaryName::Growth => entry(
                "growth",
                "Finds mistakes, waits until the filter has grown, and names one of them.",
                &Growth,
                &[Move::Ask, Move::AwaitGrowth],
                ALL_BUT_BROOM_AND_REMEMBERING,
            ),
            AdversaryName::Crash => entry(
                "crash",
                "Finds mistakes, waits until the process has crashed and the filter was recovered, and names one of them.",
                &Crash,
                &[Move::Ask, Move::AwaitCrash],
                ALL_BUT_BROOM,
            ),
            AdversaryName::Flood => entry(
                "flood",
                "Replaces half of the keys by mistakes, which crowd into few places; names a deleted key or another mistake.",
                &Flood,
                CHANGES,
                ALL_BUT_BROOM_AND_PLAIN,
            ),
            AdversaryName::FullOracle => entry(
                "full-oracle",
                "Floods the filter until it refuses keys, and names a fresh key that was refused while others were taken.",
                &FullOracle,
                CHANGES,
                &[],
            ),
            AdversaryName::Avoiders => entry(
                "avoiders",
                "Keeps the keys that were right while the set changed many times, inserts most of them and names another.",
                &Avoiders,
                CHANGES,
                &[],
            ),
            AdversaryName::Chain => entry(
                "chain",
                "Replaces half of the keys by their mistakes, four times, while some deleted keys are re-inserted; names any that is not stored.",
                &Chain,
                CHANGES,
                ALL_BUT_BROOM,
            ),
            AdversaryName::Few => entry(
                "few",
                "Deletes all but n/16 keys, finds many mistakes about each, inserts every second one and names another.",
                &Few,
                CHANGES,
                ALL_BUT_BROOM_AND_PLAIN,
            ),
            AdversaryName::Grandchildren => entry(
                "grandchildren",
                "Finds mistakes about mistakes, removes the generation in between, stores half of the rest and names one of the other half.",
                &Grandchildren,
                CHANGES,
                &[
                    Kind::FullKey,
                    Kind::Cyclic,
                    Kind::Cuckooing,
                    Kind::Quotient,
                    Kind::Telescoping,
                    Kind::TelescopingPlain,
                    Kind::Extension,
                ],
            ),
            AdversaryName::Revenants => entry(
                "revenants",
                "Deletes all keys and inserts them in another order, six times, asking half of its mistakes each time; names a mistake.",
                &Revenants,
                CHANGES,
                ALL_BUT_BROOM_AND_REMEMBERING,
            ),
            AdversaryName::PhaseRiders => entry(
                "phase-riders",
                "Keeps its mistakes while other mistakes push the frontier through two phases, then plays `siblings` with them.",
                &PhaseRiders,
                CHANGES,
                &[Kind::Quotient, Kind::Extension],
            ),
            AdversaryName::Seesaw => entry(
                "seesaw",
                "Stores the keys and their mistakes in turns, asking those that are absent; names a key while the mistakes are stored.",
                &Seesaw,
                CHANGES,
                ALL_BUT_BROOM_AND_REMEMBERING,
            ),
            AdversaryName::Lottery => entry(
                "lottery",
                "Stores a random part of all keys that it knows in each of eight rounds, asks some of the others, and names any that is absent.",
                &Lottery,
                CHANGES,
                ALL_BUT_BROOM,
            ),
            AdversaryName::Lives => entry(
                "lives",
                "Finds mistakes before and after two crashes and a growth, and names any of them: wins if an old hash function is used again.",
                &Lives,
                &[Move::Ask, Move::AwaitGrowth, Move::AwaitCrash],
                ALL_BUT_BROOM,
            ),
            AdversaryName::SilentSiblings => entry(
                "silent-siblings",
                "Is told where a broom filter's frontier is; keeps fresh keys whose insertion moved it, deletes the set, inserts all of them but one and names that one.",
                &SilentSiblings,
                CHANGES,
                &[],
            ),
            AdversaryName::SilentProbing => entry(
                "silent-probing",
                "The same by answers alone: after each insertion and removal it asks a pool of keys that were right, and a new mistake means that the frontier has moved.",
                &SilentProbing,
                CHANGES,
                &[],
            ),
            AdversaryName::Crowding => entry(
                "crowding",
                "Replaces an eighth of the keys by mistakes, which may crowd beside the first level of a broom filter, and goes on as `silent-siblings`.",
                &Crowding,
                CHANGES,
                &[],
            ),
        }
    }

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        self.entry().name
    }

    /// A description in one sentence.
    pub fn help(self) -> &'static str {
        self.entry().help
    }

    /// What it does besides naming a key.
    pub fn moves(self) -> &'static [Move] {
        self.entry().moves
    }

    /// The filters that lose to it: it wins more often than ε, by more than four standard errors, in 100 games against
    /// 500 keys at ε = 1 %. For those that search: the filters that lose with cells of 4 bits, or in a
    /// geometry of docs/measurements.md.
    pub fn beats(self) -> &'static [Kind] {
        self.entry().beats
    }

    /// Its moves, as the end of a sentence that begins with "it".
    pub(super) fn in_words(self) -> String {
        let moves: Vec<&str> = self.moves().iter().map(|it| it.words()).collect();
        if moves.is_empty() { "does nothing else".to_owned() } else { listed(&moves) }
    }

    /// What it does, which moves it makes and which filters lose to it, in a few sentences.
    pub fn explain(self) -> String {
        let moves = self.in_words();
        let losers: Vec<&str> = self.beats().iter().map(|kind| kind.name()).collect();
        let losers = match self.beats() {
            [] => "no filter".to_owned(),
            ALL_BUT_BROOM => "every filter except broom".to_owned(),
            ALL_BUT_BROOM_AND_REMEMBERING => "every filter except broom and remembering".to_owned(),
            _ => listed(&losers),
        };
        let short = if self.searches() { " with short fingerprints" } else { "" };
        let only = if self.needs_frontier() { "; without a frontier it names a fresh key" } else { "" };
        format!("{} It {moves}{only}. Beats {losers}{short}.", self.help())
    }

    /// `true` if it searches for a key to name, and may give up. Then the [`Tactics`](super::Tactics) apply, and the
    /// report has the results of the search.
    pub fn searches(self) -> bool {
        matches!(self, AdversaryName::Cyclic | AdversaryName::Swapping | AdversaryName::Unfixable)
    }

    /// `true` if it looks for moves of a frontier. Against a filter without one it learns nothing, and names a fresh key.
    pub fn needs_frontier(self) -> bool {
        matches!(self, AdversaryName::SilentSiblings | AdversaryName::SilentProbing | AdversaryName::Crowding)
    }

    /// The adversary with this name.
    pub(super) fn adversary(self) -> &'static dyn Adversary {
        self.entry().adversary
    }
}

/// Words as a list: `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [before @ .., one, last] => [before, &[&format!("{one} and {last}")]].concat().join(", "),
        _ => words.concat(),
    }
}

impl fmt::Display for AdversaryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AdversaryName {
    type Err = String;

    fn from_str(text: &str) -> Result<AdversaryName, String> {
        let known = || AdversaryName::ALL.map(AdversaryName::as_str).join(", ");
        AdversaryName::ALL
            .into_iter()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| format!("unknown adversary `{text}`: choose one of {}", known()))
    }
}
