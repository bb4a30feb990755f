//! Saving and loading a filter of the quotient family. The bytes are described in `docs/format.md`.

use super::block::Layout;
use super::local::{Local, Marked};
use super::numbers::Block;
use super::options::RuleSpec;
use super::rank_select::RankSelectFilter;
use super::rule::Rule;
use super::side::{self, Entry, Side};
use super::strand::Head;
use super::table::Table;
use super::validate::check_marks;
use crate::codes::Marks;
use crate::persist::{LoadError, Reader, SaveError, Writer, hash_key};
use crate::remote::Generation;
use crate::sizing;
use std::io;

impl<R: Rule> RankSelectFilter<R> {
    pub(super) fn save_at(&self, sequence: u64, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
        let local = &self.local;
        let mut fields = Writer::new();
        fields.u64(local.slots());
        fields.u8(local.width() as u8);
        hash_key::write(&local.hash, &mut fields);
        fields.u32(local.generation.0);
        fields.u64(local.keys);
        fields.u8(self.wants_rebuild.into());
        R::Spec::write(&local.rule, &mut fields);
        fields.bytes(local.table().blocks.as_bytes());
        write_side(&local.marked.side, &mut fields);
        Ok(fields.finish_at(file_code::<R>(local.head), sequence, self.stamp, out)?)
    }

    /// Reads a filter that [`Backed::save`](crate::filter::Backed::save) wrote, and the number of its remote's last commit.
    pub fn load(source: &mut (impl io::Read + ?Sized)) -> Result<(Self, u64), LoadError> {
        let mut from = Reader::open(source)?;
        let head = if from.kind() == file_code::<R>(Head::Apart) { Head::Apart } else { Head::Shared };
        from.expect_kind(file_code::<R>(head))?;
        let (slots, width) = (from.u64()?, u32::from(from.u8()?));
        sizing::check_slots(slots).map_err(|error| LoadError::invalid(error.to_string()))?;
        sizing::check_width(width).map_err(|error| LoadError::invalid(error.to_string()))?;
        let hash = hash_key::read(&mut from)?;
        let generation = Generation(from.u32()?);
        let keys = from.u64()?;
        let wants_rebuild = from.flag()?;
        let rule = R::Spec::read(width, &mut from)?;
        let bytes = from.bytes()?;
        let size = bytes.len();
        let (table, used) = Table::from_bytes(slots, Layout::new(width, R::ANNEX), bytes)
            .ok_or_else(|| LoadError::invalid(format!("its {slots} slots of {width} bits are not {size} bytes")))?
            .map_err(|wrong| LoadError::invalid(format!("the table is invalid: {wrong}")))?;
        if used != keys || used > sizing::quotient_most(slots) {
            return Err(LoadError::invalid(format!("{used} slots are in use, which is not what it counts")));
        }
        let side = read_side(&mut from)?;
        let (sequence, stamp) = (from.sequence(), from.stamp());
        from.finish()?;
        let mut local = Local { marked: Marked::new::<R>(table, side, head), rule, hash, head, generation, keys };
        check_marks(&local).map_err(LoadError::invalid)?;
        for block in local.table().blocks.numbers().filter(|block| local.is_marked(*block)).collect::<Vec<_>>() {
            local.note_marks(block, &local.marks(block));
        }
        Ok((RankSelectFilter { wants_rebuild, stamp, ..RankSelectFilter::over(local) }, sequence))
    }
}

/// The number of a filter's kind in files. Those with strings that begin with word 1 have the numbers of kinds in stores.
fn file_code<R: Rule>(head: Head) -> u16 {
    match head {
        Head::Shared => R::Spec::KIND.file_code(),
        Head::Apart => R::Spec::KIND.code().into(),
    }
}

/// Writes the maximum number of entries, then the entries: block and marks.
fn write_side(side: &Side, out: &mut Writer<'_>) {
    out.u32(side.most());
    let mut bytes = Vec::with_capacity(side.entries().len() * ENTRY);
    for entry in side.entries() {
        bytes.extend(entry.block.0.to_le_bytes());
        entry.marks.iter().for_each(|mark| bytes.extend(mark.to_le_bytes()));
    }
    out.bytes(bytes);
}

/// The length of an entry.
const ENTRY: usize = 8 + size_of::<Marks>();

fn read_side(from: &mut Reader) -> Result<Side, LoadError> {
    let most = from.u32()?;
    let bytes = from.bytes()?;
    let (entries, rest) = bytes.as_chunks::<ENTRY>();
    if most > side::MOST || entries.len() > most as usize || !rest.is_empty() {
        return Err(LoadError::invalid(format!("its side table for {most} blocks cannot have {} bytes", bytes.len())));
    }
    let mut side = Side::new(most);
    for entry in entries {
        let (block, marks) = entry.split_at(8);
        let mut block_bytes = [0; 8];
        block_bytes.copy_from_slice(block);
        let mut read: Marks = super::local::UNMARKED;
        for (mark, pair) in read.iter_mut().zip(marks.as_chunks::<2>().0) {
            *mark = u16::from_le_bytes(*pair);
        }
        side.add(Entry { block: Block(u64::from_le_bytes(block_bytes)), marks: read });
    }
    Ok(side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use crate::quotient::local::{Change, UNMARKED};
    use crate::quotient::numbers::{Quotient, Slot};
    use crate::quotient::rule::Marking;
    use crate::quotient::{SelectorCode, TelescopingFilter};

    /// No real set leads to this, but a hostile file might. Walking to the true offset of each block would take a number of
    /// steps cubic in the number of blocks.
    #[test]
    fn a_file_with_one_run_through_all_blocks_is_read_in_one_pass() {
        let slots = 200_000;
        let options = TelescopingFilter::with_slots(slots, 2).code(SelectorCode::Tuned);
        let mut filter = options.make(HashKey::fixed(1), Generation(0)).unwrap();
        let local = &mut filter.local;
        let first = local.table().room(Quotient(0)).unwrap();
        // One run of quotient 0, slot after slot: the runend moves on with each key.
        local.apply(Change::insert(first, 1));
        let blocks = &mut local.marked.table.blocks;
        let keys = sizing::quotient_most(slots);
        let last = Slot(keys - 1);
        blocks.set_runend(Slot(0), false);
        blocks.set_runend(last, true);
        for block in Block::each(Block(1)..last.block().next()) {
            blocks.set_offset(block, (last.next() - block.first_slot()).min(255) as u8);
        }
        local.keys = keys;
        let mut marks = UNMARKED;
        marks[0] = 1;
        let code = local.rule.encode(&marks).unwrap();
        for block in Block::each(Block(0)..last.block().next()) {
            local.marked.table.blocks.set_code(block, code);
        }
        let mut file = Vec::new();
        filter.save_at(5, &mut file).unwrap();
        let (loaded, sequence) = TelescopingFilter::load(&mut file.as_slice()).unwrap();
        assert_eq!((loaded.local.keys, loaded.marks(7), sequence), (keys, marks, 5));
    }
}
