//! Saving and loading a filter of the quotient family. The bytes are described in `docs/format.md`.

use super::block::Layout;
use super::local::{Local, Marked};
use super::options::RuleSpec;
use super::rank_select::RankSelectFilter;
use super::rule::{Marking, Rule};
use super::side::{self, Entry, Side};
use super::table::Table;
use super::validate::check_marks;
use super::{
    ExtensionSpec, Extensions, PlainRemainders, PlainSelectors, PlainTelescopingSpec, QuotientSpec, Selectors,
    TelescopingSpec,
};
use crate::codes::Marks;
use crate::persist::{LoadError, Reader, SaveError, Writer, hash_key};
use crate::remote::Generation;
use crate::seam::Seam;
use crate::sizing;
use std::io;

fn save<S: RuleSpec>(filter: &RankSelectFilter<S::Rule>, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
    if filter.is_in_doubt() {
        return Err(SaveError::InDoubt);
    }
    let local = &filter.seam.live;
    let mut fields = Writer::new();
    fields.u64(local.slots());
    fields.u8(local.width() as u8);
    hash_key::write(&local.hash, &mut fields);
    fields.u32(local.generation.0);
    fields.u64(local.keys);
    fields.u8(filter.seam.wants_rebuild.into());
    S::write(&local.rule, &mut fields);
    fields.bytes(local.table().blocks.as_bytes());
    write_side(&local.marked.side, &mut fields);
    Ok(fields.finish(S::KIND, filter.seam.sequence, out)?)
}

fn load<S: RuleSpec>(source: &mut (impl io::Read + ?Sized)) -> Result<RankSelectFilter<S::Rule>, LoadError> {
    let mut from = Reader::open(source)?;
    from.expect_kind(S::KIND)?;
    let sequence = from.sequence();
    let (slots, width) = (from.u64()?, u32::from(from.u8()?));
    sizing::check_slots(slots).map_err(|error| LoadError::invalid(error.to_string()))?;
    sizing::check_width(width).map_err(|error| LoadError::invalid(error.to_string()))?;
    let hash = hash_key::read(&mut from)?;
    let generation = Generation(from.u32()?);
    let keys = from.u64()?;
    let wants_rebuild = from.flag()?;
    let rule = S::read(width, &mut from)?;
    let bytes = from.bytes()?;
    let size = bytes.len();
    let (table, used) = Table::from_bytes(slots, Layout::new(width, S::Rule::ANNEX), bytes)
        .ok_or_else(|| LoadError::invalid(format!("its {slots} slots of {width} bits are not {size} bytes")))?
        .map_err(|wrong| LoadError::invalid(format!("its table is none: {wrong}")))?;
    if used != keys || used > sizing::quotient_most(slots) {
        return Err(LoadError::invalid(format!("{used} slots are in use, which is not what it counts")));
    }
    let side = read_side(&mut from)?;
    from.finish()?;
    let local = Local { marked: Marked { table, side }, rule, hash, generation, keys };
    check_marks(&local).map_err(LoadError::invalid)?;
    let mut seam = Seam::over(local, sequence);
    seam.wants_rebuild = wants_rebuild;
    Ok(RankSelectFilter::over(seam))
}

/// The most entries, then the entries: block and marks.
fn write_side(side: &Side, out: &mut Writer<'_>) {
    out.u32(side.most());
    let mut bytes = Vec::with_capacity(side.entries().len() * ENTRY);
    for entry in side.entries() {
        bytes.extend(entry.block.to_le_bytes());
        entry.marks.iter().for_each(|mark| bytes.extend(mark.to_le_bytes()));
    }
    out.bytes(bytes);
}

/// The bytes of an entry.
const ENTRY: usize = 8 + size_of::<Marks>();

fn read_side(from: &mut Reader) -> Result<Side, LoadError> {
    let most = from.u32()?;
    let bytes = from.bytes()?;
    let (entries, rest) = bytes.as_chunks::<ENTRY>();
    if most > side::MOST || entries.len() > most as usize || !rest.is_empty() {
        return Err(LoadError::invalid(format!("{} bytes are no side table for {most} blocks", bytes.len())));
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
        side.add(Entry { block: u64::from_le_bytes(block_bytes), marks: read });
    }
    Ok(side)
}

/// A rule whose filters can be asked for, saved and loaded.
pub trait Saved: Rule {
    /// The options that tell rules of this kind apart.
    type Spec: RuleSpec<Rule = Self> + Default;
}

impl Saved for PlainRemainders {
    type Spec = QuotientSpec;
}

impl Saved for Selectors {
    type Spec = TelescopingSpec;
}

impl Saved for PlainSelectors {
    type Spec = PlainTelescopingSpec;
}

impl Saved for Extensions {
    type Spec = ExtensionSpec;
}

impl<R: Saved> RankSelectFilter<R> {
    /// Writes the filter, with its hash key and the number of its last commit. A table that is being filled is not saved:
    /// after loading, a rebuild begins anew.
    pub fn save(&self, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
        save::<R::Spec>(self, out)
    }

    /// Reads a filter that [`RankSelectFilter::save`] wrote. It belongs to a remote at the same commit: call
    /// [`Backed::resolve`](crate::filter::Backed::resolve) with the remote, and recover the filter from it where that says
    /// [`OutOfStep`](crate::error::SeamError::OutOfStep).
    pub fn load(source: &mut (impl io::Read + ?Sized)) -> Result<Self, LoadError> {
        load::<R::Spec>(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use crate::quotient::block::SLOTS;
    use crate::quotient::local::{Change, UNMARKED};
    use crate::quotient::rule::Marking;
    use crate::quotient::{SelectorCode, TelescopingFilter};
    use crate::remote::ByHash;

    /// Nobody's keys come to this, but somebody's file might: were the true offset of each block walked to, it would take as
    /// many steps as the cube of the blocks.
    #[test]
    fn a_file_with_one_run_through_all_blocks_is_read_in_one_pass() {
        let slots = 200_000;
        let options = TelescopingFilter::with_slots(slots, 2).code(SelectorCode::Tuned);
        let mut filter = options.build(HashKey::fixed(1), &mut ByHash::new()).unwrap();
        let local = &mut filter.seam.live;
        let first = local.table().room(0).unwrap();
        // One run of quotient 0, slot after slot: the first key's runend moves on.
        local.apply(&Change::insert(first, 1));
        let blocks = &mut local.marked.table.blocks;
        let keys = sizing::quotient_most(slots);
        blocks.set_runend(0, false);
        blocks.set_runend(keys - 1, true);
        for block in 1..=(keys - 1) / SLOTS {
            blocks.set_offset(block, (keys - block * SLOTS).min(255) as u8);
        }
        local.keys = keys;
        let mut marks = UNMARKED;
        marks[0] = 1;
        let code = local.rule.encode(&marks).unwrap();
        for block in 0..=(keys - 1) / SLOTS {
            local.marked.table.blocks.set_code(block, code);
        }
        let mut file = Vec::new();
        filter.save(&mut file).unwrap();
        let loaded = TelescopingFilter::load(&mut file.as_slice()).unwrap();
        assert_eq!((loaded.seam.live.keys, loaded.marks(7)), (keys, marks));
    }
}
