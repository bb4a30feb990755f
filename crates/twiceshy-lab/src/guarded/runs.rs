//! Several runs of the same measurement, and what they say together.

use super::GuardedError;
use super::clock::histogram;
use super::comparing::Row;
use super::filled::Measured;
use super::subject::Subject;
use super::traffic::Traffic;
use serde::Serialize;
use std::time::Duration;

/// The middle and the ends of a value over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The lowest value.
    pub lowest: f64,
    /// The middle one. Of an even number of runs, the mean of the two in the middle.
    pub median: f64,
    /// The highest value.
    pub highest: f64,
}

impl Spread {
    /// `None` without values.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let (lowest, highest) = (*sorted.first()?, *sorted.last()?);
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Some(Spread { lowest, median, highest })
    }
}

/// The runs of one subject on one number of threads, in order.
pub(crate) struct Runs {
    pub(crate) threads: usize,
    pub(crate) subject: Subject,
    pub(crate) measured: Vec<Measured>,
}

impl Runs {
    pub(crate) fn new(threads: usize, subject: Subject) -> Runs {
        Runs { threads, subject, measured: Vec::new() }
    }

    fn rates(&self) -> impl Iterator<Item = f64> {
        self.measured.iter().map(|run| run.lap.lookups_per_second)
    }

    /// The rate of each run divided by the rate of the other's run with the same number, which was made right before or after
    /// it: a machine that is slow for a while slows both.
    fn ratio_to(&self, other: &Runs) -> Option<Spread> {
        Spread::of(self.rates().zip(other.rates()).map(|(own, other)| own / other))
    }

    /// The row of these runs. `all` has the runs under the same traffic.
    pub(crate) fn row(&self, delay: Duration, traffic: Traffic, keys: u64, all: &[Runs]) -> Result<Row, GuardedError> {
        let other = |threads, subject| all.iter().find(|runs| (runs.threads, runs.subject) == (threads, subject));
        let ratio_to = |threads, subject| other(threads, subject).and_then(|other| self.ratio_to(other));
        let rate = Spread::of(self.rates()).ok_or(GuardedError::Settings("there must be at least 1 run, not 0"))?;
        let to_plain = ratio_to(self.threads, Subject::Plain);
        let mut times = histogram()?;
        self.measured.iter().for_each(|run| times += &run.lap.times);
        let sum = |part: fn(&Measured) -> u64| self.measured.iter().map(part).sum::<u64>();
        let share = |part: fn(&Measured) -> u64| sum(part) as f64 / times.len().max(1) as f64;
        Ok(Row {
            delay_us: delay.as_micros() as u64,
            traffic,
            threads: self.threads,
            subject: self.subject,
            lookups: times.len(),
            lookups_per_second: rate.median,
            ratio_to_plain: to_plain.map_or(f64::NAN, |ratio| ratio.median),
            rate_spread: rate,
            ratio_spread: to_plain,
            ratio_to_one_thread: ratio_to(1, self.subject).filter(|_| self.threads != 1),
            p50_ns: times.value_at_quantile(0.5),
            p99_ns: times.value_at_quantile(0.99),
            p999_ns: times.value_at_quantile(0.999),
            asked: share(|run| run.asked),
            index_reads: share(|run| run.index_reads),
            adapted: sum(|run| run.adapted),
            local_bits_per_key: self.measured.last().map_or(0, |run| run.local_bits) as f64 / keys as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarded::clock::Lap;

    #[test]
    fn a_spread_has_the_middle_of_odd_and_even_numbers_of_runs() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { lowest: 1.0, median: 2.0, highest: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { lowest: 1.0, median: 2.5, highest: 4.0 }));
    }

    #[test]
    fn ratios_are_of_runs_with_the_same_number_and_the_median_is_theirs() {
        let runs = |threads, subject, rates: &[f64]| {
            let measured = rates.iter().map(|rate| Measured {
                lap: Lap { times: histogram().expect("three digits"), lookups_per_second: *rate },
                asked: 1,
                index_reads: 2,
                adapted: 3,
                local_bits: 40,
            });
            Runs { threads, subject, measured: measured.collect() }
        };
        // The machine was ten times as slow in the second run.
        let all = [
            runs(1, Subject::Plain, &[100.0, 10.0, 200.0]),
            runs(1, Subject::Adaptive, &[90.0, 8.0, 190.0]),
            runs(2, Subject::Adaptive, &[180.0, 16.0, 380.0]),
        ];
        let row = all[1].row(Duration::ZERO, Traffic::Zipf, 10, &all).expect("three digits");
        assert_eq!((row.lookups_per_second, row.ratio_to_plain), (90.0, 0.9));
        assert_eq!(row.ratio_spread, Some(Spread { lowest: 0.8, median: 0.9, highest: 0.95 }));
        assert_eq!((row.adapted, row.local_bits_per_key, row.ratio_to_one_thread), (9, 4.0, None));
        let row = all[2].row(Duration::ZERO, Traffic::Zipf, 10, &all).expect("three digits");
        assert_eq!(row.ratio_to_one_thread, Some(Spread { lowest: 2.0, median: 2.0, highest: 2.0 }));
        assert!(row.ratio_to_plain.is_nan(), "the plain filter was not measured on two threads");
    }
}
