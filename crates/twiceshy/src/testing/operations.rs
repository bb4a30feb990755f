//! Any sequence of operations, against an exact set.

use super::{Faulty, Variant};
use crate::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, RememberingFilter, SwappingFilter};
use crate::error::{Error, PlanError};
use crate::filter::{self, Adapted, Backed, Target};
use crate::hash::HashKey;
use crate::memory::Recalling;
use crate::pair::{AdaptiveFilter, stored_keys};
use crate::plan::{Learned, Outcome, Plan};
use crate::quotient::{BroomFilter, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter};
use crate::remote::{Commit, Key, Remote};
use std::any::Any;
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
    /// Adapt, whether or not it is a false positive.
    Adapt(u16),
    /// Adapt to several queries in one plan, stored keys among them.
    Learn(u16),
    /// Begin to grow by this many cells.
    BeginGrow(u8),
    /// Begin to take another hash key.
    BeginRekey(u8),
    /// Bring this many keys over.
    Step(u8),
    /// Save, load, and continue with the loaded filter.
    SaveAndLoad,
    /// Let the n-th next call of the remote fail.
    Fail(u8),
    /// Lose the answer to the next commit; `true` if the commit is made.
    Lose(bool),
}

/// The length of a saved filter's header, which has the stamp.
const HEADER: usize = 64;

/// Decodes operations from bytes, three for each, so that a fuzzer can drive them.
pub fn decode(bytes: &[u8]) -> Vec<Operation> {
    bytes.as_chunks::<3>().0.iter().map(|[what, low, high]| one(*what, u16::from_le_bytes([*low, *high]))).collect()
}

fn one(what: u8, number: u16) -> Operation {
    let small = number as u8;
    match what % 32 {
        0..=9 => Operation::Insert(number % 512),
        10..=15 => Operation::Remove(number % 512),
        16..=21 => Operation::Query(number % 4096),
        22 => Operation::Adapt(number % 4096),
        23 => Operation::Learn(number),
        24 => Operation::BeginGrow(small),
        25 => Operation::BeginRekey(small),
        26..=28 => Operation::Step(small),
        29 => Operation::SaveAndLoad,
        30 => Operation::Fail(small % 16),
        _ => Operation::Lose(small.is_multiple_of(2)),
    }
}

/// Runs the operations on a filter of `cells` cells of `bits` bits, and checks every promise after each; in a long run, after the first
/// 300 only that no key is lost, and all of them after every fourth.
pub fn run<R: Remote + Clone>(
    variant: Variant,
    cells: u64,
    bits: u32,
    seed: u64,
    remote: R,
    operations: &[Operation],
) -> Result<(), String> {
    let pair = variant.build(cells, bits, HashKey::fixed(seed), Faulty::new(remote)).map_err(text)?;
    let mut test = Test { pair, set: BTreeSet::new(), is_thorough: true };
    for (step, operation) in operations.iter().enumerate() {
        test.is_thorough = step < EACH || step % 4 == 0 || step + 1 == operations.len();
        test.step(*operation).map_err(|wrong| format!("step {step}, {operation:?}: {wrong}"))?;
    }
    Ok(())
}

/// How many operations of a run are followed by all checks.
const EACH: usize = 300;

struct Test<R> {
    pair: AdaptiveFilter<dyn Backed, Faulty<R>>,
    set: BTreeSet<Vec<u8>>,
    /// `true` if every invariant is checked after this step.
    is_thorough: bool,
}

/// Keys of different lengths, the empty one among them.
fn key(number: u16) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        _ => number.to_le_bytes().repeat(1 + usize::from(number % 5)),
    }
}

/// The queries of a step that learns: any, and a few that were likely stored or asked before.
fn queries(number: u16) -> Vec<Key> {
    let spread =
        (0..u16::from(number.to_be_bytes()[0] % 48)).map(|at| number.wrapping_add(at.wrapping_mul(611)) % 4096);
    let near = (0..4).map(|at| number.wrapping_add(at) % 512);
    spread.chain(near).map(|number| Key::from(key(number))).collect()
}

/// How an operation ended.
#[derive(PartialEq)]
enum End {
    Done,
    /// Failed, with everything unchanged.
    Refused,
    /// Full: everything is unchanged, except that a table being filled is dropped.
    Full,
    Unknown,
}

impl<R: Remote + Clone> Test<R> {
    fn step(&mut self, operation: Operation) -> Result<(), String> {
        match operation {
            Operation::Fail(calls) => self.pair.remote_mut().fail_after(calls.into()),
            Operation::Lose(happens) => self.pair.remote_mut().lose_answer(happens),
            Operation::SaveAndLoad => self.save_and_load()?,
            _ => self.change(operation)?,
        }
        self.check()
    }

    /// A generation that was being filled remains; the next one with its number replaces it.
    fn save_and_load(&mut self) -> Result<(), String> {
        let mut file = Vec::new();
        self.pair.save(&mut file).map_err(text)?;
        let (filter, sequence) = self.pair.filter().kind().load(&mut file.as_slice()).map_err(text)?;
        let armed = self.pair.remote().clone();
        let mut remote = armed.clone();
        remote.heal();
        self.pair = AdaptiveFilter::from_parts(filter, sequence, remote).map_err(text)?;
        *self.pair.remote_mut() = armed;
        Ok(())
    }

    fn change(&mut self, operation: Operation) -> Result<(), String> {
        let before = saved(self.pair.filter());
        let planned = self.plan(operation, &before)?;
        match self.perform(operation)? {
            End::Done => {
                if planned.is_some_and(|planned| planned != saved(self.pair.filter())) {
                    return Err("the pair's result differs from its filter's plan".into());
                }
            }
            End::Unknown => self.in_doubt()?,
            end => {
                self.pair.remote_mut().heal();
                let gave_up = end == End::Full && matches!(operation, Operation::Step(_));
                if !gave_up && saved(self.pair.filter()) != before {
                    return Err("a refused operation changed the filter".into());
                }
                if stored(self.pair.remote().inner()) != self.set {
                    return Err("a refused operation changed the remote".into());
                }
                self.check()?;
                // A retry must succeed: a failure leaves nothing behind.
                if end == End::Refused && !matches!(self.perform(operation)?, End::Done | End::Full) {
                    return Err("a second attempt without failures failed".into());
                }
            }
        }
        Ok(())
    }

    /// Checks on copies that the operation's plan is a value, and returns the filter's bytes after it. `None` if there is
    /// no such plan.
    fn plan(&self, operation: Operation, before: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let number = match operation {
            Operation::Insert(number) | Operation::Remove(number) => number,
            Operation::Query(number) | Operation::Adapt(number) => number,
            _ => 0,
        };
        let (key, filter) = (key(number), self.pair.filter());
        let wrong = match operation {
            Operation::Learn(number) => queries(number),
            _ => Vec::new(),
        };
        let operation = match operation {
            Operation::Insert(_) => filter::Operation::Insert(&key),
            Operation::Remove(_) => filter::Operation::Remove(&key),
            Operation::Query(_) if !filter.contains(&key) => return Ok(None),
            Operation::Query(_) | Operation::Adapt(_) => filter::Operation::Adapt(&key),
            Operation::Learn(_) => filter::Operation::Learn(&wrong),
            Operation::BeginGrow(more) => filter::Operation::Begin(Target::Cells(self.cells(more))),
            Operation::BeginRekey(seed) => filter::Operation::Begin(Target::Hash(other_hash(seed))),
            Operation::Step(limit) => filter::Operation::Step(usize::from(limit).max(1)),
            _ => return Ok(None),
        };
        // Reads the remote inside, so that the check does not use up a failure meant for an operation. The pair's memory is at
        // hand when it plans, so it is here.
        match filter.plan(operation, &Recalling::new(self.pair.remote().inner(), self.pair.memory())) {
            Ok(plan) => {
                let after = is_a_value(filter, &plan, before)?;
                if let Outcome::Learned(learned) = plan.outcome() {
                    self.like_one_by_one(&wrong, learned, &after)?;
                }
                Ok(Some(after))
            }
            Err(PlanError::Full { .. } | PlanError::NotRebuilding) => Ok(None),
            Err(PlanError::Options(_)) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Adapts copies to the queries one after the other: a plan for all of them must do the same, except to the stamp.
    fn like_one_by_one(&self, wrong: &[Key], learned: Learned, after: &[u8]) -> Result<(), String> {
        let taken = wrong.get(..learned.queries as usize).ok_or("it dealt with more queries than there are")?;
        if taken.is_empty() != wrong.is_empty() {
            return Err("it dealt with no query".into());
        }
        let mut remote = self.pair.remote().inner().clone();
        let sequence = remote.sequence().map_err(text)?;
        let mut filter = self.pair.filter().boxed();
        for (query, commit) in taken.iter().zip(sequence + 1..) {
            let keys = Recalling::new(&remote, self.pair.memory());
            let plan = filter.plan(filter::Operation::Adapt(query), &keys).map_err(text)?;
            // A commit for each, so that the numbers follow each other.
            remote
                .commit(&Commit { sequence: commit, writes: plan.writes().to_vec(), ..Commit::default() })
                .map_err(text)?;
            filter.apply(plan).map_err(text)?;
        }
        if saved(&*filter).get(HEADER..) != after.get(HEADER..) {
            return Err(format!("learning from {} queries at once is not like one by one", taken.len()));
        }
        let fixed = taken.iter().filter(|query| !filter.contains(query)).count() as u64;
        let stored = taken.iter().filter(|query| self.set.contains(&***query)).count() as u64;
        if (learned.fixed, learned.stored) != (fixed, stored) {
            return Err(format!("{fixed} are fixed and {stored} stored, but it says {learned:?}"));
        }
        Ok(())
    }

    /// While an outcome is unknown, its keys are present and writes are refused. Then the remote decides.
    fn in_doubt(&mut self) -> Result<(), String> {
        self.pair.remote_mut().heal();
        if !self.pair.is_in_doubt() {
            return Err("an unknown outcome left no doubt".into());
        }
        let perhaps = stored(self.pair.remote().inner());
        if let Some(lost) = self.set.union(&perhaps).find(|key| !self.pair.contains(*key)) {
            return Err(format!("in doubt, the key {lost:02x?} was reported absent"));
        }
        match (self.pair.insert(b"doubt"), self.pair.save(&mut Vec::new())) {
            (Err(Error::InDoubt), Err(_)) => {}
            other => return Err(format!("a filter in doubt answered a write and a save with {other:?}")),
        }
        self.pair.resolve().map_err(text)?;
        self.set = perhaps;
        Ok(())
    }

    /// The number of cells that the filter grows to, kept small.
    fn cells(&self, more: u8) -> u64 {
        let cells = self.pair.filter().cells() + u64::from(more);
        if cells > 1200 { 600 } else { cells }
    }

    fn perform(&mut self, operation: Operation) -> Result<End, String> {
        match operation {
            Operation::Insert(number) => self.insert(&key(number)),
            Operation::Remove(number) => self.remove(&key(number)),
            Operation::Query(number) if !self.pair.contains(&key(number)) => Ok(End::Done),
            Operation::Query(number) | Operation::Adapt(number) => self.adapt(&key(number)),
            Operation::Learn(number) => ended(self.pair.learn(&queries(number))),
            Operation::BeginGrow(more) => ended(self.pair.begin_grow(self.cells(more))),
            Operation::BeginRekey(seed) => ended(self.pair.begin_rekey(other_hash(seed))),
            Operation::Step(limit) => match self.pair.rebuild_step(limit.into()) {
                Err(Error::NotRebuilding) => Ok(End::Done),
                other => ended(other),
            },
            Operation::SaveAndLoad | Operation::Fail(_) | Operation::Lose(_) => Ok(End::Done),
        }
    }

    fn insert(&mut self, key: &[u8]) -> Result<End, String> {
        let stored = self.set.contains(key);
        match self.pair.insert(key) {
            Ok(new) if new != stored => {
                self.set.insert(key.to_vec());
                Ok(End::Done)
            }
            Err(Error::Full { keys, .. }) if stored || keys != self.set.len() as u64 => {
                Err(format!("full with {keys} keys, where stored is {stored}"))
            }
            Err(error) => ended::<()>(Err(error)),
            other => Err(format!("insert answered {other:?} where stored is {stored}")),
        }
    }

    fn remove(&mut self, key: &[u8]) -> Result<End, String> {
        let stored = self.set.contains(key);
        match self.pair.remove(key) {
            Ok(was) if was == stored => {
                self.set.remove(key);
                Ok(End::Done)
            }
            Err(error) => ended::<()>(Err(error)),
            other => Err(format!("remove answered {other:?} where stored is {stored}")),
        }
    }

    fn adapt(&mut self, key: &[u8]) -> Result<End, String> {
        let stored = self.set.contains(key);
        let adapted = self.pair.was_wrong(key);
        let present = self.pair.contains(key);
        match adapted {
            Ok(Adapted::Stored) if stored && present => Ok(End::Done),
            Ok(Adapted::Fixed) if !stored && !present => Ok(End::Done),
            Ok(Adapted::StillPresent | Adapted::Unfixable) if !stored && present => Ok(End::Done),
            Ok(other) => Err(format!("adapt answered {other:?}, but stored is {stored} and present {present}")),
            Err(error) => ended::<()>(Err(error)),
        }
    }

    /// Never a false negative, and every invariant.
    fn check(&self) -> Result<(), String> {
        if let Some(lost) = self.set.iter().find(|key| !self.pair.contains(*key)) {
            return Err(format!("the stored key {lost:02x?} was reported absent"));
        }
        if self.pair.len() != self.set.len() as u64 {
            return Err(format!("the filter counts {} keys, {} are stored", self.pair.len(), self.set.len()));
        }
        match self.is_thorough {
            true => self.pair.validate_against(self.pair.remote().inner()),
            false => Ok(()),
        }
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn other_hash(seed: u8) -> HashKey {
    HashKey::fixed(1000 + u64::from(seed))
}

fn ended<T>(result: Result<T, Error>) -> Result<End, String> {
    match result {
        Ok(_) => Ok(End::Done),
        Err(Error::Full { .. }) => Ok(End::Full),
        Err(Error::Remote(_)) => Ok(End::Refused),
        Err(Error::Unknown(_)) => Ok(End::Unknown),
        Err(other) => Err(other.to_string()),
    }
}

/// Checks that planning did not change the filter, that a plan read from bytes does the same to a loaded filter, and that
/// it can be taken back. Returns the filter's bytes after the plan.
fn is_a_value(filter: &dyn Backed, plan: &Plan, before: &[u8]) -> Result<Vec<u8>, String> {
    if saved(filter) != before {
        return Err("planning changed the filter".into());
    }
    if plan.is_nothing() {
        return Ok(before.to_vec());
    }
    let mut copy = filter.boxed();
    let undo = copy.apply(plan.clone()).map_err(text)?;
    let after = saved(&*copy);
    let (mut loaded, _) = filter.kind().load(&mut &*before).map_err(text)?;
    let read = Plan::from_bytes(&plan.to_bytes()).map_err(text)?;
    if (read.outcome(), read.writes()) != (plan.outcome(), plan.writes()) {
        return Err("a plan differs after writing and reading it".into());
    }
    let undo_loaded = loaded.apply(read).map_err(text)?;
    if saved(&*loaded) != after || loaded.stamp() != copy.stamp() {
        return Err("a plan has another effect on a loaded filter".into());
    }
    copy.undo(undo).map_err(text)?;
    loaded.undo(undo_loaded).map_err(text)?;
    if saved(&*copy) != before || saved(&*loaded) != before {
        return Err("a plan that was taken back left a trace".into());
    }
    if statistics(&*copy) != statistics(filter) {
        return Err("a plan that was taken back is still counted".into());
    }
    Ok(after)
}

/// The filter's bytes, without the commit number.
pub fn saved(filter: &dyn Backed) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail.
    let _ = filter.save(0, &mut bytes);
    bytes
}

/// All keys of a remote that does not fail.
pub fn stored(remote: &dyn Remote) -> BTreeSet<Vec<u8>> {
    let keys = stored_keys(remote).unwrap_or_default();
    keys.iter().map(|key| key.to_vec()).collect()
}

/// The statistics of a filter of any kind, as text for comparison.
pub fn statistics(filter: &dyn Backed) -> String {
    let filter: &dyn Any = filter;
    macro_rules! first {
        ($($kind:ty),*) => {
            $(if let Some(filter) = filter.downcast_ref::<$kind>() {
                return format!("{:?}", filter.stats());
            })*
        };
    }
    first!(FullKeyFilter, CyclicFilter, SwappingFilter, CuckooingFilter, RememberingFilter);
    first!(QuotientFilter, TelescopingFilter, PlainTelescopingFilter, ExtensionFilter);
    first!(BroomFilter);
    String::new()
}
