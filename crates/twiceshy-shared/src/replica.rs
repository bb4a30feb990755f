//! A member's copy of a shard's filter, and when it may be believed.

use crate::clock::Moment;
use crate::names::Head;
use std::collections::HashSet;
use twiceshy::filter::Backed;
use twiceshy::remote::Key;

/// The most queries that are known to be absent although the filter cannot say so.
const MOST_EXCEPTIONS: usize = 4_096;

/// A copy of a shard's filter.
#[derive(Debug, Default)]
pub(crate) struct Replica {
    /// `None` until it is loaded.
    filter: Option<Box<dyn Backed>>,
    /// The last record that was applied.
    at: Head,
    /// When the renewal was sent whose answer has been applied. `None` if the filter may not be believed.
    fresh_from: Option<Moment>,
    /// The highest position that was acknowledged before it was applied. There is no lease until it is.
    promised: u64,
    /// `true` if rows may be there whose keys are not in the set: then the store is asked for everything.
    doubted: bool,
    /// Keys whose removal is not committed yet. The filter has lost them, but they are in the set.
    held: HashSet<Key>,
    /// Queries that are not in the set at this position, though the filter reports them present.
    exceptions: HashSet<Key>,
}

/// What a copy says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Absent,
    /// The filter lets it pass.
    Passed,
    /// The copy is not loaded or too old: ask the store.
    Unknown,
}

/// How fresh a copy must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fresh {
    /// Less than this many nanoseconds old at this moment.
    At(Moment, u64),
    /// With this position applied.
    Position(u64),
}

impl Replica {
    /// Asks the filter.
    #[inline(always)]
    pub(crate) fn ask(&self, key: &[u8], fresh: Fresh) -> Said {
        match (&self.filter, self.is(fresh) && !self.doubted) {
            (Some(filter), true) => match filter.contains(key) {
                true if self.exceptions.contains(key) => Said::Absent,
                true => Said::Passed,
                false if self.held.contains(key) => Said::Passed,
                false => Said::Absent,
            },
            _ => Said::Unknown,
        }
    }

    /// Asks the filter for several keys: `true` where a key may be present. If the copy may not be asked, nothing is written, and this is `false`.
    pub(crate) fn ask_batch(&self, keys: &[&[u8]], fresh: Fresh, found: &mut [bool]) -> bool {
        match (&self.filter, self.is(fresh) && !self.doubted) {
            (Some(filter), true) => {
                filter.contains_batch(keys, found);
                if !self.held.is_empty() || !self.exceptions.is_empty() {
                    let of = |key: &[u8], found: bool| match found {
                        true => !self.exceptions.contains(key),
                        false => self.held.contains(key),
                    };
                    found.iter_mut().zip(keys).for_each(|(found, key)| *found = of(key, *found));
                }
                true
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn is(&self, fresh: Fresh) -> bool {
        match (fresh, self.fresh_from) {
            (Fresh::At(now, nanos), Some(from)) => now.nanos_since(from) < nanos,
            (Fresh::At(..), None) => false,
            (Fresh::Position(position), _) => self.at.position >= position,
        }
    }

    pub(crate) fn filter(&self) -> Option<&dyn Backed> {
        self.filter.as_deref()
    }

    pub(crate) fn filter_mut(&mut self) -> Option<&mut Box<dyn Backed>> {
        self.filter.as_mut()
    }

    pub(crate) fn at(&self) -> Head {
        self.at
    }

    /// `true` if the copy has a lease or had one that was not given back.
    pub(crate) fn has_lease(&self) -> bool {
        self.fresh_from.is_some()
    }

    pub(crate) fn fresh_from(&self) -> Option<Moment> {
        self.fresh_from
    }

    pub(crate) fn exceptions(&self) -> usize {
        self.exceptions.len()
    }

    /// A record was applied.
    pub(crate) fn applied(&mut self, at: Head) {
        self.at = at;
    }

    /// The answer of a renewal that was sent at this moment has been applied. It counts only if everything is applied that was ever
    /// acknowledged: the answer may be older than an acknowledgement.
    pub(crate) fn refresh(&mut self, sent: Moment) {
        if self.at.position >= self.promised {
            self.fresh_from = self.fresh_from.max(Some(sent));
        }
    }

    /// The position that can be acknowledged: nothing up to there will be denied.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.at.position.max(self.promised)
    }

    /// Promises not to deny anything up to a position before it is applied. Nothing happens while there is a lease.
    pub(crate) fn promise(&mut self, position: u64) {
        if self.fresh_from.is_none() {
            self.promised = self.promised.max(position);
        }
    }

    /// `true` if it may be believed at this moment.
    pub(crate) fn is_fresh(&self, now: Moment, nanos: u64) -> bool {
        self.is(Fresh::At(now, nanos))
    }

    /// Gives back a lease that is over: from then on, positions can be promised.
    pub(crate) fn expire(&mut self, now: Moment, nanos: u64) {
        if !self.is_fresh(now, nanos) {
            self.distrust();
        }
    }

    /// Says whether the set may lack keys of rows. `true` if it was said otherwise before.
    pub(crate) fn doubt(&mut self, doubted: bool) -> bool {
        std::mem::replace(&mut self.doubted, doubted) != doubted
    }

    pub(crate) fn is_doubted(&self) -> bool {
        self.doubted
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.filter.is_some() && !self.doubted
    }

    /// From now on look-ups ask the store.
    pub(crate) fn distrust(&mut self) {
        self.fresh_from = None;
    }

    /// Another filter takes the place of this one. It may not be believed yet.
    pub(crate) fn replace(&mut self, filter: Option<Box<dyn Backed>>, at: Head) {
        *self = Replica { filter, at, promised: self.promised, doubted: self.doubted, ..Replica::default() };
    }

    /// A larger table with the same set takes the place of the filter: it is as fresh.
    pub(crate) fn take_over(&mut self, filter: Box<dyn Backed>, at: Head) {
        self.filter = Some(filter);
        self.at = at;
    }

    /// The filter is about to lose this key, which stays in the set until that is committed.
    pub(crate) fn hold(&mut self, key: &Key) {
        self.held.insert(key.clone());
    }

    pub(crate) fn let_go(&mut self) {
        self.held.clear();
    }

    /// The query is not in the set at this position, and the filter cannot be changed to say so.
    pub(crate) fn except(&mut self, query: Key) {
        if self.exceptions.len() < MOST_EXCEPTIONS {
            self.exceptions.insert(query);
        }
    }

    /// The key comes into the set: it is no exception from now on.
    pub(crate) fn announced(&mut self, key: &Key) {
        self.exceptions.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use std::time::Duration;
    use twiceshy::filter::Operation;
    use twiceshy::remote::{ByHash, Generation};
    use twiceshy::{HashKey, Kind};

    fn replica(now: Moment) -> Replica {
        let mut filter = Kind::Telescoping.make(100, 0.01, HashKey::fixed(1), Generation(0)).expect("usual options");
        let plan = filter.plan(Operation::Insert(b"stored"), &ByHash::new()).expect("room");
        filter.apply(plan).expect("its own plan");
        let mut replica = Replica::default();
        replica.replace(Some(filter), Head { position: 1, tag: 5 });
        replica.refresh(now);
        replica
    }

    #[test]
    fn an_old_copy_denies_nothing() {
        let now = Clock::default().now();
        let mut replica = replica(now);
        let nanos = 1_000_000;
        let later = |millis| now.after(Duration::from_millis(millis));
        assert_eq!(replica.ask(b"other", Fresh::At(now, nanos)), Said::Absent);
        assert_eq!(replica.ask(b"stored", Fresh::At(now, nanos)), Said::Passed);
        assert_eq!(replica.ask(b"other", Fresh::At(later(1), nanos)), Said::Unknown);
        // An older renewal whose answer comes late changes nothing.
        replica.refresh(later(5));
        replica.refresh(later(2));
        assert_eq!(replica.ask(b"other", Fresh::At(later(5), nanos)), Said::Absent);
        replica.distrust();
        assert_eq!(replica.ask(b"other", Fresh::At(later(5), nanos)), Said::Unknown);
        assert_eq!(replica.ask(b"other", Fresh::Position(1)), Said::Absent);
        assert_eq!(replica.ask(b"other", Fresh::Position(2)), Said::Unknown);
        let mut found = [false; 2];
        assert!(!replica.ask_batch(&[b"other", b"stored"], Fresh::Position(2), &mut found));
    }

    #[test]
    fn a_renewal_that_is_older_than_an_acknowledgement_does_not_count() {
        let now = Clock::default().now();
        let mut replica = replica(now);
        replica.promise(9);
        assert_eq!(replica.acknowledged(), 1, "there was a lease");
        replica.distrust();
        replica.promise(5);
        replica.promise(4);
        assert_eq!(replica.acknowledged(), 5);
        replica.refresh(now);
        assert!(!replica.has_lease());
        replica.applied(Head { position: 5, tag: 6 });
        replica.refresh(now);
        assert!(replica.has_lease());
    }

    #[test]
    fn keys_that_are_being_removed_pass_and_exceptions_do_not_until_they_are_announced() {
        let now = Clock::default().now();
        let mut replica = replica(now);
        let fresh = Fresh::At(now, 1);
        let (held, stored) = (Key::from(&b"held"[..]), Key::from(&b"stored"[..]));
        replica.hold(&held);
        replica.except(stored.clone());
        let mut found = [false; 3];
        replica.ask_batch(&[b"held", b"stored", b"other"], fresh, &mut found);
        assert_eq!(found, [true, false, false]);
        assert_eq!((replica.ask(b"held", fresh), replica.ask(b"stored", fresh)), (Said::Passed, Said::Absent));
        replica.let_go();
        replica.announced(&stored);
        assert_eq!((replica.ask(b"held", fresh), replica.ask(b"stored", fresh)), (Said::Absent, Said::Passed));
    }
}
