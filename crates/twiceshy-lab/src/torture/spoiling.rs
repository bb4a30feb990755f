//! Damage to the bytes of a file, as a bad disk does it.

use crate::workload::rng::Rng;

/// The size of redb's pages.
const PAGE: usize = 4_096;

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoiling {
    /// A few bits anywhere change.
    Bits,
    /// Bits of the first page change.
    HeaderBits,
    ZeroPage,
    RandomPage,
    /// Half a page is that of another one.
    TornPage,
    SwappedPages,
    /// A page is a copy of another one.
    CopiedPage,
    Truncated,
}

pub(super) const SPOILINGS: [Spoiling; 8] = [
    Spoiling::Bits,
    Spoiling::HeaderBits,
    Spoiling::ZeroPage,
    Spoiling::RandomPage,
    Spoiling::TornPage,
    Spoiling::SwappedPages,
    Spoiling::CopiedPage,
    Spoiling::Truncated,
];

impl Spoiling {
    pub(super) fn draw(rng: &mut Rng) -> Spoiling {
        SPOILINGS[rng.below(SPOILINGS.len() as u64) as usize]
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Spoiling::Bits => "damaged file: flipped bits",
            Spoiling::HeaderBits => "damaged file: flipped bits in the header",
            Spoiling::ZeroPage => "damaged file: a page of zeros",
            Spoiling::RandomPage => "damaged file: a random page",
            Spoiling::TornPage => "damaged file: a torn page",
            Spoiling::SwappedPages => "damaged file: swapped pages",
            Spoiling::CopiedPage => "damaged file: a page twice",
            Spoiling::Truncated => "damaged file: truncated",
        }
    }

    /// Damages the bytes.
    pub(super) fn apply(self, bytes: &mut Vec<u8>, rng: &mut Rng) {
        let (one, other) = (used_page(bytes, rng), used_page(bytes, rng));
        let page = |at: usize| at * PAGE..(at + 1) * PAGE;
        match self {
            Spoiling::Bits => {
                for _ in 0..1 + rng.below(8) {
                    let page = used_page(bytes, rng);
                    flip(bytes, page * PAGE + rng.below(PAGE as u64) as usize, rng);
                }
            }
            // The rest of the first page is unused.
            Spoiling::HeaderBits => (0..1 + rng.below(3)).for_each(|_| flip(bytes, rng.below(320) as usize, rng)),
            Spoiling::ZeroPage => bytes[page(one)].fill(0),
            Spoiling::RandomPage => bytes[page(one)].fill_with(|| rng.word() as u8),
            Spoiling::TornPage => {
                let from = other * PAGE;
                bytes.copy_within(from..from + PAGE / 2, one * PAGE);
            }
            Spoiling::SwappedPages => {
                let copy = bytes[page(one)].to_vec();
                bytes.copy_within(page(other), one * PAGE);
                bytes[page(other)].copy_from_slice(&copy);
            }
            Spoiling::CopiedPage => bytes.copy_within(page(other), one * PAGE),
            Spoiling::Truncated => {
                let len = rng.below(bytes.len() as u64) as usize;
                // Not to nothing: an empty file is a store that is yet to be created.
                bytes.truncate(if rng.below(2) == 0 { len.max(1) } else { (len / PAGE * PAGE).max(PAGE) });
            }
        }
    }
}

/// The number of a page that is not empty, if a few tries find one. The file has whole pages.
fn used_page(bytes: &[u8], rng: &mut Rng) -> usize {
    let pages = (bytes.len() / PAGE) as u64;
    let drawn = |rng: &mut Rng| rng.below(pages) as usize;
    let used = |page: &usize| bytes[page * PAGE..(page + 1) * PAGE].iter().any(|byte| *byte != 0);
    (0..50).map(|_| drawn(rng)).find(used).unwrap_or(0)
}

fn flip(bytes: &mut [u8], at: usize, rng: &mut Rng) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << rng.below(8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damage_changes_the_file() {
        let mut whole = vec![0; 40 * PAGE];
        let mut rng = Rng::new(1);
        whole[..20 * PAGE].fill_with(|| rng.word() as u8);
        for spoiling in SPOILINGS {
            let changed = (0..100).filter(|seed| {
                let mut bytes = whole.clone();
                spoiling.apply(&mut bytes, &mut Rng::new(*seed));
                assert_eq!(bytes.len() == whole.len(), spoiling != Spoiling::Truncated);
                bytes != whole
            });
            // Some pages are drawn twice, and some bits are flipped back.
            assert!(changed.count() > 80, "{spoiling:?}");
        }
    }
}
