//! Which keys were announced while a ticket was open.
//!
//! If the values are elsewhere, nobody can look for the row of a key before the key leaves the set. So a key leaves only if nobody announced it
//! while the ticket was open that takes it out. Every announcement is a record with its keys, and this process has applied all records up to the one
//! that takes keys out: what it has seen since the ticket was opened is all that there was. If it had to load a snapshot meanwhile, it has not seen
//! all, and the keys stay.

use super::{Change, Desk, Trouble, What};
use crate::engine::Open;
use crate::names::Announcement;
use std::collections::{HashMap, HashSet};
use twiceshy::remote::Key;

/// The open tickets of this process in one shard.
#[derive(Debug, Default)]
pub(crate) struct Watches(HashMap<Announcement, Watch>);

/// What was announced while a ticket was open.
#[derive(Debug, Default)]
struct Watch {
    /// The keys that matter; `None` for all.
    keys: Option<HashSet<Key>>,
    announced: HashSet<Key>,
    /// `true` if not all records were seen.
    is_lost: bool,
    /// `true` if a record said that the set may lack keys.
    is_doubted: bool,
}

impl Watch {
    fn note(&mut self, keys: &[Key]) {
        let matters = |key: &&Key| self.keys.as_ref().is_none_or(|keys| keys.contains(*key));
        self.announced.extend(keys.iter().filter(matters).cloned().collect::<Vec<_>>());
    }

    /// `true` if nobody has announced the key.
    fn may_leave(&self, key: &Key) -> bool {
        !self.is_lost && !self.announced.contains(key)
    }
}

impl Watches {
    /// These keys were announced, under this number if it was this process.
    pub(crate) fn announced(&mut self, keys: &[Key], own: Option<Announcement>) {
        let others = self.0.iter_mut().filter(|(id, _)| Some(**id) != own);
        others.for_each(|(_, watch)| watch.note(keys));
    }

    pub(super) fn end(&mut self, id: Announcement) {
        self.0.remove(&id);
    }

    /// Records were skipped.
    pub(crate) fn lose(&mut self) {
        self.0.values_mut().for_each(|watch| watch.is_lost = true);
    }

    /// A record said that the set may lack keys.
    pub(super) fn doubt(&mut self) {
        self.0.values_mut().for_each(|watch| watch.is_doubted = true);
    }

    /// `true` if what was read since this watch began is enough to know that the set has all keys.
    pub(super) fn may_complete(&self, id: Announcement) -> bool {
        self.0.get(&id).is_some_and(|watch| !watch.is_lost && !watch.is_doubted)
    }

    /// `true` if the ticket is known, and nobody has announced the key since it was opened.
    pub(super) fn may_leave(&self, ticket: Announcement, key: &Key) -> bool {
        self.0.get(&ticket).is_some_and(|watch| watch.may_leave(key))
    }
}

impl Desk {
    /// Begins the watches that these changes ask for. A watch begins with what is announced now: the record of an announcement that
    /// is opened later comes later.
    pub(super) async fn watch(&mut self, group: &[Change]) -> Result<(), Trouble> {
        for Change { what, .. } in group {
            let (id, keys, dead) = match what {
                What::Watch { id, keys, dead } => {
                    (*id, keys.as_ref().map(|keys| keys.iter().cloned().collect()), &dead[..])
                }
                What::Announce { id, keys } if self.inner.described.beside => {
                    (*id, Some(keys.iter().cloned().collect()), &[][..])
                }
                _ => continue,
            };
            let mut watch = Watch { keys, ..Watch::default() };
            let open = self.inner.engine.open(self.shard).await?;
            let open: Vec<&Open> = open.iter().filter(|open| open.id != id && !dead.contains(&open.id)).collect();
            open.iter().for_each(|open| watch.note(&open.keys));
            self.watches.0.insert(id, watch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_announced_meanwhile_stays() {
        let key = |name: &str| Key::from(name.as_bytes());
        let mut watches = Watches::default();
        let (one, all) = (Announcement(1), Announcement(2));
        watches.0.insert(one, Watch { keys: Some(HashSet::from([key("a"), key("b")])), ..Watch::default() });
        watches.0.insert(all, Watch::default());
        watches.announced(&[key("a"), key("c")], Some(one));
        watches.announced(&[key("b")], None);
        assert!(watches.may_leave(one, &key("a")), "it was its own announcement");
        assert!(!watches.may_leave(one, &key("b")));
        assert!(["a", "b", "c"].iter().all(|name| !watches.may_leave(all, &key(name))));
        assert!(watches.may_leave(all, &key("d")));
        assert!(!watches.may_leave(Announcement(3), &key("d")), "nobody knows this ticket");
        assert!(watches.may_complete(all) && !watches.may_complete(Announcement(3)));
        watches.doubt();
        assert!(!watches.may_complete(all) && watches.may_leave(all, &key("d")));
        watches.lose();
        assert!(!watches.may_leave(all, &key("d")));
        watches.0.insert(Announcement(4), Watch { is_lost: true, ..Watch::default() });
        assert!(!watches.may_complete(Announcement(4)));
    }
}
