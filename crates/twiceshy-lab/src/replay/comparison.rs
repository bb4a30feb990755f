//! Several filters over the same keys and the same queries.

use super::asking::{MOST, Seat, ask_all, index};
use super::drive::{AFTER_QUERIES, Asked, Stop, fill};
use super::memory::Memory;
use super::report::Report;
use super::stream::{Keyed, Stream};
use super::sum::add_up;
use super::{FilterSpec, ReplayError, Settings};
use crate::workload::Workload;
use crate::workload::held::Held;
use crate::workload::rng::Rng;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use twiceshy::hash::{HashKey, HashKind};

/// One trial of several filters: every query of a stream is asked of all of them before the next. The stream is made or
/// read once, which takes longer than asking one filter.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The filters.
    pub filters: Vec<FilterSpec>,
    /// How large their tables are.
    pub memory: Memory,
    /// A/S: distinct absent keys over stored keys.
    pub ratio: f64,
    /// Queries, for FireHose streams; recordings have their own.
    pub queries: Option<u64>,
    /// The stream. It must have its own keys: not random ones, whose number follows from the size of one filter.
    pub workload: Workload,
    /// The filters, by number, that nobody tells about their mistakes: a planted error.
    pub deaf: Vec<usize>,
}

/// The recording of a comparison that was read before: it is the same in all trials, and reading takes longer than asking.
#[derive(Clone, Default)]
pub struct Recorded(pub(super) Arc<OnceLock<Arc<Held>>>);

impl Comparison {
    /// Runs the trial with this seed. The reports are in the order of the filters.
    ///
    /// ```
    /// use twiceshy::Kind;
    /// use twiceshy_lab::replay::{Comparison, FilterSpec, Memory};
    ///
    /// let comparison = Comparison {
    ///     filters: vec![FilterSpec::new(Kind::FullKey, 8), FilterSpec::new(Kind::Cuckooing, 8)],
    ///     memory: Memory::Load(0.95),
    ///     ratio: 5.0,
    ///     queries: None,
    ///     workload: "flows:chicago-a/400".parse()?,
    ///     deaf: vec![],
    /// };
    /// let reports = comparison.run(1)?;
    /// assert_eq!(reports[0].queries, reports[1].queries);
    /// assert!(reports[0].false_positives > reports[1].false_positives);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&self, seed: u64) -> Result<Vec<Report>, ReplayError> {
        self.run_again(seed, &Recorded::default())
    }

    /// The same, but a recorded trace is read only once for all runs with the same `recorded`, and then held in memory.
    pub fn run_again(&self, seed: u64, recorded: &Recorded) -> Result<Vec<Report>, ReplayError> {
        let settings = |filter: &FilterSpec| Settings {
            filter: filter.clone(),
            ratio: self.ratio,
            queries: self.queries,
            seed,
            workload: self.workload.clone(),
            ..Settings::empty()
        };
        let mut all: Vec<Settings> = self.filters.iter().map(settings).collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let known: Vec<Option<Report>> = all.iter().map(|settings| self.known(settings)).collect();
        if let Some(reports) = known.into_iter().collect() {
            return Ok(reports);
        }
        let stream = Stream::of(self, seed, recorded)?;
        let cells = self.memory.cells(&all, stream.stored)?;
        for (settings, cells) in all.iter_mut().zip(&cells) {
            settings.filter.check()?;
            settings.load = stream.stored as f64 / *cells as f64;
        }
        // Only those that are not known. If sizes depend on the first filter, none is.
        let (mut reports, mut rest) = (Vec::new(), (Vec::new(), Vec::new()));
        for (settings, cells) in all.iter().zip(&cells) {
            let known = self.known(settings);
            if known.is_none() {
                rest.0.push(settings.clone());
                rest.1.push(*cells);
            }
            reports.push(known);
        }
        let mut measured = self.play(&rest.0, &rest.1, &stream, seed)?.into_iter();
        for (report, settings) in reports.iter_mut().zip(&all) {
            if report.is_none() {
                *report = measured.next().inspect(|report| self.note(settings, report));
            }
        }
        Ok(reports.into_iter().flatten().collect())
    }

    /// What a report of this filter is a function of; `None` if that is not only the filter and a generated stream.
    fn name(&self, settings: &Settings) -> Option<String> {
        let generated = matches!(self.workload, Workload::Flows(_) | Workload::Firehose(_));
        let alone = matches!(self.memory, Memory::Load(_)) && self.deaf.is_empty();
        let Comparison { memory, ratio, queries, workload, .. } = self;
        let Settings { filter, seed, .. } = settings;
        (generated && alone).then(|| format!("{filter:?}, {memory:?}, {ratio}, {queries:?}, {workload:?}, seed {seed}"))
    }

    fn known(&self, settings: &Settings) -> Option<Report> {
        self.name(settings).and_then(|name| reports().get(&name).cloned())
    }

    fn note(&self, settings: &Settings, report: &Report) {
        if let Some(name) = self.name(settings) {
            reports().insert(name, report.clone());
        }
    }

    fn play(&self, all: &[Settings], cells: &[u64], stream: &Stream, seed: u64) -> Result<Vec<Report>, ReplayError> {
        let mut rng = Rng::stream(seed, 0);
        let hash = HashKey::fixed(rng.word());
        let keyed = stream.keyed(rng.word())?;
        let absent = stream.absent();
        let mut reports = Vec::new();
        for (number, (all, cells)) in all.chunks(MOST).zip(cells.chunks(MOST)).enumerate() {
            let mut seats = Vec::new();
            for (at, (settings, cells)) in all.iter().zip(cells).enumerate() {
                let hash = if settings.filter.hash == HashKind::Xxh3 { hash.for_trusted_keys() } else { hash };
                let mut asked = filled(settings, *cells, &keyed, stream.stored, hash)?;
                asked.deaf = self.deaf.contains(&(number * MOST + at));
                seats.push(Seat::new(asked, absent));
            }
            index(&mut seats, &keyed, absent);
            let counts = ask_all(&mut seats, &keyed, absent)?;
            for (settings, Seat { mut asked, .. }) in all.iter().zip(seats) {
                asked.subject.check(AFTER_QUERIES, |look| keyed.each_stored(look))?;
                (asked.tally.queries, asked.tally.distinct) = counts;
                reports.push(add_up(settings, stream.stored, stream.held.warnings(), &[asked.ended()]));
            }
        }
        Ok(reports)
    }
}

/// Reports of filters that were measured alone: papers compare the same filters on the same streams, each with others beside
/// them.
fn reports() -> MutexGuard<'static, HashMap<String, Report>> {
    static REPORTS: LazyLock<Mutex<HashMap<String, Report>>> = LazyLock::new(Mutex::default);
    REPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn filled(settings: &Settings, cells: u64, keyed: &Keyed<'_>, keys: u64, hash: HashKey) -> Result<Asked, ReplayError> {
    let each = |put: &mut dyn FnMut(&[u8]) -> Result<(), Stop>| keyed.each_stored(put);
    let (subject, rekeys) = fill(settings, cells, keys, hash, each)?;
    Ok(Asked::new(subject, rekeys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::run;
    use std::io::Write;
    use twiceshy::Kind;

    fn comparison(workload: &str, queries: Option<u64>) -> Comparison {
        let filters = [Kind::Telescoping, Kind::Cyclic, Kind::FullKey].map(|kind| FilterSpec::new(kind, 6));
        Comparison {
            filters: filters.into(),
            memory: Memory::Load(0.9),
            ratio: 4.0,
            queries,
            workload: workload.parse().expect("a workload"),
            deaf: Vec::new(),
        }
    }

    #[test]
    fn a_filter_makes_the_same_mistakes_among_others_as_alone() {
        for (workload, queries) in [("flows:chicago-a/500", None), ("active-set", Some(60_000))] {
            let comparison = comparison(workload, queries);
            let together = comparison.run(7).expect("a trial");
            for (report, filter) in together.iter().zip(&comparison.filters) {
                let settings = Settings {
                    filter: filter.clone(),
                    load: 0.9,
                    ratio: 4.0,
                    queries,
                    seed: 7,
                    workload: comparison.workload.clone(),
                    ..Settings::empty()
                };
                assert_eq!(*report, run(&settings, &|_| ()).expect("a trial"), "{workload}");
                assert!(report.false_positives > 10, "{workload}: {}", report.false_positives);
            }
        }
    }

    #[test]
    fn a_deaf_filter_repeats_its_mistakes() {
        let heard = comparison("flows:chicago-a/500", None);
        let deaf = Comparison { deaf: vec![1], ..heard.clone() };
        let [heard, deaf] = [heard, deaf].map(|comparison| comparison.run(3).expect("a trial"));
        assert!(deaf[1].false_positives > 2 * heard[1].false_positives && deaf[1].adapting.operations == 0);
        assert_eq!((&deaf[0], &deaf[2]), (&heard[0], &heard[2]));
    }

    #[test]
    fn a_recorded_trace_is_read_once_and_asked_as_if_it_were_read_again() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let mut rng = Rng::new(4);
        for _ in 0..20_000 {
            writeln!(file, "{}", rng.below(2_000) * rng.below(3)).expect("a line");
        }
        let workload = Workload::Trace(file.path().to_owned());
        let comparison = Comparison { workload: workload.clone(), ..comparison("flows:chicago-a", None) };
        let recorded = Recorded::default();
        let first = comparison.run_again(1, &recorded).expect("a trial");
        let alone = Settings {
            filter: comparison.filters[0].clone(),
            load: 0.9,
            ratio: 4.0,
            seed: 1,
            workload,
            ..Settings::empty()
        };
        assert_eq!(first[0], run(&alone, &|_| ()).expect("a trial"));
        drop(file);
        assert_eq!(comparison.run_again(1, &recorded).expect("a trial"), first);
        assert!(comparison.run(1).is_err(), "the file is gone");
    }

    #[test]
    fn random_keys_are_refused() {
        assert!(matches!(comparison("uniform", None).run(1), Err(ReplayError::Setting(_))));
    }
}
