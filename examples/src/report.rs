//! The results, and how they are printed.

use crate::traffic::Traffic;
use crate::{Failure, Subject};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// What one subject did under one traffic.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) lookups: u64,
    pub(crate) seconds: f64,
    pub(crate) round_trips: u64,
    /// Further ones, which checked absent answers of the filter.
    pub(crate) round_trips_spot: u64,
}

impl Measured {
    fn per_second(&self) -> u64 {
        (self.lookups as f64 / self.seconds) as u64
    }
}

/// All results of a run.
#[derive(Debug)]
pub(crate) struct Report {
    store: &'static str,
    rows: u64,
    pub(crate) adopt_seconds: f64,
    measured: BTreeMap<(Subject, Traffic), Measured>,
}

impl Report {
    pub(crate) fn new(store: &'static str, rows: u64) -> Report {
        Report { store, rows, adopt_seconds: 0.0, measured: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, subject: Subject, traffic: Traffic, measured: Measured) {
        self.measured.insert((subject, traffic), measured);
    }

    /// Zeros if it was not measured.
    fn of(&self, subject: Subject, traffic: Traffic) -> Measured {
        self.measured.get(&(subject, traffic)).copied().unwrap_or_default()
    }

    /// The results by name. The names are a contract with the scripts that read them.
    pub(crate) fn json(&self) -> Value {
        let by_traffic = |subject, value: fn(&Measured) -> Value| {
            let named = |traffic: Traffic| (traffic.name().to_owned(), value(&self.of(subject, traffic)));
            Traffic::ALL.into_iter().map(named).collect::<Map<_, _>>()
        };
        let per_second = |subject| by_traffic(subject, |measured| json!(measured.per_second()));
        let round_trips = |subject| by_traffic(subject, |measured| json!(measured.round_trips));
        json!({
            "store": self.store,
            "keys": self.rows,
            "adopt_seconds": (self.adopt_seconds * 1e3).round() / 1e3,
            "lookups": by_traffic(Subject::Guarded, |measured| json!(measured.lookups)),
            "lookups_bare": by_traffic(Subject::Bare, |measured| json!(measured.lookups)),
            "absent_per_second_bare": per_second(Subject::Bare),
            "absent_per_second_plain": per_second(Subject::Plain),
            "absent_per_second_guarded": per_second(Subject::Guarded),
            "round_trips_plain": round_trips(Subject::Plain),
            "round_trips_guarded": round_trips(Subject::Guarded),
            "round_trips_spot": by_traffic(Subject::Guarded, |measured| json!(measured.round_trips_spot)),
        })
    }

    /// Checks what must hold of every run, whatever the machine does.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let [uniform, zipf, replay] = Traffic::ALL.map(|traffic| self.of(Subject::Plain, traffic));
        let [_, learned_zipf, learned_replay] = Traffic::ALL.map(|traffic| self.of(Subject::Guarded, traffic));
        let spot = self.of(Subject::Guarded, Traffic::Uniform).round_trips_spot;
        let must = [
            ("the filter turns away 99 % of fresh keys", (1..uniform.lookups / 100).contains(&uniform.round_trips)),
            ("a plain filter repeats its mistakes", replay.round_trips == replay.lookups),
            ("one that learns does not", (1..replay.lookups).contains(&learned_replay.round_trips)),
            ("a few absent answers are checked", (1..uniform.lookups).contains(&spot)),
            ("learning does no harm under skew", learned_zipf.round_trips <= 2 * zipf.round_trips + 20),
        ];
        match must.iter().find(|(_, holds)| !holds) {
            None => Ok(()),
            Some((what, _)) => Err(format!("{what}: not so here").into()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (store, rows, seconds) = (self.store, grouped(self.rows), self.adopt_seconds);
        writeln!(f, "{store}: {rows} rows, adopted in {seconds:.1} s. Look-ups of absent keys, one at a time:")?;
        writeln!(f, "{:8} {:^35}   {:>11} {:^23}", "", "look-ups a second", "", "round trips")?;
        let columns = ["bare", "plain", "guarded", "look-ups", "plain", "guarded"].map(String::from);
        write_row(f, "", &columns)?;
        for traffic in Traffic::ALL {
            let [bare, plain, guarded] = Subject::ALL.map(|subject| self.of(subject, traffic));
            let rates = [bare, plain, guarded].map(|measured| measured.per_second());
            let columns = [rates[0], rates[1], rates[2], plain.lookups, plain.round_trips, guarded.round_trips];
            write_row(f, traffic.name(), &columns.map(grouped))?;
        }
        Ok(())
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, traffic: &str, columns: &[String; 6]) -> fmt::Result {
    let [bare, plain, guarded, lookups, plain_trips, guarded_trips] = columns;
    writeln!(
        f,
        "{traffic:8} {bare:>11} {plain:>11} {guarded:>11}   {lookups:>11} {plain_trips:>11} {guarded_trips:>11}"
    )
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", grouped(number / 1_000), number % 1_000) }
}
