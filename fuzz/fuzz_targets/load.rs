//! Any bytes to the loaders of every kind; what loads is used.
//!
//! Bytes that pass a checksum are too rare for a fuzzer to find, so each input is tried twice: as it is, and with its
//! header made anew around whatever follows it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::filter::{Backed, Operation, Progress};
use twiceshy::hash::HashKey;
use twiceshy::persist::Writer;
use twiceshy::plan::Plan;
use twiceshy::remote::{ByHash, Commit, Remote, Write};
use twiceshy::testing::saved;
use twiceshy::{AdaptiveFilter, Kind};

/// Larger tables than this are loaded, and only looked at.
const MOST_CELLS: u64 = 4_096;

/// The kind of a plan's container.
const PLAN: u16 = 0x504C;

/// Where a header has the low byte of the kind.
const KIND_AT: usize = 10;

/// Where the payload of a full-key filter has the bound of its search, and a Cuckooing filter that of its moves. A bound of 2^32 is
/// no fault and only takes long, so its upper bytes are cleared.
const LONG_BOUNDS: [std::ops::Range<usize>; 2] = [68..70, 74..76];

fuzz_target!(|input: &[u8]| {
    use_as_every_kind(input);
    if let Some((header, payload)) = input.split_first_chunk::<64>() {
        let kind = u16::from(header[KIND_AT] % 12);
        let kind = if kind == 11 { PLAN } else { kind };
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
    Kind::ALL.iter().for_each(|kind| use_kind(*kind, file));
    use_plan(file);
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

fn use_kind(kind: Kind, mut file: &[u8]) {
    let Ok((filter, sequence)) = kind.load(&mut file) else { return };
    kind.load(&mut saved(&*filter).as_slice()).expect("what was saved loads");
    if filter.cells() > MOST_CELLS {
        return;
    }
    let remote = remote_for(&filter);
    if let Ok(pair) = AdaptiveFilter::from_parts(filter, sequence, remote) {
        use_all(pair);
    }
}

/// A remote at commit 1 and in the filter's generation, with a few keys of its own.
fn remote_for(filter: &Box<dyn Backed>) -> ByHash {
    let mut writes = filter.opening();
    for key in keys().step_by(3) {
        let (generation, words) = filter.entries(&key);
        writes.push(Write::Add { generation, key: key[..].into(), words, cell: None });
    }
    let mut remote = ByHash::new();
    remote.commit(&Commit { sequence: 1, writes, ..Commit::default() }).expect("a generation can begin");
    remote
}

fn use_all(mut pair: AdaptiveFilter) {
    for key in keys() {
        assert_eq!(pair.filter().lookup(&key).is_empty(), !pair.contains(&key));
        let _ = pair.insert(&key);
        let _ = pair.was_wrong(&key);
        if key[0] % 3 == 0 {
            let _ = pair.remove(&key);
        }
    }
    let _ = (pair.validate(), pair.resolve(), pair.wants_rebuild(), pair.local_bits());
    for rekey in [false, true] {
        let cells = pair.filter().cells() + 5;
        let begun = if rekey { pair.begin_rekey(HashKey::fixed(1)) } else { pair.begin_grow(cells) };
        while begun.is_ok() && matches!(pair.rebuild_step(7), Ok(Progress::More)) {}
    }
}

/// Offers a plan to small filters of every kind, in the place of one of their own.
fn use_plan(file: &[u8]) {
    if Plan::from_bytes(file).is_err() {
        return;
    }
    for kind in Kind::ALL {
        let pair = kind.build(50, 0.05, HashKey::fixed(1), ByHash::new()).expect("an empty remote");
        let mut filter = pair.filter().boxed();
        let own = filter.plan(Operation::Insert(b"owl"), pair.remote()).expect("there is room").to_bytes();
        // The stamp that a plan was made for is its first field.
        let payload = [&own[64..80], file.get(80..).unwrap_or_default()].concat();
        let Ok(plan) = Plan::from_bytes(&sealed(PLAN, &payload)) else { return };
        let before = saved(&*filter);
        if let Ok(undo) = filter.apply(plan) {
            kind.load(&mut saved(&*filter).as_slice()).expect("the filter has as many keys as it counts");
            filter.undo(undo).expect("it was applied last");
        }
        assert!(saved(&*filter) == before, "a plan left a trace");
    }
}
