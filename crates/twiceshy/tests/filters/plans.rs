//! A plan is a value: dropped, applied, refused, taken back, written to bytes by anyone, and replayed on a copy.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use twiceshy::error::{Error, PlanError, StalePlan};
use twiceshy::filter::{Backed, Inserted, Operation, Removed, Target};
use twiceshy::growth::Growth;
use twiceshy::hash::HashKey;
use twiceshy::persist::LoadError;
use twiceshy::plan::{Outcome, Plan};
use twiceshy::remote::{ByHash, Commit, Generation, Key, Keys, Place, Position, Remote, RemoteError, Write};
use twiceshy::testing::{Variant, saved, statistics, stored};
use twiceshy::{AdaptiveFilter, Kind};

const CELLS: u64 = 200;
const BITS: u32 = 9;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn built(variant: Variant, cells: u64, seed: u64) -> AdaptiveFilter {
    variant.build(cells, BITS, HashKey::fixed(seed), ByHash::new()).expect("options that can be")
}

/// A filter in use that has learned something.
fn lived(variant: Variant) -> AdaptiveFilter {
    let mut pair = built(variant, CELLS, 7);
    let keys = match variant {
        Variant::CuckooingTwoTables => 80,
        // Its fingerprints have few values, so some cells have more than one possible owner, and no insertion moves those.
        Variant::CyclicOffsets => 120,
        _ => 150,
    };
    for number in 0..keys {
        pair.insert(&key(number)).expect("a load that fits");
    }
    for query in (10_000..11_000).map(key) {
        pair.was_wrong(&query).expect("a remote that does not fail");
    }
    pair
}

/// A false positive that the filter would change for.
fn mistake(pair: &AdaptiveFilter) -> Option<[u8; 8]> {
    let changes = |query: &[u8; 8]| {
        let plan = pair.filter().plan(Operation::Adapt(query), pair.remote());
        pair.filter().contains(query) && plan.is_ok_and(|plan| !plan.is_nothing())
    };
    (20_000..40_000).map(key).find(changes)
}

/// A plan of each sort that changes something.
fn plans(pair: &AdaptiveFilter) -> Vec<Plan> {
    let (new, old, wrong) = (key(5_000), key(3), mistake(pair));
    let more = (40_000..41_000).map(key).filter(|query| pair.filter().contains(query)).take(5);
    let all_wrong: Vec<Key> = wrong.into_iter().chain(more).map(|query| Key::from(&query[..])).collect();
    let operations = [Operation::Insert(&new), Operation::Remove(&old)];
    let learning = wrong.iter().flat_map(|query| [Operation::Adapt(query), Operation::Learn(&all_wrong)]);
    let operations = operations.into_iter().chain(learning);
    let plans: Vec<Plan> =
        operations.map(|operation| pair.filter().plan(operation, pair.remote()).expect("there is room")).collect();
    assert!(plans.iter().all(|plan| !plan.is_nothing() && plan.made_for() == pair.filter().stamp()));
    assert_eq!(plans.len(), if pair.filter().kind().learns() { 4 } else { 2 });
    if let Some(Outcome::Learned(learned)) = plans.get(3).map(Plan::outcome) {
        let writes = pair.filter().kind().learning_writes();
        assert!(if writes { learned.queries > 1 } else { learned.queries == 1 }, "{learned:?}");
    }
    plans
}

#[test]
fn a_plan_that_is_dropped_leaves_no_trace() {
    for variant in Variant::ALL {
        let pair = lived(*variant);
        let before = (saved(pair.filter()), statistics(pair.filter()), pair.filter().stamp());
        plans(&pair).into_iter().for_each(drop);
        assert!(before == (saved(pair.filter()), statistics(pair.filter()), pair.filter().stamp()), "{variant:?}");
        assert_eq!(pair.validate(), Ok(()), "{variant:?}");
    }
}

/// The filter refuses the plan, and nothing changes.
fn refuses(filter: &mut dyn Backed, plan: &Plan, when: &str) {
    let before = (saved(filter), statistics(filter));
    let decoded = Plan::from_bytes(&plan.to_bytes()).expect("what was written is read");
    for plan in [plan.clone(), decoded] {
        assert_eq!(filter.apply(plan).map(drop), Err(StalePlan), "{when}");
        assert!(before == (saved(filter), statistics(filter)), "{when}: a refused plan changed something");
    }
}

#[test]
fn a_plan_is_applied_once_and_to_its_own_filter_alone() {
    for variant in Variant::ALL {
        let pair = lived(*variant);
        let mut other = pair.clone();
        other.insert(&key(6_000)).expect("there is room");
        let mut stranger = built(*variant, CELLS, 8).filter().boxed();
        let all = plans(&pair);
        for plan in &all {
            let when = format!("{variant:?}, {:?}", plan.outcome());
            let mut filter = pair.filter().boxed();
            filter.apply(plan.clone()).expect("its own filter");
            assert_eq!(filter.stamp().changes(), pair.filter().stamp().changes() + 1, "{when}");
            refuses(&mut *filter, plan, &format!("{when}, twice"));
            for later in &all {
                refuses(&mut *filter, later, &format!("{when}, then one that was made before"));
            }
            refuses(&mut *other.filter().boxed(), plan, &format!("{when}, for a copy with another history"));
            refuses(&mut *stranger, plan, &format!("{when}, for another filter"));
        }
    }
}

/// Filters that were made with other options differ, even if their histories are the same.
#[test]
fn a_plan_is_refused_by_every_filter_of_another_variant() {
    let pairs: Vec<AdaptiveFilter> = Variant::ALL.iter().map(|variant| lived(*variant)).collect();
    for (variant, pair) in Variant::ALL.iter().zip(&pairs) {
        let plans = plans(pair);
        for (other, pair) in Variant::ALL.iter().zip(&pairs).filter(|(other, _)| *other != variant) {
            let mut filter = pair.filter().boxed();
            plans.iter().for_each(|plan| refuses(&mut *filter, plan, &format!("{variant:?} for {other:?}")));
        }
    }
}

/// The keys of a remote while a batch is planned that it has not committed: those that came are added, those that went are
/// left out.
struct Batch<'a> {
    remote: &'a ByHash,
    came: Vec<[u8; 8]>,
    went: Vec<[u8; 8]>,
}

impl Keys for Batch<'_> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        // A filter passes over keys from elsewhere.
        self.came.iter().filter(|key| !self.went.contains(*key)).for_each(|key| found(key));
        self.remote.candidates(place, &mut |key| {
            if !self.went.iter().any(|gone| gone == key) {
                found(key);
            }
        })
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.remote.walk(generation, after, limit, found)
    }
}

/// Plans on top of plans, each applied at once, one commit for all of them; or none, and all is taken back.
#[test]
fn a_batch_is_committed_as_one_or_taken_back_in_reverse() {
    for variant in Variant::ALL.iter().filter(|variant| !variant.has_phases()) {
        let pair = lived(*variant);
        let mut filter = pair.filter().boxed();
        let before = (saved(&*filter), statistics(&*filter));
        let mut keys = Batch { remote: pair.remote(), came: Vec::new(), went: Vec::new() };
        let (mut writes, mut undo) = (Vec::new(), Vec::new());
        for turn in 0..30 {
            let (come, go, query) = (key(5_000 + turn), key(turn * 2), key(20_000 + turn * 17));
            for operation in [Operation::Remove(&go), Operation::Insert(&come), Operation::Adapt(&query)] {
                let plan = filter.plan(operation, &keys).expect("there is room");
                writes.extend_from_slice(plan.writes());
                match plan.outcome() {
                    Outcome::Inserted(Inserted::New) => keys.came.push(come),
                    Outcome::Removed(Removed::Gone | Removed::LeftOrphan) => keys.went.push(go),
                    _ => {}
                }
                undo.push(filter.apply(plan).expect("it was just planned"));
            }
        }
        assert!((30..=60).contains(&writes.len()), "{variant:?}: {} writes", writes.len());

        let mut remote = pair.remote().clone();
        let sequence = pair.sequence() + 1;
        remote.commit(&Commit { sequence, writes, ..Commit::default() }).expect("a commit that follows");
        let committed = AdaptiveFilter::from_parts(filter.clone(), sequence, remote).expect("the same commit");
        assert_eq!(committed.validate(), Ok(()), "{variant:?}");
        assert_eq!(committed.len(), pair.len(), "{variant:?}");

        while let Some(last) = undo.pop() {
            filter.undo(last).expect("the last one");
        }
        assert!(before == (saved(&*filter), statistics(&*filter)), "{variant:?}: something is left");
    }
}

#[test]
fn a_plan_that_is_not_the_last_is_not_taken_back() {
    for variant in Variant::ALL {
        let pair = lived(*variant);
        let mut filter = pair.filter().boxed();
        let insert = |filter: &mut dyn Backed, number| {
            let plan = filter.plan(Operation::Insert(&key(number)), pair.remote()).expect("there is room");
            filter.apply(plan).expect("it was just planned")
        };
        let first = insert(&mut *filter, 5_000);
        let between = saved(&*filter);
        let second = insert(&mut *filter, 5_001);
        let after = saved(&*filter);
        assert_eq!(filter.undo(first), Err(StalePlan), "{variant:?}");
        assert!(saved(&*filter) == after, "{variant:?}: a refused undo changed something");
        filter.undo(second).expect("the last one");
        assert!(saved(&*filter) == between, "{variant:?}: something is left");
    }
}

/// A container's checksums made right again.
fn seal(bytes: &mut [u8]) {
    let (header, payload) = bytes.split_at_mut(64);
    header[32..36].copy_from_slice(&crc32(payload).to_le_bytes());
    let crc = crc32(&header[..60]);
    header[60..].copy_from_slice(&crc.to_le_bytes());
}

/// CRC-32 bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc: u32, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Offers a plan from bytes to a filter: refused without a trace, or the filter is whole and can go back. `true` if it was
/// applied.
fn offer(pair: &AdaptiveFilter, bytes: &[u8]) -> bool {
    let plan = match Plan::from_bytes(bytes) {
        Ok(plan) => plan,
        Err(LoadError::Invalid { .. } | LoadError::Truncated | LoadError::TrailingBytes) => return false,
        Err(other) => panic!("{other}"),
    };
    let mut filter = pair.filter().boxed();
    let before = (saved(&*filter), statistics(&*filter));
    let Ok(undo) = filter.apply(plan) else {
        assert!(before == (saved(&*filter), statistics(&*filter)), "a refused plan changed something");
        return false;
    };
    // A saved filter loads only if it has as many keys as it counts.
    let (loaded, _) = filter.kind().load(&mut saved(&*filter).as_slice()).expect("the filter counts its cells");
    assert_eq!(loaded.len(), filter.len());
    for query in (0..400).step_by(7).map(key) {
        assert_eq!(filter.contains(&query), !filter.lookup(&query).is_empty());
        for operation in [Operation::Insert(&query), Operation::Remove(&query), Operation::Adapt(&query)] {
            let _ = filter.plan(operation, pair.remote());
        }
    }
    filter.undo(undo).expect("it was applied last");
    assert!(before == (saved(&*filter), statistics(&*filter)), "something is left");
    true
}

#[test]
fn a_plan_with_any_byte_changed_is_refused_or_leaves_a_whole_filter() {
    for variant in Variant::ALL {
        let pair = lived(*variant);
        let (mut applied, mut refused) = (0, 0);
        for plan in plans(&pair) {
            let bytes = plan.to_bytes();
            assert!(offer(&pair, &bytes), "{variant:?}: nothing is wrong with it");
            for at in 64..bytes.len() {
                for flip in [1, 0x80, 0xFF] {
                    let mut bytes = bytes.clone();
                    bytes[at] ^= flip;
                    seal(&mut bytes);
                    *(if offer(&pair, &bytes) { &mut applied } else { &mut refused }) += 1;
                }
            }
        }
        assert!(applied > 50 && refused > 50, "{variant:?}: {applied} applied, {refused} refused");
    }
}

#[test]
fn a_plan_cut_or_damaged_anywhere_is_refused() {
    let pair = lived(Variant::Telescoping);
    for plan in plans(&pair) {
        let bytes = plan.to_bytes();
        for at in 0..bytes.len() {
            assert!(Plan::from_bytes(&bytes[..at]).is_err());
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Plan::from_bytes(&damaged).is_err(), "byte {at}");
        }
    }
    let mut file = Vec::new();
    pair.save(&mut file).expect("a vector takes everything");
    assert!(matches!(Plan::from_bytes(&file), Err(LoadError::WrongKind { .. })));
}

/// Plans that follow each other.
fn chain(pair: &AdaptiveFilter, turns: u64) -> Vec<Plan> {
    let mut filter = pair.filter().boxed();
    let mut keys = Batch { remote: pair.remote(), came: Vec::new(), went: Vec::new() };
    let mut plans = Vec::new();
    for turn in 0..turns {
        let (come, go, query) = (key(5_000 + turn), key(turn * 2), key(20_000 + turn * 17));
        for operation in [Operation::Remove(&go), Operation::Insert(&come), Operation::Adapt(&query)] {
            let plan = filter.plan(operation, &keys).expect("there is room");
            match plan.outcome() {
                Outcome::Inserted(Inserted::New) => keys.came.push(come),
                Outcome::Removed(Removed::Gone | Removed::LeftOrphan) => keys.went.push(go),
                _ => {}
            }
            filter.apply(plan.clone()).expect("it was just planned");
            plans.push(plan);
        }
    }
    plans
}

#[test]
fn several_plans_are_read_as_they_were_written() {
    for variant in Variant::ALL.iter().filter(|variant| !variant.has_phases()) {
        let pair = lived(*variant);
        let plans = chain(&pair, 10);
        let bytes = Plan::all_to_bytes(&plans);
        let each: Vec<Vec<u8>> = plans.iter().map(Plan::to_bytes).collect();
        let long: usize = each.iter().map(Vec::len).sum();
        assert!(bytes.len() * 10 < long * 6, "{variant:?}: {} bytes for {long}", bytes.len());
        let read = Plan::all_from_bytes(&bytes).expect("what was written");
        assert!(read.iter().map(Plan::to_bytes).eq(each), "{variant:?}");
        let (mut by_plans, mut by_bytes) = (pair.filter().boxed(), pair.filter().boxed());
        plans.into_iter().for_each(|plan| drop(by_plans.apply(plan).expect("its own plan")));
        read.into_iter().for_each(|plan| drop(by_bytes.apply(plan).expect("its own plan")));
        assert!(saved(&*by_plans) == saved(&*by_bytes), "{variant:?}");
        assert!(Plan::from_bytes(&bytes).is_err(), "they are not one plan");
        let strays = [&self::plans(&pair)[..1], &self::plans(&pair)[..1]].concat();
        let read = Plan::all_from_bytes(&Plan::all_to_bytes(&strays)).expect("what was written");
        assert!(
            read.iter().map(Plan::to_bytes).eq(strays.iter().map(Plan::to_bytes)),
            "{variant:?}: plans that do not follow"
        );
    }
    assert!(Plan::all_from_bytes(&Plan::all_to_bytes(&[])).expect("what was written").is_empty());
}

#[test]
fn several_plans_cut_or_damaged_anywhere_are_refused_and_hostile_ones_leave_whole_filters() {
    for variant in Variant::ALL.iter().filter(|variant| !variant.has_phases()) {
        let pair = lived(*variant);
        let bytes = Plan::all_to_bytes(&chain(&pair, 1));
        assert!((0..bytes.len()).all(|at| Plan::all_from_bytes(&bytes[..at]).is_err()));
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                assert!(Plan::all_from_bytes(&damaged).is_err(), "byte {at}");
                if at < 64 {
                    continue;
                }
                seal(&mut damaged);
                for plan in Plan::all_from_bytes(&damaged).into_iter().flatten() {
                    offer(&pair, &plan.to_bytes());
                }
            }
        }
    }
}

static MAKERS: LazyLock<Vec<AdaptiveFilter>> =
    LazyLock::new(|| Variant::ALL.iter().map(|variant| lived(*variant)).collect());

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_with_hostile_numbers_is_refused_or_leaves_a_whole_filter(
        variant in 0..Variant::ALL.len(),
        which in 0..4usize,
        cells in prop::sample::select(vec![1, 40, CELLS, 1000]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0..64u32), 0..6),
    ) {
        let variant = Variant::ALL[variant];
        let maker = MAKERS[variant as usize].clone();
        let plans = plans(&maker);
        let mut bytes = plans[which % plans.len()].to_bytes();
        // The same plan for a filter of another size: the stamp is the first field.
        let target = if cells == CELLS { maker } else { built(variant, cells, 7) };
        let stamp = 64..80;
        let own = target.filter().plan(Operation::Insert(b"own"), target.remote()).expect("there is room");
        bytes[stamp.clone()].copy_from_slice(&own.to_bytes()[stamp]);
        for (at, value, shift) in changes {
            // Numbers of eight bytes, small ones among them.
            let at = 80 + at.index(bytes.len() - 88);
            bytes[at..at + 8].copy_from_slice(&(value >> shift).to_le_bytes());
        }
        seal(&mut bytes);
        offer(&target, &bytes);
    }
}

#[test]
fn a_boxed_filter_of_every_kind_does_all_that_a_filter_can() {
    for kind in Kind::ALL {
        let mut pair = kind.build(300, 0.03, HashKey::fixed(2), ByHash::new()).expect("an empty remote");
        for number in 0..300u64 {
            assert!(pair.insert(&number).expect("a load that fits"));
            assert!(!pair.insert(&number).expect("it is stored"));
        }
        for query in 1_000..3_000u64 {
            pair.was_wrong(&query).expect("the sets agree");
        }
        assert!(pair.remove(&7u64).expect("it is stored") && !pair.remove(&7u64).expect("it is gone"));
        pair.grow(600).expect("half the load");
        pair.rekey(HashKey::fixed(3)).expect("half the load");
        let mut file = Vec::new();
        pair.save(&mut file).expect("a vector takes everything");
        let (filter, sequence) = kind.load(&mut file.as_slice()).expect("what was saved");
        let loaded = AdaptiveFilter::from_parts(filter, sequence, pair.into_remote()).expect("the same commit");
        assert_eq!((loaded.len(), loaded.filter().kind(), loaded.validate()), (299, *kind, Ok(())));
        assert!((0..300u64).filter(|number| *number != 7).all(|number| loaded.contains(&number)), "{kind}");
    }
}

/// Commits, if there is something to commit.
fn commit(remote: &mut ByHash, writes: Vec<Write>) {
    if !writes.is_empty() {
        let sequence = remote.sequence().expect("no failure") + 1;
        remote.commit(&Commit { sequence, writes, ..Commit::default() }).expect("a commit that follows");
    }
}

/// A new table by hand: keys come and go on both sides of the cursor, and some of it is taken back.
fn grows_by_hand(variant: Variant, target: Target) {
    let pair = lived(variant);
    let (mut filter, mut remote) = (pair.filter().boxed(), pair.remote().clone());
    let mut set: BTreeSet<Vec<u8>> = stored(&remote);
    let begun = Growth::begin(&*filter, target, &remote).expect("there is room");
    let mut growth = begun.expect("a filter that is filled beside the old one");
    commit(&mut remote, growth.opening(None));
    let mut turn = 0;
    loop {
        let batch = growth.next_keys(7, &remote).expect("no failure");
        if batch.is_empty() {
            break;
        }
        commit(&mut remote, growth.additions(&batch));
        growth.fill(batch, &remote).expect("there is room");
        for number in turn * 4..turn * 4 + 4 {
            // Old keys go first, then those that came on the way.
            let (come, go) = (key(7_000 + number), key(if number < 40 { number * 2 } else { 6_960 + number }));
            for operation in [Operation::Insert(&come), Operation::Remove(&go)] {
                let before = (saved(&*filter), saved(growth.filter()));
                let plan = filter.plan(operation, &remote);
                let plan = plan.unwrap_or_else(|error| panic!("{variant:?}, key {number}: {error}"));
                assert!(!plan.is_nothing());
                let beside = growth.plan(operation, &remote).expect("the sets agree");
                assert!(!beside.gives_up);
                let writes = [plan.writes(), &beside.writes].concat();
                let undo = (
                    filter.apply(plan.clone()).expect("just planned"),
                    growth.apply(beside.clone()).expect("just planned"),
                );
                // Taken back, and done again.
                if let Some(undo) = undo.1 {
                    growth.undo(undo).expect("the last one");
                }
                filter.undo(undo.0).expect("the last one");
                assert!(before == (saved(&*filter), saved(growth.filter())), "{variant:?}: something is left");
                commit(&mut remote, writes);
                filter.apply(plan).expect("the filter is as it was");
                growth.apply(beside).expect("the new filter is as it was");
                match operation {
                    Operation::Insert(key) => set.insert(key.to_vec()),
                    _ => set.remove(&go[..]),
                };
            }
        }
        turn += 1;
        let keys: Vec<_> = set.iter().map(|key| key[..].into()).collect();
        assert_eq!(growth.validate(&keys, &remote), Ok(()), "{variant:?}, turn {turn}");
        let passed = set.iter().filter(|key| growth.has_passed(key));
        assert_eq!(growth.filter().len(), passed.clone().count() as u64, "{variant:?}, turn {turn}");
        assert!(passed.into_iter().all(|key| growth.filter().contains(key)), "{variant:?}, turn {turn}");
        assert!(set.iter().all(|key| filter.contains(key)), "{variant:?}, turn {turn}");
    }
    assert!(turn > 10, "{variant:?}: {turn} turns");
    commit(&mut remote, growth.switch());
    let mut new = growth.into_filter();
    assert!(filter.replace(&mut *new), "{variant:?}");
    let sequence = remote.sequence().expect("no failure");
    let grown = AdaptiveFilter::from_parts(filter, sequence, remote).expect("the same commit");
    assert_eq!((grown.len(), grown.validate()), (set.len() as u64, Ok(())), "{variant:?}");
}

#[test]
fn a_table_that_is_filled_agrees_with_an_exact_set_on_both_sides_of_its_cursor() {
    // A function of one value leaves owners that cannot be told, and no room behind them.
    let tellable = |variant: &&Variant| !variant.has_phases() && **variant != Variant::CyclicOffsets;
    for variant in Variant::ALL.iter().filter(tellable) {
        grows_by_hand(*variant, Target::Cells(2 * CELLS));
        grows_by_hand(*variant, Target::Cells(CELLS + 40));
        grows_by_hand(*variant, Target::Hash(HashKey::fixed(99)));
    }
}

#[test]
fn a_table_that_is_full_is_given_up_and_the_old_one_goes_on() {
    for variant in Variant::ALL.iter().filter(|variant| !variant.has_phases()) {
        let mut pair = lived(*variant);
        let room = pair.len() + 2;
        if pair.begin_grow(room).is_err() {
            continue;
        }
        let mut given_up = false;
        while pair.is_rebuilding() && !given_up {
            given_up = matches!(pair.rebuild_step(5), Err(Error::Full { .. }));
            for number in 0..3 {
                let inserted = pair.insert(&key(8_000 + pair.len() + number));
                assert!(matches!(inserted, Ok(_) | Err(Error::Full { .. })), "{variant:?}: {inserted:?}");
            }
        }
        assert!(!pair.is_rebuilding(), "{variant:?}");
        assert_eq!(pair.validate(), Ok(()), "{variant:?}");
        assert!(matches!(pair.rebuild_step(5), Err(Error::NotRebuilding)), "{variant:?}");
    }
}

#[test]
fn a_full_filter_plans_nothing() {
    for variant in Variant::ALL.iter().filter(|variant| !variant.has_phases()) {
        let mut pair = built(*variant, 20, 1);
        let mut number = 0;
        while pair.insert(&key(number)).is_ok() {
            number += 1;
        }
        let before = (saved(pair.filter()), pair.sequence());
        let plan = pair.filter().plan(Operation::Insert(&key(number)), pair.remote());
        assert!(matches!(plan, Err(PlanError::Full { keys, .. }) if keys == pair.len()), "{variant:?}");
        assert!(before == (saved(pair.filter()), pair.sequence()), "{variant:?}");
    }
}
