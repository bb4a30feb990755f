//! Turns measurements into a recommendation.

use super::fitting::{FEWEST_MISTAKES, Fitted, Keeps};
use super::sample::Sample;
use super::words;
use super::{Settings, Weights};
use serde::Serialize;

/// The recommended filter, and the reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The number of keys to store.
    pub keys: u64,
    /// The requested rate.
    pub fpr: f64,
    /// The workload.
    pub workload: String,
    /// A/S.
    pub ratio: f64,
    /// `true` if clients may be hostile.
    pub hostile: bool,
    /// The bytes of a stored key, and of a stored value.
    pub key_bytes: usize,
    /// See `key_bytes`.
    pub value_bytes: usize,
    /// The keys stored in each trial. If they are fewer than `keys`, the queries are fewer in proportion.
    pub sample_keys: u64,
    /// The weights of the costs.
    pub weights: Weights,
    /// Every candidate, the cheapest first of those that keep the rate, then the others.
    pub candidates: Vec<Fitted>,
    /// The recommended filter; `None` if no candidate works.
    pub filter: Option<String>,
    /// The bits of its cells or remainders.
    pub width: Option<u32>,
    /// Its cells or slots for all keys.
    pub cells: Option<u64>,
    /// Its memory with all keys, in bytes.
    pub bytes: Option<u64>,
    /// The bytes of the store's file with all keys.
    pub bytes_on_disk: Option<u64>,
    /// Its store reads for each false positive.
    pub reads_per_mistake: Option<f64>,
    /// Its rate over all queries.
    pub rate: Option<f64>,
    /// The rate to request from the library and from `twiceshy create`.
    pub ask_for: Option<f64>,
    /// The command that makes the store, with STORE for its folder.
    pub command: Option<String>,
    /// The reasons, with numbers.
    pub reasons: Vec<Reason>,
    /// What the choice costs.
    pub costs: Vec<Reason>,
    /// What else is worth knowing: the sample, and hostile clients.
    pub notes: Vec<Reason>,
    /// What looks wrong in the trace.
    pub warnings: Vec<String>,
}

/// One reason, as a sentence.
pub type Reason = String;

pub(super) fn weigh(settings: &Settings, sample: &Sample, key_bytes: usize, mut candidates: Vec<Fitted>) -> Advice {
    let chosen = choose(settings, &candidates).cloned();
    let order = |fitted: &Fitted| match fitted.keeps_rate {
        _ if Some(fitted) == chosen.as_ref() => 0,
        Keeps::Yes => 1,
        Keeps::NotSure => 2,
        Keeps::No => 3,
    };
    candidates.sort_by(|a, b| order(a).cmp(&order(b)).then(a.cost.total_cmp(&b.cost)));
    let told = words::Told { settings, sample, candidates: &candidates, chosen: chosen.as_ref() };
    let of = chosen.as_ref();
    Advice {
        keys: settings.keys,
        fpr: settings.rate,
        workload: settings.workload.describe(),
        ratio: sample.ratio,
        hostile: settings.hostile,
        key_bytes,
        value_bytes: settings.value_bytes,
        sample_keys: sample.trials.first().map_or(0, |trial| trial.stored.len() as u64),
        weights: settings.weights,
        filter: of.map(|chosen| chosen.filter.clone()),
        width: of.map(|chosen| chosen.width),
        cells: of.map(|chosen| chosen.cells),
        bytes: of.map(|chosen| chosen.bytes),
        bytes_on_disk: of.map(|chosen| chosen.bytes_on_disk),
        reads_per_mistake: of.map(|chosen| chosen.reads_per_mistake),
        rate: of.map(|chosen| chosen.rate),
        ask_for: of.map(|chosen| chosen.ask_for),
        command: of.map(|chosen| command(chosen, settings.keys)),
        reasons: told.reasons(),
        costs: told.costs(key_bytes),
        notes: told.notes(),
        warnings: sample.warnings.clone(),
        candidates,
    }
}

/// The command that makes a store with this filter.
fn command(chosen: &Fitted, keys: u64) -> String {
    format!("twiceshy create STORE --filter {} --keys {keys} --fpr {}", chosen.filter, chosen.ask_for)
}

/// The store reads of the filter that does not learn and errs least, per query.
pub(super) fn plain_reads(candidates: &[Fitted]) -> f64 {
    let plain = candidates.iter().filter(|fitted| !fitted.learns && fitted.keeps_rate != Keeps::No);
    plain.map(|fitted| fitted.remote_reads_per_query).fold(f64::INFINITY, f64::min)
}

/// `true` if a filter that learns reads the store more often than a plain one, mistakes and learning together. With few
/// mistakes in the sample nobody can tell, and then the cost decides.
pub(super) fn reads_too_much(settings: &Settings, candidates: &[Fitted], fitted: &Fitted) -> bool {
    let is_known = fitted.false_positives >= FEWEST_MISTAKES;
    !settings.hostile && fitted.learns && is_known && fitted.remote_reads_per_query > plain_reads(candidates)
}

/// Costs that differ by less than this many bits a key are taken for equal, since look-ups are timed on a busy machine.
const EQUAL: f64 = 0.25;

/// The filters, the simplest first. The telescoping filter fixes more mistakes in the same bits than the extension filter, and
/// a cuckoo filter needs more index entries than either.
const SIMPLEST: [&str; 9] =
    ["quotient", "cuckoo", "telescoping", "extension", "remembering", "swapping", "cyclic", "cuckooing", "broom"];

/// The cheapest candidate that keeps the rate; of equally cheap ones, the simplest. One that learns must not read the store
/// more often than one that does not, mistakes and learning together. If clients may be hostile, only a filter with a promise
/// keeps the rate.
pub(super) fn choose<'a>(settings: &Settings, candidates: &'a [Fitted]) -> Option<&'a Fitted> {
    let good = candidates.iter().filter(|fitted| fitted.keeps_rate == Keeps::Yes);
    let worth: Vec<&Fitted> = good.filter(|fitted| !reads_too_much(settings, candidates, fitted)).collect();
    let cheapest = worth.iter().map(|fitted| fitted.cost).min_by(f64::total_cmp)?;
    let equal = cheapest + settings.weights.bit(settings.rate) * EQUAL;
    let simple = |fitted: &&Fitted| SIMPLEST.iter().position(|name| *name == fitted.filter).unwrap_or(SIMPLEST.len());
    worth.into_iter().filter(|fitted| fitted.cost <= equal).min_by_key(simple)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Candidate, Costs};
    use super::*;
    use crate::workload::{Distribution, Workload};

    pub(in crate::advise) fn settings(hostile: bool) -> Settings {
        Settings {
            keys: 1000,
            rate: 0.01,
            workload: Workload::Generated(Distribution::Uniform),
            ratio: None,
            per_key: None,
            key_bytes: None,
            value_bytes: 0,
            weights: Weights::default(),
            hostile,
            seed: 1,
            jobs: 1,
            folder: std::path::PathBuf::new(),
        }
    }

    pub(in crate::advise) fn fitted(filter: &str, learns: bool, reads: f64, cost: f64) -> Fitted {
        Fitted {
            filter: filter.into(),
            learns,
            adaptive: filter == "broom",
            width: 7,
            cells: 1_185,
            ask_for: 0.01,
            bits_per_key: 12.0,
            bytes: 1_500,
            bytes_on_disk: 1_000_000,
            index_entries: if learns { 4 } else { 1 },
            static_rate: 0.009,
            rate: 0.009,
            rate_low: 0.008,
            rate_high: 0.0095,
            rate_deviation: 0.001,
            keeps_rate: Keeps::Yes,
            false_positives: 900,
            queries: 100_000,
            reads_per_mistake: if learns { 2.0 } else { 1.0 },
            remote_reads_per_query: reads,
            reads_per_million: reads * 1e6,
            commits_per_million: if filter == "broom" { 100.0 } else { 0.0 },
            entries_written_per_million: 0.0,
            lookups_per_second: 1e7,
            cost,
            cost_parts: Costs::default(),
        }
    }

    fn chosen(hostile: bool, candidates: &[Fitted]) -> Option<String> {
        choose(&settings(hostile), candidates).map(|fitted| fitted.filter.clone())
    }

    #[test]
    fn the_cheapest_that_keeps_the_rate_is_chosen() {
        let (plain, learns) = (fitted("quotient", false, 0.009, 5_000.0), fitted("telescoping", true, 0.002, 3_000.0));
        assert_eq!(chosen(false, &[plain.clone(), learns.clone()]).as_deref(), Some("telescoping"));
        for keeps_rate in [Keeps::No, Keeps::NotSure] {
            let unsure = Fitted { keeps_rate, ..learns.clone() };
            assert_eq!(chosen(false, &[plain.clone(), unsure.clone()]).as_deref(), Some("quotient"));
            assert_eq!(chosen(false, &[unsure]), None);
        }
    }

    #[test]
    fn of_equally_cheap_filters_the_simplest_is_chosen() {
        // A bit a key is worth 5,000 reads per million queries at this rate.
        let plain = fitted("quotient", false, 0.009, 11_200.0);
        let learns = [fitted("extension", true, 0.002, 10_000.0), fitted("telescoping", true, 0.002, 10_100.0)];
        assert_eq!(chosen(false, &learns).as_deref(), Some("telescoping"));
        let [one, other] = learns;
        assert_eq!(chosen(false, &[one.clone(), plain.clone(), other.clone()]).as_deref(), Some("quotient"));
        let dearer = Fitted { cost: 11_300.0, ..plain };
        assert_eq!(chosen(false, &[one, dearer, other]).as_deref(), Some("telescoping"));
        let named = |candidate: Candidate| SIMPLEST.contains(&candidate.kind().name());
        assert!(Candidate::all().into_iter().all(named));
    }

    #[test]
    fn a_filter_whose_learning_reads_more_than_a_plain_one_errs_is_not_chosen() {
        let plain = fitted("quotient", false, 0.009, 500.0);
        let greedy = fitted("cuckooing", true, 0.0091, -9_000.0);
        assert_eq!(chosen(false, &[plain, greedy.clone()]).as_deref(), Some("quotient"));
        // Without a plain one that keeps the rate there is nothing to compare it with.
        assert_eq!(chosen(false, &[greedy]).as_deref(), Some("cuckooing"));
    }

    #[test]
    fn against_hostile_clients_the_promise_decides_and_not_the_cost() {
        let others = Fitted { keeps_rate: Keeps::No, ..fitted("telescoping", true, 0.001, 100.0) };
        let broom = fitted("broom", true, 0.02, 9_000.0);
        assert_eq!(chosen(true, &[others.clone(), broom.clone()]).as_deref(), Some("broom"));
        assert_eq!(chosen(true, &[others, Fitted { keeps_rate: Keeps::No, ..broom }]), None);
    }
}
