//! Stores survive when the processes that work on them are killed.

use serde_json::Value;
use std::process::Command;

#[test]
fn a_store_survives_when_its_process_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut torture = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    torture.args(["lab", "torture", "--rounds", "100", "--seed", "3", "--json", "--folder"]).arg(folder.path());
    let output = torture.output().expect("the command starts");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let count = |name: &str| report[name].as_u64().expect(name);

    assert_eq!(report["failures"].as_array().map(Vec::len), Some(0), "{report}");
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
    ] {
        assert!(count(name) >= least, "{name} is below {least}: {report}");
    }
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "the stores are gone, as nothing was wrong with them");
}
