//! `twiceshy model bloom`.

use super::show;
use crate::numbers;
use crate::output::rate;
use serde::Serialize;
use twiceshy_lab::models::bloom::{best_functions, blocked_rate, classic_rate, split_block_rate};

/// The false-positive rates of Bloom filters: classic, in blocks, and in blocks of words with one bit each (002 section 3).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy model bloom --bits-per-key 10")]
pub(crate) struct Args {
    /// Bits over keys
    #[arg(long, default_value = "10", value_parser = numbers::fraction)]
    bits_per_key: f64,
    /// k, the hash functions [default: the best number for a classic filter]
    #[arg(long, value_parser = numbers::count::<u32>)]
    functions: Option<u32>,
    /// The bits of a block
    #[arg(long, default_value = "512", value_parser = numbers::count::<u32>)]
    block_bits: u32,
    /// The words of a split block
    #[arg(long, default_value = "8", value_parser = numbers::count::<u32>)]
    words: u32,
    /// The bits of a word
    #[arg(long, default_value = "32", value_parser = numbers::count::<u32>)]
    word_bits: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    bits_per_key: f64,
    functions: u32,
    classic: f64,
    blocked: f64,
    split_block: f64,
}

/// The most steps of the sum over the bits of a block.
const MOST_WORK: f64 = 2e9;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let Args { bits_per_key, block_bits, words, word_bits, .. } = *args;
    if !(0.1..=100.0).contains(&bits_per_key) {
        anyhow::bail!("--bits-per-key must be from 0.1 to 100, such as 10, not {bits_per_key}");
    }
    let functions = args.functions.unwrap_or_else(|| best_functions(bits_per_key));
    for (flag, number, most) in [
        ("--functions", functions, 100),
        ("--block-bits", block_bits, 4096),
        ("--words", words, 64),
        ("--word-bits", word_bits, 512),
    ] {
        if !(1..=most).contains(&number) {
            anyhow::bail!("{flag} must be from 1 to {most}, not {number}");
        }
    }
    let work = f64::from(block_bits).powi(2) / bits_per_key * f64::from(functions);
    if work > MOST_WORK {
        anyhow::bail!(
            "blocks of {block_bits} bits with {functions} functions would take minutes: lower --block-bits or --functions"
        );
    }
    let prediction = Prediction {
        model: "bloom",
        bits_per_key,
        functions,
        classic: classic_rate(bits_per_key, functions),
        blocked: blocked_rate(block_bits, functions, bits_per_key),
        split_block: split_block_rate(words, word_bits, bits_per_key),
    };
    let rows = [
        vec![format!("classic, {functions} functions"), rate(prediction.classic)],
        vec![format!("blocks of {block_bits} bits, {functions} functions"), rate(prediction.blocked)],
        vec![format!("blocks of {words} words of {word_bits} bits, a bit in each"), rate(prediction.split_block)],
    ];
    show(args.json, &prediction, &format!("Bloom filters with {bits_per_key} bits a key"), &rows)
}
