//! The command as users see it: names in its JSON, consistent numbers, bad input, closed pipes.

mod models;

use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

fn twiceshy(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    command.args(arguments.split_whitespace()).output().expect("the command starts")
}

fn json(arguments: &str) -> Value {
    object(&format!("replay {arguments} --json"))
}

fn object(arguments: &str) -> Value {
    let output = twiceshy(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn refusal(arguments: &str) -> String {
    let output = twiceshy(arguments);
    assert!(!output.status.success(), "{arguments} was accepted");
    assert!(output.stdout.is_empty(), "{arguments} printed something");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SMALL: &str = "--cells 1000 --load 0.9 --bits 8 --ratio 5 --per-key 10 --trials 2 --seed 3";

#[test]
fn the_report_has_every_promised_name_for_every_filter() {
    let names = [
        "filter",
        "cells",
        "keys",
        "bits_per_key",
        "trials",
        "queries",
        "distinct_queries",
        "false_positives",
        "unfixable",
        "still_present",
        "rebuilds",
        "remote_reads",
        "remote_keys_read",
        "remote_writes",
        "fpr",
        "fpr_sd",
        "first_time_fpr",
        "regret",
        "lookups_per_second",
        "seed",
    ];
    let filters = [
        "cuckoo",
        "cuckoo --partial-key",
        "cyclic",
        "cyclic --selector-bits 3 --refine",
        "cyclic --range-split 2 --selector-bits 2",
        "cyclic --offsets 100,200",
        "swapping",
        "swapping --all-cells --cells-per-bucket 8",
        "cuckooing",
        "cuckooing --moves shortest",
        "cuckooing --shared-fingerprint --max-steps 50 --tables 3",
        "cyclic --remote mirror --insertion random-walk",
        "swapping --hash xxh3 --remote mirror",
        "quotient",
        "telescoping",
        "telescoping --code 3,2 --side-table 5",
        "telescoping --expected-ratio 5 --hash xxh3",
        "telescoping-plain",
        "extension",
        "extension --side-table 3",
        "broom",
    ];
    for filter in filters {
        let report = json(&format!("--filter {filter} {SMALL}"));
        for name in names {
            assert!(!report[name].is_null(), "{filter} does not report {name}");
        }
        let number = |name: &str| report[name].as_f64().expect("a number");
        assert_eq!(report["filter"], filter.split(' ').next().expect("a name"));
        assert_eq!(number("queries"), 2.0 * 10.0 * 5.0 * number("keys"), "{filter}");
        assert!((number("fpr") - number("false_positives") / number("queries")).abs() < 1e-12, "{filter}");
        assert!(number("bits_per_key") > 8.0 && number("lookups_per_second") > 0.0, "{filter}");
        assert!(number("regret") >= 1.0 && number("first_time_fpr") > 0.0, "{filter}");
    }
}

#[test]
fn a_replay_counts_what_no_report_can_fix_and_what_one_report_did_not() {
    // Two tables of n cells for n keys: some n^(2/3) keys have one possible cell.
    let stuck = "--filter cuckooing --tables 2 --cells-per-bucket 1 --load 0.5 --cells 4096 --bits 4 --trials 2 --per-key 20 --seed 2";
    let counts = |arguments: &str| {
        let report = json(arguments);
        ["unfixable", "still_present", "false_positives"].map(|name| report[name].as_u64().expect("a count"))
    };
    let [unfixable, _, mistakes] = counts(stuck);
    assert!(unfixable > 1_000 && unfixable < mistakes, "{unfixable} of {mistakes}");
    // In other shapes a walk that comes back proves nothing.
    let [unfixable, still_present, _] = counts(&stuck.replace("--tables 2", "--tables 3").replace("0.5", "0.88"));
    assert!(unfixable < still_present, "{unfixable} and {still_present}");
    let text = String::from_utf8(twiceshy(&format!("replay {stuck}")).stdout).expect("text");
    assert!(text.contains("  that no report can fix") && text.contains("  that one report did not fix"), "{text}");
}

#[test]
fn the_quotient_family_reports_what_its_table_did() {
    // Remainders of 4 bits and fifty distinct queries a key: blocks overflow all the time.
    let busy = "--cells 2000 --load 0.95 --bits 4 --ratio 50 --per-key 5 --trials 2 --seed 3";
    let count = |filter: &str, name: &str| {
        let report = json(&format!("--filter {filter} {busy}"));
        report["table"][name].as_u64().unwrap_or_else(|| panic!("{filter} has no {name}"))
    };
    assert!(count("quotient", "slots_shifted") > 0);
    for name in ["resets_by_adapts", "reset_reads", "side_blocks"] {
        assert_eq!(count("telescoping", name) > 0, name != "side_blocks", "{name}");
        assert_eq!(
            count("extension", name) > 0,
            name == "resets_by_adapts",
            "an extension's reset needs no read: {name}"
        );
        assert_eq!(count("telescoping-plain", name), 0, "{name}");
        assert_eq!(count("telescoping --side-table 1000", name) > 0, name == "side_blocks", "{name}");
    }
    assert_eq!(count("telescoping", "resets_by_shifts"), 0, "nothing is inserted after the first adaptation");
    // One write for each key, by hash, whatever shifts.
    let report = json(&format!("--filter telescoping {busy}"));
    assert_eq!(report["remote_writes"].as_u64(), Some(2 * 1900));
}

#[test]
fn a_seed_gives_the_same_counts_with_any_number_of_jobs() {
    let run = |jobs: u32| {
        let mut report = json(&format!("--filter swapping {SMALL} --jobs {jobs}"));
        report["lookups_per_second"] = Value::Null;
        report
    };
    assert_eq!(run(1), run(2));
    assert_ne!(
        run(1)["false_positives"],
        json(&format!("--filter swapping {}", SMALL.replace("--seed 3", "--seed 4")))["false_positives"]
    );
}

#[test]
fn adapting_makes_fewer_mistakes_than_not_adapting() {
    let rate = |filter: &str| {
        let report = json(&format!("--filter {filter} --cells 4000 --bits 12 --ratio 5 --per-key 100 --trials 2"));
        report["fpr"].as_f64().expect("a rate")
    };
    let plain = rate("cuckoo");
    for filter in ["cyclic", "swapping", "cuckooing", "telescoping", "telescoping-plain", "extension", "broom"] {
        assert!(rate(filter) * 10.0 < plain, "{filter} {} against {plain}", rate(filter));
    }
}

#[test]
fn a_trace_is_split_into_stored_keys_and_queries() {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    for i in 0..2_000 {
        // 500 distinct keys: the first 100 are stored at A/S = 4, and each of the others is asked for four times.
        writeln!(file, "key-{}", if i < 500 { i } else { i % 500 }).expect("a line");
    }
    let report =
        json(&format!("--filter cyclic --bits 8 --ratio 4 --trials 2 --workload trace:{}", file.path().display()));
    let counts = ["keys", "queries", "distinct_queries"].map(|name| report[name].as_u64().expect("a count"));
    assert_eq!(counts, [100, 2 * 4 * 400, 2 * 400]);
    for extra in ["--cells 100", "--per-key 3", "--queries 3"] {
        let why =
            refusal(&format!("replay --filter cyclic --ratio 4 --workload trace:{} {extra}", file.path().display()));
        assert!(why.contains("leave --"), "{why}");
    }
}

#[test]
fn streams_of_the_papers_are_replayed_by_their_names() {
    let counts = |arguments: &str| {
        let report = json(&format!("--filter cyclic --bits 8 --trials 2 {arguments}"));
        let count = |name: &str| report[name].as_f64().expect("a count");
        let workload = report["workload"].as_str().expect("a name").to_owned();
        (workload, count("queries"), count("keys"), count("distinct_queries") / 2.0)
    };
    let (workload, queries, keys, distinct) = counts("--ratio 8 --workload active-set --queries 100000");
    assert_eq!((workload.as_str(), queries), ("active-set", 200_000.0));
    assert!((keys - distinct / 8.0).abs() <= 0.5 && distinct > 50_000.0, "{keys} {distinct}");
    let (workload, queries, keys, distinct) = counts("--ratio 5 --workload power-law --queries 50000");
    assert_eq!((workload.as_str(), queries), ("power-law", 100_000.0));
    assert!((keys - distinct / 5.0).abs() <= 0.5 && distinct > 1_000.0, "{keys} {distinct}");
    let (workload, _, keys, distinct) = counts("--ratio 4 --workload flows:chicago-a/200");
    assert_eq!((workload.as_str(), keys, distinct), ("synthetic-flows:chicago-a/200", 691.0, 3456.0 - 691.0));
    let (_, queries, ..) = counts("--cells 1000 --ratio 2 --workload zipf:1.1 --queries 777");
    assert_eq!(queries, 2.0 * 777.0);
}

#[test]
fn bad_arguments_are_refused_with_a_hint() {
    for (arguments, hint) in [
        ("replay --filter sieve", "cuckooing, quotient, telescoping, telescoping-plain, extension, broom, remembering"),
        ("replay --filter cyclic --bits 1", "2 to 32"),
        ("replay --filter cyclic --bits 33", "2 to 32"),
        ("replay --filter cyclic --load 0", "0.95"),
        ("replay --filter cyclic --load 1.5", "0.95"),
        ("replay --filter cyclic --load nan", "0.95"),
        ("replay --filter cyclic --load 0.999 --cells 4000", "lower --load"),
        ("replay --filter cyclic --ratio 0", "above 0"),
        ("replay --filter cyclic --ratio inf", "above 0"),
        ("replay --filter cyclic --trials 0", "at least 1"),
        ("lab run uniform-queries --trials 0", "at least 1"),
        ("replay --filter cyclic --per-key 0", "at least 1"),
        ("replay --filter cyclic --cells 0", "at least 8"),
        ("replay --filter cyclic --cells 99999999999999999", "4294967296 buckets"),
        ("replay --filter cyclic --tables 1", "2 to 8"),
        ("replay --filter cyclic --tables 9", "2 to 8"),
        ("replay --filter swapping --cells-per-bucket 1", "at least 2"),
        ("replay --filter cyclic --cells-per-bucket 9", "1 to 8"),
        ("replay --filter cyclic --selector-bits 5", "0 to 4"),
        ("replay --filter cyclic --bits 4 --selector-bits 4", "wider cells"),
        ("replay --filter cyclic --range-split 4", "1 to 3"),
        ("replay --filter cyclic --offsets 9,5", "increase"),
        ("replay --filter swapping --selector-bits 1", "--filter cyclic"),
        ("replay --filter cuckooing --max-steps 0", "1 to 1048576"),
        ("replay --filter cyclic --search-bound 0", "1 to 1048576"),
        ("replay --filter cyclic --workload zipf:0", "above 0"),
        ("replay --filter cyclic --workload pareto", "uniform"),
        ("replay --filter cyclic --workload trace:/no/such/file", "one key per line"),
        ("replay --filter cyclic --queries 0", "at least 1"),
        ("replay --filter cyclic --queries 9 --per-key 9", "leave one of them out"),
        ("replay --filter cyclic --workload active-set:0", "active-set:-0.5"),
        ("replay --filter cyclic --workload active-set --cells 100", "leave --cells out"),
        ("replay --filter cyclic --workload power-law --per-key 100", "give --queries"),
        ("replay --filter cyclic --workload power-law --queries 9 --ratio 100", "raise --queries"),
        ("replay --filter cyclic --workload active-set --queries 9999999999999999999", "lower --queries"),
        ("replay --filter cyclic --workload flows:chicago-a --queries 5", "leave --per-key and --queries out"),
        ("replay --filter cyclic --workload flows:boston", "flows:chicago-a"),
        ("replay --filter cyclic --workload flows:chicago-a/5000 --ratio 200", "at most 137"),
        ("replay --filter quotient --bits 1", "2 to 32"),
        ("replay --filter telescoping --bits 33", "2 to 32"),
        ("replay --filter telescoping --cells 0", "at least 8"),
        ("replay --filter extension --cells 99999999999999999", "1 to 2^36"),
        ("replay --filter telescoping --load 0.999 --cells 4000", "lower --load"),
        ("replay --filter telescoping --tables 4", "--filter cuckoo, cyclic, swapping, cuckooing or remembering"),
        ("replay --filter quotient --remote mirror", "--remote mirror is an option of"),
        ("replay --filter quotient --side-table 9", "--filter telescoping or extension"),
        ("replay --filter telescoping --code 1,2", "2 to 16"),
        ("replay --filter telescoping --code other", "tuned"),
        ("replay --filter telescoping --code 2,2 --expected-ratio 3", "leave --expected-ratio out"),
        ("replay --filter telescoping --expected-ratio nan", "must be 0 or more"),
        ("attack --filter quotient --adversary mallory", "fresh, repeat, rounds, delete-reinsert, cyclic, swapping"),
        ("attack --filter cyclic --adversary cyclic --selector-bits 2", "--bits"),
        ("attack --filter cyclic --adversary cyclic --bits 6 --fpr 0.1", "cannot be used with"),
        ("attack --filter cyclic --adversary cyclic --bits 6 --selector-bits 9", "must be 0 to 4"),
        ("attack --filter swapping --adversary cyclic --bits 6 --selector-bits 1", "option of --filter cyclic"),
        (
            "attack --filter broom --adversary cyclic --bits 6 --tables 2",
            "cuckoo, cyclic, swapping, cuckooing or remembering",
        ),
        ("attack --filter broom --adversary cyclic --bits 6 --load 1.5", "up to 1"),
        ("attack --filter cyclic --adversary fresh --form back-yard", "option of --filter broom"),
        ("attack --filter cyclic --adversary repeat --most-queries 9", "unfixable, silent-probing, not of repeat"),
        ("attack --filter cyclic --adversary cyclic --most-rounds 9", "unfixable, not of cyclic"),
        ("attack --filter cyclic --adversary cyclic --effort 0", "above 0"),
        (
            "attack --filter bloom --adversary crash",
            "These only ask: fresh, repeat, rounds, cyclic, swapping, unfixable",
        ),
        (
            "attack --filter bloom-listed --adversary repeat,swap",
            "swap cannot attack bloom-listed: it asks, inserts and deletes",
        ),
        ("attack --filter bloom --adversary fresh --bits 1", "2 to 64"),
        ("attack --filter cuckoo-cache --adversary fresh --bits 2", "raise --bits"),
        ("attack --filter quotient", "--adversary"),
        ("attack --filter quotient --adversary fresh --fpr 0", "between 1e-9 and 1"),
        ("attack --filter quotient --adversary fresh --fpr 2", "between 1e-9 and 1"),
        ("attack --filter cyclic --adversary fresh --fpr nan", "between 1e-9 and 1"),
        ("attack --filter cyclic --adversary fresh --fpr 1e-30", "between 1e-9 and 1"),
        ("attack --filter quotient --adversary fresh --keys 0", "1 to 2^35"),
        ("attack --filter quotient --adversary fresh --keys 99999999999999999", "at most 16777216"),
        ("attack --filter quotient --adversary fresh --games 0", "at least 1"),
        ("attack --filter telescoping --adversary fresh --phases 1", "only those of a broom filter"),
        ("attack --filter broom --adversary fresh --phases 99999999999", "fewer phases"),
        ("demo --keys 3", "1000"),
        ("demo --fpr 0.6", "0.000001 to 0.5"),
        ("demo --fpr 2", "between 1e-9 and 1"),
        ("demo --fpr nan", "between 1e-9 and 1"),
    ] {
        let why = refusal(arguments);
        assert!(why.contains(hint), "{arguments}: {why}");
        assert!(!why.contains("this is a bug"), "{arguments}: {why}");
    }
}

const FEW_GAMES: &str = "--keys 200 --fpr 0.05 --games 30 --seed 3";

#[test]
fn an_attack_reports_every_promised_name_for_every_filter_and_adversary() {
    let filters = [
        "cuckoo",
        "cyclic",
        "swapping",
        "cuckooing",
        "quotient",
        "telescoping",
        "telescoping-plain",
        "extension",
        "broom",
    ];
    for filter in filters {
        for adversary in ["fresh", "repeat", "rounds", "delete-reinsert", "cyclic", "swapping", "unfixable"] {
            let what = format!("{adversary} against {filter}");
            let searches = ["cyclic", "swapping", "unfixable"].contains(&adversary);
            let bound = if searches { "--most-queries 2000" } else { "" };
            let report =
                object(&format!("attack --filter {filter} --adversary {adversary} {FEW_GAMES} {bound} --json"));
            assert_eq!(report["search"]["named_wins"].is_u64(), searches, "{what}");
            assert_eq!(report["search"]["suspects"]["mean"].is_f64(), adversary == "unfixable", "{what}");
            assert_eq!((&report["filter"], &report["adversary"]), (&filter.into(), &adversary.into()));
            let number = |name: &str| report[name].as_f64().unwrap_or_else(|| panic!("{what}: no {name}"));
            assert_eq!(["games", "keys", "epsilon", "seed"].map(number), [30.0, 200.0, 0.05, 3.0], "{what}");
            assert!((number("win_rate") - number("wins") / 30.0).abs() < 1e-12, "{what}");
            let interval = number("win_rate_low")..=number("win_rate_high");
            assert!(interval.contains(&number("win_rate")), "{what}: {interval:?}");
            assert!(number("static_rate") <= 0.05 && number("static_rate") > 0.02, "{what}");
            assert!(number("false_positives") <= number("queries"), "{what}");
            assert_eq!(number("queries") > 0.0, adversary != "fresh", "{what}");
            assert_eq!(number("deletions") > 0.0, adversary == "delete-reinsert", "{what}");
            let bits = ["local_bits_per_key_start", "local_bits_per_key_end"].map(number);
            assert!(bits.iter().all(|bits| (6.0..100.0).contains(bits)), "{what}: {bits:?}");
            let [asked, at_start, at_end] = ["phases", "phases_at_start", "phases_at_end"].map(number);
            assert!(asked == 0.0 && at_start <= at_end, "{what}: {asked} phases, {at_start} to {at_end}");
            assert_eq!(at_end > 0.0, filter == "broom", "{what}: {at_end} phases");
        }
    }
}

#[test]
fn all_adversaries_are_reported_as_each_would_be_alone() {
    let attack = "attack --filter broom --keys 100 --fpr 0.05 --games 12 --json";
    let all = object(&format!("{attack} --adversary all"));
    let all = all.as_array().expect("an array");
    assert_eq!(all.len(), 25);
    for report in all {
        let name = report["adversary"].as_str().expect("a name");
        let number = |name: &str| report[name].as_f64().unwrap_or_else(|| panic!("no {name}"));
        assert!(number("nameable") >= 12.0 && number("nameable_wrong") <= number("nameable"), "{name}");
        assert!((0.0..=1.0).contains(&number("pool_rate")) && number("pool_rate_se") >= 0.0, "{name}");
        assert_eq!(number("refusals") > 0.0, report["lowest_refused_load"].is_f64(), "{name}");
        if ["swap", "crash", "lottery"].contains(&name) {
            assert_eq!(*report, object(&format!("{attack} --adversary {name}")), "{name}");
        }
    }
    let shown = twiceshy("attack --filter broom --keys 100 --games 2 --adversary swap,crash --form back-yard");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(["swap ", "crash ", "pool rate", "of 2 adversaries"].iter().all(|row| text.contains(row)), "{text}");
}

#[test]
fn rivals_are_attacked_by_the_adversaries_that_they_can_meet() {
    for (filter, adversaries) in [("bloom", 3), ("blocked-bloom", 3), ("bloom-listed", 3), ("cuckoo-cache", 25)] {
        let reports = object(&format!("attack --filter {filter} --adversary all {FEW_GAMES} --json"));
        let reports = reports.as_array().expect("a report for each adversary");
        assert_eq!(reports.len(), adversaries, "{filter}");
        let won = |name: &str| {
            let own = reports.iter().find(|report| report["adversary"] == name).expect("it played");
            own["wins"].as_u64().expect("a count")
        };
        // Who keeps no list, or too short a list, makes its mistakes again; Lemma 28's filter makes none twice.
        assert_eq!(won("repeat") >= 20, filter != "bloom-listed", "{filter}: {}", won("repeat"));
        assert!(won("fresh") <= 6, "{filter}");
    }
}

#[test]
fn an_attack_that_needs_a_frontier_reports_its_moves_or_that_there_is_none() {
    let attack = "attack --adversary silent-probing --keys 60 --fpr 0.02 --games 10 --seed 3";
    for form in ["back-yard", "two-levels"] {
        let report = object(&format!("{attack} --filter broom --form {form} --json"));
        let [found, missed, alarms] =
            ["moves_found", "moves_missed", "false_alarms"].map(|name| report[name].as_u64().expect(name));
        assert!(found > 5 && 4 * found >= found + missed && alarms == 0, "{form}: {found}, {missed}, {alarms}");
    }
    let without = object(&format!("{attack} --filter telescoping --json"));
    assert_eq!((&without["moves_found"], &without["nameable"]), (&0.into(), &10.into()), "a fresh key in each game");
    let shown = twiceshy(&format!("{attack} --filter telescoping"));
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("telescoping has no frontier, so silent-probing learns nothing"), "{text}");
    let other = object(&format!("attack --filter broom --adversary swap {FEW_GAMES} --json"));
    assert!(other["moves_found"].is_null(), "it does not look for them");
}

#[test]
fn an_attack_is_played_in_the_geometry_that_is_asked_for() {
    let attack =
        "attack --filter cyclic --adversary cyclic --keys 300 --games 20 --bits 5 --selector-bits 1 --load 0.9";
    let report = object(&format!("{attack} --json"));
    // 4×1 cells of which nine in ten are in use, and 15 values of the first function.
    let rate = report["static_rate"].as_f64().expect("a number");
    assert!((rate - 0.219).abs() < 0.002 && report["epsilon"] == report["static_rate"], "{rate}");
    assert_eq!((&report["wins"], &report["search"]["named"]), (&20.into(), &20.into()));
    let output = twiceshy(attack);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(["95 % interval", "keys tried a game", "found and named"].iter().all(|row| text.contains(row)), "{text}");
}

#[test]
fn an_attack_begins_after_the_phases_that_are_asked_for() {
    let attack = format!("attack --filter broom --adversary repeat {FEW_GAMES} --phases 2");
    let report = object(&format!("{attack} --json"));
    assert_eq!(report["phases"], 2);
    let at_start = report["phases_at_start"].as_f64().expect("a number");
    // Half way into the third, or six keys of 200 further.
    assert!((2.5..=2.54).contains(&at_start), "{at_start}");
    let shown = twiceshy(&attack);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.lines().any(|line| line.starts_with("phases at the start") && line.contains("2.5")), "{text}");
}

#[test]
fn an_attack_has_the_same_outcome_with_any_number_of_jobs() {
    let attack = "attack --filter cyclic --adversary repeat --keys 200 --fpr 0.05 --games 50 --json";
    let run = |rest: &str| object(&format!("{attack} {rest}"));
    let one = run("--seed 3 --jobs 1");
    assert_eq!(one, run("--seed 3 --jobs 2"));
    assert_eq!(one, run("--seed 3 --jobs 7"));
    assert_ne!(one["false_positives"], run("--seed 4")["false_positives"]);
}

#[test]
fn an_attack_says_what_its_win_rate_means() {
    let said = |filter: &str| {
        let output = twiceshy(&format!("attack --filter {filter} --adversary repeat {FEW_GAMES}"));
        assert!(output.status.success() && output.stderr.is_empty(), "no progress without a terminal");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let quotient = said("quotient");
    assert!(quotient.contains("repeat wins 100.000 % of its games against quotient, 20.0 times epsilon"), "{quotient}");
    let telescoping = said("telescoping");
    assert!(telescoping.contains("holds what an adaptive filter promises"), "{telescoping}");
}

#[test]
fn the_demo_prints_its_table_and_a_closed_pipe_ends_it_quietly() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut demo = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    demo.args(["demo", "--keys", "5000"]).env("TMPDIR", folder.path());
    let shown = demo.output().expect("the command starts");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0, "the stores are gone");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.status.success()
            && ["plain cuckoo", "cyclic", "swapping", "cuckooing", "telescoping", "extension"]
                .iter()
                .all(|name| text.contains(name))
    );
    assert!(shown.stderr.is_empty(), "no progress without a terminal");
    let mut child = demo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
