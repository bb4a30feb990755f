//! Planning an insertion, a removal and an adaptation.

use super::draft::Draft;
use super::filter::BroomFilter;
use super::frontier::Deeds;
use super::known::Known;
use super::operate::{Planned, Stop};
use crate::error::SeamError;
use crate::filter::{Adapted, Inserted, Removed};
use crate::remote::{Key, Remote};

impl BroomFilter {
    pub(crate) fn plan_insert<R: Remote>(&self, key: &[u8], remote: &R) -> Result<Planned<Inserted>, Stop<R::Error>> {
        self.ready()?;
        let mut known = Known::new(remote);
        if self.local.contains(key) && known.stores(&self.local, key)? {
            return Ok(self.unchanged(Inserted::AlreadyStored));
        }
        let mut draft = Draft::new(self);
        if !draft.local.place(key, &known)? {
            return Err(Stop::Full);
        }
        let came = Key::from(key);
        known.came(&draft.local, &came);
        let mut deeds = Deeds { came: Some(came), ..Deeds::default() };
        draft.settle(&mut known, &mut deeds)?;
        draft.stats.insertions += 1;
        let writes = draft.tell(deeds);
        Ok((Inserted::New, writes, draft.finish()))
    }

    pub(crate) fn plan_remove<R: Remote>(
        &self,
        key: &[u8],
        remote: &R,
    ) -> Result<Planned<Removed>, SeamError<R::Error>> {
        self.ready()?;
        let mut known = Known::new(remote);
        if !self.local.contains(key) || !known.stores(&self.local, key)? {
            self.in_step(remote)?;
            return Ok(self.unchanged(Removed::NotStored));
        }
        let mut draft = Draft::new(self);
        let gone = Key::from(key);
        draft.local.remove(key, &known)?;
        known.went(&draft.local, &gone);
        let age = draft.local.functions.age(key);
        let mut deeds = Deeds { went: Some(draft.local.entry(&gone, age, false)), ..Deeds::default() };
        draft.settle(&mut known, &mut deeds)?;
        draft.stats.removals += 1;
        let writes = draft.tell(deeds);
        Ok((Removed::Gone, writes, draft.finish()))
    }

    pub(crate) fn plan_adapt<R: Remote>(
        &self,
        query: &[u8],
        remote: &R,
    ) -> Result<Planned<Adapted>, SeamError<R::Error>> {
        self.ready()?;
        if !self.local.contains(query) {
            return Ok(self.unchanged(Adapted::Fixed));
        }
        self.in_step(remote)?;
        let (mut known, mut deeds) = (Known::new(remote), Deeds::default());
        if known.stores(&self.local, query)? {
            return Ok(self.unchanged(Adapted::Stored));
        }
        let mut draft = Draft::new(self);
        let spots: Vec<_> = self.local.spots(query).collect();
        // Who is like a whole hash cannot be told from it.
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
        Ok((outcome, writes, draft.finish()))
    }
}
