//! A filter with its remote before something happens, and what may happen to it.

use std::collections::BTreeSet;
use twiceshy::AdaptiveFilter;
use twiceshy::error::Error;
use twiceshy::filter::{Adapted, Backed, Operation, Progress};
use twiceshy::hash::HashKey;
use twiceshy::plan::{Outcome, Plan};
use twiceshy::remote::{Counting, Generation, Remote, Schema};
use twiceshy::testing::{Faulty, Variant, stored};

pub(crate) type Keys = BTreeSet<Vec<u8>>;
pub(crate) type Pair<R> = AdaptiveFilter<dyn Backed, Faulty<R>>;

pub(crate) const CELLS: u64 = 60;
pub(crate) const BITS: u32 = 7;

pub(crate) fn key(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// A filter in use.
#[derive(Clone)]
pub(crate) struct Scene<R> {
    pub(crate) pair: Pair<R>,
    pub(crate) keys: Keys,
}

impl<R: Remote + Clone + Default> Scene<R> {
    /// So full that some other hash key leaves out some key.
    pub(crate) fn full(variant: Variant) -> Scene<R> {
        Scene::with_cells(variant, CELLS, u64::MAX)
    }

    /// So full that insertions must kick.
    pub(crate) fn crowded(variant: Variant) -> Scene<R> {
        Scene::with_cells(variant, CELLS, if variant == Variant::CuckooingTwoTables { 26 } else { 56 })
    }

    /// Several blocks of the quotient family, taught until one of them would overflow by what an insertion moves; and a
    /// key that does so, without a match of its own.
    pub(crate) fn brimful(variant: Variant) -> (Scene<R>, Vec<u8>) {
        let mut scene: Scene<R> = Scene::with_cells(variant, 5 * CELLS, 5 * CELLS - 20);
        for query in (20_000..200_000).map(key) {
            if scene.pair.contains(&query) {
                scene.pair.was_wrong(&query).expect("nothing fails yet");
                if let Some(newcomer) = scene.unmatched_newcomer() {
                    return (scene, newcomer);
                }
            }
        }
        panic!("{variant:?}: no block came to its brim")
    }

    /// With room for a table of the same size under other hash keys.
    pub(crate) fn roomy(variant: Variant) -> Scene<R> {
        Scene::with_cells(variant, CELLS, if variant == Variant::CuckooingTwoTables { 18 } else { 42 })
    }

    fn with_cells(variant: Variant, cells: u64, wanted: u64) -> Scene<R> {
        let remote = Faulty::new(R::default());
        let mut pair = variant.build(cells, BITS, HashKey::fixed(7), remote).expect("options that can be");
        let mut keys = Keys::new();
        for key in (0..300).map(key) {
            if pair.len() < wanted && pair.insert(&key).is_ok() {
                keys.insert(key);
            }
        }
        Scene { pair, keys }
    }

    /// The same with a rebuild begun, and this many keys brought over.
    pub(crate) fn rebuilding(variant: Variant, rekey: bool, brought: usize) -> Scene<R> {
        let mut scene: Scene<R> = Scene::roomy(variant);
        let deed = if rekey { scene.rekeying() } else { Deed::BeginGrow(CELLS + 24) };
        deed.perform(&mut scene.pair).expect("nothing fails yet");
        for _ in 0..brought {
            assert_eq!(scene.pair.rebuild_step(1).expect("nothing fails yet"), Progress::More);
        }
        scene
    }

    /// A plan, and how often it asks.
    fn plan(&self, operation: Operation<'_>) -> Option<(Plan, u64)> {
        let keys = Counting::new(self.pair.remote().clone());
        let plan = self.pair.filter().plan(operation, &keys).ok()?;
        Some((plan, keys.counts().reads))
    }

    /// A new key whose insertion takes as much asking as possible.
    pub(crate) fn newcomer(&self) -> Vec<u8> {
        let reads = |key: &Vec<u8>| self.plan(Operation::Insert(key)).map(|(_, reads)| reads);
        best((1000..1200).map(key), reads)
    }

    /// A new key that matches nothing and whose insertion asks all the same: it must know what it moves.
    fn unmatched_newcomer(&self) -> Option<Vec<u8>> {
        let asks = |key: &Vec<u8>| self.plan(Operation::Insert(key)).is_some_and(|(_, reads)| reads > 0);
        (1000..1100).map(key).find(|key| !self.pair.contains(key) && asks(key))
    }

    /// A false positive, fixed if any can be, with as much asking as possible; `None` if the filter does not adapt.
    pub(crate) fn mistake(&self) -> Option<Vec<u8>> {
        let mistakes = (2000..20_000).map(key).filter(|query| self.pair.contains(query)).take(40);
        self.pair.filter().kind().learns().then(|| {
            best(mistakes, |query| {
                let (plan, reads) = self.plan(Operation::Adapt(query))?;
                Some((plan.outcome() == Outcome::Adapted(Adapted::Fixed), !plan.writes().is_empty(), reads))
            })
        })
    }

    /// Another hash key under which the same keys fit into the same number of cells.
    pub(crate) fn rekeying(&self) -> Deed {
        let fits = |hash: &HashKey| self.pair.clone().rekey(*hash).is_ok();
        Deed::BeginRekey((100..200).map(HashKey::fixed).find(fits).expect("a hash key that fits"))
    }
}

/// The key with the highest worth among those that have any.
fn best<W: Ord>(keys: impl Iterator<Item = Vec<u8>>, worth: impl Fn(&Vec<u8>) -> Option<W>) -> Vec<u8> {
    keys.filter_map(|key| Some((worth(&key)?, key))).max().expect("some key of any worth").1
}

/// What a remote holds, as far as a filter depends on it.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    sequence: u64,
    in_use: Option<(Generation, Schema)>,
    pub(crate) keys: Keys,
}

pub(crate) fn state<R: Remote>(remote: &R) -> State {
    let sequence = remote.sequence().expect("a remote inside does not fail");
    State { sequence, in_use: remote.in_use().expect("a remote inside does not fail"), keys: stored(remote) }
}

/// Every key is found, every count and every invariant is right.
pub(crate) fn check<R: Remote>(pair: &Pair<R>, keys: &Keys, when: &str) {
    assert!(keys.iter().all(|key| pair.contains(key)), "{when}: a stored key is absent");
    assert_eq!(pair.len(), keys.len() as u64, "{when}");
    assert_eq!(&stored(pair.remote().inner()), keys, "{when}");
    assert_eq!(pair.validate_against(pair.remote().inner()), Ok(()), "{when}");
}

/// Something that changes a filter.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Insert(Vec<u8>),
    Remove(Vec<u8>),
    Adapt(Vec<u8>),
    BeginGrow(u64),
    BeginRekey(HashKey),
}

impl Deed {
    pub(crate) fn perform<R: Remote>(&self, pair: &mut Pair<R>) -> Result<(), Error> {
        match self {
            Deed::Insert(key) => pair.insert(key).map(drop),
            Deed::Remove(key) => pair.remove(key).map(drop),
            Deed::Adapt(query) => pair.was_wrong(query).map(drop),
            Deed::BeginGrow(cells) => pair.begin_grow(*cells),
            Deed::BeginRekey(hash) => pair.begin_rekey(*hash),
        }
    }

    /// The keys after it was done.
    pub(crate) fn done_to(&self, keys: &Keys) -> Keys {
        let mut keys = keys.clone();
        match self {
            Deed::Insert(key) => drop(keys.insert(key.clone())),
            Deed::Remove(key) => drop(keys.remove(key)),
            _ => {}
        }
        keys
    }
}

/// Brings every key over.
pub(crate) fn finish<R: Remote>(pair: &mut Pair<R>, limit: usize) -> Result<(), Error> {
    while pair.rebuild_step(limit)? == Progress::More {}
    Ok(())
}
