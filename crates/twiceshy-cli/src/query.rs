//! `twiceshy query`.

use crate::guarded::{Access, Done, Wait};
use crate::held::{self, FilterCounts, Held};
use crate::interrupted;
use crate::lines::{Inputs, Lines, Totals};
use crate::output::{CANNOT_WRITE, counted, warn};
use crate::place::Place;
use crate::selected::{Form, Selected};
use anyhow::Context as _;
use clap::ValueHint;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::time::Instant;
use twiceshy_lab::input::{Format, Purpose};

/// Look up keys in a guarded store or a shared set, one per line, and print those that are present.
///
/// Lines are read as by `insert`, so a list finds its keys in the form that it was inserted in. Only of a list with
/// values, ask for the keys alone: `cut -f 1 LIST | twiceshy query STORE`. Keys are printed in input order, one per line.
///
/// Exit status, as in grep: 0 if a key was selected, 1 if none was, 2 after an error.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder, or the address of a shared set
    #[arg(value_name = "STORE", value_parser = Place::parser(), value_hint = ValueHint::AnyPath)]
    path: Place,
    #[command(flatten)]
    inputs: Inputs,
    /// Select the keys that are absent
    #[arg(short = 'v', long, visible_alias = "invert-match")]
    absent: bool,
    /// Print a tab and the value after each key
    #[arg(long, conflicts_with = "absent")]
    values: bool,
    /// Print only the number of selected keys
    #[arg(short, long)]
    count: bool,
    #[command(flatten)]
    wait: Wait,
    /// Print nothing, and stop at the first selected key: the exit status is the answer
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object with the keys and what the filter did; with --count or --quiet, without the keys.
    /// Bytes that are not UTF-8 become U+FFFD. After an error in mid-list, the object has a field `error`
    #[arg(long)]
    json: bool,
}

/// Counts of the queries; the end of the JSON object.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    totals: Totals,
    asked: u64,
    present: u64,
    absent: u64,
    /// `None` if the store could not tell, after an error.
    #[serde(flatten)]
    filter: Option<FilterCounts>,
    seconds: f64,
    /// What looks wrong in the input.
    warnings: Vec<String>,
    /// Set if the filter could not be saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// Why not all keys were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What was found so far.
#[derive(Default)]
struct Found {
    asked: u64,
    present: u64,
    /// Keys with a tab that are absent, and where the first of them is.
    absent_with_tab: u64,
    first_with_tab: String,
}

/// `true` if a key was selected.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let started = Instant::now();
    let form = args.form();
    let mut lines = args.inputs.lines("asking", form.prints_lines(), Format::new(Purpose::Queries), &args.path)?;
    let (mut begun, mut found, mut filter) = (None, Found::default(), None);
    let worked = held::with(&args.path, Access::Query(args.wait), |held| {
        let selected = Selected::begin(BufWriter::new(io::stdout().lock()), form, &args.path.to_string());
        let selected = begun.insert(selected.context(CANNOT_WRITE)?);
        let asked = ask_all(args, held, &mut lines, selected, &mut found);
        // Closing the store takes time, and no line need wait for it.
        let asked = asked.and(selected.flush().context(CANNOT_WRITE));
        let learned = held.wait();
        filter = Some(held.counts());
        asked.and(learned)
    });
    let mut warnings = lines.end();
    warnings.extend(found.tab_warning().inspect(|warning| warn(warning)));
    let Found { asked, present, .. } = found;
    let (error, warning) = match worked {
        Ok(Done { warning, .. }) => (None, warning),
        Err(error) => (Some(error), None),
    };
    let report = Report {
        totals: lines.totals(),
        asked,
        present,
        absent: asked - present,
        filter,
        seconds: started.elapsed().as_secs_f64(),
        warnings,
        warning,
        error: error.as_ref().map(|error| format!("{error:#}")),
    };
    match (error, begun) {
        (None, Some(selected)) => Ok(selected.end(&report).context(CANNOT_WRITE)? > 0),
        (None, None) => Ok(false),
        (Some(error), Some(selected)) if form.is_json() => {
            // The object that was begun gets its end. If that cannot be written, the first error tells more.
            let _ = selected.end(&report);
            Err(error)
        }
        (Some(error), _) => Err(error),
    }
}

/// Asks for every key, and prints those that are selected. Keys whose lines were read already are asked for together; none
/// waits for a line that has yet to come.
fn ask_all(
    args: &Args,
    held: &dyn Held,
    lines: &mut Lines,
    selected: &mut Selected<impl Write>,
    found: &mut Found,
) -> anyhow::Result<()> {
    // One that stops at the first key need not know of the lines after it.
    let stops = args.form() == Form::Nothing;
    let mut asked = Asked::new(if stops { 1 } else { KEYS_AT_ONCE });
    let mut read = Ok(Read::Some);
    while matches!(read, Ok(Read::Some)) {
        read = asked.fill(lines, found);
        let mut some = false;
        interrupted::during(|| {
            some = answer(args, held, &mut asked, selected, found)?;
            // What is not a line of the output has time, and a progress bar may be on the screen.
            if args.form().prints_lines() {
                selected.flush().context(CANNOT_WRITE)?;
            }
            Ok(format!("{} asked for", counted(found.asked, "key")))
        })?;
        if some && stops {
            return Ok(());
        }
    }
    read.map(drop)
}

/// Answers for all keys that were read. `true` if one was selected.
fn answer(
    args: &Args,
    held: &dyn Held,
    asked: &mut Asked,
    selected: &mut Selected<impl Write>,
    found: &mut Found,
) -> anyhow::Result<bool> {
    let mut some = false;
    let mut tell = |query: &Query, is_present: bool, value: Option<Vec<u8>>| {
        found.asked += 1;
        found.present += u64::from(is_present);
        if is_present != args.absent {
            some = true;
            selected.line(&query.key, value.as_deref()).context(CANNOT_WRITE)?;
        }
        if !is_present && query.has_tab() {
            found.count_tab(|| query.place.clone().unwrap_or_default());
        }
        anyhow::Ok(())
    };
    let keys: Vec<&[u8]> = asked.queries.iter().map(|query| &query.key[..]).collect();
    if args.values {
        for (query, value) in asked.queries.iter().zip(held.get_all(&keys)) {
            let value = value?;
            tell(query, value.is_some(), value)?;
        }
    } else if let Ok(present) = held.contains_all(&keys) {
        asked.queries.iter().zip(present).try_for_each(|(query, is_present)| tell(query, is_present, None))?;
    } else {
        // The keys before the one that fails have their answers.
        for query in &asked.queries {
            let present = held.contains_all(&[&query.key])?;
            tell(query, present.first().is_some_and(|present| *present), None)?;
        }
    }
    asked.queries.clear();
    Ok(some)
}

/// The most keys, and about the most bytes, that are asked for together.
const KEYS_AT_ONCE: usize = 1_024;
const BYTES_AT_ONCE: usize = 1 << 20;

/// Keys that are asked for together.
struct Asked {
    queries: Vec<Query>,
    most: usize,
}

struct Query {
    key: Vec<u8>,
    /// Where it was read; only of a key with a tab, while no such key is known to be absent.
    place: Option<String>,
}

#[derive(PartialEq)]
enum Read {
    Some,
    All,
}

impl Asked {
    fn new(most: usize) -> Asked {
        Asked { queries: Vec::new(), most }
    }

    /// Waits for one key, and reads those that need not be waited for. After an error, the keys before it are there.
    fn fill(&mut self, lines: &mut Lines, found: &Found) -> anyhow::Result<Read> {
        let mut bytes = 0;
        while self.queries.len() < self.most && bytes < BYTES_AT_ONCE {
            let key = if self.queries.is_empty() { lines.next()? } else { lines.next_at_hand()? };
            let Some(key) = key.map(<[u8]>::to_vec) else {
                return Ok(if self.queries.is_empty() { Read::All } else { Read::Some });
            };
            bytes += key.len();
            let mut query = Query { key, place: None };
            if found.absent_with_tab == 0 && query.has_tab() {
                query.place = Some(lines.place());
            }
            self.queries.push(query);
        }
        Ok(Read::Some)
    }
}

impl Query {
    fn has_tab(&self) -> bool {
        self.key.contains(&b'\t')
    }
}

impl Found {
    fn count_tab(&mut self, place: impl FnOnce() -> String) {
        if self.absent_with_tab == 0 {
            self.first_with_tab = place();
        }
        self.absent_with_tab += 1;
    }

    /// A list of keys and values, asked for as it is, finds nothing.
    fn tab_warning(&self) -> Option<String> {
        let (count, first) = (self.absent_with_tab, &self.first_with_tab);
        let what = match count {
            0 => return None,
            1 => format!("{first} holds a tab and is absent"),
            _ => format!("{} with a tab are absent, the first is {first}", counted(count, "key")),
        };
        let remedy =
            "if a value follows the tab, ask for the key alone, such as with `cut -f 1 LIST | twiceshy query STORE`";
        Some(format!("{what}: {remedy}"))
    }
}

impl Args {
    fn form(&self) -> Form {
        match (self.json, self.quiet, self.count) {
            (true, false, false) => Form::Json,
            (true, _, _) => Form::JsonOfCounts,
            (false, true, _) => Form::Nothing,
            (false, false, true) => Form::Count,
            (false, false, false) => Form::Lines,
        }
    }
}
