//! What filters promise: one program for all of it, because each program would compile the filters' generic code again.

mod batch;
mod broom;
mod broom_known;
mod golden;
mod operations;
mod orphans;
mod partial_key;
mod plans;
mod quotient;
mod remembered;
mod remembering;
mod remote_writes;
mod rules;
mod serde;
mod static_rate;
