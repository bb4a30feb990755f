//! The lab from the command line: list, measure, interrupt, continue and redraw experiments.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn twiceshy(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_twiceshy")).args(arguments).output().expect("the command starts")
}

fn json(arguments: &[&str]) -> Value {
    let output = twiceshy(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_experiment_is_a_line_of_the_list() {
    let listed = json(&["lab", "list", "--json"]);
    let names: Vec<&str> = listed.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    let words = String::from_utf8(twiceshy(&["lab", "list"]).stdout).expect("text");
    assert_eq!(words.lines().count(), names.len());
    for (line, name) in words.lines().zip(&names) {
        assert!(line.starts_with(&format!("{name} ")), "{line}");
    }
    assert!(names.len() >= 20, "{names:?}");
}

#[test]
fn a_run_leaves_data_pictures_and_a_report_and_plot_makes_them_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let out_text = out.to_str().expect("a plain path");
    let run = ["lab", "run", "selector-space", "--quick", "--seed", "3", "--out", out_text, "--json"];
    let summary = json(&run);
    assert_eq!((&summary["seed"], &summary["size"]), (&Value::from(3), &Value::from("quick")));
    let experiment = &summary["experiments"][0];
    assert_eq!(experiment["name"], "selector-space");
    assert!(experiment["findings"].as_array().is_some_and(|findings| findings.len() == 2), "{experiment}");
    let csv = text(&out.join(experiment["csv"].as_str().expect("a name")));
    assert!(csv.lines().next().is_some_and(|header| header.ends_with(",size,seed,version")), "{csv}");
    assert_eq!(csv.lines().count() as u64, 1 + experiment["rows"].as_u64().expect("a number"));
    assert!(
        csv.lines().skip(1).all(|line| line.ends_with(&format!(",quick,3,{}", env!("CARGO_PKG_VERSION")))),
        "{csv}"
    );
    let page = text(&out.join("report.html"));
    let svg = out.join(experiment["pictures"][0].as_str().expect("a name"));
    assert!(page.contains("Theorem 4") && page.contains("<svg") && text(&svg).contains("<svg"));
    // Nothing is measured again, and drawing gives the same bytes.
    std::fs::remove_file(&svg).expect("the picture");
    std::fs::remove_file(out.join("report.html")).expect("the report");
    let begun = Instant::now();
    let words = twiceshy(&["lab", "plot", out_text]);
    assert!(words.status.success(), "{}", String::from_utf8_lossy(&words.stderr));
    assert!(String::from_utf8_lossy(&words.stdout).contains("report.html"));
    assert_eq!(text(&out.join("report.html")), page);
    assert!(svg.is_file());
    let drawing = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(json(&run)["experiments"], summary["experiments"]);
    assert!(begun.elapsed() < drawing + Duration::from_secs(2), "a complete run measures nothing");
}

#[test]
fn a_killed_run_continues_where_it_stopped_with_the_same_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = |out: &Path| {
        let out = out.to_str().expect("a plain path").to_owned();
        ["lab", "run", "selector-space", "--quick", "--jobs", "1", "--out", &out].map(str::to_owned)
    };
    let (killed, whole) = (folder.path().join("killed"), folder.path().join("whole"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_twiceshy"))
        .args(arguments(&killed))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let journal = killed.join("unfinished/selector-space.jsonl");
    let lines = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    let begun = Instant::now();
    while lines() < 1 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!((1..4).contains(&lines()), "killed on the way, after {} tasks", lines());
    for out in [&killed, &whole] {
        let arguments = arguments(out);
        let output = twiceshy(&arguments.each_ref().map(String::as_str));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.contains("were measured earlier"), out == &killed, "{said}");
    }
    let data = |out: &Path| text(&out.join("selector-space.csv"));
    assert_eq!(data(&killed), data(&whole));
}

#[test]
fn bad_arguments_are_refused_with_a_hint() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("a plain path");
    for (arguments, advice) in [
        (vec!["lab", "run", "no-such-thing", "--quick", "--out", out], "lab list"),
        (vec!["lab", "plot", out], "lab run"),
        (vec!["lab", "run", "--quick"], "NAMES"),
        (vec!["advise", "--keys", "1000", "--fpr", "0.01"], "--trace"),
        (vec!["advise", "--keys", "1000", "--fpr", "2", "--workload", "uniform"], "such as 0.001"),
        (vec!["advise", "--keys", "0", "--fpr", "0.1", "--workload", "uniform"], "at least 1"),
        (vec!["advise", "--keys", "10", "--fpr", "0.1", "--trace", "/no/such/file"], "/no/such/file"),
    ] {
        let output = twiceshy(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(advice), "{arguments:?}: {said}");
    }
    // A folder belongs to one run.
    assert!(twiceshy(&["lab", "run", "selector-space", "--quick", "--out", out]).status.success());
    let other = twiceshy(&["lab", "run", "selector-space", "--quick", "--seed", "2", "--out", out]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("--out"), "{other:?}");
}

/// A trace in which a few keys are asked for again and again.
fn skewed_trace(path: &Path) {
    let mut state = 7u64;
    let mut lines = String::new();
    for _ in 0..300_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let draw = (state >> 33) as f64 / (1u64 << 31) as f64;
        lines.push_str(&format!("key-{}\n", (20_000.0 * draw.powi(4)) as u64));
    }
    std::fs::write(path, lines).expect("a file");
}

#[test]
fn advice_depends_on_the_traffic() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("requests.txt");
    skewed_trace(&trace);
    let trace = trace.to_str().expect("a plain path");
    let base = ["advise", "--keys", "4000", "--fpr", "0.001", "--json", "--trace", trace];
    let usual = json(&base);
    let candidates = usual["candidates"].as_array().expect("candidates");
    let cost = |name: &str| {
        let found = candidates.iter().find(|candidate| candidate["filter"] == name).expect("a candidate");
        // A filter that does not learn has the wanted rate only on average.
        let learns = found["learns"].as_bool().expect("a word");
        assert!(!learns || found["rate"].as_f64().expect("a rate") <= 0.001, "{found}");
        found["cost"].as_f64().expect("a cost")
    };
    let chosen = usual["filter"].as_str().expect("a filter");
    assert!(!["cuckoo", "quotient"].contains(&chosen), "queries are repeated: {usual}");
    assert!(cost(chosen) < cost("cuckoo") && cost(chosen) < cost("quotient"), "{usual}");
    assert!(usual["reasons"].as_array().is_some_and(|reasons| reasons.len() >= 2), "{usual}");
    let hostile = json(&[&base[..], &["--hostile"]].concat());
    assert_eq!(hostile["filter"], "broom");
    let told = |list: &str, words: &str| {
        let lines = hostile[list].as_array().expect("a list");
        lines.iter().any(|line| line.as_str().is_some_and(|line| line.contains(words)))
    };
    assert!(
        told("reasons", "delete keys and insert mistakes") && told("costs", "every mistake is a commit"),
        "{hostile}"
    );
}
