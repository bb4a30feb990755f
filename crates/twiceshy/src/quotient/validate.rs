//! Checks every invariant of a table of the quotient family against its keys.

use super::block::Annex;
use super::local::{Local, UNMARKED};
use super::numbers::{Block, Quotient};
use super::owners::match_run;
use super::rule::Rule;
use crate::codes::ESCAPE;
use crate::remote::Key;
use std::collections::BTreeMap;

/// Returns the first problem found.
pub(crate) fn check<R: Rule>(local: &Local<R>, keys: &[Key]) -> Result<(), String> {
    if local.keys != keys.len() as u64 {
        return Err(format!("the filter counts {} keys, the remote {}", local.keys, keys.len()));
    }
    let used = local.table().check().map_err(|wrong| wrong.to_string())?;
    if used != local.keys {
        return Err(format!("{used} slots are in use for {} keys", local.keys));
    }
    check_marks(local)?;
    let mut by_quotient: BTreeMap<Quotient, Vec<Key>> = BTreeMap::new();
    for key in keys {
        let quotient = local.quotient(key);
        let slowly = local.run(quotient).is_some_and(|run| !local.hits(run, &local.strand(key)).is_empty());
        if !slowly || !local.contains(key) {
            return Err(format!("the stored key {:02x?} is not found", &key[..key.len().min(16)]));
        }
        by_quotient.entry(quotient).or_default().push(key.clone());
    }
    for (quotient, keys) in by_quotient {
        let run = local.run(quotient).ok_or_else(|| format!("quotient {quotient} has keys but no run"))?;
        match_run(local, run, &keys)
            .map_err(|_| format!("the keys of quotient {quotient} cannot each have their own slot"))?;
    }
    Ok(())
}

/// Checks the marks: every mark is valid, free slots have none, every code is that of its marks, and the side table's
/// entries belong to exactly the blocks that point to them.
pub(crate) fn check_marks<R: Rule>(local: &Local<R>) -> Result<(), String> {
    let side = local.marked.side.entries();
    let mut on_the_side = 0;
    if side.len() > local.marked.side.most() as usize {
        return Err(format!("the side table has {} blocks, but room for {}", side.len(), local.marked.side.most()));
    }
    for (block, used) in local.table().blocks.numbers().zip(local.table().used()) {
        on_the_side += usize::from(check_block(local, block, used)?);
    }
    if on_the_side == side.len() { Ok(()) } else { Err("the side table has entries that no block points to".into()) }
}

/// Checks the marks of a block whose slots in use are `used`. `true` if they are in the side table.
pub(crate) fn check_block<R: Rule>(local: &Local<R>, block: Block, used: u64) -> Result<bool, String> {
    if !local.is_marked(block) {
        return Ok(false);
    }
    let marks = local.marks(block);
    if !marks.iter().all(|mark| local.rule.is_mark(*mark)) {
        return Err(format!("block {block} has an invalid mark"));
    }
    if marks.iter().enumerate().any(|(slot, mark)| *mark != 0 && used >> slot & 1 == 0) {
        return Err(format!("a free slot of block {block} has a mark"));
    }
    if R::ANNEX != Annex::Code {
        return Ok(false);
    }
    let code = local.table().blocks.code(block);
    if code >= ESCAPE {
        if local.marked.side.get(code).is_none_or(|entry| entry.block != block) {
            return Err(format!("block {block} is not in the side table"));
        }
    } else if local.rule.encode(&marks) != Some(code) || marks == UNMARKED {
        return Err(format!("the code of block {block} does not match its marks"));
    }
    Ok(code >= ESCAPE)
}
