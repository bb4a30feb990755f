//! Fills the filters, and asks them in turn.

use crate::floor;
use crate::keys::{self, Ask, Questions};
use crate::laps::{Figure, Laps};
use crate::row::{Row, compare};
use crate::subject::{Asked, Contestant, Filled, Task};
use anyhow::{Context, ensure};
use std::hint::black_box;
use std::time::Instant;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often each filter is filled.
    pub fills: usize,
    /// How often each filter is visited for questions.
    pub repetitions: usize,
    /// Timed chunks of each sort of question in a visit.
    pub chunks: usize,
    /// Questions in a chunk.
    pub chunk: usize,
    /// Absent keys that the false-positive rate is measured with.
    pub rate_questions: u64,
    /// Distinct absent keys for each stored one that adaptive filters are asked, adapting to every mistake; `None` to
    /// leave that out.
    pub adapt: Option<u64>,
}

impl Settings {
    /// For figures to publish.
    pub const FULL: Settings =
        Settings { fills: 5, repetitions: 7, chunks: 6, chunk: 1 << 17, rate_questions: 4_000_000, adapt: Some(10) };

    /// For a look, and for tests.
    pub const QUICK: Settings =
        Settings { fills: 1, repetitions: 3, chunks: 3, chunk: 1 << 14, rate_questions: 400_000, adapt: Some(10) };
}

/// The first numbers of absent keys for the rate and for timed questions. Those that filters adapt to are numbered from 0.
const FOR_RATE: u64 = 1 << 37;
const FOR_TIMES: u64 = 1 << 38;

/// The bits of a slot of the quotient filter, times 8. For floors without one.
const QUOTIENT_SLOT: u64 = 81;

/// A filled filter, or a floor, with what was measured so far.
struct Entry {
    row: Row,
    fresh: Option<Box<dyn Asked>>,
    adapted: Option<Box<dyn Asked>>,
    fills: Vec<Laps>,
    times: Times,
}

/// Millions of answers in a second, chunk by chunk.
#[derive(Default)]
struct Times {
    negative: Vec<f64>,
    positive: Vec<f64>,
    mixed: Vec<f64>,
    batch: Vec<f64>,
    negative_adapted: Vec<f64>,
    positive_adapted: Vec<f64>,
}

/// Measures all contestants and the floors with `count` keys. `tell` hears what is done next.
pub fn measure(
    count: u64,
    contestants: &[Contestant],
    settings: &Settings,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Vec<Row>> {
    let keys = keys::all_stored(count);
    let mut entries = fill(&keys, contestants, settings, tell)?;
    let slots = Task { keys: &keys, adapt: None }.cells();
    let quotient = entries.iter().find(|entry| entry.row.name == "quotient").and_then(|entry| entry.fresh.as_ref());
    let bytes = quotient.map_or(slots * QUOTIENT_SLOT / 64, |quotient| quotient.bits() / 8);
    for (name, floor) in floor::all(bytes).context("the table for the floor could not be allocated")? {
        let row = Row { name: name.into(), keys: count, ..Row::default() };
        entries.push(Entry { row, fresh: floor, adapted: None, fills: Vec::new(), times: Times::default() });
    }
    tell(&format!("{count} keys: looking up all stored keys and {} absent ones", settings.rate_questions));
    for entry in &mut entries {
        entry.answers(&keys, settings)?;
    }
    drop(keys);
    let mut questions = Questions::new(count, FOR_TIMES, count);
    for repetition in 0..settings.repetitions {
        tell(&format!("{count} keys: timing look-ups, {} of {}", repetition + 1, settings.repetitions));
        // Another filter comes first each time.
        let first = repetition * entries.len() / settings.repetitions.max(1);
        entries.rotate_left(first);
        entries.iter_mut().for_each(|entry| entry.visit(&mut questions, settings));
        entries.rotate_right(first);
    }
    let mut rows: Vec<Row> = entries.into_iter().map(Entry::finish).collect();
    compare(&mut rows);
    Ok(rows)
}

/// Fills every filter as often as the settings say, in turn, and keeps those of the last turn.
fn fill(
    keys: &[u64],
    contestants: &[Contestant],
    settings: &Settings,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Vec<Entry>> {
    let mut laps: Vec<Vec<Laps>> = contestants.iter().map(|_| Vec::new()).collect();
    let mut entries = Vec::new();
    for turn in 1..=settings.fills.max(1) {
        let last = turn == settings.fills.max(1);
        let task = Task { keys, adapt: settings.adapt.filter(|_| last) };
        for (contestant, laps) in contestants.iter().zip(&mut laps) {
            tell(&format!("{} keys: filling {}, {turn} of {}", task.count(), contestant.name, settings.fills));
            let filled = (contestant.fill)(task).with_context(|| contestant.name.clone())?;
            laps.push(filled.laps.clone());
            if last {
                entries.push(Entry::new(contestant, task.count(), filled, std::mem::take(laps)));
            }
        }
    }
    Ok(entries)
}

impl Entry {
    fn new(contestant: &Contestant, keys: u64, filled: Filled, fills: Vec<Laps>) -> Entry {
        let Filled { fresh, adapted, remote, batch, .. } = filled;
        let once =
            |laps: Option<Laps>| laps.and_then(|laps| Figure::of_fills(keys, &[laps])).map(|figure| figure.median);
        let row = Row {
            name: contestant.name.clone(),
            ours: contestant.ours,
            hash: contestant.hash,
            keys,
            load: fresh.cells().map(|cells| keys as f64 / cells as f64),
            mistakes_adapted: adapted.as_ref().map(|adapted| adapted.mistakes),
            remote_insert_mops: once(remote),
            insert_batch_mops: once(batch),
            ..Row::default()
        };
        let adapted = adapted.map(|adapted| adapted.filter);
        Entry { row, fresh: Some(fresh), adapted, fills, times: Times::default() }
    }

    /// Looks up all stored keys and many absent ones. A filter of ours that has lost a key is an error.
    fn answers(&mut self, keys: &[u64], settings: &Settings) -> anyhow::Result<()> {
        let is_floor = self.fills.is_empty();
        let (row, count) = (&mut self.row, keys.len() as u64);
        row.bits_per_key = self.fresh.as_ref().map(|fresh| fresh.bits() as f64 / count as f64);
        if is_floor {
            return Ok(());
        }
        let (fresh, adapted) = (self.fresh.as_deref(), self.adapted.as_deref());
        let lost: u64 = [fresh, adapted].into_iter().flatten().map(|filter| count - filter.ask(keys)).sum();
        ensure!(lost == 0 || !row.ours, "{} reports {lost} stored keys as absent", row.name);
        let rate =
            |filter: &dyn Asked| false_positives(filter, settings) as f64 / settings.rate_questions.max(1) as f64;
        (row.lost_keys, row.fpr, row.fpr_adapted) = (Some(lost), fresh.map(rate), adapted.map(rate));
        Ok(())
    }

    /// Times some chunks of each sort of question. The first questions, after another filter was in the caches, do not count.
    fn visit(&mut self, questions: &mut Questions, settings: &Settings) {
        let (times, is_floor) = (&mut self.times, self.fills.is_empty());
        let (mut asked, mut found) = (Vec::with_capacity(settings.chunk), Vec::with_capacity(settings.chunk));
        if let Some(fresh) = &self.fresh {
            warm(&**fresh, questions, settings);
            for _ in 0..settings.chunks {
                questions.fill(Ask::Negative, settings.chunk, &mut asked);
                times.negative.push(timed(&**fresh, &asked));
                if is_floor {
                    continue;
                }
                questions.fill(Ask::Positive, settings.chunk, &mut asked);
                times.positive.push(timed(&**fresh, &asked));
                questions.fill(Ask::Mixed, settings.chunk, &mut asked);
                times.mixed.push(timed(&**fresh, &asked));
                questions.fill(Ask::Negative, settings.chunk, &mut asked);
                times.batch.extend(timed_batch(&**fresh, &asked, &mut found));
            }
        }
        if let Some(adapted) = &self.adapted {
            warm(&**adapted, questions, settings);
            for _ in 0..settings.chunks {
                questions.fill(Ask::Negative, settings.chunk, &mut asked);
                times.negative_adapted.push(timed(&**adapted, &asked));
                questions.fill(Ask::Positive, settings.chunk, &mut asked);
                times.positive_adapted.push(timed(&**adapted, &asked));
            }
        }
    }

    fn finish(self) -> Row {
        let Times { negative, positive, mixed, batch, negative_adapted, positive_adapted } = self.times;
        let median = |samples| Figure::of(samples).map(|figure| figure.median);
        let both = |figure: Option<Figure>| (figure.map(|figure| figure.median), figure.map(|figure| figure.spread));
        let mut row = self.row;
        (row.insert_mops, row.insert_spread) = both(Figure::of_fills(row.keys, &self.fills));
        // One fill has no spread: 0 would look like a steady machine.
        row.insert_spread = row.insert_spread.filter(|_| self.fills.len() > 1);
        (row.negative_mops, row.negative_spread) = both(Figure::of(negative));
        (row.positive_mops, row.positive_spread) = both(Figure::of(positive));
        (row.mixed_mops, row.mixed_spread) = both(Figure::of(mixed));
        row.negative_batch_mops = median(batch);
        (row.negative_adapted_mops, row.positive_adapted_mops) = (median(negative_adapted), median(positive_adapted));
        row
    }
}

/// Absent keys of the rate's own numbers that are answered *present*, each asked once.
fn false_positives(filter: &dyn Asked, settings: &Settings) -> u64 {
    let (mut questions, mut asked, mut present) = (Questions::new(1, FOR_RATE, 1), Vec::new(), 0);
    let mut left = settings.rate_questions;
    while left > 0 {
        let count = left.min(settings.chunk as u64);
        questions.fill(Ask::Negative, count as usize, &mut asked);
        present += filter.ask(&asked);
        left -= count;
    }
    present
}

/// Asks until the table is back in the caches, as far as it fits: seven chunks of 2^17 questions at 15.9 million keys, seen as
/// times that no longer fall.
fn warm(filter: &dyn Asked, questions: &mut Questions, settings: &Settings) {
    let (mut asked, mut left) = (Vec::new(), questions.stored() / 16);
    loop {
        questions.fill(Ask::Mixed, settings.chunk, &mut asked);
        black_box(filter.ask(&asked));
        left = match left.checked_sub(settings.chunk as u64) {
            Some(left) => left,
            None => return,
        };
    }
}

fn timed(filter: &dyn Asked, asked: &[u64]) -> f64 {
    let begun = Instant::now();
    black_box(filter.ask(asked));
    asked.len() as f64 / begun.elapsed().as_secs_f64() / 1e6
}

fn timed_batch(filter: &dyn Asked, asked: &[u64], found: &mut Vec<bool>) -> Option<f64> {
    let begun = Instant::now();
    black_box(filter.ask_batch(asked, found)?);
    Some(asked.len() as f64 / begun.elapsed().as_secs_f64() / 1e6)
}
