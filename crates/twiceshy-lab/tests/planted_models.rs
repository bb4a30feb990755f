//! Errors planted into filters and models are found by the statements about uniform queries, selectors and tables.

use twiceshy_lab::experiment::{Finding, Folder, Planted, Setup, Size, Verdict, run};
use twiceshy_lab::experiments;

/// The findings of an experiment in the tiny size.
fn findings(name: &str, planted: Planted) -> Vec<Finding> {
    let names = [name.to_owned()];
    let experiments = experiments::named(&names).expect("a known experiment");
    let setup = Setup { planted, ..Setup::new(Size::Tiny, 1) };
    let place = tempfile::tempdir().expect("a folder");
    let folder = Folder::for_run(place.path(), &setup).expect("an empty folder");
    run(&experiments, &folder, &setup, 1, &|_| ()).expect("a run");
    let table = folder.table(experiments[0]).expect("a table").expect("complete");
    experiments[0].findings(&table, setup.size)
}

/// The finding on the one statement that contains these words.
fn about<'a>(findings: &'a [Finding], words: &str) -> &'a Finding {
    let mut found = findings.iter().filter(|finding| finding.paper.contains(words));
    let (first, second) = (found.next(), found.next());
    assert!(second.is_none(), "two statements contain: {words}");
    first.unwrap_or_else(|| panic!("no statement contains: {words}"))
}

fn differs(finding: &Finding) -> bool {
    matches!(finding.verdict, Verdict::Differs(_) | Verdict::Unexplained)
}

/// Without an error all is explained and these statements agree; with each of the errors the named ones do not.
fn catches(name: &str, agreeing: &[&str], planted: &[(Planted, &[&str])]) {
    let sound = findings(name, Planted::Nothing);
    for finding in &sound {
        assert_ne!(finding.verdict, Verdict::Unexplained, "{finding:#?}");
    }
    for words in agreeing {
        let finding = about(&sound, words);
        assert_eq!(finding.verdict, Verdict::Agrees, "{finding:#?}");
    }
    for (error, caught) in planted {
        let unsound = findings(name, *error);
        for words in *caught {
            assert!(agreeing.contains(words), "{words} must agree without the error");
            let finding = about(&unsound, words);
            assert!(differs(finding), "{error:?}: {finding:#?}");
        }
    }
}

#[test]
fn models_of_uniform_queries_fit_only_filters_that_adapt_and_the_right_rate() {
    let both = ["no query counted twice", "the same for Swapping"];
    catches("uniform-queries", &both, &[(Planted::WrongRule, &both), (Planted::BiasedModel, &both)]);
}

#[test]
fn models_of_a_thousand_queries_a_key_do_not_fit_filters_that_never_adapt() {
    catches("repeated-queries", &["only when A/S is small"], &[]);
    // Without the error these are open in the tiny size: the table is small.
    let unsound = findings("repeated-queries", Planted::WrongRule);
    for words in ["the error of the estimates", "the same for Swapping"] {
        let finding = about(&unsound, words);
        assert!(differs(finding), "{finding:#?}");
    }
}

#[test]
fn the_model_of_unequal_ranges_fits_only_filters_that_adapt() {
    let model = ["the model, corrected"];
    catches("unequal-ranges", &model, &[(Planted::WrongRule, &model)]);
}

#[test]
fn the_laws_of_selectors_hold_only_for_filters_that_adapt_and_the_right_law() {
    let laws = ["whose queries are asked until right", "whose queries are asked repeatedly"];
    catches("selector-values", &laws, &[(Planted::WrongRule, &laws), (Planted::BiasedModel, &laws)]);
}

#[test]
fn the_bits_of_selectors_are_those_of_the_law_and_no_others() {
    let bits = ["gives the bits found"];
    catches("selector-space", &bits, &[(Planted::WrongRule, &bits), (Planted::BiasedModel, &bits)]);
}

#[test]
fn tables_with_a_shallow_search_do_not_pass_for_full_ones() {
    let reached = ["3×1 reaches a load", "2×2 reaches a load", "thresholds of random hypergraphs"];
    catches("load-thresholds", &reached, &[(Planted::WrongRule, &reached), (Planted::BiasedModel, &reached[2..])]);
}

#[test]
fn a_filter_that_never_adapts_is_not_support_optimal() {
    let bound = ["with our small constants"];
    catches("support-optimal", &bound, &[(Planted::WrongRule, &bound)]);
}

#[test]
fn insertions_that_cost_more_in_large_tables_are_not_constant() {
    let constant = ["(2×4, load 0.9)"];
    catches("insertion-cost", &constant, &[(Planted::WrongRule, &constant)]);
}

#[test]
fn fuller_large_tables_are_neither_constant_nor_seldom_rehashed() {
    let constant = ["expected constant-time"];
    catches("alternating-insertion", &constant, &[(Planted::WrongRule, &constant)]);
    // Without the error these are open in the tiny size: bad configurations are rare.
    let unsound = findings("alternating-insertion", Planted::WrongRule);
    for words in ["probability O(1/n²)", "probability O(1/n)"] {
        let finding = about(&unsound, words);
        assert!(differs(finding), "{finding:#?}");
    }
}

#[test]
fn walks_that_stop_a_step_too_early_are_not_those_of_the_graph() {
    let graph = ["item 3", "items 1 and 2", "Lemma 1"];
    catches("cuckoo-graph", &graph, &[(Planted::WrongRule, &graph[..1])]);
}

#[test]
fn wide_fingerprints_do_not_pass_for_short_ones() {
    let lemma = ["the expected number of groups", "f = Ω(log n / b)"];
    catches("short-fingerprints", &lemma, &[(Planted::WrongRule, &lemma[1..]), (Planted::BiasedModel, &lemma[..1])]);
}

#[test]
fn a_simplified_filter_with_wide_fingerprints_is_not_limited() {
    let near = ["without h₂", "f must grow with n"];
    catches("simplified-filter", &near, &[(Planted::WrongRule, &near)]);
}

#[test]
fn bloom_filters_with_half_the_memory_and_wrong_formulas_are_noticed() {
    let space = ["the converse", "the rates of their formulas"];
    catches("space-beside-bloom", &space, &[(Planted::WrongRule, &space[..1]), (Planted::BiasedModel, &space[1..])]);
}

#[test]
fn a_cuckooing_filter_that_hears_of_no_mistake_does_not_follow_the_proof() {
    let rule = ["does what section 2.3 says"];
    catches("cuckooing-paths", &rule, &[(Planted::WrongRule, &rule)]);
}

#[test]
fn keys_of_an_unfixable_set_are_suspects_only_if_the_filter_adapts() {
    let most = ["most keys of such a set are suspects"];
    catches("birthday-suspects", &most, &[(Planted::WrongRule, &most)]);
}
