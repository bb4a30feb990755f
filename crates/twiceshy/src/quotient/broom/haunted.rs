//! Ghosts, close together: those of 256 quotients are one string of bits.
//!
//! A ghost is a one, eight bits for its quotient, six for the length of its adaptivity bits, and these; behind the last there
//! are zeros. There may be nearly as many ghosts as keys, and with a list for each quotient they took 400 bits each.

use super::strings::Bits;
use crate::touched;
use std::collections::BTreeMap;

/// A level and a quotient.
pub(crate) type Place = (u8, u64);

/// A group's part of a quotient.
const WITHIN: u64 = 256;

/// What a group takes beside its bytes: its entry in the map, with what a node of it leaves empty, and the allocation.
const BESIDE: u64 = 64 * 8;

/// The ghosts of one hash function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Haunted {
    groups: BTreeMap<(u8, u64), Box<[u8]>>,
}

impl Haunted {
    /// Brings a ghost in; `false` where an equal one is there.
    pub(crate) fn add(&mut self, (level, quotient): Place, bits: Bits) -> bool {
        let group = self.groups.entry((level, quotient / WITHIN)).or_default();
        touched::note_slice(group);
        let mut ghosts: Vec<(u64, Bits)> = Ghosts::of(group).collect();
        let Err(at) = ghosts.binary_search(&(quotient % WITHIN, bits)) else { return false };
        ghosts.insert(at, (quotient % WITHIN, bits));
        *group = packed(&ghosts);
        true
    }

    /// Takes a ghost out.
    pub(crate) fn remove(&mut self, (level, quotient): Place, bits: Bits) {
        let at = (level, quotient / WITHIN);
        let Some(group) = self.groups.get_mut(&at) else { return };
        let ghosts: Vec<_> = Ghosts::of(group).filter(|ghost| *ghost != (quotient % WITHIN, bits)).collect();
        match ghosts.is_empty() {
            true => drop(self.groups.remove(&at)),
            false => *group = packed(&ghosts),
        }
    }

    /// Makes one of all ghosts in order, each once.
    pub(crate) fn from_sorted(ghosts: impl Iterator<Item = (Place, Bits)>) -> Haunted {
        let mut haunted = Haunted::default();
        let mut ghosts = ghosts.peekable();
        while let Some(((level, quotient), _)) = ghosts.peek() {
            let at = (*level, quotient / WITHIN);
            let mut group = Vec::new();
            while let Some(((_, quotient), bits)) = ghosts.next_if(|((level, q), _)| (*level, q / WITHIN) == at) {
                group.push((quotient % WITHIN, bits));
            }
            haunted.groups.insert(at, packed(&group));
        }
        haunted
    }

    /// The ghosts of a quotient.
    pub(crate) fn at(&self, (level, quotient): Place) -> impl Iterator<Item = Bits> + '_ {
        let group = self.groups.get(&(level, quotient / WITHIN)).into_iter();
        let ghosts = group.inspect(|group| touched::note_slice(group)).flat_map(|group| Ghosts::of(group));
        ghosts.filter(move |(own, _)| *own == quotient % WITHIN).map(|(_, bits)| bits)
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, Bits)> + '_ {
        self.groups.iter().flat_map(|((level, group), bytes)| {
            Ghosts::of(bytes).map(move |(within, bits)| ((*level, group * WITHIN + within), bits))
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Forgets one group.
    pub(crate) fn forget_some(&mut self) {
        self.groups.pop_first();
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.groups.values().map(|bytes| bytes.len() as u64 * 8 + BESIDE).sum()
    }
}

/// The ghosts of a group, as they are unpacked.
struct Ghosts<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl Ghosts<'_> {
    fn of(bytes: &[u8]) -> Ghosts<'_> {
        Ghosts { bytes, bit: 0 }
    }

    /// Some bits, the first one lowest; zeros behind the end.
    fn take(&mut self, len: u32) -> u64 {
        let at = self.bit / 8;
        let mut window = [0; 16];
        let rest = self.bytes.get(at..).unwrap_or_default();
        let bytes = rest.len().min(window.len());
        window[..bytes].copy_from_slice(&rest[..bytes]);
        let bits = u128::from_le_bytes(window) >> (self.bit % 8);
        self.bit += len as usize;
        Bits::prefix(bits as u64, len).bits
    }
}

impl Iterator for Ghosts<'_> {
    type Item = (u64, Bits);

    fn next(&mut self) -> Option<(u64, Bits)> {
        if self.take(1) == 0 {
            return None;
        }
        let (within, len) = (self.take(8), self.take(6) as u32 + 1);
        Some((within, Bits { len, bits: self.take(len) }))
    }
}

fn packed(ghosts: &[(u64, Bits)]) -> Box<[u8]> {
    let (mut bytes, mut held, mut count) = (Vec::new(), 0u128, 0);
    let mut put = |bits: u64, len: u32| {
        held |= u128::from(bits) << count;
        count += len;
        while count >= 8 {
            bytes.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    };
    for (within, string) in ghosts {
        put(1 | within << 1 | u64::from(string.len - 1) << 9, 15);
        put(string.bits, string.len);
    }
    if count > 0 {
        bytes.push(held as u8);
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn packed_ghosts_agree_with_a_set() {
        let mut rng = SplitMix64::from_state(5);
        let (mut haunted, mut exact) = (Haunted::default(), BTreeSet::new());
        for step in 0..6_000 {
            let place = (rng.below(2) as u8, rng.below(700));
            let len = if rng.below(20) == 0 { 1 + rng.below(64) as u32 } else { 1 + rng.below(3) as u32 };
            let bits = Bits::prefix(rng.next(), len);
            if rng.below(3) > 0 {
                assert_eq!(haunted.add(place, bits), exact.insert((place, bits)));
            } else {
                haunted.remove(place, bits);
                exact.remove(&(place, bits));
            }
            if let Some((place, bits)) = exact.first().copied().filter(|_| step % 3 == 0) {
                haunted.remove(place, bits);
                exact.remove(&(place, bits));
            }
            let here: Vec<Bits> = exact.iter().filter(|(own, _)| *own == place).map(|(_, bits)| *bits).collect();
            assert_eq!(haunted.at(place).collect::<Vec<_>>(), here);
        }
        assert_eq!(haunted.iter().collect::<Vec<_>>(), exact.iter().copied().collect::<Vec<_>>());
        assert!(exact.len() > 500);
        assert_eq!(Haunted::from_sorted(exact.iter().copied()), haunted);
        for (place, bits) in exact {
            haunted.remove(place, bits);
        }
        assert!(haunted.is_empty() && haunted.allocated_bits() == 0);
    }
}
