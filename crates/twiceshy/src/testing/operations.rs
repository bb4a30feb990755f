//! Any sequence of operations, against an exact set.

use super::{Faulty, Subject, Variant};
use crate::error::{InsertError, RebuildError, SeamError};
use crate::filter::{Adapted, Inserted, Progress, Removed};
use crate::hash::HashKey;
use crate::remote::{Position, Remote};
use std::collections::BTreeSet;

/// One step of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Insert a key.
    Insert(u16),
    /// Remove a key.
    Remove(u16),
    /// Look a key up, and adapt if it is a false positive.
    Query(u16),
    /// Adapt whether or not there is a false positive.
    Adapt(u16),
    /// Begin to grow by so many cells.
    BeginGrow(u8),
    /// Begin to take another hash key.
    BeginRekey(u8),
    /// Bring so many keys over.
    Step(u8),
    /// Save, load, and go on with what was loaded.
    SaveAndLoad,
    /// Let the n-th next call of the remote fail.
    Fail(u8),
    /// Lose the answer to the next commit, which happens or not.
    Lose(bool),
}

/// Operations from bytes, three for each, so that a fuzzer can drive them.
pub fn decode(bytes: &[u8]) -> Vec<Operation> {
    bytes.as_chunks::<3>().0.iter().map(|[what, low, high]| one(*what, u16::from_le_bytes([*low, *high]))).collect()
}

fn one(what: u8, number: u16) -> Operation {
    let small = number as u8;
    match what % 32 {
        0..=9 => Operation::Insert(number % 512),
        10..=15 => Operation::Remove(number % 512),
        16..=21 => Operation::Query(number % 4096),
        22..=23 => Operation::Adapt(number % 4096),
        24 => Operation::BeginGrow(small),
        25 => Operation::BeginRekey(small),
        26..=28 => Operation::Step(small),
        29 => Operation::SaveAndLoad,
        30 => Operation::Fail(small % 16),
        _ => Operation::Lose(small.is_multiple_of(2)),
    }
}

/// Runs the operations on a filter of `cells` cells of `bits` bits and checks every promise after each of them.
pub fn run<F: Subject, R: Remote + Clone>(
    variant: Variant,
    cells: u64,
    bits: u32,
    seed: u64,
    remote: R,
    operations: &[Operation],
) -> Result<(), String> {
    let mut remote = Faulty::new(remote);
    let filter =
        F::build(variant, cells, bits, HashKey::fixed(seed), &mut remote).map_err(|error| error.to_string())?;
    let mut test = Test { filter, remote, set: BTreeSet::new() };
    for (step, operation) in operations.iter().enumerate() {
        test.step(*operation).map_err(|wrong| format!("step {step}, {operation:?}: {wrong}"))?;
    }
    Ok(())
}

struct Test<F, R> {
    filter: F,
    remote: Faulty<R>,
    set: BTreeSet<Vec<u8>>,
}

/// Keys of different lengths, the empty one among them.
fn key(number: u16) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        _ => number.to_le_bytes().repeat(1 + usize::from(number % 5)),
    }
}

/// How an operation ended.
enum End {
    Done,
    /// With an error that leaves everything as it was.
    Refused,
    Unknown,
}

impl<F: Subject, R: Remote + Clone> Test<F, R> {
    fn step(&mut self, operation: Operation) -> Result<(), String> {
        match operation {
            Operation::Fail(calls) => self.remote.fail_after(calls.into()),
            Operation::Lose(happens) => self.remote.lose_answer(happens),
            Operation::SaveAndLoad => {
                let rebuilding = self.filter.is_rebuilding();
                self.filter = F::from_bytes(&self.filter.to_bytes()).map_err(|error| error.to_string())?;
                if rebuilding {
                    // The generation that was being filled is left over; the next one of its number replaces it.
                    self.check()?;
                }
            }
            _ => self.change(operation)?,
        }
        self.check()
    }

    fn change(&mut self, operation: Operation) -> Result<(), String> {
        let before = (self.filter.clone(), self.filter.to_bytes(), self.remote.inner().clone());
        match self.perform(operation)? {
            End::Done => {}
            End::Refused => {
                self.remote.heal();
                let rebuilding = matches!(operation, Operation::Step(_));
                if !rebuilding && self.filter.to_bytes() != before.1 {
                    return Err("a refused operation changed the filter".into());
                }
                if !rebuilding && keys(self.remote.inner())? != keys(&before.2)? {
                    return Err("a refused operation changed the remote".into());
                }
                self.check()?;
                // The next attempt works: a failure leaves nothing behind that stands in its way.
                if !matches!(operation, Operation::Step(_)) && !matches!(self.perform(operation)?, End::Done) {
                    let full = matches!(operation, Operation::Insert(_) | Operation::BeginGrow(_));
                    if !full {
                        return Err("a second attempt without failures failed".into());
                    }
                }
            }
            End::Unknown => {
                self.remote.heal();
                self.in_doubt()?;
            }
        }
        Ok(())
    }

    /// While an outcome is unknown every key is present and writes are refused; then the remote decides.
    fn in_doubt(&mut self) -> Result<(), String> {
        if !self.filter.in_doubt() {
            return Err("an unknown outcome left no doubt".into());
        }
        for number in (0..4096).step_by(61) {
            let Some(places) = self.filter.lookup(&key(number)) else {
                return Err("a filter in doubt said absent".into());
            };
            if places.count() == 0 {
                return Err("a filter in doubt named no place".into());
            }
        }
        match self.filter.insert(b"doubt", &mut self.remote) {
            Err(InsertError::Seam(SeamError::InDoubt)) => {}
            other => return Err(format!("a filter in doubt answered a write with {other:?}")),
        }
        self.filter.resolve(&self.remote).map_err(|error| error.to_string())?;
        self.set = keys(self.remote.inner())?;
        Ok(())
    }

    fn perform(&mut self, operation: Operation) -> Result<End, String> {
        match operation {
            Operation::Insert(number) => self.insert(&key(number)),
            Operation::Remove(number) => self.remove(&key(number)),
            Operation::Query(number) if !self.filter.contains(&key(number)) => Ok(End::Done),
            Operation::Query(number) | Operation::Adapt(number) => self.adapt(&key(number)),
            Operation::BeginGrow(more) => {
                let cells = self.filter.cells() + u64::from(more);
                // The tests stay small.
                let cells = if cells > 1200 { 600 } else { cells };
                rebuilt(self.filter.begin_grow(cells, &mut self.remote))
            }
            Operation::BeginRekey(seed) => {
                rebuilt(self.filter.begin_rekey(HashKey::fixed(1000 + u64::from(seed)), &mut self.remote))
            }
            Operation::Step(limit) => match self.filter.rebuild_step(limit.into(), &mut self.remote) {
                Ok(Progress::More | Progress::Done) | Err(RebuildError::NotBegun) => Ok(End::Done),
                Err(error) => rebuilt(Err(error)),
            },
            Operation::SaveAndLoad | Operation::Fail(_) | Operation::Lose(_) => Ok(End::Done),
        }
    }

    fn insert(&mut self, key: &[u8]) -> Result<End, String> {
        let stored = self.set.contains(key);
        match self.filter.insert(key, &mut self.remote) {
            Ok(Inserted::New) if !stored => {
                self.set.insert(key.to_vec());
                Ok(End::Done)
            }
            Ok(Inserted::AlreadyStored) if stored => Ok(End::Done),
            Err(InsertError::Full { keys, .. }) if !stored && keys == self.set.len() as u64 => Ok(End::Refused),
            Err(InsertError::Seam(error)) => seam(error),
            other => Err(format!("insert answered {other:?} where stored is {stored}")),
        }
    }

    fn remove(&mut self, key: &[u8]) -> Result<End, String> {
        let stored = self.set.contains(key);
        match self.filter.remove(key, &mut self.remote) {
            Ok(Removed::Gone | Removed::LeftOrphan) if stored => {
                self.set.remove(key);
                Ok(End::Done)
            }
            Ok(Removed::NotStored) if !stored => Ok(End::Done),
            Err(error) => seam(error),
            other => Err(format!("remove answered {other:?} where stored is {stored}")),
        }
    }

    fn adapt(&mut self, key: &[u8]) -> Result<End, String> {
        let stored = self.set.contains(key);
        let Some(adapted) = self.filter.try_adapt(key, &mut self.remote) else { return Ok(End::Done) };
        let present = self.filter.contains(key);
        match adapted {
            Ok(Adapted::Stored) if stored && present => Ok(End::Done),
            Ok(Adapted::Fixed) if !stored && !present => Ok(End::Done),
            Ok(Adapted::StillPresent | Adapted::Unfixable) if !stored && present => Ok(End::Done),
            Err(error) => seam(error),
            Ok(other) => Err(format!("adapt answered {other:?}, but stored is {stored} and present {present}")),
        }
    }

    /// Never a false negative, and every invariant.
    fn check(&self) -> Result<(), String> {
        let lost = self.set.iter().find(|key| !self.filter.contains(key));
        if let Some(lost) = lost {
            return Err(format!("the stored key {lost:02x?} was reported absent"));
        }
        if self.filter.len() != self.set.len() as u64 && !self.filter.in_doubt() {
            return Err(format!("the filter counts {} keys, {} are stored", self.filter.len(), self.set.len()));
        }
        // Through the remote inside: a check must not use up a failure that is meant for an operation.
        self.filter.validate(self.remote.inner())
    }
}

fn seam<E: std::error::Error>(error: SeamError<E>) -> Result<End, String> {
    match error {
        SeamError::Remote(_) => Ok(End::Refused),
        SeamError::Unknown(_) => Ok(End::Unknown),
        other => Err(other.to_string()),
    }
}

fn rebuilt<E: std::error::Error>(result: Result<(), RebuildError<E>>) -> Result<End, String> {
    match result {
        Ok(()) => Ok(End::Done),
        Err(RebuildError::Full { .. }) => Ok(End::Refused),
        Err(RebuildError::Seam(error)) => seam(error),
        Err(other) => Err(other.to_string()),
    }
}

/// The keys of the generation in use, or of both where keys age.
fn keys<R: Remote>(remote: &R) -> Result<BTreeSet<Vec<u8>>, String> {
    let phase = remote.phase().map_err(|error| error.to_string())?;
    let in_use = remote.in_use().map_err(|error| error.to_string())?;
    let generations = in_use.into_iter().chain(phase.map(|phase| phase.new)).map(|(generation, _)| generation);
    let mut keys = BTreeSet::new();
    for generation in generations {
        let mut add = |at: Position| {
            keys.insert(at.key.to_vec());
        };
        remote.walk(generation, None, usize::MAX, &mut add).map_err(|error| error.to_string())?;
    }
    Ok(keys)
}
