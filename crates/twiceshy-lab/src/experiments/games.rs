//! Games against filters in experiments: one match per task, one line per match.

use crate::experiment::{Axis, Contender, Curve, Finding, Line, Picture, Row, Setup, Table, Task, TaskError, line};
use crate::game::{AdversaryName, Recipe, Report, Settings, Tactics, run_many};
use crate::interval::at_least;

pub(super) const COLUMNS: &[&str] = &[
    "adversary",
    "filter",
    "bits",
    "keys",
    "phases",
    "games",
    "wins",
    "win_rate",
    "win_rate_low",
    "win_rate_high",
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
    "pool_rate_se",
    "refusals",
];

/// A load that small tables of all shapes can reach.
const LOAD: f64 = 0.9;

/// Many games of one or several adversaries against one filter.
#[derive(Clone, Debug)]
pub(super) struct Match {
    pub(super) adversary: AdversaryName,
    /// Other adversaries that play against copies of the same filters.
    pub(super) others: Vec<AdversaryName>,
    pub(super) contender: Contender,
    /// The bits used as the x value: those of a fingerprint or remainder.
    pub(super) bits: u32,
    pub(super) keys: u64,
    pub(super) load: Option<f64>,
    pub(super) phases: u64,
    pub(super) games: u64,
    pub(super) tactics: Tactics,
    pub(super) work: f64,
}

impl Match {
    pub(super) fn new(adversary: AdversaryName, contender: Contender, bits: u32, keys: u64, games: u64) -> Match {
        let work = games as f64 * keys as f64 * 1e-5;
        let contender = contender.over_mirror();
        Match {
            adversary,
            others: Vec::new(),
            contender,
            bits,
            keys,
            load: Some(LOAD),
            phases: 0,
            games,
            tactics: Tactics::default(),
            work,
        }
    }

    pub(super) fn task(self, setup: &Setup) -> Task {
        let Match { adversary, bits, keys, phases, .. } = self;
        let label = &self.contender.label;
        let others = if self.others.is_empty() { String::new() } else { format!(" and {} others", self.others.len()) };
        let name = format!("{adversary}{others} against {label}, {bits} bits, {keys} keys, {phases} phases");
        let seed = setup.seed;
        let settings = format!("{self:?}");
        Task::new(name, self.work, move || self.play(seed)).with_settings(&settings)
    }

    fn play(&self, seed: u64) -> Result<Vec<Line>, TaskError> {
        let spec = &self.contender.spec;
        let recipe = Recipe::shaped(spec, self.keys, self.load)?;
        let settings = Settings {
            filter: spec.name,
            adversary: self.adversary,
            keys: self.keys,
            epsilon: recipe.static_rate(),
            phases: self.phases,
            games: self.games,
            seed,
            jobs: 1,
        };
        let adversaries = [&[self.adversary], &self.others[..]].concat();
        let reports = run_many(&settings, &adversaries, &recipe, &self.tactics, &|_| ())?;
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
            report.win_rate,
            report.win_rate_low,
            report.win_rate_high,
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
            report.pool_rate_se,
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
        if own.is_empty() || lines.iter().any(|line| line.label.starts_with(&contender.label)) {
            continue;
        }
        let bits = crate::experiment::contest::bits_per_key_label(&own).unwrap_or_default();
        let curve =
            Curve::measured(format!("{}, {bits}", contender.label), contender.look, own.pairs(along, "win_rate"));
        lines.push(curve.within(own.pairs("win_rate_low", "win_rate_high")));
    }
    Picture { name, title, x, y: Axis::linear("games won, with 95 % intervals"), lines }
}

/// "37 of 100 (28.2 to 46.8 %)".
pub(super) fn wins(row: &Row<'_>) -> String {
    let percent = |column: &str| row.number(column).unwrap_or(f64::NAN) * 100.0;
    format!(
        "{} of {} ({:.1} to {:.1} %)",
        row.text("wins"),
        row.text("games"),
        percent("win_rate_low"),
        percent("win_rate_high")
    )
}

/// The row of a filter at some bits.
pub(super) fn row_of<'a>(table: &'a Table, filter: &str, bits: u32) -> Option<Row<'a>> {
    table.rows().find(|row| row.text("filter") == filter && row.number("bits") == Some(f64::from(bits)))
}

/// Events less likely than this are not luck, not even in one of thirty matches.
const LUCK: f64 = 0.001;

/// The statement that no adversary beats some filters beyond their static rates, except by luck; and why it may fail,
/// if known.
pub(super) fn no_adversary_wins<'a>(paper: &str, rows: impl Iterator<Item = Row<'a>>, why: Option<&str>) -> Finding {
    let lucky = |row: &Row<'_>| {
        let (wins, games) = (row.number("wins")? as u64, row.number("games")? as u64);
        Some(at_least(wins, games, row.number("static_rate")?) >= LUCK)
    };
    let (mut matches, mut beaten) = (0, Vec::new());
    for row in rows {
        matches += 1;
        if lucky(&row) != Some(true) {
            beaten.push(format!("{} of {} bits: {}", row.text("filter"), row.text("bits"), wins(&row)));
        }
    }
    let measured = if beaten.is_empty() {
        "no win rate is above the static rate by more than luck".into()
    } else {
        beaten.join("; ")
    };
    let finding = Finding::new(paper, measured, beaten.is_empty());
    match why {
        Some(why) => finding.because(why).of(matches),
        None => finding.of(matches),
    }
}

/// A result beyond four standard errors is not luck.
const ERRORS: f64 = 4.0;

/// The statement that, of the keys which adversaries could have named, the share of wrong ones is at most the static
/// rate times a factor, except by luck.
pub(super) fn no_pool_wins<'a>(paper: &str, rows: impl Iterator<Item = Row<'a>>, factor: f64) -> Finding {
    let holds = |row: &Row<'_>| {
        let number = |column| row.number(column);
        Some(number("pool_rate")? <= factor * number("static_rate")? + ERRORS * number("pool_rate_se")?)
    };
    let (mut matches, mut beaten) = (0, Vec::new());
    for row in rows {
        matches += 1;
        if holds(&row) != Some(true) {
            let percent = |column| row.number(column).unwrap_or(f64::NAN) * 100.0;
            let (rate, error, fair) = (percent("pool_rate"), percent("pool_rate_se"), percent("static_rate"));
            let (adversary, filter, bits) = (row.text("adversary"), row.text("filter"), row.text("bits"));
            beaten.push(format!(
                "`{adversary}` against {filter} of {bits} bits: {rate:.2} ± {error:.2} % for {fair:.2} %"
            ));
        }
    }
    let measured =
        if beaten.is_empty() { "no pool is wrong more often than by luck".into() } else { beaten.join("; ") };
    Finding::new(paper, measured, beaten.is_empty()).of(matches)
}
