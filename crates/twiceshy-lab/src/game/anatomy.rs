//! What an attacker may know about a filter: everything except the hash key.

use super::GameError;
use twiceshy::cuckoo::Selectors;

/// The geometry of the filter under attack. In the quotient family a table has one bucket per quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anatomy {
    /// d, the number of tables; 1 in the quotient family.
    pub(super) tables: u64,
    /// N, the number of buckets in a table.
    pub(super) buckets: u64,
    /// b, the cells of a bucket; 1 in the quotient family.
    pub(super) cells_per_bucket: u64,
    /// The number of fingerprint functions that a key can be stored under in one cell: 2^s for Cyclic, 1 for the
    /// others. The endless selectors of the telescoping filter do not count, since they never return to the first.
    pub(super) functions: u64,
    /// The number of values of the first function. Two keys in the same cell agree in it with probability 1 over this
    /// number.
    pub(super) values: u64,
}

impl Anatomy {
    /// N/ε of 000's Definition 11: the number of values of one of a key's hashes, bucket and fingerprint together. The
    /// paper counts N = n buckets per table and f = log 1/ε bits.
    pub(super) fn hash_values(&self) -> f64 {
        self.buckets as f64 * self.values as f64
    }

    /// The number of hashes that a key can be stored under, as the paper counts them: d for Cuckooing, d·2^s for
    /// Cyclic.
    pub(super) fn hashes(&self) -> u64 {
        self.tables * self.functions
    }
}

/// The number of functions of a cell of this width, and of values of the first; without selectors, one function has all
/// values. Only for divisions that a filter was built with.
pub(super) fn divided(selectors: Option<&Selectors>, width: u32) -> Result<(u64, u64), GameError> {
    let end = 1u64 << width;
    match selectors {
        None => Ok((1, end - 1)),
        Some(Selectors::Equal { bits }) => Ok((1 << bits, (end >> bits) - 1)),
        Some(Selectors::Unequal { split, bits }) => Ok(((1 << bits) + 1, end - (end >> split) - 1)),
        Some(Selectors::Offsets(offsets)) => {
            let first = offsets.first().map_or(end, |offset| u64::from(*offset));
            Ok((offsets.len() as u64 + 1, first - 1))
        }
        Some(other) => Err(GameError::Setting(format!("no attack is known for the division {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy::cuckoo::Function;
    use twiceshy::hash::HashKey;
    use twiceshy::remote::ByHash;

    #[test]
    fn the_functions_of_a_cell_have_the_values_that_the_filter_uses() {
        for selectors in [
            Selectors::Equal { bits: 1 },
            Selectors::Equal { bits: 3 },
            Selectors::Unequal { split: 2, bits: 2 },
            Selectors::Offsets(vec![40, 50]),
        ] {
            let (functions, values) = divided(Some(&selectors), 8).expect("a division that is known");
            let options = twiceshy::cuckoo::CyclicFilter::with_cells(64, 8).selectors(selectors.clone());
            let filter = options.build(HashKey::fixed(1), ByHash::new()).expect("a filter");
            let most =
                |function| (0..20_000u32).map(|key| filter.filter().value_of(&key.to_le_bytes(), function)).max();
            assert_eq!(most(Function(0)).map(u64::from), Some(values), "{selectors:?}");
            assert_eq!(most(Function(functions as u8 - 1)), Some(255), "{selectors:?}: the last function ends there");
        }
        assert_eq!(divided(None, 8).expect("all values"), (1, 255));
    }
}
