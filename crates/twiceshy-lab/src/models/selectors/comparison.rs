//! Prints selector values next to their predictions.

use super::{Law, asked_once, corollary3, repeated};
use std::fmt;

/// How many slots hold each selector value, from 0 on, to be printed next to the predictions. Differences from the law
/// of repeated queries are given in standard deviations of a count.
///
/// ```
/// use twiceshy_lab::models::selectors::Comparison;
///
/// let table = Comparison { slots: &[984_500, 15_200, 300], epsilon: 1.0 / 256.0, c: 4.0 }.to_string();
/// assert!(table.lines().nth(3).is_some_and(|two| two.starts_with("    2          300   3.000e-4     2.928e-4   +0.4")));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The slots that hold the value 0, 1, …
    pub slots: &'a [u64],
    /// The rate of a slot.
    pub epsilon: f64,
    /// Distinct queries over slots.
    pub c: f64,
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.slots.iter().sum::<u64>() as f64;
        let [slots, share, expected, off] = ["slots", "share", "repeated", "sd"];
        writeln!(
            f,
            "value {slots:>12} {share:>10} {expected:>12} {off:>6} {:>12} {:>12}",
            "asked once", "Corollary 3"
        )?;
        for (value, slots) in (0..).zip(self.slots) {
            let law = |law: Law| law(value, self.epsilon, self.c);
            let expected = law(repeated);
            let deviation = (all * expected * (1.0 - expected)).sqrt();
            let off = if deviation > 0.0 { (*slots as f64 - all * expected) / deviation } else { 0.0 };
            let (share, once, bound) = (*slots as f64 / all, law(asked_once), law(corollary3));
            writeln!(f, "{value:5} {slots:12} {share:10.3e} {expected:12.3e} {off:+6.1} {once:12.3e} {bound:12.3e}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_without_slots_there_is_no_row() {
        let table = Comparison { slots: &[98_450, 1_550], epsilon: 1.0 / 256.0, c: 4.0 }.to_string();
        let widths: Vec<usize> = table.lines().map(str::len).collect();
        assert_eq!(widths, [widths[0]; 3], "{table}");
        assert_eq!(Comparison { slots: &[], epsilon: 0.1, c: 1.0 }.to_string().lines().count(), 1);
    }
}
