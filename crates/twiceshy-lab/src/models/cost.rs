//! What a filter in front of a slow memory costs (003 section 3).

/// Invalid numbers for a mix of operations.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// A share outside 0 to 1.
    #[error("the {what} must be from 0 to 1, not {number}")]
    Share {
        /// Which of the numbers.
        what: &'static str,
        /// The number.
        number: f64,
    },
    /// Operations that do not add up.
    #[error("the shares of look-ups, insertions and deletions must add up to 1, not {0}")]
    Sum(f64),
    /// A cost that is negative or not finite.
    #[error("the cost of {what} must be a finite number of 0 or more, not {number}")]
    Cost {
        /// Which of the costs.
        what: &'static str,
        /// The number.
        number: f64,
    },
}

/// The operations of a window of time, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operations {
    /// p₁: the share of look-ups among all operations.
    pub lookups: f64,
    /// p₂: the share of insertions.
    pub insertions: f64,
    /// p₃: the share of deletions.
    pub deletions: f64,
    /// q₁: the share of the look-ups whose key is stored.
    pub true_positives: f64,
}

/// What an operation of each kind costs, in any one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// c_P: a look-up that the filter passes on to the slow memory.
    pub positive: f64,
    /// c_F: a look-up that the filter answers with *absent*.
    pub negative: f64,
    /// c_I: an insertion.
    pub insertion: f64,
    /// c_D: a deletion.
    pub deletion: f64,
}

/// The cost formula of 003 section 3: the mean cost of an operation,
/// `p₁((q₁ + (1 − q₁)q₂)c_P + (1 − q₁)(1 − q₂)c_F) + p₂c_I + p₃c_D`, where q₂ is the false-positive rate.
///
/// The cost of an adaptation is not included: it follows a positive look-up, for which the slow memory is read anyway.
///
/// ```
/// use twiceshy_lab::models::cost::{Costs, Operations, Workload};
///
/// // One look-up in ten finds its key; the slow memory takes a hundred times as long as the filter.
/// let operations = Operations { lookups: 0.98, insertions: 0.01, deletions: 0.01, true_positives: 0.1 };
/// let costs = Costs { positive: 100.0, negative: 1.0, insertion: 200.0, deletion: 200.0 };
/// let pair = Workload::new(operations, costs)?.compare(0.015, 0.001)?;
/// assert!((pair.saved() - 0.98 * 0.9 * 0.014 * 99.0).abs() < 1e-12);
/// # Ok::<(), twiceshy_lab::models::cost::CostError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    operations: Operations,
    costs: Costs,
}

/// The costs of one workload under two false-positive rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Under the first rate.
    pub first: f64,
    /// Under the second rate.
    pub second: f64,
}

impl Pair {
    /// The saving per operation under the second rate.
    pub fn saved(&self) -> f64 {
        self.first - self.second
    }

    /// The second cost over the first; 1 if both are 0.
    pub fn ratio(&self) -> f64 {
        if self.first == self.second { 1.0 } else { self.second / self.first }
    }
}

impl Workload {
    /// A mix of operations and their costs.
    pub fn new(operations: Operations, costs: Costs) -> Result<Self, CostError> {
        let Operations { lookups, insertions, deletions, true_positives } = operations;
        check_share("share of look-ups", lookups)?;
        check_share("share of insertions", insertions)?;
        check_share("share of deletions", deletions)?;
        check_share("share of true positives", true_positives)?;
        let sum = lookups + insertions + deletions;
        if (sum - 1.0).abs() > 1e-9 {
            return Err(CostError::Sum(sum));
        }
        let Costs { positive, negative, insertion, deletion } = costs;
        check_cost("a positive look-up", positive)?;
        check_cost("a negative look-up", negative)?;
        check_cost("an insertion", insertion)?;
        check_cost("a deletion", deletion)?;
        Ok(Self { operations, costs })
    }

    /// The mean cost of an operation at this false-positive rate q₂.
    pub fn cost(&self, false_positive_rate: f64) -> Result<f64, CostError> {
        check_share("false-positive rate", false_positive_rate)?;
        let Operations { lookups, insertions, deletions, true_positives } = self.operations;
        let absent = 1.0 - true_positives;
        let let_through = true_positives + absent * false_positive_rate;
        let answered = absent * (1.0 - false_positive_rate);
        let lookup = let_through * self.costs.positive + answered * self.costs.negative;
        Ok(lookups * lookup + insertions * self.costs.insertion + deletions * self.costs.deletion)
    }

    /// The cost under two rates, such as a plain filter's and an adaptive one's.
    pub fn compare(&self, first_rate: f64, second_rate: f64) -> Result<Pair, CostError> {
        Ok(Pair { first: self.cost(first_rate)?, second: self.cost(second_rate)? })
    }
}

fn check_share(what: &'static str, number: f64) -> Result<(), CostError> {
    if (0.0..=1.0).contains(&number) { Ok(()) } else { Err(CostError::Share { what, number }) }
}

fn check_cost(what: &'static str, number: f64) -> Result<(), CostError> {
    if number >= 0.0 && number.is_finite() { Ok(()) } else { Err(CostError::Cost { what, number }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATIONS: Operations = Operations { lookups: 0.5, insertions: 0.3, deletions: 0.2, true_positives: 0.25 };
    const COSTS: Costs = Costs { positive: 64.0, negative: 4.0, insertion: 10.0, deletion: 5.0 };

    #[test]
    fn each_kind_of_operation_costs_what_the_formula_says() {
        // Half of all: a quarter true positives, 3/8 let through by mistake, 3/8 answered.
        let expected = 0.5 * ((0.25 + 0.375) * 64.0 + 0.375 * 4.0) + 3.0 + 1.0;
        let workload = Workload::new(OPERATIONS, COSTS).expect("a possible workload");
        assert_eq!(workload.cost(0.5), Ok(expected));
        let pair = workload.compare(0.5, 0.0).expect("possible rates");
        assert_eq!((pair.first, pair.saved()), (expected, 0.5 * 0.375 * 60.0));
        assert_eq!(pair.ratio(), pair.second / pair.first);
        assert_eq!(Pair { first: 0.0, second: 0.0 }.ratio(), 1.0);
    }

    #[test]
    fn impossible_numbers_are_refused_by_name() {
        let refused = |operations, costs| Workload::new(operations, costs).err();
        let share = |what, number| Some(CostError::Share { what, number });
        assert_eq!(refused(Operations { lookups: 1.5, ..OPERATIONS }, COSTS), share("share of look-ups", 1.5));
        assert_eq!(refused(Operations { deletions: -0.2, ..OPERATIONS }, COSTS), share("share of deletions", -0.2));
        let stored = Operations { true_positives: 2.0, ..OPERATIONS };
        assert_eq!(refused(stored, COSTS), share("share of true positives", 2.0));
        assert_eq!(refused(Operations { insertions: 0.5, ..OPERATIONS }, COSTS), Some(CostError::Sum(1.2)));
        for number in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(refused(OPERATIONS, Costs { deletion: number, ..COSTS }), Some(CostError::Cost { .. })));
        }
        let workload = Workload::new(OPERATIONS, COSTS).expect("a possible workload");
        assert_eq!(workload.cost(1.1).err(), share("false-positive rate", 1.1));
        assert!(workload.compare(0.1, f64::NAN).is_err());
    }
}
