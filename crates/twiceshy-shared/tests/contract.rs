//! The suite for engines accepts the engine in memory, and catches engines that break a promise.

mod liar;

use liar::{Liar, Lie};
use twiceshy_shared::{MemoryEngine, contract};

#[tokio::test]
async fn the_engine_in_memory_keeps_the_contract() {
    let engine = MemoryEngine::new();
    assert_eq!(contract::check(&engine).await, Ok(()));
    assert_eq!(contract::check_news(&engine, &engine.clone()).await, Ok(()));
}

#[tokio::test]
async fn an_engine_with_a_set_is_refused() {
    let engine = MemoryEngine::new();
    assert_eq!(contract::check(&engine).await, Ok(()));
    assert!(contract::check(&engine).await.is_err());
}

#[tokio::test]
async fn a_wrapper_that_tells_the_truth_keeps_the_contract() {
    assert_eq!(contract::check(&Liar::new(Lie::None)).await, Ok(()));
}

#[tokio::test]
async fn every_lie_is_caught_and_named() {
    for (lie, named) in Lie::ALL {
        let caught = contract::check(&Liar::new(lie)).await;
        let sentence = caught.expect_err(&format!("{lie:?} was not caught"));
        assert!(sentence.contains(named), "{lie:?}: {sentence}");
    }
}
