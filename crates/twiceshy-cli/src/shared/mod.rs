//! The commands on a shared set: one that many processes use, in a database.

mod address;
mod check;
mod create;
mod info;
mod joined;
mod passwords;

pub(crate) use address::Address;
pub(crate) use check::run as check;
pub(crate) use create::{Flags, run as create};
pub(crate) use info::run as info;
pub(crate) use joined::{leave, with};
