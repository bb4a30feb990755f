//! Filters as experiments compare them: each with its name in legends and its look in pictures.

use crate::replay::{FilterName, FilterSpec, RemoteName};
use twiceshy::Kind;

/// A filter that takes part in a comparison.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name in tables and legends.
    pub label: String,
    /// Its look in pictures.
    pub look: usize,
    /// How it is made.
    pub spec: FilterSpec,
}

/// The contenders by the bits of a cell or slot, adaptivity included.
impl Contender {
    fn new(label: impl Into<String>, look: usize, spec: FilterSpec) -> Contender {
        Contender { label: label.into(), look, spec }
    }

    /// The same filter, over the mirror of its cells if it is one of the cuckoo family: that is filled fastest, and knows the
    /// owners of the smallest fingerprints. What the remote does is not what is compared.
    #[must_use]
    pub fn over_mirror(mut self) -> Contender {
        if FilterName::OVER_BUCKETS.contains(&self.spec.name) {
            self.spec.remote = RemoteName::Mirror;
        }
        self
    }

    /// The plain cuckoo filter, 4 tables of 1 cell.
    pub fn cuckoo(bits: u32) -> Contender {
        Contender::new("cuckoo, plain", 0, FilterSpec::new(Kind::FullKey, bits))
    }

    /// Cyclic with s selector bits out of the cell's.
    pub fn cyclic(bits: u32, selector_bits: u32) -> Contender {
        let spec = FilterSpec { selector_bits: Some(selector_bits), ..FilterSpec::new(Kind::Cyclic, bits) };
        Contender::new(format!("cyclic, s = {selector_bits}"), selector_bits.clamp(1, 3) as usize, spec)
    }

    /// Cyclic with unequal ranges (003 section 3.2).
    pub fn unequal(bits: u32, range_split: u32, selector_bits: u32) -> Contender {
        let spec = FilterSpec {
            range_split: Some(range_split),
            selector_bits: Some(selector_bits),
            ..FilterSpec::new(Kind::Cyclic, bits)
        };
        let look = 13 + range_split as usize;
        Contender::new(format!("cyclic, r = {range_split}, s = {selector_bits}"), look, spec)
    }

    /// Swapping, 2 tables of 4 cells.
    pub fn swapping(bits: u32) -> Contender {
        Contender::new("swapping", 4, FilterSpec::new(Kind::Swapping, bits))
    }

    /// Cuckooing, 4 tables of 1 cell.
    pub fn cuckooing(bits: u32) -> Contender {
        Contender::new("cuckooing", 5, FilterSpec::new(Kind::Cuckooing, bits))
    }

    /// The plain quotient filter in the memory of so many bits a slot, metadata included.
    pub fn quotient(bits: u32) -> Contender {
        Contender::new("quotient, plain", 6, FilterSpec::new(Kind::Quotient, remainder(bits, 2)))
    }

    /// Telescoping in the memory of so many bits a slot: three of them are metadata and selectors.
    pub fn telescoping(bits: u32) -> Contender {
        Contender::new("telescoping", 7, FilterSpec::new(Kind::Telescoping, remainder(bits, 3)))
    }

    /// The extension filter, likewise.
    pub fn extension(bits: u32) -> Contender {
        Contender::new("extension", 8, FilterSpec::new(Kind::Extension, remainder(bits, 3)))
    }

    /// The broom filter in about the memory of so many bits a slot: its slots, second level and adaptivity bits take some
    /// five and a half bits beside the remainder.
    pub fn broom(bits: u32) -> Contender {
        Contender::new("broom", 9, FilterSpec::new(Kind::Telescoping /* broom: Kind::Broom */, remainder(bits, 6)))
    }

    /// A Bloom filter in the memory of cells of so many bits.
    pub fn bloom(bits: u32) -> Contender {
        Contender::new("Bloom", 10, FilterSpec::new(FilterName::Bloom, bits))
    }

    /// A blocked Bloom filter, likewise.
    pub fn blocked_bloom(bits: u32) -> Contender {
        Contender::new("blocked Bloom", 11, FilterSpec::new(FilterName::BlockedBloom, bits))
    }

    /// The plain cuckoo filter with cells smaller by a bit, which a list of its latest mistakes takes.
    pub fn cached(bits: u32) -> Contender {
        Contender::new("cuckoo with cache", 12, FilterSpec::new(FilterName::CuckooCache, bits))
    }

    /// A Bloom filter that lists all its mistakes (001 Lemma 28); its memory grows.
    pub fn listed(bits: u32) -> Contender {
        Contender::new("Bloom with list", 13, FilterSpec::new(FilterName::BloomListed, bits))
    }
}

/// What a slot of so many bits leaves for the remainder; 2 bits at least.
fn remainder(bits: u32, beside: u32) -> u32 {
    bits.saturating_sub(beside).max(2)
}
