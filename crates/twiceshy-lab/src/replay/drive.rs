//! Runs the trials.

use super::afterwards::{Relearned, relearn};
use super::prepare::prepare;
use super::report::Report;
use super::subject::Subject;
use super::sum::{add_up, timed};
use super::tally::{Known, Named, Numbered, Tally};
use super::work::Work;
use super::{Progress, ReplayError, Settings, baseline};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use crate::workload::split::{Split, SplitQueries};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use twiceshy::filter::Adapted;
use twiceshy::hash::{HashKey, HashKind};
use twiceshy::remote::{Counts, Key};

/// How many hash keys to try when filling.
const HASH_KEYS: u32 = 20;

/// Queries between two progress reports.
const PROGRESS_STEP: u64 = 1 << 16;

/// One trial's outcome.
pub(super) struct Trial {
    /// The filter at the end of the trial; only the first trial keeps it.
    pub(super) subject: Option<Subject>,
    pub(super) keys: Option<Keys>,
    pub(super) tally: Tally,
    pub(super) filling: (Counts, Work),
    pub(super) total: (Counts, Work),
    pub(super) rekeys: u64,
    /// Cells, load and local bits, before what happens afterwards.
    pub(super) size: (u64, f64, u64),
    pub(super) relearned: Option<Relearned>,
}

/// Trials in the order in which they ended.
type Outcomes = Mutex<Vec<(usize, Result<Trial, ReplayError>)>>;

pub(super) fn drive(settings: &Settings, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, ReplayError> {
    settings.filter.check()?;
    let (source, cells) = prepare(settings)?;
    let of = source.requests().saturating_mul(settings.trials.into());
    let asked = AtomicU64::new(0);
    let tell = |more: u64| progress(Progress { queries: asked.fetch_add(more, Ordering::Relaxed) + more, of });
    let next = AtomicUsize::new(0);
    let outcomes: Outcomes = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..settings.jobs.clamp(1, settings.trials as usize) {
            threads.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= settings.trials as usize {
                        break;
                    }
                    let mut trial = trial(settings, &source, cells, number as u64, &tell);
                    let failed = trial.is_err();
                    if let Ok(trial) = &mut trial
                        && number > 0
                    {
                        trial.subject = None;
                    }
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.push((number, trial));
                    }
                    if failed {
                        next.store(usize::MAX / 2, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes.sort_by_key(|(number, _)| *number);
    let trials = outcomes.into_iter().map(|(_, trial)| trial).collect::<Result<Vec<_>, _>>()?;
    let report = add_up(settings, source.stored(), source.warnings(), &trials);
    let lookups_per_second = if settings.timed { timed(&trials, &source) } else { 0.0 };
    Ok(Report { lookups_per_second, ..report })
}

fn trial(
    settings: &Settings,
    source: &Split,
    cells: u64,
    number: u64,
    tell: &impl Fn(u64),
) -> Result<Trial, ReplayError> {
    let mut rng = Rng::stream(settings.seed, number);
    let hash = HashKey::fixed(rng.word());
    let hash = if settings.filter.hash == HashKind::Xxh3 { hash.for_trusted_keys() } else { hash };
    let too_many = || ReplayError::Setting("too many keys for 64-bit numbers: use fewer".into());
    let keyed = source.keyed(rng.word()).ok_or_else(too_many)?;
    let (subject, rekeys) = fill(settings, cells, source.stored(), hash, |put| keyed.each_stored(&mut |key| put(key)))?;
    let queries = keyed.queries(rng.word())?;
    let mut trial = match source.numbers() {
        Some(numbers) => ask(settings, subject, rekeys, Numbered::new(numbers), tell, queries)?,
        None => ask(settings, subject, rekeys, Named::default(), tell, queries)?,
    };
    if let Some(subject) = &trial.subject {
        subject.check(AFTER_QUERIES, |look| keyed.each_stored(look))?;
    }
    trial.keys = keyed.into_keys();
    Ok(trial)
}

/// When stored keys are looked up once more.
pub(super) const AFTER_QUERIES: &str = "after its queries";

/// Why filling stopped.
pub(super) enum Stop {
    Full,
    Failed(ReplayError),
}

/// Fills a filter. If the keys do not fit, rebuilds it or starts again under another hash key.
pub(super) fn fill(
    settings: &Settings,
    cells: u64,
    keys: u64,
    mut hash: HashKey,
    each: impl Fn(&mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop>,
) -> Result<(Subject, u64), ReplayError> {
    for tried in 0..HASH_KEYS {
        let mut subject = Subject::new(settings, cells, hash)?;
        let filled = each(&mut |key| match subject.insert(key) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Stop::Full),
            Err(error) => Err(Stop::Failed(error)),
        });
        let filled = filled.and_then(|()| match subject.finish() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Stop::Full),
            Err(error) => Err(Stop::Failed(error)),
        });
        match filled {
            Ok(()) => {
                let look = |look: &mut dyn FnMut(&[u8]) -> Result<(), ReplayError>| {
                    let looked = each(&mut |key| look(key).map_err(Stop::Failed));
                    looked.or_else(|stop| if let Stop::Failed(error) = stop { Err(error) } else { Ok(()) })
                };
                subject.check("after filling", look)?;
                return Ok((subject, tried.into()));
            }
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Full) => hash = hash.successor(),
        }
    }
    if settings.filter.foreign.is_some() {
        let (filter, bits) = (settings.filter.title().to_owned(), baseline::room(settings, cells, hash).bits);
        return Err(ReplayError::NoRoom { filter, keys, bits, tries: HASH_KEYS });
    }
    Err(ReplayError::Full { keys, cells, tries: HASH_KEYS, design: settings.filter.layout().design_load() })
}

/// Asks every query and adapts on each false positive.
fn ask<K: Known>(
    settings: &Settings,
    subject: Subject,
    rekeys: u64,
    mut known: K,
    tell: &impl Fn(u64),
    mut queries: SplitQueries<'_>,
) -> Result<Trial, ReplayError> {
    let mut asked = Asked::new(subject, rekeys);
    asked.keeps_mistakes = settings.then.is_some();
    while let Some((number, key)) = queries.next_query()? {
        let first = known.asked(number, key);
        asked.ask(&mut known, number, key, first)?;
        if asked.tally.queries.is_multiple_of(PROGRESS_STEP) {
            tell(PROGRESS_STEP);
        }
    }
    tell(asked.tally.queries % PROGRESS_STEP);
    let mistakes = std::mem::take(&mut asked.mistakes);
    let mut trial = asked.ended();
    if let (Some(then), Some(subject)) = (settings.then, &mut trial.subject) {
        let hash = HashKey::fixed(settings.seed ^ trial.tally.queries);
        trial.relearned = Some(relearn(then, subject, &mistakes, hash)?);
    }
    Ok(trial)
}

/// A filter that is being asked.
pub(super) struct Asked {
    pub(super) subject: Subject,
    pub(super) tally: Tally,
    filling: (Counts, Work),
    rekeys: u64,
    /// `true` if nobody tells the filter about its mistakes: a planted error.
    pub(super) deaf: bool,
    /// `true` to keep each query that was ever wrong.
    keeps_mistakes: bool,
    mistakes: Vec<Key>,
    learns: bool,
    /// A number for the filter's state: two look-ups of a key under the same number have the same answer. Never 0.
    pub(super) state: u32,
}

impl Asked {
    /// A filled filter.
    pub(super) fn new(subject: Subject, rekeys: u64) -> Asked {
        let (filling, learns) = (subject.counts(), subject.learns());
        Asked {
            subject,
            tally: Tally::default(),
            filling,
            rekeys,
            deaf: false,
            keeps_mistakes: false,
            mistakes: Vec::new(),
            learns,
            state: 1,
        }
    }

    /// Asks one query, for the `first` time or again.
    pub(super) fn ask(
        &mut self,
        known: &mut impl Known,
        number: u64,
        key: &[u8],
        first: bool,
    ) -> Result<(), ReplayError> {
        self.tally.queries += 1;
        self.tally.distinct += u64::from(first);
        if self.subject.contains(key) { self.err(known, number, key, first) } else { Ok(()) }
    }

    /// Counts a query that the filter has just called present, and tells the filter.
    pub(super) fn err(
        &mut self,
        known: &mut impl Known,
        number: u64,
        key: &[u8],
        first: bool,
    ) -> Result<(), ReplayError> {
        let Asked { subject, tally, .. } = self;
        tally.false_positives += 1;
        tally.wrong_at_first += u64::from(first);
        let is_new = known.wrong(number, key);
        tally.ever_wrong += u64::from(is_new);
        if is_new && self.keeps_mistakes {
            self.mistakes.push(key.into());
        }
        if !self.deaf {
            answer(subject, key, tally)?;
            self.state += u32::from(self.learns);
        }
        Ok(())
    }

    /// The outcome.
    pub(super) fn ended(self) -> Trial {
        let Asked { subject, tally, filling, rekeys, .. } = self;
        let (total, filter) = (subject.counts(), subject.filter());
        let size = (filter.cells(), filter.load(), filter.local_bits());
        Trial { subject: Some(subject), keys: None, tally, filling, total, rekeys, size, relearned: None }
    }
}

/// Reports a mistake to the filter, and rebuilds it under a new hash key where the papers do.
fn answer(subject: &mut Subject, key: &[u8], tally: &mut Tally) -> Result<(), ReplayError> {
    match subject.was_wrong(key)? {
        Some(Adapted::Unfixable) => tally.unfixable += 1,
        Some(Adapted::Stored) => return Err(ReplayError::Seam("an absent key was found stored".into())),
        Some(Adapted::StillPresent) => tally.still_present += 1,
        Some(Adapted::Fixed) => {}
        None => return Ok(()),
    }
    if subject.wants_rebuild() {
        tally.rebuilds += 1;
        let mut hash = HashKey::fixed(tally.queries);
        let mut tries = 0;
        while !subject.rekey(hash)? {
            tries += 1;
            if tries == HASH_KEYS {
                return Err(ReplayError::Seam("no hash key works for a rebuild".into()));
            }
            hash = hash.successor();
        }
    }
    Ok(())
}
