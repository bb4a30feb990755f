//! Any sequence of operations, with failures and lost answers, against an exact set.

#![no_main]

use libfuzzer_sys::fuzz_target;
use twiceshy::remote::{ByHash, Mirror};
use twiceshy::testing::{Variant, decode, run};

/// More operations than this only make an input slow.
const MOST_BYTES: usize = 3 * 2_000;

fuzz_target!(|input: &[u8]| {
    let Some(([variant, cells, extra_bits, seed, mirror], operations)) = input.split_first_chunk() else { return };
    let variant = Variant::ALL[usize::from(*variant) % Variant::ALL.len()];
    // About 320 of the 512 keys are in at a time: loads from 63 % to a full table.
    let cells = 1 + 2 * u64::from(*cells);
    let bits = variant.narrowest() + u32::from(extra_bits % 14);
    let operations = decode(&operations[..operations.len().min(MOST_BYTES)]);
    let seed = u64::from(*seed);
    let ended = if mirror % 2 == 0 || !variant.kind().has_cells() {
        run(variant, cells, bits, seed, ByHash::new(), &operations)
    } else {
        run(variant, cells, bits, seed, Mirror::new(), &operations)
    };
    if let Err(wrong) = ended {
        panic!("{variant:?}, {cells} cells of {bits} bits, seed {seed}: {wrong}");
    }
});
