//! The adaptivity game (001 section 2, Figure 1): an adversary asks, inserts and deletes, and then names one absent
//! key. It wins if the filter calls that key present. A filter is adaptive if no adversary wins more often than ε.
//!
//! Every game has its own filter and hash key, and takes all its randomness from the seed and the game's number. So the
//! games are independent, and the results do not depend on the number of threads.

mod adversary;
mod anatomy;
mod avoiders;
mod body;
mod chain;
#[cfg(test)]
mod conduct;
mod crash;
mod crowding;
mod cyclic;
mod defender;
mod delete_reinsert;
mod diary;
mod dispatch;
mod endless;
mod few;
mod flood;
mod fresh;
mod full_oracle;
mod grandchildren;
mod growth;
mod lives;
mod lottery;
mod named;
mod notes;
mod oracle;
mod phase_riders;
mod play;
mod prelude;
mod repeat;
mod report;
mod revenants;
mod rivals;
mod rounds;
mod search;
mod seesaw;
mod shaped;
mod siblings;
mod siblings_ages;
mod siblings_frontier;
mod silent_probing;
mod silent_siblings;
mod stubborn;
mod swap;
mod swapping;
mod tactics;
mod unfixable;

pub use adversary::{AdversaryName, Move};
pub use dispatch::Recipe;
pub(crate) use oracle::Oracle;
pub use oracle::Refusal;
pub use report::Report;
pub(crate) use rounds::in_rounds;
pub use search::{Moves, Search, Suspects};
pub use tactics::Tactics;

use crate::replay::FilterName;
use twiceshy::error::OptionsError;

/// The input of [`run`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The filter under attack.
    pub filter: FilterName,
    /// The adversary.
    pub adversary: AdversaryName,
    /// n, the number of keys that the filter is built for. It holds that many when the adversary begins.
    pub keys: u64,
    /// ε, the false-positive rate that the filter is built for.
    pub epsilon: f64,
    /// How many phases of the filter's frontier are over when the adversary begins. If above 0, the filter first hears
    /// of false positives that the adversary does not know, for that many phases and half of another, so that both hash
    /// functions are in use.
    pub phases: u64,
    /// The number of games.
    pub games: u64,
    /// The random seed.
    pub seed: u64,
    /// How many games are played in parallel.
    pub jobs: usize,
}

/// The most keys in a game: every game fills its own filter.
pub const MOST_KEYS: u64 = 1 << 24;

/// The number of absent keys that an adversary can draw from; none uses as many.
const ABSENT: u64 = 1 << 40;

/// The most look-ups of first-time keys that an adversary spends on finding false positives.
const MOST_FRESH: f64 = 1_048_576.0;

/// Why games could not be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GameError {
    /// An invalid setting.
    #[error("{0}")]
    Setting(String),
    /// The filter cannot be built.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The adversary broke the rules: a bug in the adversary.
    #[error("the adversary broke the rules: {0}")]
    Refused(#[from] Refusal),
    /// The keys do not fit.
    #[error("the keys do not fit under any of {0} hash keys: lower --load if you chose it, else try another --seed")]
    Full(u32),
    /// The filter and its remote disagree: a bug.
    #[error("the filter and its remote disagree, which is a bug: {0}")]
    Seam(String),
}

impl From<twiceshy::Error> for GameError {
    fn from(error: twiceshy::Error) -> GameError {
        match error {
            twiceshy::Error::Options(error) => GameError::Options(error),
            error => GameError::Seam(error.to_string()),
        }
    }
}

/// Plays all games and adds them up. Calls `progress` with the number of finished games, from any thread.
///
/// ```
/// use twiceshy::Kind;
/// use twiceshy_lab::game::{AdversaryName, Settings, run};
///
/// let settings = Settings {
///     filter: Kind::Quotient.into(),
///     adversary: AdversaryName::Repeat,
///     keys: 200,
///     epsilon: 0.05,
///     phases: 0,
///     games: 20,
///     seed: 1,
///     jobs: 1,
/// };
/// let report = run(&settings, &|_| ())?;
/// assert_eq!(report.wins, 20, "a filter that does not learn repeats its mistakes");
/// # Ok::<(), twiceshy_lab::game::GameError>(())
/// ```
pub fn run(settings: &Settings, progress: &(dyn Fn(u64) + Sync)) -> Result<Report, GameError> {
    playable(settings)?;
    let recipe = Recipe::named(settings.filter, settings.keys, settings.epsilon)?;
    one_report(settings, &recipe, &Tactics::default(), progress)
}

/// The same against filters from a recipe for the same number of keys. The settings' filter is only the name in the
/// report.
pub fn run_against(settings: &Settings, recipe: &Recipe, progress: &(dyn Fn(u64) + Sync)) -> Result<Report, GameError> {
    run_with(settings, recipe, &Tactics::default(), progress)
}

/// The same with the adversary's bounds given by `tactics`.
pub fn run_with(
    settings: &Settings,
    recipe: &Recipe,
    tactics: &Tactics,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report, GameError> {
    playable(settings)?;
    tactics.check()?;
    one_report(settings, recipe, tactics, progress)
}

/// The same with several adversaries instead of the settings' one. Returns a report for each, in this order. In each
/// game all of them meet a copy of the same filter, so that it is filled only once.
pub fn run_many(
    settings: &Settings,
    adversaries: &[AdversaryName],
    recipe: &Recipe,
    tactics: &Tactics,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Report>, GameError> {
    playable(settings)?;
    tactics.check()?;
    adversaries.iter().try_for_each(|adversary| meets(settings.filter, recipe, *adversary))?;
    play::all(settings, adversaries, recipe, tactics, progress)
}

fn one_report(
    settings: &Settings,
    recipe: &Recipe,
    tactics: &Tactics,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report, GameError> {
    meets(settings.filter, recipe, settings.adversary)?;
    let mut reports = play::all(settings, &[settings.adversary], recipe, tactics, progress)?;
    reports.pop().ok_or_else(|| GameError::Seam("an adversary played without a report".into()))
}

fn playable(settings: &Settings) -> Result<(), GameError> {
    if settings.games == 0 {
        return Err(GameError::Setting("the number of games must be at least 1, not 0".into()));
    }
    affordable(settings.keys)
}

/// Refuses an adversary whose moves the filter cannot answer.
fn meets(filter: FilterName, recipe: &Recipe, adversary: AdversaryName) -> Result<(), GameError> {
    if recipe.can_meet(adversary) {
        return Ok(());
    }
    let others: Vec<&str> =
        AdversaryName::ALL.into_iter().filter(|it| recipe.can_meet(*it)).map(AdversaryName::as_str).collect();
    let why = format!(
        "{adversary} cannot attack {filter}: it {}, and {filter} has no removal and does not know its keys. These only ask: {}",
        adversary.in_words(),
        others.join(", ")
    );
    Err(GameError::Setting(why))
}

fn affordable(keys: u64) -> Result<(), GameError> {
    if keys > MOST_KEYS {
        let why = format!(
            "the number of keys must be at most {MOST_KEYS}, not {keys}, since every game fills its own filter"
        );
        return Err(GameError::Setting(why));
    }
    Ok(())
}
