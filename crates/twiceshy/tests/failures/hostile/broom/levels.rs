//! The levels: tables, what remainders have behind their signatures, adaptivity bits.

use super::payload::{GROUP, NO_BITS, Payload, SPILLED, Table};
use super::{refused, refused_or_survived, refused_saying, survive};
use crate::hostile::parts::Fields;
use twiceshy::quotient::BroomFilter;

/// The file with one level changed.
fn with(sound: &Payload, level: usize, change: impl FnOnce(&mut Table)) -> Payload {
    let mut payload = sound.clone();
    change(&mut payload.tables[level]);
    payload
}

/// Every level of every sound file.
fn levels() -> impl Iterator<Item = (Payload, usize)> {
    Payload::all_sound().flat_map(|sound| (0..sound.tables.len()).map(move |level| (sound.clone(), level)))
}

#[test]
fn parts_of_another_length_are_refused() {
    type Part = fn(&mut Table) -> &mut Vec<u8>;
    let parts: [(Part, &str); 4] = [
        (|table| &mut table.blocks, "blocks"),
        (|table| &mut table.rests, "rests"),
        (|table| &mut table.groups, "groups"),
        (|table| &mut table.spilled, "spilled strings"),
    ];
    for (sound, level) in levels() {
        for (part, name) in parts {
            let stride = sound.tables[level].stride();
            for more in [1, 7, 8, GROUP, stride, SPILLED] {
                refused(&with(&sound, level, |table| part(table).extend(vec![0; more])), name);
            }
            let len = part(&mut sound.tables[level].clone()).len();
            for less in [0, 1, 8, GROUP, stride, SPILLED, len - 1.min(len)] {
                let shorter = with(&sound, level, |table| part(table).truncate(less.min(len.saturating_sub(1))));
                if shorter != sound {
                    refused(&shorter, name);
                }
            }
        }
    }
}

#[test]
fn strings_of_more_blocks_than_there_are_are_refused() {
    for (sound, level) in levels() {
        let more = with(&sound, level, |table| table.groups.extend(NO_BITS.map(u64::to_le_bytes).concat()));
        refused_saying(&more, "a block too many", "are not the adaptivity bits of its blocks");
    }
}

#[test]
fn a_wrong_bit_of_metadata_is_refused() {
    for (sound, level) in levels() {
        let stride = sound.tables[level].stride();
        for (block, bit) in (0..sound.tables[level].len()).flat_map(|block| (0..17 * 8).map(move |bit| (block, bit))) {
            let flip = |table: &mut Table| table.blocks[block * stride + bit / 8] ^= 1 << (bit % 8);
            refused(&with(&sound, level, flip), "a wrong bit of metadata");
        }
    }
}

#[test]
fn words_that_are_no_strings_are_refused() {
    for (sound, level) in levels() {
        for block in 0..sound.tables[level].len() {
            for bit in 0..8 * GROUP {
                let flipped = with(&sound, level, |table| table.groups[block * GROUP + bit / 8] ^= 1 << (bit % 8));
                // One bit more or less is another number of ends; the other bits may be another string, or none.
                if bit < 128 {
                    refused_saying(&flipped, "another number of ends", "adaptivity bits");
                } else {
                    refused_or_survived(&flipped);
                }
            }
            if !sound.tables[level].is_spilled(block) {
                let emptied = with(&sound, level, |table| table.groups[block * GROUP..][..GROUP].fill(0));
                refused_saying(&emptied, "a block that says it is spilled", "adaptivity bits");
                let ends = sound.tables[level].groups[block * GROUP..][..16].iter().rposition(|byte| *byte != 0);
                // With 64 bits in a block, the last end is in the last byte of the first two words, and no bit is behind them.
                if ends.is_some_and(|last| last < 15) {
                    let last = with(&sound, level, |table| table.groups[block * GROUP + 23] |= 0x80);
                    refused(&last, "a bit behind the last");
                }
            }
        }
    }
}

#[test]
fn fingerprints_that_are_prefixes_of_others_are_refused() {
    for sound in [Payload::sound(0), Payload::sound(1)] {
        let without_bits = |table: &mut Table| {
            table.groups = NO_BITS.map(u64::to_le_bytes).concat().repeat(table.len());
            table.spilled.clear();
        };
        refused_saying(&with(&sound, 0, without_bits), "keys that are not told apart", "is a prefix of another");
    }
}

#[test]
fn two_equal_signatures_in_a_run_are_refused() {
    let sound = Payload::sound(2);
    let (stride, signature) = (sound.tables[0].stride(), usize::from(sound.signature));
    assert!(sound.width > sound.signature);
    let bit = |table: &Table, slot: usize, at: usize| {
        let at = (slot % 64) * signature + at;
        table.blocks[slot / 64 * stride + 17 + at / 8] >> (at % 8) & 1
    };
    let mut same = 0;
    for slot in (1..sound.tables[0].len() * 64).filter(|slot| slot % 64 != 0) {
        // The signature of the slot before: where that is in the same run, it is there twice.
        let copied = with(&sound, 0, |table| {
            for at in 0..signature {
                let (from, to) = (bit(table, slot - 1, at), (slot % 64) * signature + at);
                let byte = &mut table.blocks[slot / 64 * stride + 17 + to / 8];
                *byte = *byte & !(1 << (to % 8)) | from << (to % 8);
            }
        });
        let loaded = BroomFilter::load(&mut copied.forge().as_slice());
        same += u32::from(loaded.is_err_and(|error| error.to_string().contains("the same signature")));
    }
    assert!(same > 20, "{same} runs with two");
}

#[test]
fn spilled_strings_that_cannot_be_are_refused() {
    for sound in [Payload::sound(0), Payload::sound(1)] {
        let spilled = &sound.tables[0].spilled;
        let (last, blocks) = (spilled.len() - SPILLED, sound.tables[0].len() as u64);
        let own = Fields(&spilled[last..]).number(8);
        let block =
            |number: u64| with(&sound, 0, |table| table.spilled[last..last + 8].copy_from_slice(&number.to_le_bytes()));
        for other in (0..blocks).filter(|other| *other != own) {
            refused(&block(other), "strings of another block");
        }
        for none in [blocks, blocks + 1, 1 << 40, u64::MAX] {
            refused_saying(&block(none), "strings of no block", "adaptivity bits belong to no block");
        }
        let entry = spilled[..SPILLED].to_vec();
        refused_saying(
            &with(&sound, 0, |table| table.spilled.splice(..0, entry.clone()).for_each(drop)),
            "a block twice",
            "not in the order of their blocks",
        );
        refused(&with(&sound, 0, |table| table.spilled.drain(..SPILLED).for_each(drop)), "no strings for a block");
        // Of a block that is not spilled.
        let more = with(&sound, 0, |table| {
            let whole = (0..table.len()).find(|block| !table.is_spilled(*block)).expect("not all are");
            let mut entries: Vec<Vec<u8>> = table.spilled.chunks(SPILLED).map(<[u8]>::to_vec).collect();
            entries.push([&(whole as u64).to_le_bytes()[..], &[0; SPILLED - 8]].concat());
            entries.sort_by_key(|entry| Fields(entry).number(8));
            table.spilled = entries.concat();
        });
        refused_saying(&more, "a block with strings in two places", "adaptivity bits of block");
        for slot in 0..64 {
            let at = 8 + 9 * slot;
            for len in [65, 66, 255] {
                let long = with(&sound, 0, |table| table.spilled[at] = len);
                refused_saying(&long, "more than 64 bits", "invalid adaptivity bits");
            }
            if spilled[at] < 64 {
                let behind = with(&sound, 0, |table| table.spilled[at + 8] |= 0x80);
                refused_saying(&behind, "a bit behind the last", "invalid adaptivity bits");
            }
        }
    }
}

#[test]
fn free_slots_that_hold_something_are_refused() {
    for (sound, level) in levels() {
        // The last slot of a level is free: no run comes so far.
        let last = |table: &mut Table| {
            let words = [!0u64 >> 1, 1 << 1, 0].map(u64::to_le_bytes).concat();
            let at = table.groups.len() - GROUP;
            table.groups[at..].copy_from_slice(&words);
        };
        refused_saying(&with(&sound, level, last), "a string of a free slot", "is not empty");
        if sound.width > sound.signature && level == 0 {
            let rest = with(&sound, level, |table| *table.rests.last_mut().expect("some") |= 0x80);
            refused_saying(&rest, "a rest of a free slot", "is not empty");
        }
    }
}

/// Segments as full as can be, in which every block but the last few has an offset that saturates: the run of the first quotient
/// has 300 slots, and every other quotient has one, 299 slots behind its own. A last segment is free.
fn crowded(segments: usize) -> Payload {
    let mut payload = Payload::empty(8_192 * (segments as u64 + 1 + segments as u64 / 50), 9, 9, 2);
    let table = &mut payload.tables[0];
    let stride = table.stride();
    for segment in 0..segments {
        let first = segment * 8_192;
        for slot in first..first + 8_192 {
            let (block, at, bit) = (slot / 64 * stride, slot % 64, slot - first);
            // Each of the 300 has another remainder.
            for place in 0..9 {
                let to = at * 9 + place;
                table.blocks[block + 17 + to / 8] |= ((bit.min(300) >> place & 1) as u8) << (to % 8);
            }
            table.blocks[block + 1 + at / 8] |= u8::from(bit < 7_893) << (at % 8);
            table.blocks[block + 9 + at / 8] |= u8::from(bit >= 299) << (at % 8);
            if at == 0 && bit > 0 {
                table.blocks[block] = (299.min(8_192 - bit)).min(255) as u8;
            }
        }
    }
    payload.keys = 8_192 * segments as u64;
    payload
}

#[test]
fn a_table_as_crowded_as_can_be_works() {
    survive(&crowded(2)).expect("no run goes too far");
}
