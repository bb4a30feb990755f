//! How many adaptivity bits a broom filter holds in the long run (001, Lemmas 9 and 15), and what its mistakes cost R.
//! No key is removed: for Lemmas 14 and 16, which are about removals, see `broom_traffic`.
//!
//! Asks fresh absent queries at 95 % load and adapts on each mistake. Prints a row after 1, 3, 10, 30 … adaptations per
//! key, with the adaptivity bits per key. Columns named most hold the maximum so far, sampled 256 times in n
//! adaptations. Reads, writes and moves of the frontier are per adaptation since the row before.
//!
//! `cargo run --release -p twiceshy-lab --example broom_bits -- [KEYS,KEYS,…] [BITS] [C] [ADAPTATIONS A KEY]`

use std::io::IsTerminal;
use std::time::Instant;
use twiceshy::filter::{Adaptive, Backed};
use twiceshy_lab::broom::{Subject, loaded};
use twiceshy_lab::fixed_set::FixedSet;

type Failure = Box<dyn std::error::Error>;

/// Samples per n adaptations: the statistics scan all blocks.
const LOOKS: u64 = 256;

/// The maxima so far.
#[derive(Default)]
struct Most {
    group: u64,
    spilled: u64,
    second: u64,
}

impl Most {
    fn look(&mut self, subject: &Subject<FixedSet>) {
        let stats = subject.filter.stats();
        self.group = self.group.max(stats.largest_group);
        self.spilled = self.spilled.max(stats.spilled_groups);
        self.second = self.second.max(stats.second_level);
    }
}

/// 1, 3, 10, 30 … up to a bound, and the bound.
fn milestones(last: u64) -> Vec<u64> {
    let all = (0..).flat_map(|power| [1, 3].map(|times| times * 10u64.pow(power)));
    all.take_while(|milestone| *milestone < last).chain([last]).collect()
}

fn adapt(
    subject: &mut Subject<FixedSet>,
    keys: u64,
    adapts: std::ops::Range<u64>,
    most: &mut Most,
) -> Result<(), Failure> {
    let every = (keys / LOOKS).max(1);
    let watched = std::io::stderr().is_terminal();
    for adapted in adapts {
        let query = subject.next_mistake();
        subject.filter.adapt(&query, &mut subject.remote)?;
        if adapted % every == 0 {
            most.look(subject);
            if watched {
                eprint!("\r{keys} keys: {:.1} adaptations a key ", adapted as f64 / keys as f64);
            }
        }
    }
    if watched {
        eprint!("\r\x1b[K");
    }
    Ok(())
}

fn print(subject: &Subject<FixedSet>, keys: u64, since: u64, milestone: u64, most: &Most) {
    let (stats, counts) = (subject.filter.stats(), subject.remote.counts());
    println!(
        "{keys:>9}{milestone:>6} n{:>7.1}{:>12.3}{:>17}{:>14}{:>15.2} %{:>7.2}{:>8.2}{:>16.2}",
        stats.moved as f64 / keys as f64,
        stats.adaptivity_bits as f64 / keys as f64,
        most.group,
        most.spilled,
        most.second as f64 * 100.0 / keys as f64,
        counts.reads as f64 / since as f64,
        counts.writes as f64 / since as f64,
        counts.frontier_moves as f64 / since as f64,
    );
}

fn run(keys: u64, bits: u32, c: u32, last: u64) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut subject = Subject::fixed(keys, loaded(keys, bits).reclaim(c), 1)?;
    subject.fill(keys)?;
    let mut most = Most::default();
    let mut done = 0;
    for milestone in milestones(last) {
        subject.remote.reset();
        adapt(&mut subject, keys, done..milestone * keys, &mut most)?;
        print(&subject, keys, milestone * keys - done, milestone, &most);
        done = milestone * keys;
    }
    let request = if subject.filter.wants_rebuild() { ", and the filter requests a rebuild" } else { "" };
    println!(
        "          {} phases, {:.0} seconds{request}",
        subject.filter.stats().phases,
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let sizes = args.next().unwrap_or_else(|| "10000,100000,1000000".into());
    let sizes = sizes.split(',').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>()?;
    let bits: u32 = args.next().map_or(Ok(4), |bits| bits.parse())?;
    let c: u32 = args.next().map_or(Ok(3), |c| c.parse())?;
    let last: u64 = args.next().map_or(Ok(100), |adapts| adapts.parse())?;
    println!(
        "     keys  adapts  moved  bits a key  most in a group  most spilled  most in level 2  reads  writes  frontier moves"
    );
    for keys in sizes {
        run(keys, bits, c, last)?;
    }
    Ok(())
}
