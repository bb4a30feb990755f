//! The bytes of an edit, and which edits a filter accepts.
//!
//! A map is written as the number of its entries, then the entries in order. Anything that [`Edit::write`] could not have
//! written is refused, here or by [`BroomFilter::make_checked`].

use super::back_yard::{BUCKET, YardEdit};
use super::edit::{Begun, Edit, Undo};
use super::few::Few;
use super::filter::BroomFilter;
use super::functions::Functions;
use super::haunted::{Base, HauntedEdit};
use super::level::LevelEdit;
use super::overlay::ChangedBytes;
use super::prints::{Prints, PrintsEdit};
use super::rebuild::{Rebuild, Stage};
use super::spilled::Spilled;
use super::tables::Tables;
use crate::persist::{LoadError, Reader, Writer, hash_key};
use crate::quotient::numbers::{Block, Quotient};
use crate::remote::{Frontier, Generation};
use crate::sizing;
use std::collections::BTreeMap;

impl BroomFilter {
    /// Applies an edit that was read from bytes. `None` if the filter would not be sound after it; then nothing changes. Costs a
    /// walk over the tables. Only the owner can tell whether the edit was planned on this filter's current state.
    pub(super) fn make_checked(&mut self, mut edit: Edit) -> Option<Undo> {
        if !self.accepts(&mut edit) {
            return None;
        }
        let undo = self.make(edit);
        let local = &self.local;
        let whole = |table: &Prints| table.levels.iter().all(|level| level.check().is_ok());
        if local.tables.iter().all(whole) && local.keys() <= local.most() {
            return Some(undo);
        }
        self.unmake(undo);
        None
    }

    /// `true` if every number in an edit lies within this filter's tables. Makes the table that it begins.
    fn accepts(&self, edit: &mut Edit) -> bool {
        let local = &self.local;
        let stay = || local.tables.iter().skip(edit.table_ended.into());
        let begun = edit.begun.iter().map(|begun| begun.slots);
        let slots: Vec<u64> = stay().map(Prints::slots).chain(begun.clone()).collect();
        let (first, last) = (slots.first().copied(), slots.last().copied());
        let functions = &edit.functions;
        let cells = edit.rebuild.and_then(|rebuild| rebuild.cells);
        let sound = stay().count() == edit.tables.len()
            && stay().zip(edit.tables.iter()).all(|(table, edit)| table.accepts(edit))
            && begun.chain(cells).all(|slots| sizing::check_slots(slots).is_ok())
            && slots.len() == 1 + usize::from(functions.apart)
            && functions.slots.map(Some) == [first, last];
        if !sound {
            return false;
        }
        #[cfg(feature = "testing")]
        {
            edit.functions.by_bytes = local.functions.by_bytes;
        }
        edit.begun.as_mut().is_none_or(|begun| {
            begun.table = begun.table.take().or_else(|| Prints::new(begun.slots, &local.shape).map(Box::new));
            begun.table.is_some()
        })
    }
}

impl Edit {
    pub(crate) fn write<'a>(&'a self, out: &mut Writer<'a>) {
        out.u8(self.table_ended.into());
        out.u8(self.phase_ended.into());
        write_option(&self.begun, out, |begun, out| out.u64(begun.slots));
        write_functions(&self.functions, out);
        out.u64(self.debt);
        out.u8(self.wants_rebuild.into());
        write_option(&self.rebuild, out, write_rebuild);
        write_words(&self.stats, out);
        out.u8((self.tables.len() > 1).into());
        self.tables.iter().for_each(|table| write_table(table, out));
    }

    /// Reads what [`Edit::write`] wrote. A filter must accept the edit before it is applied.
    pub(crate) fn read(from: &mut Reader) -> Result<Edit, LoadError> {
        Ok(Edit {
            table_ended: from.flag()?,
            phase_ended: from.flag()?,
            begun: read_option(from, |from| Ok(Begun { slots: from.u64()?, table: None }))?,
            functions: read_functions(from)?,
            debt: from.u64()?,
            wants_rebuild: from.flag()?,
            rebuild: read_option(from, read_rebuild)?,
            stats: read_words(from)?,
            tables: read_tables(from)?,
        })
    }
}

fn write_functions(functions: &Functions, out: &mut Writer<'_>) {
    hash_key::write(&functions.old, out);
    hash_key::write(&functions.new, out);
    out.u64(functions.frontier.0);
    out.u32(functions.generation.0);
    functions.slots.iter().for_each(|slots| out.u64(*slots));
    out.u8(functions.apart.into());
}

fn read_functions(from: &mut Reader) -> Result<Functions, LoadError> {
    let (old, new) = (hash_key::read(from)?, hash_key::read(from)?);
    let (frontier, generation) = (Frontier(from.u64()?), Generation(from.u32()?));
    let slots = read_words(from)?;
    Ok(Functions { new, frontier, slots, apart: from.flag()?, ..Functions::begin(old, generation, slots[0]) })
}

fn write_rebuild<'a>(rebuild: &'a Rebuild, out: &mut Writer<'a>) {
    write_option(&rebuild.cells, out, |cells, out| out.u64(*cells));
    write_option(&rebuild.hash, out, |hash, out| hash_key::write(hash, out));
    out.u8(rebuild.stage as u8);
}

fn read_rebuild(from: &mut Reader) -> Result<Rebuild, LoadError> {
    let (cells, hash) = (read_option(from, Reader::u64)?, read_option(from, hash_key::read)?);
    let stage = from.u8()?;
    let stage = [Stage::Waits, Stage::Runs, Stage::Done].into_iter().find(|known| *known as u8 == stage);
    Ok(Rebuild { cells, hash, stage: stage.ok_or_else(|| LoadError::invalid("a rebuild in it has no stage"))? })
}

fn write_table<'a>(table: &'a PrintsEdit, out: &mut Writer<'a>) {
    out.u8(table.levels.len() as u8);
    for level in table.levels.iter() {
        write_bytes(&level.blocks, out);
        write_bytes(&level.rests, out);
        write_map(&level.groups, out, |block, group, out| write_words([*block as u64].iter().chain(group), out));
        write_map(&level.spilled, out, |block, spilled, out| {
            out.u64(block.0);
            write_option(spilled, out, |spilled, out| out.bytes(spilled.as_bytes()));
        });
        out.u64(level.used);
    }
    let yard = &table.yard;
    write_map(&yard.buckets, out, |at, words, out| write_words([*at as u64].iter().chain(words), out));
    write_map(&yard.overflow, out, |(quotient, rest), there, out| {
        write_words([&quotient.0, rest], out);
        out.u8(there.is_some().into());
    });
    out.u64(yard.used);
    for ghosts in &table.ghosts {
        write_map(&ghosts.strings, out, |base, string, out| {
            out.u8(base.level);
            out.u64(base.quotient.0);
            out.u32(base.remainder);
            write_option(string, out, |string, out| out.bytes(&**string));
        });
        out.u64(ghosts.len);
    }
}

fn read_tables(from: &mut Reader) -> Result<Tables<PrintsEdit>, LoadError> {
    let more = from.flag()?;
    let mut tables = Tables::new(read_table(from)?);
    if more {
        tables.set_second(Some(Box::new(read_table(from)?)));
    }
    Ok(tables)
}

fn read_table(from: &mut Reader) -> Result<PrintsEdit, LoadError> {
    Ok(PrintsEdit {
        levels: read_levels(from)?,
        yard: read_yard(from)?,
        ghosts: [read_ghosts(from)?, read_ghosts(from)?],
    })
}

fn read_levels(from: &mut Reader) -> Result<Few<LevelEdit>, LoadError> {
    let levels = (0..from.u8()?.min(3)).map(|_| read_level(from)).collect::<Result<Vec<_>, _>>()?;
    Few::from_items(levels.into_iter()).ok_or_else(|| LoadError::invalid("a table in it has no level, or too many"))
}

fn read_level(from: &mut Reader) -> Result<LevelEdit, LoadError> {
    Ok(LevelEdit {
        blocks: read_map(from, |from| Ok((Block(from.u64()?), from.bytes()?)))?,
        rests: read_map(from, |from| Ok((Block(from.u64()?), from.bytes()?)))?,
        groups: read_map(from, |from| Ok((read_index(from)?, read_words(from)?)))?,
        spilled: read_map(from, |from| Ok((Block(from.u64()?), read_option(from, read_spilled)?)))?,
        used: from.u64()?,
    })
}

fn read_spilled(from: &mut Reader) -> Result<Spilled, LoadError> {
    Spilled::from_bytes(from.bytes()?).ok_or_else(|| LoadError::invalid("adaptivity bits in it are invalid"))
}

fn read_yard(from: &mut Reader) -> Result<YardEdit, LoadError> {
    Ok(YardEdit {
        buckets: read_map(from, |from| Ok((read_index(from)?, read_words::<BUCKET>(from)?)))?,
        overflow: read_map(from, |from| Ok(((Quotient(from.u64()?), from.u64()?), from.flag()?.then_some(()))))?,
        used: from.u64()?,
    })
}

fn read_ghosts(from: &mut Reader) -> Result<HauntedEdit, LoadError> {
    let strings = read_map(from, |from| {
        let base = Base { level: from.u8()?, quotient: Quotient(from.u64()?), remainder: from.u32()? };
        Ok((base, read_option(from, |from| Ok(from.bytes()?.into_boxed_slice()))?))
    })?;
    Ok(HauntedEdit { strings, len: from.u64()? })
}

fn write_bytes<'a>(blocks: &'a ChangedBytes, out: &mut Writer<'a>) {
    write_map(blocks, out, |block, bytes, out| {
        out.u64(block.0);
        out.bytes(bytes);
    });
}

fn write_words<'w>(words: impl IntoIterator<Item = &'w u64>, out: &mut Writer<'_>) {
    words.into_iter().for_each(|word| out.u64(*word));
}

fn read_words<const N: usize>(from: &mut Reader) -> Result<[u64; N], LoadError> {
    let mut words = [0; N];
    for word in &mut words {
        *word = from.u64()?;
    }
    Ok(words)
}

fn read_index(from: &mut Reader) -> Result<usize, LoadError> {
    usize::try_from(from.u64()?).map_err(|_| LoadError::invalid("a number in it is out of range"))
}

fn write_option<'a, T>(value: &'a Option<T>, out: &mut Writer<'a>, write: impl FnOnce(&'a T, &mut Writer<'a>)) {
    out.u8(value.is_some().into());
    if let Some(value) = value {
        write(value, out);
    }
}

fn read_option<T>(
    from: &mut Reader,
    read: impl FnOnce(&mut Reader) -> Result<T, LoadError>,
) -> Result<Option<T>, LoadError> {
    if from.flag()? { read(from).map(Some) } else { Ok(None) }
}

fn write_map<'a, K, V>(
    map: &'a BTreeMap<K, V>,
    out: &mut Writer<'a>,
    mut write: impl FnMut(&'a K, &'a V, &mut Writer<'a>),
) {
    out.u64(map.len() as u64);
    map.iter().for_each(|(key, value)| write(key, value, out));
}

/// Each entry takes some bytes, so a false number of entries fails at the end of the bytes.
fn read_map<K: Ord, V>(
    from: &mut Reader,
    mut read: impl FnMut(&mut Reader) -> Result<(K, V), LoadError>,
) -> Result<BTreeMap<K, V>, LoadError> {
    let mut map = BTreeMap::new();
    for _ in 0..from.u64()? {
        let (key, value) = read(from)?;
        if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(LoadError::invalid("its changes are not in order"));
        }
        map.insert(key, value);
    }
    Ok(map)
}
