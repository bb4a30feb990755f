//! Files of the broom filter.

mod aside;
mod fields;
mod levels;
mod payload;
mod random;

use super::parts::key;
use super::shifted::Shifted;
use super::workout::use_all;
use payload::{BROOM, KEYS, Payload};
use twiceshy::AdaptiveFilter;
use twiceshy::error::Error;
use twiceshy::error::PlanError;
use twiceshy::filter::{Backed, Filter, Operation};
use twiceshy::persist::{LoadError, Writer};
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::{ByHash, Counting};

/// Loads a file, and uses what loads over remotes that agree with it less and more.
fn survive(payload: &Payload) -> Result<(), LoadError> {
    let file = payload.forge();
    let (filter, sequence) = BroomFilter::load(&mut file.as_slice())?;
    let (held, read) = (filter.local_bits() / 8, file.len() as u64);
    assert!(held < 6 * read + 4096, "{held} bytes from a file of {read}");
    let mut again = Vec::new();
    filter.save(sequence, &mut again).expect("a vector takes everything");
    assert!(again == file, "a file that loads is written as it was read");
    let other = use_all(&filter, sequence, Shifted { inner: ByHash::new(), by: sequence }, 1, 1);
    assert!(matches!(other, Err(Error::OtherRemote)), "the remote of another filter is refused");
    let others = [0, 20, KEYS].map(|keys| payload.remote(keys, payload.frontier));
    for remote in others {
        let used = match use_all(&filter, sequence, remote, 250, 5) {
            // There is no other generation for its second function.
            Err(Error::OtherRemote) if payload.generation == u32::MAX => continue,
            used => used.expect("the remote is at the file's commit"),
        };
        let (used, _) = BroomFilter::load(&mut used.as_slice()).expect("what was saved loads");
        assert!(used.stats().second_level <= used.len());
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
        let (filter, sequence) = BroomFilter::load(&mut sound.forge().as_slice()).expect("it survived");
        let remote = sound.remote(KEYS, sound.frontier);
        let pair =
            AdaptiveFilter::from_parts(Box::new(filter), sequence, remote).expect("the remote is at the file's commit");
        assert_eq!(pair.validate(), Ok(()), "the remote is not the file's");
        if sound.levels == 2 {
            survive(&sound.with_second_level(20)).expect("every fingerprint can be");
        }
    }
}

#[test]
fn a_slot_that_too_many_keys_match_is_a_disagreement_at_once() {
    // A small file over a large set: hundreds of keys for a slot, and a way from each slot to all others of both levels.
    let payload = Payload::sound(1).with_second_level(20);
    let (filter, _) = BroomFilter::load(&mut payload.forge().as_slice()).expect("every fingerprint can be");
    let mut remote = Counting::new(payload.remote(200_000, payload.frontier));
    let mistakes = (1 << 40..).map(key).filter(|query| filter.contains(query));
    for query in mistakes.take(30) {
        remote.reset();
        let adapted = filter.plan(Operation::Adapt(&query), &remote);
        assert!(matches!(adapted, Err(PlanError::Disagree)), "{adapted:?}");
        assert!(remote.counts().reads < 10, "{:?}", remote.counts());
    }
}

#[test]
fn bytes_behind_the_last_field_are_refused() {
    for sound in Payload::all_sound() {
        let mut out = Writer::new();
        sound.forge()[64..].iter().chain(&[0]).for_each(|byte| out.u8(*byte));
        let mut file = Vec::new();
        out.finish(BROOM, sound.sequence, &mut file).expect("a vector takes everything");
        assert!(matches!(BroomFilter::load(&mut file.as_slice()), Err(LoadError::Invalid { .. })));
    }
}
