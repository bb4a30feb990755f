//! Is a key denied that a set must show within a time?

use super::linear::{Does, Operation};
use std::time::Duration;

/// A time in which the engine may lose what it has acknowledged, and may be asked at two servers.
pub(super) type Window = (u64, u64);

/// A denial that must not have been: when its look-up began, and when the insertion had ended that it missed.
pub(super) fn wrong_denial(operations: &[Operation], within: Duration, windows: &[Window]) -> Option<(u64, u64)> {
    // The stated time on the slowest clock, as others must wait for it.
    let within = (within + within / 64).as_nanos() as u64;
    let is_excused =
        |begin: u64, end: u64| windows.iter().any(|(from, to)| begin <= to.saturating_add(within) && end >= *from);
    let removals = || operations.iter().filter(|operation| operation.does == Does::Write(None));
    let insertions = || operations.iter().filter(|operation| matches!(operation.does, Does::Write(Some(_))));
    operations.iter().filter(|operation| operation.does == Does::Read(None)).find_map(|denial| {
        let end = denial.end.unwrap_or(u64::MAX);
        if is_excused(denial.begin, end) {
            return None;
        }
        let missed = insertions().find(|insertion| {
            let is_old = insertion.end.is_some_and(|ended| ended.saturating_add(within) < denial.begin);
            is_old
                && removals()
                    .all(|removal| removal.end.is_some_and(|ended| ended < insertion.begin) || removal.begin > end)
                && windows.iter().all(|window| {
                    window.1 < insertion.begin || end < window.0 || survived(operations, insertion, window)
                })
        });
        missed.map(|insertion| (denial.begin, insertion.end.unwrap_or(0)))
    })
}

/// `true` if somebody saw after a window that the engine has kept the key: the value of this insertion, or of another one that had ended when the
/// window did.
fn survived(operations: &[Operation], insertion: &Operation, window: &Window) -> bool {
    let is_kept = |value: Does| {
        value == insertion.does
            || operations.iter().any(|other| other.does == value && other.end.is_some_and(|ended| ended <= window.1))
    };
    operations.iter().any(|read| match read.does {
        Does::Read(Some(value)) => read.begin > window.1 && is_kept(Does::Write(Some(value))),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_nanos(64);

    fn operation(begin: u64, does: Does) -> Operation {
        Operation { begin, end: Some(begin + 5), does }
    }

    fn read(begin: u64) -> Operation {
        operation(begin, Does::Read(Some(1)))
    }

    fn denied(begin: u64) -> Operation {
        operation(begin, Does::Read(None))
    }

    const WROTE: Operation = Operation { begin: 0, end: Some(5), does: Does::Write(Some(1)) };

    #[test]
    fn a_denial_is_wrong_if_the_key_was_there_for_longer_than_the_time() {
        let wrong = |begin| wrong_denial(&[WROTE, denied(begin)], WITHIN, &[]);
        assert_eq!((wrong(60), wrong(80)), (None, Some((80, 5))));
        for removal in [operation(20, Does::Write(None)), Operation { end: None, ..operation(20, Does::Write(None)) }] {
            assert_eq!(wrong_denial(&[WROTE, denied(80), removal], WITHIN, &[]), None);
        }
        let before = [operation(0, Does::Write(None)), Operation { begin: 6, end: Some(9), ..WROTE }, denied(80)];
        assert_eq!(wrong_denial(&before, WITHIN, &[]), Some((80, 9)));
        let unknown = Operation { end: None, ..WROTE };
        assert_eq!(wrong_denial(&[unknown, denied(80)], WITHIN, &[]), None, "nobody was told that it is there");
    }

    #[test]
    fn a_denial_during_a_failover_is_excused_and_a_later_one_is_not() {
        let wrong = |begin| wrong_denial(&[WROTE, denied(begin), read(900)], WITHIN, &[(70, 75)]);
        assert_eq!((wrong(80), wrong(140), wrong(141)), (None, None, Some((141, 5))));
        assert_eq!(wrong_denial(&[WROTE, denied(80), read(900)], WITHIN, &[(700, 750)]), Some((80, 5)));
    }

    #[test]
    fn a_key_counts_after_a_failover_only_if_somebody_has_seen_that_it_is_still_there() {
        let windows = [(70, 75)];
        assert_eq!(wrong_denial(&[WROTE, denied(300)], WITHIN, &windows), None, "it may be lost");
        assert_eq!(wrong_denial(&[WROTE, read(72), denied(300)], WITHIN, &windows), None, "the old server has said so");
        let again = Operation { begin: 400, end: Some(405), does: Does::Write(Some(2)) };
        let seen = operation(900, Does::Read(Some(2)));
        assert_eq!(wrong_denial(&[WROTE, denied(300), again, seen], WITHIN, &windows), None, "it is another one");
        let another = Operation { begin: 60, end: Some(74), ..again };
        assert_eq!(wrong_denial(&[WROTE, another, denied(300), seen], WITHIN, &windows), Some((300, 5)));
        let after = Operation { begin: 80, end: Some(85), ..WROTE };
        assert_eq!(wrong_denial(&[after, denied(300)], WITHIN, &windows), Some((300, 85)));
    }
}
