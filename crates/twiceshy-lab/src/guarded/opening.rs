//! How long a guarded store takes to open.

use super::GuardedError;
use super::keys::{key, value};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use twiceshy_store::{Durability, FilterKind, Guard, Options, RedbStore, SNAPSHOT_FILE, STORE_FILE};

/// What opening takes, in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Opening {
    /// Keys in the store.
    pub keys: u64,
    /// The filter.
    pub filter: String,
    /// Filling the store, the store's own work included.
    pub filling_seconds: f64,
    /// The store's file, without any filter.
    pub store_seconds: f64,
    /// From the snapshot.
    pub snapshot_seconds: f64,
    /// From a snapshot that is so many changes old.
    pub changes: u64,
    /// What that takes.
    pub rolled_forward_seconds: f64,
    /// Without a snapshot, until look-ups are answered, from the store.
    pub unfiltered_seconds: f64,
    /// Without a snapshot, until the filter is there.
    pub rebuilt_seconds: f64,
    /// The size of the snapshot in bytes.
    pub snapshot_bytes: u64,
}

/// Fills a store in a folder and opens it again and again.
pub fn open(
    kind: FilterKind,
    keys: u64,
    changes: u64,
    folder: &Path,
    progress: &dyn Fn(u64, u64),
) -> Result<Opening, GuardedError> {
    if changes == 0 || changes > keys / 8 {
        return Err(GuardedError::Settings(
            "a snapshot can be brought over an eighth as many changes as there are keys, and one at least",
        ));
    }
    let (path, snapshot) = (folder.join(STORE_FILE), folder.join(SNAPSHOT_FILE));
    let options = || Options::new().durability(Durability::Seen);
    let begun = Instant::now();
    let guard = options().filter(kind).expected_keys(keys).open_folder(folder)?;
    let told = (0..keys).inspect(|number| {
        if number.is_multiple_of(10_000) {
            progress(*number, keys);
        }
    });
    guard.insert_all(told.map(|number| (key(number), value(number))))?;
    guard.close()?;
    let filling_seconds = begun.elapsed().as_secs_f64();

    let begun = Instant::now();
    drop(RedbStore::open(&path)?);
    let store_seconds = begun.elapsed().as_secs_f64();

    let opened = |what: &dyn Fn(&Guard<RedbStore>) -> Result<bool, GuardedError>| -> Result<(f64, f64), GuardedError> {
        let begun = Instant::now();
        let guard = options().open_folder(folder)?;
        let answers = begun.elapsed().as_secs_f64();
        guard.wait()?;
        let ready = begun.elapsed().as_secs_f64();
        let right = what(&guard)? && guard.contains(&key(keys - 1))?;
        guard.close()?;
        if right { Ok((answers, ready)) } else { Err(GuardedError::Wrong) }
    };
    let (snapshot_seconds, _) = opened(&|guard| Ok(guard.stats()?.rebuilt == 0 && guard.stats()?.rolled_forward == 0))?;
    let snapshot_bytes = std::fs::metadata(&snapshot)?.len();

    // Without a place for it the snapshot stays as it is: as if the process had been killed.
    let guard = options().open(RedbStore::open(&path)?)?;
    guard.insert_all((keys..keys + changes / 2).map(|number| (key(number), value(number))))?;
    guard.remove_all((0..changes - changes / 2).map(key))?;
    guard.close()?;
    // What a broom filter has learned since would be lost, so it is made anew, under new functions.
    let (rolled_forward_seconds, rebuilt_seconds) = opened(&|guard| {
        let stats = guard.stats()?;
        Ok(if kind == FilterKind::Broom { stats.rebuilt == 1 } else { stats.rolled_forward == changes })
    })?;
    let rolled_forward_seconds = if kind == FilterKind::Broom { rebuilt_seconds } else { rolled_forward_seconds };

    std::fs::remove_file(&snapshot)?;
    let (unfiltered_seconds, rebuilt_seconds) = opened(&|guard| Ok(guard.stats()?.rebuilt == 1))?;
    Ok(Opening {
        keys,
        filter: kind.to_string(),
        filling_seconds,
        store_seconds,
        snapshot_seconds,
        changes,
        rolled_forward_seconds,
        unfiltered_seconds,
        rebuilt_seconds,
        snapshot_bytes,
    })
}
