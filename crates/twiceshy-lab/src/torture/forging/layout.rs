//! The bytes of a snapshot and of the filter in it, as `docs/format.md` describes them.

use crate::workload::rng::Rng;
use std::io;
use twiceshy_store::Kind;

/// Magic, version, commit number and tag, length of the filter.
pub(super) const FIELDS: usize = 34;
/// The length of a code: one after the fields, one at the end.
pub(super) const CODE: usize = 32;
/// The header of a saved filter.
const FILTER_HEADER: usize = 64;

/// A number of a snapshot's fields.
#[cfg(test)]
pub(super) fn number(snapshot: &[u8], at: usize) -> u64 {
    let bytes = snapshot.iter().copied().skip(at).take(8).collect::<Vec<u8>>();
    bytes.into_iter().rev().fold(0, |number, byte| number << 8 | u64::from(byte))
}

/// The filter in a snapshot.
pub(super) fn filter(snapshot: &[u8]) -> io::Result<&[u8]> {
    let end = snapshot.len().saturating_sub(CODE);
    snapshot.get(FIELDS + CODE..end).ok_or_else(|| io::Error::other("the snapshot is too short to be forged"))
}

/// The filter with changed bits and right checksums. Tries until the filter is one that loads.
pub(super) fn with_wrong_bits(filter: &[u8], kind: Kind, rng: &mut Rng) -> Vec<u8> {
    let mut changed = filter.to_vec();
    for _ in 0..50 {
        changed = filter.to_vec();
        let payload = (changed.len() - FILTER_HEADER.min(changed.len())) as u64;
        for _ in 0..1 + rng.below(8) {
            let at = FILTER_HEADER + rng.below(payload) as usize;
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        seal(&mut changed);
        if kind.load(&mut &changed[..]).is_ok() {
            break;
        }
    }
    changed
}

/// Puts right the checksums of a saved filter: that of its payload, and then that of its header.
fn seal(filter: &mut [u8]) {
    if filter.len() < FILTER_HEADER {
        return;
    }
    let payload = crc32fast::hash(&filter[FILTER_HEADER..]);
    filter[32..36].copy_from_slice(&payload.to_le_bytes());
    let header = crc32fast::hash(&filter[..FILTER_HEADER - 4]);
    filter[FILTER_HEADER - 4..FILTER_HEADER].copy_from_slice(&header.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy_store::{MemoryStore, Options};

    #[test]
    fn a_filter_with_wrong_bits_differs_and_loads() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot");
        for kind in Kind::ALL {
            let guard = Options::new().filter(*kind).snapshot(&path).open(MemoryStore::new()).expect("an empty store");
            guard.insert_all((0..800u64).map(|number| (number.to_be_bytes(), b""))).expect("memory");
            guard.close().expect("a folder");
            let snapshot = std::fs::read(&path).expect("a snapshot");
            let own = filter(&snapshot).expect("a long snapshot");
            let changed = with_wrong_bits(own, *kind, &mut Rng::new(1));
            assert_ne!(changed[FILTER_HEADER..], own[FILTER_HEADER..], "{kind}");
            let loaded = kind.load(&mut &changed[..]).map(|(filter, sequence)| (filter.len(), sequence));
            assert!(matches!(loaded, Ok((800, _))), "{kind}: {loaded:?}");
        }
    }
}
