//! Files of the cuckoo family.

use super::parts::{draw, key, mixed};
use super::shifted::Shifted;
use super::workout::use_all;
use twiceshy::Kind;
use twiceshy::cuckoo::{CuckooFilter, FullKeyFilter};
use twiceshy::error::Error;
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::packed::PackedCells;
use twiceshy::persist::{LoadError, Writer};
use twiceshy::remote::{ByHash, CellId, Commit, Mirror, Remote, Write};

/// Every field of a saved filter of the cuckoo family.
#[derive(Clone, Debug)]
struct Payload {
    kind: u16,
    sequence: u64,
    tables: u8,
    per_bucket: u8,
    buckets: u64,
    width: u8,
    hash_kind: u8,
    hash: Vec<u8>,
    generation: u32,
    keys: u64,
    orphans: u64,
    rng: u64,
    wants_rebuild: u8,
    search: u8,
    bound: u32,
    rule: Vec<u8>,
    cells: Vec<u8>,
    /// How many exceptions it claims to have, and those that follow.
    claimed: u64,
    exceptions: Vec<u32>,
}

const PARTIAL_KEY: u16 = 0;
const KINDS: [u16; 6] = [0, 1, 2, 3, 4, REMEMBERING];
const CYCLIC: u16 = 2;
const SWAPPING: u16 = 3;
const CUCKOOING: u16 = 4;
const REMEMBERING: u16 = 15;

/// The bit beside the cells of a bucket that says that buckets overlap.
const OVERLAPS: u8 = 0x80;

/// Cells of which about nine in ten hold something, and how many do.
fn random_cells(cells: u64, width: u32, seed: u64) -> (Vec<u8>, u64) {
    let mut packed = PackedCells::new(cells, width).expect("a few cells");
    for cell in 0..cells {
        let random = mixed(seed.wrapping_add(cell));
        packed.set(cell, if random.is_multiple_of(10) { 0 } else { (random >> 20) as u32 });
    }
    let occupied = (0..cells).filter(|cell| packed.get(*cell) != 0).count() as u64;
    (packed.as_bytes().to_vec(), occupied)
}

impl Payload {
    /// A filter of this kind with nothing wrong in its fields, and random cells.
    fn sound(kind: u16, seed: u64) -> Payload {
        let (tables, per_bucket) = match kind {
            SWAPPING | PARTIAL_KEY => (2, 4),
            REMEMBERING => (2, 2 | OVERLAPS),
            _ => (4, 1),
        };
        let rule = match kind {
            CYCLIC => [&[0, 3][..], &40u32.to_le_bytes(), &90u32.to_le_bytes()].concat(),
            SWAPPING => vec![1],
            CUCKOOING => [&[0, 0][..], &300u32.to_le_bytes()].concat(),
            _ => vec![],
        };
        let payload = Payload {
            kind,
            sequence: 1,
            tables,
            per_bucket,
            buckets: 9,
            width: 7,
            hash_kind: 1,
            hash: vec![3; 16],
            generation: 5,
            keys: 0,
            orphans: 0,
            rng: seed,
            wants_rebuild: 0,
            search: 0,
            bound: 400,
            rule,
            cells: vec![],
            claimed: 0,
            exceptions: vec![],
        };
        payload.with_cells(seed)
    }

    /// The same with cells that fit its shape and width, all owned by keys.
    fn with_cells(mut self, seed: u64) -> Payload {
        let per_bucket = u64::from(self.per_bucket & !OVERLAPS);
        let overlaps = self.per_bucket & OVERLAPS != 0;
        let in_table = if overlaps { self.buckets + per_bucket - 1 } else { self.buckets * per_bucket };
        let count = u64::from(self.tables) * in_table;
        (self.cells, self.keys) = random_cells(count, self.width.into(), seed);
        self.orphans = 0;
        self
    }

    /// A container with these fields and checksums that agree.
    fn forge(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u8(self.tables);
        out.u8(self.per_bucket);
        out.u64(self.buckets);
        out.u8(self.width);
        out.u8(self.hash_kind);
        out.bytes(self.hash.clone());
        if self.kind != PARTIAL_KEY {
            out.u32(self.generation);
        }
        out.u64(self.keys);
        if self.kind != PARTIAL_KEY {
            out.u64(self.orphans);
        }
        out.u64(self.rng);
        if self.kind != PARTIAL_KEY {
            out.u8(self.wants_rebuild);
            out.u8(self.search);
            out.u32(self.bound);
            self.rule.iter().for_each(|byte| out.u8(*byte));
        }
        out.bytes(self.cells.clone());
        if self.kind == REMEMBERING {
            out.u64(3);
            out.u64(self.claimed);
            self.exceptions.iter().for_each(|entry| out.u32(*entry));
        }
        let mut file = Vec::new();
        out.finish(self.kind, self.sequence, &mut file).expect("a vector takes everything");
        file
    }
}

/// A remote in the generation and at the commit that the file names, which holds a few keys of its own choice.
fn remote_for<R: Remote>(mut inner: R, payload: &Payload, filter: &dyn Backed) -> Shifted<R> {
    let (generation, schema) = filter.layout();
    let mut writes = vec![Write::Begin { generation, schema }];
    for number in 0..20 {
        let (_, words) = filter.entries(&key(number));
        let cell = CellId(number * schema.cells / 20);
        writes.push(Write::Add { generation, key: key(number)[..].into(), words, cell: Some(cell) });
    }
    // In a tiny table the cells of two keys may be one: then the mirror stays empty.
    if inner.commit(&Commit { sequence: 1, writes: writes.clone(), ..Commit::default() }).is_err() {
        inner
            .commit(&Commit { sequence: 1, writes: writes[..1].to_vec(), ..Commit::default() })
            .expect("a generation can begin");
    }
    Shifted { inner, by: payload.sequence.wrapping_sub(1) }
}

/// Loads and uses a file as a full-key kind; whether it loaded.
fn full_key(kind: Kind, payload: &Payload) -> Result<(), LoadError> {
    let (filter, sequence) = kind.load(&mut payload.forge().as_slice())?;
    let other = use_all(&*filter, sequence, Shifted { inner: ByHash::new(), by: sequence }, 1, 1);
    assert!(matches!(other, Err(Error::OtherRemote)), "the remote of another filter is refused");
    // Remotes that agree with the file as far as they can.
    used_up(&*filter, sequence, remote_for(ByHash::new(), payload, &*filter));
    used_up(&*filter, sequence, remote_for(Mirror::new(), payload, &*filter));
    Ok(())
}

fn used_up(filter: &dyn Backed, sequence: u64, remote: impl Remote) {
    let used = use_all(filter, sequence, remote, 60, 1).expect("the remote is at the file's commit");
    // A filter that cleared more orphans than it had counted is refused, and to be rebuilt.
    let again = filter.kind().load(&mut used.as_slice());
    assert!(matches!(again, Ok(_) | Err(LoadError::Invalid { .. })), "{again:?}");
}

fn partial_key(payload: &Payload) -> Result<(), LoadError> {
    let mut filter = CuckooFilter::load(&mut payload.forge().as_slice())?;
    for number in 0..200 {
        let key = key(number);
        if number % 3 == 0 || !filter.contains(&key) {
            let _ = filter.insert(&key);
        }
        filter.remove(&key);
    }
    filter.validate().expect("it counts its cells");
    let mut saved = Vec::new();
    filter.save(&mut saved).expect("a vector takes everything");
    CuckooFilter::load(&mut saved.as_slice()).expect("what was saved loads");
    Ok(())
}

/// Loads a file as the kind that it claims to be, and uses what loads.
fn survive(payload: &Payload) -> Result<(), LoadError> {
    match payload.kind {
        PARTIAL_KEY => partial_key(payload),
        CYCLIC => full_key(Kind::Cyclic, payload),
        SWAPPING => full_key(Kind::Swapping, payload),
        CUCKOOING => full_key(Kind::Cuckooing, payload),
        REMEMBERING => full_key(Kind::Remembering, payload),
        _ => full_key(Kind::FullKey, payload),
    }
}

fn refused(payload: &Payload, why: &str) {
    let loaded = survive(payload);
    assert!(matches!(loaded, Err(LoadError::Invalid { .. })), "kind {} with {why}: {loaded:?}", payload.kind);
}

fn refused_or_survived(payload: &Payload) -> bool {
    match survive(payload) {
        Ok(()) => true,
        Err(LoadError::Invalid { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_forged_file_without_a_fault_loads_as_every_kind() {
    for kind in KINDS {
        for seed in 0..40 {
            survive(&Payload::sound(kind, 1000 * seed)).expect("nothing is wrong with it");
        }
    }
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    for kind in KINDS {
        let sound = Payload::sound(kind, 1);
        for tables in (0..=1).chain(9..=255) {
            refused(&Payload { tables, ..sound.clone() }, "a hostile number of tables");
        }
        for per_bucket in [0].into_iter().chain(9..=255).filter(|number| *number != sound.per_bucket) {
            refused(&Payload { per_bucket, ..sound.clone() }, "a hostile number of cells a bucket");
        }
        // The same with as many cells as the shape would need.
        for (tables, per_bucket) in [(0, 4), (1, 4), (9, 1), (16, 4), (255, 1), (2, 0), (2, 9), (2, 64), (2, 255)] {
            refused(&Payload { tables, per_bucket, ..sound.clone() }.with_cells(1), "a shape that cannot be");
        }
        for buckets in [0, 1, 8, 10, 1 << 32, (1 << 32) + 1, 1 << 61, u64::MAX / 4, u64::MAX] {
            refused(&Payload { buckets, ..sound.clone() }, "a hostile number of buckets");
        }
    }
}

#[test]
fn widths_up_to_63_are_refused_unless_they_are_the_cells_own() {
    for kind in KINDS {
        for width in (0..64).filter(|width| *width != 7) {
            refused(&Payload { width, ..Payload::sound(kind, 1) }, "a hostile width");
        }
    }
}

#[test]
fn widths_above_63_are_refused_and_do_not_overflow_a_shift() {
    for kind in KINDS {
        for width in 64..=255 {
            refused(&Payload { width, ..Payload::sound(kind, 1) }, "a hostile width");
        }
    }
}

#[test]
fn unknown_hashes_and_hash_keys_of_the_wrong_length_are_refused() {
    for kind in KINDS {
        let sound = Payload::sound(kind, 1);
        for hash_kind in [0].into_iter().chain(3..=255) {
            refused(&Payload { hash_kind, ..sound.clone() }, "a hash of no kind");
        }
        for len in [0, 1, 15, 17, 1000] {
            refused(&Payload { hash: vec![1; len], ..sound.clone() }, "a hash key of the wrong length");
        }
    }
}

#[test]
fn counts_that_do_not_match_the_cells_are_refused_even_where_they_wrap_around() {
    for kind in KINDS {
        let sound = Payload::sound(kind, 1);
        let occupied = sound.keys;
        for keys in [0, occupied - 1, occupied + 1, u64::MAX, u64::MAX - occupied] {
            refused(&Payload { keys, ..sound.clone() }, "a wrong number of keys");
        }
        if kind != PARTIAL_KEY {
            for orphans in [1, u64::MAX, u64::MAX - occupied + 1] {
                refused(&Payload { orphans, ..sound.clone() }, "a wrong number of orphans");
            }
            let wraps = Payload { keys: u64::MAX, orphans: occupied + 1, ..sound.clone() };
            refused(&wraps, "counts whose sum wraps around to the right one");
        }
    }
}

#[test]
fn a_filter_that_calls_its_keys_orphans_works_on() {
    for kind in KINDS.into_iter().filter(|kind| *kind != PARTIAL_KEY) {
        for seed in 0..20 {
            let sound = Payload::sound(kind, 77 * seed);
            let all = Payload { keys: 0, orphans: sound.keys, wants_rebuild: 1, ..sound.clone() };
            survive(&all).expect("every cell is counted");
            let half = Payload { keys: sound.keys / 2, orphans: sound.keys - sound.keys / 2, ..sound };
            survive(&half).expect("every cell is counted");
        }
    }
}

#[test]
fn searches_of_no_kind_or_without_a_step_are_refused() {
    for kind in KINDS.into_iter().filter(|kind| *kind != PARTIAL_KEY) {
        let sound = Payload::sound(kind, 1);
        for search in 2..=255 {
            refused(&Payload { search, ..sound.clone() }, "a search of no kind");
        }
        refused(&Payload { bound: 0, ..sound.clone() }, "a search without a step");
        refused(&Payload { bound: u32::MAX, ..sound.clone() }, "a search that would fill the memory");
        for (search, bound) in [(0, 1), (1, 1), (0, 1 << 20), (1, 2000)] {
            survive(&Payload { search, bound, ..sound.clone() }).expect("a search that can be");
        }
    }
}

/// The fields of a Cyclic filter's rule.
fn cyclic_rule(refine: u8, functions: u8, offsets: &[u32]) -> Vec<u8> {
    [refine, functions].into_iter().chain(offsets.iter().flat_map(|offset| offset.to_le_bytes())).collect()
}

#[test]
fn cyclic_functions_that_cannot_be_are_refused() {
    let sound = Payload::sound(CYCLIC, 1);
    for functions in [0].into_iter().chain(33..=255) {
        let offsets: Vec<u32> = (2..1 + u32::from(functions)).collect();
        refused(&Payload { rule: cyclic_rule(0, functions, &offsets), ..sound.clone() }, "that many functions");
    }
    for offsets in [[0, 90], [1, 90], [90, 90], [90, 40], [40, 128], [40, u32::MAX], [u32::MAX, 40]] {
        refused(&Payload { rule: cyclic_rule(0, 3, &offsets), ..sound.clone() }, "offsets that do not rise");
    }
    for refine in 2..=255 {
        refused(&Payload { rule: cyclic_rule(refine, 3, &[40, 90]), ..sound.clone() }, "a flag that is none");
    }
    for rule in [vec![], vec![0], cyclic_rule(0, 3, &[40]), cyclic_rule(0, 3, &[40, 90, 100])] {
        refused(&Payload { rule, ..sound.clone() }, "offsets of another number");
    }
}

#[test]
fn cyclic_functions_of_any_number_and_range_work() {
    for functions in 1..=32u8 {
        for refine in 0..=1 {
            let offsets: Vec<u32> = (2..1 + u32::from(functions)).collect();
            let payload = Payload { rule: cyclic_rule(refine, functions, &offsets), ..Payload::sound(CYCLIC, 1) };
            survive(&payload).expect("rising offsets");
        }
    }
}

#[test]
fn swapping_and_cuckooing_rules_that_cannot_be_are_refused() {
    for all in 2..=255 {
        refused(&Payload { rule: vec![all], ..Payload::sound(SWAPPING, 1) }, "a flag that is none");
    }
    let single = Payload { tables: 4, per_bucket: 1, ..Payload::sound(SWAPPING, 1) }.with_cells(1);
    refused(&single, "nothing to swap with");
    let moves = |shared: u8, way: u8, bound: u32| [&[shared, way][..], &bound.to_le_bytes()].concat();
    for rule in [moves(2, 0, 9), moves(255, 0, 9), moves(0, 2, 9), moves(0, 255, 9), moves(0, 0, 0), moves(1, 1, 0)] {
        refused(&Payload { rule, ..Payload::sound(CUCKOOING, 1) }, "moves that cannot be");
    }
    for rule in [moves(1, 0, 1), moves(0, 1, 1), moves(1, 1, 1 << 20), moves(0, 0, 2000)] {
        survive(&Payload { rule, ..Payload::sound(CUCKOOING, 1) }).expect("moves that can be");
    }
}

#[test]
fn exceptions_that_cannot_be_are_refused() {
    let with = |claimed: u64, exceptions: Vec<u32>| Payload { claimed, exceptions, ..Payload::sound(REMEMBERING, 1) };
    survive(&with(0, vec![])).expect("no exceptions");
    survive(&with(3, vec![0, 7, u32::MAX])).expect("a few");
    survive(&with(32, (0..32).collect())).expect("as many as a small table may have");
    refused(&with(33, (0..33).collect()), "too many exceptions");
    refused(&with(u64::MAX, vec![1]), "more exceptions than bytes");
    refused(&with(2, vec![7, 7]), "the same exception twice");
    refused(&with(2, vec![8, 7]), "exceptions out of order");
    refused(&with(2, vec![7]), "a missing exception");
    refused(&with(1, vec![7, 8]), "an exception too many");
    for kind in [PARTIAL_KEY, 1, CYCLIC, SWAPPING, CUCKOOING] {
        let sound = Payload::sound(kind, 1);
        refused(&Payload { per_bucket: sound.per_bucket | OVERLAPS, ..sound }.with_cells(1), "overlapping buckets");
    }
}

#[test]
fn cells_of_another_length_or_with_stray_bits_are_refused() {
    for kind in KINDS {
        // 30 cells of 7 bits are 26 bytes and a quarter.
        let sound = Payload { tables: 3, per_bucket: 2, buckets: 5, ..Payload::sound(kind, 1) }.with_cells(1);
        let mut cells = sound.cells.clone();
        cells.push(0);
        refused(&Payload { cells, ..sound.clone() }, "a byte too many");
        refused(&Payload { cells: sound.cells[1..].to_vec(), ..sound.clone() }, "a byte too few");
        refused(&Payload { cells: vec![], ..sound.clone() }, "no cells");
        let mut cells = sound.cells.clone();
        *cells.last_mut().expect("some cells") |= 0x80;
        refused(&Payload { cells, ..sound }, "a bit that belongs to no cell");
    }
}

#[test]
fn every_shape_and_width_with_full_cells_works() {
    for kind in KINDS {
        for tables in 2..=8 {
            for per_bucket in (1..=8).filter(|cells| kind != SWAPPING || *cells > 1) {
                let width = [2, 7, 31, 32][usize::from(tables + per_bucket) % 4];
                let buckets = 1 + u64::from(tables % 3);
                let mut payload =
                    Payload { tables, per_bucket, width, buckets, ..Payload::sound(kind, 1) }.with_cells(tables.into());
                if kind == CYCLIC {
                    payload.rule = cyclic_rule(1, 2, &[2]);
                }
                survive(&payload).expect("a shape that can be");
            }
        }
    }
}

#[test]
fn random_fields_are_refused_or_survived() {
    let (mut loaded, mut refused) = (0, 0);
    for seed in 0..1_000u64 {
        let mut state = seed << 32;
        let kind = draw(&mut state, 5) as u16;
        let mut payload = Payload::sound(kind, draw(&mut state, u64::MAX));
        payload.tables = 2 + draw(&mut state, 4) as u8;
        payload.per_bucket = 1 + draw(&mut state, 4) as u8;
        payload.buckets = 1 + draw(&mut state, 12);
        payload.width = 2 + draw(&mut state, 16) as u8;
        payload.hash_kind = 1 + draw(&mut state, 2) as u8;
        payload.generation = draw(&mut state, 1 << 31) as u32;
        payload.sequence = draw(&mut state, 1 << 62);
        payload.search = draw(&mut state, 2) as u8;
        payload.bound = 1 + draw(&mut state, 1000) as u32;
        payload.wants_rebuild = draw(&mut state, 2) as u8;
        payload = payload.with_cells(draw(&mut state, u64::MAX));
        if draw(&mut state, 4) == 0 {
            payload.orphans = draw(&mut state, payload.keys + 1);
            payload.keys -= payload.orphans;
        }
        if let Some(byte) = payload.rule.get_mut(draw(&mut state, 8) as usize) {
            *byte = draw(&mut state, 256) as u8;
        }
        // A long bound is not a fault, and only takes long.
        if kind == CUCKOOING && payload.rule.len() == 6 {
            payload.rule[4..].fill(0);
        }
        *(if refused_or_survived(&payload) { &mut loaded } else { &mut refused }) += 1;
    }
    assert!(loaded > 500 && refused > 50, "{loaded} loaded and {refused} refused");
}

#[test]
fn random_payloads_behind_right_checksums_are_refused() {
    for seed in 0..20_000u64 {
        let mut state = seed << 32;
        let mut out = Writer::new();
        for _ in 0..draw(&mut state, 200) {
            let byte = draw(&mut state, 256) as u8;
            out.u8(if byte > 200 { byte } else { byte % 4 });
        }
        let mut file = Vec::new();
        out.finish(draw(&mut state, 7) as u16, mixed(state), &mut file).expect("a vector takes everything");
        assert!(CuckooFilter::load(&mut file.as_slice()).is_err());
        assert!(Kind::ALL.iter().all(|kind| kind.load(&mut file.as_slice()).is_err()));
    }
}

#[test]
fn a_filter_in_the_last_generation_does_not_overflow() {
    for kind in KINDS.into_iter().filter(|kind| *kind != PARTIAL_KEY) {
        refused_or_survived(&Payload { generation: u32::MAX, ..Payload::sound(kind, 1) });
    }
}

#[test]
fn a_filter_at_the_last_commit_does_not_overflow() {
    for kind in KINDS.into_iter().filter(|kind| *kind != PARTIAL_KEY) {
        for sequence in [u64::MAX, u64::MAX - 1, u64::MAX - 5] {
            refused_or_survived(&Payload { sequence, ..Payload::sound(kind, 1) });
        }
    }
}

#[test]
fn a_filter_over_an_empty_remote_at_the_last_commit_does_not_overflow() {
    let mut remote = Shifted { inner: ByHash::new(), by: u64::MAX };
    let built = FullKeyFilter::with_cells(100, 8).build(HashKey::fixed(1), &mut remote);
    assert!(matches!(built, Err(Error::OutOfStep { .. })), "{built:?}");
}
