//! What goes wrong around a filter: damaged and hostile files, remotes that fail, lie or belong to another filter.

mod damage;
mod faults;
mod hostile;
mod identity;
mod never_guess;
