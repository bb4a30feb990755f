//! Means of `1 / Σ 1/Z` and similar functions over independent random counts, without enumerating them.

use super::counts::PositiveCount;

/// The distance between neighbouring nodes on the logarithmic axis.
///
/// For a single exponential `e^-uX` the error of the trapezoidal sum over `ln u` is at most about `2·|Γ(1 +
/// 2πi/STEP)|`, here 4e-10, relative to the integral and for any X; so the same bound holds for every mixture of them.
const STEP: f64 = 0.4;

/// The range of exponents of the integral. Below, the integrand is the constant 1 over a length of e^-25 of the
/// integral; above, it is less than e^-25.
const CUT: f64 = 25.0;

/// Computes means of functions of `X = 1/Z_0 + … + 1/Z_(H-1)` where all Z are positive, the Z independent counts.
///
/// The H-fold sum of 003 section 3.1 has too many terms from H = 8 on. Instead, `1/X` is the integral of `e^-uX` over
/// all `u > 0`, and the mean of `e^-uX` is a product of H one-dimensional sums: `E[1/X; all Z > 0] = ∫ Π_i Σ_z P(Z_i =
/// z) e^(-u/z) du`. With `u = e^t` the trapezoidal rule gives the integral; the relative error is below 1e-8. The
/// exponentials depend only on `u` and `z` and are computed once.
///
/// Counts are given in groups, in the order of the functions: a distribution and how many functions it applies to.
/// Their values must not exceed the largest that was prepared for.
#[derive(Debug)]
pub(super) struct Harmonic {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    u: f64,
    /// `e^(-u/z)` for z = 1, 2, …
    decay: Vec<f64>,
}

impl Harmonic {
    /// Prepares for `functions` counts of at most `largest`. About 80 exponentials for each value.
    pub(super) fn new(functions: usize, largest: usize) -> Self {
        // X lies between H/largest and H.
        let (highest_x, lowest_x) = (functions as f64, functions as f64 / largest as f64);
        let start = -CUT - highest_x.ln();
        let end = CUT.ln() - lowest_x.ln();
        let count = ((end - start) / STEP).ceil() as u32;
        let node = |number| {
            let u = (start + STEP * f64::from(number)).exp();
            let decay = (1..=largest).map(|z| (-u / z as f64).exp()).collect();
            Node { u, decay }
        };
        Self { nodes: (0..=count).map(node).collect() }
    }

    /// `E[1/X; all Z > 0]`.
    pub(super) fn mean(&self, groups: &[(PositiveCount, usize)]) -> f64 {
        self.integral(groups, |_| 1.0)
    }

    /// `E[Σ_i weight_i · (1/Z_i)/X; all Z > 0]`, with the sum of the weights of each group.
    pub(super) fn mean_share(&self, groups: &[(PositiveCount, usize)], weights: &[f64]) -> f64 {
        self.integral(groups, |node| {
            let shares = groups.iter().zip(weights);
            shares.map(|((count, _), weight)| weight * node.tilted(count, 1)).sum()
        })
    }

    /// `E[Σ_i (1/Z_i)² / X²; all Z > 0]`.
    pub(super) fn mean_square_share(&self, groups: &[(PositiveCount, usize)]) -> f64 {
        self.integral(groups, |node| {
            let squares = groups.iter();
            let sum: f64 = squares.map(|(count, times)| *times as f64 * node.tilted(count, 2)).sum();
            node.u * sum
        })
    }

    /// The integral of `E[e^-uX; all Z > 0]`, times a factor, over u.
    fn integral(&self, groups: &[(PositiveCount, usize)], factor: impl Fn(&Node) -> f64) -> f64 {
        let terms = self.nodes.iter().map(|node| {
            let all = groups.iter().map(|(count, times)| node.mean_decay(count).powi(*times as i32));
            match all.product::<f64>() {
                0.0 => 0.0,
                product => product * factor(node) * node.u,
            }
        });
        STEP * terms.sum::<f64>()
    }
}

impl Node {
    /// `E[e^(-u/Z); Z > 0]`.
    fn mean_decay(&self, count: &PositiveCount) -> f64 {
        let terms = count.weights().iter().zip(self.decay(count));
        terms.map(|(weight, decay)| weight * decay).sum()
    }

    /// The mean of `Z^-power` with the values weighed by `e^(-u/Z)`.
    fn tilted(&self, count: &PositiveCount, power: i32) -> f64 {
        let terms = count.iter().zip(self.decay(count));
        let sum: f64 = terms.map(|((z, weight), decay)| weight * decay * z.powi(-power)).sum();
        sum / self.mean_decay(count)
    }

    fn decay(&self, count: &PositiveCount) -> &[f64] {
        &self.decay[count.first() - 1..count.last()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(groups: &[(f64, usize)]) -> (Harmonic, Vec<(PositiveCount, usize)>) {
        let groups: Vec<_> = groups.iter().map(|(mean, times)| (PositiveCount::poisson(*mean), *times)).collect();
        let functions = groups.iter().map(|(_, times)| *times).sum();
        let largest = groups.iter().map(|(count, _)| count.last()).max();
        let harmonic = Harmonic::new(functions, largest.expect("one group or more"));
        (harmonic, groups)
    }

    fn mean(groups: &[(f64, usize)]) -> f64 {
        let (harmonic, groups) = prepare(groups);
        harmonic.mean(&groups)
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-8, "{found} for {expected}");
    }

    #[test]
    fn one_count_gives_the_mean_of_its_distribution() {
        for expected in [1e-9, 0.01, 1.0, 24.0, 190.0] {
            assert_close(mean(&[(expected, 1)]), expected);
        }
    }

    /// The double sum over two counts of a function of `1/Z_0` and `1/Z_1`.
    fn enumerated(left: f64, right: f64, term: impl Fn(f64, f64) -> f64) -> f64 {
        let (first, second) = (PositiveCount::poisson(left), PositiveCount::poisson(right));
        let pairs = first.iter().flat_map(|one| second.iter().map(move |other| (one, other)));
        pairs.map(|((z, p), (y, q))| p * q * term(1.0 / z, 1.0 / y)).sum()
    }

    #[test]
    fn two_counts_agree_with_the_double_sum() {
        for (left, right) in [(1e-6, 1e-6), (0.04, 0.04), (0.3, 5.0), (2.0, 90.0), (30.0, 30.0)] {
            let (harmonic, groups) = prepare(&[(left, 1), (right, 1)]);
            let expected = enumerated(left, right, |a, b| 1.0 / (a + b));
            assert_close(harmonic.mean(&groups), expected);
            let expected = enumerated(left, right, |a, b| (3.0 * a + b) / (a + b));
            assert_close(harmonic.mean_share(&groups, &[3.0, 1.0]), expected);
            let expected = enumerated(left, right, |a, b| (a * a + b * b) / (a + b).powi(2));
            assert_close(harmonic.mean_square_share(&groups), expected);
        }
    }

    #[test]
    fn four_counts_of_two_kinds_agree_with_the_fourfold_sum() {
        let (first, other) = (PositiveCount::poisson(0.2), PositiveCount::poisson(1.5));
        let mut expected = 0.0;
        for (z, p) in first.iter() {
            for (y1, q1) in other.iter() {
                for (y2, q2) in other.iter() {
                    for (y3, q3) in other.iter() {
                        let x = 1.0 / z + 1.0 / y1 + 1.0 / y2 + 1.0 / y3;
                        expected += p * q1 * q2 * q3 / x;
                    }
                }
            }
        }
        assert_close(mean(&[(0.2, 1), (1.5, 3)]), expected);
    }

    #[test]
    fn seventeen_rare_counts_are_nearly_always_one_each() {
        // Given that all are positive, all are 1 but for a few parts in a million: 1/X is 1/17.
        let found = mean(&[(1e-8, 17)]);
        let expected = 1e-8f64.powi(17) / 17.0;
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}");
    }
}
