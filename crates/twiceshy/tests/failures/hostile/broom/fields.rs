//! The fields before the levels.

use super::payload::{Function, Next, Payload};
use super::{refused, refused_or_survived, refused_saying, survive};

#[test]
fn slots_that_are_not_those_of_the_levels_are_refused() {
    for sound in Payload::all_sound() {
        for slots in [0, 1, 64, 100, 400, 1 << 32, 1 << 36, (1 << 36) + 1, 1 << 63, u64::MAX - 900, u64::MAX] {
            refused(&Payload { slots, ..sound.clone() }, "a hostile number of slots");
        }
        // As many blocks, with quotients that are no more.
        let last =
            (0..sound.slots).rev().find(|slots| !refused_or_survived(&Payload { slots: *slots, ..sound.clone() }));
        assert!(last.is_some_and(|last| last > 100), "{last:?}");
    }
    for levels in 1..=2 {
        refused(&Payload::empty(0, 5, 5, levels), "a table without slots, and all sizes right");
    }
}

#[test]
fn widths_and_signatures_that_are_not_those_of_the_levels_are_refused() {
    for sound in Payload::all_sound() {
        for other in (0..=255).filter(|other| *other != sound.width) {
            refused(&Payload { width: other, ..sound.clone() }, "a hostile width");
        }
        for other in (0..=255).filter(|other| *other != sound.signature) {
            refused(&Payload { signature: other, ..sound.clone() }, "a hostile signature");
        }
        for levels in (0..=255).filter(|levels| *levels != sound.levels) {
            refused(&Payload { levels, ..sound.clone() }, "other levels");
        }
    }
}

#[test]
fn every_shape_loads_exactly_where_it_can_be() {
    for width in 0..=40u8 {
        for signature in 0..=40 {
            for levels in 1..=2 {
                let smallest = if levels == 2 { width } else { 2 };
                let possible = (2..=32).contains(&width) && (smallest..=width).contains(&signature);
                let payload = Payload::empty(60, width, signature, levels);
                let loaded = twiceshy::quotient::BroomFilter::load(&mut payload.forge().as_slice());
                assert_eq!(loaded.is_ok(), possible, "{levels} levels, {signature} of {width} bits: {loaded:?}");
            }
        }
    }
    for (width, signature, levels) in
        [(2, 2, 2), (2, 2, 1), (9, 9, 1), (20, 2, 1), (29, 29, 2), (32, 32, 2), (32, 32, 1), (32, 2, 1), (32, 31, 1)]
    {
        for slots in [1, 2, 60, 200] {
            survive(&Payload::empty(slots, width, signature, levels)).expect("a shape that can be");
        }
    }
}

#[test]
fn unknown_hashes_are_refused_of_either_function() {
    for sound in Payload::all_sound() {
        let mut wrong: Vec<Function> =
            [0].into_iter().chain(3..=255).map(|kind| Function { kind, ..sound.old.clone() }).collect();
        wrong.extend([0, 1, 15, 17, 1_000].map(|len| Function { key: vec![1; len], ..sound.old.clone() }));
        for function in wrong {
            refused(&Payload { old: function.clone(), ..sound.clone() }, "no hash function");
            refused(&Payload { new: function, ..sound.clone() }, "no hash function");
        }
        survive(&Payload { new: sound.old.clone(), ..sound.clone() }).expect("one function twice");
        survive(&Payload { old: Function { kind: 2, ..sound.old.clone() }, ..sound.clone() })
            .expect("two kinds of hash");
    }
}

#[test]
fn flags_that_are_none_and_paces_that_cannot_be_are_refused() {
    for sound in Payload::all_sound() {
        for flag in 2..=255 {
            refused(&Payload { by_rebuild: flag, ..sound.clone() }, "a flag that is neither 0 nor 1");
            refused(&Payload { apart: flag, ..sound.clone() }, "a flag that is neither 0 nor 1");
            refused(&Payload { wants_rebuild: flag, ..sound.clone() }, "a flag that is neither 0 nor 1");
        }
        for c in (0..3).chain(65..=255) {
            refused_saying(&Payload { c, ..sound.clone() }, "a pace that cannot be", "keys for each extension");
        }
        // No more keys than 2^(bits − 1), but three in any case.
        let most = if sound.width < 7 { (1 << (sound.width - 1)).max(3) } else { 64 };
        refused_saying(&Payload { c: most + 1, ..sound.clone() }, "a pace that cannot be", "keys for each extension");
        for (c, by_rebuild) in [(3, 0), (most, 0), (most, 1)] {
            survive(&Payload { c, by_rebuild, wants_rebuild: by_rebuild, ..sound.clone() })
                .expect("a pace that can be");
        }
    }
}

#[test]
fn a_frontier_is_any_number() {
    for sound in Payload::all_sound() {
        for frontier in [0, 1, 1 << 31, 1 << 63, u64::MAX - 1, u64::MAX] {
            survive(&Payload { frontier, ..sound.clone() }).expect("any frontier");
        }
    }
}

#[test]
fn two_sizes_need_two_tables_and_two_tables_need_their_sizes() {
    for sound in Payload::all_sound() {
        refused_saying(&Payload { next_slots: sound.slots + 1, ..sound.clone() }, "two sizes", "one table");
        refused(&Payload { apart: 1, ..sound.clone() }, "a table that is not there");
        for next_slots in [0, 1, 63, sound.slots, u64::MAX] {
            let next = Next {
                overflow: vec![],
                ghosts: vec![],
                ..Payload::empty(300, sound.width, sound.signature, sound.levels).as_next()
            };
            refused(&Payload { apart: 1, next_slots, next: Some(next), ..sound.clone() }, "a table of another size");
        }
        let next = Payload::empty(300, sound.width, sound.signature, sound.levels).as_next();
        survive(&Payload { apart: 1, next_slots: 300, next: Some(next), ..sound }).expect("two tables");
    }
}

#[test]
fn counts_that_are_not_those_of_the_levels_and_the_yard_are_refused() {
    for sound in Payload::all_sound() {
        for keys in [0, 1, sound.keys - 1, sound.keys + 1, sound.slots, u64::MAX, u64::MAX - sound.keys] {
            refused(&Payload { keys, ..sound.clone() }, "a wrong number of keys");
        }
        for debt in [0, 1, 1 << 40, u64::MAX - 1, u64::MAX] {
            survive(&Payload { debt, ..sound.clone() }).expect("any debt");
        }
    }
}

#[test]
fn more_keys_than_a_table_takes_are_refused_even_where_they_are_there() {
    // 60 in the second level of a table for one key.
    let payload = Payload::empty(1, 5, 5, 2);
    survive(&payload.clone().with_second_level(1)).expect("as many as it takes");
    refused_saying(&payload.with_second_level(60), "more keys than slots", "not what it counts");
}

#[test]
fn the_last_generation_and_the_last_commit_do_not_overflow() {
    for sound in Payload::all_sound() {
        for generation in [u32::MAX, u32::MAX - 1] {
            survive(&Payload { generation, ..sound.clone() }).expect("any generation");
        }
        for sequence in [u64::MAX, u64::MAX - 1, u64::MAX - 5] {
            survive(&Payload { sequence, ..sound.clone() }).expect("any commit");
        }
    }
}
