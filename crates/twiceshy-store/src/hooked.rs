//! A store that tells before and after each call. For tests: of delays, of stalls, of what is called when.

use crate::store::{Change, CommitError, Durability, Space, Store};
use std::ops::Bound;

/// A call of a store.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// `get` or `contains`.
    Get,
    /// `scan`.
    Scan,
    /// `commit`.
    Commit(&'a [Change], Durability),
}

/// Hears of the calls of a store.
pub trait Hook: Send + Sync + 'static {
    /// A call is about to be made.
    fn before(&self, call: Call<'_>);

    /// It has returned.
    fn after(&self, _call: Call<'_>) {}
}

/// A store with a hook.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use twiceshy_store::hooked::{Call, Hook, Hooked};
/// use twiceshy_store::{MemoryStore, Options};
///
/// struct Commits(AtomicU64);
///
/// impl Hook for Commits {
///     fn before(&self, call: Call<'_>) {
///         self.0.fetch_add(matches!(call, Call::Commit(..)).into(), Ordering::Relaxed);
///     }
/// }
///
/// let store = Hooked { inner: MemoryStore::new(), hook: Commits(AtomicU64::new(0)) };
/// let guard = Options::new().open(store)?;
/// guard.insert(b"key", b"value")?;
/// assert_eq!(guard.store().hook.0.load(Ordering::Relaxed), 2); // one of them made the store
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Hooked<S, H> {
    /// The store.
    pub inner: S,
    /// Hears of its calls.
    pub hook: H,
}

impl<S, H: Hook> Hooked<S, H> {
    fn call<T>(&self, call: Call<'_>, make: impl FnOnce(&S) -> T) -> T {
        self.hook.before(call);
        let returned = make(&self.inner);
        self.hook.after(call);
        returned
    }
}

impl<S: Store, H: Hook> Store for Hooked<S, H> {
    type Error = S::Error;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        self.call(Call::Get, |store| store.get(space, key))
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, S::Error> {
        self.call(Call::Get, |store| store.contains(space, key))
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), S::Error> {
        self.call(Call::Scan, |store| store.scan(space, from, found))
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<S::Error>> {
        self.call(Call::Commit(changes, durability), |store| store.commit(changes, durability))
    }

    fn longest_key(&self) -> Option<usize> {
        self.inner.longest_key()
    }

    fn verify(&self) -> Result<Vec<String>, S::Error> {
        self.inner.verify()
    }
}
