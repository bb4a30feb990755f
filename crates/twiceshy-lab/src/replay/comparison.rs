//! Several filters over the same keys and the same queries.

use super::drive::{AFTER_QUERIES, Asked, Stop, fill};
use super::kept::Kept;
use super::memory::Memory;
use super::prepare::of_stream;
use super::report::Report;
use super::sum::add_up;
use super::tally::{Known, Named, Numbered};
use super::{FilterSpec, ReplayError, Settings};
use crate::workload::Workload;
use crate::workload::rng::Rng;
use crate::workload::split::{Keyed, Split, SplitQueries};
use std::sync::{Arc, OnceLock};
use twiceshy::hash::HashKey;

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
pub struct Recorded(Arc<OnceLock<Kept>>);

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
        let Some(first) = all.first() else { return Ok(Vec::new()) };
        let read;
        let source = match (&self.workload, recorded.0.get()) {
            (Workload::Trace(_) | Workload::Start(..), Some(kept)) => kept.split(),
            _ => {
                read = of_stream(first)?;
                &read
            }
        };
        let cells = self.memory.cells(&all, source.stored())?;
        for (settings, cells) in all.iter_mut().zip(&cells) {
            settings.filter.check()?;
            settings.load = source.stored() as f64 / *cells as f64;
        }
        if let (Workload::Trace(_) | Workload::Start(..), Split::First(trace)) = (&self.workload, source) {
            let kept = match recorded.0.get() {
                Some(kept) => kept,
                None => {
                    let kept = Kept::read(trace)?;
                    recorded.0.get_or_init(|| kept)
                }
            };
            return self.play(&all, &cells, source, seed, Some(kept), || Numbered::new(kept.keys()));
        }
        match source.numbers() {
            Some(numbers) => self.play(&all, &cells, source, seed, None, || Numbered::new(numbers)),
            None => self.play(&all, &cells, source, seed, None, Named::default),
        }
    }

    fn play<K: Known>(
        &self,
        all: &[Settings],
        cells: &[u64],
        source: &Split,
        seed: u64,
        kept: Option<&Kept>,
        known: impl Fn() -> K,
    ) -> Result<Vec<Report>, ReplayError> {
        let mut rng = Rng::stream(seed, 0);
        let hash = HashKey::fixed(rng.word());
        let too_many = || ReplayError::Setting("too many keys for 64-bit numbers: use fewer".into());
        let keyed = source.keyed(rng.word()).ok_or_else(too_many)?;
        let mut subjects = Vec::new();
        for (number, (settings, cells)) in all.iter().zip(cells).enumerate() {
            let mut asked = filled(settings, *cells, &keyed, source.stored(), hash)?;
            asked.deaf = self.deaf.contains(&number);
            subjects.push((asked, known()));
        }
        let mut known = known();
        let mut ask = |number: u64, key: &[u8]| {
            let first = known.asked(number, key);
            subjects.iter_mut().try_for_each(|(asked, wrong)| asked.ask(wrong, number, key, first))
        };
        match kept {
            Some(kept) => kept.queries().try_for_each(|(number, key)| ask(number, key))?,
            None => each(keyed.queries(rng.word())?, ask)?,
        }
        for (asked, _) in &subjects {
            asked.subject.check(AFTER_QUERIES, |look| keyed.each_stored(look))?;
        }
        let reports = all.iter().zip(subjects);
        Ok(reports.map(|(settings, (asked, _))| add_up(settings, source, &[asked.ended()])).collect())
    }
}

fn each(
    mut queries: SplitQueries<'_>,
    mut ask: impl FnMut(u64, &[u8]) -> Result<(), ReplayError>,
) -> Result<(), ReplayError> {
    while let Some((number, key)) = queries.next_query()? {
        ask(number, key)?;
    }
    Ok(())
}

fn filled(settings: &Settings, cells: u64, keyed: &Keyed<'_>, keys: u64, hash: HashKey) -> Result<Asked, ReplayError> {
    let each = |put: &mut dyn FnMut(&[u8]) -> Result<(), Stop>| keyed.each_stored(&mut |key| put(key));
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
