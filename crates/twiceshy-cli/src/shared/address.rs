//! The address of a shared set.

use super::passwords::with_password;
use anyhow::{anyhow, ensure};
use std::fmt;
use std::sync::Arc;
use twiceshy_shared::{Engine, Error, connect, is_address, shown};

/// An address, which may hold a password. It is only shown without.
#[derive(Clone)]
pub(crate) struct Address(String);

impl Address {
    pub(crate) fn new(text: &str) -> Address {
        Address(text.to_owned())
    }

    /// The engine. A password that the address lacks is taken from the environment. Nothing is asked of the server yet.
    pub(crate) fn engine(&self) -> anyhow::Result<Arc<dyn Engine>> {
        ensure!(
            is_address(&self.0),
            "{self}: this is neither a folder nor the address of a shared set, which begins with postgres://, redis:// or redis-cluster://"
        );
        let found = |name: &str| std::env::var(name).ok();
        connect(&with_password(&self.0, found)).map_err(|error| self.refusal(error.into()))
    }

    /// The error of a set as one message, with the command that helps.
    pub(crate) fn refusal(&self, error: Error) -> anyhow::Error {
        match error {
            Error::NoSet => anyhow!("{self}: no shared set here: make one with `twiceshy create ADDRESS`"),
            Error::Exists => anyhow!(
                "{self}: there is already a shared set here: add keys with `twiceshy insert ADDRESS`, or name another set \
                 after a `#` at the end of the address"
            ),
            Error::TooWeak => anyhow!(
                "{self}: Redis may lose what it has committed, so a set in it cannot be exact: add `--level within:2s`"
            ),
            Error::Beside => anyhow!(
                "{self}: the values of this set are elsewhere, and only the program that has them can insert, remove or look up keys"
            ),
            error => anyhow!("{self}: {error}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}
