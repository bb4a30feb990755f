//! The filter that all rules of the quotient family share: plan over the tables, have the remote commit, apply.

use super::local::{Change, Local};
use super::options::Options;
use super::owners::{keys_of, match_run};
use super::plan::{self, Cost};
use super::rule::{Learning, Rule};
use super::save::Saved;
use super::stats::Stats;
use crate::error::{BuildError, InsertError, OptionsError, RebuildError, SeamError};
use crate::filter::{Adapted, Adaptive, Backed, Filter, Inserted, Progress, Removed};
use crate::hash::HashKey;
use crate::remote::{Generation, Key, OrderWords, Place, Position, Remote, Schema};
use crate::seam::{Pending, Seam, Table, Then};
use crate::sizing;
use std::iter::Once;
use std::ops::Range;

/// A filter on the rank-and-select quotient table.
///
/// The rule `R` says what a slot keeps of its key. See [`QuotientFilter`](super::QuotientFilter),
/// [`TelescopingFilter`](super::TelescopingFilter), [`PlainTelescopingFilter`](super::PlainTelescopingFilter) and
/// [`ExtensionFilter`](super::ExtensionFilter), which are this type under their rules.
///
/// The quotient is the range reduction of hash word 0, so a run is an interval of words and one ordered read of the remote
/// gives its keys: the remote gets one entry for each key, loses one with each removal, and hears of nothing else.
#[derive(Clone, Debug)]
pub struct RankSelectFilter<R: Rule> {
    pub(crate) seam: Seam<Local<R>>,
    pub(crate) stats: Stats,
}

impl<R: Rule> Table for Local<R> {
    type Change = Change;

    fn apply(&mut self, change: &Change) {
        Local::apply(self, change);
    }

    fn generation(&self) -> Generation {
        self.generation
    }

    fn hash(&self) -> HashKey {
        self.hash
    }

    fn schema(&self) -> Schema {
        Local::schema(self)
    }

    fn order_words(&self, key: &[u8]) -> OrderWords {
        Local::order_words(self, key)
    }
}

fn new_local<R: Rule>(
    slots: u64,
    width: u32,
    rule: R,
    side: u32,
    hash: HashKey,
    generation: Generation,
) -> Result<Local<R>, OptionsError> {
    Local::new(slots, width, rule, side, hash, generation).ok_or(OptionsError::Memory { cells: slots, width })
}

impl<R: Saved> RankSelectFilter<R> {
    /// A filter for so many keys at this false-positive rate, planned for a load of 95 %.
    pub fn options(keys: u64, rate: f64) -> Result<Options<R::Spec>, OptionsError> {
        Options::for_capacity(keys, rate, R::Spec::default())
    }

    /// A filter of so many slots with remainders of `width` bits.
    pub fn with_slots(slots: u64, width: u32) -> Options<R::Spec> {
        Options::with_slots(slots, width, R::Spec::default())
    }
}

impl<R: Rule> RankSelectFilter<R> {
    /// An empty filter over an empty remote.
    pub(crate) fn build<Rem: Remote>(
        slots: u64,
        width: u32,
        rule: R,
        side: u32,
        hash: HashKey,
        remote: &mut Rem,
    ) -> Result<Self, BuildError<Rem::Error>> {
        if remote.knows_cells() {
            return Err(BuildError::NeedsRemoteByHash);
        }
        let seam = Seam::build(|generation| new_local(slots, width, rule, side, hash, generation), remote)?;
        Ok(RankSelectFilter::over(seam))
    }

    /// A filter for the set that a remote holds, filled in one ordered scan of it.
    pub(crate) fn recover<Rem: Remote>(
        slots: u64,
        width: u32,
        rule: R,
        side: u32,
        remote: &mut Rem,
    ) -> Result<Self, BuildError<Rem::Error>> {
        if remote.knows_cells() {
            return Err(BuildError::NeedsRemoteByHash);
        }
        let stand_in = |generation, hash| new_local(1, width, rule.clone(), side, hash, generation);
        let mut filter = RankSelectFilter::over(Seam::recover(1, stand_in, remote)?);
        filter.begin(slots, filter.hash_key(), remote)?;
        while filter.rebuild_step(4096, remote)? == Progress::More {}
        filter.seam.rebuilds = 0;
        Ok(filter)
    }

    pub(crate) fn over(seam: Seam<Local<R>>) -> Self {
        RankSelectFilter { seam, stats: Stats::default() }
    }

    /// The width of a remainder in bits.
    pub fn width(&self) -> u32 {
        self.seam.live.width()
    }

    /// The hash key in use.
    pub fn hash_key(&self) -> HashKey {
        self.seam.live.hash
    }

    /// The rule that says what slots keep.
    pub fn rule(&self) -> &R {
        &self.seam.live.rule
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        let side_blocks = self.seam.live.marked.side.entries().len() as u64;
        Stats { rebuilds: self.seam.rebuilds.into(), side_blocks, ..self.stats }
    }

    /// Whether a commit's outcome is unknown: see [`Backed::resolve`].
    pub fn is_in_doubt(&self) -> bool {
        self.seam.is_in_doubt()
    }

    /// The number of blocks of 64 slots, spare ones included.
    pub fn blocks(&self) -> u64 {
        self.seam.live.table().blocks.len()
    }

    /// What the slots of a block have learned: selectors or extensions, by number. For experiments.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn marks(&self, block: u64) -> [u16; 64] {
        self.seam.live.marks(block)
    }

    /// The slots that a look-up of `key` compares; none where its quotient has no key. For experiments.
    pub fn run(&self, key: &[u8]) -> Option<Range<u64>> {
        self.seam.live.run(self.seam.live.quotient(key))
    }

    fn begin<Rem: Remote>(
        &mut self,
        slots: u64,
        hash: HashKey,
        remote: &mut Rem,
    ) -> Result<(), RebuildError<Rem::Error>> {
        sizing::check_slots(slots)?;
        if self.len() > sizing::quotient_most(slots) {
            return Err(RebuildError::Full { keys: self.len(), cells: slots });
        }
        let (rule, width) = (self.rule().clone(), self.width());
        let side = self.seam.live.marked.side.most();
        self.seam.begin(hash, |generation| new_local(slots, width, rule, side, hash, generation), remote)
    }

    /// The keys of a matched key's run, by one read of the remote, and whether the key is among them.
    fn run_of<Rem: Remote>(&self, key: &[u8], remote: &Rem) -> Result<(Vec<Key>, bool), SeamError<Rem::Error>> {
        let quotient = self.seam.live.quotient(key);
        let keys = keys_of(&self.seam.live, remote, None, quotient, quotient)?.remove(&quotient).unwrap_or_default();
        let stored = keys.iter().any(|stored| **stored == *key);
        Ok((keys, stored))
    }

    fn full<E>(&self) -> InsertError<E> {
        InsertError::Full { keys: self.len(), cells: self.cells() }
    }
}

/// Plans the removal of a key that a table holds. `keys` are those of its run in the table's set.
fn plan_removal<R: Rule, Rem: Remote>(
    local: &Local<R>,
    key: &[u8],
    keys: &[Key],
    remote: &Rem,
) -> Result<(Change, Cost), SeamError<Rem::Error>> {
    let quotient = local.quotient(key);
    let run = local.run(quotient).ok_or(SeamError::Disagree)?;
    let owners = match_run(local, run.clone(), keys)?;
    let own = owners.iter().find(|(_, owner)| **owner == *key);
    let (slot, _) = own.ok_or(SeamError::Disagree)?;
    plan::removal(local, local.table().gap(quotient, &run, *slot), remote)
}

impl<R: Rule> Filter for RankSelectFilter<R> {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.seam.live.contains(key) || self.is_in_doubt()
    }

    fn len(&self) -> u64 {
        self.seam.live.keys
    }

    fn cells(&self) -> u64 {
        self.seam.live.slots()
    }

    fn local_bits(&self) -> u64 {
        self.seam.tables().map(Local::allocated_bits).sum::<u64>() + size_of::<Self>() as u64 * 8
    }
}

impl<R: Rule> Backed for RankSelectFilter<R> {
    /// One place: all slots of a run have the same candidates.
    type Places = Once<Place>;

    #[inline]
    fn lookup(&self, key: &[u8]) -> Option<Once<Place>> {
        if !self.contains(key) {
            return None;
        }
        let live = &self.seam.live;
        let quotient = live.quotient(key);
        let slot = live.run(quotient).map_or(quotient, |run| run.start);
        Some(std::iter::once(live.place(quotient, quotient, slot)))
    }

    fn insert<Rem: Remote>(&mut self, key: &[u8], remote: &mut Rem) -> Result<Inserted, InsertError<Rem::Error>> {
        self.seam.ready()?;
        let live = &self.seam.live;
        if live.contains(key) && self.run_of(key, remote)?.1 {
            return Ok(Inserted::AlreadyStored);
        }
        let Some((change, cost)) = plan::insertion(live, key, remote)? else { return Err(self.full()) };
        let key = Key::from(key);
        let mut writes = vec![live.addition(&key, None)];
        let mut pending = Pending::change(change);
        if let Some(next) = self.seam.next.as_ref().filter(|next| next.has_passed(&key)) {
            match plan::insertion(&next.table, &key, remote)? {
                Some((change, _)) => {
                    writes.extend(next.addition(&key, None));
                    pending.next = change;
                }
                // The new table is full: it is given up, and the old one goes on.
                None => {
                    writes.extend(next.abandonment());
                    pending.then = Then::Abandon;
                }
            }
        }
        self.seam.commit(writes, pending, remote)?;
        self.stats.insertion(cost);
        Ok(Inserted::New)
    }

    fn remove<Rem: Remote>(&mut self, key: &[u8], remote: &mut Rem) -> Result<Removed, SeamError<Rem::Error>> {
        self.seam.ready()?;
        let live = &self.seam.live;
        let (keys, stored) = if live.contains(key) { self.run_of(key, remote)? } else { (Vec::new(), false) };
        if !stored {
            // Nothing will be written that could find out that the remote has gone on without this filter.
            self.seam.in_step(remote)?;
            return Ok(Removed::NotStored);
        }
        let (change, cost) = plan_removal(live, key, &keys, remote)?;
        let key = Key::from(key);
        let mut writes = vec![live.deletion(&key, None)];
        let mut pending = Pending::change(change);
        if let Some(next) = &self.seam.next {
            if next.has_passed(&key) {
                let quotient = next.table.quotient(&key);
                let keys = keys_of(&next.table, remote, Some(next.cut()), quotient, quotient)?.remove(&quotient);
                pending.next = plan_removal(&next.table, &key, &keys.unwrap_or_default(), remote)?.0;
            }
            writes.extend(next.deletion(&key, None, remote));
        }
        self.seam.commit(writes, pending, remote)?;
        self.stats.removal(cost);
        Ok(Removed::Gone)
    }

    #[inline]
    fn answers(&self, key: &[u8]) -> bool {
        self.seam.live.contains(key)
    }

    fn entries(&self, key: &[u8]) -> (Generation, OrderWords) {
        (self.seam.live.generation(), self.seam.live.order_words(key))
    }

    fn sequence(&self) -> u64 {
        self.seam.sequence
    }

    fn stand_at(&mut self, sequence: u64) {
        if !self.seam.is_in_doubt() {
            self.seam.sequence = sequence;
        }
    }

    fn resolve<Rem: Remote>(&mut self, remote: &Rem) -> Result<(), SeamError<Rem::Error>> {
        self.seam.resolve(remote)
    }

    fn begin_grow<Rem: Remote>(&mut self, cells: u64, remote: &mut Rem) -> Result<(), RebuildError<Rem::Error>> {
        self.begin(cells, self.hash_key(), remote)
    }

    fn begin_rekey<Rem: Remote>(&mut self, hash: HashKey, remote: &mut Rem) -> Result<(), RebuildError<Rem::Error>> {
        self.begin(self.cells(), hash, remote)
    }

    /// Under the same hash key the keys come in the order of their quotients, so each goes to the end of the table and
    /// nothing moves.
    fn rebuild_step<Rem: Remote>(
        &mut self,
        limit: usize,
        remote: &mut Rem,
    ) -> Result<Progress, RebuildError<Rem::Error>> {
        let Some(batch) = self.seam.next_batch(limit, remote)? else { return Ok(Progress::Done) };
        match self.fill(batch) {
            Ok(()) => Ok(Progress::More),
            Err((keys, cells)) => {
                self.seam.abandon(remote)?;
                Err(RebuildError::Full { keys: keys.max(self.len()), cells })
            }
        }
    }

    fn is_rebuilding(&self) -> bool {
        self.seam.next.is_some()
    }

    fn wants_rebuild(&self) -> bool {
        self.seam.wants_rebuild
    }

    fn validate<Rem: Remote>(&self, remote: &Rem) -> Result<(), String> {
        self.seam.check(remote, super::validate::check)
    }
}

impl<R: Rule> RankSelectFilter<R> {
    /// Brings a batch into the table that is being filled, which nobody asks yet and which has learned nothing. Where it is
    /// full: the keys that it would have had, and its slots.
    fn fill(&mut self, batch: Vec<Position>) -> Result<(), (u64, u64)> {
        let Some(next) = &mut self.seam.next else { return Ok(()) };
        for at in batch {
            let table = &mut next.table;
            let room = plan::room(table, &at.key).ok_or((table.keys + 1, table.slots()))?;
            let remainder = plan::unmarked(table, &table.strand(&at.key));
            table.apply(&Change::insert(room, remainder));
            next.cursor = Some(at);
        }
        Ok(())
    }
}

impl<R: Learning> Adaptive for RankSelectFilter<R> {
    fn adapt<Rem: Remote>(&mut self, query: &[u8], remote: &mut Rem) -> Result<Adapted, SeamError<Rem::Error>> {
        self.seam.ready()?;
        let live = &self.seam.live;
        if !live.contains(query) {
            return Ok(Adapted::Fixed);
        }
        self.seam.in_step(remote)?;
        let (keys, stored) = self.run_of(query, remote)?;
        if stored {
            return Ok(Adapted::Stored);
        }
        let run = live.run(live.quotient(query)).ok_or(SeamError::Disagree)?;
        let owners = match_run(live, run, &keys)?;
        let fix = plan::adaptation(live, query, &owners, remote)?;
        self.seam.commit(Vec::new(), Pending::change(fix.change), remote)?;
        self.stats.adaptation(fix.cost);
        if fix.left == 0 {
            return Ok(Adapted::Fixed);
        }
        self.stats.out_of_marks += 1;
        self.seam.wants_rebuild = true;
        Ok(if fix.alike { Adapted::Unfixable } else { Adapted::StillPresent })
    }
}
