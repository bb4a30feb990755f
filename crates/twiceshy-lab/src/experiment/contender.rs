//! The filters that experiments compare, each with a name for legends and a look for pictures.

use crate::open::Foreign;
use crate::replay::{FilterName, FilterSpec, RemoteName};
use twiceshy::Kind;

/// The look of a second broom filter beside the first, such as an older one.
pub const SECOND_BROOM: usize = 19;

/// A filter in a comparison.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name in tables and legends.
    pub label: String,
    /// Its look in pictures.
    pub look: usize,
    /// How to build it.
    pub spec: FilterSpec,
}

/// The contenders, by the bits of a cell or slot, adaptivity included.
impl Contender {
    fn new(label: impl Into<String>, look: usize, spec: FilterSpec) -> Contender {
        Contender { label: label.into(), look, spec }
    }

    /// The same filter over the mirror of its cells, if it is of the cuckoo family. The mirror is filled fastest and
    /// knows the owners of the smallest fingerprints. The remote's cost is not part of the comparison.
    #[must_use]
    pub fn over_mirror(mut self) -> Contender {
        // Only a remote by hash lets the remembering filter list exceptions.
        if FilterName::OVER_BUCKETS.contains(&self.spec.name) && self.spec.name != Kind::Remembering.into() {
            self.spec.remote = RemoteName::Mirror;
        }
        self
    }

    /// A filter from outside. Its memory is counted in cells of `bits` bits.
    pub fn foreign(foreign: Foreign, bits: u32) -> Contender {
        Contender::new(foreign.name().to_owned(), 13, FilterSpec::foreign(foreign, bits))
    }

    /// The same filter as streams are asked of it: over a mirror, and with the faster hash, since nobody attacks it.
    #[must_use]
    pub fn for_streams(self) -> Contender {
        let mut contender = self.over_mirror();
        contender.spec.hash = twiceshy::hash::HashKind::Xxh3;
        contender
    }

    /// The plain cuckoo filter, 4 tables of 1 cell.
    pub fn cuckoo(bits: u32) -> Contender {
        Contender::new("cuckoo, plain", 0, FilterSpec::new(Kind::FullKey, bits))
    }

    /// Cyclic with s of the cell's bits used as selector.
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
        let look = 15 + range_split.clamp(1, 3) as usize;
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

    /// Remembering, 2 tables with windows of 2 cells.
    pub fn remembering(bits: u32) -> Contender {
        Contender::new("remembering", 14, FilterSpec::new(Kind::Remembering, bits))
    }

    /// The plain quotient filter in the memory of `bits` bits per slot, metadata included.
    pub fn quotient(bits: u32) -> Contender {
        Contender::new("quotient, plain", 6, FilterSpec::new(Kind::Quotient, remainder(bits, 2)))
    }

    /// Telescoping in the memory of `bits` bits per slot; three of them are metadata and selectors.
    pub fn telescoping(bits: u32) -> Contender {
        Contender::new("telescoping", 7, FilterSpec::new(Kind::Telescoping, remainder(bits, 3)))
    }

    /// Telescoping with the same remainders and a byte for each selector: no block is ever reset. It takes more memory.
    pub fn roomy(bits: u32) -> Contender {
        let spec = FilterSpec::new(Kind::TelescopingPlain, remainder(bits, 3));
        Contender::new("telescoping, a byte a selector", 15, spec)
    }

    /// The extension filter, likewise.
    pub fn extension(bits: u32) -> Contender {
        Contender::new("extension", 8, FilterSpec::new(Kind::Extension, remainder(bits, 3)))
    }

    /// The broom filter in about the memory of `bits` bits per slot. Its slots, second level and adaptivity bits take
    /// about five and a half bits beside the remainder.
    pub fn broom(bits: u32) -> Contender {
        Contender::new("broom", 9, FilterSpec::new(Kind::Broom, remainder(bits, 6)))
    }

    /// A Bloom filter in the memory of cells of `bits` bits.
    pub fn bloom(bits: u32) -> Contender {
        Contender::new("Bloom", 10, FilterSpec::new(FilterName::Bloom, bits))
    }

    /// A blocked Bloom filter, likewise.
    pub fn blocked_bloom(bits: u32) -> Contender {
        Contender::new("blocked Bloom", 11, FilterSpec::new(FilterName::BlockedBloom, bits))
    }

    /// The plain cuckoo filter with cells one bit smaller; that bit pays for a list of its latest mistakes.
    pub fn cached(bits: u32) -> Contender {
        Contender::new("cuckoo with cache", 12, FilterSpec::new(FilterName::CuckooCache, bits))
    }

    /// A Bloom filter that lists all its mistakes (001 Lemma 28); its memory grows.
    pub fn listed(bits: u32) -> Contender {
        Contender::new("Bloom with list", 13, FilterSpec::new(FilterName::BloomListed, bits))
    }
}

/// The remainder of a slot of `bits` bits, after `overhead` bits of other content; at least 2 bits.
fn remainder(bits: u32, overhead: u32) -> u32 {
    bits.saturating_sub(overhead).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_contenders_share_a_look() {
        let cyclic = (1..=3).map(|s| Contender::cyclic(12, s));
        let unequal = (1..=3).map(|r| Contender::unequal(12, r, 1));
        let others = [
            Contender::cuckoo,
            Contender::swapping,
            Contender::cuckooing,
            Contender::remembering,
            Contender::quotient,
            Contender::telescoping,
            Contender::roomy,
            Contender::extension,
            Contender::broom,
            Contender::bloom,
            Contender::blocked_bloom,
            Contender::cached,
            Contender::listed,
        ];
        let all = cyclic.chain(unequal).chain(others.map(|of| of(12)));
        let looks = all.map(|contender| crate::report::look(contender.look)).chain([crate::report::look(SECOND_BROOM)]);
        let looks: Vec<_> = looks.collect();
        let distinct: std::collections::HashSet<_> = looks.iter().copied().collect();
        assert_eq!((looks.len(), distinct.len()), (20, 20));
    }
}
