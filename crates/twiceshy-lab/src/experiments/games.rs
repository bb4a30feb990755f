//! Games against filters in experiments. A trial is a block of games, each against a new filter; it fills one line for
//! each adversary.

use crate::experiment::{
    Axis, Contender, Curve, Evidence, Line, Picture, Planted, Point, Setup, Statement, Table, TaskError, line,
};
use crate::game::{AdversaryName, Recipe, Report, Settings, Tactics, run_many};
use crate::interval::{Z95, wilson};

pub(super) const COLUMNS: &[&str] = &[
    "adversary",
    "filter",
    "bits",
    "keys",
    "phases",
    "games",
    "wins",
    "static_rate",
    "bits_per_key",
    "bits_per_key_end",
    "queries_per_game",
    "named",
    "named_wins",
    "suspects",
    "unfixable",
    "rebuilds",
    "load",
    "nameable",
    "nameable_wrong",
    "pool_rate",
    "refusals",
];

/// A load that small tables of all shapes can reach.
const LOAD: f64 = 0.9;

/// A block of games of one or several adversaries against one filter.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// Each plays against copies of the same filters.
    pub(super) adversaries: Vec<AdversaryName>,
    pub(super) contender: Contender,
    /// The bits used as the x value: those of a fingerprint or remainder.
    pub(super) bits: u32,
    pub(super) keys: u64,
    pub(super) load: Option<f64>,
    pub(super) phases: u64,
    /// Games of each adversary in a trial.
    pub(super) games: u64,
    pub(super) tactics: Tactics,
    /// The estimated time of a trial in seconds.
    pub(super) work: f64,
}

impl Match {
    pub(super) fn new(adversaries: &[AdversaryName], contender: Contender, bits: u32, keys: u64, games: u64) -> Match {
        Match {
            adversaries: adversaries.to_vec(),
            contender: contender.over_mirror(),
            bits,
            keys,
            load: Some(LOAD),
            phases: 0,
            games,
            tactics: Tactics::default(),
            work: games as f64 * keys as f64 * 1e-5,
        }
    }

    /// The point that plays it. A planted wrong rule makes the filters deaf to every second key: they do not learn from
    /// mistakes about it. A planted model changes nothing, since no statement about games needs one.
    pub(super) fn point(self, setup: &Setup) -> Point {
        let Match { adversaries, bits, keys, phases, contender, .. } = &self;
        let names: Vec<&str> = adversaries.iter().take(1).map(|name| name.as_str()).collect();
        let others =
            if adversaries.len() > 1 { format!(" and {} others", adversaries.len() - 1) } else { String::new() };
        let name = format!(
            "{}{others} against {}, {bits} bits, {keys} keys, {phases} phases",
            names.concat(),
            contender.label
        );
        let deaf = setup.planted == Planted::WrongRule;
        let settings = (self.clone(), deaf);
        Point::new(name, self.work, &settings, move |seed| self.play(seed, deaf))
    }

    fn play(&self, seed: u64, deaf: bool) -> Result<Vec<Line>, TaskError> {
        let spec = &self.contender.spec;
        let recipe = Recipe::shaped(spec, self.keys, self.load)?;
        let recipe = if deaf { recipe.deaf_to_odd_keys() } else { recipe };
        let Some(&adversary) = self.adversaries.first() else { return Ok(Vec::new()) };
        let settings = Settings {
            filter: spec.name,
            adversary,
            keys: self.keys,
            epsilon: recipe.static_rate(),
            phases: self.phases,
            games: self.games,
            seed,
            jobs: 1,
        };
        let reports = run_many(&settings, &self.adversaries, &recipe, &self.tactics, &|_| ())?;
        Ok(reports.iter().map(|report| self.line(report)).collect())
    }

    fn line(&self, report: &Report) -> Line {
        let a_game = |count: u64| count as f64 / report.games as f64;
        let search = report.search.as_ref();
        line![
            report.adversary.as_str(),
            self.contender.label.as_str(),
            self.bits,
            report.keys,
            report.phases,
            report.games,
            report.wins,
            report.static_rate,
            report.local_bits_per_key_start,
            report.local_bits_per_key_end,
            a_game(report.queries),
            search.map_or(0, |search| search.named),
            search.map_or(0, |search| search.named_wins),
            search.and_then(|search| search.suspects.as_ref()).map_or(0.0, |suspects| suspects.mean),
            report.unfixable,
            report.rebuilds,
            self.load.unwrap_or(LOAD),
            report.nameable,
            report.nameable_wrong,
            report.pool_rate,
            report.refusals,
        ]
    }
}

/// The win rates of a table's filters over a column.
pub(super) fn picture(
    name: String,
    title: String,
    x: Axis,
    along: &str,
    table: &Table,
    looks: &[Contender],
) -> Picture {
    let mut lines: Vec<Curve> = Vec::new();
    for contender in looks {
        let own = table.only("filter", contender.label.as_str());
        if own.is_empty() || lines.iter().any(|line| line.label == contender.label) {
            continue;
        }
        let (points, intervals): (Vec<_>, Vec<_>) = win_rates(&own, along).into_iter().unzip();
        let curve = Curve::measured(contender.label.as_str(), contender.look, points);
        lines.push(curve.within(intervals));
    }
    Picture { name, title, x, y: Axis::linear("share of the games won, with Wilson's 95 % intervals"), lines }
}

/// The share of games won at each value of a column, by rising values, and its 95 % interval.
fn win_rates(own: &Table, along: &str) -> Vec<((f64, f64), (f64, f64))> {
    let mut all: Vec<((f64, f64), (f64, f64))> = Vec::new();
    for value in own.values(along) {
        let here = own.only(along, value.clone());
        let (wins, games) = (here.sample("wins").sum(), here.sample("games").sum());
        if let Some(x) = value.number() {
            all.push(((x, wins / games), wilson(wins as u64, games as u64, Z95)));
        }
    }
    all.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
    all
}

/// The lines of each match: one adversary against one filter of some bits, with some keys.
pub(super) fn matches(table: &Table) -> Vec<Table> {
    let mut parts = vec![table.clone()];
    for column in ["filter", "adversary", "bits", "keys"] {
        let split = |part: &Table| -> Vec<Table> {
            part.values(column).into_iter().map(|value| part.only(column, value)).collect()
        };
        parts = parts.iter().flat_map(split).collect();
    }
    parts
}

/// "`repeat` against broom, 4 bits".
fn label(own: &Table) -> String {
    let first = own.rows().next();
    let text = |column: &str| first.map(|row| row.text(column)).unwrap_or_default();
    format!("`{}` against {}, {} bits, {} keys", text("adversary"), text("filter"), text("bits"), text("keys"))
}

/// The share of a match's games that were won.
pub(super) fn won(own: &Table) -> Evidence {
    Evidence::share(label(own), &own.sample("wins"), &own.sample("games"))
}

/// What an adversary may win beyond ε before a statement "no more than ε" fails: a quarter of ε, as docs/broom.md
/// promises, or two percentage points where that is more. Without a margin no number of games could support it, since
/// a key that was never asked wins with ε.
pub(super) fn margin(static_rate: f64) -> f64 {
    (0.25 * static_rate).max(0.02)
}

/// How [`margin`] is told in a statement.
pub(super) const MARGIN: &str = "ε plus a quarter of it, or plus two percentage points where that is more, at the widths where ε is at \
                                 least 4 %";

/// With a smaller ε the margin would be a multiple of it, or the games would take too long.
const LEAST_EPSILON: f64 = 0.04;

/// ε of a match, unless it is too small to be tested.
fn epsilon(own: &Table) -> Option<f64> {
    own.first("static_rate").filter(|rate| *rate >= LEAST_EPSILON)
}

/// That an adversary wins no more than ε: the share of games won.
pub(super) fn wins_no_more(own: &Table) -> Option<Evidence> {
    let static_rate = epsilon(own)?;
    Some(won(own).below(static_rate + margin(static_rate)))
}

/// The same for an adversary with a large pool of keys to name: the mean share of wrong ones.
pub(super) fn pool_no_worse(own: &Table) -> Option<Evidence> {
    let static_rate = epsilon(own)?;
    let pool = Evidence::mean(format!("{}, keys that it could name", label(own)), &own.sample("pool_rate"));
    Some(pool.below(static_rate + margin(static_rate)))
}

/// The same at any ε, with a margin of a quarter of it: the share of wrong ones among all keys that it had to name in all games.
///
/// Keys of one game share a filter, but are wrong nearly independently: over 2,000 games the standard errors of these shares are
/// those of independent keys, to the second digit. Where an adversary wins, its keys are wrong in pairs.
pub(super) fn all_pools_no_worse(own: &Table) -> Option<Evidence> {
    let static_rate = own.first("static_rate")?;
    let label = format!("{}, all keys that it could name", label(own));
    let share = Evidence::share(label, &own.sample("nameable_wrong"), &own.sample("nameable"));
    Some(share.below(1.25 * static_rate))
}

/// That an adversary wins more than ε: the share of games won.
pub(super) fn wins_more(own: &Table) -> Option<Evidence> {
    let static_rate = epsilon(own)?;
    Some(won(own).above(static_rate + margin(static_rate)))
}

/// That an adversary that searches wins no more than ε: the share of games won with a key that it found. If it finds none it names
/// a key that was never asked, which wins with ε, so that only the found ones can bring it beyond.
pub(super) fn finds_no_more(own: &Table) -> Option<Evidence> {
    let static_rate = own.first("static_rate")?;
    let found = format!("{}, by a key that it found", label(own));
    Some(Evidence::share(found, &own.sample("named_wins"), &own.sample("games")).below(margin(static_rate)))
}

/// The statement that none of these adversaries, which search, wins more than ε against these filters.
pub(super) fn no_search_wins(paper: &str, table: &Table, filters: &[&str]) -> Statement {
    let own = |part: &Table| part.rows().next().is_some_and(|row| filters.contains(&row.text("filter").as_str()));
    let tested = "the share of games won with a key that it found: at most a quarter of ε, or two percentage points where that is \
                  more. In its other games it names a random key, which wins with ε";
    Statement::new(paper, tested)
        .every(matches(table).iter().filter(|part| own(part)).filter_map(finds_no_more).collect())
}
