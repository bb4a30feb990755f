//! A filter for a set that a remote holds, under new functions.

use super::filter::{BroomFilter, Reclaim, begin_of, new_local};
use super::functions::{Age, Functions};
use super::known::Known;
use super::rules::{BroomRule, Rules};
use super::shape::Shape;
use crate::error::{BuildError, RebuildError, SeamError};
use crate::filter::Filter;
use crate::hash::HashKey;
use crate::remote::{Frontier, Generation, Phase, Plan, Position, Remote, Write};

/// How many keys are written in one commit.
const AT_ONCE: usize = 1024;

impl BroomFilter {
    /// Writes every key of the remote's phase to a new generation, and switches over to it at the end. Until then the old
    /// generations are whole: whatever fails, recovering can begin again.
    pub(crate) fn recover<R: Remote>(
        slots: u64,
        shape: Shape,
        reclaim: Reclaim,
        rules: Rules,
        hash: HashKey,
        remote: &mut R,
    ) -> Result<BroomFilter, BuildError<R::Error>> {
        let Some(phase) = remote.phase().map_err(SeamError::Remote)? else {
            return Err(BuildError::NothingToRecover { expected: shape.levels() as u8 + 1 });
        };
        let generation = Generation(phase.new.0.0.saturating_add(1));
        let old = match rules.keep(BroomRule::NewFunctions) {
            true => hash.numbered(generation.0.into()),
            false => phase.old.1.hash,
        };
        let local = new_local(shape, rules, Functions::begin(old, generation, slots))?;
        let sequence = remote.sequence().map_err(SeamError::Remote)?;
        let mut filter = BroomFilter::over(local, sequence, reclaim);
        filter.write(vec![begin_of(&filter.local, Age::Old)], remote)?;
        filter.fill(&phase, remote)?;
        let switch = Write::Switch { generation };
        let frontier = Write::Frontier { at: Frontier::START };
        filter.write(vec![switch, begin_of(&filter.local, Age::New), frontier], remote)?;
        filter.stats = Default::default();
        Ok(filter)
    }

    fn fill<R: Remote>(&mut self, phase: &Phase, remote: &mut R) -> Result<(), BuildError<R::Error>> {
        for generation in [phase.old.0, phase.new.0] {
            let mut cursor: Option<Position> = None;
            loop {
                let mut batch: Vec<Position> = Vec::new();
                let walked = remote.walk(generation, cursor.as_ref(), AT_ONCE, &mut |at| batch.push(at));
                walked.map_err(SeamError::Remote)?;
                let Some(last) = batch.last() else { break };
                cursor = Some(last.clone());
                let mut known = Known::new(&*remote);
                let mut writes = Vec::new();
                for Position { key, .. } in batch {
                    if !self.local.place(&key, &known)? {
                        let full = RebuildError::Full { keys: self.len(), cells: self.cells() };
                        return Err(full.into());
                    }
                    known.came(&self.local, &key);
                    writes.push(self.local.entry(&key, Age::Old, true));
                }
                self.write(writes, remote)?;
            }
        }
        Ok(())
    }

    fn write<R: Remote>(&mut self, writes: Vec<Write>, remote: &mut R) -> Result<(), SeamError<R::Error>> {
        let plan = Plan { sequence: self.sequence.saturating_add(1), writes };
        remote.commit(&plan).map_err(SeamError::from)?;
        self.sequence = plan.sequence;
        Ok(())
    }
}
