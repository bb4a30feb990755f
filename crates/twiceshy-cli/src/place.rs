//! Where the keys of a command are: in a folder, or in a shared set at an address.

use crate::shared::Address;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The place of a store as it was given. It has no `Debug`: an address may hold a password.
#[derive(Clone)]
pub(crate) enum Place {
    /// The folder of a guarded store.
    Folder(PathBuf),
    /// The address of a shared set.
    Address(Address),
}

impl Place {
    /// The parser of the argument.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Place> {
        OsStringValueParser::new().map(Place::from)
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Place::Folder(path) => Some(path),
            Place::Address(_) => None,
        }
    }
}

impl From<OsString> for Place {
    fn from(text: OsString) -> Place {
        match text.to_str() {
            Some(text) if text.contains("://") || may_hold_password(text) => Place::Address(Address::new(text)),
            _ => Place::Folder(text.into()),
        }
    }
}

/// `true` for what looks like an address that was mistyped. As a folder it would be shown, and made.
fn may_hold_password(text: &str) -> bool {
    let is_scheme = |scheme: &str| ["postgres", "postgresql", "redis", "rediss", "redis-cluster"].contains(&scheme);
    let has_user = |rest: &str| rest.contains('@');
    text.contains("password=")
        || text.split_once(':').is_some_and(|(first, rest)| (is_scheme(first) && !rest.is_empty()) || has_user(rest))
}

/// Without a password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Folder(path) => write!(f, "{}", path.display()),
            Place::Address(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_scheme_is_an_address_and_is_shown_without_its_password() {
        let place = |text: &str| Place::from(OsString::from(text));
        for (text, shown) in [
            ("postgres://me:secret@host/data#users", "postgres://host/data#users"),
            ("mysql://me:secret@host/data", "mysql://host/data"),
            ("postgres:/me:secret@host/data", "an address"),
            ("redis:secret", "an address"),
            ("me:secret@host", "an address"),
            ("host=h user=me password=secret", "an address"),
        ] {
            assert!(place(text).folder().is_none());
            assert_eq!(place(text).to_string(), shown);
        }
        for text in ["folder", "/a/b", "c:\\folder", "postgres:"] {
            assert_eq!(place(text).folder(), Some(Path::new(text)));
            assert_eq!(place(text).to_string(), text);
        }
    }
}
