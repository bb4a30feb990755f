//! Stores survive when the processes that work on them are killed, and when their files are damaged.

use serde_json::Value;
use std::process::Command;

/// Runs `twiceshy lab torture` in a folder, and returns its report.
fn torture(folder: &std::path::Path, args: &[&str]) -> Value {
    let mut torture = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    torture.args(["lab", "torture", "--json", "--folder"]).arg(folder).args(args);
    let output = torture.output().expect("the command starts");
    let words = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON object: {words}"));
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(0), "{report:#}");
    assert!(output.status.success(), "{words}");
    report
}

#[test]
fn a_store_survives_when_its_process_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let ordeals = ["--ordeals", "snapshot,maps,threads,flood"];
    let report = torture(folder.path(), &[&["--rounds", "100", "--seed", "3"], &ordeals[..]].concat());
    let count = |name: &str| report[name].as_u64().expect(name);

    assert_eq!(count("rounds"), 100);
    assert_eq!(count("killed_working") + count("killed_opening") + count("ended"), 100);
    // Every filter had its turn, and enough has happened.
    assert_eq!(count("stores"), 10);
    for (name, least) in [
        ("killed_working", 50),
        ("killed_opening", 1),
        ("ended", 1),
        ("operations", 500),
        ("adapted", 100),
        ("grown", 1),
        ("damaged", 10),
        ("went_back", 3),
        ("from_snapshot", 5),
        ("rolled_forward", 8),
        ("rebuilt", 10),
        ("repaired", 3),
        ("lost", 1),
    ] {
        assert!(count(name) >= least, "{name} is below {least}: {report}");
    }
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "the stores are gone, as nothing was wrong with them");
    for (ordeal, least) in [("forged snapshot", 10), ("tampered maps", 5), ("threads", 2), ("a flood", 2)] {
        let counts = report["ordeals"].as_object().expect("counts").iter();
        let counts = counts.filter(|(name, _)| name.starts_with(ordeal));
        let sum: u64 = counts.filter_map(|(_, count)| count.as_u64()).sum();
        assert!(sum >= least, "{ordeal} is below {least}: {report}");
    }
}

#[test]
fn a_store_with_a_damaged_file_is_refused_or_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = torture(folder.path(), &["--rounds", "150", "--seed", "4", "--ordeals", "file"]);
    let counts = report["ordeals"].as_object().expect("counts");
    let sum = |start: &str| {
        let counts = counts.iter().filter(|(name, _)| name.starts_with(start));
        counts.filter_map(|(_, count)| count.as_u64()).sum::<u64>()
    };
    let ended = sum("damaged file, in the end");
    assert!(ended >= 15 && sum("damaged file:") == ended, "{report}");
}

#[test]
fn no_row_is_turned_away_when_a_process_that_holds_tickets_is_killed_or_the_power_fails() {
    for (power, seed) in [(false, "3"), (true, "4")] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut torture = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
        torture
            .args(["lab", "torture-tickets", "--json", "--rounds", "40", "--seed", seed, "--folder"])
            .arg(folder.path());
        let output = torture.args(power.then_some("--power")).output().expect("the command starts");
        let words = String::from_utf8_lossy(&output.stderr);
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON object: {words}"));
        assert_eq!(report["failures"].as_array().map(Vec::len), Some(0), "{report:#}");
        assert!(output.status.success(), "{words}");
        let count = |name: &str| report[name].as_u64().expect(name);
        assert_eq!((count("rounds"), count("killed") + count("ended")), (40, 40));
        for (name, least) in [("killed", 25), ("closed", 120), ("cut_off", 60), ("guards", 3)] {
            assert!(count(name) >= least, "{name} is below {least}: {report}");
        }
        assert!(report["killed_after"].as_object().is_some_and(|steps| steps.len() >= 4), "{report}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left");
    }
}
