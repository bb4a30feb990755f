//! What a filter whose keys age needs of its remote besides: the keys in byte order, and a frontier among them.

use super::{ByHash, CommitError, Generation, Key, MemoryError, Place, Plan, Position, Remote, Schema, Write};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Two hash functions in use at once, and the frontier between their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The function of the keys above the frontier: the generation in use.
    pub old: (Generation, Schema),
    /// The function of the keys up to the frontier: the generation after it.
    pub new: (Generation, Schema),
    /// The last key in byte order that has the new function; none at the beginning of a phase.
    pub frontier: Option<Key>,
}

/// A remote that also knows its keys in byte order.
///
/// **Contract.** [`KeyOrder::walk_keys`] goes over the keys of both generations of a phase, each key once, as
/// [`Write::Add`] and [`Write::Remove`] left them. The frontier is what the last [`Write::Frontier`] said.
pub trait KeyOrder {
    /// What goes wrong in the store behind.
    type Error;

    /// Calls `found` with up to `limit` keys after `after`, in byte order.
    fn walk_keys(&self, after: Option<&[u8]>, limit: usize, found: &mut dyn FnMut(Key)) -> Result<(), Self::Error>;

    /// The phase that the remote is in; none before a filter with two hash functions was built on it.
    fn phase(&self) -> Result<Option<Phase>, Self::Error>;
}

/// A remote by hash that also knows its keys in byte order, in memory: for [`Write::Frontier`] and the filters that need it.
#[derive(Clone, Debug, Default)]
pub struct InKeyOrder {
    by_hash: ByHash,
    keys: BTreeMap<Generation, BTreeSet<Key>>,
    frontier: Option<Key>,
}

impl InKeyOrder {
    /// A remote that knows no key.
    pub fn new() -> InKeyOrder {
        InKeyOrder::default()
    }

    /// How many keys it holds, those of both generations of a phase.
    pub fn len(&self) -> usize {
        self.keys.values().map(BTreeSet::len).sum()
    }

    /// Whether it holds no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn apply(&mut self, write: &Write) {
        match write {
            Write::Begin { generation, .. } => {
                self.keys.insert(*generation, BTreeSet::new());
            }
            Write::Add { generation, key, .. } => {
                self.keys.entry(*generation).or_default().insert(key.clone());
            }
            Write::Remove { generation, key, .. } => {
                self.keys.entry(*generation).or_default().remove(key);
            }
            Write::Switch { generation } => self.keys.retain(|kept, _| kept == generation),
            Write::Abandon { generation } => {
                self.keys.remove(generation);
            }
            Write::Frontier { key } => self.frontier.clone_from(key),
            Write::Move { .. } => {}
        }
    }
}

impl Remote for InKeyOrder {
    type Error = MemoryError;

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), MemoryError> {
        self.by_hash.candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), MemoryError> {
        self.by_hash.walk(generation, after, limit, found)
    }

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<MemoryError>> {
        let others = plan.writes.iter().filter(|write| !matches!(write, Write::Frontier { .. })).cloned().collect();
        self.by_hash.commit(&Plan { sequence: plan.sequence, writes: others })?;
        plan.writes.iter().for_each(|write| self.apply(write));
        Ok(())
    }

    fn sequence(&self) -> Result<u64, MemoryError> {
        self.by_hash.sequence()
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, MemoryError> {
        self.by_hash.in_use()
    }

    fn key_order(&self) -> Option<&dyn KeyOrder<Error = MemoryError>> {
        Some(self)
    }
}

impl KeyOrder for InKeyOrder {
    type Error = MemoryError;

    fn walk_keys(&self, after: Option<&[u8]>, limit: usize, found: &mut dyn FnMut(Key)) -> Result<(), MemoryError> {
        let from = after.map_or(Bound::Unbounded, |key| Bound::Excluded(Key::from(key)));
        let mut sets: Vec<_> =
            self.keys.values().map(|keys| keys.range((from.clone(), Bound::Unbounded)).peekable()).collect();
        for _ in 0..limit {
            let next = sets.iter_mut().filter_map(|keys| keys.peek().copied()).min().cloned();
            let Some(key) = next else { break };
            // A key may be in two generations while one of them is being filled.
            for keys in &mut sets {
                keys.next_if(|other| **other == key);
            }
            found(key);
        }
        Ok(())
    }

    fn phase(&self) -> Result<Option<Phase>, MemoryError> {
        let Some(old) = self.in_use()? else { return Ok(None) };
        let after = Generation(old.0.0.saturating_add(1));
        let Some(schema) = self.by_hash.schema(after) else { return Ok(None) };
        Ok(Some(Phase { old, new: (after, schema), frontier: self.frontier.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use crate::remote::OrderWords;

    fn schema(seed: u64) -> Schema {
        Schema { hash: HashKey::fixed(seed), orders: 1, cells: 0, cells_per_bucket: 1 }
    }

    fn write(generation: u32, key: &str, adds: bool) -> Write {
        let (generation, key, words) = (Generation(generation), Key::from(key.as_bytes()), OrderWords::new(&[7]));
        match adds {
            true => Write::Add { generation, key, words, cell: None },
            false => Write::Remove { generation, key, words, cell: None },
        }
    }

    fn walked(remote: &InKeyOrder, after: Option<&str>, limit: usize) -> Vec<String> {
        let mut keys = Vec::new();
        let found = &mut |key: Key| keys.push(String::from_utf8_lossy(&key).into_owned());
        remote.walk_keys(after.map(str::as_bytes), limit, found).unwrap();
        keys
    }

    #[test]
    fn keys_of_both_generations_come_in_byte_order_and_the_frontier_is_kept() {
        let mut remote = InKeyOrder::new();
        assert_eq!(remote.phase(), Ok(None));
        let begin = |generation, seed| Write::Begin { generation: Generation(generation), schema: schema(seed) };
        let mut writes = vec![begin(0, 1), begin(1, 2), Write::Frontier { key: None }];
        writes.extend(["wren", "owl", "heron", "ibis", ""].map(|key| write(0, key, true)));
        remote.commit(&Plan { sequence: 1, writes }).unwrap();
        assert_eq!(walked(&remote, None, 9), ["", "heron", "ibis", "owl", "wren"]);
        let moved = vec![
            write(0, "", false),
            write(0, "heron", false),
            write(1, "", true),
            write(1, "heron", true),
            Write::Frontier { key: Some(Key::from(&b"heron"[..])) },
        ];
        remote.commit(&Plan { sequence: 2, writes: moved }).unwrap();
        assert_eq!(walked(&remote, None, 9), ["", "heron", "ibis", "owl", "wren"]);
        assert_eq!(walked(&remote, Some("heron"), 2), ["ibis", "owl"]);
        assert_eq!(remote.len(), 5);
        let phase = remote.phase().unwrap().expect("two generations");
        assert_eq!((phase.old.1, phase.new.1), (schema(1), schema(2)));
        assert_eq!(phase.frontier.as_deref(), Some(&b"heron"[..]));
        let refused = remote.commit(&Plan { sequence: 9, writes: vec![Write::Frontier { key: None }] });
        assert!(refused.is_err() && remote.phase().unwrap().expect("as before").frontier.is_some());
    }

    #[test]
    fn a_remote_without_key_order_refuses_a_frontier() {
        let mut remote = ByHash::new();
        let refused = remote.commit(&Plan { sequence: 1, writes: vec![Write::Frontier { key: None }] });
        assert!(matches!(refused, Err(CommitError::Failed(MemoryError::NoFrontier))));
        assert!(remote.key_order().is_none() && remote.sequence() == Ok(0));
    }
}
