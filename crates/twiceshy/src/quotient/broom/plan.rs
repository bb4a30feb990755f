//! Planning an insertion, a removal and an adaptation.

use super::draft::Draft;
use super::filter::{ADAPT, BroomFilter, INSERT, REMOVE};
use super::frontier::Deeds;
use super::known::Known;
use crate::error::PlanError;
use crate::filter::{Adapted, Filter, Inserted, Removed};
use crate::plan::{self, Outcome, Plan, Stamp};
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
        if !self.local.contains(query) {
            return Ok(Plan::nothing(self.stamp, Outcome::Adapted(Adapted::Fixed)));
        }
        let (mut known, mut deeds) = (Known::new(keys), Deeds::default());
        if known.stores(&self.local, query)? {
            return Ok(Plan::nothing(self.stamp, Outcome::Adapted(Adapted::Stored)));
        }
        let mut draft = Draft::new(self);
        let spots: Vec<_> = self.local.spots(query).collect();
        // A query that equals a whole hash cannot be distinguished from it.
        let mut alike = spots.is_empty();
        for spot in spots {
            alike |= !draft.local.learn(spot, query, &known)?;
        }
        deeds.learned = draft.local.extends > 0;
        draft.settle(&mut known, &mut deeds)?;
        draft.stats.adapts += 1;
        let writes = draft.tell(deeds);
        let outcome = match (draft.local.contains(query), alike) {
            (false, _) => Adapted::Fixed,
            (true, true) => Adapted::Unfixable,
            (true, false) => Adapted::StillPresent,
        };
        Ok(self.plan_of(self.after(ADAPT, query), Outcome::Adapted(outcome), writes, draft))
    }
}
