//! What a guard publishes through the crate `metrics`.
#![cfg(feature = "metrics")]

use metrics_exporter_prometheus::PrometheusBuilder;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use std::collections::BTreeMap;
use twiceshy_store::{Beside, Guard, Memory, MemoryStore, Options, Store};

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// A guard that has made some mistakes and has some left to make.
fn guard(name: &str) -> Guard<MemoryStore> {
    let options = Options::new().name(name).background(false).false_positive_rate(1.0 / 16.0);
    let guard = options.open(MemoryStore::new()).expect("an empty store");
    guard.insert_all((0..500).map(|number| (key(number), b""))).expect("memory");
    guard
}

fn ask(guard: &Guard<impl Store>, keys: std::ops::Range<u64>) {
    assert!(keys.map(key).all(|key| !guard.contains(&key).expect("memory")));
}

/// Counters and gauges by name and guard. Counters begin with 0 again.
fn published(from: &Snapshotter) -> BTreeMap<(String, String), f64> {
    let number = |value| match value {
        DebugValue::Counter(count) => count as f64,
        DebugValue::Gauge(value) => value.into_inner(),
        DebugValue::Histogram(values) => values.len() as f64,
    };
    let entries = from.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let labels: Vec<_> = key.key().labels().collect();
        assert!(labels.len() == 1 && labels[0].key() == "guard", "{labels:?}");
        ((key.key().name().to_owned(), labels[0].value().to_owned()), number(value))
    });
    entries.collect()
}

#[test]
fn every_figure_is_published_under_its_name() {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        let guard = guard("a");
        ask(&guard, 1_000..3_000);
        guard.publish();
        let (stats, found) = (guard.stats(), published(&recorder.snapshotter()));
        assert!(stats.turned_away > 1_000 && stats.adapted > 10 && stats.remembered > 10, "{stats:?}");
        // The fields and their values, as the debug output has them.
        let shown = format!("{stats:?}");
        let shown = shown.trim_start_matches("Stats { ").trim_end_matches(" }");
        let mut fields = 0;
        for (name, value) in shown.split(", ").filter_map(|field| field.split_once(": ")) {
            let held = ["clean_checks", "keys", "local_bits", "cells", "remembered", "queued"].contains(&name);
            let name = if held { format!("twiceshy_{name}") } else { format!("twiceshy_{name}_total") };
            assert_eq!(found.get(&(name.clone(), "a".into())), value.parse().ok().as_ref(), "{name}");
            fields += 1;
        }
        let times = found[&("twiceshy_false_positive_seconds".into(), "a".into())];
        assert_eq!((times, found.len()), (stats.false_positives as f64, fields + 1));
    });
}

#[test]
fn nothing_is_counted_twice_and_nothing_is_lost_at_the_end() {
    let recorder = DebuggingRecorder::new();
    let turned_away = |found: &BTreeMap<_, f64>| found[&("twiceshy_turned_away_total".to_owned(), "b".to_owned())];
    metrics::with_local_recorder(&recorder, || {
        let snapshotter = recorder.snapshotter();
        for _ in 0..2 {
            let guard = guard("b");
            ask(&guard, 1_000..2_000);
            guard.publish();
            assert_eq!(turned_away(&published(&snapshotter)), guard.stats().turned_away as f64);
            guard.publish();
            assert_eq!(turned_away(&published(&snapshotter)), 0.0, "nothing has happened since");
            let before = guard.stats().turned_away;
            ask(&guard, 2_000..2_500);
            let more = guard.stats().turned_away - before;
            assert!(more > 0);
            guard.close().expect("memory");
            let last = published(&snapshotter);
            assert_eq!(turned_away(&last), more as f64);
            assert_eq!(last[&("twiceshy_keys".to_owned(), "b".to_owned())], 0.0, "it is closed");
        }
    });
}

#[test]
fn a_guard_that_is_not_published_publishes_nothing_but_times() {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        let guard = guard("c");
        ask(&guard, 1_000..2_000);
        guard.close().expect("memory");
        let found = published(&recorder.snapshotter());
        let names: Vec<&str> = found.keys().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["twiceshy_false_positive_seconds"]);
    });
}

#[test]
fn prometheus_gets_text_that_it_understands() {
    let recorder = PrometheusBuilder::new().set_buckets(&[1e-6, 1.0]).expect("buckets").build_recorder();
    let prometheus = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let guard = guard("d");
        ask(&guard, 1_000..2_000);
        guard.publish();
        prometheus.run_upkeep();
        let (stats, text) = (guard.stats(), prometheus.render());
        for line in [
            "# TYPE twiceshy_turned_away_total counter".into(),
            format!("twiceshy_turned_away_total{{guard=\"d\"}} {}", stats.turned_away),
            "# TYPE twiceshy_keys gauge".into(),
            "twiceshy_keys{guard=\"d\"} 500".into(),
            "# TYPE twiceshy_false_positive_seconds histogram".into(),
            format!("twiceshy_false_positive_seconds_count{{guard=\"d\"}} {}", stats.false_positives),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
        // What has happened since is added.
        ask(&guard, 2_000..2_500);
        guard.publish();
        let line = format!("twiceshy_turned_away_total{{guard=\"d\"}} {}", guard.stats().turned_away);
        assert!(prometheus.render().contains(&line), "{line}");
    });
}

#[test]
fn a_guard_beside_a_store_says_when_it_is_not_healthy() {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        let snapshotter = recorder.snapshotter();
        let memory = Memory::new();
        let open = |memory: &Memory| {
            let options = Options::new().name("e").background(false);
            options.open_beside(memory.open().expect("nobody has it open")).expect("its own store")
        };
        let guard = open(&memory);
        let published = |guard: &Beside<MemoryStore>| {
            guard.publish();
            let found = published(&snapshotter);
            move |name: &str| found[&(format!("twiceshy_{name}"), "e".to_owned())]
        };
        let of = published(&guard);
        assert_eq!(["complete", "open", "dropped", "cut_off", "pending"].map(of), [0.0; 5]);
        guard.adopt(|| Ok::<_, std::io::Error>((0..500).map(|number| Ok(key(number))))).expect("memory");
        for number in 1_000..1_020 {
            let found = guard.get_or_load(&key(number), |_| Ok::<_, std::io::Error>(None::<()>));
            assert!(found.expect("no error").is_none());
        }
        let of = published(&guard);
        assert!(of("complete") == 1.0 && of("spot_checks_total") > 10.0 && of("wrong_share_at_most") < 0.3);
        let opened = guard.announce([key(1), key(2)]).expect("memory");
        drop(guard.announce([key(3)]).expect("memory"));
        let of = published(&guard);
        assert_eq!(["open", "dropped", "pending"].map(of), [1.0, 1.0, 3.0]);
        assert!(guard.get_or_load(&key(3), |_| Ok::<_, std::io::Error>(None::<()>)).expect("no error").is_none());
        assert!(guard.get_or_load(&key(3), |_| Ok::<_, std::io::Error>(Some(()))).expect("no error").is_some());
        // The process dies.
        let after = open(&memory.copy());
        assert_eq!(["open", "dropped", "cut_off"].map(published(&after)), [0.0, 0.0, 1.0]);
        let hidden = (2_000..).map(key).find(|key| !guard.may_contain(key)).expect("nearly all");
        assert!(!guard.seen(hidden));
        let of = published(&guard);
        assert_eq!(
            ["complete", "wrong_share_at_most", "denied_rows_total", "seen_total"].map(of),
            [0.0, 1.0, 1.0, 1.0]
        );
        drop(after);
        drop(opened);
        guard.close().expect("memory");
        let found = self::published(&snapshotter);
        assert_eq!(found[&("twiceshy_dropped".to_owned(), "e".to_owned())], 0.0, "it is closed");
        let guard = open(&memory);
        guard.adopt(|| Ok::<_, std::io::Error>((0..500).map(|number| Ok(key(number))))).expect("memory");
        assert_eq!(published(&guard)("complete"), 1.0);
        guard.close().expect("memory");
        let found = self::published(&snapshotter);
        assert_eq!(found[&("twiceshy_complete".to_owned(), "e".to_owned())], 1.0, "that is no alarm");
    });
}
