//! Files of the broom filter.

mod aside;
mod fields;
mod levels;
mod payload;
mod random;

use super::parts::key;
use super::shifted::Shifted;
use super::workout::use_all;
use payload::{KEYS, Payload};
use twiceshy::error::SeamError;
use twiceshy::filter::{Adaptive, Filter};
use twiceshy::persist::LoadError;
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::InKeyOrder;
use twiceshy::testing::Subject;

/// Loads a file, and uses what loads over remotes that agree with it less and more.
fn survive(payload: &Payload) -> Result<(), LoadError> {
    let file = payload.forge();
    let filter = BroomFilter::from_bytes(&file)?;
    let (held, read) = (filter.local_bits() / 8, file.len() as u64);
    assert!(held < 6 * read + 4096, "{held} bytes from a file of {read}");
    assert_eq!(filter.to_bytes(), file, "a file that loads is written as it was read");
    let frontier = (payload.has_frontier == 1).then_some(&payload.frontier[..]);
    let others =
        [Shifted { inner: InKeyOrder::new(), by: 0 }, payload.remote(20, None), payload.remote(KEYS, frontier)];
    for remote in others {
        let used = use_all(filter.clone(), remote, 250, 5);
        assert!(used.stats().second_level <= used.len());
        BroomFilter::from_bytes(&used.to_bytes()).expect("what was saved loads");
    }
    Ok(())
}

fn refused(payload: &Payload, why: &str) {
    refused_saying(payload, why, "");
}

/// Refused, and for this reason.
fn refused_saying(payload: &Payload, why: &str, said: &str) {
    match survive(payload) {
        Err(error @ LoadError::Invalid { .. }) => assert!(error.to_string().contains(said), "{why}: {error}"),
        other => panic!("{} levels of {} bits with {why}: {other:?}", payload.levels, payload.width),
    }
}

fn refused_or_survived(payload: &Payload) -> bool {
    match survive(payload) {
        Ok(()) => true,
        Err(LoadError::Invalid { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_forged_file_without_a_fault_loads_in_every_form() {
    for sound in Payload::all_sound() {
        survive(&sound).expect("nothing is wrong with it");
        if sound.levels == 2 {
            survive(&sound.with_second_level(20)).expect("every fingerprint can be");
        }
    }
}

#[test]
fn a_slot_that_more_keys_match_than_there_are_slots_is_a_disagreement() {
    // All keys of a remote have the one quotient, and a fourth of them the remainder in its only slot.
    let mut payload = Payload::empty(1, 2, 2, 2);
    payload.keys = 1;
    payload.tables[0].blocks[1] = 1;
    payload.tables[0].blocks[9] = 1;
    let filter = BroomFilter::from_bytes(&payload.forge()).expect("one key");
    let mut disagreed = 0;
    for query in (20_000..20_040).map(key) {
        let mut remote = payload.remote(2_000, None);
        let adapted = filter.clone().adapt(&query, &mut remote);
        disagreed += u32::from(matches!(adapted, Err(SeamError::Disagree)));
    }
    assert!(disagreed > 3, "{disagreed} of 40");
}
