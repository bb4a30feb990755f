//! `twiceshy lab shared`: real processes, real servers.

use serde_json::Value;
use std::process::Command;
use twiceshy_shared::servers::{self, PostgresServer, RedisServer};

/// Runs the command and returns whether it succeeded, with its report.
fn run(engine: &str, arguments: &[&str]) -> (bool, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_twiceshy"));
    command.args(["lab", "shared", "--engine", engine, "--json", "--folder"]).arg(folder.path()).args(arguments);
    let output = command.output().expect("the command");
    let report = serde_json::from_slice(&output.stdout);
    let report = report.unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.success(), report)
}

/// The same on PostgreSQL. `None` if there is no server.
fn shared(arguments: &[&str]) -> Option<(bool, Value)> {
    if !PostgresServer::is_installed() {
        servers::skip("postgres");
        return None;
    }
    Some(run("postgres", arguments))
}

/// The same on a Redis Cluster.
fn in_cluster(arguments: &[&str]) -> Option<(bool, Value)> {
    if !RedisServer::is_installed() {
        servers::skip("redis-server");
        return None;
    }
    Some(run("redis-cluster", arguments))
}

#[test]
fn histories_are_linearizable_while_processes_connections_and_the_server_fail() {
    let arguments = ["--processes", "3", "--shards", "2", "--runs", "20", "--faults", "--mistakes", "0", "--seed", "7"];
    let Some((success, report)) = shared(&arguments) else { return };
    assert!(success, "{report:#}");
    assert_eq!((&report["runs"], &report["violations"]), (&Value::from(20), &Value::from(0)));
    for happened in ["denied", "killed", "stopped", "cut", "operations"] {
        assert!(report[happened].as_u64() > Some(0), "{happened}: {report:#}");
    }
}

#[test]
fn without_the_check_of_the_lease_a_violation_is_found() {
    let arguments = ["--processes", "3", "--runs", "30", "--faults", "--without-lease-check", "--mistakes", "0"];
    let Some((success, report)) = shared(&arguments) else { return };
    assert!(!success);
    assert!(report["violations"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn one_list_of_mistakes_is_paid_for_once() {
    let Some((success, report)) = shared(&["--processes", "3", "--runs", "0", "--mistakes", "400"]) else { return };
    assert!(success);
    assert_eq!(report["mistakes"], 400);
    let loads = report["loads"].as_u64().expect("a number");
    // What is learned of one mistake may fix another.
    assert!((300..=420).contains(&loads), "{loads} loads");
    for measured in ["lookups_per_second", "insert_ms_median", "insert_ms_within_median"] {
        assert!(report[measured].as_f64() > Some(0.0), "{measured}: {report:#}");
    }
}

#[test]
fn in_a_redis_cluster_no_key_is_denied_after_its_time_outside_a_failover() {
    let arguments = ["--processes", "4", "--shards", "3", "--runs", "2", "--faults", "--mistakes", "0"];
    let Some((success, report)) = in_cluster(&arguments) else { return };
    assert!(success, "{report:#}");
    for (name, count) in [("runs", 2), ("violations", 0), ("killed", 2), ("stopped", 2), ("cut", 2), ("crashed", 2)] {
        assert_eq!(report[name], count, "{name}: {report:#}");
    }
    assert!(report["denied"].as_u64() > Some(100), "{report:#}");
    assert_eq!(report["insert_ms_median"], Value::Null);
}

#[test]
fn in_a_redis_cluster_a_violation_is_found_without_the_check_of_the_time() {
    let arguments = ["--processes", "4", "--shards", "3", "--runs", "8", "--faults", "--mistakes", "0"];
    let Some((success, report)) = in_cluster(&[&arguments[..], &["--without-lease-check"]].concat()) else { return };
    assert!(!success);
    assert!(report["violations"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn the_engine_in_memory_is_checked_over_lines_that_fail() {
    let arguments = ["--processes", "3", "--shards", "2", "--faults"];
    let (success, report) = run("memory", &[&arguments[..], &["--runs", "3"]].concat());
    assert!(success && report["cut"].as_u64() > Some(0), "{report:#}");
    let (success, report) = run("memory", &[&arguments[..], &["--runs", "5", "--without-lease-check"]].concat());
    assert!(!success && report["violations"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn a_run_without_a_process_or_a_shard_is_refused() {
    for flag in ["--processes", "--shards"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_twiceshy"))
            .args(["lab", "shared", "--engine", "memory", flag, "0"])
            .output()
            .expect("the command");
        assert_eq!(output.status.code(), Some(2), "{flag} 0 checks nothing");
    }
}
