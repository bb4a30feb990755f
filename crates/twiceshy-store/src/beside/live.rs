//! The tickets that are open, key by key: what closing one of them may do to the set.

use std::collections::HashMap;
use twiceshy::remote::Key;

/// What is known of a key in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// All announcements of it were closed.
    Settled,
    /// An announcement of it is open, or was never closed: its row may appear at any time.
    Open,
}

/// What a ticket does to a key in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Keep,
    /// It is in the set with this standing.
    Put(Standing),
    /// It leaves the set.
    Remove,
}

/// How a ticket is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The rows of an announcement were written.
    Written,
    /// They were not, and never will be.
    RolledBack,
    /// The rows of a retirement were deleted.
    Deleted,
    /// They were not, and never will be.
    Kept,
}

impl Closing {
    /// `true` if it closes an announcement.
    pub(crate) fn announces(self) -> bool {
        matches!(self, Closing::Written | Closing::RolledBack)
    }
}

/// What a ticket did to a key since the mark of a resync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// A ticket for it was open.
    Open,
    /// The last one deleted its row and took it out of the set.
    Removed,
}

/// The open tickets of a guard.
///
/// **No key leaves the set while a row of it may be there or appear.** A key leaves in two ways, and in both there is no open
/// announcement of it, and none that was dropped:
///
/// * its rows were deleted under a ticket, and no announcement of it was open during that ticket's life: whatever was written
///   was written before the ticket was opened, so the deletion has seen it;
/// * the announcements that brought it in were all rolled back: before the first of them it was not in the set, so it had no
///   row, and none of them has written one. While the set is incomplete, it may have had a row all the same: then a resync sees
///   it, and brings it back.
///
/// Serial numbers order the openings and closings.
#[derive(Debug, Default)]
pub(crate) struct Live {
    entries: HashMap<Key, Entry>,
    /// The last serial number.
    serial: u64,
    /// The keys with a ticket since the mark of the running resync.
    touched: Option<HashMap<Key, Touched>>,
    /// The keys of tickets that were dropped since the last resync.
    dropped: Vec<(u64, Vec<Key>)>,
    /// The tickets that are open.
    open: u64,
}

/// A key with open tickets.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    tickets: u32,
    announcements: u32,
    /// When an announcement was last opened or closed.
    last: u64,
    /// `true` if the announcements that are open brought it in, and none of them was closed with its row written.
    fresh: bool,
    /// When an announcement of it was last dropped.
    dropped: Option<u64>,
}

impl Live {
    fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn touch(&mut self, key: &Key, how: Touched) {
        if let Some(touched) = &mut self.touched {
            touched.insert(key.clone(), how);
        }
    }

    /// Opens an announcement of a key, which is in the set with this standing or not at all.
    pub(crate) fn announce(&mut self, key: &Key, found: Option<Standing>) -> Step {
        self.touch(key, Touched::Open);
        let serial = self.next();
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.announcements == 0 {
            entry.fresh = found.is_none();
            if found == Some(Standing::Open) {
                // Of another time, or dropped, perhaps since the mark of a resync that is running.
                entry.dropped.get_or_insert(serial);
            }
        }
        entry.tickets += 1;
        entry.announcements += 1;
        entry.last = serial;
        if found == Some(Standing::Open) { Step::Keep } else { Step::Put(Standing::Open) }
    }

    /// Undoes [`Live::announce`] for a key that did not get into the set.
    pub(crate) fn cancel(&mut self, key: &Key) {
        self.leave(key, |entry| entry.announcements -= 1);
    }

    /// Opens a retirement of some keys. Returns its serial number.
    pub(crate) fn retire(&mut self, keys: &[Key]) -> u64 {
        for key in keys {
            self.touch(key, Touched::Open);
            self.entries.entry(key.clone()).or_default().tickets += 1;
        }
        self.open += 1;
        self.next()
    }

    /// An announcement is open: its keys are in the set.
    pub(crate) fn opened(&mut self) {
        self.open += 1;
    }

    /// Closes a ticket for one of its keys. `serial` is that of a retirement.
    pub(crate) fn close(&mut self, key: &Key, how: Closing, serial: u64, found: Option<Standing>) -> Step {
        let entry = self.entries.get(key).copied().unwrap_or_default();
        let dropped = entry.dropped.is_some();
        let step = match how {
            Closing::Kept => Step::Keep,
            Closing::Deleted => {
                let announced = entry.announcements > 0 || entry.last > serial || dropped;
                if announced || found != Some(Standing::Settled) { Step::Keep } else { Step::Remove }
            }
            // Another one closes it.
            _ if entry.announcements > 1 || dropped => Step::Keep,
            Closing::RolledBack if entry.fresh => Step::Remove,
            Closing::Written | Closing::RolledBack => Step::Put(Standing::Settled),
        };
        self.leave(key, |entry| {
            if how.announces() {
                entry.announcements = entry.announcements.saturating_sub(1);
                entry.fresh &= how == Closing::RolledBack;
            }
        });
        // A roll-back says nothing about a row that was there before: a cursor may have seen one.
        let deleted = step == Step::Remove && how == Closing::Deleted;
        self.touch(key, if deleted { Touched::Removed } else { Touched::Open });
        step
    }

    /// A ticket of a key ends.
    fn leave(&mut self, key: &Key, change: impl FnOnce(&mut Entry)) {
        let serial = self.next();
        let Some(entry) = self.entries.get_mut(key) else { return };
        let before = entry.announcements;
        change(entry);
        if entry.announcements != before {
            entry.last = serial;
        }
        entry.tickets = entry.tickets.saturating_sub(1);
        if entry.tickets == 0 {
            self.entries.remove(key);
        }
    }

    /// A ticket was closed.
    pub(crate) fn closed(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// The closing of a ticket failed: it counts as open until the next resync.
    pub(crate) fn close_failed(&mut self, keys: Vec<Key>, how: Closing) {
        let serial = self.next();
        for key in &keys {
            if let Some(entry) = self.entries.get_mut(key).filter(|_| how.announces()) {
                entry.dropped = Some(serial);
            }
        }
        self.dropped.push((serial, keys));
    }

    /// A ticket was dropped: it counts as open until the next resync.
    pub(crate) fn drop_ticket(&mut self, keys: Vec<Key>, announces: bool) {
        let dropped = self.next();
        for key in &keys {
            self.touch(key, Touched::Open);
            self.leave(key, |entry| {
                if announces {
                    entry.announcements = entry.announcements.saturating_sub(1);
                    entry.dropped = Some(dropped);
                }
            });
        }
        self.dropped.push((dropped, keys));
    }

    /// Marks the beginning of a resync; `None` if one is running.
    pub(crate) fn begin_resync(&mut self) -> Option<u64> {
        if self.touched.is_some() {
            return None;
        }
        self.touched = Some(self.entries.keys().map(|key| (key.clone(), Touched::Open)).collect());
        Some(self.next())
    }

    /// `true` while a resync runs.
    pub(crate) fn is_resyncing(&self) -> bool {
        self.touched.is_some()
    }

    /// What tickets have done to a key since the mark; `None` if there was none.
    pub(crate) fn touched(&self, key: &[u8]) -> Option<Touched> {
        self.touched.as_ref()?.get(key).copied()
    }

    /// A resync has seen a row: it must not leave the set with those who announced it.
    pub(crate) fn saw(&mut self, key: &Key) {
        self.entries.entry(key.clone()).and_modify(|entry| entry.fresh = false);
    }

    /// Ends a resync that failed.
    pub(crate) fn give_up_resync(&mut self) {
        self.touched = None;
    }

    /// Ends a resync. Returns the keys of the tickets that were dropped before its mark: they no longer count as open.
    pub(crate) fn end_resync(&mut self, mark: u64) -> Vec<Vec<Key>> {
        self.touched = None;
        for entry in self.entries.values_mut() {
            // One that was dropped may have written a row.
            entry.fresh &= entry.dropped.is_none();
            entry.dropped = entry.dropped.filter(|dropped| *dropped >= mark);
        }
        let (since, before) = std::mem::take(&mut self.dropped).into_iter().partition(|(dropped, _)| *dropped >= mark);
        self.dropped = since;
        Vec::into_iter(before).map(|(_, keys)| keys).collect()
    }

    /// How many tickets are open, and how many were dropped.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.open, self.dropped.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Closing::{Deleted, Kept, RolledBack, Written};

    /// A set that follows the steps, and the tickets of one key.
    #[derive(Default)]
    struct Scene {
        live: Live,
        set: Option<Standing>,
    }

    const NAME: &[u8] = b"key";

    impl Scene {
        fn take(&mut self, step: Step) {
            match step {
                Step::Keep => {}
                Step::Put(standing) => self.set = Some(standing),
                Step::Remove => self.set = None,
            }
        }

        fn announce(&mut self) {
            let step = self.live.announce(&Key::from(NAME), self.set);
            self.take(step);
            self.live.opened();
        }

        fn retire(&mut self) -> u64 {
            self.live.retire(&[Key::from(NAME)])
        }

        fn close(&mut self, how: Closing, serial: u64) {
            let step = self.live.close(&Key::from(NAME), how, serial, self.set);
            self.take(step);
            self.live.closed();
        }

        fn drop_announcement(&mut self) {
            self.live.drop_ticket(vec![Key::from(NAME)], true);
        }
    }

    #[test]
    fn a_row_comes_and_goes() {
        let mut scene = Scene::default();
        scene.announce();
        assert_eq!(scene.set, Some(Standing::Open));
        scene.close(Written, 0);
        assert_eq!(scene.set, Some(Standing::Settled));
        let retiring = scene.retire();
        assert_eq!(scene.set, Some(Standing::Settled));
        scene.close(Kept, retiring);
        assert_eq!(scene.set, Some(Standing::Settled));
        let retiring = scene.retire();
        scene.close(Deleted, retiring);
        assert_eq!((scene.set, scene.live.entries.len(), scene.live.counts()), (None, 0, (0, 0)));
    }

    #[test]
    fn a_roll_back_takes_out_only_what_was_brought_in() {
        let mut scene = Scene::default();
        scene.announce();
        scene.close(RolledBack, 0);
        assert_eq!(scene.set, None);
        scene.announce();
        scene.close(Written, 0);
        scene.announce();
        scene.close(RolledBack, 0);
        assert_eq!(scene.set, Some(Standing::Settled), "it was there before");
    }

    #[test]
    fn of_two_announcements_the_first_to_be_rolled_back_leaves_the_key_to_the_other() {
        for (last, left) in [(Written, Some(Standing::Settled)), (RolledBack, None)] {
            let mut scene = Scene::default();
            scene.announce();
            scene.announce();
            scene.close(RolledBack, 0);
            assert_eq!(scene.set, Some(Standing::Open));
            scene.close(last, 0);
            assert_eq!(scene.set, left);
        }
        let mut scene = Scene::default();
        scene.announce();
        scene.announce();
        scene.close(Written, 0);
        scene.close(RolledBack, 0);
        assert_eq!(scene.set, Some(Standing::Settled), "one of them has written it");
    }

    #[test]
    fn a_key_that_was_announced_during_a_retirement_stays() {
        // Opened before it, and closed before or after it.
        for closes_first in [true, false] {
            let mut scene = Scene::default();
            scene.announce();
            let retiring = scene.retire();
            for announcement in if closes_first { [true, false] } else { [false, true] } {
                if announcement { scene.close(Written, 0) } else { scene.close(Deleted, retiring) }
            }
            assert_eq!(scene.set, Some(Standing::Settled));
        }
        // Opened and closed during it.
        let mut scene = Scene { set: Some(Standing::Settled), ..Scene::default() };
        let retiring = scene.retire();
        scene.announce();
        scene.close(Written, 0);
        scene.close(Deleted, retiring);
        assert_eq!(scene.set, Some(Standing::Settled));
    }

    #[test]
    fn a_dropped_announcement_counts_as_open_until_the_next_resync() {
        let mut scene = Scene::default();
        scene.announce();
        scene.drop_announcement();
        for _ in 0..2 {
            let retiring = scene.retire();
            scene.close(Deleted, retiring);
            scene.announce();
            scene.close(Written, 0);
            scene.announce();
            scene.close(RolledBack, 0);
            assert_eq!(scene.set, Some(Standing::Open));
        }
        let mark = scene.live.begin_resync().expect("none is running");
        assert_eq!((scene.live.begin_resync(), scene.live.touched(NAME)), (None, None));
        scene.set = Some(Standing::Settled);
        assert_eq!(scene.live.end_resync(mark).len(), 1);
        let retiring = scene.retire();
        scene.close(Deleted, retiring);
        assert_eq!(scene.set, None);
    }

    #[test]
    fn a_row_that_a_dropped_announcement_wrote_or_a_resync_has_seen_outlives_a_roll_back() {
        for dropped in [true, false] {
            let mut scene = Scene::default();
            scene.announce();
            if dropped {
                scene.announce();
                scene.drop_announcement();
            }
            let mark = scene.live.begin_resync().expect("none is running");
            if !dropped {
                scene.live.saw(&Key::from(NAME));
            }
            scene.live.end_resync(mark);
            scene.close(RolledBack, 0);
            assert_eq!(scene.set, Some(Standing::Settled));
        }
    }

    #[test]
    fn a_roll_back_during_a_resync_does_not_hide_a_row_that_the_cursor_has_seen() {
        let mut scene = Scene::default();
        scene.live.begin_resync().expect("none is running");
        scene.announce();
        scene.close(RolledBack, 0);
        assert_eq!((scene.set, scene.live.touched(NAME)), (None, Some(Touched::Open)));
    }

    #[test]
    fn a_ticket_that_is_dropped_after_the_mark_outlives_the_resync() {
        let mut scene = Scene::default();
        let mark = scene.live.begin_resync().expect("none is running");
        scene.announce();
        scene.drop_announcement();
        scene.announce();
        scene.live.end_resync(mark);
        scene.close(Written, 0);
        let retiring = scene.retire();
        scene.close(Deleted, retiring);
        assert_eq!(scene.set, Some(Standing::Open), "the first one may still write");
    }

    #[test]
    fn a_resync_knows_the_keys_with_a_ticket_since_its_mark() {
        let mut scene = Scene { set: Some(Standing::Settled), ..Scene::default() };
        let retiring = scene.retire();
        let mark = scene.live.begin_resync().expect("none is running");
        assert_eq!(scene.live.touched(NAME), Some(Touched::Open), "it was open at the mark");
        scene.close(Deleted, retiring);
        assert_eq!(scene.live.touched(NAME), Some(Touched::Removed));
        scene.announce();
        assert_eq!(scene.live.touched(NAME), Some(Touched::Open));
        scene.drop_announcement();
        assert!(scene.live.end_resync(mark).is_empty(), "it was dropped since");
        assert_eq!(scene.live.counts().1, 1);
    }
}
