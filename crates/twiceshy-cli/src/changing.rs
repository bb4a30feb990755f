//! Shared by `insert` and `remove`: reads lines and applies them in chunks.

use crate::interrupted;
use crate::lines::Lines;
use crate::output::{counted, grouped};
use anyhow::Context;

/// Keys per chunk. One chunk is one commit of the guard, so it is known which lines are stored after an error.
const KEYS_AT_ONCE: usize = 1_000;

/// Bytes of lines per chunk. The last line may exceed it.
const BYTES_AT_ONCE: usize = 4 << 20;

/// What was done with keys, and what was the matter with those that it changed nothing about: "stored", "there before".
type Words = (&'static str, &'static str);

/// The keys that were dealt with so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Changed {
    /// All of them.
    pub(crate) keys: u64,
    /// Those that were stored or removed.
    pub(crate) changed: u64,
}

impl Changed {
    fn words(self, (done, not): Words) -> String {
        let Changed { keys, changed } = self;
        let rest = if keys > changed { format!(" and {} {not}", grouped(keys - changed)) } else { String::new() };
        format!("{} {done}{rest}", counted(changed, "key"))
    }
}

/// Reads all lines and passes them on in chunks. `change` returns how many of its keys were new, or were there to be removed. After an error,
/// the keys before it are still passed on, and the error says how many keys that is. So does an interruption.
pub(crate) fn in_chunks<T>(
    lines: &mut Lines,
    so_far: &mut Changed,
    words: Words,
    parse: impl Fn(&[u8]) -> anyhow::Result<T>,
    mut change: impl FnMut(Vec<T>) -> anyhow::Result<u64>,
) -> anyhow::Result<()> {
    interrupted::tell(so_far.words(words));
    loop {
        let (chunk, read) = chunk(lines, &parse);
        let count = chunk.len() as u64;
        let dealt_with = interrupted::during(|| {
            so_far.changed += change(chunk)?;
            so_far.keys += count;
            Ok(so_far.words(words))
        });
        let before = || format!("{}, and then", so_far.words(words));
        dealt_with.with_context(before)?;
        if read.with_context(before)? == Read::All {
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
