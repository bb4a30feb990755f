//! Files in which many fields lie at once.

use super::payload::{BROOM, GHOST, GROUP, Payload, SHAPES};
use super::refused_or_survived;
use crate::hostile::parts::draw;
use twiceshy::persist::Writer;
use twiceshy::quotient::BroomFilter;

/// Gives fields that may be anything any value.
fn any_fields(payload: &mut Payload, state: &mut u64) {
    payload.c = 3 + draw(state, 62) as u8;
    payload.by_rebuild = draw(state, 2) as u8;
    payload.wants_rebuild = draw(state, 2) as u8;
    payload.generation = draw(state, 1 << 32) as u32;
    payload.sequence = draw(state, 1 << 62);
    payload.debt = draw(state, u64::MAX) >> draw(state, 64);
    if draw(state, 4) == 0 {
        payload.old.key = (0..16).map(|_| draw(state, 256) as u8).collect();
    }
    if draw(state, 4) == 0 {
        std::mem::swap(&mut payload.old, &mut payload.new);
    }
    if draw(state, 4) == 0 {
        payload.frontier = draw(state, u64::MAX) >> draw(state, 64);
    }
}

fn put(bytes: &mut [u8], at: u64, state: &mut u64) {
    if let Some(byte) = bytes.get_mut(at as usize) {
        *byte = draw(state, 256) as u8;
    }
}

/// Changes a byte of a level: most often of the remainders or of the adaptivity bits, where many values can be.
fn disturb_level(payload: &mut Payload, state: &mut u64) {
    let levels = payload.tables.len() as u64;
    let table = &mut payload.tables[draw(state, levels) as usize];
    let (blocks, stride) = (table.len() as u64, table.stride() as u64);
    match draw(state, 8) {
        0..=2 => {
            let at = draw(state, blocks) * stride + 17 + draw(state, stride - 17);
            put(&mut table.blocks, at, state);
        }
        3 => {
            let at = draw(state, table.blocks.len() as u64);
            put(&mut table.blocks, at, state);
        }
        4 => {
            let at = draw(state, 1 + table.rests.len() as u64);
            put(&mut table.rests, at, state);
        }
        5 | 6 => {
            let at = draw(state, blocks) * GROUP as u64 + draw(state, GROUP as u64);
            put(&mut table.groups, at, state);
        }
        _ => {
            let at = draw(state, 1 + table.spilled.len() as u64);
            put(&mut table.spilled, at, state);
        }
    }
}

/// Changes a hash in the yard, or brings one in.
fn disturb_yard(payload: &mut Payload, state: &mut u64) {
    let yard = &mut payload.yard;
    if yard.is_empty() {
        return;
    }
    let at = draw(state, yard.len() as u64 / 8) as usize * 8;
    payload.keys += u64::from(yard[at..at + 8] == [0; 8]);
    let word = draw(state, u64::MAX) | 1 << 63;
    yard[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

fn disturb_ghosts(payload: &mut Payload, state: &mut u64) {
    let entries = (payload.ghosts.len() / GHOST) as u64;
    if draw(state, 2) == 0 {
        payload.ghosts.truncate(draw(state, 1 + entries) as usize * GHOST);
    } else {
        let at = draw(state, 1 + payload.ghosts.len() as u64);
        put(&mut payload.ghosts, at, state);
    }
}

#[test]
fn random_fields_and_random_bytes_are_refused_or_survived() {
    let (mut loaded, mut refused) = (0, 0);
    for seed in 0..1_000u64 {
        let state = &mut (seed << 32);
        let mut payload = Payload::sound(draw(state, SHAPES.len() as u64) as usize);
        if payload.levels == 2 && draw(state, 3) == 0 {
            payload = payload.with_second_level(20);
        }
        any_fields(&mut payload, state);
        for _ in 0..draw(state, 4) {
            match draw(state, 8) {
                0..=4 => disturb_level(&mut payload, state),
                5 | 6 => disturb_yard(&mut payload, state),
                _ => disturb_ghosts(&mut payload, state),
            }
        }
        *(if refused_or_survived(&payload) { &mut loaded } else { &mut refused }) += 1;
    }
    assert!(loaded > 150 && refused > 150, "{loaded} loaded and {refused} refused");
}

#[test]
fn random_payloads_behind_right_checksums_are_refused() {
    for seed in 0..20_000u64 {
        let state = &mut (seed << 32);
        let mut out = Writer::new();
        for _ in 0..draw(state, 200) {
            let byte = draw(state, 256) as u8;
            out.u8(if byte > 200 { byte } else { byte % 4 });
        }
        let mut file = Vec::new();
        out.finish(BROOM, *state, &mut file).expect("a vector takes everything");
        assert!(BroomFilter::load(&mut file.as_slice()).is_err());
    }
}
