//! A model of the shared guard's protocol, searched completely within the bounds of each configuration.
//!
//! Many processes keep a copy of a filter in memory; an engine holds the log that they apply, the rows, and the table
//! of members. The model shows that no process says *absent* for a key that is there, whatever is delayed, lost,
//! suspended or struck out, and that each rule of the protocol is needed for that: switched off alone, the search finds
//! a counterexample.
//!
//! Read [`rules`] first, then [`process`] and [`engine`] for the state. Each step has its guard and its effect in one
//! function: [`lease`], [`look_up`], [`insertion`], [`removal`], [`membership`], [`maintenance`], [`time`].
//! [`configurations`] says what is searched, [`property`] what must hold, [`holds`], [`needed`] and [`large`] are the
//! tests. Run them with `--nocapture` to see the number of states and the counterexamples.
//!
//! What the model leaves out because it adds no behaviour, or only behaviour that does less harm:
//!
//! - A record is read and applied in one step, and acknowledged in the same: a later acknowledgement only keeps
//!   announcers waiting.
//! - An announcement, a removal or a closing is planned and executed in one step. A plan that waited is a plan of a
//!   process that is late, and the check of the head treats both alike.
//! - A look-up is followed only if *absent* would be wrong. The store's answer is always right.
//! - A process without look-ups is always up to date, except in the configuration made for late writers.
//! - Clocks are ages that stop at the longest wait, so time has no bound. All clocks together drift by at most
//!   [`DRIFT`](process::DRIFT) in a run.

mod action;
mod configuration;
mod configurations;
mod engine;
mod guard;
mod holds;
mod insertion;
mod large;
mod lease;
mod look_up;
mod maintenance;
mod membership;
mod needed;
mod process;
mod property;
mod removal;
mod rules;
mod search;
mod state;
mod time;
