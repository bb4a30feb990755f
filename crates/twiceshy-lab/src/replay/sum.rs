//! Sums up the trials in a report.

use super::Settings;
use super::afterwards::Relearned;
use super::drive::Trial;
use super::report::{Phase, Report};
use super::subject::Subject;
use super::table_counts::TableCounts;
use super::work::Work;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use crate::workload::split::Split;
use std::time::{Duration, Instant};
use twiceshy::filter::Filter;

/// How many absent keys the timed pass asks for.
const TIMED_KEYS: usize = 1 << 20;

/// The least duration of the timed pass.
const TIMED_AT_LEAST: Duration = Duration::from_millis(300);

/// Adds up the trials over these stored keys, without what is timed.
pub(super) fn add_up(settings: &Settings, stored: u64, warnings: &[String], trials: &[Trial]) -> Report {
    let sum = |of: &dyn Fn(&Trial) -> u64| trials.iter().map(of).sum::<u64>();
    let rates: Vec<f64> =
        trials.iter().map(|trial| trial.tally.false_positives as f64 / trial.tally.queries.max(1) as f64).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let spread = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (rates.len().max(2) - 1) as f64;
    let over = |part: u64, whole: u64, none: f64| if whole == 0 { none } else { part as f64 / whole as f64 };
    let filling = Phase {
        operations: sum(&|trial| trial.filling.1.insertions),
        remote_reads: sum(&|trial| trial.filling.0.reads),
        remote_keys_read: sum(&|trial| trial.filling.0.keys_read),
        remote_writes: sum(&|trial| trial.filling.0.writes),
        keys_moved: sum(&|trial| trial.filling.1.moved_by_insertions),
    };
    let adapting = Phase {
        operations: sum(&|trial| trial.total.1.adapts),
        remote_reads: sum(&|trial| trial.total.0.reads) - filling.remote_reads,
        remote_keys_read: sum(&|trial| trial.total.0.keys_read) - filling.remote_keys_read,
        remote_writes: sum(&|trial| trial.total.0.writes) - filling.remote_writes,
        keys_moved: sum(&|trial| trial.total.1.moved_by_adapts),
    };
    let false_positives = sum(&|trial| trial.tally.false_positives);
    let distinct_queries = sum(&|trial| trial.tally.distinct);
    let most = |of: &dyn Fn(&Work) -> u64| trials.iter().map(|trial| of(&trial.total.1)).max().unwrap_or(0);
    let mut table = TableCounts::default();
    trials.iter().for_each(|trial| table.add(&trial.total.1.table));
    let relearned = trials.iter().filter_map(|trial| trial.relearned.as_ref()).fold(None, |sum, relearned| {
        let mut sum: Relearned = sum.unwrap_or_default();
        sum.add(relearned);
        Some(sum)
    });
    let first = trials.first();
    let (cells, load, local_bits) = first.map_or((0, 0.0, 0), |trial| trial.size);
    Report {
        filter: settings.filter.title().to_owned(),
        shape: settings.filter.shape(),
        workload: settings.workload.to_string(),
        cells,
        keys: stored,
        load,
        bits: settings.filter.bits,
        bits_per_key: local_bits as f64 / stored as f64,
        trials: settings.trials,
        queries: sum(&|trial| trial.tally.queries),
        distinct_queries,
        false_positives,
        unfixable: sum(&|trial| trial.tally.unfixable),
        still_present: sum(&|trial| trial.tally.still_present),
        rebuilds: sum(&|trial| trial.tally.rebuilds),
        rekeys_while_filling: sum(&|trial| trial.rekeys),
        remote_reads: filling.remote_reads + adapting.remote_reads,
        remote_keys_read: filling.remote_keys_read + adapting.remote_keys_read,
        remote_writes: filling.remote_writes + adapting.remote_writes,
        fpr: mean,
        fpr_sd: spread.sqrt(),
        first_time_fpr: over(sum(&|trial| trial.tally.wrong_at_first), distinct_queries, 0.0),
        regret: over(false_positives, sum(&|trial| trial.tally.ever_wrong), 1.0),
        lookups_per_second: 0.0,
        seed: settings.seed,
        filling,
        adapting,
        longest_path: most(&|work| work.longest_path),
        adapts_with_parts: sum(&|trial| trial.total.1.adapts_with_parts),
        largest_part: most(&|work| work.largest_part),
        unknown_owners: sum(&|trial| trial.total.1.unknown_owners),
        table,
        warnings: warnings.to_vec(),
        relearned,
    }
}

/// Times look-ups of the first trial's filter alone, over absent keys that are made beforehand. Look-ups a second.
pub(super) fn timed(trials: &[Trial], source: &Split) -> f64 {
    let first = trials.first();
    let filter = first.and_then(|trial| trial.subject.as_ref()).map(Subject::filter);
    filter.map_or(0.0, |filter| passes(filter, first.and_then(|trial| trial.keys.as_ref()), source))
}

fn passes(filter: &dyn Filter, keys: Option<&Keys>, source: &Split) -> f64 {
    match (source, keys) {
        (Split::Apart(_), Some(keys)) => {
            let mut rng = Rng::new(1);
            let asked: Vec<[u8; 8]> = (0..TIMED_KEYS).map(|_| keys.absent(rng.below(keys.absent_len()))).collect();
            pass(filter, &asked)
        }
        (Split::First(trace) | Split::Misses(trace, _), _) => {
            let mut asked: Vec<Box<[u8]>> = Vec::new();
            if let Ok(mut queries) = trace.queries() {
                while let Ok(Some(key)) = queries.next_key() {
                    if asked.len() == TIMED_KEYS {
                        break;
                    }
                    asked.push(key.into());
                }
            }
            pass(filter, &asked)
        }
        _ => 0.0,
    }
}

fn pass<K: AsRef<[u8]>>(filter: &dyn Filter, keys: &[K]) -> f64 {
    let begun = Instant::now();
    let mut asked = 0usize;
    while begun.elapsed() < TIMED_AT_LEAST && !keys.is_empty() {
        let present = keys.iter().filter(|key| filter.contains(key.as_ref())).count();
        std::hint::black_box(present);
        asked += keys.len();
    }
    asked as f64 / begun.elapsed().as_secs_f64()
}
