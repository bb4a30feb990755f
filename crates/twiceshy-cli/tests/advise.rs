//! What `advise` promises holds for the store that its command makes: cells, memory, disk, store reads and rate.

#[expect(dead_code, reason = "other tests use the rest")]
mod bench;

use bench::Bench;
use serde_json::Value;
use twiceshy_lab::advise::{Counted, StoreCounts};
use twiceshy_lab::workload::Distribution;
use twiceshy_lab::workload::key_set::KeySet;
use twiceshy_lab::workload::recorded_data::recorded_data;
use twiceshy_lab::workload::recording::Recording;
use twiceshy_lab::workload::split::{Apart, Keyed, Split};
use twiceshy_lab::workload::trace::Trace;
use twiceshy_store::{Adapt, Guard, Options, RedbStore, SNAPSHOT_FILE, STORE_FILE};

/// What is promised, within this share of it.
const WITHIN: f64 = 0.05;

/// The stores that are made for each recommendation, under other hash keys.
const STORES: usize = 3;

type Asked = Guard<Counted<RedbStore>>;

/// What is done with each query.
type Ask<'a> = dyn FnMut(&[u8]) + 'a;

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("no number {name} in {value}"))
}

fn near(what: &str, got: f64, promised: f64, within: f64) {
    assert!((got / promised - 1.0).abs() <= within, "{what}: {got}, promised {promised}");
}

/// Runs the recommended command, fills the store with these keys, and checks that it is as large as promised.
fn make(bench: &Bench, advice: &Value, name: &str, keys: &dyn Fn(u64) -> Vec<u8>) {
    let command = advice["command"].as_str().expect("a command");
    let arguments = command.strip_prefix("twiceshy ").expect("our command").replace("STORE", name);
    let created = bench.json(&arguments, b"");
    assert_eq!((&created["cells"], &created["filter"]), (&advice["cells"], &advice["filter"]), "{command}");
    let (count, path) = (advice["keys"].as_u64().expect("keys"), bench.path(name));
    let guard = Options::new().create(false).open_folder(&path).expect("the store");
    assert_eq!(guard.insert_all((0..count).map(|number| (keys(number), b""))).expect("room"), count);
    guard.close().expect("it closes");

    let info = bench.json(&format!("info {name}"), b"");
    assert_eq!((&info["cells"], &info["keys"]), (&advice["cells"], &advice["keys"]), "it did not grow");
    near("bytes in memory", number(&info, "local_bits") / 8.0, number(advice, "bytes"), 0.01);
    near("bytes on disk", number(&info, "store_bytes"), number(advice, "bytes_on_disk"), WITHIN);
}

/// The store, counting what it is asked.
fn open(bench: &Bench, name: &str, adapt: Adapt) -> Asked {
    let path = bench.path(name);
    let store = RedbStore::open(path.join(STORE_FILE)).expect("the file");
    let options = Options::new().create(false).background(false).snapshot(path.join(SNAPSHOT_FILE));
    options.adapt(adapt).open(Counted::new(store)).expect("the store")
}

/// What a store was asked for some queries, the number of its mistakes, and of the distinct keys it was wrong about.
#[derive(Debug, Default)]
struct Tally {
    queries: u64,
    mistakes: u64,
    wrong_keys: KeySet,
    store: StoreCounts,
}

impl Tally {
    fn ask(&mut self, guard: &Asked, key: &[u8]) {
        let before = guard.store().counts();
        assert!(!guard.contains(key).expect("the store answers"), "no key of the traffic is stored");
        let asked = guard.store().counts().since(before);
        self.queries += 1;
        self.mistakes += asked.value_reads;
        if asked.value_reads > 0 {
            self.wrong_keys.insert(key);
        }
        self.store.value_reads += asked.value_reads;
        self.store.index_reads += asked.index_reads;
        self.store.commits += asked.commits;
    }

    fn reads_per_mistake(&self) -> f64 {
        (self.store.value_reads + self.store.index_reads) as f64 / self.mistakes as f64
    }
}

/// The candidate that was recommended.
fn chosen(advice: &Value) -> &Value {
    let first = &advice["candidates"][0];
    assert_eq!(first["filter"], advice["filter"], "the recommended one is the first row");
    for name in ["width", "cells", "bytes", "bytes_on_disk", "reads_per_mistake", "rate", "ask_for"] {
        assert_eq!(first[name], advice[name], "{name}");
    }
    assert_eq!(first["keeps_rate"], "yes");
    first
}

/// Makes a few stores, asks all of the traffic, and compares with the promise.
///
/// What can be promised to 5 % is the mean over hash keys. A plain filter on skewed traffic is wrong about a popular key or
/// not, and no two stores have the same rate: there, the share of distinct keys that it is wrong about is compared to 5 %, and
/// the rate itself within four of its own deviations.
fn keeps_its_promise(bench: &Bench, advice: &Value, keys: &dyn Fn(u64) -> Vec<u8>, each: &dyn Fn(&mut Ask<'_>)) {
    let row = chosen(advice);
    let (mut all, mut distinct) = (Tally::default(), KeySet::default());
    each(&mut |key| {
        distinct.insert(key);
    });
    let mut wrong_keys = 0;
    for store in 0..STORES {
        let name = format!("s{store}");
        make(bench, advice, &name, keys);
        let guard = open(bench, &name, Adapt::Always);
        let mut tally = Tally::default();
        each(&mut |key| tally.ask(&guard, key));
        wrong_keys += tally.wrong_keys.len();
        let Tally { queries, mistakes, store, .. } = tally;
        all.queries += queries;
        all.mistakes += mistakes;
        all.store.value_reads += store.value_reads;
        all.store.index_reads += store.index_reads;
    }
    assert!(wrong_keys > 2_000, "{wrong_keys} distinct mistakes are too few to compare within 5 %");
    let (rate, promised) = (all.mistakes as f64 / all.queries as f64, number(row, "rate"));
    if row["learns"] == true {
        near("rate", rate, promised, WITHIN);
    } else {
        let share = wrong_keys as f64 / (STORES * distinct.len()) as f64;
        near("share of distinct keys", share, promised, WITHIN);
        let most = 4.0 * number(row, "rate_deviation") / (STORES as f64).sqrt();
        assert!((rate - promised).abs() <= most + WITHIN * promised, "{rate}, promised {promised} within {most}");
    }
    near("reads for a mistake", all.reads_per_mistake(), number(row, "reads_per_mistake"), WITHIN);
}

/// A key that no trace has, of this many bytes.
fn padded(number: u64, bytes: usize) -> Vec<u8> {
    let scattered = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) % (1 << 28);
    format!("k{scattered:07x}{:x<1$}", "", bytes.saturating_sub(8)).into_bytes()
}

fn trace_keeps_its_promise(file: &str, arguments: &str) {
    let Some(path) = recorded_data().map(|folder| folder.join(file)).filter(|path| path.is_file()) else {
        println!("skipped: there is no {file}; set TWICESHY_DATA to the folder of recordings");
        return;
    };
    let bench = Bench::new();
    let path = path.canonicalize().expect("a path");
    let advice = bench.json(&format!("advise {arguments} --trace {}", path.display()), b"");
    let bytes = advice["key_bytes"].as_u64().expect("a length") as usize;
    let trace = Trace::misses(Recording::File(path)).expect("a trace");
    keeps_its_promise(&bench, &advice, &|number| padded(number, bytes), &|ask| {
        let mut queries = trace.queries().expect("a trace");
        while let Some(key) = queries.next_key().expect("a trace") {
            ask(key);
        }
    });
}

#[test]
fn the_promise_holds_on_the_requests_of_a_recommender() {
    trace_keeps_its_promise("recommender-requests.txt.xz", "--keys 30000 --fpr 0.05");
}

#[test]
fn the_promise_holds_on_the_requests_of_an_orm() {
    trace_keeps_its_promise("orm-session.txt.xz", "--keys 40000 --fpr 0.005");
}

/// Absent keys, each asked for a few times.
fn uniform(keys: u64, ratio: u64, per_key: u64) -> Split {
    let absent = keys * ratio;
    let split = Apart::by_chance(Distribution::Uniform, keys, absent, absent * per_key);
    Split::Apart(split.expect("some keys"))
}

fn stored(keyed: &Keyed<'_>) -> Vec<Vec<u8>> {
    let mut stored = Vec::new();
    let all: Result<(), ()> = keyed.each_stored(&mut |key| {
        stored.push(key.to_vec());
        Ok(())
    });
    all.expect("no error");
    stored
}

#[test]
fn the_promise_holds_for_uniform_queries() {
    let bench = Bench::new();
    let advice = bench.json("advise --keys 20000 --fpr 0.05 --workload uniform --ratio 8 --per-key 4", b"");
    assert!(advice["sample_keys"].as_u64() < advice["keys"].as_u64(), "a smaller sample must do: {advice}");
    let split = uniform(20_000, 8, 4);
    let keyed = split.keyed(99).expect("few keys");
    let stored = stored(&keyed);
    keeps_its_promise(&bench, &advice, &|number| stored[number as usize].clone(), &|ask| {
        let mut queries = keyed.queries(7).expect("no file");
        while let Some((_, key)) = queries.next_query().expect("no file") {
            ask(key);
        }
    });
}

#[test]
fn the_promise_to_hostile_clients_holds() {
    let bench = Bench::new();
    let arguments = "advise --keys 20000 --fpr 0.01 --workload uniform --ratio 4 --per-key 2 --hostile";
    let advice = bench.json(arguments, b"");
    let row = chosen(&advice);
    assert_eq!((&advice["filter"], &row["adaptive"]), (&"broom".into(), &true.into()));
    assert_eq!(advice["ask_for"], 0.01, "the static rate decides");
    for other in advice["candidates"].as_array().expect("candidates").iter().skip(1) {
        assert_eq!(other["keeps_rate"], "no", "{other}");
    }
    let static_rate = number(row, "static_rate");
    assert!(static_rate <= 0.01);

    make(&bench, &advice, "s", &|number| padded(number, 8));
    let mut asked = 0..10_000_000u32;
    let mut until = |guard: &Asked, mistakes: u64| {
        let mut tally = Tally::default();
        while tally.mistakes < mistakes {
            let number = asked.next().expect("enough keys");
            tally.ask(guard, format!("q{number:07}").as_bytes());
        }
        tally
    };
    // The rate for keys never asked before is that of the filter before it learns.
    let rate = |tally: &Tally| tally.mistakes as f64 / tally.queries as f64;
    let still = open(&bench, "s", Adapt::Never);
    near("rate of new keys", rate(&until(&still, 6_000)), static_rate, WITHIN);
    drop(still);
    // A client that asks for new keys only, and then for those that it was slow for. Fingerprints grow as the filter learns, so
    // its rate falls.
    let guard = open(&bench, "s", Adapt::Always);
    let fresh = until(&guard, 2_000);
    assert!((0.8..1.05).contains(&(rate(&fresh) / static_rate)), "{}, promised {static_rate} at most", rate(&fresh));
    near("reads for a mistake", fresh.reads_per_mistake(), number(row, "reads_per_mistake"), WITHIN);
    near("commits for a mistake", fresh.store.commits as f64 / fresh.mistakes as f64, 1.0, WITHIN);
    let promised = number(row, "commits_per_million") / number(row, "rate") / 1e6;
    near("promised commits for a mistake", promised, 1.0, WITHIN);
    let mut again = Tally::default();
    for _ in 0..3 {
        fresh.wrong_keys.iter().for_each(|key| again.ask(&guard, key));
    }
    let most = 2.0 * static_rate * again.queries as f64;
    assert!((again.mistakes as f64) < most, "{} of {} replays were wrong", again.mistakes, again.queries);
}

#[test]
fn advice_has_every_promised_name_and_its_rows_are_in_order() {
    let bench = Bench::new();
    let arguments = "advise --keys 3000 --fpr 0.01 --workload zipf:1.1 --ratio 5 --per-key 10";
    let advice = bench.json(arguments, b"");
    for name in [
        "keys",
        "fpr",
        "workload",
        "ratio",
        "hostile",
        "candidates",
        "filter",
        "width",
        "cells",
        "bytes",
        "ask_for",
        "reasons",
        "bytes_on_disk",
        "reads_per_mistake",
        "costs",
        "command",
        "notes",
        "weights",
        "key_bytes",
        "value_bytes",
        "sample_keys",
    ] {
        assert!(!advice[name].is_null(), "{name}: {advice}");
    }
    let rows = advice["candidates"].as_array().expect("candidates");
    assert_eq!(rows.len(), 9);
    for row in rows {
        for name in [
            "filter",
            "learns",
            "adaptive",
            "width",
            "bits_per_key",
            "static_rate",
            "rate",
            "false_positives",
            "queries",
            "remote_reads_per_query",
            "lookups_per_second",
            "cells",
            "bytes",
            "bytes_on_disk",
            "reads_per_mistake",
            "rate_low",
            "rate_high",
            "keeps_rate",
            "cost",
            "index_entries",
            "commits_per_million",
        ] {
            assert!(!row[name].is_null(), "{name}: {row}");
        }
        assert!(
            number(row, "rate_low") <= number(row, "rate") && number(row, "rate") <= number(row, "rate_high"),
            "{row}"
        );
        let most = if row["learns"] == true { 30.0 } else { 1.0 };
        assert!((1.0..=most).contains(&number(row, "reads_per_mistake")), "{row}");
    }
    let rank =
        |row: &Value| ["yes", "not sure", "no"].iter().position(|keeps| row["keeps_rate"] == *keeps).expect("a word");
    assert!(rows.iter().map(rank).is_sorted(), "{advice}");
    let same = |a: &Value, b: &Value| rank(a) != rank(b) || number(a, "cost") <= number(b, "cost");
    assert!(rows[1..].windows(2).all(|pair| same(&pair[0], &pair[1])), "{advice}");

    let told = |name: &str, words: &str| {
        let lines = advice[name].as_array().expect("lines");
        assert!(lines.iter().any(|line| line.as_str().is_some_and(|line| line.contains(words))), "{words}: {lines:?}");
    };
    told("costs", "memory: ");
    told("costs", "disk: ");
    told("costs", "store reads: ");
    told("notes", "if clients may be hostile");
    let text = String::from_utf8(bench.yes(arguments, b"")).expect("text");
    assert!(text.contains("What it costs:") && text.contains("  twiceshy create STORE --filter "), "{text}");
}

#[test]
fn weights_decide_and_senseless_ones_are_refused() {
    let bench = Bench::new();
    let traffic = "--keys 3000 --fpr 0.01 --workload uniform --ratio 2 --per-key 30";
    // Each key is asked for often: with free memory and disk, the fewest reads win, and they are not those of a plain filter.
    let free = bench.json(&format!("advise {traffic} --memory-cost 0 --read-us 1000000"), b"");
    let reads = number(chosen(&free), "reads_per_million");
    for row in free["candidates"].as_array().expect("candidates") {
        assert!(number(row, "reads_per_million") >= reads * 0.99 || row["commits_per_million"] != 0.0, "{row}");
    }
    assert_eq!(chosen(&free)["learns"], true);
    for (weights, advice) in
        [("--read-us 0", "above 0"), ("--disk-cost=-1", "0 or more"), ("--memory-cost nan", "0 or more")]
    {
        let refused = bench.error(&format!("advise {traffic} {weights}"), b"");
        assert!(refused.contains(advice), "{refused}");
    }
    let help = String::from_utf8(bench.yes("advise --help", b"")).expect("text");
    for words in ["costs least", "--read-us", "--disk-cost", "more often than a plain filter errs"] {
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words}: {help}");
    }
}

#[test]
fn create_says_how_much_memory_its_filter_takes() {
    let bench = Bench::new();
    let said = String::from_utf8(bench.yes("create e --filter extension", b"")).expect("text");
    assert!(said.starts_with("e: a new store behind an extension filter of "), "{said}");
    let created = bench.json("create q --filter quotient --keys 5000", b"");
    let bits = number(&bench.json("info q", b""), "local_bits");
    assert_eq!(number(&created, "bytes"), (bits / 8.0).ceil());
    assert!(said.contains(" bytes in memory, built for "), "{said}");
}

/// Requests for 750 keys, a few of them popular.
fn short_trace(bench: &Bench) -> Vec<String> {
    let mut state = 7u64;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut requests: Vec<String> = (0..750).map(|number| format!("key-{number}")).collect();
    requests.extend((0..59_250).map(|_| format!("key-{}", (750.0 * draw().powi(4)) as u64)));
    std::fs::write(bench.path("trace.txt"), requests.join("\n")).expect("a file");
    requests
}

fn row<'a>(advice: &'a Value, filter: &str) -> &'a Value {
    let rows = advice["candidates"].as_array().expect("candidates");
    rows.iter().find(|row| row["filter"] == filter).expect("a candidate")
}

#[test]
fn a_short_trace_is_not_measured_in_an_emptier_store() {
    let bench = Bench::new();
    let distinct = 750.0 / short_trace(&bench).len() as f64;
    for ratio in ["", " --ratio 10"] {
        let arguments = format!("advise --keys 1000000 --fpr 0.001 --trace trace.txt{ratio}");
        let advice = bench.json(&arguments, b"");
        assert!(advice["sample_keys"].as_u64() >= Some(2_048), "{advice}");
        // A popular key is wrong each time or never, so one plain store is far from another.
        assert_eq!(row(&advice, "quotient")["keeps_rate"], "not sure", "{advice}");
        let chosen = chosen(&advice);
        assert_eq!(chosen["learns"], true);
        // Every key is wrong once with the static rate of a full store; less, if it was measured in an emptier one.
        let least = number(chosen, "static_rate") * distinct;
        assert!(number(chosen, "rate") > 0.7 * least, "{chosen}");
        assert!(number(chosen, "rate_high") <= 0.001, "{chosen}");
    }
}

#[test]
fn a_trace_of_few_keys_is_refused() {
    let bench = Bench::new();
    std::fs::write(bench.path("few.txt"), "a\nb\nc\na\n".repeat(1_000)).expect("a file");
    let refused = bench.error("advise --keys 1000 --fpr 0.01 --trace few.txt", b"");
    assert!(refused.contains("3 distinct keys, too few") && refused.contains("longer trace"), "{refused}");
}
