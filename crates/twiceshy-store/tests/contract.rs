//! Both stores of this crate keep the contract.

use twiceshy_store::{Memory, RedbStore, contract};

#[test]
fn the_store_in_memory_keeps_the_contract() {
    let memory = Memory::new();
    contract::check(|| memory.open()).expect("the contract");
}

#[test]
fn the_store_in_a_redb_file_keeps_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    contract::check(|| RedbStore::open(folder.path().join("store.redb"))).expect("the contract");
}
