//! Each rule switched off alone: the search finds a wrong answer, or shows that safety does not need the rule.

use std::collections::HashSet;

use crate::configuration::Configuration;
use crate::configurations::*;
use crate::process::DRIFT;
use crate::rules::{Rule, Rules};
use crate::search::{counterexample, holds};

/// Lists the rules that safety needs, each with the configuration that breaks without it, and makes a test of each.
macro_rules! needed {
    ($($(#[$words:meta])* $test:ident: $rule:ident in $configuration:ident;)*) => {
        const NEEDED: &[(Rule, Configuration)] = &[$((Rule::$rule, $configuration)),*];
        $($(#[$words])*
        #[test]
        fn $test() {
            let steps = counterexample($configuration, Rules::ALL.without(Rule::$rule), None);
            let steps = steps.expect("without the rule a look-up says absent wrongly");
            println!("without {:?}: {:?}", Rule::$rule, steps);
        })*
    };
}

needed! {
    /// 0 announces; 2, which has not applied it, announces the other key on top; 1 applies both and has lost the first.
    without_cas_a_record_loses_anothers_key: Cas in TWO_KEYS;
    /// 0 announces and writes at once; 1 looks up within its lease, without the record.
    without_wait_a_value_precedes_its_record: Wait in LEASES;
    /// 0 announces and waits for D by a fast clock; the lease of 1 still runs.
    without_drift_a_slow_clock_outlasts_the_wait: Drift in LEASES;
    /// 0 sends its announcement; 1 renews; the announcement is executed and its wait is over at once.
    without_arrived_the_wait_is_over_too_early: Arrived in LEASES;
    /// 1 renews; 0 announces; the renewal's answer arrives late and its lease outlasts the wait.
    without_sent_a_late_answer_gives_a_long_lease: Sent in LEASES;
    /// 0 announces, waits and writes; 1 renews and looks up before it applies the record.
    without_applied_a_lease_covers_an_old_filter: Applied in LEASES;
    /// 0 announces, waits and writes; 1 looks up without a lease.
    without_lease_an_old_filter_answers: Lease in LEASES;
    /// 0 announces; 1 is suspended past its lease, wakes up and looks up with the time kept before.
    without_own_clock_a_stale_time_is_used: OwnClock in PAUSE;
    /// 0 announces; 1 is suspended past its lease while its clock stands still.
    without_boottime_a_suspended_clock_stands_still: Boottime in PAUSE;
    /// 0 sends its value; 2 strikes 0 out and closes its announcement; the value is written, its key is in no filter.
    without_fence_a_late_value_is_written: Fence in CLOSING;
    /// 0 announces and sends its value; 2 removes the key; the value is written; the key is not in the log.
    without_open_a_removal_takes_an_announced_key_out: Open in REMOVAL;
    /// 2 deletes the row in a first transaction; 0 writes a new one, which closes its announcement; 2 appends
    /// the removal in a second.
    without_row_a_removal_takes_a_new_key_out: Row in REMOVAL;
    /// 0 announces and is silent; 2 inserts the same key, strikes 0 out and closes its announcement.
    without_look_closing_takes_a_key_with_a_row_out: Look in CLOSING;
    /// 0 announces; 2 strikes 1 out, which has a lease; 0 does not wait for it.
    without_silent_a_member_with_a_lease_is_struck_out: Silent in STRIKE_OUT;
    /// As before, but 2 waits for D by a fast clock.
    without_silent_drift_a_slow_member_is_struck_out: SilentDrift in STRIKE_OUT;
    /// 2 strikes 1 out; 1 renews all the same; 0 inserts and does not wait for it.
    without_struck_knows_a_lease_is_renewed_by_nobody: StruckKnows in STRIKE_OUT;
    /// The engine forgets its members; 0 announces and waits for none of them.
    without_durable_members_are_forgotten: Durable in ENGINE_CRASH;
    /// 2 watches 1; 1 renews; the engine forgets the renewal; 2 strikes 1 out within its lease.
    without_renewal_durable_a_renewal_is_forgotten: RenewalDurable in ENGINE_CRASH;
    /// 1 lists the key as absent; 0 announces; 1 applies the record and acknowledges it; its list still says absent.
    without_exceptions_a_list_outlives_an_announcement: Exceptions in GROWTH;
    /// 2 switches to a new table; 0 announces; 1 acknowledges both and looks up in its old table.
    without_loaded_the_old_table_answers: Loaded in GROWTH;
    /// 1 crashes and is struck out; it reads the head; 0 inserts; 1 registers with a lease from its reading.
    without_join_a_lease_precedes_the_membership: Join in JOIN;
    /// 0 announces; 1 acknowledges within its lease and looks up before it applies.
    without_acks_mean_applied_an_ack_is_a_lie: AcksMeanApplied in ACKS;
    /// 1 queries; a row is written; the answer arrives Δ later and is used for another Δ.
    without_within_sent_an_old_answer_is_used: WithinSent in WITHIN;
    /// A row is written with plain SQL; Δ later 1 queries the head, which does not have it yet.
    without_within_outbox_a_plain_row_is_missed: WithinOutbox in WITHIN;
    /// A row is written with plain SQL; 2 deletes the outbox entry; 1 queries; the record is not there yet.
    without_outbox_an_entry_precedes_its_record: Outbox in WITHIN;
    /// 0 inserts and returns a token; 1, which has not applied it, looks up.
    without_at_least_a_token_is_ignored: AtLeast in AT_LEAST;
    /// 0 inserts; 1 probes its old filter, then applies the record with a new lease, then reads its clock.
    without_probe_last_an_old_probe_meets_a_new_lease: ProbeLast in LEASES;
    /// 1, without a lease, renews; 0 announces; 1 acknowledges that unread; the renewal's answer gives it a lease from
    /// before the announcement.
    without_lease_covers_acks_an_old_head_gives_a_lease: LeaseCoversAcks in ACKS;
    /// 2 announces the other key; 1 renews; 0 announces; 1 acknowledges both unread, because its lease does not count
    /// yet; 1 applies the first record, and its lease counts.
    without_pending_lease_an_ack_precedes_a_lease: PendingLease in ACKS;
    /// 0 and 2 announce the same key; 2 strikes 0 out and closes its announcement, which takes the key out; 2 writes.
    without_last_open_closing_takes_an_announced_key_out: LastOpen in CLOSING;
    /// 0 gives a value up; 2 strikes 0 out and closes its announcement; 0, unaware of it, announces the key again;
    /// the late value takes the new announcement for its own, before the wait.
    without_fence_by_position_a_late_value_passes: FenceByPosition in LATE_VALUES;
    /// 1 checks the index; 0 announces; 1 applies the record; the check's answer arrives.
    without_exception_fresh_an_old_check_is_used: ExceptionFresh in GROWTH;
    /// 1 lists the key as absent; 0 announces; 1 loads a snapshot instead of the record.
    without_snapshot_clears_a_list_outlives_a_snapshot: SnapshotClears in GROWTH;
}

/// Rules that safety does not need, with the configuration that holds without them.
///
/// `Struck`: the fence makes it safe to close anybody's announcement: the owner's value is refused. Without the rule an
/// insertion could be refused again and again, so it is needed for progress.
const NOT_NEEDED: &[(Rule, Configuration)] = &[(Rule::Struck, CLOSING)];

#[test]
fn some_rules_are_needed_for_progress_only() {
    for &(rule, configuration) in NOT_NEEDED {
        holds(configuration, Rules::ALL.without(rule), 1);
    }
}

/// One clock runs fast and another slow, each by the drift: the waits must allow for the sum.
#[test]
fn the_drift_is_that_of_two_clocks_together() {
    let mut apart = LEASES;
    apart.budget.drifts = 2 * DRIFT;
    assert!(counterexample(apart, Rules::ALL, None).is_some());
}

#[test]
fn every_rule_is_tested_once() {
    let tested: HashSet<Rule> = NEEDED.iter().chain(NOT_NEEDED).map(|&(rule, _)| rule).collect();
    assert_eq!(tested.len(), NEEDED.len() + NOT_NEEDED.len());
    assert_eq!(tested.len(), Rule::COUNT);
}

#[test]
#[ignore = "searches again until no counterexample is shorter"]
fn print_the_shortest_counterexamples() {
    for &(rule, configuration) in NEEDED {
        let rules = Rules::ALL.without(rule);
        let mut steps = counterexample(configuration, rules, None).expect("the rule is needed");
        while let Some(fewer) = counterexample(configuration, rules, Some(steps.len())) {
            steps = fewer;
        }
        println!("{rule:?} | {} | {} | {steps:?}", configuration.name, steps.len());
    }
}
