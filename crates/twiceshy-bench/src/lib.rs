//! Every filter of twiceshy beside filters of other crates, in one run.

pub mod remote;
