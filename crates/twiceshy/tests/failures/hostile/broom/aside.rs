//! What stands beside the levels: the back yard and the ghosts.

use super::payload::{GHOST, OVERFLOWN, Payload};
use super::{refused, refused_saying, survive};
use std::time::{Duration, Instant};
use twiceshy::quotient::BroomFilter;

fn yards() -> impl Iterator<Item = (Payload, Vec<u8>)> {
    Payload::all_sound().filter(|sound| sound.levels == 1).map(|sound| (sound.clone(), sound.yard))
}

#[test]
fn yards_of_another_size_are_refused() {
    for (sound, yard) in yards() {
        for len in [0, 8, 63, yard.len() - 64, yard.len() - 8, yard.len() - 1] {
            refused(&Payload { yard: yard[..len].to_vec(), ..sound.clone() }, "too small a yard");
        }
        for more in [1, 7, 8, 63, 64] {
            let yard = [&yard[..], &vec![0; more]].concat();
            refused_saying(&Payload { yard, ..sound.clone() }, "too large a yard", "back yard");
        }
    }
}

#[test]
fn words_of_a_yard_that_are_neither_a_hash_nor_nothing_are_refused() {
    for (sound, yard) in yards() {
        for at in (0..yard.len()).step_by(8) {
            let mut yard = yard.clone();
            let taken = yard[at + 7] != 0;
            yard[at] |= 1;
            yard[at + 7] &= 0x7F;
            let keys = sound.keys + u64::from(!taken);
            refused_saying(&Payload { keys, yard, ..sound.clone() }, "a word without its mark", "back yard");
        }
    }
}

#[test]
fn hashes_of_a_yard_are_counted_and_may_be_any() {
    for (sound, yard) in yards() {
        let free = (0..yard.len()).step_by(8).find(|at| yard[at + 7] == 0).expect("it is not full");
        let taken = (0..yard.len()).step_by(8).find(|at| yard[at + 7] != 0);
        let with = |keys: u64, at: usize, word: u64| {
            let mut yard = yard.clone();
            yard[at..at + 8].copy_from_slice(&word.to_le_bytes());
            Payload { keys, yard, ..sound.clone() }
        };
        refused_saying(&with(sound.keys, free, 1 << 63), "a hash that is not counted", "not what it counts");
        // Where signatures are whole remainders, the yard is empty.
        assert_eq!(taken.is_some(), sound.width > sound.signature);
        for word in [1 << 63, u64::MAX, 1 << 63 | 0xFFFF] {
            survive(&with(sound.keys + 1, free, word)).expect("any hash");
            if let Some(taken) = taken {
                survive(&with(sound.keys, taken, word)).expect("any hash");
                refused_saying(&with(sound.keys, taken, 0), "a hash that is not there", "not what it counts");
            }
        }
        // Full to the last word, and every hash the same.
        let words = yard.len() as u64 / 8;
        let yard = u64::MAX.to_le_bytes().repeat(words as usize);
        let empty = Payload::empty(sound.slots, sound.width, sound.signature, 1);
        survive(&Payload { keys: words, yard, ..empty }).expect("a yard that is full");
    }
}

#[test]
fn hashes_that_have_overflown_are_counted_in_order_and_of_a_quotient() {
    for sound in Payload::all_sound() {
        let overflown = |quotient: u64, rest: u64| [quotient.to_le_bytes(), rest.to_le_bytes()].concat();
        let with = |overflow: Vec<u8>| {
            let keys = sound.keys + (overflow.len() / OVERFLOWN) as u64;
            Payload { keys, overflow, ..sound.clone() }
        };
        survive(&with([overflown(3, 9), overflown(3, u64::MAX), overflown(7, 0)].concat())).expect("any hashes");
        for len in [1, 8, 15, 17] {
            refused_saying(&with(vec![0; len]), "half a hash", "back yard");
        }
        refused_saying(&with(overflown(sound.slots, 1)), "a hash of no quotient", "back yard");
        refused_saying(&with([overflown(3, 9), overflown(3, 9)].concat()), "a hash twice", "back yard");
        refused_saying(&with([overflown(3, 9), overflown(2, 9)].concat()), "hashes out of order", "back yard");
        refused_saying(
            &Payload { keys: sound.keys, ..with(overflown(3, 9)) },
            "a hash not counted",
            "not what it counts",
        );
    }
}

fn ghost_of(age: u8, level: u8, quotient: u64, remainder: u32, len: u8, bits: u64) -> Vec<u8> {
    let base = [&[age, level][..], &quotient.to_le_bytes(), &remainder.to_le_bytes()].concat();
    [&base[..], &[len], &bits.to_le_bytes()].concat()
}

fn ghost(age: u8, level: u8, quotient: u64, len: u8, bits: u64) -> Vec<u8> {
    ghost_of(age, level, quotient, 1, len, bits)
}

#[test]
fn ghosts_that_cannot_be_are_refused() {
    for sound in Payload::all_sound() {
        let second = sound.slots / 64 + 64;
        let with = |ghosts: Vec<u8>| Payload { ghosts, ..sound.clone() };
        for len in [1, GHOST - 1, GHOST + 1] {
            refused_saying(&with(vec![1; len]), "half a ghost", "cannot be ghosts");
        }
        for age in 2..=255 {
            refused_saying(&with(ghost(age, 0, 7, 3, 5)), "a ghost of no age", "the age");
        }
        for level in sound.levels..=255 {
            refused_saying(&with(ghost(0, level, 7, 3, 5)), "a ghost of no level", "no slot");
        }
        for (level, quotient) in [(0, sound.slots), (0, u64::MAX), (1, second)] {
            refused_saying(&with(ghost(1, level, quotient, 3, 5)), "a ghost of no quotient", "no slot");
        }
        for (len, bits) in [(0, 0), (65, 1), (255, 1), (3, 8), (1, 2), (63, u64::MAX)] {
            refused_saying(&with(ghost(1, 0, 7, len, bits)), "bits that cannot be", "invalid bits");
        }
        for (level, width) in [(0, sound.width), (1, sound.width + 4)].into_iter().take(sound.levels.into()) {
            let remainder = 1 << width;
            refused_saying(&with(ghost_of(1, level, 7, remainder, 3, 5)), "too wide a remainder", "no slot");
            survive(&with(ghost_of(1, level, 7, remainder - 1, 3, 5))).expect("a remainder that can be");
        }
        let least = ghost(0, 0, 7, 3, 5);
        for after in [
            ghost(0, 0, 7, 3, 5),
            ghost(0, 0, 7, 3, 4),
            ghost(0, 0, 7, 2, 3),
            ghost(0, 0, 6, 3, 5),
            ghost_of(0, 0, 7, 0, 3, 5),
        ] {
            refused_saying(&with([&least[..], &after].concat()), "ghosts out of order", "not in order");
        }
        refused_saying(&with([ghost(1, 0, 7, 3, 5), least].concat()), "ages out of order", "not in order");
        let mut all = vec![ghost(0, 0, 0, 1, 1), ghost(0, 0, 0, 64, u64::MAX), ghost(0, 0, sound.slots - 1, 1, 0)];
        if sound.levels == 2 {
            all.push(ghost(0, 1, second - 1, 5, 3));
        }
        all.push(ghost(1, 0, 0, 1, 1));
        survive(&with(all.concat())).expect("ghosts that can be");
    }
}

#[test]
fn many_ghosts_of_one_place_load_in_the_time_that_their_bytes_take() {
    // A list that is searched from its beginning for each would take a minute.
    let ghosts = (0..400_000u64).flat_map(|bits| ghost(0, 0, 7, 64, bits << 3 | 1)).collect();
    let file = Payload { ghosts, ..Payload::sound(0) }.forge();
    let begun = Instant::now();
    let (filter, _) = BroomFilter::load(&mut file.as_slice()).expect("each of them can be");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(filter.stats().ghosts, 400_000);
}
