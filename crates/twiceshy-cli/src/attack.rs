//! `twiceshy attack`.

mod flags;
mod who;

use crate::numbers;
use crate::output::{columns, grouped, print, print_json, progress_bar, rate};
use flags::{Bounds, FormArg, Geometry};
use twiceshy::Kind;
use twiceshy::quotient::BroomFilter;
use twiceshy_lab::game::{AdversaryName, Recipe, Report, Search, Settings, run_many};
use twiceshy_lab::replay::FilterName;
use who::Who;

/// Play the adaptivity game: an adversary asks, inserts and deletes, then names an absent key. It wins if the
/// filter calls that key present.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The filter: cuckoo, cyclic, swapping, cuckooing, quotient, telescoping, telescoping-plain, extension, broom,
    /// remembering, or a rival: bloom, blocked-bloom, cuckoo-cache or bloom-listed (Bloom filters can only be asked)
    #[arg(long)]
    filter: FilterName,
    /// The adversary, a comma-separated list, or `all` (every one except those that search); --help explains each
    #[arg(long, required = true, value_delimiter = ',', long_help = who::help())]
    adversary: Vec<Who>,
    /// n, the number of keys that the filter is built for and holds
    #[arg(long, default_value_t = 500, value_parser = numbers::count::<u64>)]
    keys: u64,
    /// ε, the false-positive rate that the filter is built for
    #[arg(long, default_value_t = 0.01, value_parser = numbers::rate)]
    fpr: f64,
    #[command(flatten)]
    geometry: Geometry,
    /// broom: where to keep keys that do not fit into the first level [default: depends on the size of the
    /// remainders]
    #[arg(long, conflicts_with = "bits")]
    form: Option<FormArg>,
    #[command(flatten)]
    bounds: Bounds,
    /// How many phases of a broom filter's frontier are over when the adversary begins (plus half of one, if above 0)
    #[arg(long, default_value_t = 0, value_parser = numbers::count::<u64>)]
    phases: u64,
    /// The number of games, each against a new filter with a new hash key
    #[arg(long, default_value_t = 1000, value_parser = numbers::count::<u64>)]
    games: u64,
    /// The random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many games to play in parallel [default: one per processor]
    #[arg(long, value_parser = numbers::count::<usize>)]
    jobs: Option<usize>,
    /// Print one JSON object, or an array of objects for several adversaries
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let (recipe, epsilon) = recipe(args)?;
    let adversaries = who::names(&args.adversary, |adversary| recipe.can_meet(adversary));
    let tactics = args.bounds.tactics(&adversaries)?;
    let Some(&adversary) = adversaries.first() else {
        anyhow::bail!("--adversary is empty: name at least one adversary")
    };
    let settings = Settings {
        filter: args.filter,
        adversary,
        keys: args.keys,
        epsilon,
        phases: args.phases,
        games: args.games,
        seed: args.seed,
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
    };
    let who = if adversaries.len() == 1 { adversary.to_string() } else { format!("{} adversaries", adversaries.len()) };
    let bar = progress_bar(args.games, &format!("{who} against {}", args.filter));
    let reports = run_many(&settings, &adversaries, &recipe, &tactics, &|ended| bar.set_position(ended));
    bar.finish_and_clear();
    match (&reports?[..], args.json) {
        ([report], true) => print_json(report),
        (reports, true) => print_json(&reports),
        ([report], false) => print(&words(report)),
        (reports, false) => print(&overview(reports)),
    }
}

/// The filter under attack, and the ε that it must keep.
fn recipe(args: &Args) -> anyhow::Result<(Recipe, f64)> {
    if let Some(spec) = args.geometry.spec(args.filter) {
        let recipe = Recipe::shaped(&spec, args.keys, args.geometry.load)?;
        let rate = recipe.static_rate();
        return Ok((recipe, rate));
    }
    let recipe = match args.form {
        None => Recipe::named(args.filter, args.keys, args.fpr)?,
        Some(form) if args.filter == Kind::Broom.into() => {
            Recipe::broom(BroomFilter::options(args.keys, args.fpr)?.form(form.into()), args.keys)?
        }
        Some(_) => anyhow::bail!("--form is an option of --filter broom, not of {}", args.filter),
    };
    Ok((recipe, args.fpr))
}

/// The reports of several adversaries as text, one row each.
fn overview(reports: &[Report]) -> String {
    let head = ["adversary", "win rate", "pool rate", "± error", "nameable", "wrong", "refused", "verdict"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for report in reports {
        rows.push(vec![
            report.adversary.clone(),
            rate(report.win_rate),
            rate(report.pool_rate),
            rate(report.pool_rate_se),
            grouped(report.nameable),
            grouped(report.nameable_wrong),
            grouped(report.refusals),
            in_a_word(report).to_owned(),
        ]);
    }
    let first = reports.first();
    let about = first.map_or_else(String::new, |report| {
        let Report { filter, games, epsilon, seed, .. } = report;
        let (keys, games) = (grouped(report.keys), grouped(*games));
        format!("{filter}, {keys} keys, epsilon {}, {games} games for each adversary, seed {seed}\n\n", rate(*epsilon))
    });
    let beaten = reports.iter().filter(|report| report.is_beaten(report.epsilon)).count();
    format!(
        "{about}{}\n{beaten} of {} adversaries win more often than epsilon, by more than four standard errors.\n",
        columns(&rows),
        reports.len()
    )
}

/// How the filter did.
fn in_a_word(report: &Report) -> &'static str {
    if learns_nothing(report) {
        "no frontier"
    } else if report.is_beaten(report.epsilon) {
        "beaten"
    } else {
        "holds"
    }
}

/// The report as text.
fn words(report: &Report) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let a_game = |count: u64| format!("{:.1}", count as f64 / report.games as f64);
    let mut rows = vec![
        row("games", grouped(report.games)),
        row("won by the adversary", grouped(report.wins)),
        row("win rate", rate(report.win_rate)),
        row("  standard deviation", rate(report.win_rate_sd)),
        row("  95 % interval", format!("{} to {}", rate(report.win_rate_low), rate(report.win_rate_high))),
        row("keys that it could have named", grouped(report.nameable)),
        row("  that were false positives", grouped(report.nameable_wrong)),
        row("  rate, mean of the games", format!("{} ± {}", rate(report.pool_rate), rate(report.pool_rate_se))),
        row("epsilon, as requested", rate(report.epsilon)),
        row("  static rate of the filter", rate(report.static_rate)),
        row("look-ups a game", a_game(report.queries)),
        row("  that were false positives", a_game(report.false_positives)),
        row("insertions and deletions a game", a_game(report.insertions + report.deletions)),
        row("local bits a key at the start", format!("{:.2}", report.local_bits_per_key_start)),
        row("  at the end", format!("{:.2}", report.local_bits_per_key_end)),
    ];
    if report.phases_at_end > 0.0 {
        rows.push(row("phases at the start", format!("{:.2}", report.phases_at_start)));
        rows.push(row("  at the end", format!("{:.2}", report.phases_at_end)));
    }
    if let Some(search) = &report.search {
        rows.extend(searched(search, report.games));
    }
    if let Some(moves) = &report.moves {
        rows.push(row("moves of the frontier that it found", grouped(moves.moves_found)));
        rows.push(row("  that it missed", grouped(moves.moves_missed)));
        rows.push(row("  false alarms", grouped(moves.false_alarms)));
    }
    for (name, count) in [
        ("adaptations that were impossible", report.unfixable),
        ("rebuilds", report.rebuilds),
        ("  that found no room", report.rebuilds_refused),
    ] {
        if count > 0 {
            rows.push(row(name, grouped(count)));
        }
    }
    if let Some(load) = report.lowest_refused_load {
        rows.push(row("insertions refused by the filter", grouped(report.refusals)));
        rows.push(row("  lowest load at which it did", format!("{:.1} %", load * 100.0)));
    }
    let Report { adversary, filter, keys, seed, .. } = report;
    let keys = grouped(*keys);
    format!("{adversary} against {filter}, {keys} keys, seed {seed}\n\n{}\n{}\n", columns(&rows), verdict(report))
}

/// The rows about the search, for an adversary that searches.
fn searched(search: &Search, games: u64) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let a_game = |count: u64| format!("{:.1}", count as f64 / games as f64);
    let mut rows = vec![
        row("keys tried a game", a_game(search.elements)),
        row("  games cut short by the bound on look-ups", grouped(search.cut_short)),
        row("games in which a key was found and named", grouped(search.named)),
        row("  of these won", grouped(search.named_wins)),
    ];
    if let Some(suspects) = &search.suspects {
        rows.extend([
            row("keys under suspicion a game", format!("{:.1}", suspects.mean)),
            row("  games with too few of them", grouped(suspects.too_few)),
            row("  games with too many", grouped(suspects.too_many)),
            row("  games without a permutation", grouped(suspects.no_permutation)),
            row("permutation rounds a game", a_game(suspects.rounds)),
            row("  games with fewer than the paper's", grouped(suspects.rounds_cut)),
        ]);
    }
    rows
}

/// `true` if the adversary looks for moves of a frontier, and the filter has none.
fn learns_nothing(report: &Report) -> bool {
    report.adversary.parse().is_ok_and(AdversaryName::needs_frontier)
        && report.filter != FilterName::from(Kind::Broom).to_string()
}

/// What the rates mean, in a sentence.
fn verdict(report: &Report) -> String {
    let (won, epsilon) = (rate(report.win_rate), rate(report.epsilon));
    let Report { adversary, filter, .. } = report;
    if learns_nothing(report) {
        return format!(
            "{filter} has no frontier, so {adversary} learns nothing and names a fresh key: this says nothing about {filter}. Only \
             the broom filter has one."
        );
    }
    if report.is_beaten(report.epsilon) {
        format!(
            "No adversary wins against an adaptive filter more often than epsilon; {adversary} wins {won} of its games against \
             {filter}, {:.1} times epsilon. Of all keys that it could have named, {} are wrong, {:.1} times epsilon.",
            report.win_rate / report.epsilon,
            rate(report.pool_rate),
            report.pool_rate / report.epsilon
        )
    } else {
        format!(
            "Against {adversary}, {filter} holds what an adaptive filter promises: it loses {won} of the games, not more \
             than epsilon ({epsilon}) as far as chance can tell."
        )
    }
}
