//! Stores for the tests of ordeals.

use super::Turn;
use super::keys::{key, value};
use super::model::Model;
use super::ordeal::Scene;
use std::ops::Bound;
use tempfile::TempDir;
use twiceshy_store::{Change, CommitError, Durability, Kind, Space, Store};

/// One filter of each family: one index entry for each key, several, and several that move.
pub(super) const KINDS: [Kind; 3] = [Kind::Telescoping, Kind::Swapping, Kind::Broom];

/// A store of `keys` keys, and the temporary folder that it is in.
pub(super) fn scene(filter: Kind, keys: u64) -> (TempDir, Scene) {
    let temporary = tempfile::tempdir().expect("a folder");
    let (folder, beside) = (temporary.path().join("store"), temporary.path().join("beside"));
    let turn = Turn { seed: 1, round: 7, filter, rate: 0.125, operations: 0 };
    let model = Model((1..=keys).map(|number| (key(number), value(7, number, 0))).collect());
    let guard = turn.options().durability(Durability::Seen).open_folder(&folder).expect("a folder");
    guard.insert_all(&model.0).expect("a disk");
    guard.close().expect("a disk");
    (temporary, Scene { turn, folder, beside, model })
}

/// A store that ignores all changes of one key's value, and says that they were made.
pub(super) struct Liar<S> {
    inner: S,
    key: Vec<u8>,
}

impl<S: Store> Liar<S> {
    pub(super) fn new(inner: S, key: &[u8]) -> Liar<S> {
        Liar { inner, key: key.to_vec() }
    }
}

impl<S: Store> Store for Liar<S> {
    type Error = S::Error;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        self.inner.get(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), S::Error> {
        self.inner.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<S::Error>> {
        let kept = changes.iter().filter(|change| change.space != Space::Values || change.key != self.key);
        self.inner.commit(&kept.cloned().collect::<Vec<_>>(), durability)
    }
}
