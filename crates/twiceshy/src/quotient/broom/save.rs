//! Saving and loading a broom filter. The bytes are described in `docs/format.md`.

use super::filter::BroomFilter;
use super::functions::{Age, Functions};
use super::ghosts::Ghosts;
use super::level::Level;
use super::local::{LEVELS, Local, second_slots};
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
        fields.u8(local.width as u8);
        fields.u8(self.c as u8);
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
        let (slots, width, c) = (from.u64()?, u32::from(from.u8()?), u32::from(from.u8()?));
        sizing::check_slots(slots).map_err(|error| LoadError::invalid(error.to_string()))?;
        sizing::check_width(width).map_err(|error| LoadError::invalid(error.to_string()))?;
        if !(3..=64).contains(&c) {
            return Err(LoadError::invalid(format!("it moves {c} keys for each extension")));
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
        let levels = [Level::read(slots, width, &mut from)?, Level::read(second_slots(slots), width, &mut from)?];
        let used: u64 = levels.iter().map(Level::used).sum();
        if used != keys || used > sizing::quotient_most(slots) {
            return Err(LoadError::invalid(format!("{used} slots are in use, which is not what it counts")));
        }
        let ghosts = read_ghosts(&from.bytes()?, &levels)?;
        from.finish()?;
        let local = Local::from_parts(levels, ghosts, functions, generation, width, keys);
        let mut filter = BroomFilter::over(local, sequence, c);
        filter.debt = debt;
        filter.wants_rebuild = wants_rebuild;
        Ok(filter)
    }
}

fn read_ghosts(bytes: &[u8], levels: &[Level; LEVELS]) -> Result<Ghosts, LoadError> {
    let (entries, rest) = bytes.as_chunks::<GHOST>();
    if !rest.is_empty() {
        return Err(LoadError::invalid(format!("{} bytes are no ghosts", bytes.len())));
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let mut ghosts = Ghosts::default();
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
        ghosts.add(age, (level, quotient), bits);
    }
    Ok(ghosts)
}
