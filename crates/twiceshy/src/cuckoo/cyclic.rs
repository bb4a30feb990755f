//! The Cyclic filter: a cell's selector moves on.

use super::adapt::{Adapting, Verdict};
use super::fingerprint::{Choice, Function, Rule, Values};
use super::full_key::FullKeyCuckoo;
use super::local::Located;
use super::options::{Options, RuleSpec};
use super::planner::{Occupant, Planner};
use super::shape::{Shape, Spot};
use crate::error::{OptionsError, PlanError};
use crate::kind::Kind;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::CellId;

/// The most fingerprint functions that a cell may choose from.
pub const MAX_FUNCTIONS: usize = 32;

/// How the values of a cell are divided among fingerprint functions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selectors {
    /// s selector bits and a fingerprint of the rest: 2^s functions of equal range (003 section 3.1). s from 0 to 4.
    Equal {
        /// s.
        bits: u32,
    },
    /// 2^s + 1 functions: the first takes all but one in 2^r of the values, the others share the rest equally (003 section
    /// 3.2). r from 1 to 3, s from 0 to 3.
    Unequal {
        /// r.
        split: u32,
        /// s.
        bits: u32,
    },
    /// Any division: the first value of the second function, of the third, and so on (003 section 3.2, the table of
    /// offsets). The first function begins at 1.
    Offsets(Vec<u32>),
}

impl Selectors {
    /// The first value of every function, and the end.
    fn bounds(&self, width: u32) -> Result<Vec<u64>, OptionsError> {
        let refuse = |why: String| Err(OptionsError::Selector(why));
        let end = 1u64 << width;
        let inner: Vec<u64> = match self {
            Selectors::Equal { bits } if *bits > 4 => {
                return refuse(format!("the number of selector bits must be 0 to 4, not {bits}"));
            }
            Selectors::Equal { bits } if bits + 1 > width => {
                return refuse(format!("{bits} selector bits leave no fingerprint in {width} bits: use wider cells"));
            }
            Selectors::Equal { bits } => (1..1 << bits).map(|function| function << (width - bits)).collect(),
            Selectors::Unequal { split, bits } if !(1..=3).contains(split) || *bits > 3 => {
                return refuse(format!(
                    "the range split must be 1 to 3, not {split}, with 0 to 3 selector bits, not {bits}"
                ));
            }
            Selectors::Unequal { split, bits } if split + bits >= width => {
                return refuse(format!(
                    "a range split of {split} with {bits} selector bits needs cells of at least {} bits, not {width}",
                    split + bits + 1
                ));
            }
            Selectors::Unequal { split, bits } => {
                let each = 1u64 << (width - bits - split);
                (0..1u64 << bits).map(|function| end - (end >> split) + function * each).collect()
            }
            Selectors::Offsets(offsets) => offsets.iter().map(|offset| u64::from(*offset)).collect(),
        };
        let bounds: Vec<u64> = [1].into_iter().chain(inner).chain([end]).collect();
        if bounds.len() > MAX_FUNCTIONS + 1 {
            return refuse(format!("there must be at most {MAX_FUNCTIONS} functions, not {}", bounds.len() - 1));
        }
        if !bounds.is_sorted_by(|a, b| a < b) {
            return refuse(format!(
                "offsets must increase and be 2 to {}, so that every function has a value",
                end - 1
            ));
        }
        Ok(bounds)
    }
}

/// The rule of [`CyclicFilter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cyclic {
    /// The values of function 0, which most cells use.
    first: Values,
    /// The first value of every later function.
    later: Box<[u32]>,
    /// The end of all values.
    end: u64,
    refine: bool,
}

/// The adaptive cuckoo filter with a selector in each cell, 4×1 with one selector bit by default.
///
/// *Cost.* As for the plain filter, three hash words and four cells per look-up, and a further word if a cell's selector
/// has moved past the functions that share the first. The selector takes s of a cell's bits, so at equal memory the static
/// rate is 2^s times the plain filter's. An adaptation reads R once for each colliding cell and writes nothing to it.
///
/// *Layout.* A cell's value names the function and the fingerprint together: function i takes the values from its bound to
/// the next. The value 0 is the empty cell, taken from function 0.
///
/// *Paper.* 003 section 3.1 and Algorithms 1 and 2; section 3.2 for [`Selectors::Unequal`] and [`Selectors::Offsets`];
/// 000 section 2.4. A kicked key keeps its selector. Every colliding cell moves on, as 000 says.
///
/// *Departure.* Fingerprints are range reductions, so a function may have any number of values.
///
/// ```
/// use twiceshy::{cuckoo::CyclicFilter, filter::Adapted, hash::HashKey, remote::ByHash};
///
/// let mut filter = CyclicFilter::options(1000, 0.05)?.build(HashKey::fixed(1), ByHash::new())?;
/// for key in 0..900u32 {
///     filter.insert(&key)?;
/// }
/// let mistake = (1000..u32::MAX).find(|query| filter.contains(query)).expect("one in twenty");
/// assert_eq!(filter.was_wrong(&mistake)?, Adapted::Fixed);
/// assert!(!filter.contains(&mistake), "once bitten");
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type CyclicFilter = FullKeyCuckoo<Cyclic>;

impl Cyclic {
    #[inline(never)]
    fn later(&self, value: u32) -> Function {
        Function(self.later.partition_point(|bound| *bound <= value) as u8)
    }

    fn functions(&self) -> u8 {
        self.later.len() as u8 + 1
    }

    fn next(&self, Function(function): Function) -> Function {
        Function((function + 1) % self.functions())
    }
}

impl Rule for Cyclic {
    type Spec = CyclicSpec;
    const BY_SPOT: bool = false;

    #[inline]
    fn choice(&self) -> Choice {
        Choice::ByValue { functions: self.functions() }
    }

    #[inline]
    fn function(&self, _: Spot, value: u32) -> Function {
        if u64::from(value) <= self.first.len { Function(0) } else { self.later(value) }
    }

    fn arriving(&self, _: Spot, carried: Function) -> Function {
        carried
    }

    #[inline]
    fn values(&self, Function(function): Function) -> Values {
        if function == 0 {
            return self.first;
        }
        let start = u64::from(self.later[usize::from(function) - 1]);
        let end = self.later.get(usize::from(function)).map_or(self.end, |end| u64::from(*end));
        Values { start, len: end - start }
    }

    fn allocated_bytes(&self) -> usize {
        size_of_val(&*self.later)
    }
}

impl Adapting for Cyclic {
    fn plan(&self, planner: &mut Planner<'_, Cyclic>, query: &Located, cells: &[CellId]) -> Result<Verdict, PlanError> {
        let mut verdict = Verdict::Planned;
        for cell in cells {
            let Some(Some(Occupant { located, function })) = planner.occupant(*cell)? else { continue };
            let local = planner.local;
            let differs = |function| local.value(&located.key, function) != local.value(&query.key, function);
            let round: Vec<Function> = std::iter::successors(Some(self.next(function)), |at| Some(self.next(*at)))
                .take(self.functions().into())
                .collect();
            let differing = round.iter().copied().find(|function| differs(*function));
            if differing.is_none() {
                verdict = Verdict::Unfixable;
            }
            let function = if self.refine { differing.unwrap_or(function) } else { round[0] };
            planner.put(*cell, Occupant { located, function });
        }
        Ok(verdict)
    }
}

/// The options of [`CyclicFilter`] beyond the common ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CyclicSpec {
    selectors: Selectors,
    refine: bool,
}

impl RuleSpec for CyclicSpec {
    type Rule = Cyclic;
    const KIND: Kind = Kind::Cyclic;

    fn rule(&self, _: Shape, width: u32) -> Result<Cyclic, OptionsError> {
        let bounds = self.selectors.bounds(width)?;
        let first = Values { start: 1, len: bounds[1] - 1 };
        let later = bounds[1..bounds.len() - 1].iter().map(|bound| *bound as u32).collect();
        Ok(Cyclic { first, later, end: 1 << width, refine: self.refine })
    }

    fn write(rule: &Cyclic, out: &mut Writer<'_>) {
        out.u8(rule.refine.into());
        out.u8(rule.functions());
        rule.later.iter().for_each(|bound| out.u32(*bound));
    }

    fn read(from: &mut Reader) -> Result<CyclicSpec, LoadError> {
        let refine = match from.u8()? {
            0 => false,
            1 => true,
            other => return Err(LoadError::invalid(format!("its refinement flag is {other}"))),
        };
        let functions = from.u8()?;
        if !(1..=MAX_FUNCTIONS as u8).contains(&functions) {
            return Err(LoadError::invalid(format!("it has {functions} fingerprint functions")));
        }
        let offsets = (1..functions).map(|_| from.u32()).collect::<Result<Vec<u32>, LoadError>>()?;
        Ok(CyclicSpec { selectors: Selectors::Offsets(offsets), refine })
    }
}

impl CyclicFilter {
    /// Room for `capacity` keys at this false-positive rate, 4×1 with one selector bit.
    pub fn options(capacity: u64, rate: f64) -> Result<Options<CyclicSpec>, OptionsError> {
        Options::for_capacity(capacity, rate, 4, 1, DEFAULT)
    }

    /// At least `cells` cells of `bits` bits, selector included, 4×1 with one selector bit.
    pub fn with_cells(cells: u64, bits: u32) -> Options<CyclicSpec> {
        Options::with_cells(cells, bits, 4, 1, DEFAULT)
    }
}

const DEFAULT: CyclicSpec = CyclicSpec { selectors: Selectors::Equal { bits: 1 }, refine: false };

impl Options<CyclicSpec> {
    /// How the values of a cell are divided among fingerprint functions.
    #[must_use]
    pub fn selectors(mut self, selectors: Selectors) -> Self {
        self.spec.selectors = selectors;
        self
    }

    /// `true` if a selector moves on until the query really differs (the refinement at the end of 003 section 3.1). `false`
    /// by default, as in the paper: one step fixes all but 2^−a of the mistakes.
    #[must_use]
    pub fn refine(mut self, refine: bool) -> Self {
        self.spec.refine = refine;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(selectors: Selectors, width: u32) -> Cyclic {
        CyclicSpec { selectors, refine: false }.rule(Shape::new(4, 1, 1).unwrap(), width).unwrap()
    }

    fn ranges(rule: &Cyclic) -> Vec<u64> {
        (0..rule.functions()).map(|function| rule.values(Function(function)).len).collect()
    }

    #[test]
    fn equal_ranges_lose_one_value_in_total() {
        assert_eq!(ranges(&rule(Selectors::Equal { bits: 2 }, 8)), [63, 64, 64, 64]);
        assert_eq!(ranges(&rule(Selectors::Equal { bits: 0 }, 8)), [255]);
    }

    #[test]
    fn the_suggested_split_gives_the_ranges_of_the_paper() {
        // a + s = 12 with s = 2, so a = 10: R_0 = 2^12 · 3/4 less the empty value, R_i = 2^(10−2).
        assert_eq!(ranges(&rule(Selectors::Unequal { split: 2, bits: 2 }, 12)), [3071, 256, 256, 256, 256]);
        assert_eq!(ranges(&rule(Selectors::Unequal { split: 1, bits: 0 }, 8)), [127, 128]);
    }

    #[test]
    fn every_value_names_the_function_whose_range_it_is_in() {
        let spot = Spot { table: 0, cell: 0 };
        for selectors in [
            Selectors::Equal { bits: 3 },
            Selectors::Unequal { split: 3, bits: 3 },
            Selectors::Offsets(vec![2, 3, 100, 200]),
            Selectors::Offsets(vec![]),
        ] {
            let rule = rule(selectors, 8);
            for value in 1..256u32 {
                let values = rule.values(rule.function(spot, value));
                assert!((values.start..values.start + values.len).contains(&u64::from(value)));
            }
            assert_eq!(rule.function(spot, 0), Function(0));
        }
    }

    #[test]
    fn invalid_divisions_are_refused() {
        for (selectors, width) in [
            (Selectors::Equal { bits: 5 }, 8),
            (Selectors::Equal { bits: 2 }, 2),
            (Selectors::Unequal { split: 0, bits: 1 }, 8),
            (Selectors::Unequal { split: 4, bits: 1 }, 8),
            (Selectors::Unequal { split: 2, bits: 4 }, 8),
            (Selectors::Unequal { split: 3, bits: 3 }, 6),
            (Selectors::Offsets(vec![1]), 8),
            (Selectors::Offsets(vec![9, 9]), 8),
            (Selectors::Offsets(vec![256]), 8),
            (Selectors::Offsets((2..40).collect()), 8),
        ] {
            assert!(matches!(selectors.bounds(width), Err(OptionsError::Selector(_))), "{selectors:?} in {width}");
        }
    }
}
