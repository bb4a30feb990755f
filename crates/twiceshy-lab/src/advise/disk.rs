//! The size of a store on disk, measured on a real one.

use super::{AdviseError, Candidate};
use crate::workload::keys::Keys;
use std::path::Path;
use twiceshy::Kind;
use twiceshy_store::{Options, Planned, STORE_FILE};

/// The most keys of a store that is made only to be measured.
const MOST_KEYS: u64 = 40_000;

/// The most bytes of its keys and values.
const MOST_BYTES: u64 = 32 << 20;

/// Makes a store as `twiceshy create` does in this folder, fills it, and returns the bytes of its file for `keys` keys.
///
/// redb doubles its file when it is full. So a store of more than 40,000 keys, or 32 MB, is measured at a half, a quarter, … of
/// them, and the file doubled as often.
pub(super) fn bytes(
    candidate: Candidate,
    planned: &Planned,
    keys: u64,
    key_bytes: usize,
    value_bytes: usize,
    folder: &Path,
) -> Result<u64, AdviseError> {
    let most = (MOST_BYTES / (key_bytes + value_bytes).max(1) as u64).clamp(1, MOST_KEYS);
    let mut doublings = 0;
    while keys.div_ceil(1 << doublings) > most {
        doublings += 1;
    }
    let filled = keys.div_ceil(1 << doublings);
    let path = folder.join(format!("{}-{}", candidate.kind(), planned.width));
    let rate = rate_for(candidate, planned, filled);
    // Created by one command and filled by another: closing cuts the new file, and later doublings begin there.
    candidate.options(filled, rate).create_new(true).open_folder(&path)?.close()?;
    let guard = Options::new().create(false).open_folder(&path)?;
    let numbers = Keys::new(filled, 0, 1).ok_or_else(|| AdviseError::Bug("too many keys".into()))?;
    let value = vec![b'v'; value_bytes];
    guard.insert_all(numbers.stored_keys().map(|key| (stretched(key, key_bytes), &value)))?;
    let size = || Ok::<u64, std::io::Error>(path.join(STORE_FILE).metadata()?.len());
    // Closing frees what is unused at the end of the file, which is a matter of luck in a smaller file.
    let open = size()?;
    guard.close()?;
    let closed = size()?;
    std::fs::remove_dir_all(&path)?;
    Ok(if doublings == 0 { closed } else { open << doublings })
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
    fn a_larger_store_is_measured_in_a_smaller_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let quotient = Candidate::all().into_iter().find(|own| own.kind() == Kind::Quotient).expect("a candidate");
        let bytes = |keys: u64| {
            let planned = quotient.options(keys, 0.01).planned().expect("usual options");
            bytes(quotient, &planned, keys, 20, 0, folder.path()).expect("a store")
        };
        let (small, large) = (bytes(2_000), bytes(8 * MOST_KEYS));
        assert!((500_000..5_000_000).contains(&small), "{small}");
        assert!((40_000_000..140_000_000).contains(&large), "{large}");
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0, "nothing is left");
    }
}
