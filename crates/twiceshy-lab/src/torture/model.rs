//! The expected contents of a store.

use super::script::Operation;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Expected keys and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model(pub(super) BTreeMap<Vec<u8>, Vec<u8>>);

impl Model {
    pub(super) fn get(&self, key: &[u8]) -> Option<&Vec<u8>> {
        self.0.get(key)
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Applies an operation's changes in order. Returns how many of its keys were stored before.
    pub(super) fn apply(&mut self, operation: &Operation) -> u64 {
        let mut stored = 0;
        for (key, value) in changes(operation) {
            let before = match value {
                Some(value) => self.0.insert(key.to_vec(), value.to_vec()),
                None => self.0.remove(key),
            };
            stored += u64::from(before.is_some());
        }
        stored
    }

    /// Finds a number of operations within the range after which the model equals `found`, and returns that model.
    /// Otherwise returns a description of what is wrong.
    ///
    /// Only the keys that differ are compared on the way, so that many operations cost little.
    pub(super) fn reached(
        mut self,
        mut operations: impl Iterator<Item = Operation>,
        counts: RangeInclusive<u64>,
        found: &Model,
    ) -> Result<Model, String> {
        let least = *counts.start();
        for operation in operations.by_ref().take(least as usize) {
            self.apply(&operation);
        }
        let keys = self.0.keys().chain(found.0.keys());
        let mut differ: BTreeSet<Vec<u8>> = keys.filter(|key| self.get(key) != found.get(key)).cloned().collect();
        let at_least = self.difference(&differ, found);
        for operation in operations.take((counts.end() - least) as usize) {
            if differ.is_empty() {
                break;
            }
            self.apply(&operation);
            for (key, _) in changes(&operation) {
                if self.get(key) == found.get(key) {
                    differ.remove(key);
                } else {
                    differ.insert(key.to_vec());
                }
            }
        }
        match (differ.is_empty(), at_least) {
            (false, Some(wrong)) => {
                let (least, most) = counts.into_inner();
                Err(format!("the store matches no state after {least} to {most} operations: after {least}, {wrong}"))
            }
            _ => Ok(self),
        }
    }

    /// The model, if the store holds exactly it; otherwise a description of what is wrong.
    pub(super) fn exactly(self, found: &Model) -> Result<Model, String> {
        let keys = self.0.keys().chain(found.0.keys());
        let differ = keys.filter(|key| self.get(key) != found.get(key)).cloned().collect();
        match self.difference(&differ, found) {
            Some(wrong) => Err(wrong),
            None => Ok(self),
        }
    }

    /// The keys and values as bytes, for another process: each with its length before it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in self.0.iter().flat_map(|(key, value)| [key, value]) {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    pub(super) fn from_bytes(mut bytes: &[u8]) -> Result<Model, String> {
        let mut model = Model::default();
        while !bytes.is_empty() {
            let (Some(key), Some(value)) = (part(&mut bytes), part(&mut bytes)) else {
                return Err("the file with the expected keys and values is damaged".into());
            };
            model.0.insert(key, value);
        }
        Ok(model)
    }

    /// How many keys differ, and how the first of them differs.
    fn difference(&self, differ: &BTreeSet<Vec<u8>>, found: &Model) -> Option<String> {
        let key = differ.first()?;
        let what = match (self.get(key), found.get(key)) {
            (Some(_), None) => "is missing",
            (None, Some(_)) => "should not be there",
            _ => "has a wrong value",
        };
        let many = if differ.len() == 1 { "1 key differs".into() } else { format!("{} keys differ", differ.len()) };
        Some(format!("{many}, and {} {what}", shown(key)))
    }
}

/// The next key or value of a model's bytes.
fn part(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    *bytes = rest;
    Some(part.to_vec())
}

/// The changes of an operation: a new value for a key, or `None` to remove it.
fn changes(operation: &Operation) -> Vec<(&[u8], Option<&[u8]>)> {
    match operation {
        Operation::Insert(key, value) => vec![(key, Some(value))],
        Operation::Remove(key) => vec![(key, None)],
        Operation::InsertAll(entries) => entries.iter().map(|(key, value)| (&**key, Some(&**value))).collect(),
        Operation::RemoveAll(keys) => keys.iter().map(|key| (&**key, None)).collect(),
        Operation::Ask(_) | Operation::Save => Vec::new(),
    }
}

/// A key for messages.
pub(super) fn shown(key: &[u8]) -> String {
    let number = key.split(|byte| *byte == b'.').next().unwrap_or_default();
    format!("the key {:?} ({} bytes)", String::from_utf8_lossy(number), key.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::script::Script;

    fn after(count: usize) -> Model {
        let mut model = Model::default();
        for operation in Script::new(1, 1).take(count) {
            model.apply(&operation);
        }
        model
    }

    fn reached(counts: RangeInclusive<u64>, found: &Model) -> Result<Model, String> {
        Model::default().reached(Script::new(1, 1), counts, found)
    }

    #[test]
    fn every_prefix_in_the_range_is_reached() {
        for count in 0..60 {
            let found = after(count);
            assert_eq!(reached(0..=60, &found), Ok(found.clone()), "{count}");
            assert_eq!(reached(count as u64..=count as u64, &found), Ok(found.clone()), "{count}");
        }
    }

    #[test]
    fn a_prefix_outside_the_range_is_not() {
        let distinct: Vec<usize> = (1..60).filter(|count| after(*count) != after(count - 1)).collect();
        for pair in distinct.windows(2) {
            let (count, next) = (pair[0] as u64, pair[1] as u64);
            assert!(reached(next..=60, &after(pair[0])).is_err(), "an acknowledged operation is missing");
            assert!(reached(0..=count, &after(pair[1])).is_err(), "an operation that was never begun is there");
        }
    }

    #[test]
    fn a_model_is_read_from_its_bytes_and_matches_itself_alone() {
        let model = after(60);
        assert_eq!(Model::from_bytes(&model.to_bytes()), Ok(model.clone()));
        assert!(Model::from_bytes(&model.to_bytes()[1..]).is_err());
        assert_eq!(model.clone().exactly(&model), Ok(model.clone()));
        let mut other = model.clone();
        other.0.pop_first();
        assert!(model.clone().exactly(&other).unwrap_err().contains("is missing"));
        assert!(other.exactly(&model).unwrap_err().contains("should not be there"));
    }

    #[test]
    fn half_a_batch_is_not_a_prefix() {
        let entry = |number: u8| (vec![number], vec![number]);
        let batch = || std::iter::once(Operation::InsertAll(vec![entry(1), entry(2)]));
        let half = Model([entry(1)].into());
        let wrong = Model::default().reached(batch(), 0..=1, &half).unwrap_err();
        assert!(wrong.contains("should not be there"), "{wrong}");
        assert!(Model::default().reached(batch(), 0..=1, &Model([entry(1), entry(2)].into())).is_ok());
    }

    #[test]
    fn the_last_value_of_a_key_in_a_batch_wins() {
        let twice = Operation::InsertAll(vec![(vec![1], vec![1]), (vec![1], vec![2])]);
        let mut model = Model::default();
        assert_eq!(model.apply(&twice), 1);
        assert_eq!(model.get(&[1]), Some(&vec![2]));
        assert_eq!(model.apply(&Operation::RemoveAll(vec![vec![1], vec![1]])), 1);
    }
}
