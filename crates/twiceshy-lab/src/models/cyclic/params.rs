//! Computes the collision probabilities of fingerprint functions from the widths of a cell's fields.

use super::CyclicModel;

/// More selector bits than this are a mistake: 2^16 functions.
const MOST_SELECTOR_BITS: u32 = 16;

/// Whether the value that marks an empty cell is lost to the fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyCell {
    /// Every value of a cell is a fingerprint, as in the papers' formulas.
    Ignored,
    /// One value of the whole cell means *empty*; the first function has one fingerprint fewer.
    Reserved,
}

impl EmptyCell {
    fn values(self) -> f64 {
        match self {
            Self::Ignored => 0.0,
            Self::Reserved => 1.0,
        }
    }
}

/// Invalid numbers for a Cyclic filter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No table.
    #[error("the number of tables must be at least 1, usually 4, not 0")]
    NoTable,
    /// A load outside 0 to 1.
    #[error("the load (the share of full cells) must be from 0 to 1, such as 0.95, not {0}")]
    Load(f64),
    /// No fingerprint function.
    #[error("there is no fingerprint function; give at least one collision probability")]
    NoFunction,
    /// A collision probability outside 0 to 1.
    #[error("a collision probability must be above 0 and at most 1, such as 1/256, not {0}")]
    Collision(f64),
    /// Widths that leave a function without a fingerprint.
    #[error("these widths leave some function without a fingerprint; give the cell more bits or fewer selector bits")]
    NoFingerprint,
    /// Too many selector bits.
    #[error("{0} selector bits are too many; give at most 16")]
    SelectorBits(u32),
    /// Unequal ranges without a share for the later functions.
    #[error("r = 0 gives the first function no fingerprint; give r of 1 or more, or use equal ranges")]
    NoShare,
}

impl CyclicModel {
    /// A model with `tables` d tables at `load` ℓ, and for each fingerprint function the probability κ that it gives
    /// two keys the same fingerprint, in the order in which the selector goes through them.
    pub fn new(tables: u32, load: f64, collision: Vec<f64>) -> Result<Self, ModelError> {
        if tables == 0 {
            return Err(ModelError::NoTable);
        }
        if !(0.0..=1.0).contains(&load) {
            return Err(ModelError::Load(load));
        }
        if collision.is_empty() {
            return Err(ModelError::NoFunction);
        }
        if let Some(kappa) = collision.iter().find(|kappa| !(**kappa > 0.0 && **kappa <= 1.0)) {
            return Err(ModelError::Collision(*kappa));
        }
        Ok(Self { tables, load, collision })
    }

    /// 2^`selector_bits` functions with fingerprints of `fingerprint_bits` bits each (003 section 3.1).
    pub fn equal_ranges(
        tables: u32,
        load: f64,
        fingerprint_bits: u32,
        selector_bits: u32,
        empty: EmptyCell,
    ) -> Result<Self, ModelError> {
        let later = functions(selector_bits)? - 1;
        let range = f64::from(fingerprint_bits).exp2();
        Self::new(tables, load, from_ranges(range - empty.values(), range, later)?)
    }

    /// 1 + 2^`selector_bits` functions that share the values of a cell of `cell_bits` bits, a + s in the paper (003
    /// section 3.2).
    ///
    /// The first function has all but one of every 2^`r` values, `2^(a+s) · (2^r - 1)/2^r`; the others have 2^(a-r)
    /// each.
    pub fn unequal_ranges(
        tables: u32,
        load: f64,
        cell_bits: u32,
        selector_bits: u32,
        r: u32,
        empty: EmptyCell,
    ) -> Result<Self, ModelError> {
        if r == 0 {
            return Err(ModelError::NoShare);
        }
        let later = functions(selector_bits)?;
        let cell = f64::from(cell_bits).exp2();
        let shared = cell * (-f64::from(r)).exp2();
        let first = cell - shared - empty.values();
        Self::new(tables, load, from_ranges(first, shared / later as f64, later)?)
    }
}

fn functions(selector_bits: u32) -> Result<usize, ModelError> {
    if selector_bits > MOST_SELECTOR_BITS {
        return Err(ModelError::SelectorBits(selector_bits));
    }
    Ok(1 << selector_bits)
}

fn from_ranges(first: f64, other: f64, later: usize) -> Result<Vec<f64>, ModelError> {
    if first < 1.0 || (later > 0 && other < 1.0) {
        return Err(ModelError::NoFingerprint);
    }
    let mut collision = vec![1.0 / first];
    collision.resize(later + 1, 1.0 / other);
    Ok(collision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_paper_less_the_reserved_value() {
        let equal = |empty| CyclicModel::equal_ranges(4, 0.9, 6, 1, empty).map(|m| m.collision);
        assert_eq!(equal(EmptyCell::Ignored), Ok(vec![1.0 / 64.0; 2]));
        assert_eq!(equal(EmptyCell::Reserved), Ok(vec![1.0 / 63.0, 1.0 / 64.0]));

        // a = 6, s = 2, r = 3: 256 · 7/8 = 224 values first, then four functions of 2^(6-3) = 8.
        let unequal = |empty| CyclicModel::unequal_ranges(4, 0.9, 8, 2, 3, empty).map(|m| m.collision);
        let eighth = 1.0 / 8.0;
        let expected = vec![1.0 / 224.0, eighth, eighth, eighth, eighth];
        assert_eq!(unequal(EmptyCell::Ignored), Ok(expected));
        assert_eq!(unequal(EmptyCell::Reserved).map(|kappa| kappa[0]), Ok(1.0 / 223.0));
    }

    #[test]
    fn impossible_numbers_are_refused() {
        use EmptyCell::{Ignored, Reserved};
        let new = |load, kappa: &[f64]| CyclicModel::new(4, load, kappa.to_vec());
        assert!(matches!(new(1.1, &[0.5]), Err(ModelError::Load(_))));
        assert!(matches!(new(f64::NAN, &[0.5]), Err(ModelError::Load(_))));
        assert!(matches!(new(1.0, &[]), Err(ModelError::NoFunction)));
        for kappa in [0.0, -0.5, 1.5, f64::NAN] {
            assert!(matches!(new(1.0, &[0.5, kappa]), Err(ModelError::Collision(_))));
        }
        assert_eq!(CyclicModel::new(0, 0.5, vec![0.5]), Err(ModelError::NoTable));
        let equal = |a, s, empty| CyclicModel::equal_ranges(4, 0.9, a, s, empty).err();
        assert_eq!(equal(0, 1, Reserved), Some(ModelError::NoFingerprint));
        assert_eq!(equal(8, 17, Ignored), Some(ModelError::SelectorBits(17)));
        let unequal = |w, s, r| CyclicModel::unequal_ranges(4, 0.9, w, s, r, Ignored).err();
        assert_eq!(unequal(8, 4, 5), Some(ModelError::NoFingerprint));
        assert_eq!(unequal(8, 4, 4), None);
        assert_eq!(unequal(8, 2, 0), Some(ModelError::NoShare));
    }
}
