//! How long a guarded store takes to open.

use super::GuardedError;
use super::keys::{key, value};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use twiceshy_store::{Durability, Guard, Kind, Options, RedbStore, SNAPSHOT_FILE, STORE_FILE};

/// Opening times, in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Opening {
    /// Keys in the store.
    pub keys: u64,
    /// The filter.
    pub filter: String,
    /// Filling the store, including the store's own work.
    pub filling_seconds: f64,
    /// The store's file, without a filter.
    pub store_seconds: f64,
    /// From the snapshot.
    pub snapshot_seconds: f64,
    /// The number of changes that the outdated snapshot lacks.
    pub changes: u64,
    /// From the outdated snapshot.
    pub rolled_forward_seconds: f64,
    /// Without a snapshot, until the store answers look-ups.
    pub unfiltered_seconds: f64,
    /// Without a snapshot, until the filter is ready.
    pub rebuilt_seconds: f64,
    /// The size of the snapshot in bytes.
    pub snapshot_bytes: u64,
}

/// Fills a store in a folder and opens it in every way.
pub fn open(
    kind: Kind,
    keys: u64,
    changes: u64,
    folder: &Path,
    progress: &dyn Fn(u64, u64),
) -> Result<Opening, GuardedError> {
    if changes == 0 || changes > keys / 8 {
        return Err(GuardedError::Settings(
            "the number of changes must be at least 1 and at most an eighth of the keys",
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
    let (snapshot_seconds, _) = opened(&|guard| Ok(guard.stats().rebuilt == 0 && guard.stats().rolled_forward == 0))?;
    let snapshot_bytes = std::fs::metadata(&snapshot)?.len();

    // Without a snapshot path the snapshot is not updated, as if the process had been killed.
    let guard = options().open(RedbStore::open(&path)?)?;
    guard.insert_all((keys..keys + changes / 2).map(|number| (key(number), value(number))))?;
    guard.remove_all((0..changes - changes / 2).map(key))?;
    guard.close()?;
    // A broom filter rebuilds itself under new functions here, since what it learned after the snapshot is lost.
    let (rolled_forward_seconds, rebuilt_seconds) = opened(&|guard| {
        let stats = guard.stats();
        Ok(if kind == Kind::Broom { stats.rebuilt == 1 } else { stats.rolled_forward == changes })
    })?;
    let rolled_forward_seconds = if kind == Kind::Broom { rebuilt_seconds } else { rolled_forward_seconds };

    std::fs::remove_file(&snapshot)?;
    let (unfiltered_seconds, rebuilt_seconds) = opened(&|guard| Ok(guard.stats().rebuilt == 1))?;
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
