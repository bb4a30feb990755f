//! Saving and loading a full-key cuckoo filter. The bytes are described in `docs/format.md`.

use super::fingerprint::Rule;
use super::full_key::FullKeyCuckoo;
use super::local::Local;
use super::options::RuleSpec;
use super::search::Search;
use super::shape::Shape;
use super::{CuckooingSpec, CyclicSpec, PlainSpec, SwappingSpec};
use crate::hash::HashKey;
use crate::packed::PackedCells;
use crate::persist::{LoadError, Reader, SaveError, Writer, hash_key};
use crate::remote::Generation;
use crate::rng::SplitMix64;
use crate::seam::Seam;
use crate::sizing;
use std::io;

/// Writes the shape, the width and the hash key.
pub(crate) fn write_frame(shape: Shape, width: u32, hash: &HashKey, out: &mut Writer<'_>) {
    out.u8(shape.tables());
    out.u8(shape.cells_per_bucket());
    out.u64(shape.buckets());
    out.u8(width as u8);
    hash_key::write(hash, out);
}

/// Reads what [`write_frame`] wrote.
pub(crate) fn read_frame(from: &mut Reader) -> Result<(Shape, u32, HashKey), LoadError> {
    let (tables, per_bucket, buckets) = (from.u8()?, from.u8()?, from.u64()?);
    let shape = Shape::new(tables.into(), buckets, per_bucket.into())
        .map_err(|error| LoadError::invalid(format!("its shape cannot be: {error}")))?;
    let width = u32::from(from.u8()?);
    sizing::check_width(width).map_err(|error| LoadError::invalid(error.to_string()))?;
    Ok((shape, width, hash_key::read(from)?))
}

/// Reads the cells, and counts the occupied ones against what the file says.
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

fn write_search(search: Search, out: &mut Writer<'_>) {
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

fn save<S: RuleSpec>(filter: &FullKeyCuckoo<S::Rule>, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
    if filter.is_in_doubt() {
        return Err(SaveError::InDoubt);
    }
    let local = &filter.seam.live;
    let mut fields = Writer::new();
    write_frame(local.shape, local.cells.width(), &local.hash, &mut fields);
    fields.u32(local.generation.0);
    fields.u64(local.keys);
    fields.u64(local.orphans);
    fields.u64(filter.rng.state());
    fields.u8(filter.seam.wants_rebuild.into());
    write_search(filter.search, &mut fields);
    S::write(&local.rule, &mut fields);
    fields.bytes(local.cells.as_bytes());
    Ok(fields.finish(S::KIND, filter.seam.sequence, out)?)
}

fn load<S: RuleSpec>(source: &mut (impl io::Read + ?Sized)) -> Result<FullKeyCuckoo<S::Rule>, LoadError> {
    let mut from = Reader::open(source)?;
    from.expect_kind(S::KIND)?;
    let sequence = from.sequence();
    let (shape, width, hash) = read_frame(&mut from)?;
    let generation = Generation(from.u32()?);
    let (keys, orphans) = (from.u64()?, from.u64()?);
    let rng = SplitMix64::from_state(from.u64()?);
    let wants_rebuild = from.flag()?;
    let search = read_search(&mut from)?;
    let rule = S::read(&mut from)?
        .rule(shape, width)
        .map_err(|error| LoadError::invalid(format!("its options cannot be: {error}")))?;
    let cells = read_cells(&mut from, shape, width, keys.checked_add(orphans))?;
    from.finish()?;
    let local = Local { shape, hash, rule, cells, generation, keys, orphans };
    let mut seam = Seam::over(local, sequence);
    seam.wants_rebuild = wants_rebuild;
    Ok(FullKeyCuckoo::from_parts(seam, search, rng))
}

/// A rule whose filters can be saved.
pub trait Saved: Rule {
    /// The options that tell rules of this kind apart.
    type Spec: RuleSpec<Rule = Self>;
}

impl Saved for super::Plain {
    type Spec = PlainSpec;
}

impl Saved for super::Cyclic {
    type Spec = CyclicSpec;
}

impl Saved for super::Swapping {
    type Spec = SwappingSpec;
}

impl Saved for super::Cuckooing {
    type Spec = CuckooingSpec;
}

impl<R: Saved> FullKeyCuckoo<R> {
    /// Writes the filter, with its hash key and the number of its last commit. A table that is being filled is not saved:
    /// after loading, a rebuild begins anew.
    pub fn save(&self, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
        save::<R::Spec>(self, out)
    }

    /// Reads a filter that [`FullKeyCuckoo::save`] wrote. It belongs to a remote at the same commit: call
    /// [`Backed::resolve`](crate::filter::Backed::resolve) with the remote, and recover the filter from it where that says
    /// [`OutOfStep`](crate::error::SeamError::OutOfStep).
    pub fn load(source: &mut (impl io::Read + ?Sized)) -> Result<Self, LoadError> {
        load::<R::Spec>(source)
    }
}
