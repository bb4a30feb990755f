//! The bits of a filter are those that it has allocated, by an allocator that counts. One test: the count is the process's.

use peak_alloc::PeakAlloc;
use twiceshy_bench::subject::Task;
use twiceshy_bench::{keys, ours, peers};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

#[test]
fn the_bits_are_those_that_were_allocated_and_no_remote_is_kept() {
    let keys = keys::all_stored(20_000);
    let mut contestants = ours::all();
    contestants.extend(peers::all());
    // What is allocated once and kept for later, such as a thread's random numbers, is so before.
    for adapt in [None, Some(2)] {
        let task = Task { keys: &keys, adapt };
        for contestant in &contestants {
            drop((contestant.fill)(task).expect("filled"));
            let before = ALLOCATOR.current_usage();
            let filled = (contestant.fill)(task).expect("filled");
            let allocated = (ALLOCATOR.current_usage() - before) as f64 * 8.0;
            let adapted = filled.adapted.as_ref().map_or(0, |adapted| adapted.filter.bits());
            let counted = (filled.fresh.bits() + adapted) as f64;
            // Times of parts are allocated as well: a few hundred bytes.
            assert!(
                (allocated - counted).abs() < 0.01 * counted + 8_000.0,
                "{}: {allocated} bits are allocated, {counted} are counted",
                contestant.name
            );
        }
    }
}
