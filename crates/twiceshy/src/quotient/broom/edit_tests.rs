//! Plans of all kinds of operations: applied, undone, serialized and read again, and damaged.

use super::filter::BroomFilter;
use super::rebuild::Rebuild;
use super::shape::BroomForm;
use super::stats::Stats;
use crate::error::PlanError;
use crate::filter::{Backed, Filter, Operation, Target};
use crate::hash::HashKey;
use crate::plan::{Edit, Plan, Undo};
use crate::remote::{ByHash, Commit, Generation, Remote};
use crate::rng::SplitMix64;

/// The offsets of the container's checksums: the payload's, and the header's at the end of the header.
const PAYLOAD_SUM: usize = 32;
const HEADER_SUM: usize = 60;
const PAYLOAD: usize = 64;

fn state(filter: &BroomFilter) -> (Vec<u8>, Stats, Option<Rebuild>) {
    let mut file = Vec::new();
    filter.save(0, &mut file).expect("a vector takes every write");
    (file, filter.stats(), filter.rebuild)
}

/// The bytes with correct checksums.
fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    let sum = crc32fast::hash(&file[PAYLOAD..]);
    file[PAYLOAD_SUM..PAYLOAD_SUM + 4].copy_from_slice(&sum.to_le_bytes());
    let sum = crc32fast::hash(&file[..HEADER_SUM]);
    file[HEADER_SUM..PAYLOAD].copy_from_slice(&sum.to_le_bytes());
    file
}

/// Plans some operation; `None` if there is nothing to do.
fn plan(filter: &BroomFilter, remote: &ByHash, rng: &mut SplitMix64) -> Option<Plan> {
    let key = rng.below(700).to_le_bytes();
    let wrong;
    let operation = match rng.below(100) {
        0..40 => Operation::Insert(&key),
        40..60 => Operation::Remove(&key),
        60..90 => {
            wrong = (0..2_000).map(|_| rng.next().to_le_bytes()).find(|query| filter.contains(query))?;
            Operation::Adapt(&wrong)
        }
        90..92 if filter.rebuild.is_none() => Operation::Begin(Target::Cells(500 + rng.below(300))),
        92..94 if filter.rebuild.is_none() => Operation::Begin(Target::Hash(HashKey::fixed(rng.next()))),
        _ if filter.rebuild.is_some() => Operation::Step(60),
        _ => return None,
    };
    match filter.plan(operation, remote) {
        Ok(plan) => Some(plan).filter(|plan| !plan.is_nothing()),
        Err(PlanError::Full { .. }) => None,
        Err(error) => panic!("the sets agree: {error:?}"),
    }
}

/// Runs operations, and shows each of them: the filter before it, its plan, and the filter after it.
fn trial(form: BroomForm, width: u32, steps: u32, mut show: impl FnMut(&BroomFilter, &Plan, &BroomFilter)) {
    let mut remote = ByHash::new();
    let options = BroomFilter::with_slots(600, width).form(form);
    let mut filter = options.make(HashKey::fixed(width.into()), Generation(0)).expect("a small one");
    remote.commit(&Commit { sequence: 1, writes: filter.opening(), ..Commit::default() }).expect("an empty remote");
    let mut rng = SplitMix64::from_state(width.into());
    let (mut begun, mut ended, mut sequence) = (0, 0, 1);
    for step in 0..steps {
        let Some(plan) = plan(&filter, &remote, &mut rng) else { continue };
        if let Edit::Broom(edit) = &plan.edit {
            (begun, ended) = (begun + u32::from(edit.begun.is_some()), ended + u32::from(edit.table_ended));
        }
        let before = filter.clone();
        if !plan.writes().is_empty() {
            sequence += 1;
            remote
                .commit(&Commit { sequence, writes: plan.writes().to_vec(), ..Commit::default() })
                .expect("a sound plan");
        }
        filter.apply(plan.clone()).expect("it was made for this filter");
        if step % 50 == 0 {
            let stored = crate::pair::stored_keys(&remote).expect("memory");
            assert_eq!(filter.validate(&stored, &remote), Ok(()));
        }
        show(&before, &plan, &filter);
    }
    let stats = filter.stats();
    assert!(begun > 0 && ended > 0 && stats.phases > 2 && stats.moved > 100, "{begun} begun, {ended} ended, {stats:?}");
}

fn all_forms(steps: u32, mut show: impl FnMut(&BroomFilter, &Plan, &BroomFilter)) {
    for (form, width) in [(BroomForm::TwoLevels, 2), (BroomForm::BackYard, 4), (BroomForm::BackYard, 18)] {
        trial(form, width, steps, &mut show);
    }
}

#[test]
fn a_plan_that_is_undone_leaves_the_filter_as_it_was() {
    all_forms(3_000, |before, plan, after| {
        let mut filter = before.clone();
        let undo = filter.apply(plan.clone()).expect("a clone");
        assert_eq!(state(&filter), state(after));
        filter.undo(undo).expect("the last plan");
        assert_eq!(state(&filter), state(before));
    });
}

#[test]
fn many_plans_are_undone_in_reverse() {
    for (form, width) in [(BroomForm::TwoLevels, 3), (BroomForm::BackYard, 18)] {
        let mut filter: Option<BroomFilter> = None;
        let mut undos: Vec<(Undo, BroomFilter)> = Vec::new();
        trial(form, width, 3_000, |before, plan, _| {
            let filter = filter.get_or_insert_with(|| before.clone());
            undos.push((filter.apply(plan.clone()).expect("in order"), before.clone()));
        });
        let mut filter = filter.expect("some plans");
        while let Some((undo, before)) = undos.pop() {
            filter.undo(undo).expect("the last plan");
            assert_eq!(state(&filter), state(&before), "{} plans left", undos.len());
        }
    }
}

#[test]
fn a_plan_that_was_written_down_does_the_same() {
    all_forms(3_000, |before, plan, after| {
        let bytes = plan.to_bytes();
        let plan = Plan::from_bytes(&bytes).expect("what was written");
        assert_eq!(plan.to_bytes(), bytes);
        let mut filter = before.clone();
        filter.apply(plan).expect("a clone");
        assert_eq!(state(&filter), state(after));
    });
}

#[test]
fn no_bytes_make_a_filter_panic_and_whatever_it_accepts_can_be_undone() {
    let mut rng = SplitMix64::from_state(77);
    let (mut refused, mut accepted) = ([0, 0], 0);
    all_forms(700, |before, plan, _| {
        let file = plan.to_bytes();
        // Stamps are left alone: a plan for another filter is refused at once.
        let first = PAYLOAD + 32;
        for _ in 0..30 {
            let mut damaged = file.clone();
            for _ in 0..1 + rng.below(3) {
                let at = first + rng.below((file.len() - first) as u64) as usize;
                damaged[at] = if rng.below(2) == 0 { rng.next() as u8 } else { damaged[at] ^ 1 << rng.below(8) };
            }
            let Ok(plan) = Plan::from_bytes(&sealed(damaged)) else {
                refused[0] += 1;
                continue;
            };
            // A table of any size may begin, and is allocated. The test must not ask for terabytes.
            let begun = match &plan.edit {
                Edit::Broom(edit) => edit.begun.as_ref().map_or(0, |begun| begun.slots),
                _ => 0,
            };
            if begun > 1 << 20 {
                continue;
            }
            let mut filter = before.clone();
            match filter.apply(plan) {
                Ok(undo) => {
                    accepted += 1;
                    filter.contains(b"owl");
                    filter.undo(undo).expect("the last plan");
                }
                Err(_) => refused[1] += 1,
            }
            assert_eq!(state(&filter), state(before));
        }
    });
    assert!(refused[0] > 1_000 && refused[1] > 1_000 && accepted > 1_000, "{refused:?} refused, {accepted} accepted");
}
