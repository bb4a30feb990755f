//! The papers' rules, step by step.
//!
//! Each filter runs beside an oracle that was written from the paper alone: whole keys in a plain vector of cells, every
//! key with the number of its fingerprint function. After every operation each key must be in the oracle's cell, and each
//! look-up must match exactly the cells that the oracle says. Where a paper leaves a choice to chance, the oracle lists
//! every allowed result, and the filter's must be one of them.
//!
//! The remote is the papers' mirror, which knows the owner of every cell. `by_hash.rs` compares it with the remote that
//! stores use.

mod by_hash;
mod cuckooing;
mod cyclic;
mod oracle;
mod play;
mod swapping;
