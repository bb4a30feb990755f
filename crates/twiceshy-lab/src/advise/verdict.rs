//! Turns measurements into a recommendation.

use super::{Fitted, Settings};
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
    /// Every candidate at the width it needs.
    pub candidates: Vec<Fitted>,
    /// The recommended filter; `None` if no candidate works.
    pub filter: Option<String>,
    /// The bits of its cells or remainders.
    pub width: Option<u32>,
    /// Its cells or slots for all keys.
    pub cells: Option<u64>,
    /// Its memory for all keys, in bytes.
    pub bytes: Option<u64>,
    /// The static rate to request from the library and from `twiceshy create`.
    pub ask_for: Option<f64>,
    /// The reasons, with numbers.
    pub reasons: Vec<Reason>,
}

/// One reason, as a sentence.
pub type Reason = String;

/// Bits per key that a learning filter must save to be worth its extra store reads.
const WORTH: f64 = 0.5;

/// The reason given if clients are hostile. The figures are from `docs/adversaries.md`.
const PROMISE: &str = "clients may be hostile: only the broom filter keeps its static rate whatever they ask, insert and delete, so that \
                       rate decides and not the sample; the others lose to adversaries that delete keys and insert mistakes, or wait \
                       for a crash (`twiceshy attack --filter telescoping --adversary all` shows it; at ε = 1 % telescoping is wrong \
                       about up to 94 % of the keys that an adversary may name, swapping about up to 36 %)";

/// What that choice costs.
const PRICE: &str = "the broom filter's price: the store's index has two entries a key, or three with small remainders; every mistake is \
                     a commit; growing, and opening after a crash, rewrite the index; ghosts take about half a bit a key more \
                     than counted here";

pub(super) fn weigh(settings: &Settings, ratio: f64, candidates: Vec<Fitted>) -> Advice {
    let chosen = choose(settings, &candidates).cloned();
    let reasons = reasons(settings, &candidates, chosen.as_ref());
    let cells = (settings.keys as f64 / super::fitting::LOAD).ceil();
    Advice {
        keys: settings.keys,
        fpr: settings.rate,
        workload: settings.workload.describe(),
        ratio,
        hostile: settings.hostile,
        filter: chosen.as_ref().map(|chosen| chosen.filter.clone()),
        width: chosen.as_ref().and_then(|chosen| chosen.width),
        cells: chosen.as_ref().map(|_| cells as u64),
        bytes: chosen.as_ref().map(|chosen| (chosen.bits_per_key * settings.keys as f64 / 8.0).ceil() as u64),
        // Slightly more, so that rounding does not add a bit.
        ask_for: chosen.as_ref().map(|chosen| chosen.static_rate * 1.001),
        reasons,
        candidates,
    }
}

fn fits(candidate: &&Fitted) -> bool {
    candidate.width.is_some()
}

/// The smallest of some candidates; the faster one if two are equally small.
fn smallest<'a>(candidates: impl Iterator<Item = &'a Fitted>) -> Option<&'a Fitted> {
    let smaller = |a: &&Fitted, b: &&Fitted| {
        let size = a.bits_per_key.total_cmp(&b.bits_per_key);
        size.then(b.lookups_per_second.total_cmp(&a.lookups_per_second))
    };
    candidates.filter(fits).min_by(smaller)
}

fn choose<'a>(settings: &Settings, candidates: &'a [Fitted]) -> Option<&'a Fitted> {
    if settings.hostile {
        return smallest(candidates.iter().filter(|candidate| candidate.adaptive));
    }
    let plain = smallest(candidates.iter().filter(|candidate| !candidate.learns));
    let learning = smallest(candidates.iter().filter(|candidate| candidate.learns));
    match (plain, learning) {
        (Some(plain), Some(learning)) if learning.bits_per_key + WORTH > plain.bits_per_key => Some(plain),
        (plain, learning) => learning.or(plain),
    }
}

fn reasons(settings: &Settings, candidates: &[Fitted], chosen: Option<&Fitted>) -> Vec<Reason> {
    let Some(chosen) = chosen else {
        return vec!["no candidate keeps this rate on this workload with cells of up to 32 bits".into()];
    };
    let mut reasons = vec![format!(
        "{} keeps a rate of {:.2e} on the sample with {:.2} bits a key ({} false positives of {} queries)",
        chosen.filter, chosen.rate, chosen.bits_per_key, chosen.false_positives, chosen.queries
    )];
    let compare = |other: &Fitted| {
        let more = other.bits_per_key - chosen.bits_per_key;
        let percent = more / other.bits_per_key * 100.0;
        let bytes = more * settings.keys as f64 / 8.0;
        format!(
            "{} needs {:.2} bits a key for it: {more:+.2} bits ({percent:+.0} %), {bytes:+.0} bytes in all",
            other.filter, other.bits_per_key
        )
    };
    let rival = smallest(candidates.iter().filter(|other| other.learns != chosen.learns));
    reasons.extend(rival.map(compare));
    if settings.hostile {
        reasons.push(PROMISE.into());
        reasons.push(PRICE.into());
        reasons.extend(smallest(candidates.iter().filter(|other| !other.adaptive)).map(compare));
    } else if !chosen.learns {
        let learner = smallest(candidates.iter().filter(|other| other.learns));
        reasons.push(match learner {
            Some(learner) => format!(
                "the best filter that learns, {}, would save {:.2} bits a key, less than the {WORTH} that would pay for its reads \
                 of the store",
                learner.filter,
                chosen.bits_per_key - learner.bits_per_key
            ),
            None => "no filter that learns surely keeps this rate on the sample: the sample is too short, or too many keys collide".into(),
        });
    } else {
        reasons.push(format!("learning reads the store {:.1e} times per query", chosen.remote_reads_per_query));
    }
    if chosen.false_positives < 100 {
        reasons.push("fewer than 100 false positives were seen: a longer trace would be more certain".into());
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Distribution, Workload};

    fn fitted(filter: &str, learns: bool, adaptive: bool, width: Option<u32>, bits_per_key: f64) -> Fitted {
        Fitted {
            filter: filter.into(),
            learns,
            adaptive,
            width,
            bits_per_key,
            static_rate: 0.01,
            rate: 0.009,
            false_positives: 900,
            queries: 100_000,
            remote_reads_per_query: 0.01,
            lookups_per_second: 1e7,
        }
    }

    fn chosen(hostile: bool, candidates: &[Fitted]) -> Option<String> {
        let settings = Settings {
            keys: 1000,
            rate: 0.01,
            workload: Workload::Generated(Distribution::Uniform),
            ratio: None,
            per_key: None,
            hostile,
            seed: 1,
            jobs: 1,
        };
        let advice = weigh(&settings, 10.0, candidates.to_vec());
        assert!(!advice.reasons.is_empty());
        let told = |text: &str| advice.reasons.iter().any(|reason| reason == text);
        assert_eq!([told(PROMISE), told(PRICE)], [hostile && advice.filter.is_some(); 2], "{:?}", advice.reasons);
        advice.filter
    }

    #[test]
    fn a_filter_that_learns_is_chosen_where_it_saves_enough() {
        let plain = fitted("plain", false, false, Some(9), 9.5);
        let learns = |bits| fitted("learns", true, false, Some(5), bits);
        assert_eq!(chosen(false, &[plain.clone(), learns(6.0)]).as_deref(), Some("learns"));
        assert_eq!(chosen(false, &[plain.clone(), learns(9.2)]).as_deref(), Some("plain"));
        assert_eq!(chosen(false, &[plain, fitted("learns", true, false, None, 2.0)]).as_deref(), Some("plain"));
    }

    #[test]
    fn only_an_adaptive_filter_is_chosen_against_hostile_clients() {
        let learns = fitted("learns", true, false, Some(5), 6.0);
        let adaptive = fitted("adaptive", true, true, Some(8), 14.0);
        assert_eq!(chosen(true, &[learns.clone(), adaptive]).as_deref(), Some("adaptive"));
        assert_eq!(chosen(true, &[learns]), None);
    }
}
