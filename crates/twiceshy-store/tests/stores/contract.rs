//! The stores of this crate keep the contract.

use twiceshy_store::{FjallStore, Memory, RedbStore, SqliteStore, contract};

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

#[test]
fn the_store_in_a_fjall_folder_keeps_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    contract::check(|| FjallStore::open(folder.path().join("store"))).expect("the contract");
}

#[test]
fn the_store_in_an_sqlite_file_keeps_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    contract::check(|| SqliteStore::open(folder.path().join("store.sqlite"))).expect("the contract");
}
