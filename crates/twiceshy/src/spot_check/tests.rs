use super::*;
use std::sync::Arc;

/// A clock on which nobody can ask more than 100 times in a second.
fn slow_clock() -> impl Fn() -> Duration {
    let ticks = AtomicU64::new(0);
    move || Duration::from_millis(10 * ticks.fetch_add(1, Relaxed))
}

/// A clock that stands until it is set, in milliseconds.
fn set_clock() -> (Arc<AtomicU64>, impl Fn() -> Duration) {
    let time = Arc::new(AtomicU64::new(0));
    (Arc::clone(&time), move || Duration::from_millis(time.load(Relaxed)))
}

fn usual(seed: u64) -> SpotCheck {
    SpotCheck::fixed(Some(1_024), seed, slow_clock())
}

const SEEDS: u64 = 2_000;

/// 95 of 100, and three standard deviations fewer.
const NEARLY_ALL: usize = 1_900 - 29;

#[test]
fn rows_that_are_hidden_from_the_start_raise_the_alarm_within_300_answers_if_they_are_one_in_a_hundred() {
    // With a probability of 94.9 %: of 297 checks one finds a row.
    let found = (0..SEEDS).filter(|seed| {
        let (check, mut asked) = (usual(*seed), SplitMix64::from_state(seed ^ 0x7261_7265));
        (0..300).any(|_| check.is_due() & (asked.below(100) == 0))
    });
    let found = found.count();
    assert!(found >= NEARLY_ALL, "{found}");
}

#[test]
fn rows_that_are_hidden_after_ten_million_answers_raise_the_alarm_within_3_100_wrong_ones() {
    // With a probability of 95.2 %.
    for share in [1, 100] {
        let found = (0..SEEDS).filter(|seed| {
            let (check, mut asked) = (usual(*seed), SplitMix64::from_state(seed ^ 0x6c61_7465));
            check.skip_to(10_000_000);
            let mut wrong = 0;
            loop {
                let (is_due, is_wrong) = (check.is_due(), asked.below(share) == 0);
                wrong += u32::from(is_wrong);
                if is_due && is_wrong || wrong > 3_100 {
                    break wrong <= 3_100;
                }
            }
        });
        let found = found.count();
        assert!(found >= NEARLY_ALL, "one in {share}: {found}");
    }
}

#[test]
fn the_first_256_answers_are_checked_then_about_2_030_of_262_144_and_then_one_in_1_024() {
    let counts = |seed| {
        let check = usual(seed);
        let of = |answers: u32| (0..answers).filter(|_| check.is_due()).count() as f64;
        [of(256), of(10_000 - 256), of(262_144 - 10_000), of(1 << 20)]
    };
    let runs: Vec<[f64; 4]> = (0..20).map(counts).collect();
    let mean = |part: usize| runs.iter().map(|run| run[part]).sum::<f64>() / runs.len() as f64;
    assert!(runs.iter().all(|run| run[0] == 256.0));
    // The sums of 256/k, and four standard deviations of the mean of 20 runs.
    for (part, expected) in [(1, 938.0), (2, 836.0), (3, 1_024.0)] {
        let deviation = f64::sqrt(expected / 20.0);
        assert!((mean(part) - expected).abs() < 4.0 * deviation, "{part}: {} for {expected}", mean(part));
    }
}

#[test]
fn no_second_has_more_than_a_hundred_checks() {
    let (time, clock) = set_clock();
    let check = SpotCheck::fixed(Some(1), 1, clock);
    let due = |answers: u32| (0..answers).filter(|_| check.is_due()).count();
    assert_eq!(due(5_000), 100);
    time.store(999, Relaxed);
    assert_eq!(due(5_000), 0);
    time.store(1_000, Relaxed);
    assert_eq!((due(40), due(5_000)), (40, 60));
    // Nor has a second that begins within one of the clock's.
    time.store(2_500, Relaxed);
    assert_eq!(due(5_000), 100);
    time.store(3_400, Relaxed);
    assert_eq!(due(5_000), 0);
}

#[test]
fn nothing_is_checked_if_it_is_off() {
    let check = SpotCheck::new(None);
    assert!((0..100_000).all(|_| !check.is_due()));
    assert_eq!(check.counts(), SpotCounts::default());
    // 0 would be a division by zero.
    assert!(SpotCheck::new(Some(0)).is_due());
}

#[test]
fn an_alarm_begins_anew_and_is_told_once_a_minute() {
    let (time, clock) = set_clock();
    let check = SpotCheck::fixed(Some(1_024), 1, clock);
    let next_second = || time.fetch_add(1_000, Relaxed);
    check.skip_to(1 << 40);
    assert!((0..50).filter(|_| check.is_due()).count() < 5);
    check.checked(Verdict::Fine);
    assert_eq!(check.counts().clean, 1);
    check.checked(Verdict::Denied);
    assert!(check.alarm());
    assert_eq!(check.counts().clean, 0);
    next_second();
    assert!((0..100).all(|_| check.is_due()), "as at the beginning");
    assert!((0..58).all(|_| {
        next_second();
        !check.alarm()
    }));
    next_second();
    assert!(check.alarm() && !check.alarm());
}

#[test]
fn what_was_found_is_counted() {
    let check = SpotCheck::new(Some(1_024));
    (0..60).for_each(|_| check.checked(Verdict::Fine));
    check.checked(Verdict::Moving);
    check.checked(Verdict::Denied);
    [Verdict::Fine, Verdict::Moving, Verdict::Denied].into_iter().for_each(|verdict| check.saw(verdict));
    let counts = check.counts();
    assert_eq!(counts, SpotCounts { checks: 62, clean: 60, raced: 2, denied: 2, seen: 3 });
    assert_eq!([0, 2, 60].map(wrong_share_at_most), [1.0, 1.0, 0.05]);
}

#[test]
fn keys_that_left_are_remembered_for_twenty_seconds() {
    let (time, clock) = set_clock();
    let check = SpotCheck::fixed(Some(1_024), 1, clock);
    let has_left_lately = |key: &[u8]| check.has_left(key, check.lately());
    let leaves = |keys: &[&[u8]]| check.leaving(keys.iter().copied());
    time.store(20_000, Relaxed);
    let before = check.now();
    leaves(&[b"a", b"b"]);
    assert!(check.has_left(b"a", before) && has_left_lately(b"b") && !has_left_lately(b"c"));
    time.store(29_000, Relaxed);
    assert!(!check.has_left(b"a", check.now()), "before that");
    leaves(&[b"c"]);
    time.store(31_000, Relaxed);
    assert!(!has_left_lately(b"a") && has_left_lately(b"c"));
    time.store(40_000, Relaxed);
    leaves(&[b"d"]);
    assert!(check.has_left(b"a", before) && !check.has_left(b"e", before));
    time.store(41_000, Relaxed);
    leaves(&[b"e"]);
    assert!(check.has_left(b"any", before), "it is not known any more");
    // Of some it was not heard.
    let before = check.now();
    check.lost();
    assert!(check.has_left(b"any", before) && !check.has_left(b"any", before + Duration::from_millis(1)));
    // More than are remembered: for ten seconds nothing is known.
    let keys: Vec<[u8; 4]> = (0..70_000u32).map(u32::to_le_bytes).collect();
    check.leaving(keys.iter().map(<[u8; 4]>::as_slice));
    time.store(51_000, Relaxed);
    assert!(has_left_lately(b"any") && !check.has_left(b"any", check.now()));
    time.store(51_001, Relaxed);
    assert!(!has_left_lately(b"any"));
}

#[test]
fn steady_deletions_hide_no_row_that_is_judged_late() {
    for late in [0, 1_000, 60_000] {
        let (time, clock) = set_clock();
        let check = SpotCheck::fixed(Some(1_024), 1, clock).judged_after(Duration::from_millis(late));
        // Ten keys leave in each second. Each row is judged a second later than it should be.
        let mut begun = VecDeque::new();
        for step in 0..2_000u32 {
            time.fetch_add(100, Relaxed);
            check.leaving(std::iter::once(step.to_le_bytes().as_slice()));
            begun.push_back((step, check.now(), check.lately()));
            while let Some((step, at, since)) = begun.front().copied()
                && check.now() - at >= Duration::from_millis(late + 1_000)
            {
                begun.pop_front();
                assert!(!check.has_left(b"hidden", since), "{late}: {step}");
                assert!(check.has_left(&step.saturating_sub(99).to_le_bytes(), since), "{late}: {step}");
            }
        }
    }
}

#[test]
fn threads_check_about_as_often_as_one() {
    let check = usual(1);
    check.skip_to(1 << 30);
    let of_thread = || (0..1 << 18).filter(|_| check.is_due()).count();
    let due: usize = std::thread::scope(|threads| {
        let threads: Vec<_> = (0..8).map(|_| threads.spawn(of_thread)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    // 2,048 and the first of each thread, within 5 standard deviations.
    assert!((1_820..2_290).contains(&due), "{due}");
}
