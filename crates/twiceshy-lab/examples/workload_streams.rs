//! The statistics and the speed of the generated streams.
//!
//! `cargo run --release -p twiceshy-lab --example workload_streams`

use std::time::Instant;
use twiceshy_lab::workload::firehose::Firehose;
use twiceshy_lab::workload::firehose::life::PowExp;
use twiceshy_lab::workload::flows::Flows;
use twiceshy_lab::workload::recording::Recording;
use twiceshy_lab::workload::trace::Trace;

const SEED: u64 = 1;

fn main() {
    let other = PowExp::new(0.5).map(Firehose::ActiveSet);
    for firehose in [Firehose::ActiveSet(PowExp::DEFAULT), Firehose::PowerLaw].into_iter().chain(other) {
        let queries = firehose.default_queries();
        let census = firehose.census(queries, SEED);
        let begun = Instant::now();
        let sum: u64 = firehose.numbers(SEED).take(queries as usize).sum();
        std::hint::black_box(sum);
        let millions = queries as f64 / begun.elapsed().as_secs_f64() / 1e6;
        let repeats = queries as f64 / census.distinct as f64;
        println!(
            "{firehose}: {} distinct keys, {repeats:.1} queries for each, {millions:.1} million a second",
            census.distinct
        );
    }
    for flows in ["chicago-a", "chicago-b", "san-jose"].into_iter().flat_map(str::parse::<Flows>) {
        let begun = Instant::now();
        let mut packets = flows.requests(SEED);
        let opened = begun.elapsed().as_secs_f64() * 1e3;
        let begun = Instant::now();
        let mut sum = 0u64;
        while let Some(key) = packets.next_key() {
            sum += u64::from(key[0]);
        }
        std::hint::black_box(sum);
        let millions = f64::from(flows.packets()) / begun.elapsed().as_secs_f64() / 1e6;
        println!("{}: opened in {opened:.0} ms, {millions:.1} million packets a second", flows.describe());
        for ratio in [1.0, 10.0, 100.0] {
            let Ok(trace) = Trace::of(Recording::Flows(flows, SEED), ratio) else { continue };
            let Ok(mut queries) = trace.queries() else { continue };
            let mut asked = 0u64;
            while let Ok(Some(_)) = queries.next_key() {
                asked += 1;
            }
            let each = asked as f64 / trace.distinct_absent() as f64;
            println!("  A/S {ratio}: {} stored, {asked} queries, {each:.2} for each other key", trace.stored().len());
        }
    }
}
