//! The reasons for a recommendation, and what it costs, in sentences.

use super::Settings;
use super::fitting::{Fitted, Keeps};
use super::sample::Sample;
use super::spread::TRIALS;
use super::verdict::{Reason, reads_too_much};
use twiceshy::Kind;
use twiceshy_store::Options;

/// The reason given if clients are hostile. The figures are from `docs/adversaries.md`.
const PROMISE: &str = "clients may be hostile: only the broom filter keeps its static rate whatever they ask, insert and delete, so that \
                       rate decides and not the sample; the others lose to adversaries that delete keys and insert mistakes, or wait \
                       for a crash (`twiceshy attack --filter telescoping --adversary all` shows it; at ε = 1 % telescoping is wrong \
                       about up to 94 % of the keys that an adversary may name, swapping about up to 36 %)";

/// What that choice costs besides what is measured.
const PRICE: &str = "growing, and opening after a crash, rewrite the whole index; ghosts of removed keys take about half a bit a key \
                     more than counted here, and up to five if keys are replaced as fast as it errs";

/// What it costs where clients are not hostile. The figures are those of the experiment `firehose`, at the papers' size.
const SHORT_REMAINDERS: &str = "a broom filter spends memory on its promise that others spend on longer remainders: on a stream with few \
                                popular keys (FireHose's active set, at 12 to 14 bits a key) it errs 4 times as often as a filter that \
                                never learns if there are 10 distinct queries a key, and 12 times if there are 40 (`twiceshy lab run \
                                firehose`)";

/// All that is needed to give reasons.
pub(super) struct Told<'a> {
    pub(super) settings: &'a Settings,
    pub(super) sample: &'a Sample,
    pub(super) candidates: &'a [Fitted],
    pub(super) chosen: Option<&'a Fitted>,
}

impl Told<'_> {
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let Some(chosen) = self.chosen else { return vec![self.why_nothing()] };
        let mut reasons = Vec::new();
        if self.settings.hostile {
            reasons.push(PROMISE.into());
        } else {
            reasons.push(self.cheapest(chosen));
        }
        reasons.push(self.rate(chosen));
        let rivals = self.candidates.iter().filter(|other| other.learns != chosen.learns);
        let rival = rivals.filter(|other| other.keeps_rate == Keeps::Yes || self.settings.hostile);
        reasons.extend(rival.min_by(|a, b| a.cost.total_cmp(&b.cost)).map(|rival| compared(chosen, rival)));
        let greedy = self.candidates.iter().filter(|other| self.reads_too_much(other));
        let greedy: Vec<&str> = greedy.map(|other| other.filter.as_str()).collect();
        if !greedy.is_empty() {
            reasons.push(format!(
                "not worth their learning here, since their mistakes and their learning read the store more often than a plain \
                 filter errs: {}",
                greedy.join(", ")
            ));
        }
        reasons
    }

    fn cheapest(&self, chosen: &Fitted) -> Reason {
        let others = self.candidates.iter().filter(|other| other.filter != chosen.filter);
        let next = others.filter(|other| self.why_not(other).is_none()).min_by(|a, b| a.cost.total_cmp(&b.cost));
        let own = format!("{}, in store reads per million queries", grouped(chosen.cost as u64));
        match next {
            Some(next) if next.cost < chosen.cost => format!(
                "{} costs {own}. {} costs {}, less by no more than a quarter of a bit a key, and is less simple",
                chosen.filter,
                next.filter,
                grouped(next.cost as u64)
            ),
            Some(next) => format!(
                "{} costs least of the filters that keep the rate: {own}. The next is {} at {}",
                chosen.filter,
                next.filter,
                grouped(next.cost as u64)
            ),
            None => format!("{} is the only filter that keeps the rate, at a cost of {own}", chosen.filter),
        }
    }

    /// The rate, and why it is not the one asked for.
    fn rate(&self, chosen: &Fitted) -> Reason {
        let wanted = self.settings.rate;
        let load = self.settings.keys as f64 / chosen.cells as f64 * 100.0;
        let whole = format!(
            "a cell has a whole number of bits ({}), and there is room for an eighth more keys (a load of {load:.0} %)",
            chosen.width
        );
        if self.settings.hostile {
            return format!(
                "built for a rate of {}, it errs at {} at most, the rate for keys never asked before: {whole}",
                share(chosen.ask_for),
                share(chosen.static_rate)
            );
        }
        if !chosen.learns {
            return format!(
                "asked for {}, it errs at {}: {whole}. That is the mean over hash keys; on this traffic one store differs from \
                 another by {} (standard deviation)",
                share(wanted),
                share(chosen.rate),
                share(chosen.rate_deviation)
            );
        }
        format!(
            "it errs at {} of these queries (95 % interval over {TRIALS} hash keys: {} to {}). `--fpr {}` is the rate for keys never \
             asked before, at full load; with all keys stored it is {}, since {whole}; repeated queries find what it has learned",
            share(chosen.rate),
            share(chosen.rate_low),
            share(chosen.rate_high),
            chosen.ask_for,
            share(chosen.static_rate)
        )
    }

    fn why_nothing(&self) -> Reason {
        if self.candidates.is_empty() {
            return "no filter can be built for this rate with cells of up to 32 bits".into();
        }
        "no candidate surely keeps this rate on this workload".into()
    }

    fn reads_too_much(&self, other: &Fitted) -> bool {
        reads_too_much(self.settings, self.candidates, other)
    }

    /// Why a candidate is out, whatever it costs.
    fn why_not(&self, other: &Fitted) -> Option<&'static str> {
        match other.keeps_rate {
            Keeps::Yes if self.reads_too_much(other) => Some("it reads the store more often than a plain filter errs"),
            Keeps::Yes => None,
            Keeps::NotSure => Some("it may not keep the rate"),
            Keeps::No => Some("it does not keep the rate"),
        }
    }

    /// What the choice costs, all of it.
    pub(super) fn costs(&self, key_bytes: usize) -> Vec<Reason> {
        let Some(chosen) = self.chosen else { return Vec::new() };
        let entries = chosen.index_entries;
        let mut costs = vec![
            format!("memory: {} bytes, {:.2} bits a key", grouped(chosen.bytes), chosen.bits_per_key),
            format!(
                "disk: about {} bytes, with keys of {key_bytes} bytes and values of {}. The index has {entries} {} a key, written by \
                 every insertion. The file doubles when it is full, so near a doubling it may have half or twice as much",
                grouped(chosen.bytes_on_disk),
                self.settings.value_bytes,
                if entries == 1 { "entry" } else { "entries" }
            ),
            format!(
                "store reads: {:.0} per million queries, {:.2} for each mistake: one to find out{}",
                chosen.reads_per_million,
                chosen.reads_per_mistake,
                if chosen.learns { ", the others to learn from it" } else { "" }
            ),
        ];
        if chosen.commits_per_million > 0.0 {
            costs.push(format!(
                "store writes: every mistake is a commit, {:.0} per million queries with {:.0} index entries in and out; fewer if \
                 mistakes wait for each other",
                chosen.commits_per_million, chosen.entries_written_per_million
            ));
        }
        let nanoseconds = 1e9 / chosen.lookups_per_second.max(1.0);
        costs.push(format!("time: {nanoseconds:.0} ns for a look-up on this machine, with the tables of the sample"));
        if chosen.adaptive {
            costs.extend([PRICE.into(), SHORT_REMAINDERS.into()]);
        }
        let parts = &chosen.cost_parts;
        costs.push(format!(
            "in all {:.0}, in store reads per million queries: {:.0} for reads, {:.0} for commits, {:.0} for look-ups, {:.0} for \
             memory, {:.0} for disk",
            chosen.cost, parts.reads, parts.commits, parts.lookups, parts.memory, parts.disk
        ));
        costs
    }

    pub(super) fn notes(&self) -> Vec<Reason> {
        let (settings, sample) = (self.settings, self.sample);
        let mut notes = Vec::new();
        let stored = sample.trials.first().map_or(0, |trial| trial.stored.len() as u64);
        if stored != settings.keys {
            notes.push(format!(
                "rates and reads were measured with {} stored keys instead of {}, at the same load, and with as many queries for \
                 each stored key (A/S {:.3})",
                grouped(stored),
                grouped(settings.keys),
                sample.ratio
            ));
        }
        if sample.is_cut {
            notes.push(format!("only the first {} requests of the trace were read", grouped(sample.queries)));
        }
        if let Some(chosen) = self.chosen.filter(|chosen| chosen.false_positives < 100) {
            notes.push(format!(
                "only {} false positives were seen: a longer trace would be more certain",
                chosen.false_positives
            ));
        }
        if !settings.hostile {
            notes.extend(self.if_hostile());
        }
        notes
    }

    /// What to take if clients may be hostile.
    fn if_hostile(&self) -> Option<Reason> {
        let options = Options::new().filter(Kind::Broom).false_positive_rate(self.settings.rate);
        let planned = options.expected_keys(self.settings.keys).planned().ok()?;
        Some(format!(
            "if clients may be hostile, take the broom filter: {:.2} bits a key and {} index entries a key here, and a commit for \
             every mistake. `advise --hostile` has all of it",
            planned.local_bits as f64 / self.settings.keys as f64,
            planned.index_entries
        ))
    }
}

/// How a rival differs from the choice.
fn compared(chosen: &Fitted, rival: &Fitted) -> Reason {
    let kind = if rival.learns { "the cheapest filter that learns" } else { "the cheapest filter that does not learn" };
    format!(
        "{kind}, {}, has {:+.2} bits a key, {:+.0} % on disk and {:+.0} store reads per million queries",
        rival.filter,
        rival.bits_per_key - chosen.bits_per_key,
        (rival.bytes_on_disk as f64 / chosen.bytes_on_disk.max(1) as f64 - 1.0) * 100.0,
        rival.reads_per_million - chosen.reads_per_million
    )
}

/// A rate with three digits.
fn share(rate: f64) -> String {
    format!("{rate:.2e}")
}

/// A whole number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::{fitted, settings};
    use super::*;

    fn sample() -> Sample {
        Sample {
            trials: Vec::new(),
            ratio: 10.0,
            queries: 100_000,
            distinct: 10_000,
            key_bytes: 8.0,
            unevenness: 0.01,
            is_cut: true,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_price_of_a_promise_is_told_with_it() {
        for hostile in [false, true] {
            let (settings, sample) = (settings(hostile), sample());
            let candidates = [fitted("broom", true, 0.02, 9_000.0), fitted("quotient", false, 0.009, 500.0)];
            let told =
                Told { settings: &settings, sample: &sample, candidates: &candidates, chosen: candidates.first() };
            let (reasons, costs, notes) = (told.reasons(), told.costs(8), told.notes());
            assert_eq!(reasons.iter().any(|reason| reason == PROMISE), hostile);
            assert!(costs.iter().any(|cost| cost == PRICE) && costs.iter().any(|cost| cost == SHORT_REMAINDERS));
            assert!(costs.iter().any(|cost| cost.contains("every mistake is a commit")));
            assert_eq!(notes.iter().any(|note| note.contains("--hostile")), !hostile);
            assert!(notes.iter().any(|note| note.contains("only the first 100,000 requests")));
        }
    }

    #[test]
    fn a_filter_that_reads_too_much_is_named() {
        let (settings, sample) = (settings(false), sample());
        let candidates = [fitted("quotient", false, 0.009, 500.0), fitted("cuckooing", true, 0.2, 100.0)];
        let told = Told { settings: &settings, sample: &sample, candidates: &candidates, chosen: candidates.first() };
        let reasons = told.reasons();
        assert!(reasons.iter().any(|reason| reason.contains("errs: cuckooing")), "{reasons:?}");
        assert!(reasons[0].contains("the only filter that keeps the rate"), "{reasons:?}");
        let none = Told { chosen: None, ..told };
        assert_eq!((none.reasons().len(), none.costs(8).len()), (1, 0));
    }
}
