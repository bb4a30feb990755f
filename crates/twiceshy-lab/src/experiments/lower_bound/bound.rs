//! The numbers of 001 section 6: ε₀ and the memory of the lower bound.

/// A set of n keys from a universe of 2^bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Universe {
    /// log u.
    pub(super) bits: u32,
    /// n.
    pub(super) keys: u64,
}

impl Universe {
    /// log log u.
    pub(super) fn log_log(self) -> f64 {
        f64::from(self.bits).log2()
    }

    /// ε₀ = max(n^(−1/4), log² log u / log u).
    pub(super) fn epsilon_0(self) -> f64 {
        let by_keys = (self.keys as f64).powf(-0.25);
        by_keys.max(self.log_log().powi(2) / f64::from(self.bits))
    }

    /// The bits a key of a filter that section 6 speaks of, at most: log(1/ε₀) + 4.
    pub(super) fn bound(self) -> f64 {
        (1.0 / self.epsilon_0()).log2() + 4.0
    }

    /// The bits a key of Lemma 28's Bloom filter, whose rate is log log u / log u.
    pub(super) fn bloom_bits(self) -> f64 {
        let rate = self.log_log() / f64::from(self.bits);
        (1.0 / rate).log2() / std::f64::consts::LN_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_the_larger_of_two_rates() {
        let small = Universe { bits: 64, keys: 4_096 };
        assert_eq!((small.log_log(), small.epsilon_0()), (6.0, 0.5625));
        assert!((small.bound() - 4.830).abs() < 1e-3 && (small.bloom_bits() - 4.926).abs() < 1e-3);
        let large = Universe { bits: 1024, keys: 4_096 };
        assert_eq!((large.epsilon_0(), large.bound()), (0.125, 7.0));
    }
}
