//! Files of the quotient family.

use super::parts::{Fields, draw, key};
use super::shifted::Shifted;
use super::workout::use_all;
use twiceshy::Kind;
use twiceshy::error::Error;
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::persist::{LoadError, Writer};
use twiceshy::remote::{ByHash, Commit, Remote, Write};
use twiceshy::testing::{Variant, saved};

const QUOTIENT: u16 = 11;
const TELESCOPING: u16 = 12;
const PLAIN_TELESCOPING: u16 = 13;
const EXTENSION: u16 = 14;
const KINDS: std::ops::RangeInclusive<u16> = QUOTIENT..=EXTENSION;
const CODED: [u16; 2] = [TELESCOPING, EXTENSION];

const SLOTS: u64 = 200;
const WIDTH: u8 = 5;
/// From here on the 56 bits of a code are the number of an entry in the side table.
const ESCAPE: u64 = (1 << 56) - (1 << 25);
/// A block's number and 64 marks of two bytes.
const ENTRY: usize = 8 + 128;

/// Every field of a saved filter of the quotient family.
#[derive(Clone, Debug, PartialEq)]
struct Payload {
    kind: u16,
    sequence: u64,
    slots: u64,
    width: u8,
    hash_kind: u8,
    hash: Vec<u8>,
    generation: u32,
    keys: u64,
    wants_rebuild: u8,
    rule: Vec<u8>,
    blocks: Vec<u8>,
    most: u32,
    side: Vec<u8>,
}

impl Payload {
    /// The fields of a saved filter.
    fn read(file: &[u8]) -> Payload {
        let mut from = Fields(file);
        let header = from.take(64);
        let (mut kind, mut sequence) = (Fields(&header[10..12]), Fields(&header[24..32]));
        let kind = kind.number(2) as u16;
        let read = Payload {
            kind,
            sequence: sequence.number(8),
            slots: from.number(8),
            width: from.number(1) as u8,
            hash_kind: from.number(1) as u8,
            hash: from.bytes(),
            generation: from.number(4) as u32,
            keys: from.number(8),
            wants_rebuild: from.number(1) as u8,
            rule: from.take(if kind == TELESCOPING { 2 } else { 0 }),
            blocks: from.bytes(),
            most: from.number(4) as u32,
            side: from.bytes(),
        };
        assert!(from.0.is_empty() && read.forge()[64..] == file[64..], "these are not all fields");
        read
    }

    /// A container with these fields and checksums that agree.
    fn forge(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u64(self.slots);
        out.u8(self.width);
        out.u8(self.hash_kind);
        out.bytes(self.hash.clone());
        out.u32(self.generation);
        out.u64(self.keys);
        out.u8(self.wants_rebuild);
        self.rule.iter().for_each(|byte| out.u8(*byte));
        out.bytes(self.blocks.clone());
        out.u32(self.most);
        out.bytes(self.side.clone());
        let mut file = Vec::new();
        out.finish(self.kind, self.sequence, &mut file).expect("a vector takes everything");
        file
    }

    /// A filter of this kind that has learned, blocks on the side included.
    fn sound(kind: u16) -> Payload {
        let variant = match kind {
            QUOTIENT => Variant::Quotient,
            TELESCOPING => Variant::TelescopingSide,
            PLAIN_TELESCOPING => Variant::TelescopingPlain,
            _ => Variant::ExtensionSide,
        };
        let file = taught(variant);
        let payload = Payload { sequence: 1, ..Payload::read(&file) };
        assert_eq!(payload.kind, kind);
        assert_eq!(payload.side.len(), if CODED.contains(&kind) { 2 * ENTRY } else { 0 });
        payload
    }

    fn header(&self) -> usize {
        if CODED.contains(&self.kind) { 8 } else { 1 }
    }

    fn stride(&self) -> usize {
        let marks = if self.kind == PLAIN_TELESCOPING { 64 } else { 0 };
        self.header() + 16 + 8 * usize::from(self.width) + marks
    }

    fn block_count(&self) -> usize {
        self.blocks.len() / self.stride()
    }

    fn code(&self, block: usize) -> u64 {
        Fields(&self.blocks[block * self.stride() + 1..]).number(7)
    }

    fn with_code(&self, block: usize, code: u64) -> Payload {
        let mut payload = self.clone();
        let at = block * self.stride() + 1;
        payload.blocks[at..at + 7].copy_from_slice(&code.to_le_bytes()[..7]);
        payload
    }

    fn with_block_bytes(&self, block: usize, at: usize, bytes: &[u8]) -> Payload {
        let mut payload = self.clone();
        let at = block * self.stride() + at;
        payload.blocks[at..at + bytes.len()].copy_from_slice(bytes);
        payload
    }
}

fn taught(variant: Variant) -> Vec<u8> {
    let mut pair = variant.build(SLOTS, WIDTH.into(), HashKey::fixed(5), ByHash::new()).expect("options that can be");
    for number in 0..SLOTS * 9 / 10 {
        pair.insert(&key(number)).expect("a load that fits");
    }
    for query in (10_000..30_000).map(key) {
        pair.was_wrong(&query).expect("a remote that does not fail");
    }
    saved(pair.filter())
}

/// A remote in the generation and at the commit that the file names, with these keys.
fn remote_for(payload: &Payload, filter: &dyn Backed, keys: u64) -> Shifted<ByHash> {
    let (generation, schema) = filter.layout();
    let mut writes = vec![Write::Begin { generation, schema }];
    for number in 0..keys {
        let (_, words) = filter.entries(&key(number));
        writes.push(Write::Add { generation, key: key(number)[..].into(), words, cell: None });
    }
    let mut inner = ByHash::new();
    inner.commit(&Commit { sequence: 1, writes, ..Commit::default() }).expect("a generation can begin");
    Shifted { inner, by: payload.sequence.wrapping_sub(1) }
}

/// Loads a file as the kind that it claims to be, and uses what loads.
fn survive(payload: &Payload) -> Result<(), LoadError> {
    let kind = match payload.kind {
        QUOTIENT => Kind::Quotient,
        TELESCOPING => Kind::Telescoping,
        PLAIN_TELESCOPING => Kind::TelescopingPlain,
        _ => Kind::Extension,
    };
    let (filter, sequence) = kind.load(&mut payload.forge().as_slice())?;
    let other = use_all(&*filter, sequence, Shifted { inner: ByHash::new(), by: sequence }, 1, 1);
    assert!(matches!(other, Err(Error::OtherRemote)), "the remote of another filter is refused");
    // Remotes that agree with the file less and more.
    let others = [
        remote_for(payload, &*filter, 0),
        remote_for(payload, &*filter, 20),
        remote_for(payload, &*filter, SLOTS * 9 / 10),
    ];
    for remote in others {
        let used = use_all(&*filter, sequence, remote, 250, 3).expect("the remote is at the file's commit");
        kind.load(&mut used.as_slice()).expect("what was saved loads");
    }
    Ok(())
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
        survive(&Payload::sound(kind)).expect("nothing is wrong with it");
    }
}

#[test]
fn slots_that_are_not_those_of_the_blocks_are_refused() {
    for kind in KINDS {
        let sound = Payload::sound(kind);
        for slots in [0, 1, 64, 100, 300, 1 << 32, 1 << 36, (1 << 36) + 1, 1 << 63, u64::MAX - 900, u64::MAX] {
            refused(&Payload { slots, ..sound.clone() }, "a hostile number of slots");
        }
        // As many blocks, with quotients that are no more.
        let last = (0..SLOTS).rev().find(|slots| {
            let payload = Payload { slots: *slots, ..sound.clone() };
            !refused_or_survived(&payload)
        });
        assert!(last.is_some_and(|last| last > 100), "{last:?}");
    }
}

#[test]
fn widths_that_are_not_those_of_the_blocks_are_refused() {
    for kind in KINDS {
        for width in (0..=255).filter(|width| *width != WIDTH) {
            refused(&Payload { width, ..Payload::sound(kind) }, "a hostile width");
        }
    }
}

#[test]
fn unknown_hashes_flags_and_counts_are_refused() {
    for kind in KINDS {
        let sound = Payload::sound(kind);
        for hash_kind in [0].into_iter().chain(3..=255) {
            refused(&Payload { hash_kind, ..sound.clone() }, "a hash of no kind");
        }
        for len in [0, 1, 15, 17, 1000] {
            refused(&Payload { hash: vec![1; len], ..sound.clone() }, "a hash key of the wrong length");
        }
        for wants_rebuild in 2..=255 {
            refused(&Payload { wants_rebuild, ..sound.clone() }, "a flag that is none");
        }
        for keys in [0, 1, sound.keys - 1, sound.keys + 1, SLOTS, u64::MAX, u64::MAX - sound.keys] {
            refused(&Payload { keys, ..sound.clone() }, "a wrong number of keys");
        }
    }
}

#[test]
fn codes_with_parameters_that_cannot_be_are_refused() {
    let sound = Payload::sound(TELESCOPING);
    for x in 0..=255u8 {
        for y in [0, 1, 2, 31, 32, 33, 128, 255] {
            let possible = (x, y) == (0, 0) || (2..=16).contains(&x) && (1..=32).contains(&y);
            // Under another code the codes of the blocks are others: without them every code that can be is fine.
            let mut payload = Payload { rule: vec![x, y], side: vec![], ..sound.clone() };
            for block in 0..payload.block_count() {
                payload = payload.with_code(block, 0);
            }
            match survive(&payload) {
                Ok(()) => assert!(possible, "{x} and {y}"),
                Err(error) => assert!(!possible && matches!(error, LoadError::Invalid { .. }), "{x} and {y}: {error}"),
            }
        }
    }
    refused(&Payload { rule: vec![0], ..sound.clone() }, "half a rule");
    refused(&Payload { rule: vec![0, 0, 0], ..sound }, "more than a rule");
}

#[test]
fn blocks_of_another_length_are_refused() {
    for kind in KINDS {
        let sound = Payload::sound(kind);
        for len in [0, 1, sound.stride(), sound.blocks.len() - 1, sound.blocks.len() - sound.stride()] {
            refused(&Payload { blocks: sound.blocks[..len].to_vec(), ..sound.clone() }, "too few blocks");
        }
        for more in [1, 7, sound.stride()] {
            let blocks = [&sound.blocks[..], &vec![0; more]].concat();
            refused(&Payload { blocks, ..sound.clone() }, "too many blocks");
        }
    }
}

#[test]
fn a_wrong_bit_of_metadata_is_refused() {
    for kind in KINDS {
        let sound = Payload::sound(kind);
        let header = sound.header();
        for block in 0..sound.block_count() {
            // The offset, and the occupieds and runends: one bit is never another table of as many keys.
            for (at, bit) in [0].into_iter().chain(header..header + 16).flat_map(|at| (0..8).map(move |bit| (at, bit)))
            {
                let mut payload = sound.clone();
                payload.blocks[block * sound.stride() + at] ^= 1 << bit;
                refused(&payload, "a wrong bit of metadata");
            }
        }
    }
}

#[test]
fn codes_that_no_encoder_writes_are_refused() {
    for kind in CODED {
        let sound = Payload::sound(kind);
        let (mut state, mut refusals, mut loads) = (u64::from(kind) << 32, 0, 0);
        let coded: Vec<usize> = (0..sound.block_count()).filter(|block| sound.code(*block) < ESCAPE).collect();
        assert!(!coded.is_empty());
        for block in coded {
            for code in
                [1, 2, 3, ESCAPE - 1, ESCAPE - 2, sound.code(block) + 1, sound.code(block).wrapping_sub(1) % ESCAPE]
            {
                *(if refused_or_survived(&sound.with_code(block, code)) { &mut loads } else { &mut refusals }) += 1;
            }
            for _ in 0..200 {
                let code = draw(&mut state, ESCAPE) >> draw(&mut state, 40);
                *(if refused_or_survived(&sound.with_code(block, code)) { &mut loads } else { &mut refusals }) += 1;
            }
        }
        // A number drawn is hardly ever the low end of an interval.
        assert!(refusals > 20 * loads && refusals > 100, "{refusals} refused, {loads} loaded");
    }
}

#[test]
fn marks_of_free_slots_are_refused() {
    let sound = Payload::sound(PLAIN_TELESCOPING);
    let marks = sound.header() + 16 + 8 * usize::from(WIDTH);
    let last = sound.block_count() - 1;
    refused(&sound.with_block_bytes(last, marks + 63, &[1]), "a mark of a slot behind the last");
    // Any mark of a slot in use can be.
    survive(&sound.with_block_bytes(0, marks + 20, &[255])).expect("a selector that can be");
    for kind in CODED {
        let sound = Payload::sound(kind);
        let mut side = sound.side.clone();
        // Entries of the blocks 0 to 2, in which every slot is taken but few.
        side[8..ENTRY].fill(1);
        let payload = Payload { side, ..sound.clone() };
        let _ = refused_or_survived(&payload);
    }
}

#[test]
fn side_tables_that_cannot_be_are_refused() {
    for kind in KINDS {
        let sound = Payload::sound(kind);
        for most in [(1 << 25) + 1, u32::MAX] {
            refused(&Payload { most, ..sound.clone() }, "a side table beyond all numbers");
        }
        for more in [1, 8, ENTRY - 1, ENTRY] {
            let side = [&sound.side[..], &vec![0; more]].concat();
            refused(&Payload { side: side.clone(), ..sound.clone() }, "more side table than allowed");
            refused(&Payload { side, most: 100, ..sound.clone() }, "an entry that nobody points at");
        }
        let shorter = sound.side.len().saturating_sub(ENTRY);
        if shorter > 0 {
            refused(&Payload { side: sound.side[..shorter].to_vec(), ..sound.clone() }, "an entry too few");
            refused(&Payload { side: sound.side[..shorter + 7].to_vec(), ..sound.clone() }, "half an entry");
            refused(&Payload { most: 1, ..sound.clone() }, "more entries than it allows itself");
            survive(&Payload { most: 1 << 25, ..sound.clone() }).expect("the most that a side table can be");
        }
    }
}

#[test]
fn side_entries_of_wrong_or_absurd_blocks_are_refused() {
    for kind in CODED {
        let sound = Payload::sound(kind);
        let own = Fields(&sound.side).number(8);
        for block in [own + 1, own.wrapping_sub(1), 1_000, 1 << 40, u64::MAX] {
            let mut side = sound.side.clone();
            side[..8].copy_from_slice(&block.to_le_bytes());
            refused(&Payload { side, ..sound.clone() }, "an entry of another block");
        }
        // Both entries for one block, and both blocks at one entry.
        let mut side = sound.side.clone();
        side.copy_within(..ENTRY, ENTRY);
        refused(&Payload { side, ..sound.clone() }, "two entries for one block");
        let beside: Vec<usize> = (0..sound.block_count()).filter(|block| sound.code(*block) >= ESCAPE).collect();
        assert_eq!(beside.len(), 2);
        refused(&sound.with_code(beside[0], sound.code(beside[1])), "two blocks at one entry");
        for number in [2, 3, 1_000, (1 << 25) - 1] {
            refused(&sound.with_code(beside[0], ESCAPE + number), "a number behind the last entry");
        }
        let exchanged = sound.with_code(beside[0], sound.code(beside[1])).with_code(beside[1], sound.code(beside[0]));
        refused(&exchanged, "two entries exchanged");
        refused(&sound.with_code(beside[0], 0), "an entry that nobody points at");
    }
}

#[test]
fn side_entries_with_marks_that_cannot_be_are_refused() {
    for (kind, marks) in [(TELESCOPING, [256, 257, 1000, u16::MAX]), (EXTENSION, [2047, 2048, 8192, u16::MAX])] {
        let sound = Payload::sound(kind);
        for mark in marks {
            for slot in [0, 17] {
                let mut side = sound.side.clone();
                side[8 + 2 * slot..10 + 2 * slot].copy_from_slice(&mark.to_le_bytes());
                refused(&Payload { side, ..sound.clone() }, "a mark that cannot be");
            }
        }
    }
}

#[test]
fn every_mark_of_a_full_block_on_the_side_works() {
    for kind in CODED {
        let sound = Payload::sound(kind);
        let (mut state, mut survived) = (u64::from(kind) << 40, 0);
        for _ in 0..60 {
            let mut side = sound.side.clone();
            for at in (8..ENTRY).step_by(2) {
                // Free slots stay without a mark.
                let free = side[at] == 0 && side[at + 1] == 0;
                side[at] = if free { 0 } else { draw(&mut state, 256) as u8 };
                if kind == EXTENSION && !free {
                    side[at + 1] = draw(&mut state, 7) as u8;
                }
            }
            survived += u32::from(refused_or_survived(&Payload { side, ..sound.clone() }));
        }
        assert!(survived > 30, "kind {kind}: {survived}");
    }
}

#[test]
fn random_bytes_in_random_blocks_are_refused_or_survived() {
    let (mut loaded, mut refused) = (0, 0);
    for seed in 0..1_200u64 {
        let mut state = seed << 32;
        let mut payload = Payload::sound(QUOTIENT + draw(&mut state, 4) as u16);
        payload.generation = draw(&mut state, 1 << 32) as u32;
        payload.sequence = draw(&mut state, 1 << 62);
        payload.hash = (0..16).map(|_| draw(&mut state, 256) as u8).collect();
        payload.wants_rebuild = draw(&mut state, 2) as u8;
        // Most of them into the remainders, where any bits can be.
        for _ in 0..1 + draw(&mut state, 5) {
            let metadata = if draw(&mut state, 10) == 0 { 0 } else { payload.header() + 16 };
            let within = metadata + draw(&mut state, (payload.header() + 16 + 40 - metadata) as u64) as usize;
            let at = draw(&mut state, payload.block_count() as u64) as usize * payload.stride() + within;
            payload.blocks[at] = draw(&mut state, 256) as u8;
        }
        *(if refused_or_survived(&payload) { &mut loaded } else { &mut refused }) += 1;
    }
    assert!(loaded > 300 && refused > 100, "{loaded} loaded and {refused} refused");
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
        out.finish(4 + draw(&mut state, 12) as u16, state, &mut file).expect("a vector takes everything");
        assert!(Kind::ALL.iter().all(|kind| kind.load(&mut file.as_slice()).is_err()));
    }
}

#[test]
fn the_last_generation_and_the_last_commit_do_not_overflow() {
    for kind in KINDS {
        refused_or_survived(&Payload { generation: u32::MAX, ..Payload::sound(kind) });
        for sequence in [u64::MAX, u64::MAX - 1, u64::MAX - 5] {
            refused_or_survived(&Payload { sequence, ..Payload::sound(kind) });
        }
    }
}
