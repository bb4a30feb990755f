//! How far the selectors of a telescoping filter have moved after a number of queries (004, Lemma 2 to Theorem 4).
//!
//! A filter of n slots was asked for c·n distinct absent keys. Those with the quotient of a stored key y, S of them,
//! are in soft collision with it: Poisson with mean c. Under each value of y's selector, each of them has y's remainder
//! with probability ε, independently. If one has it and is asked for, y's selector moves on. `v` is the final value.
//!
//! The law of `v` depends on how often and in which order the queries come. [`repeated`] and [`asked_once`] are two
//! exact laws, and [`corollary3`] is what the paper prints as a bound for any sequence of queries.
//!
//! **Corollary 3 is not a bound.** Lemma 2 multiplies the probabilities that i queries collide `k_1, …, k_i` times and
//! the number of ways to choose the queries, but not the number of ways to share k collisions among them. If queries
//! are repeated, each of the k steps can be due to any of the S queries, which gives `ε^k·E[S^k]`, that is `ε²(c + c²)`
//! for k = 2, where the paper has `ε²(c + c²/2)`. At ε = 1/256 and c = 4 the true value is 1.6 times the bound for k =
//! 2 and 4.8 times for k = 3. Even if each query is asked only until it is fixed, and never again, the bound is
//! exceeded from k = 3 on. For k = 1 it holds. Since `1 - (1 - ε)^S ≤ ε·S`, a bound that does hold for every sequence
//! is `P(v ≥ k) ≤ ε^k·E[S^k]`, the k-th Touchard polynomial of c times ε^k.
//!
//! **Theorem 4** builds on it, but has enough slack to hold at practical rates: [`expected_bits`] stays below
//! [`theorem4`] up to ε = 1/4. From about ε = 1/3 on it does not (ε = 0.499, b = 5: 0.87 bits against 0.68): for c below 1 its
//! proof puts log(1/ε^k) in place of a larger term, and it counts bits with inequalities that hold only for natural logarithms.

#[cfg(test)]
mod simulated;

use super::counts::PositiveCount;

/// The probability of a value, given ε and c.
#[cfg(test)]
type Law = fn(u32, f64, f64) -> f64;

/// What 004 (Corollary 3) prints as an upper bound of P(v = k): `e^(-cε)` for k = 0, else `ε^k·Σ_{i=1..k} c^i / i!`.
pub fn corollary3(k: u32, epsilon: f64, c: f64) -> f64 {
    if k == 0 {
        return (-c * epsilon).exp();
    }
    let mut term = 1.0;
    let terms = (1..=k).map(|i| {
        term *= c / f64::from(i);
        term
    });
    power(epsilon, k) * terms.sum::<f64>()
}

/// P(v = k) if every query is repeated endlessly.
///
/// At each value, each of the S queries matches with probability ε, and the selector rests at the first value that none
/// of them matches: `P(v ≥ k) = E[(1 - (1 - ε)^S)^k]`. The order of the queries does not matter, nor whether an
/// adaptation moves on by one or until the query no longer matches. No sequence of the same queries moves the selector
/// beyond its resting value, so no other law has larger values.
///
/// ```
/// use twiceshy_lab::models::selectors::{corollary3, repeated};
///
/// let (epsilon, c) = (1.0 / 256.0, 4.0);
/// assert!(repeated(1, epsilon, c) < corollary3(1, epsilon, c));
/// assert!(repeated(2, epsilon, c) > 1.5 * corollary3(2, epsilon, c));
/// ```
pub fn repeated(k: u32, epsilon: f64, c: f64) -> f64 {
    if k == 0 || c <= 0.0 {
        return if k == 0 { (-c * epsilon).exp() } else { 0.0 };
    }
    let terms = resting(epsilon, c);
    terms.map(|(weight, moves)| weight * power(moves, k)).sum()
}

/// P(v = k) if each query is asked once, and an adaptation moves the selector on until the query no longer matches.
///
/// A first-time query matches the current value with probability ε and then each further one with probability ε: it
/// moves the selector by k or more with probability ε^k. So `v` is a sum of a Poisson number, of mean cε, of geometric
/// steps (the Pólya–Aeppli law): `P(v = k) = e^(-cε)·ε^k·Σ_{i=1..k} C(k-1, i-1)·(c(1 - ε))^i / i!`.
///
/// An adaptation that always moves on by one would make `v` Poisson with mean cε, and that law satisfies Corollary 3;
/// but the query may still be wrong.
pub fn asked_once(k: u32, epsilon: f64, c: f64) -> f64 {
    let mut term = 1.0;
    let terms = (1..=k).map(|i| {
        let shares = if i == 1 { 1.0 } else { f64::from(k - i + 1) / f64::from(i - 1) };
        term *= shares * c * (1.0 - epsilon) / f64::from(i);
        term
    });
    let sum = if k == 0 { 1.0 } else { terms.sum() };
    (-c * epsilon).exp() * power(epsilon, k) * sum
}

/// The entropy of a selector under [`repeated`], in bits: the space of the best code per slot.
///
/// Values past the first 2^17 are left out; they matter if cε is several times 1, far beyond the c < 1/ε - 1 of the
/// paper.
pub fn expected_bits(epsilon: f64, c: f64) -> f64 {
    if c <= 0.0 {
        return 0.0;
    }
    let bits = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    let mut sum = bits(repeated(0, epsilon, c));
    let (mut weights, moves): (Vec<f64>, Vec<f64>) = resting(epsilon, c).unzip();
    for _ in 0..MOST_VALUES {
        weights.iter_mut().zip(&moves).for_each(|(weight, moves)| *weight *= moves);
        let chance: f64 = weights.iter().sum();
        if chance < NEGLIGIBLE {
            break;
        }
        sum += bits(chance);
    }
    sum
}

const MOST_VALUES: u32 = 1 << 17;
const NEGLIGIBLE: f64 = 1e-18;

/// The bits per slot that 004 (Theorem 4) allows for selectors: `1/e + b/(b - 1)²` with c = 1/(b·√ε). `None` if the
/// theorem does not apply: for b below 2, or ε of 1/2 or more.
pub fn theorem4(epsilon: f64, c: f64) -> Option<f64> {
    let b = 1.0 / (c * epsilon.sqrt());
    (b >= 2.0 && epsilon < 0.5).then(|| (-1f64).exp() + if b.is_finite() { b / (b - 1.0).powi(2) } else { 0.0 })
}

/// For each number S of queries, at least one: its probability times that of resting at a value, and that of moving on.
fn resting(epsilon: f64, c: f64) -> impl Iterator<Item = (f64, f64)> {
    let stays = (-epsilon).ln_1p();
    let queries: Vec<(f64, f64)> = PositiveCount::poisson(c).iter().collect();
    queries.into_iter().map(move |(s, chance)| (chance * (s * stays).exp(), -(s * stays).exp_m1()))
}

fn power(base: f64, exponent: u32) -> f64 {
    base.powf(f64::from(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} for {expected}");
    }

    const PLACES: [(f64, f64); 5] = [(0.25, 4.0), (1.0 / 32.0, 2.5), (1.0 / 256.0, 4.0), (0.004, 0.01), (0.5, 0.9)];

    #[test]
    fn the_printed_bound_of_two_steps_is_epsilon_squared_times_c_and_half_its_square() {
        assert_eq!(corollary3(1, 1.0 / 256.0, 4.0), 4.0 / 256.0);
        assert_close(corollary3(2, 1.0 / 256.0, 4.0), 12.0 / 65536.0);
        assert_close(corollary3(3, 0.5, 3.0), (3.0 + 4.5 + 4.5) / 8.0);
        assert_eq!(corollary3(0, 0.5, 2.0), (-1f64).exp());
    }

    #[test]
    fn the_law_of_repeated_queries_is_the_alternating_sum_of_its_definition() {
        // E[(1 - ε)^jS] = e^(-c(1 - (1 - ε)^j)); at c = 4, ε = 1/4 the exponents are 0, 1, 7/4, 37/16.
        let [none, one, two, three] = [0.0f64, 1.0, 1.75, 2.3125].map(|exponent| (-exponent).exp());
        assert_eq!(repeated(0, 0.25, 4.0), one);
        assert_close(repeated(1, 0.25, 4.0), one - two);
        assert_close(repeated(2, 0.25, 4.0), one - 2.0 * two + three);
        assert_close(1.0 - repeated(0, 0.25, 4.0), none - one);
    }

    #[test]
    fn the_law_of_single_queries_is_a_sum_of_geometric_steps() {
        // At c = 4, ε = 1/4: e^-1 · (1/4)^k · (3, 3 + 9/2, 3 + 2·9/2 + 27/6).
        let none = (-1f64).exp();
        assert_eq!(asked_once(0, 0.25, 4.0), none);
        for (k, sum) in [(1, 3.0), (2, 7.5), (3, 16.5)] {
            assert_close(asked_once(k, 0.25, 4.0), none * 0.25f64.powi(k as i32) * sum);
        }
        for (epsilon, c) in PLACES {
            let mean: f64 = (0..400).map(|k| f64::from(k) * asked_once(k, epsilon, c)).sum();
            assert_close(mean, c * epsilon / (1.0 - epsilon));
        }
    }

    #[test]
    fn the_probabilities_add_up_to_one() {
        for (epsilon, c) in PLACES {
            let laws: [Law; 2] = [repeated, asked_once];
            for law in laws {
                let sum: f64 = (0..2_000).map(|k| law(k, epsilon, c)).sum();
                assert!((sum - 1.0).abs() < 1e-6, "{epsilon}, {c}: {sum}");
            }
        }
    }

    #[test]
    fn a_selector_without_queries_stays_and_costs_nothing() {
        for law in [repeated, asked_once, corollary3] {
            assert_eq!([0, 1, 2].map(|k| law(k, 0.1, 0.0)), [1.0, 0.0, 0.0]);
        }
        assert_eq!(expected_bits(0.1, 0.0), 0.0);
    }

    #[test]
    fn two_steps_exceed_the_printed_bound_if_queries_repeat_and_three_even_if_not() {
        let (epsilon, c) = (1.0 / 256.0, 4.0);
        let over = |law: Law| [1, 2, 3, 4].map(|k| law(k, epsilon, c) / corollary3(k, epsilon, c));
        let expected = [0.973059, 1.599213, 4.831170, 21.019552];
        for (found, expected) in over(repeated).into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-5, "{found} for {expected}");
        }
        let expected = [0.980651, 0.978097, 1.320460, 2.065218];
        for (found, expected) in over(asked_once).into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-5, "{found} for {expected}");
        }
    }

    #[test]
    fn the_moments_of_the_number_of_queries_bound_the_tail_of_every_law() {
        // The Touchard polynomials: E[S^k] for k = 1, 2, 3.
        for (epsilon, c) in PLACES {
            let moments = [c, c + c * c, c + 3.0 * c * c + c.powi(3)];
            for (k, moment) in (1..).zip(moments) {
                let tail = |law: Law| 1.0 - (0..k).map(|k| law(k, epsilon, c)).sum::<f64>();
                let bound = power(epsilon, k) * moment + 1e-12;
                assert!(tail(asked_once) <= tail(repeated) + 1e-12 && tail(repeated) <= bound, "{epsilon}, {c}, {k}");
            }
        }
    }

    #[test]
    fn the_best_code_takes_a_seventh_of_what_the_theorem_allows_at_eight_bits() {
        let (epsilon, c) = (1.0 / 256.0, 4.0);
        assert!((expected_bits(epsilon, c) - 0.117569).abs() < 1e-6);
        assert_close(theorem4(epsilon, c).expect("b = 4"), (-1f64).exp() + 4.0 / 9.0);
        assert_eq!(theorem4(epsilon, 8.1), None);
        assert_eq!(theorem4(0.5, 0.1), None);
    }

    #[test]
    fn the_theorem_holds_up_to_a_rate_of_one_quarter_and_not_near_one_half() {
        let b = [2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 20.0, 1000.0];
        for epsilon in [1e-4, 1.0 / 256.0, 1.0 / 16.0, 0.25] {
            for b in b {
                let c = 0.999_999 / (b * f64::sqrt(epsilon));
                let allowed = theorem4(epsilon, c).expect("within its conditions");
                assert!(expected_bits(epsilon, c) < allowed, "{epsilon}, {b}");
            }
        }
        let c = 1.0 / (5.0 * 0.499f64.sqrt());
        let (bits, allowed) = (expected_bits(0.499, c), theorem4(0.499, c).expect("within its conditions"));
        assert!((bits - 0.874435).abs() < 1e-5 && (allowed - 0.680379).abs() < 1e-5, "{bits}, {allowed}");
    }
}
