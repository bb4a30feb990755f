//! The memory of a long run does not depend on its length.

use peak_alloc::PeakAlloc;
use twiceshy::Kind;
use twiceshy::memory::Limits;
use twiceshy_lab::replay::{FilterSpec, Settings, run};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The peak memory of a replay of `queries` queries, in bytes.
fn peak(workload: &str, queries: u64) -> usize {
    let settings = Settings {
        filter: FilterSpec::new(Kind::Telescoping, 8),
        cells: None,
        load: 0.95,
        ratio: 20.0,
        per_key: None,
        queries: Some(queries),
        trials: 1,
        seed: 1,
        workload: workload.parse().expect("a workload"),
        timed: false,
        jobs: 1,
        memory: Some(Limits::OFF),
        then: None,
    };
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let report = run(&settings, &|_| ()).expect("possible settings");
    assert_eq!(report.queries, queries);
    ALLOCATOR.peak_usage() - before
}

#[test]
fn six_times_as_many_queries_take_no_more_memory() {
    // The very first run also allocates what the process keeps.
    peak("power-law", 500_000);
    // As many stored keys in both, or nearly: a key first asked for after 500,000 queries adds one to |A|.
    let [short, long] = [500_000, 3_000_000].map(|queries| peak("power-law", queries));
    let grown = long.saturating_sub(short);
    // A list of the queries would take 20 MB more; only the stored set grows, with the distinct keys asked for.
    assert!(grown < 600_000, "{short} bytes became {long}");
    let [short, long] = [500_000, 3_000_000].map(|queries| peak("active-set", queries));
    assert!(long.saturating_sub(short) < 1_000_000, "{short} bytes became {long}");
}
