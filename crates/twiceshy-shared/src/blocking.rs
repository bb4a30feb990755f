//! The guard for threads that may block.

use crate::background;
use crate::engine::Engine;
use crate::error::Error;
use crate::guard::{Freshness, Opening, Shared, Token};
use crate::survey::{Checked, Survey};
use std::sync::Arc;
use twiceshy::AsKey;

/// A [`Shared`] guard whose functions block. Look-ups that touch no network are those of [`Blocking::shared`].
///
/// ```
/// use twiceshy_shared::{Blocking, MemoryEngine, Set};
///
/// let engine = MemoryEngine::new();
/// Blocking::create(&Set::new(), engine.clone())?;
/// let guard = Blocking::open(engine)?;
/// guard.insert(b"key", b"value")?;
/// assert_eq!(guard.get(b"key")?, Some(b"value".to_vec()));
/// assert!(!guard.shared().may_contain(b"another"));
/// # Ok::<(), twiceshy_shared::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocking(Shared);

impl Blocking {
    /// Makes a new set in an engine.
    pub fn create(set: &crate::Set, engine: impl Engine) -> Result<(), Error> {
        Blocking::create_with(set, Arc::new(engine))
    }

    /// Makes a new set in an engine that others use too.
    pub fn create_with(set: &crate::Set, engine: Arc<dyn Engine>) -> Result<(), Error> {
        let set = *set;
        background::block_on(async move { set.create(&*engine).await })
    }

    /// Opens the set in an engine.
    pub fn open(engine: impl Engine) -> Result<Blocking, Error> {
        Blocking::open_with(Opening::new(), Arc::new(engine))
    }

    /// Opens the set in an engine, in another way than usual.
    pub fn open_with(opening: Opening, engine: Arc<dyn Engine>) -> Result<Blocking, Error> {
        background::block_on(opening.open(engine)).map(Blocking)
    }

    /// See [`Survey::take`].
    pub fn survey(engine: Arc<dyn Engine>) -> Result<Survey, Error> {
        background::block_on(Survey::take(engine))
    }

    /// See [`Survey::check`].
    pub fn check(engine: Arc<dyn Engine>) -> Result<Checked, Error> {
        background::block_on(Survey::check(engine))
    }

    /// The guard with functions to be awaited.
    pub fn shared(&self) -> &Shared {
        &self.0
    }

    /// See [`Shared::get`].
    pub fn get<K: AsKey + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>, Error> {
        self.get_at(key, &Freshness::Promised)
    }

    /// See [`Shared::get_at`].
    pub fn get_at<K: AsKey + ?Sized>(&self, key: &K, freshness: &Freshness) -> Result<Option<Vec<u8>>, Error> {
        let key = key.as_key();
        if !self.0.may_contain_at(key.as_ref(), freshness) {
            return Ok(None);
        }
        let (shared, key, freshness) = (self.0.clone(), key.as_ref().to_vec(), freshness.clone());
        background::block_on(async move { shared.get_at(&key[..], &freshness).await })
    }

    /// See [`Shared::get_all`].
    pub fn get_all<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let keys: Vec<Vec<u8>> = keys.into_iter().map(|key| key.as_key().as_ref().to_vec()).collect();
        let shared = self.0.clone();
        background::block_on(async move { shared.get_all(keys).await })
    }

    /// See [`Shared::contains_all`].
    pub fn contains_all<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<bool>, Error> {
        Ok(self.get_all(keys)?.iter().map(Option::is_some).collect())
    }

    /// See [`Shared::wait`].
    pub fn wait(&self) -> Result<(), Error> {
        let shared = self.0.clone();
        background::block_on(async move { shared.wait().await })
    }

    /// See [`Shared::insert`].
    pub fn insert<K: AsKey + ?Sized>(&self, key: &K, value: &[u8]) -> Result<Token, Error> {
        self.insert_all([(key.as_key().as_ref(), value)])
    }

    /// See [`Shared::insert_all`].
    pub fn insert_all<K: AsKey, V: AsRef<[u8]>>(
        &self,
        values: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Token, Error> {
        let values = values.into_iter().map(|(key, value)| (key.as_key().as_ref().to_vec(), value.as_ref().to_vec()));
        let (shared, values) = (self.0.clone(), values.collect::<Vec<_>>());
        background::block_on(async move { shared.insert_all(values).await })
    }

    /// See [`Shared::remove`].
    pub fn remove<K: AsKey + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        Ok(self.remove_all([key.as_key().as_ref()])? > 0)
    }

    /// See [`Shared::remove_all`].
    pub fn remove_all<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64, Error> {
        let keys: Vec<Vec<u8>> = keys.into_iter().map(|key| key.as_key().as_ref().to_vec()).collect();
        let shared = self.0.clone();
        background::block_on(async move { shared.remove_all(keys).await })
    }

    /// See [`Shared::close`].
    pub fn close(self) -> Result<(), Error> {
        background::block_on(self.0.close())
    }
}
