//! Times of parts, and what is made of them.

use std::hint::black_box;
use std::time::Instant;

/// The parts in which an insertion of all keys is timed, so that an interruption spoils only one.
const PARTS: usize = 32;

/// The keys of a batch.
pub const BATCH: usize = 256;

/// The times of one fill, part by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Laps {
    seconds: Vec<f64>,
}

impl Laps {
    /// Inserts keys one after another, and times each part of them.
    pub fn fill<E>(keys: &[u64], mut insert: impl FnMut(u64) -> Result<(), E>) -> Result<Laps, E> {
        let mut seconds = Vec::with_capacity(PARTS);
        for part in keys.chunks(keys.len().div_ceil(PARTS).max(1)) {
            let begun = Instant::now();
            for key in part {
                insert(*key)?;
            }
            seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok(Laps { seconds })
    }

    /// Inserts keys in batches, and times each part of them.
    pub fn fill_in_batches<E>(keys: &[u64], mut insert: impl FnMut(&[u64]) -> Result<(), E>) -> Result<Laps, E> {
        let mut seconds = Vec::with_capacity(PARTS);
        for part in keys.chunks(keys.len().div_ceil(PARTS).max(1)) {
            let begun = Instant::now();
            part.chunks(BATCH).try_for_each(&mut insert)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok(Laps { seconds })
    }

    /// The time of something that is done in one go.
    pub fn once<T>(work: impl FnOnce() -> T) -> (Laps, T) {
        let begun = Instant::now();
        let made = black_box(work());
        (Laps { seconds: vec![begun.elapsed().as_secs_f64()] }, made)
    }

    /// The times of parts that were measured elsewhere.
    pub fn of(seconds: Vec<f64>) -> Laps {
        Laps { seconds }
    }
}

/// A figure from several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The distance between the quartiles, divided by the median.
    pub spread: f64,
}

impl Figure {
    /// `None` without measurements.
    pub fn of(mut samples: Vec<f64>) -> Option<Figure> {
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| samples.get(((samples.len() as f64 - 1.0) * share).round() as usize).copied();
        let median = at(0.5)?;
        Some(Figure { median, spread: (at(0.75)? - at(0.25)?) / median })
    }

    /// Millions of operations in a second, from repeated fills of `keys` keys: each part counts with its median over the
    /// fills, so the slow end of a fill counts as much as its fast beginning. The spread is that of whole fills.
    pub fn of_fills(keys: u64, fills: &[Laps]) -> Option<Figure> {
        let parts = fills.iter().map(|fill| fill.seconds.len()).min()?;
        let part = |part: usize| Figure::of(fills.iter().map(|fill| fill.seconds[part]).collect());
        let seconds: f64 = (0..parts).filter_map(part).map(|figure| figure.median).sum();
        let whole = Figure::of(fills.iter().map(|fill| fill.seconds.iter().sum()).collect())?;
        Some(Figure { median: keys as f64 / seconds / 1e6, spread: whole.spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_quartiles_are_those_of_the_sorted_samples() {
        let figure = Figure::of(vec![5.0, 1.0, 4.0, 2.0, 3.0]).expect("samples");
        assert_eq!(figure, Figure { median: 3.0, spread: 2.0 / 3.0 });
        assert_eq!(Figure::of(vec![]), None);
    }

    #[test]
    fn an_interrupted_part_of_each_fill_does_not_count_and_a_slow_end_does() {
        let fill = |seconds: [f64; 3]| Laps { seconds: seconds.into() };
        let fills = [fill([1.0, 1.0, 99.0]), fill([1.0, 99.0, 8.0]), fill([99.0, 1.0, 8.0])];
        let figure = Figure::of_fills(20_000_000, &fills).expect("fills");
        assert_eq!(figure.median, 2.0);
        assert_eq!(Figure::of_fills(5, &[]), None);
    }

    #[test]
    fn every_key_is_inserted_once_in_order_and_an_error_ends_the_fill() {
        let keys: Vec<u64> = (0..1_001).collect();
        let mut inserted = Vec::new();
        let laps = Laps::fill(&keys, |key| {
            inserted.push(key);
            Ok::<(), ()>(())
        });
        assert!(laps.is_ok_and(|laps| laps.seconds.len() == PARTS) && inserted == keys);
        assert_eq!(Laps::fill(&keys, |key| if key == 7 { Err(key) } else { Ok(()) }), Err(7));
    }
}
