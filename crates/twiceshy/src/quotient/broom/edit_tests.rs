//! Plans of all kinds of operations: applied, undone, serialized and read again, and damaged.

use super::filter::BroomFilter;
use super::rebuild::Rebuild;
use super::shape::BroomForm;
use super::stats::Stats;
use crate::error::PlanError;
use crate::filter::{Backed, Filter, Operation, Target};
use crate::hash::HashKey;
use crate::plan::{Edit, Outcome, Plan, Undo};
use crate::remote::{ByHash, Commit, Generation, Key, Remote};
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
    let (wrong, all_wrong);
    let operation = match rng.below(100) {
        0..40 => Operation::Insert(&key),
        40..60 => Operation::Remove(&key),
        60..70 => {
            let drawn = (0..5_000).map(|_| Key::from(&rng.next().to_le_bytes()[..]));
            all_wrong = drawn.filter(|query| filter.contains(query)).take(60).collect::<Vec<_>>();
            Operation::Learn(&all_wrong)
        }
        70..90 => {
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

/// The filter's payload, without the stamp in its header, and its counts without the memory of what it has yet to free.
fn bits(filter: &BroomFilter) -> (Vec<u8>, Stats, Option<Rebuild>) {
    let (file, stats, rebuild) = state(filter);
    (file[PAYLOAD..].to_vec(), Stats { ghost_bits: 0, ..stats }, rebuild)
}

/// Small filters, so that phases end and tables are replaced on the way.
#[test]
fn learning_from_many_queries_in_one_plan_is_like_learning_from_one_after_the_other() {
    let (mut cut_short, mut whole, mut beside) = (0, 0, 0);
    for seed in 0..60u64 {
        let mut rng = SplitMix64::from_state(seed);
        let (form, width) =
            [(BroomForm::TwoLevels, 2), (BroomForm::BackYard, 4), (BroomForm::TwoLevels, 7)][(seed % 3) as usize];
        let options = BroomFilter::with_slots(60 + rng.below(500), width).form(form);
        let options = if seed % 7 == 6 { options.reclaim_by_rebuild() } else { options };
        let mut pair = options.build(HashKey::fixed(seed), ByHash::new()).expect("a small one");
        (0..50u64).for_each(|number| assert!(pair.insert(&number).expect("room for all")));
        let mut filter = pair.filter().clone();
        let (mut sequence, mut remote) = (pair.sequence(), pair.into_remote());
        let mut perform = |filter: &mut BroomFilter, remote: &mut ByHash, operation: Operation<'_>| {
            let plan = filter.plan(operation, &*remote).expect("the sets agree");
            sequence += 1;
            remote
                .commit(&Commit { sequence, writes: plan.writes().to_vec(), ..Commit::default() })
                .expect("a sound plan");
            let outcome = plan.outcome();
            filter.apply(plan).expect("it was made for this filter");
            outcome
        };
        for round in 0..40u64 {
            match filter.rebuild {
                None if round % 10 == 3 => {
                    let target = match seed % 2 {
                        0 => Target::Cells(500 + rng.below(300)),
                        _ => Target::Hash(HashKey::fixed(rng.next())),
                    };
                    perform(&mut filter, &mut remote, Operation::Begin(target));
                }
                Some(_) if round % 3 == 0 => drop(perform(&mut filter, &mut remote, Operation::Step(9))),
                _ => {}
            }
            let drawn = (0..500).map(|_| rng.next()).map(|number| number % (100 << (number % 40)));
            let drawn = drawn.map(|number| Key::from(&number.to_le_bytes()[..]));
            let queries: Vec<Key> = drawn.filter(|query| filter.contains(query)).take(40).collect();
            let (mut single, mut beneath) = (filter.clone(), remote.clone());
            let first = beneath.sequence().expect("memory") + 1;
            let outcome = perform(&mut filter, &mut remote, Operation::Learn(&queries));
            let Outcome::Learned(learned) = outcome else { panic!("{outcome:?}") };
            let taken = &queries[..learned.queries as usize];
            for (sequence, query) in (first..).zip(taken) {
                let plan = single.plan(Operation::Adapt(query), &beneath).expect("the sets agree");
                beneath
                    .commit(&Commit { sequence, writes: plan.writes().to_vec(), ..Commit::default() })
                    .expect("a sound plan");
                single.apply(plan).expect("it was made for this filter");
            }
            assert_eq!(bits(&filter), bits(&single), "seed {seed}, round {round}");
            let phase = |remote: &ByHash| remote.phase().expect("memory");
            assert_eq!(phase(&remote), phase(&beneath), "seed {seed}, round {round}");
            let stored = crate::pair::stored_keys(&remote).expect("memory");
            assert_eq!(stored, crate::pair::stored_keys(&beneath).expect("memory"));
            assert_eq!(filter.validate(&stored, &remote), Ok(()), "seed {seed}, round {round}");
            *(if taken.len() < queries.len() { &mut cut_short } else { &mut whole }) += 1;
            beside += u32::from(filter.rebuild.is_some());
        }
    }
    assert!(cut_short > 100 && whole > 100 && beside > 100, "{cut_short}, {whole}, {beside}");
}

#[test]
fn the_stamp_after_learning_depends_on_every_query_and_on_their_order() {
    let mut pair = BroomFilter::with_slots(600, 3).build(HashKey::fixed(5), ByHash::new()).expect("a small one");
    (0..400u64).for_each(|number| assert!(pair.insert(&number).expect("room for all")));
    let wrong = (1_000u64..).map(|number| Key::from(&number.to_le_bytes()[..]));
    let wrong: Vec<Key> = wrong.filter(|query| pair.filter().contains(query)).take(4).collect();
    let stamp = |queries: &[Key]| {
        let mut filter = pair.filter().clone();
        let plan = filter.plan(Operation::Learn(queries), pair.remote()).expect("the sets agree");
        filter.apply(plan).expect("it was made for this filter");
        assert_eq!(filter.stamp().changes(), pair.filter().stamp().changes() + 1);
        filter.stamp()
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| wrong[at].clone());
    let lists = [vec![a.clone()], vec![a.clone(), b.clone()], vec![b.clone(), a.clone()], vec![a.clone(), c.clone()]];
    let stamps: Vec<_> = lists.iter().chain([&vec![a, b, c, d]]).map(|list| stamp(list)).collect();
    for (at, one) in stamps.iter().enumerate() {
        assert!(!stamps[at + 1..].contains(one), "{at}");
    }
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
