//! `twiceshy model`: the numbers are the library's, and bad input is refused in words.

use super::{object, refusal, twiceshy};
use serde_json::Value;
use twiceshy_lab::models::bloom::{blocked_rate, classic_rate, split_block_rate};
use twiceshy_lab::models::cost::{Costs, Operations, Workload};
use twiceshy_lab::models::designs::Design;
use twiceshy_lab::models::flows::{FlowClass, FlowModel};
use twiceshy_lab::models::insertion::{Alternating, overfull_groups};
use twiceshy_lab::models::selectors::{asked_once, corollary3, expected_bits, repeated, theorem4};
use twiceshy_lab::models::thresholds::load_threshold;
use twiceshy_lab::models::{CyclicModel, EmptyCell, SwappingModel};

fn model(arguments: &str) -> Value {
    object(&format!("model {arguments} --json"))
}

/// The number at a path such as `/designs/0/bits_per_key`, and what it should be.
fn is(report: &Value, path: &str, expected: f64) {
    let found = report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {report}"));
    assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{path}: {found} for {expected}");
}

#[test]
fn rates_under_repeated_queries_are_those_of_the_library() {
    let asking = "--cells 4000 --load 0.9 --ratio 5 --per-key 20";
    let (absent, queries) = (18_000, 360_000);
    let equal = CyclicModel::equal_ranges(4, 0.9, 8, 2, EmptyCell::Reserved).expect("a model");
    let found = model(&format!("cyclic --bits 10 --selector-bits 2 {asking}"));
    is(&found, "/fpr", equal.rate_finite(1_000, absent, queries));
    is(&found, "/fpr_as_printed", equal.rate(1_000, absent, queries));
    is(&found, "/static_fpr", 1.0 - (1.0 - 0.9 / 255.0f64).powi(4));
    assert_eq!((found["absent_keys"].as_u64(), found["queries"].as_u64()), (Some(absent), Some(queries)));
    let unequal = CyclicModel::unequal_ranges(4, 0.9, 10, 1, 2, EmptyCell::Ignored).expect("a model");
    let found = model(&format!("cyclic --bits 10 --range-split 2 --as-printed {asking}"));
    is(&found, "/fpr", unequal.rate_finite(1_000, absent, queries));
    let found = model("swapping --bits 8 --cells 8000 --ratio 5 --per-key 20 --samples 500 --seed 3");
    let swapping = SwappingModel::two_by_four(8).expect("a model").rate(1_000, 38_000, 760_000, 500, 3);
    is(&found, "/fpr", swapping.rate);
    is(&found, "/standard_error", swapping.standard_error);
    let classes = [(0.9, 1.0), (0.1, 91.0)].map(|(share, rate)| FlowClass { share, rate });
    let flows = FlowModel::new(equal, classes.into()).expect("a model");
    let flags = format!("--bits 10 --selector-bits 2 --class 0.9:1 --class 10%:91 --samples 400 --seed 2 {asking}");
    for (law, expected) in [
        ("poisson", flows.rate_finite(1_000, absent, queries, 400, 2)),
        ("fixed-sizes", flows.rate_fixed_sizes(1_000, absent, queries, 400, 2)),
        ("long-run", flows.rate(1_000, absent, queries, 400, 2)),
    ] {
        is(&model(&format!("flows --law {law} {flags}")), "/fpr", expected.rate);
    }
}

#[test]
fn formulas_are_those_of_the_library() {
    let operations = Operations { lookups: 0.98, insertions: 0.01, deletions: 0.01, true_positives: 0.2 };
    let costs = Costs { positive: 100.0, negative: 1.0, insertion: 200.0, deletion: 50.0 };
    let pair = Workload::new(operations, costs).and_then(|it| it.compare(0.015, 0.001)).expect("a mix");
    let found = model(
        "cost --fpr 1.5% --than 0.001 --lookups 0.98 --insertions 0.01 --deletions 0.01 --stored 0.2 --insertion 200 --deletion 50",
    );
    is(&found, "/cost", pair.first);
    is(&found, "/than/saved", pair.saved());
    is(&found, "/than/ratio", pair.ratio());
    let found = model("insertion --keys 1M --slack 0.2 --buckets 262144 --bits 7 --cells-per-bucket 4");
    let bounds = Alternating::new(0.2, 1_000_000).expect("bounds");
    is(&found, "/most_steps", bounds.most_steps() as f64);
    is(&found, "/mean_steps", bounds.mean_steps());
    is(&found, "/rehash", bounds.rehash());
    is(&found, "/overfull_groups", overfull_groups(1_000_000, 262_144, 7, 4).expect("groups"));
    is(&model("thresholds --tables 3 --cells-per-bucket 2"), "/shapes/0/threshold", load_threshold(3, 2).expect("one"));
    assert_eq!(model("thresholds")["shapes"].as_array().map(Vec::len), Some(9));
    let found = model("selectors --fpr 1/256 --ratio 4 --most 2");
    is(&found, "/selectors/2/repeated", repeated(2, 1.0 / 256.0, 4.0));
    is(&found, "/selectors/1/asked_once", asked_once(1, 1.0 / 256.0, 4.0));
    is(&found, "/selectors/2/corollary3", corollary3(2, 1.0 / 256.0, 4.0));
    is(&found, "/expected_bits", expected_bits(1.0 / 256.0, 4.0));
    is(&found, "/theorem4_bits", theorem4(1.0 / 256.0, 4.0).expect("it applies"));
    assert!(model("selectors --fpr 1/256 --ratio 100")["theorem4_bits"].is_null());
    let found = model("designs --bits 11 --load 0.9");
    let telescoping = Design::Telescoping { bits: 8 };
    is(&found, "/designs/7/static_fpr", telescoping.static_rate(0.9).expect("a rate"));
    is(&found, "/designs/7/bits_per_key", telescoping.bits_per_key(0.9).expect("a size"));
    assert_eq!((&found["designs"][7]["filter"], &found["designs"][7]["bits"]), (&"telescoping".into(), &8.into()));
    let found = model("bloom --bits-per-key 10 --functions 7");
    is(&found, "/classic", classic_rate(10.0, 7));
    is(&found, "/blocked", blocked_rate(512, 7, 10.0));
    is(&found, "/split_block", split_block_rate(8, 32, 10.0));
}

#[test]
fn every_model_says_its_numbers_in_words_and_has_an_example_that_works() {
    for name in ["cyclic", "swapping", "flows", "cost", "insertion", "thresholds", "selectors", "designs", "bloom"] {
        let help = String::from_utf8(twiceshy(&format!("model {name} --help")).stdout).expect("text");
        let example = help.lines().find_map(|line| line.trim().strip_prefix("twiceshy model "));
        let example = example.unwrap_or_else(|| panic!("no example in {help}"));
        let output = twiceshy(&format!("model {example}"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.lines().count() >= 4, "{example}: {text}");
        assert!(!text.contains("NaN") && output.stderr.is_empty(), "{example}: {text}");
    }
}

#[test]
fn bad_numbers_for_a_model_are_refused_in_words() {
    for (arguments, words) in [
        ("cyclic --load 0", "--load must be above 0"),
        ("cyclic --load 2", "--load must be above 0"),
        ("cyclic --load nan", "--load must be above 0"),
        ("cyclic --load half", "is not a number"),
        ("cyclic --cells 0", "at least 1"),
        ("cyclic --cells 3", "too few"),
        ("cyclic --cells 1e18 --ratio 1000", "too many"),
        ("cyclic --ratio 0", "--ratio must be above 0"),
        ("cyclic --ratio -1", "--ratio must be above 0"),
        ("cyclic --per-key 0", "at least 1"),
        ("cyclic --per-key 1M", "--per-key must be at most"),
        ("cyclic --tables 0", "--tables must be from 1"),
        ("cyclic --bits 0", "do not fit"),
        ("cyclic --bits 1 --selector-bits 1", "without a fingerprint"),
        ("cyclic --bits 60 --selector-bits 30", "at most 6"),
        ("cyclic --range-split 0", "r of 1 or more"),
        ("swapping --bits 0", "--bits must be from 1"),
        ("swapping --bits 99", "--bits must be from 1"),
        ("swapping --load 1", "less load"),
        ("swapping --samples 0", "at least 1"),
        ("swapping --ratio 1000 --per-key 1000", "would take minutes"),
        ("swapping --bits 2 --ratio 100", "would take minutes"),
        ("flows --class 1:1 --bits 4 --ratio 1000", "would take minutes"),
        ("flows", "--class"),
        ("flows --class 1", "SHARE:RATE"),
        ("flows --class 0:1", "above 0"),
        ("flows --class 1:x", "is not a number"),
        ("cost --fpr 0", "between 1e-9 and 1"),
        ("cost --fpr 2", "between 1e-9 and 1"),
        ("cost --fpr 0.1 --lookups 0.5", "must add up to 1"),
        ("cost --fpr 0.1 --stored 2", "from 0 to 1"),
        ("cost --fpr 0.1 --positive -3", "0 or more"),
        ("insertion --keys 0", "at least 1"),
        ("insertion --keys 10 --slack 0", "above 0"),
        ("insertion --keys 10 --buckets 5", "--bits"),
        ("insertion --keys 10 --buckets 0 --bits 8", "at least 1"),
        ("insertion --keys 10 --buckets 5 --bits 0", "--bits must be from 1"),
        ("thresholds --tables 1 --cells-per-bucket 1", "2 to 64 tables"),
        ("thresholds --tables 3", "--cells-per-bucket"),
        ("selectors --fpr 0", "between 1e-9 and 1"),
        ("selectors --fpr 2", "between 1e-9 and 1"),
        ("selectors --fpr 0.1 --ratio 0", "--ratio must be above 0"),
        ("selectors --fpr 0.9 --ratio 10000", "must be at most 5"),
        ("bloom --block-bits 4096 --functions 100 --bits-per-key 0.1", "would take minutes"),
        ("selectors --fpr 0.1 --most 1M", "--most must be at most"),
        ("designs --bits 6", "--bits must be from 7"),
        ("designs --load 0", "load"),
        ("designs --load 2", "load"),
        ("designs --selector-bits 11", "no fingerprint"),
        ("bloom --bits-per-key 0", "from 0.1 to 100"),
        ("bloom --functions 0", "--functions must be from 1"),
        ("bloom --block-bits 0", "--block-bits must be from 1"),
        ("bloom --words 0", "--words must be from 1"),
        ("bloom --word-bits 1e9", "--word-bits must be from 1"),
        ("no-such-model", "unrecognized subcommand"),
    ] {
        let said = refusal(&format!("model {arguments}"));
        assert!(said.contains(words) && !said.contains("this is a bug"), "{arguments}: {said}");
    }
}
