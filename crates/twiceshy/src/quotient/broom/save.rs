//! Saving and loading a broom filter. The bytes are described in `docs/format.md`.

use super::back_yard::BackYard;
use super::few::Few;
use super::filter::{BroomFilter, Reclaim};
use super::functions::{Age, Functions};
use super::ghosts::Ghosts;
use super::haunted::Base;
use super::level::Level;
use super::local::Local;
use super::options::reclaims;
use super::prints::Prints;
use super::rebuild::{Rebuild, Stage};
use super::shape::{BroomForm, Shape};
use super::strings::Bits;
use crate::kind::Kind;
use crate::persist::{LoadError, Reader, SaveError, Writer, hash_key};
use crate::quotient::numbers::Quotient;
use crate::remote::{Frontier, Generation};
use crate::sizing;
use std::io;

/// Old broom filters, whose frontier moved in byte order.
const KIND_IN_BYTE_ORDER: u16 = 9;

/// The length of a ghost: age, level, quotient, remainder, length, bits.
const GHOST: usize = 1 + 1 + 8 + 4 + 1 + 8;

/// The length of an overflowed hash: quotient, and remainder with the bits after it.
const OVERFLOWN: usize = 8 + 8;

impl BroomFilter {
    /// While keys move from one table to another, both are written, and a loaded filter continues. A re-keying that has
    /// begun is not saved, nor is a rebuild that waits for its phase.
    pub(super) fn save_at(&self, sequence: u64, out: &mut (impl io::Write + ?Sized)) -> Result<(), SaveError> {
        let local = &self.local;
        let mut fields = Writer::new();
        fields.u8(local.functions.apart.into());
        local.functions.slots.iter().for_each(|slots| fields.u64(*slots));
        fields.u8(local.shape.width as u8);
        fields.u8(local.shape.signature as u8);
        fields.u8(local.shape.levels() as u8);
        fields.u8(self.reclaim.c as u8);
        fields.u8(self.reclaim.by_rebuild.into());
        hash_key::write(&local.functions.old, &mut fields);
        hash_key::write(&local.functions.new, &mut fields);
        fields.u64(local.functions.frontier.0);
        fields.u32(local.functions.generation.0);
        fields.u64(local.keys());
        fields.u64(self.debt);
        fields.u8(self.wants_rebuild.into());
        local.tables.iter().for_each(|prints| write_prints(prints, &mut fields));
        Ok(fields.finish_at(Kind::Broom.file_code(), sequence, self.stamp, out)?)
    }

    /// Reads a filter that [`Backed::save`](crate::filter::Backed::save) wrote, and the number of its remote's last commit.
    /// If the remote may have lost commits in a crash, recover the filter instead: others know what it had learned in them,
    /// and it would repeat those mistakes.
    pub fn load(source: &mut (impl io::Read + ?Sized)) -> Result<(BroomFilter, u64), LoadError> {
        let mut from = Reader::open(source)?;
        if from.kind() == KIND_IN_BYTE_ORDER {
            return Err(LoadError::Outdated);
        }
        from.expect_kind(Kind::Broom.file_code())?;
        let (sequence, stamp) = (from.sequence(), from.stamp());
        let apart = from.flag()?;
        let slots = [from.u64()?, from.u64()?];
        for slots in slots {
            sizing::check_slots(slots).map_err(|error| LoadError::invalid(error.to_string()))?;
        }
        if !apart && slots[0] != slots[1] {
            return Err(LoadError::invalid("it has two sizes and one table"));
        }
        let shape = read_shape(&mut from)?;
        let reclaim = Reclaim { c: from.u8()?.into(), by_rebuild: from.flag()? };
        if !reclaims(reclaim.c, shape.width) {
            return Err(LoadError::invalid(format!("it moves {} keys for each extension", reclaim.c)));
        }
        let (old, new) = (hash_key::read(&mut from)?, hash_key::read(&mut from)?);
        let frontier = Frontier(from.u64()?);
        let generation = Generation(from.u32()?);
        let (keys, debt) = (from.u64()?, from.u64()?);
        let wants_rebuild = from.flag()?;
        let prints = read_prints(slots[0], &shape, &mut from)?;
        let next = if apart { Some(read_prints(slots[1], &shape, &mut from)?) } else { None };
        from.finish()?;
        let functions = Functions { new, frontier, slots, apart, ..Functions::begin(old, generation, slots[0]) };
        let mut local = Local::from_parts(shape, prints, functions);
        local.tables.set_second(next.map(Box::new));
        if local.keys() != keys || keys > local.most() {
            return Err(LoadError::invalid(format!("{} keys are there, which is not what it counts", local.keys())));
        }
        let mut filter = BroomFilter { stamp, ..BroomFilter::over(local, reclaim) };
        filter.debt = debt;
        filter.wants_rebuild = wants_rebuild;
        filter.rebuild = apart.then_some(Rebuild { cells: Some(slots[1]), hash: None, stage: Stage::Runs });
        Ok((filter, sequence))
    }
}

fn write_prints<'a>(prints: &'a Prints, fields: &mut Writer<'a>) {
    for level in prints.levels.iter() {
        level.write(fields);
    }
    fields.bytes(prints.yard.words().flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    let overflown = prints.yard.overflown().flat_map(|(quotient, rest)| [quotient.0, rest]);
    fields.bytes(overflown.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    let mut ghosts = Vec::new();
    for (age, (base, bits)) in prints.ghosts.iter() {
        ghosts.extend([age as u8, base.level]);
        ghosts.extend(base.quotient.0.to_le_bytes());
        ghosts.extend(base.remainder.to_le_bytes());
        ghosts.push(bits.len as u8);
        ghosts.extend(bits.bits.to_le_bytes());
    }
    fields.bytes(ghosts);
}

fn read_prints(slots: u64, shape: &Shape, from: &mut Reader) -> Result<Prints, LoadError> {
    let mut levels = Vec::new();
    for (level, slots) in (0..).zip(shape.slots(slots)) {
        levels.push(Level::read(slots, shape.widths(level), level == 0, from)?);
    }
    let yard = read_yard(&from.bytes()?, &from.bytes()?, slots, shape)?;
    let ghosts = read_ghosts(&from.bytes()?, &levels, shape)?;
    let levels = Few::from_items(levels.into_iter()).ok_or_else(|| LoadError::invalid("it has no levels"))?;
    Ok(Prints { levels, yard, ghosts })
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

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn read_yard(words: &[u8], overflown: &[u8], slots: u64, shape: &Shape) -> Result<BackYard, LoadError> {
    let ((words, rest), (entries, more)) = (words.as_chunks::<8>(), overflown.as_chunks::<OVERFLOWN>());
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let overflown: Vec<_> = entries.iter().map(|entry| (Quotient(number(&entry[..8])), number(&entry[8..]))).collect();
    let sound = rest.is_empty() && more.is_empty() && overflown.iter().all(|(quotient, _)| quotient.0 < slots);
    let yard = BackYard::from_words(&words, &overflown, shape.buckets(slots), shape.width).filter(|_| sound);
    yard.ok_or_else(|| LoadError::invalid("its back yard is invalid"))
}

fn read_ghosts(bytes: &[u8], levels: &[Level], shape: &Shape) -> Result<Ghosts, LoadError> {
    let (entries, rest) = bytes.as_chunks::<GHOST>();
    if !rest.is_empty() {
        return Err(LoadError::invalid(format!("{} bytes cannot be ghosts", bytes.len())));
    }
    let widths = shape.remainders();
    let mut ghosts = Vec::new();
    for entry in entries {
        let level = entry[1];
        let (quotient, remainder) = (Quotient(number(&entry[2..10])), number(&entry[10..14]));
        let bits = Bits { len: entry[14].into(), bits: number(&entry[15..]) };
        let age = match entry[0] {
            0 => Age::Old,
            1 => Age::New,
            other => return Err(LoadError::invalid(format!("a ghost has the age {other}"))),
        };
        let slots = levels.get(usize::from(level)).map_or(0, Level::slots);
        let in_table = quotient.0 < slots && remainder >> widths[usize::from(level.min(1))] == 0;
        if !in_table || !(1..=64).contains(&bits.len) || Bits::prefix(bits.bits, bits.len) != bits {
            return Err(LoadError::invalid("a ghost belongs to no slot, or has invalid bits"));
        }
        ghosts.push((age, (Base { level, quotient, remainder: remainder as u32 }, bits)));
    }
    // Sorted ghosts are added without a search, and none is added twice.
    match ghosts.is_sorted_by(|a, b| a < b) {
        true => Ok(Ghosts::from_sorted(&ghosts, widths)),
        false => Err(LoadError::invalid("its ghosts are not in order")),
    }
}
