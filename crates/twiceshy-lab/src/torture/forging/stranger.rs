//! The snapshot of another store: the same filter, rate and number of keys, but other keys.

use crate::torture::Wrong;
use crate::torture::ordeal::Scene;
use crate::torture::trouble::Trouble;
use crate::workload::rng::Rng;
use std::fmt::Display;
use twiceshy_store::{MemoryStore, SNAPSHOT_FILE};

/// Replaces a store's snapshot by that of another store.
pub(super) fn put(scene: &Scene, rng: &mut Rng) -> Result<(), Trouble> {
    let options = scene.turn.options().snapshot(scene.folder.join(SNAPSHOT_FILE)).background(false);
    let guard = options.open(MemoryStore::new()).map_err(wrong)?;
    let first = rng.below(1 << 40);
    let keys = (first..first + scene.model.len()).map(|number| format!("stranger {number}"));
    guard.insert_all(keys.map(|key| (key, "a stranger's value"))).map_err(wrong)?;
    guard.close().map_err(wrong)
}

fn wrong(error: impl Display) -> Trouble {
    Trouble::Store(Wrong::Answer(format!("another store in memory failed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::super::layout::filter;
    use super::*;
    use crate::torture::testing::scene;
    use twiceshy_store::Kind;

    #[test]
    fn a_strangers_snapshot_has_as_many_keys_and_knows_none_of_the_stores() {
        let (_folder, scene) = scene(Kind::Telescoping, 300);
        put(&scene, &mut Rng::new(1)).expect("a folder");
        let bytes = std::fs::read(scene.folder.join(SNAPSHOT_FILE)).expect("a snapshot");
        let (filter, _) = Kind::Telescoping.load(&mut filter(&bytes).expect("a filter")).expect("it loads");
        assert_eq!(filter.len(), 300);
        let known = scene.model.0.keys().filter(|key| filter.contains(key)).count();
        assert!(known < 100, "it knows {known} keys");
    }
}
