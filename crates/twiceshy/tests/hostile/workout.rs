//! Everything that a filter can do, whatever file it came from.

use super::parts::key;
use twiceshy::filter::Progress;
use twiceshy::hash::HashKey;
use twiceshy::remote::Remote;
use twiceshy::testing::Subject;

/// Calls all of it with some keys; what the filter answers does not matter. Gives out what has become of it.
pub(crate) fn use_all<F: Subject, R: Remote>(mut filter: F, mut remote: R, keys: u64, step: usize) -> F {
    for turn in 0..3 {
        for number in (0..keys).step_by(step + turn) {
            let key = key(number);
            let named = filter.lookup(&key).map_or(0, Iterator::count);
            assert_eq!(named > 0, filter.contains(&key));
            let _ = filter.insert(&key, &mut remote);
            let _ = filter.try_adapt(&self::key(number + 20_000), &mut remote);
            let _ = filter.try_adapt(&key, &mut remote);
            if number % 3 == 0 {
                let _ = filter.remove(&key, &mut remote);
            }
        }
        assert!(filter.load() >= 0.0 && filter.local_bits() > 0);
        let _ = (filter.validate(&remote), filter.wants_rebuild(), filter.resolve(&remote));
        let begun = match turn {
            0 => filter.begin_grow(filter.cells() + 9, &mut remote).is_ok(),
            1 => filter.begin_rekey(HashKey::fixed(3), &mut remote).is_ok(),
            _ => false,
        };
        while begun && matches!(filter.rebuild_step(keys as usize / 5, &mut remote), Ok(Progress::More)) {}
    }
    assert!(!filter.in_doubt(), "no answer was lost");
    filter
}
