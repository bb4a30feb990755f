//! The command `twiceshy`.
fn main() {}
