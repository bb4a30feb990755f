//! Saving and loading a full-key cuckoo filter. The bytes are described in `docs/format.md`.

use super::exceptions::Exceptions;
use super::fingerprint::Rule;
use super::full_key::FullKeyCuckoo;
use super::local::Local;
use super::options::RuleSpec;
use super::search::Search;
use super::shape::Shape;
use crate::hash::HashKey;
use crate::packed::PackedCells;
use crate::persist::{LoadError, Reader, SaveError, Writer, hash_key};
use crate::remote::Generation;
use crate::rng::SplitMix64;
use crate::sizing;
use std::io;

/// The bit beside the cells of a bucket that says that buckets overlap.
const OVERLAPS: u8 = 0x80;

/// Writes the shape, the width and the hash key.
pub(crate) fn write_frame(shape: Shape, width: u32, hash: &HashKey, out: &mut Writer<'_>) {
    out.u8(shape.tables());
    out.u8(shape.cells_per_bucket() | if shape.overlaps() { OVERLAPS } else { 0 });
    out.u64(shape.buckets());
    out.u8(width as u8);
    hash_key::write(hash, out);
}

/// Reads what [`write_frame`] wrote.
pub(crate) fn read_frame(from: &mut Reader, may_overlap: bool) -> Result<(Shape, u32, HashKey), LoadError> {
    let (tables, per_bucket, buckets) = (from.u8()?, from.u8()?, from.u64()?);
    let shape = Shape::new(tables.into(), buckets, (per_bucket & !OVERLAPS).into())
        .map_err(|error| LoadError::invalid(format!("its shape is invalid: {error}")))?;
    let shape = if per_bucket & OVERLAPS != 0 { shape.overlapping() } else { shape };
    if shape.overlaps() && !may_overlap {
        return Err(LoadError::invalid("its buckets overlap"));
    }
    let width = u32::from(from.u8()?);
    sizing::check_width(width).map_err(|error| LoadError::invalid(error.to_string()))?;
    Ok((shape, width, hash_key::read(from)?))
}

/// Reads the cells, and checks the number of occupied ones against the file.
pub(crate) fn read_cells(
    from: &mut Reader,
    shape: Shape,
    width: u32,
    occupied: Option<u64>,
) -> Result<PackedCells, LoadError> {
    let bytes = from.bytes()?;
    let cells = PackedCells::from_bytes(shape.cells(), width, &bytes).ok_or_else(|| {
        LoadError::invalid(format!("its {} cells of {width} bits are not {} bytes", shape.cells(), bytes.len()))
    })?;
    let counted = (0..cells.len()).filter(|cell| cells.get(*cell) != 0).count() as u64;
    match occupied {
        Some(claimed) if claimed == counted => Ok(cells),
        _ => Err(LoadError::invalid(format!("{counted} cells are occupied, which is not what it counts"))),
    }
}

pub(super) fn write_search(search: Search, out: &mut Writer<'_>) {
    let (kind, bound) = match search {
        Search::BreadthFirst { cells } => (0, cells),
        Search::RandomWalk { steps } => (1, steps),
    };
    out.u8(kind);
    out.u32(bound);
}

fn read_search(from: &mut Reader) -> Result<Search, LoadError> {
    let (kind, bound) = (from.u8()?, from.u32()?);
    let search = match kind {
        0 => Search::BreadthFirst { cells: bound },
        1 => Search::RandomWalk { steps: bound },
        other => return Err(LoadError::invalid(format!("its search is of kind {other}"))),
    };
    search.check().map_err(|error| LoadError::invalid(error.to_string()))?;
    Ok(search)
}

impl<R: Rule> FullKeyCuckoo<R> {
    pub(super) fn save_at(&self, sequence: u64, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
        let local = &self.local;
        let mut fields = Writer::new();
        write_frame(local.shape, local.cells.width(), &local.hash, &mut fields);
        fields.u32(local.generation.0);
        fields.u64(local.keys);
        fields.u64(local.orphans);
        fields.u64(self.rng.state());
        fields.u8(self.wants_rebuild.into());
        write_search(self.search, &mut fields);
        R::Spec::write(&local.rule, &mut fields);
        fields.bytes(local.cells.as_bytes());
        if R::LISTS {
            local.exceptions.write(&mut fields);
        }
        Ok(fields.finish_at(R::Spec::KIND.file_code(), sequence, self.stamp, out)?)
    }

    /// Reads a filter that [`Backed::save`](crate::filter::Backed::save) wrote, and the number of its remote's last commit.
    pub fn load(source: &mut (impl io::Read + ?Sized)) -> Result<(Self, u64), LoadError> {
        let mut from = Reader::open(source)?;
        from.expect_kind(R::Spec::KIND.file_code())?;
        let (shape, width, hash) = read_frame(&mut from, R::OVERLAPS)?;
        let generation = Generation(from.u32()?);
        let (keys, orphans) = (from.u64()?, from.u64()?);
        let rng = SplitMix64::from_state(from.u64()?);
        let wants_rebuild = from.flag()?;
        let search = read_search(&mut from)?;
        let rule = R::Spec::read(&mut from)?
            .rule(shape, width)
            .map_err(|error| LoadError::invalid(format!("its options are invalid: {error}")))?;
        let cells = read_cells(&mut from, shape, width, keys.checked_add(orphans))?;
        let exceptions = if R::LISTS { Exceptions::read(&mut from, &shape)? } else { Exceptions::default() };
        let (sequence, stamp) = (from.sequence(), from.stamp());
        from.finish()?;
        let local = Local { keys, orphans, exceptions, ..Local::over(shape, hash, rule, cells, generation) };
        let filter = FullKeyCuckoo { rng, wants_rebuild, stamp, ..FullKeyCuckoo::new(local, search) };
        Ok((filter, sequence))
    }
}
