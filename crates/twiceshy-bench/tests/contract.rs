//! What programs that run the benchmark rely on: its flags, its names and fields, and figures that can be true.

use serde_json::Value;
use std::process::{Command, Output};
use twiceshy::sizing::{cuckoo_rate, quotient_rate};

const OURS: [&str; 12] = [
    "cuckoo",
    "cuckoo-full",
    "cyclic",
    "swapping",
    "cuckooing",
    "remembering",
    "quotient",
    "quotient-keys",
    "telescoping",
    "telescoping-plain",
    "extension",
    "broom",
];

const PEERS: [&str; 8] = [
    "qfilter",
    "fastbloom",
    "fastbloom-siphash",
    "cuckoofilter",
    "scalable_cuckoo_filter",
    "xorf",
    "sbbf-rs-safe",
    "hashbrown",
];

const FLOORS: [&str; 4] = ["floor-line", "floor-line-prefetch", "floor-line-huge", "floor-line-prefetch-huge"];

const FIELDS: [&str; 12] = [
    "name",
    "ours",
    "keys",
    "load",
    "bits_per_key",
    "fpr",
    "insert_mops",
    "negative_mops",
    "positive_mops",
    "mixed_mops",
    "negative_batch_mops",
    "negative_adapted_mops",
];

/// Filters that adapt.
const ADAPTIVE: [&str; 8] =
    ["remembering", "cyclic", "swapping", "cuckooing", "telescoping", "telescoping-plain", "extension", "broom"];

/// Filters that need no keys behind them.
const KEYLESS: [&str; 2] = ["cuckoo", "quotient"];

const KEYS: u64 = 2_000;

/// The absent keys that a quick run measures the rate with.
const ASKED: f64 = 400_000.0;

fn bench(arguments: &[&str], out: &std::path::Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twiceshy-bench"));
    command.args(arguments).arg("--out").arg(out).output().expect("the benchmark starts")
}

fn list(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON list")
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} of {row} is a number"))
}

/// The rate that a filter of ours has by its formula.
fn promised(name: &str) -> f64 {
    match name.trim_end_matches("-siphash") {
        "cuckoo" | "swapping" => cuckoo_rate(0.95, (1 << 12) - 1, 8),
        "cuckoo-full" | "cuckooing" | "remembering" => cuckoo_rate(0.95, (1 << 11) - 1, 4),
        // One bit of the cell is the selector.
        "cyclic" => cuckoo_rate(0.95, (1 << 10) - 1, 4),
        _ => quotient_rate(0.95, 8),
    }
}

fn check_ours(row: &Value, name: &str) {
    let plain = name.trim_end_matches("-siphash");
    let (rate, promised) = (number(row, "fpr"), promised(name));
    // Binomial, and a little for what a table of this size has more or less of.
    let bound = 5.0 * (promised / ASKED).sqrt() + 0.02 * promised;
    assert!((rate - promised).abs() < bound, "{name}: {rate}, not {promised} ± {bound}");
    assert!((0.94..=0.951).contains(&number(row, "load")), "{row}");
    assert_eq!(row["negative_adapted_mops"].is_number(), ADAPTIVE.contains(&plain), "{row}");
    assert_eq!(row["positive_adapted_mops"].is_number(), ADAPTIVE.contains(&plain), "{row}");
    assert_eq!(row["remote_insert_mops"].is_number(), !KEYLESS.contains(&plain), "{row}");
    if ADAPTIVE.contains(&plain) {
        // Ten absent keys for each stored one were asked.
        let (mistakes, expected) = (number(row, "mistakes_adapted"), promised * 10.0 * KEYS as f64);
        assert!((mistakes - expected).abs() < 5.0 * expected.sqrt(), "{name}: {mistakes} mistakes, not {expected}");
    }
}

fn check_peer(row: &Value, name: &str) {
    let rate = number(row, "fpr") * 256.0;
    let bounds = match name {
        // Fingerprints of 8 bits, which is all that it offers, and a table that may be half empty.
        "cuckoofilter" => 3.0..9.0,
        // Their tables are powers of two, and may be half empty.
        "qfilter" => 0.4..1.1,
        "scalable_cuckoo_filter" => 0.1..1.1,
        "hashbrown" => 0.0..f64::MIN_POSITIVE,
        _ => 0.7..1.4,
    };
    assert!(bounds.contains(&rate), "{name}: {rate} / 256");
    assert!(row["negative_adapted_mops"].is_null() && row["remote_insert_mops"].is_null(), "{row}");
}

#[test]
fn a_quick_run_has_every_name_and_field_and_no_filter_loses_a_key() {
    let out = tempfile::tempdir().expect("a folder");
    let rows = list(&bench(&["--keys", "2000", "--quick", "--json"], out.path()));
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().expect("a name")).collect();
    let siphash = OURS.map(|name| format!("{name}-siphash"));
    let ours: Vec<&str> = OURS.into_iter().chain(siphash.iter().map(String::as_str)).collect();
    let expected: Vec<&str> = ours.iter().copied().chain(PEERS).chain(FLOORS).collect();
    assert_eq!(names, expected);
    for (row, name) in rows.iter().zip(&names) {
        for field in FIELDS {
            assert!(row.get(field).is_some(), "{name} has no field {field}");
        }
        assert_eq!(row["ours"], ours.contains(name), "{name}");
        assert_eq!(row["keys"], KEYS);
        if FLOORS.contains(name) {
            continue;
        }
        assert_eq!(row["lost_keys"], 0, "{name}");
        assert!(row["insert_spread"].is_null(), "{name}: a quick run fills once");
        for field in ["bits_per_key", "insert_mops", "negative_mops", "positive_mops", "mixed_mops"] {
            assert!(number(row, field) > 0.0, "{row}");
        }
        match row["ours"] == true {
            true => check_ours(row, name),
            false => check_peer(row, name),
        }
    }
    check_files(out.path(), &names);
}

/// The floor is read in a table of quotient's bytes. Without huge pages its figure is null, and never missing.
#[test]
fn floors_have_a_figure_or_null() {
    let out = tempfile::tempdir().expect("a folder");
    let rows = list(&bench(&["--keys", "3000", "--quick", "--json", "--only", "quotient,qfilter"], out.path()));
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row {name}"));
    assert!(number(row("floor-line"), "negative_mops") > 0.0);
    for name in FLOORS {
        let floor = row(name);
        assert!(floor["negative_mops"].is_null() || number(floor, "negative_mops") > 0.0, "{floor}");
        assert!(floor["positive_mops"].is_null() && floor["fpr"].is_null(), "{floor}");
    }
    let bits = |name: &str| number(row(name), "bits_per_key");
    assert!((bits("floor-line") - bits("quotient")).abs() < 512.0 / 3_000.0);
    let ratio = number(row("quotient"), "negative_mops") / number(row("qfilter"), "negative_mops");
    assert!((number(row("quotient"), "negative_to_qfilter") / ratio - 1.0).abs() < 1e-9);
    assert_eq!(rows.len(), 6);
}

#[test]
fn several_numbers_of_keys_are_measured_in_turn() {
    let out = tempfile::tempdir().expect("a folder");
    let arguments = ["--keys", "1k,2e3", "--keys", "500", "--quick", "--json", "--only", "xorf"];
    let rows = list(&bench(&arguments, out.path()));
    let keys: Vec<u64> =
        rows.iter().filter(|row| row["name"] == "xorf").filter_map(|row| row["keys"].as_u64()).collect();
    assert_eq!(keys, [1_000, 2_000, 500]);
}

#[test]
fn sizes_give_a_time_for_each_filter_and_number_of_keys() {
    let out = tempfile::tempdir().expect("a folder");
    let points = list(&bench(&["--sizes", "3000,1000", "--quick", "--json"], out.path()));
    for name in ["quotient", "cuckoo", "telescoping", "floor-line"] {
        let own = points.iter().filter(|point| point["name"] == name);
        let keys: Vec<u64> = own
            .inspect(|point| assert!(number(point, "negative_ns") > 0.0))
            .filter_map(|point| point["keys"].as_u64())
            .collect();
        assert_eq!(keys, [1_000, 3_000], "{name}");
    }
    let csv = std::fs::read_to_string(out.path().join("sizes.csv")).expect("the CSV file");
    assert_eq!(csv.lines().count(), points.len() + 1);
    let svg = std::fs::read_to_string(out.path().join("sizes.svg")).expect("the picture");
    assert!(svg.contains("telescoping") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn wrong_arguments_are_refused_with_what_is_right() {
    let out = tempfile::tempdir().expect("a folder");
    for (arguments, says) in [
        (&["--only", "bloom"][..], "telescoping"),
        (&["--keys", "0"], "4e6"),
        (&["--keys", "1.5"], "4e6"),
        (&["--sizes", "5", "--keys", "5"], "cannot be used with"),
    ] {
        let output = bench(arguments, out.path());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{arguments:?}: {said}");
    }
}

fn check_files(out: &std::path::Path, names: &[&str]) {
    let csv = std::fs::read_to_string(out.join("bench.csv")).expect("the CSV file");
    let first: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap_or("")).collect();
    assert_eq!(first, names);
    let head = csv.lines().next().unwrap_or("");
    assert!(FIELDS.iter().all(|field| head.split(',').any(|column| column == *field)), "{head}");
    let svg = std::fs::read_to_string(out.join("bench-2000.svg")).expect("the picture");
    assert!(names[..30].iter().all(|name| svg.contains(name)) && svg.trim_end().ends_with("</svg>"));
}
