//! The frontier: keys move on to the new hash function, and the remote hears of it (001 section 4.2).

use super::filter::{BroomFilter, Rebuild, begin_of};
use super::functions::{Age, Functions};
use super::known::Known;
use super::operate::Stop;
use crate::error::{RebuildError, SeamError};
use crate::filter::{Filter, Progress};
use crate::remote::{Generation, Key, OrderWords, Remote, Write};

/// What an operation did, in the remote's terms.
#[derive(Default)]
pub(super) struct Deeds {
    pub(super) came: Option<Key>,
    /// A key that went, with the write that says so.
    pub(super) went: Option<Write>,
    pub(super) moved: Vec<Key>,
    pub(super) phase_ended: bool,
}

impl BroomFilter {
    /// How often the frontier has gone round since the filter was made or loaded. [`BroomFilter::stats`] says so too, but goes
    /// over all blocks.
    pub fn phases(&self) -> u64 {
        self.stats.phases
    }

    /// The frontier: the last key, in byte order, that has the new hash function. `None` where none has it yet.
    pub fn frontier(&self) -> Option<&[u8]> {
        self.local.functions.frontier.as_deref()
    }

    /// The write for a key's entries in the generation of an age.
    pub(super) fn entry(&self, key: &Key, age: Age, adds: bool) -> Write {
        let (generation, key) = (self.local.generation(age), key.clone());
        let words = self.local.functions.order_words(&key, age, self.local.levels.len());
        match adds {
            true => Write::Add { generation, key, words, cell: None },
            false => Write::Remove { generation, key, words, cell: None },
        }
    }

    /// The generation of the remote that holds the keys above the frontier; the others are in the next one.
    pub fn generation(&self) -> Generation {
        self.local.generation
    }

    /// Where the remote has a key's entries while it has the old function, and when it has the new one.
    pub fn entries_of_both(&self, key: &[u8]) -> [(Generation, OrderWords); 2] {
        let levels = self.local.levels.len();
        Age::BOTH.map(|age| (self.local.generation(age), self.local.functions.order_words(key, age, levels)))
    }

    /// Pays some of the debt: keys above the frontier take the new function. While a larger table is being filled the frontier
    /// waits, and where it is held.
    pub(super) fn pay<R: Remote>(
        &mut self,
        most: u64,
        known: &mut Known<'_, R>,
        deeds: &mut Deeds,
    ) -> Result<(), SeamError<R::Error>> {
        if self.held || matches!(self.rebuild, Some(Rebuild::Grow(_))) {
            return Ok(());
        }
        for _ in 0..most {
            let Some(key) = known.next_above(self.local.functions.frontier.as_ref())? else {
                deeds.phase_ended = true;
                break;
            };
            if !self.pass(key, known, deeds)? {
                self.wants_rebuild = true;
                break;
            }
            self.debt = self.debt.saturating_sub(1);
        }
        Ok(())
    }

    /// The frontier passes a key, which takes the new function. Whether there is room for it.
    fn pass<R: Remote>(
        &mut self,
        key: Key,
        known: &mut Known<'_, R>,
        deeds: &mut Deeds,
    ) -> Result<bool, SeamError<R::Error>> {
        if !self.local.has_room(&key, Age::New) {
            return Ok(false);
        }
        self.local.unplace(&key, known)?;
        self.local.functions.frontier = Some(key.clone());
        known.here.retain(|here| *here != key);
        if !self.local.place(&key, known)? {
            return Err(SeamError::Disagree);
        }
        known.here.push(key.clone());
        if deeds.came.as_ref() != Some(&key) {
            deeds.moved.push(key);
        }
        self.stats.moved += 1;
        Ok(true)
    }

    /// Has the frontier wait where it is, or go on. Meanwhile insertions and adaptations owe what they would move.
    pub fn hold_frontier(&mut self, held: bool) {
        self.held = held;
    }

    /// Brings the frontier on to this key, so many keys at most: for a filter that is brought from an older commit of its remote to
    /// a later one of the same phase. Done when the frontier is there. No key may lie between them in the remote that is not in
    /// the filter, and none may be missing.
    pub fn follow<R: Remote>(
        &mut self,
        frontier: &[u8],
        limit: usize,
        remote: &mut R,
    ) -> Result<Progress, RebuildError<R::Error>> {
        let to = Key::from(frontier);
        if self.local.functions.frontier.as_ref().is_some_and(|own| *own > to) {
            return Err(SeamError::Disagree.into());
        }
        let followed = self.operate(remote, |filter, remote| {
            let (mut known, mut deeds) = (Known::new(remote), Deeds::default());
            let extends = filter.local.extends;
            let mut progress = Progress::More;
            for _ in 0..limit.max(1) {
                match known.next_above(filter.local.functions.frontier.as_ref())?.filter(|key| *key <= to) {
                    Some(key) if !filter.pass(key.clone(), &mut known, &mut deeds)? => return Err(Stop::Full),
                    Some(_) => {}
                    None => {
                        // It may have passed a key that is gone by now.
                        filter.local.functions.frontier = Some(to.clone());
                        progress = Progress::Done;
                        break;
                    }
                }
            }
            filter.stats.extends += filter.local.extends - extends;
            Ok((progress, filter.tell(deeds)))
        });
        followed.map_err(|stop| match stop {
            Stop::Seam(error) => error.into(),
            Stop::Full => RebuildError::Full { keys: self.len(), cells: self.cells() },
        })
    }

    /// What one operation pays: the extensions that it caused make the debt, and it pays no more than its bound.
    pub(super) fn settle<R: Remote>(
        &mut self,
        known: &mut Known<'_, R>,
        deeds: &mut Deeds,
    ) -> Result<(), SeamError<R::Error>> {
        let c = u64::from(self.reclaim.c);
        self.debt = self.debt.saturating_add(self.local.extends * c);
        let caused = self.local.extends;
        if self.reclaim.by_rebuild {
            self.wants_rebuild |= self.debt >= self.len() && self.debt > 0;
        } else {
            self.pay(self.debt.min(2 * c), known, deeds)?;
        }
        // More than all keys cannot be owed.
        self.debt = self.debt.saturating_add((self.local.extends - caused) * c).min(self.len());
        self.stats.extends += self.local.extends;
        Ok(())
    }

    /// What the remote is told of an operation; ends the phase, if it has come to its end.
    pub(super) fn tell(&mut self, deeds: Deeds) -> Vec<Write> {
        let mut writes: Vec<Write> = deeds.went.into_iter().collect();
        writes.extend(deeds.moved.iter().map(|key| self.entry(key, Age::Old, false)));
        let came = deeds.came.iter().map(|key| self.entry(key, self.local.functions.age(key), true));
        writes.extend(came);
        writes.extend(deeds.moved.iter().map(|key| self.entry(key, Age::New, true)));
        // The frontier has moved if it has passed a key, be it one that has just come.
        let moved = !deeds.moved.is_empty() || deeds.came.is_some() && deeds.came == self.local.functions.frontier;
        if deeds.phase_ended {
            writes.extend(self.end_phase());
        } else if moved {
            writes.push(Write::Frontier { key: self.local.functions.frontier.clone() });
        }
        writes
    }

    /// The new function becomes the old one, and another one the new.
    pub(super) fn end_phase(&mut self) -> Vec<Write> {
        let Functions { new: old, .. } = self.local.functions;
        let new = match &mut self.rebuild {
            Some(Rebuild::Rekey { wanted, reached }) => {
                *reached |= *wanted == old;
                if *reached { old.successor() } else { *wanted }
            }
            _ => old.successor(),
        };
        self.local.functions = Functions { old, new, frontier: None };
        self.local.generation = self.local.generation(Age::New);
        self.local.ghosts.end_phase();
        self.stats.phases += 1;
        let switch = Write::Switch { generation: self.local.generation };
        vec![switch, begin_of(&self.local, Age::New), Write::Frontier { key: None }]
    }

    /// Whether a re-keying has come to its end.
    fn has_reached(&self) -> bool {
        matches!(self.rebuild, Some(Rebuild::Rekey { reached: true, .. }))
    }

    /// Moves the frontier on by some keys, towards another function for all of them.
    pub(super) fn sweep<R: Remote>(
        &mut self,
        limit: usize,
        remote: &mut R,
    ) -> Result<Progress, RebuildError<R::Error>> {
        let swept = self.operate(remote, |filter, remote| {
            let (mut known, mut deeds) = (Known::new(remote), Deeds::default());
            if !filter.has_reached() {
                let (debt, extends) = (filter.debt, filter.local.extends);
                filter.pay(limit as u64, &mut known, &mut deeds)?;
                filter.debt = if filter.reclaim.by_rebuild { 0 } else { debt };
                filter.stats.extends += filter.local.extends - extends;
                if deeds.moved.is_empty() && !deeds.phase_ended {
                    return Err(Stop::Full);
                }
            }
            let writes = filter.tell(deeds);
            if !filter.has_reached() {
                return Ok((Progress::More, writes));
            }
            filter.set_rebuild(None);
            filter.wants_rebuild = false;
            filter.stats.rebuilds += 1;
            Ok((Progress::Done, writes))
        });
        match swept {
            Ok(progress) => Ok(progress),
            Err(Stop::Seam(error)) => Err(error.into()),
            Err(Stop::Full) => {
                self.rebuild = None;
                Err(RebuildError::Full { keys: self.len(), cells: self.cells() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Adaptive, Backed};
    use crate::hash::HashKey;
    use crate::remote::InKeyOrder;

    #[test]
    fn phases_and_frontier_are_what_the_statistics_and_the_remote_say() {
        let mut remote = InKeyOrder::new();
        let mut filter = BroomFilter::with_slots(64, 4).build(HashKey::fixed(3), &mut remote).expect("an empty remote");
        assert_eq!((filter.phases(), filter.frontier()), (0, None));
        for number in 0..60u64 {
            filter.insert(&number.to_be_bytes(), &mut remote).expect("room for all");
        }
        let mut half_way = false;
        for number in 60u64.. {
            if filter.phases() == 2 {
                break;
            }
            if filter.contains(&number.to_be_bytes()) {
                filter.adapt(&number.to_be_bytes(), &mut remote).expect("the sets agree");
            }
            let phase = remote.key_order().and_then(|ordered| ordered.phase().ok().flatten()).expect("a phase");
            assert_eq!((filter.phases(), filter.frontier()), (filter.stats().phases, phase.frontier.as_deref()));
            half_way |= filter.frontier().is_some_and(|frontier| *frontier > 30u64.to_be_bytes()[..]);
        }
        assert!(half_way);
    }
}
