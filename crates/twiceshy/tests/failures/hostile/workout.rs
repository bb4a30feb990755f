//! Everything that a filter can do, whatever file it came from.

use super::parts::key;
use twiceshy::AdaptiveFilter;
use twiceshy::error::Error;
use twiceshy::filter::{Backed, Progress};
use twiceshy::hash::HashKey;
use twiceshy::remote::Remote;
use twiceshy::testing::{saved, statistics};

/// Calls all of it with some keys; what the filter answers does not matter. Gives out what is saved of it then. A filter whose
/// remote is at another commit is refused.
pub(crate) fn use_all(
    filter: &dyn Backed,
    sequence: u64,
    remote: impl Remote,
    keys: u64,
    step: usize,
) -> Result<Vec<u8>, Error> {
    let mut pair = AdaptiveFilter::from_parts(filter.boxed(), sequence, remote)?;
    for turn in 0..3 {
        for number in (0..keys).step_by(step + turn) {
            let key = key(number);
            assert_eq!(pair.filter().lookup(&key).is_empty(), !pair.contains(&key));
            let _ = pair.insert(&key);
            let _ = pair.was_wrong(&self::key(number + 20_000));
            let _ = pair.was_wrong(&key);
            if number % 3 == 0 {
                let _ = pair.remove(&key);
            }
        }
        assert!(pair.filter().load() >= 0.0 && pair.local_bits() > 0);
        let _ = (pair.validate(), pair.wants_rebuild(), pair.resolve(), statistics(pair.filter()));
        let begun = match turn {
            0 => pair.begin_grow(pair.filter().cells() + 9).is_ok(),
            1 => pair.begin_rekey(HashKey::fixed(3)).is_ok(),
            _ => false,
        };
        while begun && matches!(pair.rebuild_step(keys as usize / 5), Ok(Progress::More)) {}
    }
    assert!(!pair.is_in_doubt(), "no answer was lost");
    Ok(saved(pair.filter()))
}
