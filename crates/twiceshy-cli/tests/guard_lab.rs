//! The experiments with the guard run, and their reports are consistent. Their times are not tested.

use serde_json::Value;
use std::process::Command;

fn run(arguments: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    command.arg("lab").args(arguments.split_whitespace()).arg("--folder").arg(folder.path());
    let words = command.output().expect("the command starts");
    assert!(words.status.success() && !words.stdout.is_empty(), "{}", String::from_utf8_lossy(&words.stderr));
    let output = command.arg("--json").output().expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "nothing stays behind");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn every_subject_is_measured_under_all_traffic_and_delays() {
    let report = run("guard --keys 2000 --fpr 0.02 --delays 0,100 --threads 1,2 --seconds 0.05");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 4 * 2 * 5);
    let number = |row: &Value, name: &str| row[name].as_f64().expect("a number");
    for row in rows {
        assert!(number(row, "lookups_per_second") > 0.0 && number(row, "ratio_to_plain") > 0.0, "{row}");
        let (asked, subject) = (number(row, "asked"), row["subject"].as_str().expect("a name"));
        match (row["traffic"].as_str().expect("a name"), subject) {
            (_, "bare") | ("replay", "plain") => assert_eq!(asked, 1.0, "{row}"),
            ("replay", "adaptive") => assert!(asked < 0.5, "{row}"),
            ("uniform", _) => assert!(asked < 0.1, "{row}"),
            _ => {}
        }
        if row["delay_us"] == 100 && asked == 1.0 {
            assert!(number(row, "p50_ns") >= 100_000.0, "{row}");
        }
    }
}

#[test]
fn chosen_subjects_take_turns_and_their_spread_holds_the_median() {
    let report = run(
        "guard --keys 2000 --fpr 0.02 --delays 0 --threads 1,2 --seconds 0.02 --traffic uniform,zipf --subjects adaptive \
         --runs 3 --cache 64M",
    );
    assert_eq!((&report["runs"], &report["cache_bytes"]), (&Value::from(3), &Value::from(64_000_000)));
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 2 * 2, "the plain filter is measured too");
    for row in rows {
        let is_within = |spread: &Value, median: f64| {
            let [lowest, highest] = ["lowest", "highest"].map(|end| spread[end].as_f64().expect("a number"));
            spread["median"] == median && lowest <= median && median <= highest
        };
        assert!(is_within(&row["rate_spread"], row["lookups_per_second"].as_f64().expect("a number")), "{row}");
        assert!(is_within(&row["ratio_spread"], row["ratio_to_plain"].as_f64().expect("a number")), "{row}");
        assert_eq!(row["ratio_to_one_thread"].is_null(), row["threads"] == 1, "{row}");
        if row["subject"] == "plain" {
            assert_eq!((&row["ratio_to_plain"], &row["adapted"]), (&Value::from(1.0), &Value::from(0)), "{row}");
        }
    }
}

#[test]
fn a_store_is_opened_in_every_way() {
    for filter in ["telescoping", "broom"] {
        let report = run(&format!("opening --keys 4000 --changes 100 --filter {filter}"));
        assert_eq!((&report["keys"], &report["changes"]), (&Value::from(4_000), &Value::from(100)));
        for time in ["filling", "store", "snapshot", "rolled_forward", "unfiltered", "rebuilt"] {
            assert!(report[format!("{time}_seconds")].as_f64().is_some_and(|seconds| seconds > 0.0), "{report}");
        }
    }
}

#[test]
fn look_ups_are_timed_while_a_store_doubles() {
    let report = run("growing --keys 3000");
    assert!(report["grown"].as_u64().is_some_and(|grown| grown >= 1), "{report}");
    assert!(report["growing"]["lookups"].as_u64().is_some_and(|lookups| lookups > 0), "{report}");
    assert!(report["growing"]["longest_ns"].as_u64() >= report["growing"]["p50_ns"].as_u64(), "{report}");
}
