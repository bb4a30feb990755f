//! Chooses the two parameters of the general code from the remainder's width and the expected queries.

use super::{CODE_BITS, General, SLOTS};

/// The range of ratios; values outside it are clamped.
const LEAST_RATIO: f64 = 0.01;
const GREATEST_RATIO: f64 = 10_000.0;

/// The general code under which 64 selectors least often need more than 56 bits.
///
/// `width` is the width of a remainder in bits, `ratio` the expected number of distinct absent queries per stored key. NaN
/// counts as 1.
///
/// The criterion is the smallest Chernoff bound: for every t > 0 the chance that the letters of a block need more than 56
/// bits is at most E[2^(t · bits)]^64 · 2^(−56t). Unlike the mean (the entropy), it weighs rare and expensive letters as
/// the overflow does. A selector past the alphabet overflows with any parameters, so it is counted as the last letter.
///
/// The bound ignores the rounding of small ranges, worth one bit to a bit and a half, and a little more with a small x.
/// Measured against every x and y, the choice is the best from 6 bits on, and at 4 bits overflows up to 1.3 times as often
/// as the best.
pub(crate) fn general_for(width: u32, ratio: f64) -> General {
    let width = width.clamp(2, 32);
    let letters = (64 / width).max(4);
    let ratio = if ratio.is_nan() { 1.0 } else { ratio.clamp(LEAST_RATIO, GREATEST_RATIO) };
    let chances = selector_chances(width, ratio, letters);
    let (mut chosen, mut least) = (General::clamped(2, 1, letters), f64::INFINITY);
    for y in 1..=16 {
        for quarter in -20..=8 {
            let t = (f64::from(quarter) / 4.0).exp2();
            let tail = tail_moment(&chances[1..], y, t);
            for x in 2..=8 {
                let zero = chances[0] * (1.0 - (-f64::from(x)).exp2()).powf(-t);
                let moment = zero + (t * f64::from(x)).exp2() * tail;
                let bound = SLOTS as f64 * moment.log2() - f64::from(CODE_BITS) * t;
                // False for NaN, which an overflow produces.
                if bound < least {
                    (chosen, least) = (General::clamped(x, y, letters), bound);
                }
            }
        }
    }
    chosen
}

/// The part of E[2^(t · bits)] that the letters from 1 on have, without their common factor 2^(tx).
fn tail_moment(chances: &[f64], y: u32, t: f64) -> f64 {
    let y = f64::from(y);
    let (mut sum, mut power, step) = (0.0, 1.0, (t * y).exp2());
    let Some((last, others)) = chances.split_last() else { return 0.0 };
    for chance in others {
        sum += chance * power;
        power *= step;
    }
    // All letters but the last leave 2^−y of their tail to the next.
    sum * (1.0 - (-y).exp2()).powf(-t) + last * power
}

/// The chances of the selectors 0 to `letters` − 1, all greater ones counted as the last, if every query is repeated
/// without end.
///
/// Of the queries, S ~ Poisson(ratio) share a key's quotient. Under each of its selectors one of them collides with the
/// chance 1 − (1 − 2^−width)^S, independently, and if one does it is asked until the key moves on: given S the selector is
/// geometric. (Corollary 3 of the paper has a smaller bound, Pr[v ≥ k] ≤ ε^k Σ c^i/i!. Its proof counts the sets of i queries
/// that collide under k selectors, and leaves out the order in which they do.)
fn selector_chances(width: u32, ratio: f64, letters: u32) -> Vec<f64> {
    let missed = (-(-f64::from(width)).exp2()).ln_1p();
    let mut chances = vec![0.0; letters as usize];
    let mut total = 0.0;
    let mut add = |queries: f64, weight: f64| {
        total += weight;
        let hit = -(missed * queries).exp_m1();
        let mut reached = weight;
        for chance in chances.iter_mut() {
            *chance += reached * (1.0 - hit);
            reached *= hit;
        }
        if let Some(last) = chances.last_mut() {
            *last += reached;
        }
    };
    // From the most likely number of queries up and down, by the ratio of neighbours, until the terms vanish.
    let mode = ratio.floor();
    let negligible = 1e-30;
    let (mut queries, mut weight) = (mode, 1.0);
    while weight > negligible {
        add(queries, weight);
        queries += 1.0;
        weight *= ratio / queries;
    }
    (queries, weight) = (mode, 1.0);
    while weight > negligible && queries > 0.0 {
        weight *= queries / ratio;
        queries -= 1.0;
        add(queries, weight);
    }
    chances.iter().map(|chance| chance / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{Mark, Marks, encode};
    use crate::rng::SplitMix64;

    /// A number from 0 (inclusive) to 1 (exclusive).
    fn unit(random: &mut SplitMix64) -> f64 {
        (random.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws the number of queries that share a key's quotient, then the selector, by simulation and not by the formula.
    fn blocks(width: u32, ratio: f64, count: usize) -> Vec<Marks> {
        let mut random = SplitMix64::from_state(u64::from(width) << 32 | ratio as u64);
        let mut cumulated = vec![];
        let (mut sum, mut log) = (0.0, -ratio);
        for queries in 0..(ratio + 12.0 * ratio.sqrt() + 30.0) as u64 {
            sum += f64::exp(log);
            cumulated.push(sum);
            log += (ratio / (queries + 1) as f64).ln();
        }
        let missed = 1.0 - 0.5f64.powi(width as i32);
        let mut block = || {
            [0; SLOTS].map(|_: Mark| {
                let drawn = unit(&mut random);
                let queries = cumulated.partition_point(|below| *below < drawn) as i32;
                let hit = 1.0 - missed.powi(queries);
                (0..300).find(|_| unit(&mut random) >= hit).unwrap_or(300)
            })
        };
        (0..count).map(|_| block()).collect()
    }

    fn overflows(model: &General, blocks: &[Marks]) -> usize {
        blocks.iter().filter(|marks| encode(model, marks).is_none()).count()
    }

    #[test]
    fn the_chosen_code_overflows_at_most_a_little_more_often_than_the_best_of_all() {
        let cases =
            [(4, [1.5, 2.0, 3.0]), (6, [6.0, 8.0, 12.0]), (10, [100.0, 128.0, 192.0]), (12, [400.0, 512.0, 768.0])];
        println!("width  ratio  chosen (x, y)  overflows  best (x, y)  overflows");
        for (width, ratio) in cases.iter().flat_map(|(width, ratios)| ratios.map(|ratio| (*width, ratio))) {
            let blocks = blocks(width, ratio, 4000);
            let chosen = general_for(width, ratio);
            let have = overflows(&chosen, &blocks);
            let all = (2..=8).flat_map(|x| (1..=16).map(move |y| (x, y)));
            let measured = all.map(|(x, y)| (overflows(&General::clamped(x, y, chosen.letters()), &blocks), (x, y)));
            let (best, (x, y)) = measured.min().unwrap();
            let place = format!("({x}, {y})");
            let share = |count: usize| count as f64 / blocks.len() as f64;
            let pair = format!("({}, {})", chosen.x(), chosen.y());
            println!("{width:5} {ratio:6} {pair:>14} {:10.4} {place:>12} {:10.4}", share(have), share(best));
            assert!((0.001..0.5).contains(&share(best)), "{best} overflows of {} say little", blocks.len());
            // The same blocks are counted twice, so the noise is in those that overflow under only one code.
            let allowed = 1.3 * best as f64 + 3.0 * (best as f64).sqrt();
            assert!(have as f64 <= allowed, "{have} overflows with {pair}, {best} with {place}");
        }
    }

    #[test]
    fn the_chances_of_a_selector_are_those_of_the_closed_form() {
        for (width, ratio) in [(2, 0.01), (4, 2.0), (8, 50.0), (12, 1000.0), (16, 10_000.0)] {
            let chances = selector_chances(width, ratio, 8);
            let missed: f64 = 1.0 - 0.5f64.powi(width as i32);
            // E[z^S] of a Poisson number S is e^(ratio (z − 1)).
            let generating = |z: f64| (ratio * (z - 1.0)).exp();
            let zero = generating(missed);
            let one = generating(missed) - generating(missed * missed);
            assert!((chances[0] - zero).abs() < 1e-9, "{} {zero}", chances[0]);
            assert!((chances[1] - one).abs() < 1e-9, "{} {one}", chances[1]);
            assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn ratios_out_of_range_are_clamped() {
        for width in [0, 2, 3, 8, 17, 32, u32::MAX] {
            let least = general_for(width, LEAST_RATIO);
            let greatest = general_for(width, GREATEST_RATIO);
            for ratio in [0.0, -0.0, -5.0, f64::MIN_POSITIVE, f64::NEG_INFINITY] {
                assert_eq!(general_for(width, ratio), least, "{ratio} at {width} bits");
            }
            for ratio in [1e9, f64::MAX, f64::INFINITY] {
                assert_eq!(general_for(width, ratio), greatest, "{ratio} at {width} bits");
            }
            assert_eq!(general_for(width, f64::NAN), general_for(width, 1.0));
            assert!((2..=8).contains(&least.x()) && (1..=16).contains(&greatest.y()));
        }
        assert_eq!([2, 8, 12, 16, 32].map(|width| general_for(width, 1.0).letters()), [32, 8, 5, 4, 4]);
    }
}
