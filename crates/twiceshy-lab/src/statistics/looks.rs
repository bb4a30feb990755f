//! When a run looks at its data, and how much of the allowed error each look may use.

/// The looks of a run: after the first trials, and after each time that they were doubled.
///
/// An interval for a fixed number of trials is wrong with its error at each look, and a run that looks until the answer is
/// clear would add these up. Since the looks are planned, the error is divided among them beforehand: half of it for the
/// first look, a quarter for the second, and so on. Together they are below the whole, however often the run looks.
///
/// ```
/// use twiceshy_lab::statistics::Looks;
///
/// let looks = Looks::from(10);
/// assert_eq!([10, 20, 40].map(|trials| looks.share(trials)), [0.5, 0.25, 0.125]);
/// // The last doubling may be cut short by the budget.
/// assert_eq!(looks.share(60), looks.share(80));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    first: usize,
}

impl Looks {
    /// The looks of a run whose first is after this many trials.
    pub const fn from(first: usize) -> Looks {
        Looks { first: if first == 0 { 1 } else { first } }
    }

    /// The trials before the first look.
    pub fn first(self) -> usize {
        self.first
    }

    /// The share of the error for the look at this many trials.
    pub fn share(self, trials: usize) -> f64 {
        let (mut planned, mut share) = (self.first, 0.5);
        while planned < trials {
            (planned, share) = (planned.saturating_mul(2), share / 2.0);
        }
        share
    }
}
