//! The state record of a guarded store, written with every commit.

use crate::batch::Batch;
use crate::choice::Choice;
use crate::store::Space;
use std::fmt;
use twiceshy::hash::{HashKey, HashKind, NoEntropy};
use twiceshy::remote::{Frontier, Generation, Phase, Schema, Write};

/// The record's key.
const STATE: &[u8] = b"state";

/// The version of the record and of everything else in the store. In version 1 a broom filter kept its frontier in byte
/// order, in a separate record; such an index is rewritten when the store is opened. Version 2 had no secret, and no checksums
/// in values and log records.
const VERSION: u8 = 3;

/// The most generations that a record can have.
const MOST_GENERATIONS: usize = 4;

/// A commit: its number, and a random tag that distinguishes it from a lost commit with the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) number: u64,
    pub(crate) tag: u64,
}

/// A store's secret. It is never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) [u8; 32]);

impl Secret {
    /// In records of older versions.
    const NONE: Secret = Secret([0; 32]);

    pub(crate) fn is_none(&self) -> bool {
        *self == Secret::NONE
    }

    /// A secret from the operating system.
    pub(crate) fn random() -> Result<Secret, NoEntropy> {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&HashKey::random()?.to_bytes());
        bytes[16..].copy_from_slice(&HashKey::random()?.to_bytes());
        Ok(Secret(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The state of a guarded store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Drawn when the store was created. A snapshot of another store has another identity.
    pub(crate) identity: [u8; 16],
    /// Drawn when the store was created. Only who knows it can make a snapshot that is trusted. A record of an older version
    /// has none: then one is drawn when the store is opened.
    pub(crate) secret: Secret,
    /// The last commit.
    pub(crate) last: Mark,
    /// The commit after which the log begins.
    pub(crate) log_from: Mark,
    /// The oldest record that may still be in the log. Those up to `log_from` are being deleted.
    pub(crate) log_oldest: u64,
    /// The bytes of the log records after `log_from`.
    pub(crate) log_bytes: u64,
    /// The number of keys.
    pub(crate) len: u64,
    /// `true` if each value ends with its checksum. Stores of older versions have none.
    pub(crate) sums: bool,
    /// The filter that the store was created with: the bytes of a `Choice`.
    pub(crate) choice: Vec<u8>,
    pub(crate) in_use: Option<Generation>,
    pub(crate) generations: Vec<(Generation, Schema)>,
    /// The frontier of a broom filter.
    pub(crate) frontier: Frontier,
    /// `true` if a broom filter has learned something that no snapshot has. If that is lost, its functions must not be used
    /// again, since the adversary knows what was learned.
    pub(crate) learned: bool,
}

/// Why a state record could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    #[error("the store was written by a newer version of twiceshy ({0}, this one knows {VERSION}): use that version")]
    Newer(u8),
    #[error("the store's state record is damaged")]
    Damaged,
}

impl StateError {
    /// The newest version that this code reads.
    pub(crate) const KNOWN: u8 = VERSION;
}

impl State {
    pub(crate) fn new(identity: [u8; 16], secret: Secret, choice: Vec<u8>) -> State {
        State {
            identity,
            secret,
            last: Mark::default(),
            log_from: Mark::default(),
            log_oldest: 1,
            log_bytes: 0,
            len: 0,
            sums: true,
            choice,
            in_use: None,
            generations: Vec::new(),
            frontier: Frontier::START,
            learned: false,
        }
    }

    /// Applies a plan's write to the state. Index entries are handled elsewhere.
    pub(crate) fn apply(&mut self, write: &Write) {
        match write {
            Write::Begin { generation, schema } => {
                self.generations.retain(|(other, _)| other != generation);
                self.generations.push((*generation, *schema));
                self.in_use.get_or_insert(*generation);
            }
            Write::Switch { generation } => {
                self.in_use = Some(*generation);
                self.generations.retain(|(kept, _)| kept == generation);
            }
            Write::Abandon { generation } => self.generations.retain(|(other, _)| other != generation),
            Write::Frontier { at } => self.frontier = *at,
            Write::Add { .. } | Write::Remove { .. } | Write::Move { .. } => {}
        }
    }

    /// `true` if the generation is in use, or if it holds the keys that a broom filter has moved on. Other filters fill the one
    /// after theirs when they take another hash key, and use it from the switch on.
    pub(crate) fn uses(&self, generation: Generation) -> bool {
        let in_use = self.in_use.map_or(0, |generation| generation.0);
        (in_use..=in_use.saturating_add(self.has_phases().into())).contains(&generation.0)
    }

    /// `true` if the filter has two functions in use.
    fn has_phases(&self) -> bool {
        Choice::from_bytes(&self.choice).is_some_and(|choice| choice.kind.learning_writes())
    }

    /// Forgets generations that were begun and never used.
    pub(crate) fn keep_used(&mut self) {
        let mut generations = std::mem::take(&mut self.generations);
        generations.retain(|(generation, _)| self.uses(*generation));
        self.generations = generations;
    }

    pub(crate) fn schema(&self, generation: Generation) -> Option<Schema> {
        self.generations.iter().find(|(own, _)| *own == generation).map(|(_, schema)| *schema)
    }

    /// The two generations of a filter with a frontier.
    pub(crate) fn phase(&self) -> Option<Phase> {
        let old = self.in_use.filter(|_| self.has_phases())?;
        let new = Generation(old.0.checked_add(1)?);
        let (old, new) = ((old, self.schema(old)?), (new, self.schema(new)?));
        Some(Phase { old, new, frontier: self.frontier })
    }

    /// Empties the log: no older snapshot can be brought forward from now on.
    pub(crate) fn cut_log(&mut self) {
        (self.log_from, self.log_bytes) = (self.last, 0);
    }

    /// Adds the state to a batch.
    pub(crate) fn write(&self, batch: &mut Batch) {
        batch.put(Space::Meta, STATE, self.to_bytes());
    }

    /// Reads the state; `None` if the store has none yet.
    pub(crate) fn read<E>(
        get: impl Fn(&[u8]) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Result<Option<State>, StateError>, E> {
        Ok(get(STATE)?.map(|bytes| State::from_bytes(&bytes)).transpose())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.identity);
        for number in [self.last.number, self.last.tag, self.log_from.number, self.log_from.tag] {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.log_oldest.to_le_bytes());
        out.extend(self.len.to_le_bytes());
        out.push(self.choice.len() as u8);
        out.extend(&self.choice);
        out.push(self.in_use.is_some().into());
        out.extend(self.in_use.unwrap_or(Generation(0)).0.to_le_bytes());
        out.extend(self.frontier.0.to_le_bytes());
        out.push(self.learned.into());
        out.extend(self.secret.0);
        out.extend(self.log_bytes.to_le_bytes());
        out.push(self.sums.into());
        for (generation, schema) in &self.generations {
            out.extend(generation.0.to_le_bytes());
            out.push(schema.hash.kind().code());
            out.extend(schema.hash.to_bytes());
            out.push(schema.orders);
            out.extend(schema.cells.to_le_bytes());
            out.push(schema.cells_per_bucket);
        }
        let sum = crc32fast::hash(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<State, StateError> {
        // Every version ends with this checksum. Otherwise garbage would look like a newer version.
        let (body, sum) = bytes.split_last_chunk::<4>().ok_or(StateError::Damaged)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(StateError::Damaged);
        }
        let version = match body.first() {
            Some(version) if *version > VERSION => return Err(StateError::Newer(*version)),
            Some(version @ 1..=VERSION) => *version,
            _ => return Err(StateError::Damaged),
        };
        let mut from = Fields(&body[1..]);
        State::parse(version, &mut from).filter(|_| from.0.is_empty()).ok_or(StateError::Damaged)
    }

    fn parse(version: u8, from: &mut Fields<'_>) -> Option<State> {
        let identity = from.array::<16>()?;
        let last = Mark { number: from.u64()?, tag: from.u64()? };
        let log_from = Mark { number: from.u64()?, tag: from.u64()? };
        let (log_oldest, len) = (from.u64()?, from.u64()?);
        let choice = from.u8()?;
        let choice = from.take(choice.into())?.to_vec();
        let used = from.u8()? == 1;
        let in_use = Generation(from.u32()?);
        let (frontier, learned) = match version {
            1 => (Frontier::START, false),
            _ => (Frontier(from.u64()?), from.u8()? == 1),
        };
        let (secret, log_bytes, sums) = match version {
            1 | 2 => (Secret::NONE, 0, false),
            _ => (Secret(from.array()?), from.u64()?, from.u8()? == 1),
        };
        let mut generations = Vec::new();
        while !from.0.is_empty() {
            let generation = Generation(from.u32()?);
            let kind = HashKind::from_code(from.u8()?)?;
            let hash = HashKey::from_bytes(kind, from.array::<16>()?);
            let schema = Schema { hash, orders: from.u8()?, cells: from.u64()?, cells_per_bucket: from.u8()? };
            generations.push((generation, schema));
        }
        let in_use = used.then_some(in_use);
        let state = State {
            identity,
            secret,
            last,
            log_from,
            log_oldest,
            log_bytes,
            len,
            sums,
            choice,
            in_use,
            generations,
            frontier,
            learned,
        };
        Some(state).filter(State::is_consistent)
    }

    /// `true` if the numbers fit together. A checksum can be forged.
    fn is_consistent(&self) -> bool {
        self.log_from.number <= self.last.number
            && self.log_oldest <= self.log_from.number.saturating_add(1)
            && self.generations.len() <= MOST_GENERATIONS
            && self.in_use.is_none_or(|generation| self.schema(generation).is_some())
    }
}

/// Bytes that are read from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut state = State::new([7; 16], Secret([8; 32]), b"choice".to_vec());
        state.last = Mark { number: 12, tag: 99 };
        state.log_from = Mark { number: 3, tag: 1 << 60 };
        state.len = 5;
        let schema = |seed| Schema { hash: HashKey::fixed(seed), orders: 2, cells: 1 << 33, cells_per_bucket: 1 };
        state.apply(&Write::Begin { generation: Generation(4), schema: schema(1) });
        state.apply(&Write::Begin { generation: Generation(5), schema: schema(2) });
        state.apply(&Write::Frontier { at: Frontier(77) });
        state.learned = true;
        state
    }

    fn again(state: &State) -> Result<Option<State>, StateError> {
        let mut batch = Batch::default();
        state.write(&mut batch);
        let changes = batch.into_changes();
        let get = |key: &[u8]| {
            Ok::<_, ()>(changes.iter().find(|change| change.key == key).and_then(|change| change.value.clone()))
        };
        State::read(get).expect("no store fails here")
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let mut state = state();
        assert_eq!(again(&state), Ok(Some(state.clone())));
        assert_eq!(state.in_use, Some(Generation(4)));
        state.apply(&Write::Switch { generation: Generation(5) });
        state.apply(&Write::Frontier { at: Frontier::START });
        assert_eq!(again(&state), Ok(Some(state.clone())));
        assert_eq!((state.in_use, state.generations.len()), (Some(Generation(5)), 1));
        let empty = State::new([0; 16], Secret::NONE, Vec::new());
        assert_eq!(again(&empty), Ok(Some(empty)));
        assert_eq!(State::read(|_| Ok::<_, ()>(None)), Ok(Ok(None)));
    }

    /// The record with these bytes, and the checksum that they need.
    fn with_sum(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - 4);
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    #[test]
    fn states_of_older_versions_are_read_without_what_they_lack() {
        // Version, identity, six numbers, the choice of six bytes and the generation in use come before the frontier.
        let at = 1 + 16 + 6 * 8 + 1 + 6 + 1 + 4;
        let state = state();
        let mut bytes = state.to_bytes();
        bytes.drain(at + 9..at + 9 + 32 + 8 + 1);
        bytes[0] = 2;
        let of_2 = State { secret: Secret::NONE, log_bytes: 0, sums: false, ..state };
        assert_eq!(State::from_bytes(&with_sum(bytes.clone())), Ok(of_2.clone()));
        bytes.drain(at..at + 9);
        bytes[0] = 1;
        let of_1 = State { frontier: Frontier::START, learned: false, ..of_2 };
        assert_eq!(State::from_bytes(&with_sum(bytes)), Ok(of_1));
    }

    #[test]
    fn a_forged_state_whose_numbers_do_not_fit_together_is_refused() {
        let behind = Mark { number: 13, tag: 0 };
        let forged = [
            State { log_from: behind, ..state() },
            State { log_oldest: 5, ..state() },
            State { in_use: Some(Generation(9)), ..state() },
            State { generations: vec![state().generations[0]; 5], ..state() },
        ];
        for state in forged {
            assert_eq!(again(&state), Err(StateError::Damaged), "{state:?}");
        }
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_refused() {
        let bytes = state().to_bytes();
        assert!(State::from_bytes(&bytes).is_ok());
        assert!((0..bytes.len()).all(|len| State::from_bytes(&bytes[..len]).is_err()));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            assert!(State::from_bytes(&damaged).is_err(), "byte {at}");
        }
        let mut newer = bytes;
        newer[0] = VERSION + 1;
        assert_eq!(State::from_bytes(&newer), Err(StateError::Damaged));
        assert_eq!(State::from_bytes(&with_sum(newer)), Err(StateError::Newer(VERSION + 1)));
    }
}
