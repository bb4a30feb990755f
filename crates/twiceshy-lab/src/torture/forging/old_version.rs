//! A snapshot of version 1, whose checksums anybody can compute.

use super::layout::{filter, with_wrong_bits};
use crate::workload::rng::Rng;
use std::io;
use std::path::Path;
use twiceshy_store::{Kind, RedbStore, STORE_FILE, Space, Store};

/// The length of the header.
const HEADER: usize = 50;

/// Version 1 of a snapshot, with the identity of the store and wrong bits in the filter.
pub(super) fn forge(folder: &Path, snapshot: &[u8], kind: Kind, rng: &mut Rng) -> io::Result<Vec<u8>> {
    let store = RedbStore::open(folder.join(STORE_FILE)).map_err(io::Error::other)?;
    let state = store.get(Space::Meta, b"state").map_err(io::Error::other)?;
    let identity = state.as_ref().and_then(|state| state.get(1..17));
    let identity = identity.ok_or_else(|| io::Error::other("the store has no state record"))?;
    let filter = with_wrong_bits(filter(snapshot)?, kind, rng);
    let mut forged = b"TWSYSNAP\x01\0".to_vec();
    forged.extend(identity);
    // The commit's number and tag.
    forged.extend(&snapshot[10..26]);
    forged.extend(crc32fast::hash(&filter).to_le_bytes());
    forged.extend(crc32fast::hash(&forged).to_le_bytes());
    debug_assert_eq!(forged.len(), HEADER);
    forged.extend(filter);
    Ok(forged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::testing::scene;
    use twiceshy_store::SNAPSHOT_FILE;

    #[test]
    fn the_checksums_of_a_forged_old_snapshot_are_right() {
        let (_folder, scene) = scene(Kind::Telescoping, 300);
        let own = std::fs::read(scene.folder.join(SNAPSHOT_FILE)).expect("a snapshot");
        let forged = forge(&scene.folder, &own, Kind::Telescoping, &mut Rng::new(1)).expect("a store");
        assert_eq!(forged[26..42], own[10..26], "the same commit");
        assert_eq!(forged[42..46], crc32fast::hash(&forged[HEADER..]).to_le_bytes());
        assert_eq!(forged[46..50], crc32fast::hash(&forged[..46]).to_le_bytes());
        assert!(Kind::Telescoping.load(&mut &forged[HEADER..]).is_ok());
    }
}
