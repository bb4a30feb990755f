//! Computes the probability that a waiting time is over by a given time, from its Laplace transform.

use std::f64::consts::PI;
use std::ops::Mul;

/// The number of terms. Each adds about 0.6 decimal digits until rounding errors dominate; at 20 the error is near
/// 1e-11.
const TERMS: u32 = 20;

/// A complex number, with the arithmetic needed here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    /// `1 / self`.
    pub(super) fn inverse(self) -> Self {
        let square = self.re * self.re + self.im * self.im;
        Self { re: self.re / square, im: -self.im / square }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

/// A node of the inversion: `Σ (factor · f̂(point)).re` over all nodes is `f(1)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) point: Complex,
    pub(super) factor: Complex,
}

/// The nodes of Talbot's method at time 1, in the form of Abate and Whitt (2006).
///
/// The contour bends into the left half plane, so `f̂` must be given as a formula that holds there, and its poles must
/// lie on the real axis, as those of sums of exponential waiting times do.
pub(super) fn nodes() -> Vec<Node> {
    (0..TERMS).map(node).collect()
}

fn node(number: u32) -> Node {
    let terms = f64::from(TERMS);
    if number == 0 {
        let re = 2.0 * terms / 5.0;
        return Node { point: Complex { re, im: 0.0 }, factor: Complex { re: 0.2 * re.exp(), im: 0.0 } };
    }
    let angle = f64::from(number) * PI / terms;
    let cotangent = 1.0 / angle.tan();
    let im = 2.0 * f64::from(number) * PI / 5.0;
    let re = im * cotangent;
    let turn = Complex { re: 0.4 * re.exp() * im.cos(), im: 0.4 * re.exp() * im.sin() };
    let slope = Complex { re: 1.0, im: angle * (1.0 + cotangent * cotangent) - cotangent };
    Node { point: Complex { re, im }, factor: turn * slope }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability that `phases` exponential waits of the given rate are over by time 1, from their transform.
    fn inverted(rate: f64, phases: u32) -> f64 {
        nodes()
            .iter()
            .map(|Node { point, factor }| {
                let shifted = Complex { re: 1.0 + point.re / rate, im: point.im / rate };
                let waits = (0..phases).fold(point.inverse(), |product, _| product * shifted.inverse());
                (*factor * waits).re
            })
            .sum()
    }

    #[test]
    fn waiting_times_with_a_known_distribution_come_out_to_nine_digits() {
        for rate in [0.01, 0.3, 1.0, 10.0, 100.0, 5_000.0] {
            let mut over = 1.0;
            let mut term = f64::exp(-rate);
            for phases in 1..=16u32 {
                // Fewer than `phases` events by time 1 means that the waits are not over.
                over -= term;
                term *= rate / f64::from(phases);
                let found = inverted(rate, phases);
                assert!((found - over).abs() < 1e-9, "{rate}, {phases}: {found} for {over}");
            }
        }
    }
}
