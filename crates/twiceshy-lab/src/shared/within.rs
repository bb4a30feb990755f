//! Is a key denied that a set must show within a time?

use super::linear::{Does, Operation};
use std::time::Duration;

/// A denial that must not have been: when its look-up began, and when the insertion had ended that it missed.
pub(super) fn wrong_denial(operations: &[Operation], within: Duration, excused: &[(u64, u64)]) -> Option<(u64, u64)> {
    // The stated time on the slowest clock, as others must wait for it.
    let within = (within + within / 64).as_nanos() as u64;
    let removals = || operations.iter().filter(|operation| operation.does == Does::Write(None));
    let is_excused =
        |begin: u64, end: u64| excused.iter().any(|(from, to)| begin <= to.saturating_add(within) && end >= *from);
    // The store must have held the key to the end: it may lose what it has acknowledged.
    let last = operations
        .iter()
        .filter(|operation| matches!(operation.does, Does::Read(_)))
        .max_by_key(|operation| operation.begin)?;
    if last.does == Does::Read(None) {
        return None;
    }
    for denial in operations.iter().filter(|operation| operation.does == Does::Read(None)) {
        let end = denial.end.unwrap_or(u64::MAX);
        let missed =
            operations.iter().filter(|operation| matches!(operation.does, Does::Write(Some(_)))).find(|insertion| {
                let stays = removals()
                    .all(|removal| removal.end.is_some_and(|ended| ended < insertion.begin) || removal.begin > end);
                stays && insertion.end.is_some_and(|ended| ended.saturating_add(within) < denial.begin)
            });
        if let Some(insertion) = missed
            && !is_excused(denial.begin, end)
        {
            return Some((denial.begin, insertion.end.unwrap_or(0)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_nanos(64);

    fn operation(begin: u64, does: Does) -> Operation {
        Operation { begin, end: Some(begin + 5), does }
    }

    #[test]
    fn a_denial_is_wrong_if_the_key_was_there_for_longer_than_the_time() {
        let (wrote, last) = (operation(0, Does::Write(Some(1))), operation(900, Does::Read(Some(1))));
        let denied = |begin| [wrote, operation(begin, Does::Read(None)), last];
        assert_eq!(wrong_denial(&denied(60), WITHIN, &[]), None);
        assert_eq!(wrong_denial(&denied(80), WITHIN, &[]), Some((80, 5)));
        assert_eq!(wrong_denial(&denied(80), WITHIN, &[(70, 75)]), None, "the engine had a failover");
        assert_eq!(wrong_denial(&denied(300), WITHIN, &[(70, 75)]), Some((300, 5)));
        let removed = [&denied(80)[..], &[operation(20, Does::Write(None))]].concat();
        assert_eq!(wrong_denial(&removed, WITHIN, &[]), None);
        let lost = [wrote, operation(80, Does::Read(None)), operation(900, Does::Read(None))];
        assert_eq!(wrong_denial(&lost, WITHIN, &[]), None, "the store itself has lost it");
    }
}
