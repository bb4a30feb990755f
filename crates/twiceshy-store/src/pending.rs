//! Keys whose change is under way.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use twiceshy::remote::Key;

/// The keys that a commit adds or removes, from before the commit until it is in the filter. The filter's answer for them
/// is not reliable. There are at most as many as a batch has.
///
/// A look-up must check here *before* it asks the filter. If the key is not pending then, its change has not begun, or is
/// in the filter and the store already. But a change may begin between the two: all plans of a batch but the last are in
/// the filter before they are in the store, and are taken back if the commit fails. So an answer *absent* counts only if
/// [`Pending::now`] is the same before and after.
///
/// [`Pending::mark`] says whether a change of a key has begun since an earlier moment, even if it has ended: see
/// [`Queue`](crate::queue::Queue).
///
/// A guard beside a store also enters the keys of its tickets, for as long as they are open. There may be millions of them, so the keys
/// are in many maps: no look-up waits for all of them.
#[derive(Debug)]
pub(crate) struct Pending {
    /// How often changes have begun (upper half), and the number of keys (lower half): nearly always 0.
    now: AtomicU64,
    parts: Box<[Part]>,
    hasher: RandomState,
}

/// The keys with this hash.
#[derive(Debug, Default)]
struct Part {
    held: RwLock<HashMap<Key, Held>>,
    /// How often changes of them have begun.
    begun: AtomicU64,
}

/// Who holds a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    changes: usize,
    tickets: usize,
}

/// Why keys are pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A commit changes them.
    Change,
    /// A ticket for them is open.
    Ticket,
}

impl Held {
    fn of(&mut self, holder: Holder) -> &mut usize {
        match holder {
            Holder::Change => &mut self.changes,
            Holder::Ticket => &mut self.tickets,
        }
    }
}

impl Default for Pending {
    fn default() -> Pending {
        let parts = (0..PARTS).map(|_| Part::default()).collect();
        Pending { now: AtomicU64::new(0), parts, hasher: RandomState::new() }
    }
}

/// The number of parts. A look-up may take a change of another key in its part for one of its own.
const PARTS: usize = 512;

/// A part that has become empty gives back its memory if it had room for more keys than this.
const KEPT: usize = 64;

/// A moment in the life of a key: see [`Pending::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    of: usize,
    begun: u64,
}

/// One change more, in the upper half.
const BEGUN: u64 = 1 << 32;

impl Pending {
    /// A number that differs whenever a change has begun or ended.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> u64 {
        self.now() & (BEGUN - 1)
    }

    fn part_of(&self, key: &[u8]) -> usize {
        self.hasher.hash_one(key) as usize % PARTS
    }

    #[inline]
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        self.len() != 0 && self.parts[self.part_of(key)].read().contains_key(key)
    }

    /// Marks this moment for a key; `None` if a change of it is under way.
    pub(crate) fn mark(&self, key: &[u8]) -> Option<Mark> {
        let of = self.part_of(key);
        let begun = self.parts[of].begun.load(Ordering::SeqCst);
        // In this order: a change that the mark includes is found here, unless it has ended.
        (!self.holds(key)).then_some(Mark { of, begun })
    }

    /// `true` if no change of a mark's key has begun since.
    pub(crate) fn is_unchanged(&self, mark: Mark) -> bool {
        self.parts[mark.of].begun.load(Ordering::SeqCst) == mark.begun
    }

    pub(crate) fn enter(&self, keys: &[Key]) {
        self.enter_for(keys, Holder::Change);
    }

    pub(crate) fn enter_for(&self, keys: &[Key], holder: Holder) {
        for key in keys {
            let part = &self.parts[self.part_of(key)];
            let mut held = part.write();
            let holders = held.entry(key.clone()).or_default();
            let is_new = *holders == Held::default();
            *holders.of(holder) += 1;
            if is_new {
                self.now.fetch_add(1, Ordering::SeqCst);
            }
            drop(held);
            // Last: a thread that sees the new mark finds the key pending.
            part.begun.fetch_add(1, Ordering::SeqCst);
        }
        self.now.fetch_add(BEGUN, Ordering::SeqCst);
    }

    /// The store has gone back to an earlier commit: any key may have changed.
    pub(crate) fn change_all(&self) {
        for part in &self.parts {
            part.begun.fetch_add(1, Ordering::SeqCst);
        }
        self.now.fetch_add(BEGUN, Ordering::SeqCst);
    }

    /// The changes that hold keys are unknown, but there is no filter, so every look-up goes to the store. Tickets go on.
    pub(crate) fn clear(&self) {
        for part in &self.parts {
            let mut held = part.write();
            let before = held.len();
            held.retain(|_, held| {
                held.changes = 0;
                held.tickets > 0
            });
            self.now.fetch_sub((before - held.len()) as u64, Ordering::SeqCst);
        }
        self.now.fetch_add(BEGUN, Ordering::SeqCst);
    }

    pub(crate) fn leave(&self, keys: &[Key]) {
        self.leave_for(keys, Holder::Change);
    }

    pub(crate) fn leave_for(&self, keys: &[Key], holder: Holder) {
        for key in keys {
            let mut held = self.parts[self.part_of(key)].write();
            let Some(holders) = held.get_mut(key) else { continue };
            let times = holders.of(holder);
            *times = times.saturating_sub(1);
            if *holders == Held::default() {
                held.remove(key);
                if held.is_empty() && held.capacity() > KEPT {
                    held.shrink_to_fit();
                }
                self.now.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

impl Part {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<Key, Held>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Key, Held>> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_pending_until_every_change_of_it_has_ended() {
        let pending = Pending::default();
        let key = Key::from(&b"key"[..]);
        assert!(!pending.holds(&key));
        pending.enter(&[key.clone(), key.clone()]);
        pending.leave(std::slice::from_ref(&key));
        assert!(pending.holds(&key) && !pending.holds(b"other"));
        pending.leave(std::slice::from_ref(&key));
        pending.leave(std::slice::from_ref(&key));
        assert!(!pending.holds(&key));
    }

    #[test]
    fn a_mark_is_the_same_until_a_change_of_its_key_begins_and_there_is_none_while_one_is_under_way() {
        let pending = Pending::default();
        let keys: Vec<Key> = (0..100u8).map(|number| Key::from(&[number][..])).collect();
        let mark = pending.mark(&keys[0]).expect("no change has begun");
        assert!(pending.is_unchanged(mark));
        pending.enter(&keys);
        assert!(!pending.is_unchanged(mark));
        assert!(keys.iter().all(|key| pending.mark(key).is_none()));
        pending.leave(&keys);
        assert!(!pending.is_unchanged(mark), "it has changed all the same");
        let mark = pending.mark(&keys[0]).expect("the change has ended");
        pending.clear();
        assert!(pending.is_unchanged(mark));
        pending.change_all();
        assert!(!pending.is_unchanged(mark), "any key may have changed");
    }

    #[test]
    fn tickets_outlive_a_clear_and_changes_do_not_end_them() {
        let pending = Pending::default();
        let key = [Key::from(&b"key"[..])];
        pending.enter_for(&key, Holder::Ticket);
        pending.enter(&key);
        pending.clear();
        assert!(pending.holds(b"key"));
        // The change that was cleared ends late.
        pending.leave(&key);
        assert!(pending.holds(b"key") && pending.mark(b"key").is_none());
        pending.leave_for(&key, Holder::Ticket);
        assert!(!pending.holds(b"key"));
        assert_eq!(pending.now() & (BEGUN - 1), 0);
    }
}
