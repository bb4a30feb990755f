//! Planning an insertion, a removal, and adaptations.

use super::draft::Draft;
use super::filter::{ADAPT, BroomFilter, INSERT, LEARN, REMOVE};
use super::frontier::Deeds;
use super::known::Known;
use crate::error::PlanError;
use crate::filter::{Adapted, Filter, Inserted, Removed};
use crate::plan::{self, Learned, Mistake, Outcome, Plan, Stamp};
use crate::remote::{Key, Keys, Write};

impl BroomFilter {
    /// The stamp after an operation with a key.
    fn after(&self, code: u64, key: &[u8]) -> Stamp {
        self.stamp.after(code, self.local.functions.old.words(key).word(0))
    }

    /// Makes a plan of a draft.
    pub(super) fn plan_of(&self, becomes: Stamp, outcome: Outcome, writes: Vec<Write>, draft: Draft<'_>) -> Plan {
        Plan::new(self.stamp, becomes, outcome, writes, plan::Edit::Broom(Box::new(draft.finish())))
    }

    pub(crate) fn plan_insert(&self, key: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let mut known = Known::new(keys);
        if self.local.contains(key) && known.stores(&self.local, key)? {
            return Ok(Plan::nothing(self.stamp, Outcome::Inserted(Inserted::AlreadyStored)));
        }
        let mut draft = Draft::new(self);
        if !draft.local.place(key, &known)? {
            return Err(PlanError::Full { keys: self.len(), cells: self.cells() });
        }
        let came = Key::from(key);
        if draft.owes() {
            known.came(&draft.local, &came);
        }
        let mut deeds = Deeds { came: Some(came), ..Deeds::default() };
        draft.settle(&mut known, &mut deeds)?;
        draft.stats.insertions += 1;
        let writes = draft.tell(deeds);
        Ok(self.plan_of(self.after(INSERT, key), Outcome::Inserted(Inserted::New), writes, draft))
    }

    pub(crate) fn plan_remove(&self, key: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let mut known = Known::new(keys);
        if !self.local.contains(key) || !known.stores(&self.local, key)? {
            return Ok(Plan::nothing(self.stamp, Outcome::Removed(Removed::NotStored)));
        }
        let mut draft = Draft::new(self);
        let gone = Key::from(key);
        draft.local.remove(key, &known)?;
        if draft.owes() {
            known.went(&draft.local, &gone);
        }
        let age = draft.local.functions.age(key);
        let mut deeds = Deeds { went: Some(draft.local.entry(&gone, age, false)), ..Deeds::default() };
        draft.settle(&mut known, &mut deeds)?;
        draft.stats.removals += 1;
        let writes = draft.tell(deeds);
        Ok(self.plan_of(self.after(REMOVE, key), Outcome::Removed(Removed::Gone), writes, draft))
    }

    pub(crate) fn plan_adapt(&self, query: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let (mut known, mut deeds) = (Known::new(keys), Deeds::default());
        let mut draft = Draft::new(self);
        let adapted = draft.adapt(query, &mut known, &mut deeds)?;
        if draft.stats.adapts == 0 {
            return Ok(Plan::nothing(self.stamp, Outcome::Adapted(adapted)));
        }
        let mistakes = std::mem::take(&mut deeds.mistakes);
        let writes = draft.tell(deeds);
        let plan = self.plan_of(self.after(ADAPT, query), Outcome::Adapted(adapted), writes, draft);
        Ok(plan.about_all(mistakes))
    }

    /// Plans to adapt to queries one after the other, until a phase ends: a plan can end only one.
    pub(crate) fn plan_learn(&self, queries: &[Key], keys: &dyn Keys) -> Result<Plan, PlanError> {
        let (mut known, mut deeds) = (Known::new(keys), Deeds::default());
        let mut draft = Draft::new(self);
        let mut learned = Learned::default();
        for query in queries {
            let adapted = draft.adapt(query, &mut known, &mut deeds)?;
            learned.queries += 1;
            learned.stored += u64::from(adapted == Adapted::Stored);
            if deeds.phase_ended {
                break;
            }
        }
        let mistakes = std::mem::take(&mut deeds.mistakes);
        let writes = draft.tell(deeds);
        let taken = &queries[..learned.queries as usize];
        // At the end: an adaptation may break what an earlier one has fixed.
        learned.fixed = taken.iter().filter(|query| !draft.local.contains(query)).count() as u64;
        let outcome = Outcome::Learned(learned);
        if draft.stats.adapts == 0 {
            return Ok(Plan::nothing(self.stamp, outcome));
        }
        let words = taken.iter().map(|query| self.local.functions.old.words(query).word(0));
        let plan = self.plan_of(self.stamp.after_all(LEARN, words), outcome, writes, draft);
        Ok(plan.about_all(mistakes))
    }
}

impl Draft<'_> {
    /// Adapts to a query, and pays for it. Counted only if something was done.
    fn adapt(&mut self, query: &[u8], known: &mut Known<'_>, deeds: &mut Deeds) -> Result<Adapted, PlanError> {
        if !self.local.contains(query) {
            return Ok(Adapted::Fixed);
        }
        if known.stores(&self.local, query)? {
            return Ok(Adapted::Stored);
        }
        let spots: Vec<_> = self.local.spots(query).collect();
        // A query that equals a whole hash cannot be distinguished from it.
        let mut alike = spots.is_empty();
        let asked = Key::from(query);
        for spot in spots {
            let key = self.local.owner(spot, known)?;
            deeds.mistakes.push(Mistake { key, query: asked.clone() });
            alike |= !self.local.learn(spot, query, known)?;
        }
        deeds.learned |= self.local.extends > 0;
        self.settle(known, deeds)?;
        self.stats.adapts += 1;
        Ok(match (self.local.contains(query), alike) {
            (false, _) => Adapted::Fixed,
            (true, true) => Adapted::Unfixable,
            (true, false) => Adapted::StillPresent,
        })
    }
}
