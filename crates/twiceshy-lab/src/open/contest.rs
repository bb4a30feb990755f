//! An experiment with any filters and any workloads.

use super::{Foreign, ForeignTraffic, Traffic, Uniform};
use crate::experiment::contest::{self, COLUMNS, file_name};
use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Experiment, Picture, Point, Setup, Size, Statement, Table,
};
use crate::replay::{FilterName, Memory};
use crate::workload::Workload;
use twiceshy::Kind;

/// Filters that are measured on the same keys and queries, over A/S: the experiment of the papers, for filters and
/// workloads of any origin.
///
/// Every filter gets the memory of the first one that was entered, unless [`memory`](OpenContest::memory) says
/// otherwise. In each trial all filters have the same keys and the same queries; trials have other hash functions, and
/// other keys if the workload is not recorded.
///
/// ```no_run
/// use twiceshy_lab::experiment::{Contender, Folder, Setup, Size, run};
/// use twiceshy_lab::open::OpenContest;
/// use twiceshy_lab::report::draw;
///
/// let contest = OpenContest::new("mine")
///     .enter(Contender::cuckoo(12))
///     .enter(Contender::cyclic(12, 1))
///     .uniform(10_000, 100)
///     .on("flows", "flows:chicago-a/100".parse()?)
///     .ratios(&[1.0, 10.0])
///     .expect_fewer("cyclic, s = 1", "cuckoo, plain", 0.5);
/// let setup = Setup::new(Size::Quick, 1);
/// let folder = Folder::for_run("results".as_ref(), &setup)?;
/// run(&[&contest], &folder, &setup, 2, &|_| ())?;
/// println!("{}", draw(&folder, &[&contest])?.page.display());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenContest {
    name: String,
    measures: String,
    filters: Vec<Contender>,
    streams: Vec<(String, Workload)>,
    ratios: Vec<f64>,
    memory: Memory,
    budget: Budget,
    expected: Vec<Fewer>,
}

/// That one filter has at most `factor` times the false positives of another.
#[derive(Clone, Debug)]
struct Fewer {
    filter: String,
    than: String,
    factor: f64,
}

impl OpenContest {
    /// A contest without filters and workloads. The name is that of its files.
    pub fn new(name: &str) -> OpenContest {
        OpenContest {
            name: file_name(name),
            measures: "False-positive rates of several filters on the same keys and queries, over A/S".into(),
            filters: Vec::new(),
            streams: Vec::new(),
            ratios: vec![5.0],
            memory: Memory::LikeFirst(0.95),
            budget: Budget { first: 20, most: 40 },
            expected: Vec::new(),
        }
    }

    /// Its heading in the report.
    #[must_use]
    pub fn measures(mut self, heading: impl Into<String>) -> OpenContest {
        self.measures = heading.into();
        self
    }

    /// Enters a filter of this project or one of its baselines. A look that is taken becomes another one.
    #[must_use]
    pub fn enter(mut self, mut contender: Contender) -> OpenContest {
        let is_taken = |look: usize| self.filters.iter().any(|other| other.look % LOOKS == look % LOOKS);
        if is_taken(contender.look) {
            contender.look = (0..LOOKS).find(|look| !is_taken(*look)).unwrap_or(contender.look);
        }
        self.filters.push(contender);
        self
    }

    /// Enters a filter from outside.
    #[must_use]
    pub fn foreign(self, foreign: Foreign) -> OpenContest {
        self.enter(Contender::foreign(foreign, 8))
    }

    /// Adds uniformly repeated queries: `keys` stored keys, and `per_key` queries for each absent one on average.
    #[must_use]
    pub fn uniform(self, keys: u64, per_key: u64) -> OpenContest {
        self.traffic(Uniform { keys, per_key })
    }

    /// Adds a workload from outside.
    #[must_use]
    pub fn traffic(self, traffic: impl Traffic + 'static) -> OpenContest {
        let label = traffic.name();
        self.on(label, Workload::Foreign(ForeignTraffic::new(traffic)))
    }

    /// Adds a workload that has its own keys, such as a trace or flows, with its name in tables and pictures.
    #[must_use]
    pub fn on(mut self, label: impl Into<String>, workload: Workload) -> OpenContest {
        self.streams.push((label.into(), workload));
        self
    }

    /// Sets the A/S at which all are measured; 5 without it.
    #[must_use]
    pub fn ratios(mut self, ratios: &[f64]) -> OpenContest {
        self.ratios = ratios.to_vec();
        self
    }

    /// Sets how the memory of the filters is chosen.
    #[must_use]
    pub fn memory(mut self, memory: Memory) -> OpenContest {
        self.memory = memory;
        self
    }

    /// Sets how many trials a point gets.
    #[must_use]
    pub fn trials(mut self, budget: Budget) -> OpenContest {
        self.budget = budget;
        self
    }

    /// States that `filter` has at most `factor` times the false positives of `than`, for every workload and A/S, in the
    /// median trial. Decide on the factor before you look at data.
    #[must_use]
    pub fn expect_fewer(mut self, filter: &str, than: &str, factor: f64) -> OpenContest {
        self.expected.push(Fewer { filter: filter.to_owned(), than: than.to_owned(), factor });
        self
    }

    /// That no filter takes more memory than the first, if that is the rule. Those that grow as they learn begin so.
    fn within_memory(&self, table: &Table) -> Option<Statement> {
        let Memory::LikeFirst(_) = self.memory else { return None };
        let growing = [FilterName::BloomListed, Kind::Broom.into(), Kind::Remembering.into()];
        let (first, others) = self.filters.split_first()?;
        let mut evidence = Vec::new();
        for point in table.values("point") {
            let here = table.only("point", point.clone());
            let bits = |label: &str| here.only("filter", label).sample("bits_per_key");
            for other in others.iter().filter(|other| !growing.contains(&other.spec.name)) {
                let over = bits(&other.label).with(&bits(&first.label), |bits, of_first| bits / of_first);
                let worst = over.values().into_iter().reduce(f64::max).unwrap_or(f64::NAN);
                evidence.push(Evidence::exact(format!("{}, {point}", other.label), worst).below(1.01));
            }
        }
        let paper = format!("No filter takes more memory than {}", first.label);
        let tested =
            "bits a key as allocated at the end of a trial, over those of the first filter, in the worst trial";
        (!others.is_empty()).then(|| Statement::new(paper, tested).every(evidence))
    }

    fn fewer(table: &Table, expected: &Fewer) -> Statement {
        let Fewer { filter, than, factor } = expected;
        let at_point = |point: crate::experiment::Value| {
            let here = table.only("point", point.clone());
            let counts = |label: &str| here.only("filter", label).sample("false_positives");
            Evidence::median_ratio(point.to_string(), &counts(filter), &counts(than)).below(*factor)
        };
        Statement::new(
            format!("{filter} has at most {factor} times the false positives of {than}"),
            "the false positives of the one over those of the other, in the median trial",
        )
        .every(table.values("point").into_iter().map(at_point).collect())
    }
}

/// The number of looks that can be told apart.
const LOOKS: usize = 14;

impl Experiment for OpenContest {
    fn name(&self) -> &str {
        &self.name
    }

    fn claim(&self) -> &str {
        &self.measures
    }

    fn measures(&self) -> &str {
        &self.measures
    }

    fn source(&self) -> &str {
        "an open contest: no paper"
    }

    fn method(&self, _: Size) -> Vec<String> {
        let names: Vec<&str> = self.filters.iter().map(|filter| filter.label.as_str()).collect();
        let memory = match self.memory {
            Memory::LikeFirst(load) => {
                let first = names.first().copied().unwrap_or("the first filter");
                format!("Every filter has the memory that {first} allocates at a load of {load}.")
            }
            Memory::Load(load) => format!("Every filter has a load of {load}."),
            Memory::Cells(cells) => format!("Every filter has {cells} cells."),
        };
        vec![
            format!("Filters: {}. {memory} In each trial all have the same keys and the same queries.", names.join("; ")),
            "Filters from outside are told the number of keys, their memory and a seed. All stored keys are looked up after \
             filling and again after the queries: a filter that calls one absent ends the run. The intervals in the \
             pictures hold the mean with 95 %."
                .into(),
        ]
    }

    fn columns(&self) -> &'static [&'static str] {
        COLUMNS
    }

    fn budget(&self, _: Size) -> Budget {
        self.budget
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let width = |filter: &Contender| if filter.spec.foreign.is_some() { 0 } else { filter.spec.bits };
        let contenders: Vec<_> = self.filters.iter().map(|filter| (width(filter), filter.clone())).collect();
        let point = |(label, workload): &(String, Workload), ratio: f64| {
            let contest = contest::Contest {
                contenders: contenders.clone(),
                memory: self.memory,
                workload: workload.clone(),
                workload_label: label.clone(),
                ratio,
                queries: None,
                champions: &[],
                work: 0.2,
            };
            contest.point(setup)
        };
        self.streams.iter().flat_map(|stream| self.ratios.iter().map(move |ratio| point(stream, *ratio))).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let picture = |workload: crate::experiment::Value| {
            let here = table.only("workload", workload.clone());
            Picture {
                name: file_name(&format!("{} {workload}", self.name)),
                title: workload.to_string(),
                x: Axis::linear("A/S: absent keys asked for over stored keys"),
                y: Axis::log("false-positive rate"),
                lines: self.filters.iter().filter_map(|filter| curve(&here, filter)).collect(),
            }
        };
        table.values("workload").into_iter().map(picture).collect()
    }

    fn statements(&self, table: &Table, _: Size) -> Vec<Statement> {
        let expected = self.expected.iter().map(|expected| OpenContest::fewer(table, expected));
        self.within_memory(table).into_iter().chain(expected).collect()
    }
}

/// A filter's rates over A/S with their intervals; `None` if it was not measured.
fn curve(here: &Table, filter: &Contender) -> Option<Curve> {
    let own = here.only("filter", filter.label.as_str());
    (!own.is_empty()).then(|| Curve::measured(filter.label.as_str(), filter.look, own.means("ratio", "fpr")))
}

#[cfg(test)]
mod tests {
    use super::super::{Draw, KeyStream, Refused, Rival, Room, TrafficError};
    use super::*;
    use crate::experiment::{Finding, Folder, RunError, Verdict, run};
    use std::collections::HashSet;

    /// Fingerprints in a set, with a list of its mistakes if it learns. `lost` keys are lost, at once or when it learns.
    struct Sparse {
        fingerprints: HashSet<u64>,
        mistakes: HashSet<Vec<u8>>,
        room: Room,
        learns: bool,
        lies: Lies,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Lies {
        Never,
        AtOnce,
        WhenTaught,
        Full,
        Broken,
    }

    impl Sparse {
        fn fingerprint(&self, key: &[u8]) -> u64 {
            twiceshy::hash::HashKey::fixed(self.room.seed).words(key).word(0) % (self.room.keys << 7)
        }
    }

    impl Rival for Sparse {
        fn insert(&mut self, key: &[u8]) -> Result<(), Refused> {
            let number = self.fingerprints.len() as u64;
            match self.lies {
                Lies::Full if number > self.room.keys / 2 => return Err(Refused::Full),
                Lies::Broken if number > 3 => return Err(Refused::failed("the disk is on fire")),
                Lies::AtOnce if number == 5 => {}
                _ => drop(self.fingerprints.insert(self.fingerprint(key))),
            }
            Ok(())
        }

        fn contains(&self, key: &[u8]) -> bool {
            self.fingerprints.contains(&self.fingerprint(key)) && !self.mistakes.contains(key)
        }

        fn was_wrong(&mut self, query: &[u8]) -> Result<(), Refused> {
            if self.lies == Lies::WhenTaught {
                self.fingerprints.remove(&self.fingerprint(query));
            } else if self.learns {
                self.mistakes.insert(query.to_vec());
            }
            Ok(())
        }

        fn bits(&self) -> u64 {
            self.room.bits
        }
    }

    fn sparse(name: &str, learns: bool, lies: Lies) -> Foreign {
        Foreign::new(name, move |room| {
            let (fingerprints, mistakes) = Default::default();
            Ok(Box::new(Sparse { fingerprints, mistakes, room, learns, lies }))
        })
    }

    /// Two hundred keys, of which a few are asked for again and again.
    struct Skewed;

    impl Traffic for Skewed {
        fn name(&self) -> String {
            "skewed".into()
        }

        fn stored(&self, draw: Draw) -> KeyStream<'_> {
            Box::new((0..200u64).map(move |number| Ok(format!("stored {number} {}", draw.seed).into_bytes())))
        }

        fn queries(&self, draw: Draw) -> KeyStream<'_> {
            let distinct = (200.0 * draw.ratio) as u64;
            // Every key ten times, and the squares among them more often.
            let key = move |number: u64| if number.is_multiple_of(2) { number / 2 } else { number * number } % distinct;
            let asked = move |number: u64| Ok(format!("absent {} {}", key(number), draw.seed).into_bytes());
            let stored = std::iter::once(Ok(format!("stored 0 {}", draw.seed).into_bytes()));
            Box::new(stored.chain((0..20 * distinct).map(asked)))
        }
    }

    fn measured(contest: &OpenContest) -> Result<(Table, Vec<Finding>), RunError> {
        let place = tempfile::tempdir().expect("a folder");
        let setup = Setup::new(Size::Tiny, 1);
        let folder = Folder::for_run(place.path(), &setup)?;
        run(&[contest], &folder, &setup, 1, &|_| ())?;
        let table = folder.table(contest)?.expect("complete");
        let drawn = crate::report::draw(&folder, &[contest]).expect("a report");
        assert!(std::fs::read_to_string(&drawn.page).expect("a page").contains(contest.name()));
        assert!(!drawn.sections[0].pictures.is_empty());
        let findings = contest.findings(&table, setup.size);
        Ok((table, findings))
    }

    fn with(filter: Foreign) -> OpenContest {
        OpenContest::new("a contest").enter(Contender::cuckoo(8)).foreign(filter)
    }

    #[test]
    fn a_foreign_filter_is_measured_on_the_keys_and_queries_of_the_others() {
        let contest = with(sparse("sparse", false, Lies::Never)).foreign(sparse("sparse, learning", true, Lies::Never));
        let contest = contest.uniform(300, 10).traffic(Skewed).ratios(&[2.0, 8.0]);
        let contest =
            contest.expect_fewer("sparse, learning", "sparse", 0.8).expect_fewer("sparse", "sparse, learning", 1.0);
        let (table, findings) = measured(&contest).expect("a run");
        assert_eq!(table.values("point").len(), 4);
        for point in table.values("point") {
            let here = table.only("point", point.clone());
            let queries = |filter: &str| here.only("filter", filter).sample("queries").values();
            assert!(queries("sparse").len() >= 20 && queries("sparse") == queries("cuckoo, plain"), "{point}");
            let keys = here.first("keys").expect("a number");
            let (distinct, ratio) = (here.first("distinct").expect("a number"), here.first("ratio").expect("a number"));
            assert!(distinct <= keys * ratio && distinct > 0.9 * keys * ratio, "{point}: {distinct}");
        }
        // One key in 128 for each stored one.
        let rate = table.only("workload", "uniform queries").only("filter", "sparse").sample("fpr").mean();
        assert!((0.006..0.010).contains(&rate), "{rate}");
        let verdicts: Vec<&Verdict> = findings.iter().map(|finding| &finding.verdict).collect();
        assert_eq!(verdicts, [&Verdict::Agrees, &Verdict::Agrees, &Verdict::Unexplained], "{findings:#?}");
    }

    #[test]
    fn a_filter_that_lies_or_fails_ends_the_run_with_its_name() {
        for (lies, words) in [
            (Lies::AtOnce, "the filter liar lies: after filling it calls the stored key stored 5"),
            (Lies::WhenTaught, "the filter liar lies: after its queries it calls the stored key"),
            (Lies::Full, "the filter liar has no room for 200 keys in"),
            (Lies::Broken, "the filter liar failed: the disk is on fire"),
        ] {
            let error = measured(&with(sparse("liar", false, lies)).traffic(Skewed)).expect_err("it lies").to_string();
            assert!(error.contains(words), "{error}");
        }
        let refusing = Foreign::new("liar", |_| Err(Refused::failed("no such processor")));
        let error = measured(&with(refusing).traffic(Skewed)).expect_err("it is not made").to_string();
        assert!(error.contains("the filter liar failed: no such processor"), "{error}");
    }

    #[test]
    fn a_filter_that_takes_more_memory_than_it_was_given_does_not_agree() {
        let greedy = Foreign::new("greedy", |mut room| {
            room.bits *= 2;
            sparse("", false, Lies::Never).build(room)
        });
        let (_, findings) = measured(&with(greedy).uniform(200, 2)).expect("a run");
        assert_eq!(findings[0].verdict, Verdict::Unexplained, "{findings:#?}");
    }

    /// A workload that lacks something.
    struct Poor(&'static str);

    impl Traffic for Poor {
        fn name(&self) -> String {
            "poor".into()
        }

        fn stored(&self, _: Draw) -> KeyStream<'_> {
            let keys = if self.0 == "no key" { vec![] } else { vec![Ok(b"a".to_vec()), Ok(b"b".to_vec())] };
            Box::new(keys.into_iter())
        }

        fn queries(&self, _: Draw) -> KeyStream<'_> {
            let key = if self.0 == "an error" { Err(TrafficError::new("the line is dead")) } else { Ok(b"a".to_vec()) };
            Box::new(std::iter::once(key))
        }
    }

    #[test]
    fn a_workload_without_keys_or_queries_or_with_an_error_ends_the_run_with_its_name() {
        for (lack, words) in
            [("no key", "no key to store"), ("no query", "asks for no key"), ("an error", "the line is dead")]
        {
            let error = measured(&with(sparse("sparse", false, Lies::Never)).traffic(Poor(lack)));
            let error = error.expect_err("it lacks something").to_string();
            assert!(error.contains("the workload poor failed") && error.contains(words), "{error}");
        }
    }

    #[test]
    fn an_empty_table_agrees_with_nothing() {
        let contest = with(sparse("sparse", false, Lies::Never)).expect_fewer("sparse", "cuckoo, plain", 1.0);
        let findings = contest.findings(&Table::new(COLUMNS.iter().copied()), Size::Quick);
        assert!(findings.len() == 2 && findings.iter().all(|it| it.verdict == Verdict::Unexplained), "{findings:#?}");
    }
}
