//! What a defender answers from: a filter of this project over its remote, or a Bloom filter.

use super::GameError;
use super::oracle::Key;
use crate::baseline::{BlockedBloom, Bloom};
use crate::replay::{AnyFilter, AnyRemote, Make, RemoteName, has_room};
use std::sync::Arc;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;

/// How to make the filter.
#[derive(Clone)]
pub(super) enum Plan {
    Ours {
        options: Arc<dyn Make<AnyRemote>>,
        remote: RemoteName,
    },
    /// A Bloom filter in the memory of `cells` cells of `bits` bits.
    Bloom {
        cells: u64,
        bits: u32,
        keys: u64,
        is_blocked: bool,
    },
}

impl Plan {
    /// An empty filter under a hash key.
    pub(super) fn build(&self, hash: HashKey) -> Result<Body, GameError> {
        match self {
            Plan::Ours { options, remote } => {
                Ok(Body::Ours(Box::new(options.build(hash, remote.open())?), Arc::clone(options)))
            }
            &Plan::Bloom { cells, bits, keys, is_blocked: false } => {
                Ok(Body::Bloom(Bloom::new(cells, bits, keys, hash)))
            }
            &Plan::Bloom { cells, bits, keys, is_blocked: true } => {
                Ok(Body::Blocked(BlockedBloom::new(cells, bits, keys, hash)))
            }
        }
    }

    /// `true` if its keys can be removed, and it can grow and be recovered: it has a remote.
    pub(super) fn knows_its_keys(&self) -> bool {
        matches!(self, Plan::Ours { .. })
    }
}

/// The filter, without a list of mistakes.
#[derive(Clone)]
pub(super) enum Body {
    /// With the options that recover it.
    Ours(Box<AnyFilter>, Arc<dyn Make<AnyRemote>>),
    Bloom(Bloom),
    Blocked(BlockedBloom),
}

impl Body {
    #[inline]
    pub(super) fn contains(&self, key: &Key) -> bool {
        match self {
            Body::Ours(filter, _) => filter.contains(key),
            Body::Bloom(filter) => filter.contains(key),
            Body::Blocked(filter) => filter.contains(key),
        }
    }

    /// Stores a key. `false` if there is no room.
    pub(super) fn insert(&mut self, key: &Key) -> Result<bool, GameError> {
        match self {
            Body::Ours(filter, _) => return Ok(has_room(filter.insert(key))?),
            Body::Bloom(filter) => filter.insert(key),
            Body::Blocked(filter) => filter.insert(key),
        }
        Ok(true)
    }

    pub(super) fn filter(&self) -> &dyn Filter {
        match self {
            Body::Ours(filter, _) => filter.filter(),
            Body::Bloom(filter) => filter,
            Body::Blocked(filter) => filter,
        }
    }

    pub(super) fn local_bits(&self) -> u64 {
        match self {
            Body::Ours(filter, _) => filter.local_bits(),
            Body::Bloom(_) | Body::Blocked(_) => self.filter().local_bits(),
        }
    }

    /// The filter of this project with its options. Fails for a Bloom filter: adversaries that need it are refused before
    /// they play.
    pub(super) fn ours_mut(&mut self) -> Result<(&mut AnyFilter, &Arc<dyn Make<AnyRemote>>), GameError> {
        match self {
            Body::Ours(filter, options) => Ok((filter, options)),
            Body::Bloom(_) | Body::Blocked(_) => {
                Err(GameError::Seam("a Bloom filter was asked to remove, grow or recover".into()))
            }
        }
    }
}
