//! With all rules on, no answer is wrong.

use crate::configurations::*;
use crate::rules::Rules;
use crate::search::holds;

macro_rules! holds {
    ($($test:ident: $configuration:ident;)*) => {
        $(#[test]
        fn $test() {
            holds($configuration, Rules::ALL, 1);
        })*
    };
}

holds! {
    insertions_respect_leases: LEASES;
    acknowledgements_respect_leases: ACKS;
    suspended_processes_say_nothing_wrong: PAUSE;
    writers_of_two_keys_keep_each_others_key: TWO_KEYS;
    removed_keys_can_be_inserted_again: REMOVAL;
    struck_out_members_say_nothing_wrong: STRIKE_OUT;
    closed_announcements_leave_no_row_behind: CLOSING;
    late_values_are_fenced: LATE_VALUES;
    a_crashed_writers_values_are_fenced: WRITER_CRASH;
    an_engine_crash_breaks_no_lease: ENGINE_CRASH;
    growth_and_exceptions_lose_no_key: GROWTH;
    joining_members_say_nothing_wrong: JOIN;
    within_is_late_by_no_more_than_it_says: WITHIN;
    at_least_sees_the_tokens_insertion: AT_LEAST;
}
