//! The stores of this crate, and guards over their files. No test here may start a process: see `guard/main.rs`.

mod contract;
mod exact_map;
mod redb_checksums;
mod redb_file;
mod remembered;
mod salvage;
mod status;
mod support;
