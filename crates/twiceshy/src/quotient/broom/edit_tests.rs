//! Edits of all kinds of operations: applied, undone, written down and read again, and damaged.

use super::edit::{Edit, Undo};
use super::filter::BroomFilter;
use super::operate::{Planned, Stop};
use super::rebuild::{Rebuild, Stage};
use super::shape::BroomForm;
use super::stats::Stats;
use crate::error::SeamError;
use crate::filter::{Backed, Filter};
use crate::hash::HashKey;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::{ByHash, MemoryError, Plan, Remote, Write};
use crate::rng::SplitMix64;

/// Where the container has its checksums: the payload's, and the header's behind the header.
const PAYLOAD_SUM: usize = 32;
const HEADER_SUM: usize = 60;
const PAYLOAD: usize = 64;

fn state(filter: &BroomFilter) -> (Vec<u8>, Stats, Option<Rebuild>) {
    let mut file = Vec::new();
    filter.save(&mut file).expect("a vector takes every write");
    (file, filter.stats(), filter.rebuild)
}

fn written(edit: &Edit) -> Vec<u8> {
    let (mut writer, mut file) = (Writer::new(), Vec::new());
    edit.write(&mut writer);
    writer.finish(0, 0, &mut file).expect("a vector takes every write");
    file
}

fn read(file: &[u8]) -> Result<Edit, LoadError> {
    let mut reader = Reader::open(&mut &file[..])?;
    let edit = Edit::read(&mut reader)?;
    reader.finish()?;
    Ok(edit)
}

/// The bytes with right checksums.
fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    let sum = crc32fast::hash(&file[PAYLOAD..]);
    file[PAYLOAD_SUM..PAYLOAD_SUM + 4].copy_from_slice(&sum.to_le_bytes());
    let sum = crc32fast::hash(&file[..HEADER_SUM]);
    file[HEADER_SUM..PAYLOAD].copy_from_slice(&sum.to_le_bytes());
    file
}

/// Plans some operation; `None` where there is nothing to do.
fn plan(filter: &BroomFilter, remote: &ByHash, rng: &mut SplitMix64) -> Option<(Vec<Write>, Edit)> {
    fn rest<T>(planned: Result<Planned<T>, impl Into<Stop<MemoryError>>>) -> Option<(Vec<Write>, Edit)> {
        match planned.map_err(Into::into) {
            Ok((_, writes, edit)) => Some((writes, edit)),
            Err(Stop::Full) => None,
            Err(Stop::Seam(error)) => panic!("the sets agree: {error:?}"),
        }
    }
    let begin = |cells, hash| filter.plan_rebuild(Rebuild { cells, hash, stage: Stage::Waits }, remote);
    let key = rng.below(700).to_le_bytes();
    match rng.below(100) {
        0..40 => rest(filter.plan_insert(&key, remote)),
        40..60 => rest(filter.plan_remove(&key, remote)),
        60..90 => {
            let wrong = (0..2_000).map(|_| rng.next().to_le_bytes()).find(|query| filter.contains(query))?;
            rest(filter.plan_adapt(&wrong, remote))
        }
        90..92 if filter.rebuild.is_none() => rest(begin(Some(500 + rng.below(300)), None)),
        92..94 if filter.rebuild.is_none() => rest(begin(None, Some(HashKey::fixed(rng.next())))),
        _ if filter.rebuild.is_some() => rest(filter.plan_sweep(60, remote)),
        _ => None,
    }
}

fn commit(filter: &mut BroomFilter, remote: &mut ByHash, writes: Vec<Write>) {
    if !writes.is_empty() {
        filter.sequence += 1;
        remote.commit(&Plan { sequence: filter.sequence, writes }).expect("a sound plan");
    }
}

/// Runs operations, and shows each of them: the filter before it, what it changes, and the filter after it.
fn trial(form: BroomForm, width: u32, steps: u32, mut show: impl FnMut(&BroomFilter, &Edit, &BroomFilter)) {
    let mut remote = ByHash::new();
    let options = BroomFilter::with_slots(600, width).form(form);
    let mut filter = options.build(HashKey::fixed(width.into()), &mut remote).expect("an empty remote");
    let mut rng = SplitMix64::from_state(width.into());
    let (mut begun, mut ended) = (0, 0);
    for step in 0..steps {
        let Some((writes, edit)) = plan(&filter, &remote, &mut rng) else { continue };
        (begun, ended) = (begun + u32::from(edit.begun.is_some()), ended + u32::from(edit.table_ended));
        let before = filter.clone();
        filter.apply(edit.clone());
        commit(&mut filter, &mut remote, writes);
        if step % 50 == 0 {
            assert_eq!(filter.validate(&remote), Ok(()));
        }
        show(&before, &edit, &BroomFilter { sequence: before.sequence, ..filter.clone() });
    }
    let stats = filter.stats();
    assert!(begun > 0 && ended > 0 && stats.phases > 2 && stats.moved > 100, "{begun} begun, {ended} ended, {stats:?}");
}

fn all_forms(steps: u32, mut show: impl FnMut(&BroomFilter, &Edit, &BroomFilter)) {
    for (form, width) in [(BroomForm::TwoLevels, 2), (BroomForm::BackYard, 4), (BroomForm::BackYard, 18)] {
        trial(form, width, steps, &mut show);
    }
}

#[test]
fn an_edit_that_is_undone_leaves_the_filter_as_it_was() {
    all_forms(3_000, |before, edit, after| {
        let mut filter = before.clone();
        let undo = filter.apply(edit.clone());
        assert_eq!(state(&filter), state(after));
        filter.undo(undo);
        assert_eq!(state(&filter), state(before));
    });
}

#[test]
fn many_edits_are_undone_in_reverse() {
    for (form, width) in [(BroomForm::TwoLevels, 3), (BroomForm::BackYard, 18)] {
        let mut filter: Option<BroomFilter> = None;
        let mut undos: Vec<(Undo, BroomFilter)> = Vec::new();
        trial(form, width, 3_000, |before, edit, _| {
            let filter = filter.get_or_insert_with(|| before.clone());
            undos.push((filter.apply(edit.clone()), before.clone()));
        });
        let mut filter = filter.expect("some edits");
        while let Some((undo, before)) = undos.pop() {
            filter.undo(undo);
            let as_before = BroomFilter { sequence: before.sequence, ..filter.clone() };
            assert_eq!(state(&as_before), state(&before), "{} edits left", undos.len());
        }
    }
}

#[test]
fn an_edit_that_was_written_down_does_the_same() {
    all_forms(3_000, |before, edit, after| {
        let file = written(edit);
        let mut edit = read(&file).expect("what was written");
        assert_eq!(written(&edit), file);
        assert!(before.accepts(&mut edit));
        let mut filter = before.clone();
        filter.apply(edit);
        assert_eq!(state(&filter), state(after));
    });
}

#[test]
fn no_bytes_make_a_filter_panic_and_whatever_it_accepts_can_be_undone() {
    let mut rng = SplitMix64::from_state(77);
    let (mut refused, mut accepted) = ([0, 0], 0);
    all_forms(700, |before, edit, _| {
        let file = written(edit);
        for _ in 0..30 {
            let mut damaged = file.clone();
            for _ in 0..1 + rng.below(3) {
                let at = PAYLOAD + rng.below((file.len() - PAYLOAD) as u64) as usize;
                damaged[at] = if rng.below(2) == 0 { rng.next() as u8 } else { damaged[at] ^ 1 << rng.below(8) };
            }
            let Ok(mut edit) = read(&sealed(damaged)) else {
                refused[0] += 1;
                continue;
            };
            // A table of any size may begin, and is made: no test should ask for terabytes.
            if edit.begun.as_ref().is_some_and(|begun| begun.slots > 1 << 20) || !before.accepts(&mut edit) {
                refused[1] += 1;
                continue;
            }
            accepted += 1;
            let mut filter = before.clone();
            let undo = filter.apply(edit);
            filter.contains(b"owl");
            filter.undo(undo);
            assert_eq!(state(&filter), state(before));
        }
    });
    assert!(refused[0] > 1_000 && refused[1] > 1_000 && accepted > 1_000, "{refused:?} refused, {accepted} accepted");
}

#[test]
fn planning_is_refused_while_a_commit_is_in_doubt_and_changes_nothing_otherwise() {
    let mut remote = ByHash::new();
    let mut filter = BroomFilter::with_slots(100, 4).build(HashKey::fixed(1), &mut remote).expect("an empty remote");
    let before = state(&filter);
    let planned = filter.plan_insert(b"owl", &remote).expect("there is room");
    assert_eq!(state(&filter), before);
    filter.doubt = Some(Box::new(super::operate::Doubt { edit: planned.2, sequence: filter.sequence + 1 }));
    assert!(matches!(filter.plan_insert(b"owl", &remote), Err(Stop::Seam(SeamError::InDoubt))));
    assert!(filter.contains(b"cat") && !filter.answers(b"owl"));
    filter.resolve(&remote).expect("the remote answers");
    assert_eq!(state(&filter), before, "nothing was committed");
}
