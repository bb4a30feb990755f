//! `twiceshy lab run`.

use super::drawn::{self, Form};
use crate::numbers;
use crate::output::progress_bar;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Mutex;
use twiceshy_lab::experiment::{Event, Folder, Setup, Size, run as measure, work_ahead};
use twiceshy_lab::experiments::named;
use twiceshy_lab::workload::recorded_data::recorded_data;

/// Run experiments from the papers.
///
/// Writes data as CSV, pictures as SVG, and a report for a browser. An interrupted run continues where it stopped.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The names of the experiments, as shown by `lab list`; `all` for every one
    #[arg(required = true)]
    names: Vec<String>,
    /// Small tables and few trials: seconds instead of hours
    #[arg(long)]
    quick: bool,
    /// The random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for data, pictures and report [default: lab-results/SIZE-seed-SEED]
    #[arg(long)]
    out: Option<PathBuf>,
    /// The most trials of a point; statements that need more stay open [default: as many as each experiment plans]
    #[arg(long, value_parser = numbers::count::<NonZeroU64>)]
    trials: Option<NonZeroU64>,
    /// Add trials to complete experiments whose statements are open. Data of another build are continued too: a trial of each
    /// point is measured again, and must be the same
    #[arg(long)]
    more: bool,
    /// How many tasks to measure in parallel [default: one per processor]
    #[arg(long, value_parser = numbers::count::<usize>)]
    jobs: Option<usize>,
    /// The folder of recorded traces, for the experiments that use them [default: TWICESHY_DATA]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// `true` if every difference from the papers is explained.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let experiments = named(&args.names)?;
    let size = if args.quick { Size::Quick } else { Size::Paper };
    let data = args.data.clone().or_else(recorded_data);
    let setup =
        Setup { data, trials: args.trials.map(NonZeroU64::get), more: args.more, ..Setup::new(size, args.seed) };
    let default = || PathBuf::from("lab-results").join(format!("{}-seed-{}", size.as_str(), args.seed));
    let folder = Folder::for_run(&args.out.clone().unwrap_or_else(default), &setup)?;
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let progress = Progress::new(work_ahead(&experiments, &folder, &setup)?);
    let measured = measure(&experiments, &folder, &setup, jobs, &|event| progress.tell(event));
    progress.bar.finish_and_clear();
    measured?;
    drawn::draw_and_print(&folder, if args.json { Form::Json } else { Form::Text })
}

/// Progress: a bar on a terminal, lines elsewhere.
struct Progress {
    bar: indicatif::ProgressBar,
    lines: bool,
    /// The work done, in estimated seconds.
    done: Mutex<f64>,
}

/// Steps of the bar per second of work.
const STEPS: f64 = 100.0;

impl Progress {
    fn new(work: f64) -> Progress {
        let bar = progress_bar((work * STEPS) as u64, "measuring");
        Progress { bar, lines: !stderr().is_terminal(), done: Mutex::new(0.0) }
    }

    fn tell(&self, event: Event<'_>) {
        match event {
            Event::Begun { experiment, tasks, measured } if measured > 0 => {
                self.line(&format!("{experiment}: {measured} of {tasks} tasks were measured earlier"));
            }
            Event::Begun { .. } => {}
            Event::Note { experiment, note } => self.line(&format!("{experiment}: {note}")),
            Event::Nothing { experiment } => {
                self.line(&format!("{experiment}: nothing to measure: there is no trace (name a folder with --data)"));
            }
            Event::Ended { experiment, work, .. } => {
                self.bar.set_message(experiment.to_owned());
                if let Ok(mut done) = self.done.lock() {
                    *done += work;
                    self.bar.set_position((*done * STEPS) as u64);
                }
            }
            Event::More { experiment, work } => {
                self.bar.set_message(experiment.to_owned());
                self.bar.inc_length((work * STEPS) as u64);
            }
            Event::Complete { experiment, seconds } => {
                self.line(&format!("{experiment}: measured, {seconds:.1} s of work"))
            }
        }
    }

    /// Prints a line above the bar, or without a bar.
    fn line(&self, text: &str) {
        if self.lines {
            // If stderr is closed, the files still have the results.
            let _ = writeln!(stderr(), "{text}");
        } else {
            self.bar.println(text);
        }
    }
}
