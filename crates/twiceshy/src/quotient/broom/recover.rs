//! Builds a filter for a remote's set, under new functions.

use super::filter::{BroomFilter, FILL, begin_of};
use super::functions::Age;
use super::known::Known;
use super::options::BroomOptions;
use crate::error::Error;
use crate::filter::{Backed, Filter};
use crate::hash::HashKey;
use crate::pair::AdaptiveFilter;
use crate::remote::{Commit, Frontier, Generation, Phase, Position, Remote, Write};

/// The number of keys written in one commit.
const WRITTEN_AT_ONCE: usize = 1024;

impl BroomOptions {
    /// A filter for the set that a remote already holds, after a crash or if a saved filter was damaged. What an earlier
    /// filter had learned is lost, so this one takes new functions: every key is written to the remote once more, and the
    /// old entries are removed. The functions derive from `hash`, which must be a hash key that the filter never had.
    /// Otherwise, if the remote has lost its last commits, an adversary may know them.
    pub fn recover<R: Remote>(&self, hash: HashKey, mut remote: R) -> Result<AdaptiveFilter<BroomFilter, R>, Error> {
        let Some(phase) = remote.phase().map_err(Error::Remote)? else {
            let filter = self.make(hash, Generation(0))?;
            return Err(Error::NothingToRecover { expected: filter.layout().1.orders });
        };
        let generation = Generation(phase.new.0.0.saturating_add(1));
        let old = if self.takes_new_functions() { hash.numbered(generation.0.into()) } else { phase.old.1.hash };
        let mut filter = self.make(old, generation)?;
        let mut sequence = remote.sequence().map_err(Error::Remote)?;
        filter.write(vec![begin_of(&filter.local, Age::Old)], &mut sequence, &mut remote)?;
        filter.fill_from(&phase, &mut sequence, &mut remote)?;
        let switch = Write::Switch { generation };
        let frontier = Write::Frontier { at: Frontier::START };
        filter.write(vec![switch, begin_of(&filter.local, Age::New), frontier], &mut sequence, &mut remote)?;
        filter.stats = Default::default();
        AdaptiveFilter::from_parts(Box::new(filter), sequence, remote)
    }
}

impl BroomFilter {
    /// Writes every key of the remote's phase to a new generation. The old generations are complete until the switch: after
    /// a failure, recovery can start over.
    fn fill_from(&mut self, phase: &Phase, sequence: &mut u64, remote: &mut dyn Remote) -> Result<(), Error> {
        for generation in [phase.old.0, phase.new.0] {
            let mut cursor: Option<Position> = None;
            loop {
                let mut batch: Vec<Position> = Vec::new();
                let walked = remote.walk(generation, cursor.as_ref(), WRITTEN_AT_ONCE, &mut |at| batch.push(at));
                walked.map_err(Error::Remote)?;
                let Some(last) = batch.last() else { break };
                cursor = Some(last.clone());
                let mut known = Known::new(&*remote);
                let mut writes = Vec::new();
                for Position { key, word } in batch {
                    if !self.local.place(&key, &known)? {
                        return Err(Error::Full { keys: self.len(), cells: self.cells() });
                    }
                    known.came(&self.local, &key);
                    self.stamp = self.stamp.after(FILL, word);
                    writes.push(self.local.entry(&key, Age::Old, true));
                }
                self.write(writes, sequence, remote)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, writes: Vec<Write>, sequence: &mut u64, remote: &mut dyn Remote) -> Result<(), Error> {
        let follows = remote.identity().map_err(Error::Remote)?;
        self.stamp = self.stamp.as_committed();
        let identity = self.stamp.committed;
        let commit = Commit { sequence: sequence.saturating_add(1), follows, identity, writes };
        remote.commit(&commit)?;
        *sequence = commit.sequence;
        Ok(())
    }
}
