//! Any bytes to the loaders of every kind; what loads is used.
//!
//! Bytes that pass a checksum are too rare for a fuzzer to find, so each input is tried twice: as it is, and with its
//! header made anew around whatever follows it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use twiceshy::cuckoo::{
    CuckooFilter, Cuckooing, CuckooingFilter, Cyclic, CyclicFilter, FullKeyCuckoo, Plain, Rule, Saved, Swapping,
    SwappingFilter,
};
use twiceshy::filter::{Adaptive, Backed, Filter, Progress};
use twiceshy::hash::{HashKey, HashKind};
use twiceshy::persist::Writer;
use twiceshy::quotient::{
    BroomFilter, ExtensionFilter, Extensions, PlainRemainders, PlainSelectors, PlainTelescopingFilter,
    RankSelectFilter, Saved as SavedQuotient, Selectors, TelescopingFilter,
};
use twiceshy::remote::{ByHash, Frontier, Generation, OrderWords, Plan, Remote, Schema, Write};

/// Larger tables than this are loaded, and only looked at.
const MOST_CELLS: u64 = 4_096;

/// Where a header has the low byte of the kind.
const KIND_AT: usize = 10;

/// Where the payload of a full-key filter has the bound of its search, and a Cuckooing filter that of its moves. A bound of 2^32 is
/// no fault and only takes long, so its upper bytes are cleared.
const LONG_BOUNDS: [std::ops::Range<usize>; 2] = [68..70, 74..76];

fuzz_target!(|input: &[u8]| {
    use_as_every_kind(input);
    if let Some((header, payload)) = input.split_first_chunk::<64>() {
        let kind = u16::from(header[KIND_AT] % 11);
        let mut payload = payload.to_vec();
        let bounds = match kind {
            4 => 2,
            0..=3 => 1,
            _ => 0,
        };
        for at in LONG_BOUNDS.into_iter().take(bounds) {
            if let Some(bytes) = payload.get_mut(at) {
                bytes.fill(0);
            }
        }
        use_as_every_kind(&sealed(kind, &payload));
    }
});

/// A container with these fields, at commit 1.
fn sealed(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Writer::new();
    payload.iter().for_each(|byte| out.u8(*byte));
    let mut file = Vec::new();
    out.finish(kind, 1, &mut file).expect("a vector takes everything");
    file
}

fn use_as_every_kind(file: &[u8]) {
    use_partial_key(file);
    use_full_key::<Plain>(file, |_, _, _| ());
    use_full_key::<Cyclic>(file, |filter: &mut CyclicFilter, query, remote| drop(filter.adapt(query, remote)));
    use_full_key::<Swapping>(file, |filter: &mut SwappingFilter, query, remote| drop(filter.adapt(query, remote)));
    use_full_key::<Cuckooing>(file, |filter: &mut CuckooingFilter, query, remote| drop(filter.adapt(query, remote)));
    use_quotient::<PlainRemainders>(file, |_, _, _| ());
    use_quotient::<Selectors>(file, |filter: &mut TelescopingFilter, query, remote| drop(filter.adapt(query, remote)));
    use_quotient::<PlainSelectors>(file, |filter: &mut PlainTelescopingFilter, query, remote| {
        drop(filter.adapt(query, remote))
    });
    use_quotient::<Extensions>(file, |filter: &mut ExtensionFilter, query, remote| drop(filter.adapt(query, remote)));
    use_broom(file);
}

fn keys() -> impl Iterator<Item = [u8; 2]> {
    (0..40u16).map(u16::to_le_bytes)
}

fn use_partial_key(mut file: &[u8]) {
    let Ok(mut filter) = CuckooFilter::load(&mut file) else { return };
    filter.validate().expect("a loaded filter counts its cells");
    for key in keys() {
        if filter.insert(&key).is_ok() {
            assert!(filter.contains(&key));
        }
        filter.remove(&key);
    }
    filter.validate().expect("it still counts its cells");
}

fn use_full_key<R: Rule + Saved>(mut file: &[u8], adapt: impl Fn(&mut FullKeyCuckoo<R>, &[u8], &mut ByHash)) {
    let Ok(filter) = FullKeyCuckoo::<R>::load(&mut file) else { return };
    let mut saved = Vec::new();
    filter.save(&mut saved).expect("a loaded filter is not in doubt");
    FullKeyCuckoo::<R>::load(&mut saved.as_slice()).expect("what was saved loads");
    if filter.cells() > MOST_CELLS {
        return;
    }
    let remote = remote_for(&filter);
    use_all(filter, remote, adapt);
}

fn use_quotient<R: SavedQuotient>(mut file: &[u8], adapt: impl Fn(&mut RankSelectFilter<R>, &[u8], &mut ByHash)) {
    let Ok(filter) = RankSelectFilter::<R>::load(&mut file) else { return };
    let mut saved = Vec::new();
    filter.save(&mut saved).expect("a loaded filter is not in doubt");
    RankSelectFilter::<R>::load(&mut saved.as_slice()).expect("what was saved loads");
    if filter.cells() > MOST_CELLS {
        return;
    }
    let schema = Schema { hash: filter.hash_key(), orders: 1, cells: filter.cells(), cells_per_bucket: 1 };
    let remote = remote_with(generation_of(&filter), schema);
    use_all(filter, remote, adapt);
}

fn use_broom(file: &[u8]) {
    let Ok(filter) = BroomFilter::load(&mut &*file) else { return };
    let mut saved = Vec::new();
    filter.save(&mut saved).expect("a loaded filter is not in doubt");
    assert!(saved == file, "a file that loads is written as it was read");
    let _ = filter.stats();
    if filter.cells() > MOST_CELLS {
        return;
    }
    let remote = phase_for(file, filter.cells());
    use_all(filter, remote, |filter, query, remote| drop(filter.adapt(query, remote)));
}

/// The fields of a saved broom filter, by the offsets of `docs/format.md`: behind the header, each field behind the one before.
mod broom {
    /// `true` if each function has a table of its own; behind it the slots of both tables, and the widths.
    pub const APART: usize = 64;
    pub const LEVELS: usize = APART + 1 + 8 + 8 + 1 + 1;
    /// Behind the levels, the pace and whether a rebuild reclaims: the kind of each function, the length of its key, and the key.
    pub const OLD: usize = LEVELS + 1 + 1 + 1;
    pub const KEY_IN_FUNCTION: usize = 1 + 8;
    pub const NEW: usize = OLD + KEY_IN_FUNCTION + 16;
    pub const FRONTIER: usize = NEW + KEY_IN_FUNCTION + 16;
    pub const GENERATION: usize = FRONTIER + 8;
}

/// A remote in the phase that the file of a broom filter names, with a few keys of its own.
fn phase_for(file: &[u8], cells: u64) -> ByHash {
    fn bytes<const N: usize>(file: &[u8], at: usize) -> [u8; N] {
        *file[at..].first_chunk().expect("it was loaded")
    }
    let hash_key = |at: usize| {
        let kind = if file[at] == 1 { HashKind::SipHash13 } else { HashKind::Xxh3 };
        HashKey::from_bytes(kind, bytes(file, at + broom::KEY_IN_FUNCTION))
    };
    let levels = file[broom::LEVELS];
    let frontier = Frontier(u64::from_le_bytes(bytes(file, broom::FRONTIER)));
    let generation = u32::from_le_bytes(bytes(file, broom::GENERATION));
    let old = (hash_key(broom::OLD), Generation(generation));
    let new = (hash_key(broom::NEW), Generation(generation.saturating_add(1)));
    let schema = |hash| Schema { hash, orders: levels + 1, cells, cells_per_bucket: 1 };
    let mut writes: Vec<Write> =
        [old, new].map(|(hash, generation)| Write::Begin { generation, schema: schema(hash) }).into();
    let position = |hash: &HashKey, key: &[u8]| hash.words(key).word(0).rotate_left(32).min(u64::MAX - 1);
    for key in keys().step_by(3) {
        let (hash, generation) = if position(&old.0, &key) < frontier.0 { new } else { old };
        let mut words: Vec<u64> = [0, 1 << 32].map(|first| hash.words(&key).word(first)).into();
        words.truncate(levels.into());
        words.push(position(&hash, &key));
        writes.push(Write::Add { generation, key: key[..].into(), words: OrderWords::new(&words), cell: None });
    }
    writes.push(Write::Frontier { at: frontier });
    let mut remote = ByHash::new();
    remote.commit(&Plan { sequence: 1, writes }).expect("two generations can begin");
    remote
}

fn use_all<F: Backed, R: Remote>(mut filter: F, mut remote: R, adapt: impl Fn(&mut F, &[u8], &mut R)) {
    for key in keys() {
        assert_eq!(filter.lookup(&key).is_some(), filter.contains(&key));
        let _ = filter.insert(&key, &mut remote);
        adapt(&mut filter, &key, &mut remote);
        if key[0] % 3 == 0 {
            let _ = filter.remove(&key, &mut remote);
        }
    }
    let _ = (filter.validate(&remote), filter.resolve(&remote), filter.wants_rebuild(), filter.local_bits());
    for rekey in [false, true] {
        let begun = if rekey {
            filter.begin_rekey(HashKey::fixed(1), &mut remote)
        } else {
            filter.begin_grow(filter.cells() + 5, &mut remote)
        };
        while begun.is_ok() && matches!(filter.rebuild_step(7, &mut remote), Ok(Progress::More)) {}
    }
}

/// The generation that a filter is in, which it names only with a match.
fn generation_of(filter: &impl Backed) -> Generation {
    let matching = (0..20_000u64).find_map(|number| filter.lookup(&number.to_le_bytes())?.next());
    matching.map_or(Generation(0), |place| place.generation)
}

fn remote_for<R: Rule>(filter: &FullKeyCuckoo<R>) -> ByHash {
    let (shape, hash) = (filter.shape(), filter.hash_key());
    let schema =
        Schema { hash, orders: shape.tables(), cells: shape.cells(), cells_per_bucket: shape.cells_per_bucket() };
    remote_with(generation_of(filter), schema)
}

/// A remote at the filter's commit and in its generation, with a few keys of its own.
fn remote_with(generation: Generation, schema: Schema) -> ByHash {
    let mut writes = vec![Write::Begin { generation, schema }];
    for key in keys().step_by(3) {
        let words: Vec<u64> = (0..u32::from(schema.orders))
            .map(|order| schema.hash.words(&key).word(u64::from(order / 2)).rotate_left(order % 2 * 32))
            .collect();
        writes.push(Write::Add { generation, key: key[..].into(), words: OrderWords::new(&words), cell: None });
    }
    let mut remote = ByHash::new();
    remote.commit(&Plan { sequence: 1, writes }).expect("a generation can begin");
    remote
}
