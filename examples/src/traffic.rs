//! The traffic: the numbers of absent keys.

use std::f64::consts::LN_2;

/// Who asks for absent keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Traffic {
    /// Each look-up is for another key.
    Uniform,
    /// Ten absent keys per row, the k-th most popular with probability proportional to 1/k.
    Zipf,
    /// An attacker who has found keys that reach the store, and asks for them again and again.
    Replay,
}

impl Traffic {
    pub(crate) const ALL: [Traffic; 3] = [Traffic::Uniform, Traffic::Zipf, Traffic::Replay];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Traffic::Uniform => "uniform",
            Traffic::Zipf => "zipf",
            Traffic::Replay => "replay",
        }
    }
}

/// How often the attacker asks for each key.
const PASSES: usize = 100;

/// How many keys the attacker replays.
pub(crate) fn replayed(rows: u64) -> usize {
    (rows as usize / 1_000).clamp(20, 1_000)
}

/// How many look-ups the other streams have.
fn drawn(rows: u64) -> usize {
    (rows as usize).saturating_mul(10).min(10_000_000)
}

/// The first number of the uniform stream, far above those of rows.
const FRESH: u64 = 1 << 40;

/// The first number that an attacker tries.
pub(crate) const HUNTED: u64 = 1 << 41;

/// Absent keys per row in the skewed stream.
const ABSENT_PER_ROW: u64 = 10;

/// The numbers of the keys to ask for. It is the same stream each time.
pub(crate) struct Stream(Box<dyn Iterator<Item = u64>>);

impl Stream {
    pub(crate) fn new(traffic: Traffic, rows: u64, replayed: Vec<u64>) -> Stream {
        let passes = replayed.len() * PASSES;
        Stream(match traffic {
            Traffic::Uniform => Box::new((FRESH..).take(drawn(rows))),
            Traffic::Zipf => {
                let ranks = Ranks { ranks: rows * ABSENT_PER_ROW, rng: fastrand::Rng::with_seed(1) };
                Box::new(ranks.map(move |rank| rows + rank).take(drawn(rows)))
            }
            Traffic::Replay => Box::new(replayed.into_iter().cycle().take(passes)),
        })
    }
}

impl Iterator for Stream {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0.next()
    }
}

/// Draws rank k of `1..=ranks` with probability proportional to 1/k.
struct Ranks {
    ranks: u64,
    rng: fastrand::Rng,
}

impl Iterator for Ranks {
    type Item = u64;

    /// The integral of 1/x has an inverse, which draws rank k with probability proportional to ln(1 + 1/k). That is at least
    /// ln 2 times 1/k; the excess is rejected.
    fn next(&mut self) -> Option<u64> {
        let area = ((self.ranks + 1) as f64).ln();
        loop {
            let rank = (self.rng.f64() * area).exp().floor().clamp(1.0, self.ranks as f64);
            if self.rng.f64() * rank * rank.recip().ln_1p() < LN_2 {
                return Some(rank as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_its_exact_probability() {
        let (ranks, draws) = (40, 300_000);
        let mut counts = vec![0u32; ranks as usize];
        for rank in (Ranks { ranks, rng: fastrand::Rng::with_seed(7) }).take(draws) {
            counts[rank as usize - 1] += 1;
        }
        let total: f64 = (1..=ranks).map(|rank| 1.0 / rank as f64).sum();
        for (rank, count) in (1..).zip(counts) {
            let chance = 1.0 / f64::from(rank) / total;
            let expected = draws as f64 * chance;
            let deviation = (expected * (1.0 - chance)).sqrt();
            assert!((f64::from(count) - expected).abs() < 4.5 * deviation, "rank {rank}: {count} for {expected}");
        }
    }

    #[test]
    fn no_stream_asks_for_a_row() {
        for traffic in Traffic::ALL {
            assert!(Stream::new(traffic, 5_000, vec![HUNTED, HUNTED + 7]).all(|number| number > 5_000), "{traffic:?}");
        }
    }
}
