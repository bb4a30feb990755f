//! The test and measurement of a shared set: real processes, a real server, faults, and an exact check of what the processes saw.

mod child;
mod faults;
mod history;
mod linear;
mod measure;
mod member;
mod run;
mod server;
mod within;

pub use child::{MemberTurn, work_as_member};
pub use linear::{Does, Operation, is_linearizable};
pub use measure::{Measured, serve_as_member};
pub use run::{Report, Settings, run_shared};
pub use server::EngineKind;
