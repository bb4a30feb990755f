//! The frontier: keys move to the new hash function, and the remote is told (001 section 4.2).

use super::draft::Draft;
use super::filter::{BroomFilter, STEP, begin_of};
use super::functions::{Age, LAST_POSITION};
use super::known::Known;
use super::rebuild::Stage;
use super::rules::BroomRule;
use crate::error::PlanError;
use crate::filter::{Filter, Progress};
use crate::plan::{Mistake, Outcome, Plan};
use crate::remote::{Frontier, Generation, Key, Keys, Write};

/// What an operation did, for the remote. If it adapts to several queries, all of it.
#[derive(Default)]
pub(super) struct Deeds {
    pub(super) came: Option<Key>,
    /// The write that removes a key.
    pub(super) went: Option<Write>,
    pub(super) moved: Vec<Key>,
    /// `true` if the filter has learned from a mistake. The remote is told even if no key moves, so that a filter that has
    /// not learned it is out of step from then on.
    pub(super) learned: bool,
    pub(super) phase_ended: bool,
    /// The queries that were wrong, with the keys that they were mistaken for.
    pub(super) mistakes: Vec<Mistake>,
}

impl BroomFilter {
    /// How often the frontier has gone round since the filter was created or loaded. Unlike [`BroomFilter::stats`], this
    /// does not read all blocks.
    pub fn phases(&self) -> u64 {
        self.stats.phases
    }

    /// The frontier: keys below it have the new hash function.
    pub fn frontier(&self) -> Frontier {
        self.local.functions.frontier
    }

    /// The generation of the remote that holds the keys above the frontier; the others are in the next one.
    pub fn generation(&self) -> Generation {
        self.local.functions.generation
    }

    /// Plans to advance the frontier by some keys, towards the end of a rebuild.
    pub(crate) fn plan_step(&self, limit: usize, keys: &dyn Keys) -> Result<Plan, PlanError> {
        if self.rebuild.is_none() {
            return Err(PlanError::NotRebuilding);
        }
        let (mut known, mut deeds) = (Known::new(keys), Deeds::default());
        let mut draft = Draft::new(self);
        let becomes = self.stamp.after(STEP, limit as u64);
        let plan = |progress, writes, draft| Ok(self.plan_of(becomes, Outcome::Rebuild(progress), writes, draft));
        if draft.stage() != Some(Stage::Done) {
            draft.pay((limit as u64).min(self.len().max(1)), &mut known, &mut deeds)?;
            draft.stats.extends += draft.local.extends;
        }
        let writes = draft.tell(deeds);
        match draft.stage() {
            Some(Stage::Done) => {}
            Some(_) => return plan(Progress::More, writes, draft),
            // The table could not be created, or is too small by now.
            None => {
                let mut draft = Draft::new(self);
                draft.rebuild = None;
                return plan(Progress::GaveUp, Vec::new(), draft);
            }
        }
        draft.rebuild = None;
        draft.wants_rebuild = false;
        draft.debt = 0;
        draft.stats.rebuilds += 1;
        plan(Progress::Done, writes, draft)
    }
}

impl Draft<'_> {
    /// `true` if [`Draft::settle`] may move keys. Then it must know which keys this operation has added or removed.
    pub(super) fn owes(&self) -> bool {
        self.debt > 0 || self.local.extends > 0
    }

    /// Advances the frontier by the share of the range in which `keys` keys are expected. The keys there take the new
    /// function.
    pub(super) fn pay(&mut self, keys: u64, known: &mut Known<'_>, deeds: &mut Deeds) -> Result<(), PlanError> {
        if keys == 0 {
            return Ok(());
        }
        if !self.local.rules.keep(BroomRule::HashOrder) {
            return self.pass_keys(keys as usize, known, deeds);
        }
        let from = u128::from(self.local.functions.frontier.0);
        let step = (u128::from(keys) << 64) / u128::from(self.local.keys().max(1));
        let to = from + step.max(1);
        let ends = to > u128::from(LAST_POSITION);
        let to = if ends { u64::MAX } else { to as u64 };
        let passed = known.in_order(&self.local, from as u64..=to - 1)?;
        self.pass(passed.into_iter().map(|(_, key)| key).collect(), Frontier(to), known, deeds)?;
        deeds.phase_ended = ends;
        Ok(())
    }

    /// The same by a number of keys, as in 001: for tests that show what is wrong with it.
    fn pass_keys(&mut self, count: usize, known: &mut Known<'_>, deeds: &mut Deeds) -> Result<(), PlanError> {
        let mut above = known.in_order(&self.local, self.local.functions.frontier.0..=LAST_POSITION)?;
        deeds.phase_ended = above.len() < count;
        above.truncate(count);
        let to = above.last().map_or(self.local.functions.frontier, |(position, _)| Frontier(position + 1));
        self.pass(above.into_iter().map(|(_, key)| key).collect(), to, known, deeds)
    }

    /// Moves the frontier past these keys, which take the new function.
    fn pass(
        &mut self,
        keys: Vec<Key>,
        to: Frontier,
        known: &mut Known<'_>,
        deeds: &mut Deeds,
    ) -> Result<(), PlanError> {
        for key in &keys {
            self.local.unplace(key, known)?;
            known.went(&self.local, key);
        }
        self.local.functions.frontier = to;
        for key in keys {
            if !self.local.put(&key, known)? {
                return Err(PlanError::Disagree);
            }
            known.came(&self.local, &key);
            self.stats.moved += 1;
            if deeds.came.as_ref() != Some(&key) {
                deeds.moved.push(key);
            }
        }
        Ok(())
    }

    /// Adds the extensions caused since the last time to the debt, and pays it up to a bound.
    pub(super) fn settle(&mut self, known: &mut Known<'_>, deeds: &mut Deeds) -> Result<(), PlanError> {
        let c = u64::from(self.reclaim.c);
        let caused = self.local.extends;
        self.debt = self.debt.saturating_add(caused * c);
        if self.reclaim.by_rebuild {
            self.wants_rebuild |= self.debt >= self.local.keys() && self.debt > 0;
        } else {
            let paid = self.debt.min(2 * c);
            self.pay(paid, known, deeds)?;
            self.debt -= paid;
        }
        // The debt is at most the number of keys.
        self.debt = self.debt.saturating_add((self.local.extends - caused) * c).min(self.local.keys());
        self.stats.extends += self.local.extends;
        self.local.extends = 0;
        Ok(())
    }

    /// The writes of an operation for the remote. Ends the phase if the frontier is at its end.
    pub(super) fn tell(&mut self, deeds: Deeds) -> Vec<Write> {
        let mut writes: Vec<Write> = deeds.went.into_iter().collect();
        writes.extend(deeds.moved.iter().map(|key| self.local.entry(key, Age::Old, false)));
        let came = deeds.came.iter().map(|key| self.local.entry(key, self.local.functions.age(key), true));
        writes.extend(came);
        writes.extend(deeds.moved.iter().map(|key| self.local.entry(key, Age::New, true)));
        if deeds.phase_ended {
            self.end_phase();
            let switch = Write::Switch { generation: self.local.functions.generation };
            writes.extend([switch, begin_of(&self.local, Age::New), Write::Frontier { at: Frontier::START }]);
        } else if deeds.learned || self.before.frontier != self.local.functions.frontier {
            writes.push(Write::Frontier { at: self.local.functions.frontier });
        }
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use crate::remote::{ByHash, Remote};

    #[test]
    fn phases_and_frontier_are_what_the_statistics_and_the_remote_say() {
        let mut pair = BroomFilter::with_slots(64, 4).build(HashKey::fixed(3), ByHash::new()).expect("an empty remote");
        assert_eq!((pair.filter().phases(), pair.filter().frontier()), (0, Frontier::START));
        for number in 0..60u64 {
            pair.insert(&number).expect("room for all");
        }
        let mut half_way = false;
        for number in 60u64.. {
            if pair.filter().phases() == 2 {
                break;
            }
            if pair.contains(&number) {
                pair.was_wrong(&number).expect("the sets agree");
            }
            let phase = pair.remote().phase().ok().flatten().expect("a phase");
            let filter = pair.filter();
            assert_eq!((filter.phases(), filter.frontier()), (filter.stats().phases, phase.frontier));
            half_way |= filter.frontier().share() > 0.5;
        }
        assert!(half_way);
    }
}
