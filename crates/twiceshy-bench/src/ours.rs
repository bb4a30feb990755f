//! The filters of twiceshy.

use crate::keys;
use crate::laps::{BATCH, Laps};
use crate::remote::{CellMirror, FlatByHash, Lean};
use crate::subject::{Adapted, Contestant, Fill, Filled, Subject, Task};
use anyhow::{Context, anyhow};
use std::hint::black_box;
use std::time::Instant;
use twiceshy::cuckoo::{CuckooFilter, CuckooingFilter, CyclicFilter, FullKeyFilter, RememberingFilter, SwappingFilter};
use twiceshy::hash::HashKind;
use twiceshy::quotient::{BroomFilter, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter};
use twiceshy::remote::{ByHash, CellId, Commit, Key, Write};
use twiceshy::{AdaptiveFilter, Backed, Error, Filter, HashKey, Kind};

/// The bits of a cell of the filters with two tables of four cells, of those with four tables of one, and of a remainder.
/// All come near a false-positive rate of 1/256.
const TWO_BY_FOUR: u32 = 12;
const FOUR_BY_ONE: u32 = 11;
const REMAINDER: u32 = 8;

/// A table this full may, seldom and if it is small, have no place for one of the keys. Then it gets another hash key.
const HASH_KEYS: u64 = 8;

/// The commits that are made before they are timed, in one part.
const COMMITS: usize = 1 << 15;

impl<F: Filter> Subject for Box<F> {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        Filter::contains(&**self, &key.to_be_bytes())
    }

    /// As a user with a list of numbers would: the bytes of some keys, and a slice for each.
    fn contains_batch(&self, keys: &[u64], found: &mut Vec<bool>) -> Option<()> {
        found.resize(keys.len(), false);
        for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            let mut bytes = [[0; 8]; BATCH];
            bytes.iter_mut().zip(keys).for_each(|(bytes, key)| *bytes = key.to_be_bytes());
            let mut slices: [&[u8]; BATCH] = [&[]; BATCH];
            slices.iter_mut().zip(&bytes).for_each(|(slice, bytes)| *slice = bytes);
            Filter::contains_batch(&**self, &slices[..keys.len()], found);
        }
        Some(())
    }

    fn bits(&self) -> u64 {
        self.local_bits()
    }

    fn cells(&self) -> Option<u64> {
        Some(Filter::cells(&**self))
    }
}

/// All filters, with the hash for trusted keys and with the default one.
pub fn all() -> Vec<Contestant> {
    [HashKind::Xxh3, HashKind::SipHash13].into_iter().flat_map(with_hash).collect()
}

fn with_hash(hash: HashKind) -> Vec<Contestant> {
    let (suffix, hash_name) = match hash {
        HashKind::Xxh3 => ("", "XXH3"),
        _ => ("-siphash", "SipHash-1-3"),
    };
    let contestant =
        |name: &str, fill: Fill| Contestant { name: format!("{name}{suffix}"), ours: true, hash: hash_name, fill };
    /// One that needs keys behind it, in a lean remote.
    macro_rules! backed {
        ($options:expr, $remote:ty) => {
            Box::new(move |task| backed(task, hash, |key| $options(task.cells()).build(key, <$remote>::new())))
        };
    }
    let of_kind = |kind: Kind, fill: Fill| contestant(kind.name(), fill);
    vec![
        contestant("cuckoo", Box::new(move |task| partial_key(task, hash))),
        contestant("cuckoo-full", backed!(|cells| FullKeyFilter::with_cells(cells, FOUR_BY_ONE), CellMirror)),
        of_kind(Kind::Cyclic, backed!(|cells| CyclicFilter::with_cells(cells, FOUR_BY_ONE), CellMirror)),
        of_kind(Kind::Swapping, backed!(|cells| SwappingFilter::with_cells(cells, TWO_BY_FOUR), CellMirror)),
        of_kind(Kind::Cuckooing, backed!(|cells| CuckooingFilter::with_cells(cells, FOUR_BY_ONE), CellMirror)),
        of_kind(Kind::Remembering, backed!(|cells| RememberingFilter::with_cells(cells, FOUR_BY_ONE), FlatByHash)),
        contestant("quotient", Box::new(move |task| keyless(task, hash))),
        contestant("quotient-keys", backed!(|slots| QuotientFilter::with_slots(slots, REMAINDER), FlatByHash)),
        of_kind(Kind::Telescoping, backed!(|slots| TelescopingFilter::with_slots(slots, REMAINDER), FlatByHash)),
        of_kind(
            Kind::TelescopingPlain,
            backed!(|slots| PlainTelescopingFilter::with_slots(slots, REMAINDER), FlatByHash),
        ),
        of_kind(Kind::Extension, backed!(|slots| ExtensionFilter::with_slots(slots, REMAINDER), FlatByHash)),
        of_kind(Kind::Broom, backed!(|slots| BroomFilter::with_slots(slots, REMAINDER), FlatByHash)),
    ]
}

/// The first hash key under which all keys fit.
fn fitting<T>(hash: HashKind, mut filled: impl FnMut(HashKey) -> Result<T, Error>) -> anyhow::Result<T> {
    for seed in 1..=HASH_KEYS {
        let key = HashKey::fixed(seed);
        match filled(if hash == HashKind::Xxh3 { key.for_trusted_keys() } else { key }) {
            Err(Error::Full { .. }) => {}
            other => return other.context("a filter could not be filled"),
        }
    }
    Err(anyhow!("the keys fit under none of {HASH_KEYS} hash keys: use another number of keys"))
}

fn partial_key(task: Task<'_>, hash: HashKind) -> anyhow::Result<Filled> {
    fitting(hash, |hash| {
        let mut filter = Box::new(CuckooFilter::with_cells(task.cells(), TWO_BY_FOUR).build(hash)?);
        let laps = Laps::fill(task.keys, |key| filter.insert(&key))?;
        let mut again = CuckooFilter::with_cells(task.cells(), TWO_BY_FOUR).build(hash)?;
        let batch = in_batches(task, |keys| again.insert_batch(keys))?;
        Ok(Filled { batch, ..Filled::plain(laps, filter) })
    })
}

/// The quotient filter without keys. Its options need a remote, which is dropped at once.
fn keyless(task: Task<'_>, hash: HashKind) -> anyhow::Result<Filled> {
    fitting(hash, |hash| {
        let mut filter = QuotientFilter::with_slots(task.cells(), REMAINDER).build(hash, ByHash::new())?.into_filter();
        let laps = Laps::fill(task.keys, |key| filter.insert(&key).map(drop))?;
        let mut again = QuotientFilter::with_slots(task.cells(), REMAINDER).build(hash, ByHash::new())?.into_filter();
        let batch = in_batches(task, |keys| again.insert_batch(keys))?;
        Ok(Filled { batch, ..Filled::plain(laps, filter) })
    })
}

/// Times insertions in batches into another filter, in the last turn.
fn in_batches(task: Task<'_>, insert: impl FnMut(&[u64]) -> Result<(), Error>) -> Result<Option<Laps>, Error> {
    task.adapt.map(|_| Laps::fill_in_batches(task.keys, insert)).transpose()
}

fn backed<F: Backed + Clone, R: Lean>(
    task: Task<'_>,
    hash: HashKind,
    build: impl Fn(HashKey) -> Result<AdaptiveFilter<F, R>, Error>,
) -> anyhow::Result<Filled> {
    let (mut pair, laps) = fitting(hash, |hash| {
        let mut pair = build(hash)?;
        let laps = Laps::fill(task.keys, |key| pair.insert(&key).map(drop))?;
        Ok((pair, laps))
    })?;
    let Some(ratio) = task.adapt else { return Ok(Filled::plain(laps, pair.into_filter())) };
    let remote = Some(remote_alone(pair.filter(), pair.remote())?);
    if !pair.filter().kind().learns() {
        return Ok(Filled { remote, ..Filled::plain(laps, pair.into_filter()) });
    }
    let fresh = Box::new(pair.filter().clone());
    let mut mistakes = 0;
    for query in (0..ratio * task.count()).map(keys::absent) {
        if pair.contains(&query) {
            pair.was_wrong(&query)?;
            mistakes += 1;
        }
    }
    let adapted = Some(Adapted { filter: Box::new(pair.into_filter()), mistakes });
    Ok(Filled { laps, fresh: Box::new(fresh), adapted, remote, batch: None })
}

/// Times the additions of a full remote to an empty one, without a filter: the same keys, words and cells, in random order.
/// The commits are made before they are timed.
fn remote_alone<F: Backed, R: Lean>(filter: &F, full: &R) -> anyhow::Result<Laps> {
    let mut added = full.added();
    shuffle(&mut added);
    let mut remote = R::default();
    let mut sequence = 1;
    remote.commit(&Commit { sequence, writes: filter.opening(), ..Commit::default() })?;
    let mut commit = |(number, cell): (u64, Option<CellId>)| {
        sequence += 1;
        let key = Key::from(&number.to_be_bytes()[..]);
        let (generation, words) = filter.entries(&key);
        Commit { sequence, writes: vec![Write::Add { generation, key, words, cell }], ..Commit::default() }
    };
    let mut seconds = Vec::new();
    for part in added.chunks(COMMITS) {
        let commits: Vec<Commit> = part.iter().copied().map(&mut commit).collect();
        let begun = Instant::now();
        for commit in &commits {
            remote.commit(commit)?;
        }
        seconds.push(begun.elapsed().as_secs_f64());
    }
    black_box(&remote);
    Ok(Laps::of(seconds))
}

/// A random order, the same each time.
fn shuffle<T>(list: &mut [T]) {
    for at in (1..list.len()).rev() {
        list.swap(at, (keys::stored(at as u64) % (at as u64 + 1)) as usize);
    }
}
