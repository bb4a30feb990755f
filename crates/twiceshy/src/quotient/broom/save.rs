//! Saving and loading a broom filter. The bytes are described in `docs/format.md`.

use super::back_yard::BackYard;
use super::filter::{BroomFilter, Reclaim};
use super::functions::{Age, Functions};
use super::ghosts::Ghosts;
use super::level::Level;
use super::local::Local;
use super::options::reclaims;
use super::shape::{BroomForm, Shape};
use super::strings::Bits;
use crate::persist::{LoadError, Reader, SaveError, Writer, hash_key};
use crate::remote::{Generation, Key};
use crate::sizing;
use std::io;

const KIND: u16 = 9;

/// The bytes of a ghost: age, level, quotient, length, bits.
const GHOST: usize = 1 + 1 + 8 + 1 + 8;

impl BroomFilter {
    /// Writes the filter, with its hash functions, its frontier and the number of its last commit. A table that is being
    /// filled is not saved, and a re-keying that has begun is forgotten.
    pub fn save(&self, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
        if self.is_in_doubt() {
            return Err(SaveError::InDoubt);
        }
        let local = &self.local;
        let mut fields = Writer::new();
        fields.u64(local.slots());
        fields.u8(local.shape.width as u8);
        fields.u8(local.shape.signature as u8);
        fields.u8(local.shape.levels() as u8);
        fields.u8(self.reclaim.c as u8);
        fields.u8(self.reclaim.by_rebuild.into());
        hash_key::write(&local.functions.old, &mut fields);
        hash_key::write(&local.functions.new, &mut fields);
        fields.u8(local.functions.frontier.is_some().into());
        fields.bytes(local.functions.frontier.as_ref().map(|key| key.to_vec()).unwrap_or_default());
        fields.u32(local.generation.0);
        fields.u64(local.keys);
        fields.u64(self.debt);
        fields.u8(self.wants_rebuild.into());
        for level in &local.levels {
            level.write(&mut fields);
        }
        if let Some(yard) = &local.yard {
            fields.bytes(yard.words().flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
        }
        let mut ghosts = Vec::new();
        for (age, (level, quotient), bits) in local.ghosts.iter() {
            ghosts.extend([age as u8, level]);
            ghosts.extend(quotient.to_le_bytes());
            ghosts.push(bits.len as u8);
            ghosts.extend(bits.bits.to_le_bytes());
        }
        fields.bytes(ghosts);
        Ok(fields.finish(KIND, self.sequence, out)?)
    }

    /// Reads a filter that [`BroomFilter::save`] wrote. It belongs to a remote at the same commit: call
    /// [`Backed::resolve`](crate::filter::Backed::resolve) with the remote, and recover the filter from it where that says
    /// [`OutOfStep`](crate::error::SeamError::OutOfStep).
    pub fn load(source: &mut (impl io::Read + ?Sized)) -> Result<BroomFilter, LoadError> {
        let mut from = Reader::open(source)?;
        from.expect_kind(KIND)?;
        let sequence = from.sequence();
        let slots = from.u64()?;
        sizing::check_slots(slots).map_err(|error| LoadError::invalid(error.to_string()))?;
        let shape = read_shape(&mut from)?;
        let reclaim = Reclaim { c: from.u8()?.into(), by_rebuild: from.flag()? };
        if !reclaims(reclaim.c, shape.width) {
            return Err(LoadError::invalid(format!("it moves {} keys for each extension", reclaim.c)));
        }
        let (old, new) = (hash_key::read(&mut from)?, hash_key::read(&mut from)?);
        let (has_frontier, frontier) = (from.flag()?, from.bytes()?);
        if !has_frontier && !frontier.is_empty() {
            return Err(LoadError::invalid("its frontier is none and has bytes"));
        }
        let functions = Functions { old, new, frontier: has_frontier.then(|| Key::from(frontier)) };
        let generation = Generation(from.u32()?);
        let (keys, debt) = (from.u64()?, from.u64()?);
        let wants_rebuild = from.flag()?;
        let mut levels = Vec::new();
        for (level, slots) in (0..).zip(shape.slots(slots)) {
            levels.push(Level::read(slots, shape.widths(level), level == 0, &mut from)?);
        }
        let yard = match shape.buckets(slots) {
            Some(buckets) => Some(read_yard(&from.bytes()?, buckets, shape.width)?),
            None => None,
        };
        let ghosts = read_ghosts(&from.bytes()?, &levels)?;
        from.finish()?;
        let local = Local::from_parts(shape, levels, yard, ghosts, functions, generation);
        if local.used() != keys || keys > shape.most(slots) {
            return Err(LoadError::invalid(format!("{} keys are there, which is not what it counts", local.used())));
        }
        let mut filter = BroomFilter::over(local, sequence, reclaim);
        filter.debt = debt;
        filter.wants_rebuild = wants_rebuild;
        Ok(filter)
    }
}

fn read_shape(from: &mut Reader) -> Result<Shape, LoadError> {
    let (width, signature) = (u32::from(from.u8()?), u32::from(from.u8()?));
    sizing::check_width(width).map_err(|error| LoadError::invalid(error.to_string()))?;
    let form = match from.u8()? {
        1 => BroomForm::BackYard,
        2 => BroomForm::TwoLevels,
        levels => return Err(LoadError::invalid(format!("it has {levels} levels"))),
    };
    let least = if form == BroomForm::TwoLevels { width } else { 2 };
    if !(least..=width).contains(&signature) {
        return Err(LoadError::invalid(format!("its remainders of {width} bits have signatures of {signature}")));
    }
    Ok(Shape { form, width, signature })
}

fn read_yard(bytes: &[u8], buckets: u64, width: u32) -> Result<BackYard, LoadError> {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let yard = BackYard::from_words(&words, buckets, width).filter(|_| rest.is_empty());
    yard.ok_or_else(|| LoadError::invalid(format!("{} bytes are no back yard", bytes.len())))
}

fn read_ghosts(bytes: &[u8], levels: &[Level]) -> Result<Ghosts, LoadError> {
    let (entries, rest) = bytes.as_chunks::<GHOST>();
    if !rest.is_empty() {
        return Err(LoadError::invalid(format!("{} bytes are no ghosts", bytes.len())));
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let mut ghosts = Vec::new();
    for entry in entries {
        let (level, quotient) = (entry[1], number(&entry[2..10]));
        let bits = Bits { len: entry[10].into(), bits: number(&entry[11..]) };
        let age = match entry[0] {
            0 => Age::Old,
            1 => Age::New,
            other => return Err(LoadError::invalid(format!("a ghost has the age {other}"))),
        };
        let slots = levels.get(usize::from(level)).map_or(0, Level::slots);
        if quotient >= slots || !(1..=64).contains(&bits.len) || Bits::prefix(bits.bits, bits.len) != bits {
            return Err(LoadError::invalid("a ghost is of no slot, or has bits that cannot be"));
        }
        ghosts.push((age, (level, quotient), bits));
    }
    // In order they come in without a search, and none comes twice.
    match ghosts.is_sorted_by(|a, b| a < b) {
        true => Ok(Ghosts::from_sorted(&ghosts)),
        false => Err(LoadError::invalid("its ghosts are not in order")),
    }
}
