//! The figures of the generated streams, and how fast they come: `cargo run --release -p twiceshy-lab --example workload_streams`.
use std::time::Instant;
use twiceshy_lab::workload::firehose::{active_set::ActiveSet, life::PowExp, power_law::PowerLaw};
fn main() {
    for e in [-0.5, 0.5] {
        for seed in 0..3 {
            let mut s = ActiveSet::new(PowExp::new(e).unwrap(), seed);
            let t = Instant::now();
            let sum: u64 = s.by_ref().take(10_000_000).sum();
            println!("active {e} {} distinct {} created, {:.2} a key, {:.1} M/s {sum}", s.distinct(), s.created(), 1e7 / s.distinct() as f64, 10.0 / t.elapsed().as_secs_f64());
        }
    }
    for seed in 0..3 {
        let mut seen = vec![false; 100_000];
        let t = Instant::now();
        for k in PowerLaw::new(seed).take(50_000_000) { seen[k as usize] = true; }
        let d = seen.iter().filter(|s| **s).count();
        println!("power {d} distinct, {:.2} a key, {:.1} M/s", 5e7 / d as f64, 50.0 / t.elapsed().as_secs_f64());
    }
}
