//! A filter with its remote before something happens, and what may happen to it.

use std::collections::BTreeSet;
use twiceshy::error::{InsertError, RebuildError, SeamError};
use twiceshy::filter::{Adapted, Progress};
use twiceshy::hash::HashKey;
use twiceshy::remote::{Counting, Generation, Remote, Schema};
use twiceshy::testing::{Faulty, Injected, Subject, Variant, build};

pub(crate) type Keys = BTreeSet<Vec<u8>>;

pub(crate) const CELLS: u64 = 60;
pub(crate) const BITS: u32 = 7;

pub(crate) fn key(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// A filter in use.
pub(crate) struct Scene<F, R> {
    pub(crate) filter: F,
    pub(crate) remote: R,
    pub(crate) keys: Keys,
}

impl<F: Subject, R: Remote + Clone + Default> Scene<F, R> {
    /// So full that some other hash key leaves out some key.
    pub(crate) fn full(variant: Variant) -> Scene<F, R> {
        Scene::filled(variant, u64::MAX)
    }

    /// So full that insertions must kick.
    pub(crate) fn crowded(variant: Variant) -> Scene<F, R> {
        Scene::filled(variant, if variant == Variant::CuckooingTwoTables { 26 } else { 56 })
    }

    /// Several blocks of the quotient family, taught until one of them would overflow by what an insertion moves; and a
    /// key that does so, without a match of its own.
    pub(crate) fn brimful(variant: Variant) -> (Scene<F, R>, Vec<u8>) {
        let mut scene: Scene<F, R> = Scene::with_cells(variant, 5 * CELLS, 5 * CELLS - 20);
        for query in (20_000..200_000).map(key) {
            if scene.filter.contains(&query) {
                let adapted = scene.filter.try_adapt(&query, &mut scene.remote);
                adapted.expect("a filter that adapts").expect("nothing fails yet");
                if let Some(newcomer) = scene.unmatched_newcomer() {
                    return (scene, newcomer);
                }
            }
        }
        panic!("{variant:?}: no block came to its brim")
    }

    /// With room for a table of the same size under other hash keys.
    pub(crate) fn roomy(variant: Variant) -> Scene<F, R> {
        Scene::filled(variant, if variant == Variant::CuckooingTwoTables { 18 } else { 42 })
    }

    fn filled(variant: Variant, wanted: u64) -> Scene<F, R> {
        Scene::with_cells(variant, CELLS, wanted)
    }

    fn with_cells(variant: Variant, cells: u64, wanted: u64) -> Scene<F, R> {
        let mut remote = R::default();
        let bits = BITS.max(variant.narrowest());
        let mut filter: F = build(variant, cells, bits, HashKey::fixed(7), &mut remote).expect("options that can be");
        let mut keys = Keys::new();
        for number in 0..300 {
            if filter.len() < wanted && filter.insert(&key(number), &mut remote).is_ok() {
                keys.insert(key(number));
            }
        }
        Scene { filter, remote, keys }
    }

    /// The same with a rebuild begun, and so many keys brought over.
    pub(crate) fn rebuilding(variant: Variant, rekey: bool, brought: usize) -> Scene<F, R> {
        let mut scene: Scene<F, R> = Scene::roomy(variant);
        let Scene { filter, remote, .. } = &mut scene;
        if rekey {
            filter.begin_rekey(fitting_key(filter, remote), remote).expect("nothing fails yet");
        } else {
            filter.begin_grow(CELLS + 24, remote).expect("nothing fails yet");
        }
        for _ in 0..brought {
            assert_eq!(filter.rebuild_step(1, remote).expect("nothing fails yet"), Progress::More);
        }
        scene
    }

    /// A new key whose insertion takes as much asking as possible.
    pub(crate) fn newcomer(&self) -> Vec<u8> {
        self.best((1000..1200).map(key), |filter, key, remote| {
            filter.insert(key, remote).ok()?;
            Some(remote.counts().reads)
        })
    }

    /// A new key that matches nothing and whose insertion asks all the same: it must know whom it moves.
    fn unmatched_newcomer(&self) -> Option<Vec<u8>> {
        let asks = |key: &Vec<u8>| {
            let mut remote = Counting::new(self.remote.clone());
            let inserted = self.filter.clone().insert(key, &mut remote).is_ok();
            inserted && !self.filter.contains(key) && remote.counts().reads > 0
        };
        (1000..1100).map(key).find(asks)
    }

    /// A false positive, fixed if any can be, with as much asking as possible; none where the filter does not adapt.
    pub(crate) fn mistake(&self) -> Option<Vec<u8>> {
        self.filter.clone().try_adapt(&key(0), &mut self.remote.clone())?.ok()?;
        let mistakes = (2000..20_000).map(key).filter(|query| self.filter.contains(query)).take(40);
        Some(self.best(mistakes, |filter, query, remote| {
            let outcome = filter.try_adapt(query, remote)?.ok()?;
            Some((outcome == Adapted::Fixed, remote.counts().commits, remote.counts().reads))
        }))
    }

    /// The key with the highest worth among those that have any.
    fn best<W: Ord>(
        &self,
        keys: impl Iterator<Item = Vec<u8>>,
        worth: impl Fn(&mut F, &[u8], &mut Counting<R>) -> Option<W>,
    ) -> Vec<u8> {
        let worth = |key: &Vec<u8>| worth(&mut self.filter.clone(), key, &mut Counting::new(self.remote.clone()));
        keys.filter_map(|key| Some((worth(&key)?, key))).max().expect("some key of any worth").1
    }

    pub(crate) fn again(&self) -> (F, Faulty<R>) {
        (self.filter.clone(), Faulty::new(self.remote.clone()))
    }
}

/// A hash key under which the same keys fit into the same number of cells.
pub(crate) fn fitting_key<F: Subject, R: Remote + Clone>(filter: &F, remote: &R) -> HashKey {
    let fits = |hash: &HashKey| filter.clone().rekey(*hash, &mut remote.clone()).is_ok();
    (100..200).map(HashKey::fixed).find(fits).expect("a hash key that fits")
}

/// What a remote holds, as far as a filter depends on it.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    sequence: u64,
    in_use: Option<(Generation, Schema)>,
    pub(crate) keys: Keys,
}

pub(crate) fn state<R: Remote>(remote: &R) -> State {
    let in_use = remote.in_use().expect("a remote inside does not fail");
    let mut keys = Keys::new();
    let phase = remote.phase().expect("a remote inside does not fail");
    for (generation, _) in in_use.into_iter().chain(phase.map(|phase| phase.new)) {
        let mut note = |at: twiceshy::remote::Position| {
            keys.insert(at.key.to_vec());
        };
        remote.walk(generation, None, usize::MAX, &mut note).expect("a remote inside does not fail");
    }
    State { sequence: remote.sequence().expect("a remote inside does not fail"), in_use, keys }
}

/// Every key is found, every count and every invariant is right.
pub(crate) fn check<F: Subject, R: Remote>(filter: &F, remote: &Faulty<R>, keys: &Keys, when: &str) {
    assert!(keys.iter().all(|key| filter.contains(key)), "{when}: a stored key is absent");
    assert_eq!(filter.len(), keys.len() as u64, "{when}");
    assert_eq!(&state(remote.inner()).keys, keys, "{when}");
    assert_eq!(filter.validate(remote.inner()), Ok(()), "{when}");
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
    pub(crate) fn perform<F: Subject, R: Remote>(
        &self,
        filter: &mut F,
        remote: &mut R,
    ) -> Result<(), SeamError<R::Error>> {
        match self {
            Deed::Insert(key) => filter.insert(key, remote).map(drop).map_err(|error| match error {
                InsertError::Seam(error) => error,
                other => panic!("{other}"),
            }),
            Deed::Remove(key) => filter.remove(key, remote).map(drop),
            Deed::Adapt(query) => filter.try_adapt(query, remote).expect("a filter that adapts").map(drop),
            Deed::BeginGrow(cells) => filter.begin_grow(*cells, remote).map_err(seam),
            Deed::BeginRekey(hash) => filter.begin_rekey(*hash, remote).map_err(seam),
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

pub(crate) fn seam<E: std::error::Error>(error: RebuildError<E>) -> SeamError<E> {
    match error {
        RebuildError::Seam(error) => error,
        other => panic!("{other}"),
    }
}

/// Whether this is the failure that was ordered.
pub(crate) fn is_ordered<E>(error: &SeamError<Injected<E>>) -> bool {
    matches!(error, SeamError::Remote(Injected::Fault))
}

/// Brings every key over.
pub(crate) fn finish<F: Subject, R: Remote>(
    filter: &mut F,
    remote: &mut R,
    limit: usize,
) -> Result<(), RebuildError<R::Error>> {
    while filter.rebuild_step(limit, remote)? == Progress::More {}
    Ok(())
}
