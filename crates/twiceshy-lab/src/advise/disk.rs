//! The size of a store on disk, measured on a real one.
//!
//! redb's file grows by doubling and is cut when it is closed, so its length says little about a store of another size. The
//! pages in use grow with the keys, and are what is promised. The file has up to about twice as many bytes.

use super::{AdviseError, Candidate};
use crate::workload::keys::Keys;
use redb::Database;
use std::path::Path;
use twiceshy::Kind;
use twiceshy::hash::HashKey;
use twiceshy_store::{Planned, STORE_FILE};

/// The most keys of a store that is made only to be measured.
const MOST_KEYS: u64 = 40_000;

/// The most bytes of its keys and values.
const MOST_BYTES: u64 = 32 << 20;

/// Makes a store as `twiceshy create` does in this folder, fills it, and returns the bytes of the pages that `keys` keys use.
///
/// A store of more than 40,000 keys, or 32 MB, is measured with fewer, and each further key counts as much as those. The
/// hash key is fixed, so the same keys always give the same bytes.
pub(super) fn bytes(
    candidate: Candidate,
    planned: &Planned,
    keys: u64,
    key_bytes: usize,
    value_bytes: usize,
    folder: &Path,
) -> Result<u64, AdviseError> {
    let most = (MOST_BYTES / (key_bytes + value_bytes).max(1) as u64).clamp(1, MOST_KEYS);
    let filled = keys.min(most);
    let path = folder.join(format!("{}-{}", candidate.kind(), planned.width));
    let options = candidate.options(filled, rate_for(candidate, planned, filled));
    let guard = options.create_new(true).hash_key(HashKey::fixed(1)).open_folder(&path)?;
    let numbers = Keys::new(filled, 0, 1).ok_or_else(|| AdviseError::Bug("too many keys".into()))?;
    let value = vec![b'v'; value_bytes];
    guard.insert_all(numbers.stored_keys().map(|key| (stretched(key, key_bytes), &value)))?;
    guard.close()?;
    let used = bytes_in_use(&path.join(STORE_FILE))?;
    std::fs::remove_dir_all(&path)?;
    Ok((used as f64 * (keys as f64 / filled as f64)).round() as u64)
}

/// The bytes of the pages that a closed store's file uses. Makes two empty commits, which free the pages that the last
/// change has replaced.
pub fn bytes_in_use(file: &Path) -> Result<u64, AdviseError> {
    let counted = || -> Result<u64, redb::Error> {
        let database = Database::open(file)?;
        for _ in 0..2 {
            database.begin_write()?.commit()?;
        }
        let transaction = database.begin_write()?;
        let stats = transaction.stats()?;
        transaction.abort()?;
        Ok(stats.allocated_pages() * stats.page_size() as u64)
    };
    counted().map_err(|error| AdviseError::Pages(error.to_string()))
}

/// A rate with which a store of this many keys has the planned number of index entries for each. A broom filter has two
/// or three, which depends on its size.
fn rate_for(candidate: Candidate, planned: &Planned, filled: u64) -> f64 {
    let entries = |rate: f64| candidate.options(filled, rate).planned().map_or(0, |own| own.index_entries);
    let rates = (4..=16).filter_map(|width| candidate.rate_for(filled, width));
    let mut rates = std::iter::once(planned.rate).chain(rates);
    rates.find(|rate| entries(*rate) == planned.index_entries).unwrap_or(planned.rate)
}

/// A key of this many bytes. Short ones keep enough bytes to differ.
fn stretched(key: [u8; 8], bytes: usize) -> Vec<u8> {
    let mut key = key.to_vec();
    key.resize(bytes.max(5), b'k');
    key
}

/// The filter whose store is measured in place of this one: with as many index entries a key.
pub(super) fn stand_in(kind: Kind) -> Kind {
    match kind {
        Kind::Cyclic | Kind::Cuckooing => Kind::FullKey,
        Kind::Telescoping | Kind::TelescopingPlain | Kind::Extension => Kind::Quotient,
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy_store::Options;

    #[test]
    fn a_stand_in_has_as_many_index_entries() {
        for candidate in Candidate::all() {
            let entries = |kind: Kind| {
                let options = Options::new().filter(kind).expected_keys(10_000);
                options.planned().expect("usual options").index_entries
            };
            assert_eq!(entries(candidate.kind()), entries(stand_in(candidate.kind())), "{candidate:?}");
        }
    }

    #[test]
    fn a_small_store_has_as_many_index_entries_as_the_large_one() {
        for candidate in Candidate::all() {
            for (keys, rate) in [(10_000_000, 0.002), (10_000_000, 0.000_01), (60_000, 0.1)] {
                let planned = candidate.options(keys, rate).planned().expect("usual options");
                let rate = rate_for(candidate, &planned, 30_000);
                let small = candidate.options(30_000, rate).planned().expect("usual options");
                assert_eq!(small.index_entries, planned.index_entries, "{candidate:?}, {keys} keys");
            }
        }
    }

    #[test]
    fn a_larger_store_is_measured_in_a_smaller_one_and_always_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let quotient = Candidate::all().into_iter().find(|own| own.kind() == Kind::Quotient).expect("a candidate");
        let bytes = |keys: u64| {
            let planned = quotient.options(keys, 0.01).planned().expect("usual options");
            bytes(quotient, &planned, keys, 20, 0, folder.path()).expect("a store")
        };
        let (small, whole, large) = (bytes(4_000), bytes(MOST_KEYS), bytes(8 * MOST_KEYS));
        assert_eq!(large, 8 * whole);
        assert_eq!(large, bytes(8 * MOST_KEYS), "the same each time");
        // Without steps: ten times the keys, about ten times the bytes.
        assert!((9.0..11.0).contains(&(whole as f64 / small as f64)), "{small} and {whole}");
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0, "nothing is left");
    }
}
