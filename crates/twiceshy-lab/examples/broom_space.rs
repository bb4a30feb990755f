//! What a broom filter and its insertions cost (001, Theorem 6: log(1/ε) + O(1) bits a key, R read with probability ε).
//!
//! For each number of keys and each rate, a filter built for exactly those and filled with them. An insertion reads R
//! if it collides, and collides more often as the filter fills: reads and writes are per insertion over all insertions,
//! and the late reads over the last tenth.
//!
//! `cargo run --release -p twiceshy-lab --example broom_space -- [KEYS,KEYS,…] [RATE,RATE,…]`

use twiceshy::quotient::BroomFilter;
use twiceshy_lab::broom::Subject;

type Failure = Box<dyn std::error::Error>;

fn run(keys: u64, rate: f64) -> Result<(), Failure> {
    let mut subject = Subject::new(BroomFilter::options(keys, rate)?)?;
    let last = keys / 10;
    subject.fill(keys - last)?;
    let before = subject.filter.remote().counts();
    subject.fill(last)?;
    let counts = subject.filter.remote().counts();
    let (bits, wanted) = (subject.filter.local_bits() as f64 / keys as f64, -rate.log2());
    println!(
        "{keys:>9}{rate:>9}{:>7}{bits:>12.3}{wanted:>10.3}{:>10.3}{:>10.3} %{:>10.6}{:>12.6}{:>8.3}",
        subject.filter.filter().width(),
        bits - wanted,
        subject.filter.filter().stats().second_level as f64 * 100.0 / keys as f64,
        counts.reads as f64 / keys as f64,
        (counts.reads - before.reads) as f64 / last as f64,
        counts.writes as f64 / keys as f64,
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let sizes = args.next().unwrap_or_else(|| "10000,100000,1000000".into());
    let sizes = sizes.split(',').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>()?;
    let rates = args.next().unwrap_or_else(|| "0.1,0.01,0.001,0.0001".into());
    let rates = rates.split(',').map(str::parse::<f64>).collect::<Result<Vec<_>, _>>()?;
    println!("     keys        ε  width  bits a key  log2 1/ε  constant  in level 2     reads  late reads  writes");
    for keys in sizes {
        for rate in &rates {
            run(keys, *rate)?;
        }
    }
    Ok(())
}
