//! The state of an engine in memory, and its transactions.

use crate::engine::{
    Append, Appended, EngineError, Entry, Log, Logged, Member, Open, Renewal, Renewed, Settle, Snapshot, Span,
};
use crate::names::{Announcement, Head, MemberId, Shard};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use twiceshy::remote::{Generation, Key, Order, Position};

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) description: Option<Vec<u8>>,
    shards: Vec<ShardState>,
    pub(super) outbox: BTreeMap<u64, Key>,
    next_outbox: u64,
}

#[derive(Debug, Default)]
pub(super) struct ShardState {
    /// The records that were not cut.
    log: Vec<Logged>,
    /// The record before the first one in the log.
    cut: Head,
    index: BTreeSet<(Generation, Order, u64, Key)>,
    pub(super) members: BTreeMap<MemberId, Member>,
    pub(super) open: BTreeMap<Announcement, Open>,
    pub(super) values: BTreeMap<Key, Vec<u8>>,
    pub(super) snapshots: Vec<(Snapshot, Vec<u8>)>,
}

impl State {
    pub(super) fn create(&mut self, description: &[u8], shards: u32) -> bool {
        if self.description.is_some() {
            return false;
        }
        self.description = Some(description.to_vec());
        self.shards.resize_with(shards as usize, ShardState::default);
        true
    }

    pub(super) fn shard(&mut self, shard: Shard) -> Result<&mut ShardState, EngineError> {
        let found = self.shards.get_mut(shard.0 as usize);
        found.ok_or_else(|| EngineError::Failed(format!("there is no shard {}", shard.0)))
    }

    /// Those of the shards that have records after these positions.
    pub(super) fn moved(&self, known: &[(Shard, u64)]) -> Vec<Shard> {
        let head = |shard: Shard| self.shards.get(shard.0 as usize).map_or(0, |of| of.head().position);
        known.iter().filter(|(shard, position)| head(*shard) > *position).map(|(shard, _)| *shard).collect()
    }

    pub(super) fn renew(&mut self, renewal: &Renewal) -> Result<Option<Renewed>, EngineError> {
        let outbox_is_empty = self.outbox.is_empty();
        let of = self.shard(renewal.shard)?;
        let head = of.head();
        of.acknowledge(renewal.member, renewal.acknowledged);
        let member = of.members.get_mut(&renewal.member);
        Ok(member.map(|member| {
            member.renewed += 1;
            Renewed { head, outbox_is_empty }
        }))
    }

    pub(super) fn append(&mut self, append: &Append) -> Result<Appended, EngineError> {
        let of = self.shard(append.shard)?;
        let appended = of.append(append);
        if let Appended::Done(_) = appended {
            append.moved.iter().for_each(|entry| drop(self.outbox.remove(entry)));
        }
        Ok(appended)
    }

    pub(super) fn settle(&mut self, settle: &Settle) -> Result<bool, EngineError> {
        for (shard, id) in &settle.close {
            if !self.shard(*shard)?.open.contains_key(id) {
                return Ok(false);
            }
        }
        for (shard, id) in &settle.close {
            self.shard(*shard)?.open.remove(id);
        }
        for (shard, key, value) in &settle.values {
            self.shard(*shard)?.values.insert(key.clone(), value.clone());
        }
        Ok(true)
    }

    pub(super) fn keys_of_values(&self, after: Option<&Key>, limit: usize) -> Vec<Key> {
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.clone()));
        let of = |of: &ShardState| {
            let keys = of.values.range((from.clone(), Bound::Unbounded)).take(limit);
            keys.map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        let mut keys: Vec<Key> = self.shards.iter().flat_map(of).collect();
        keys.sort_unstable();
        keys.truncate(limit);
        keys
    }

    pub(super) fn write_past(&mut self, shard: Shard, key: &Key, value: Option<Vec<u8>>) {
        let Ok(of) = self.shard(shard) else { return };
        match value {
            Some(value) => drop(of.values.insert(key.clone(), value)),
            None => drop(of.values.remove(key)),
        }
        self.next_outbox += 1;
        self.outbox.insert(self.next_outbox, key.clone());
    }
}

impl ShardState {
    pub(super) fn head(&self) -> Head {
        self.log.last().map_or(self.cut, |logged| logged.at)
    }

    pub(super) fn join(&mut self, id: MemberId, root: u64) {
        if self.head().position == 0 {
            self.cut.tag = root;
        }
        let acknowledged = self.head().position;
        self.members.insert(id, Member { id, renewed: 0, acknowledged });
    }

    pub(super) fn acknowledge(&mut self, id: MemberId, position: u64) {
        let head = self.head().position;
        if let Some(member) = self.members.get_mut(&id) {
            member.acknowledged = member.acknowledged.max(position.min(head));
        }
    }

    pub(super) fn strike(&mut self, id: MemberId, renewed: u64) -> bool {
        let silent = self.members.get(&id).is_some_and(|member| member.renewed == renewed);
        silent && self.members.remove(&id).is_some()
    }

    pub(super) fn read(&self, after: Head, limit: usize) -> Log {
        if after == self.head() {
            return Log::Records(Vec::new());
        }
        if after.position < self.cut.position {
            return Log::Cut;
        }
        if !self.has(after) {
            return Log::Broken;
        }
        let mut bytes = 0;
        let records = self.log[(after.position - self.cut.position) as usize..].iter().take_while(|logged| {
            let before = bytes;
            bytes += logged.record.len();
            before == 0 || before < limit
        });
        Log::Records(records.cloned().collect())
    }

    pub(super) fn candidates(&self, span: &Span) -> Vec<Key> {
        let entry = |word, key| (span.generation, span.order, word, key);
        let from = Bound::Included(entry(span.first, Key::from(&[][..])));
        let in_span = |(generation, order, word, _): &&(Generation, Order, u64, Key)| {
            (*generation, *order) == (span.generation, span.order) && *word <= span.last
        };
        self.index.range((from, Bound::Unbounded)).take_while(in_span).map(|(.., key)| key.clone()).collect()
    }

    pub(super) fn walk(&self, generation: Generation, after: Option<&Position>, limit: usize) -> Vec<Position> {
        let from = match after {
            Some(after) => Bound::Excluded((generation, Order(0), after.word, after.key.clone())),
            None => Bound::Included((generation, Order(0), 0, Key::from(&[][..]))),
        };
        let entries = self.index.range((from, Bound::Unbounded));
        let entries = entries.take_while(|(of, order, ..)| (*of, *order) == (generation, Order(0)));
        entries.take(limit).map(|(.., word, key)| Position { word: *word, key: key.clone() }).collect()
    }

    fn append(&mut self, append: &Append) -> Appended {
        if self.head() != append.after {
            return Appended::Moved;
        }
        if !append.close.iter().all(|id| self.open.contains_key(id)) {
            return Appended::Closed;
        }
        let busy = self.busy(append);
        if !busy.is_empty() {
            return Appended::Busy(busy);
        }
        for entry in append.remove.iter().flat_map(entries) {
            self.index.remove(&entry);
        }
        self.index.extend(append.add.iter().flat_map(entries));
        append.close.iter().for_each(|id| drop(self.open.remove(id)));
        self.open.extend(append.open.iter().map(|open| (open.id, open.clone())));
        let mut deleted = Vec::new();
        for (key, value) in &append.values {
            match value {
                Some(value) => drop(self.values.insert(key.clone(), value.clone())),
                None => deleted.extend(self.values.remove(key).map(|_| key.clone())),
            }
        }
        self.log.push(Logged { at: append.head(), record: append.record.clone() });
        if let Some(member) = append.applied_by {
            self.acknowledge(member, append.head().position);
        }
        Appended::Done(deleted)
    }

    /// The keys that must not be announced or have no value, and are or have one.
    fn busy(&self, append: &Append) -> Vec<Key> {
        let others = || self.open.values().filter(|open| !append.close.contains(&open.id));
        let is_open = |key: &&Key| others().any(|open| open.keys.contains(key));
        let open = append.unopened.iter().filter(is_open);
        let stored = append.rowless.iter().filter(|key| self.values.contains_key(*key));
        open.chain(stored).cloned().collect()
    }

    pub(super) fn newest(&self) -> Option<Snapshot> {
        let snapshots = self.snapshots.iter().map(|(snapshot, _)| snapshot);
        snapshots.filter(|snapshot| self.has(snapshot.at)).max_by_key(|snapshot| snapshot.at.position).copied()
    }

    /// `true` if the log has this record, or it is the last one that was cut.
    fn has(&self, at: Head) -> bool {
        let known = match at.position.checked_sub(self.cut.position) {
            Some(0) => Some(self.cut),
            Some(after) => self.log.get(after as usize - 1).map(|logged| logged.at),
            None => None,
        };
        known == Some(at)
    }

    pub(super) fn cut(&mut self, up_to: u64) {
        let count = (up_to.saturating_sub(self.cut.position) as usize).min(self.log.len());
        if let Some(last) = self.log.drain(..count).next_back() {
            self.cut = last.at;
        }
        self.snapshots.retain(|(snapshot, _)| snapshot.at.position >= up_to);
    }
}

fn entries(entry: &Entry) -> impl Iterator<Item = (Generation, Order, u64, Key)> + '_ {
    entry.words.iter().map(|(order, word)| (entry.generation, order, word, entry.key.clone()))
}
