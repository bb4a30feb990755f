//! The adaptivity game (001 section 2, Figure 1): an adversary asks, inserts and deletes, and then names one absent key. It
//! wins if the filter calls that key present. A filter is adaptive if no adversary wins more often than ε.
//!
//! Every game is played against a filter of its own, under a hash key of its own, and takes all its randomness from the
//! seed and the game's number: the games are independent, and it does not matter which processor plays which.

mod adversary;
mod anatomy;
mod avoiders;
mod chain;
#[cfg(test)]
mod conduct;
mod crash;
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
mod rounds;
mod search;
mod seesaw;
mod shaped;
mod siblings;
mod siblings_ages;
mod siblings_frontier;
mod stubborn;
mod swap;
mod swapping;
mod tactics;
mod unfixable;

pub use adversary::AdversaryName;
pub use dispatch::Recipe;
pub(crate) use oracle::Oracle;
pub use oracle::Refusal;
pub use report::Report;
pub use search::{Search, Suspects};
pub use tactics::Tactics;

use crate::replay::FilterName;
use twiceshy::error::OptionsError;

/// Which games to play.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The filter that is attacked.
    pub filter: FilterName,
    /// Who attacks it.
    pub adversary: AdversaryName,
    /// n, the keys that the filter is made for; it holds as many when the adversary begins.
    pub keys: u64,
    /// ε, the rate of false positives that the filter is made for.
    pub epsilon: f64,
    /// How often the filter's frontier has gone round when the adversary begins. Above 0 the filter hears of false positives
    /// that the adversary knows nothing of until it has, and goes on for half a phase, so that both hash functions are in use.
    pub phases: u64,
    /// How many games.
    pub games: u64,
    /// Where all randomness comes from.
    pub seed: u64,
    /// How many games are played at once.
    pub jobs: usize,
}

/// The most keys of a game: a filter is filled for every one of them.
pub const MOST_KEYS: u64 = 1 << 24;

/// The absent keys that an adversary can draw from: more than any asks.
const ABSENT: u64 = 1 << 40;

/// The most look-ups of keys never asked before that an adversary spends on finding false positives.
const MOST_FRESH: f64 = 1_048_576.0;

/// Why games could not be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GameError {
    /// A setting that cannot work.
    #[error("{0}")]
    Setting(String),
    /// No such filter can be built.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The adversary broke the rules: a bug of the adversary.
    #[error("the adversary broke the rules: {0}")]
    Refused(#[from] Refusal),
    /// The keys do not fit.
    #[error("the keys do not fit under any of {0} hash keys: lower --load if you chose it, else try another --seed")]
    Full(u32),
    /// The filter and its remote disagree: a bug.
    #[error("the filter and its remote failed together: {0}")]
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

/// Plays all games and adds them up. `progress` is told the number of games that have ended, from any thread.
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
/// assert_eq!(report.wins, 20, "a filter that does not learn loses to whoever asks twice");
/// # Ok::<(), twiceshy_lab::game::GameError>(())
/// ```
pub fn run(settings: &Settings, progress: &(dyn Fn(u64) + Sync)) -> Result<Report, GameError> {
    playable(settings)?;
    let recipe = Recipe::named(settings.filter, settings.keys, settings.epsilon)?;
    one_report(settings, &recipe, &Tactics::default(), progress)
}

/// The same against filters by a recipe for as many keys. The settings' filter is what the report calls them.
pub fn run_against(settings: &Settings, recipe: &Recipe, progress: &(dyn Fn(u64) + Sync)) -> Result<Report, GameError> {
    run_with(settings, recipe, &Tactics::default(), progress)
}

/// The same with an adversary that goes as far as it is told.
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

/// The same with several adversaries, whichever the settings name: a report for each, in this order. In a game all of them
/// meet the same filter, each in a copy of its own, so that it is filled once.
pub fn run_many(
    settings: &Settings,
    adversaries: &[AdversaryName],
    recipe: &Recipe,
    tactics: &Tactics,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Report>, GameError> {
    playable(settings)?;
    tactics.check()?;
    play::all(settings, adversaries, recipe, tactics, progress)
}

fn one_report(
    settings: &Settings,
    recipe: &Recipe,
    tactics: &Tactics,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report, GameError> {
    let mut reports = play::all(settings, &[settings.adversary], recipe, tactics, progress)?;
    reports.pop().ok_or_else(|| GameError::Seam("an adversary played and there is no report".into()))
}

fn playable(settings: &Settings) -> Result<(), GameError> {
    if settings.games == 0 {
        return Err(GameError::Setting("0 games decide nothing: ask for at least 1".into()));
    }
    affordable(settings.keys)
}

fn affordable(keys: u64) -> Result<(), GameError> {
    if keys > MOST_KEYS {
        let why = format!("every game fills a filter of its own: at most {MOST_KEYS} keys, not {keys}");
        return Err(GameError::Setting(why));
    }
    Ok(())
}
