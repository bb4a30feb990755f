//! Shared by `insert` and `remove`: reads lines and applies them in chunks.

use crate::lines::{Lines, done_before};
use anyhow::Context;

/// Keys per chunk. One chunk is one commit of the guard, so it is known which lines are stored after an error.
const KEYS_AT_ONCE: usize = 1_000;

/// Bytes of lines per chunk. The last line may exceed it.
const BYTES_AT_ONCE: usize = 4 << 20;

/// Reads all lines and passes them on in chunks. After an error, the keys before it are still passed on, and the
/// error says how many keys that is.
pub(crate) fn in_chunks<T>(
    lines: &mut Lines,
    done: &str,
    parse: impl Fn(&[u8]) -> anyhow::Result<T>,
    mut change: impl FnMut(Vec<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut changed = 0;
    loop {
        let (chunk, read) = chunk(lines, &parse);
        let count = chunk.len() as u64;
        change(chunk).with_context(|| done_before(changed, done))?;
        changed += count;
        if read.with_context(|| done_before(changed, done))? == Read::All {
            return Ok(());
        }
    }
}

#[derive(PartialEq)]
enum Read {
    Some,
    All,
}

/// The next lines, and why reading stopped.
fn chunk<T>(lines: &mut Lines, parse: impl Fn(&[u8]) -> anyhow::Result<T>) -> (Vec<T>, anyhow::Result<Read>) {
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    while chunk.len() < KEYS_AT_ONCE && bytes < BYTES_AT_ONCE {
        let parsed = match lines.next() {
            Ok(Some(line)) => {
                bytes += line.len();
                parse(line)
            }
            Ok(None) => return (chunk, Ok(Read::All)),
            Err(error) => return (chunk, Err(error)),
        };
        match parsed.with_context(|| lines.place()) {
            Ok(value) => chunk.push(value),
            Err(error) => return (chunk, Err(error)),
        }
    }
    (chunk, Ok(Read::Some))
}
