//! A guard beside a store that somebody else owns.

mod asynchronous;
mod basics;
mod corners;
mod spotted;
mod tickets;
