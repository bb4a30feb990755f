//! Who attacks, by the names that the command takes.

use super::GameError;
use super::avoiders::Avoiders;
use super::chain::Chain;
use super::crash::Crash;
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
use super::swap::Swap;
use super::swapping::Swapping;
use super::unfixable::Unfixable;
use std::fmt;
use std::str::FromStr;

/// A way to play.
pub(super) trait Adversary: Sync {
    /// Plays one game and names a key, or several any of which it might name. Naming is not asking: the filter is not told.
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError>;
}

/// An adversary that the lab knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdversaryName {
    /// Asks nothing, and names a key at random.
    Fresh,
    /// Asks the mistakes that it found again and again.
    Repeat,
    /// The attack in rounds of 001 section 6.1.
    Rounds,
    /// The timing attack of 001 section 4.3.
    DeleteReinsert,
    /// Seeks a key that is wrong under all functions of a cell: 000 Theorem 9.
    Cyclic,
    /// Seeks a key that is wrong in whatever order a bucket's keys stand: 000 Theorem 10.
    Swapping,
    /// The birthday attack of 000 Theorem 12.
    Unfixable,
    /// Puts mistakes into the place of the keys that they were wrong on.
    Swap,
    /// The same while it keeps a frontier in byte order from coming to its end.
    Endless,
    /// Mistakes about the same key meet each other.
    Siblings,
    /// The same with mistakes under both hash functions.
    SiblingsAges,
    /// The same without deleting the keys that mistakes are about.
    SiblingsFrontier,
    /// Waits for the filter to grow.
    Growth,
    /// Waits for the process to die.
    Crash,
    /// Fills the filter with its own mistakes.
    Flood,
    /// Takes a refusal for an answer.
    FullOracle,
    /// Looks for keys that avoid the same fingerprints.
    Avoiders,
    /// Replaces keys by their mistakes, over generations.
    Chain,
    /// Gathers all mistakes about a few keys.
    Few,
    /// Confronts keys with mistakes about mistakes.
    Grandchildren,
    /// Deletes and re-inserts everything, again and again.
    Revenants,
    /// Carries connected keys from phase to phase.
    PhaseRiders,
    /// Keys and their mistakes take turns.
    Seesaw,
    /// Stores and asks known keys at random.
    Lottery,
    /// Collects mistakes over crashes and growth.
    Lives,
}

/// What the lab knows of an adversary.
struct Entry {
    name: &'static str,
    help: &'static str,
    adversary: &'static dyn Adversary,
}

impl AdversaryName {
    /// All names.
    pub const ALL: [AdversaryName; 25] = [
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
    ];

    fn entry(self) -> Entry {
        let entry = |name, help, adversary| Entry { name, help, adversary };
        match self {
            AdversaryName::Fresh => {
                entry("fresh", "Asks nothing, and names a key at random: wins at the static rate.", &Fresh)
            }
            AdversaryName::Repeat => entry(
                "repeat",
                "Asks the mistakes that it found again and again, and names the one that was wrong most often.",
                &Repeat,
            ),
            AdversaryName::Rounds => entry(
                "rounds",
                "Asks n keys, then those that were wrong, then those that were wrong again, and so on; names a survivor.",
                &Rounds,
            ),
            AdversaryName::DeleteReinsert => entry(
                "delete-reinsert",
                "Finds the stored key that a mistake collides with by deleting and re-inserting keys; names the mistake after one more such turn.",
                &DeleteReinsert,
            ),
            AdversaryName::Cyclic => entry(
                "cyclic",
                "Searches for a key that is wrong under all fingerprint functions of a cell, made for cyclic.",
                &Cyclic,
            ),
            AdversaryName::Swapping => entry(
                "swapping",
                "Searches for a key that is wrong in whatever order the keys of a bucket stand, made for swapping.",
                &Swapping,
            ),
            AdversaryName::Unfixable => entry(
                "unfixable",
                "Searches for keys of which one is wrong whatever the filter does, made for cuckooing.",
                &Unfixable,
            ),
            AdversaryName::Swap => entry(
                "swap",
                "Finds n/8 mistakes, deletes the upper half of the keys, inserts the mistakes and names a deleted key.",
                &Swap,
            ),
            AdversaryName::Endless => entry(
                "endless",
                "Keeps a frontier in byte order busy with rising keys so that a phase never ends, finds n mistakes meanwhile, then swaps.",
                &Endless,
            ),
            AdversaryName::Siblings => entry(
                "siblings",
                "Finds mistakes, deletes all keys, inserts half of the mistakes and names one of the other half.",
                &Siblings,
            ),
            AdversaryName::SiblingsAges => entry(
                "siblings-ages",
                "The same with mistakes from the end of one phase, used at the beginning of the next.",
                &SiblingsAges,
            ),
            AdversaryName::SiblingsFrontier => entry(
                "siblings-frontier",
                "The same without deleting the keys that the mistakes are about: the frontier passes them instead.",
                &SiblingsFrontier,
            ),
            AdversaryName::Growth => {
                entry("growth", "Finds mistakes, waits until the filter has grown, and names one of them.", &Growth)
            }
            AdversaryName::Crash => entry(
                "crash",
                "Finds mistakes, waits until the process has died and the filter was recovered, and names one of them.",
                &Crash,
            ),
            AdversaryName::Flood => entry(
                "flood",
                "Replaces half of the keys by mistakes, which crowd into few places; names a deleted key or another mistake.",
                &Flood,
            ),
            AdversaryName::FullOracle => entry(
                "full-oracle",
                "Floods the filter until it refuses keys, and names a fresh key that was refused while others were taken.",
                &FullOracle,
            ),
            AdversaryName::Avoiders => entry(
                "avoiders",
                "Keeps the keys that were right while the set changed again and again, inserts most of them and names another.",
                &Avoiders,
            ),
            AdversaryName::Chain => entry(
                "chain",
                "Replaces half of the keys by their mistakes, four times over, while some deleted keys come back; names any that are not stored.",
                &Chain,
            ),
            AdversaryName::Few => entry(
                "few",
                "Deletes all but n/16 keys, finds many mistakes about each, inserts every second one and names another.",
                &Few,
            ),
            AdversaryName::Grandchildren => entry(
                "grandchildren",
                "Finds mistakes about mistakes, removes the generation between, stores half of what is left and names of the other half.",
                &Grandchildren,
            ),
            AdversaryName::Revenants => entry(
                "revenants",
                "Deletes all keys and inserts them in another order, six times, asking half of its mistakes each time; names a mistake.",
                &Revenants,
            ),
            AdversaryName::PhaseRiders => entry(
                "phase-riders",
                "Keeps its mistakes while other mistakes push the frontier through two phases, then plays `siblings` with them.",
                &PhaseRiders,
            ),
            AdversaryName::Seesaw => entry(
                "seesaw",
                "Stores the keys and their mistakes in turns, asking those that are absent; names a key while the mistakes are stored.",
                &Seesaw,
            ),
            AdversaryName::Lottery => entry(
                "lottery",
                "Stores a random part of all keys that it knows in each of eight rounds, asks some of the others, and names any that are absent.",
                &Lottery,
            ),
            AdversaryName::Lives => entry(
                "lives",
                "Finds mistakes before and after two crashes and a growth, and names one of any time: wins where an old hash function returns.",
                &Lives,
            ),
        }
    }

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        self.entry().name
    }

    /// What it does, in a sentence.
    pub fn help(self) -> &'static str {
        self.entry().help
    }

    /// Whether it names a key that it has searched for, or gives up: it minds the [`Tactics`](super::Tactics), and the
    /// report says how the search went.
    pub fn searches(self) -> bool {
        matches!(self, AdversaryName::Cyclic | AdversaryName::Swapping | AdversaryName::Unfixable)
    }

    /// The adversary of this name.
    pub(super) fn adversary(self) -> &'static dyn Adversary {
        self.entry().adversary
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
            .ok_or_else(|| format!("there is no adversary `{text}` here: {}", known()))
    }
}
