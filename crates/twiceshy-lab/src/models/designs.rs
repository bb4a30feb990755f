//! The static rate and space of every filter, as formulas of its design.

#[cfg(test)]
mod tests;

use super::bloom;
use twiceshy::sizing::{cuckoo_rate, quotient_rate};

/// The bits of a slot beside its remainder: two marks, and an 8-bit offset per 64 slots (004 section 5).
const MARKS: f64 = 2.125;
/// The code of 56 bits that 64 slots share (004 section 5).
const CODE: f64 = 56.0 / 64.0;
/// A whole selector for each slot (004 section 6.2).
const SELECTOR: f64 = 8.0;
/// The adaptivity bits of 64 slots, in three words (001 section 5.1).
const ADAPTIVITY: f64 = 3.0;
/// The slots of a broom filter's second level over those of the first, and the extra bits of its remainders.
const SECOND: (f64, u32) = (1.0 / 64.0, 4);
/// The share of the keys that a broom filter at 95 % load has in its second level, as measured.
const ASIDE: f64 = 0.005;
/// Bits per word of the back yard; there are two words for each key expected there.
const YARD: f64 = 2.0 * 64.0;

/// A filter, described by what determines its static rate and space. Tables are assumed to be large: the fixed parts
/// and the last block of a small table are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Design {
    /// The plain cuckoo filter over whole keys, 4×1 in 003, and Cuckooing, whose fingerprints are the same.
    Cuckoo {
        /// d.
        tables: u32,
        /// The cells of a bucket.
        cells: u32,
        /// The bits of a cell.
        bits: u32,
    },
    /// The partial-key filter, 2×4 in 002 section 3.
    PartialKey {
        /// d.
        tables: u32,
        /// The cells of a bucket.
        cells: u32,
        /// The bits of a cell.
        bits: u32,
    },
    /// Cyclic with equal ranges, single cells (003 section 3.1).
    Cyclic {
        /// d.
        tables: u32,
        /// The bits of a cell, selector included.
        bits: u32,
        /// s.
        selector_bits: u32,
    },
    /// Cyclic with unequal ranges, single cells (003 section 3.2), before anything is learned: its static rate rises
    /// with every cell that has moved on to one of the later functions. It does not depend on s.
    CyclicUnequal {
        /// d.
        tables: u32,
        /// The bits of a cell, a + s in the paper.
        bits: u32,
        /// r: the later functions share one value in 2^r.
        split: u32,
    },
    /// Swapping, 2×4 in 003 section 3.3.
    Swapping {
        /// d.
        tables: u32,
        /// The cells of a bucket.
        cells: u32,
        /// The bits of a cell.
        bits: u32,
    },
    /// Cuckooing, k×b (000 section 2.3).
    Cuckooing {
        /// k.
        tables: u32,
        /// b.
        cells: u32,
        /// The bits of a cell.
        bits: u32,
    },
    /// The plain rank-and-select quotient filter (004 section 5).
    Quotient {
        /// The bits of a remainder.
        bits: u32,
    },
    /// The telescoping filter, its selectors in arithmetic codes.
    Telescoping {
        /// The bits of a remainder.
        bits: u32,
    },
    /// The telescoping filter with a byte for each selector.
    TelescopingPlain {
        /// The bits of a remainder.
        bits: u32,
    },
    /// The extension filter.
    Extension {
        /// The bits of a remainder.
        bits: u32,
    },
    /// The broom filter with a second level, for small remainders (001 section 5.3).
    BroomTwoLevels {
        /// The bits of a remainder in the first level.
        bits: u32,
    },
    /// The broom filter with a back yard, for large remainders (001 section 5.4).
    BroomBackYard {
        /// The bits of a remainder.
        bits: u32,
        /// The bits of its signature, 2·log₂ log₂ n rounded up.
        signature: u32,
    },
    /// The classic Bloom filter.
    Bloom {
        /// Bits over keys; its load is in them.
        bits_per_key: f64,
        /// k.
        functions: u32,
    },
    /// A Bloom filter of blocks.
    BlockedBloom {
        /// The bits of a block, 512 for a cache line.
        block_bits: u32,
        /// Bits over keys.
        bits_per_key: f64,
        /// k.
        functions: u32,
    },
    /// A Bloom filter of blocks with one bit in each word.
    SplitBlockBloom {
        /// The words of a block.
        words: u32,
        /// The bits of a word.
        word_bits: u32,
        /// Bits over keys.
        bits_per_key: f64,
    },
}

/// Invalid numbers for a filter.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// A load outside 0 to 1.
    #[error("the load (keys over cells or slots) must be above 0 and up to 1, such as 0.95, not {0}")]
    Load(f64),
    /// Widths that leave no fingerprint, or more than 64 bits.
    #[error(
        "{0:?} has no fingerprint or one too wide; give 1 to 63 bits, more than the selector or the signature takes"
    )]
    Width(Design),
    /// A count of 0.
    #[error("{0:?} has a count of 0; every count must be at least 1")]
    Nothing(Design),
}

impl Design {
    /// The false-positive rate of first-time queries in a filter that has learned nothing, at this load (keys over
    /// cells or slots; Bloom filters use `bits_per_key` instead).
    ///
    /// Cuckoo filters: 1 − (1 − load/v)^(d·c), with v values of the first function, not counting the empty one. Partial
    /// keys: 1 − exp(−d·c·load/v), since keys with the same bucket and fingerprint share all their cells. The quotient
    /// family: 1 − exp(−load·2^−r). The broom filter's second level adds one part in eighty.
    pub fn static_rate(&self, load: f64) -> Result<f64, DesignError> {
        self.check(load)?;
        Ok(match *self {
            Self::Cuckoo { tables, cells, bits }
            | Self::Swapping { tables, cells, bits }
            | Self::Cuckooing { tables, cells, bits } => cuckoo_rate(load, values(bits), compared(tables, cells)),
            Self::PartialKey { tables, cells, bits } => {
                -(-load * compared(tables, cells) as f64 / values(bits) as f64).exp_m1()
            }
            Self::Cyclic { tables, bits, selector_bits } => {
                cuckoo_rate(load, values(bits - selector_bits), tables.into())
            }
            Self::CyclicUnequal { tables, bits, split } => {
                cuckoo_rate(load, values(bits) - (1 << (bits - split)), tables.into())
            }
            Self::Quotient { bits }
            | Self::Telescoping { bits }
            | Self::TelescopingPlain { bits }
            | Self::Extension { bits }
            | Self::BroomBackYard { bits, .. } => quotient_rate(load, bits),
            Self::BroomTwoLevels { bits } => {
                let second = quotient_rate(load * ASIDE / SECOND.0, bits + SECOND.1);
                1.0 - (1.0 - quotient_rate(load * (1.0 - ASIDE), bits)) * (1.0 - second)
            }
            Self::Bloom { bits_per_key, functions } => bloom::classic_rate(bits_per_key, functions),
            Self::BlockedBloom { block_bits, bits_per_key, functions } => {
                bloom::blocked_rate(block_bits, functions, bits_per_key)
            }
            Self::SplitBlockBloom { words, word_bits, bits_per_key } => {
                bloom::split_block_rate(words, word_bits, bits_per_key)
            }
        })
    }

    /// The bits of local space per key, at this load.
    pub fn bits_per_key(&self, load: f64) -> Result<f64, DesignError> {
        self.check(load)?;
        let per_cell = match *self {
            Self::Cuckoo { bits, .. }
            | Self::PartialKey { bits, .. }
            | Self::Cyclic { bits, .. }
            | Self::CyclicUnequal { bits, .. }
            | Self::Swapping { bits, .. }
            | Self::Cuckooing { bits, .. } => f64::from(bits),
            Self::Quotient { bits } => f64::from(bits) + MARKS,
            Self::Telescoping { bits } | Self::Extension { bits } => f64::from(bits) + MARKS + CODE,
            Self::TelescopingPlain { bits } => f64::from(bits) + MARKS + SELECTOR,
            Self::BroomTwoLevels { bits } => level(bits) + level(bits + SECOND.1) * SECOND.0,
            Self::BroomBackYard { bits, signature } => level(bits) + YARD * ((-f64::from(signature)).exp2() + ASIDE),
            Self::Bloom { bits_per_key, .. }
            | Self::BlockedBloom { bits_per_key, .. }
            | Self::SplitBlockBloom { bits_per_key, .. } => return Ok(bits_per_key),
        };
        Ok(per_cell / load)
    }

    fn check(&self, load: f64) -> Result<(), DesignError> {
        if !(load > 0.0 && load <= 1.0) {
            return Err(DesignError::Load(load));
        }
        let (width, looked_at) = match *self {
            Self::Cuckoo { tables, cells, bits }
            | Self::PartialKey { tables, cells, bits }
            | Self::Swapping { tables, cells, bits }
            | Self::Cuckooing { tables, cells, bits } => (Some(bits), tables > 0 && cells > 0),
            Self::Cyclic { tables, bits, selector_bits } => (bits.checked_sub(selector_bits), tables > 0),
            Self::CyclicUnequal { tables, bits, split } => {
                (if split > 0 && split <= bits { Some(bits) } else { None }, tables > 0)
            }
            Self::Quotient { bits }
            | Self::Telescoping { bits }
            | Self::TelescopingPlain { bits }
            | Self::Extension { bits }
            | Self::BroomTwoLevels { bits } => (Some(bits), true),
            Self::BroomBackYard { bits, signature } => (Some(bits).filter(|bits| *bits >= signature), true),
            Self::Bloom { bits_per_key, functions } => (Some(1), bits_per_key > 0.0 && functions > 0),
            Self::BlockedBloom { block_bits, bits_per_key, functions } => {
                (Some(1), bits_per_key > 0.0 && functions > 0 && block_bits > 0)
            }
            Self::SplitBlockBloom { words, word_bits, bits_per_key } => {
                (Some(1), bits_per_key > 0.0 && words > 0 && word_bits > 0)
            }
        };
        match width {
            Some(1..64) if looked_at => Ok(()),
            Some(1..64) => Err(DesignError::Nothing(*self)),
            _ => Err(DesignError::Width(*self)),
        }
    }
}

/// The number of values of a cell's fingerprint, without the one that means empty.
fn values(bits: u32) -> u64 {
    (1 << bits) - 1
}

fn compared(tables: u32, cells: u32) -> u64 {
    u64::from(tables) * u64::from(cells)
}

/// The bits of a slot of a broom filter's level.
fn level(bits: u32) -> f64 {
    f64::from(bits) + MARKS + ADAPTIVITY
}
