//! What a set is made with: the same for all its members, and fixed.

use crate::engine::{Engine, EngineError, Promise};
use crate::error::Error;
use crate::names::{Head, Shard, random};
use std::time::Duration;
use twiceshy::Kind;
use twiceshy::filter::Backed;
use twiceshy::hash::{HashKey, HashKind};
use twiceshy::remote::{Generation, Key};

/// What a set promises about *absent*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// No process denies a key whose insertion was acknowledged before the look-up began. Every insertion waits until all members know
    /// of the key.
    Exact,
    /// No process denies a key whose insertion was acknowledged this long before the look-up began. Insertions do not wait.
    Within(Duration),
}

/// How to make a new set.
///
/// ```
/// # async fn example() -> Result<(), twiceshy_shared::Error> {
/// use twiceshy_shared::{Level, MemoryEngine, Set, Shared};
///
/// let engine = MemoryEngine::new();
/// Set::new().expected_keys(100_000).shards(4).level(Level::Exact).create(&engine).await?;
/// let guard = Shared::open(engine).await?;
/// guard.insert(b"key", b"value").await?;
/// assert_eq!(guard.get(b"key").await?, Some(b"value".to_vec()));
/// assert!(!guard.may_contain(b"another"));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Set {
    kind: Kind,
    rate: f64,
    keys: u64,
    shards: u32,
    level: Level,
    lease: Duration,
    beside: bool,
    hash: Option<HashKey>,
}

impl Default for Set {
    fn default() -> Set {
        Set {
            kind: Kind::Telescoping,
            rate: 1.0 / 256.0,
            keys: 1_000,
            shards: 1,
            level: Level::Exact,
            lease: Duration::from_secs(2),
            beside: false,
            hash: None,
        }
    }
}

impl Set {
    /// The default: an exact set of one shard with a telescoping filter, whose values are in the engine.
    pub fn new() -> Set {
        Set::default()
    }

    /// The kind of the filters. Not the broom filter, which writes to its index when it learns.
    pub fn filter(self, kind: Kind) -> Set {
        Set { kind, ..self }
    }

    /// The false-positive rate of the filters: 1/256 by default.
    pub fn false_positive_rate(self, rate: f64) -> Set {
        Set { rate, ..self }
    }

    /// The number of keys that the filters have room for at first. They grow.
    pub fn expected_keys(self, keys: u64) -> Set {
        Set { keys, ..self }
    }

    /// The number of shards: 1 by default. It cannot be changed later.
    pub fn shards(self, shards: u32) -> Set {
        Set { shards, ..self }
    }

    /// What the set promises: [`Level::Exact`] by default.
    pub fn level(self, level: Level) -> Set {
        Set { level, ..self }
    }

    /// How long a member of an exact set may answer after it has heard from the engine: 2 s by default. An insertion waits this long for a
    /// member that has died.
    pub fn lease(self, lease: Duration) -> Set {
        Set { lease, ..self }
    }

    /// Values are elsewhere, and only keys are in the engine. All look-ups are loaded until the first [`Shared::resync`](crate::Shared::resync)
    /// has ended: there may be rows already.
    pub fn beside(self) -> Set {
        Set { beside: true, ..self }
    }

    /// A known hash key: for tests and experiments.
    pub fn hash_key(self, hash: HashKey) -> Set {
        Set { hash: Some(hash), ..self }
    }

    /// Makes the set in an engine.
    pub async fn create(self, engine: &dyn Engine) -> Result<(), Error> {
        let description = self.describe(engine.promise())?;
        match engine.create(&description.to_bytes(), description.shards).await? {
            true => Ok(()),
            false => Err(Error::Exists),
        }
    }

    fn describe(self, promise: Promise) -> Result<Description, Error> {
        let refuse = |what: &str| Err(Error::Options(what.to_owned()));
        if self.kind.learning_writes() {
            return refuse(
                "a broom filter cannot be shared, since it writes to its index when it learns: choose another",
            );
        }
        if self.shards == 0 || self.shards > MOST_SHARDS {
            return Err(Error::Options(format!(
                "the number of shards must be from 1 to {MOST_SHARDS}, not {}",
                self.shards
            )));
        }
        let time = match self.level {
            Level::Exact => self.lease,
            Level::Within(time) => time,
        };
        if !(SHORTEST..=LONGEST).contains(&time) {
            return Err(Error::Options(format!("a lease must be between 20 ms and a day, not {time:?}")));
        }
        if self.level == Level::Exact && promise != Promise::Exact {
            return Err(Error::TooWeak);
        }
        let description = Description {
            kind: self.kind,
            rate: self.rate,
            keys: self.keys,
            shards: self.shards,
            exact: self.level == Level::Exact,
            time,
            beside: self.beside,
            hash: self.hash.map_or_else(HashKey::random, Ok)?,
            routing: self.hash.map_or_else(HashKey::random, |hash| Ok(hash.successor()))?.for_trusted_keys(),
            identity: random(),
        };
        description.empty_filter()?;
        Ok(description)
    }
}

/// The most shards: a transaction may need to lock all of them.
const MOST_SHARDS: u32 = 4_096;

/// The shortest time that a member can keep by renewing four times as often.
const SHORTEST: Duration = Duration::from_millis(20);

/// The longest time that an insertion may wait for a dead member.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The description of a set, as its engine keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Description {
    pub(crate) kind: Kind,
    pub(crate) rate: f64,
    pub(crate) keys: u64,
    pub(crate) shards: u32,
    pub(crate) exact: bool,
    /// The lease of an exact set, the stated time of another.
    pub(crate) time: Duration,
    pub(crate) beside: bool,
    pub(crate) hash: HashKey,
    /// Decides the shard of a key. Another hash than that of the filters, whose tables expect all words.
    pub(crate) routing: HashKey,
    /// A random number: another one if the set is made anew. 0 if it was made by a version that drew none. The tag before the first record of each
    /// shard.
    pub(crate) identity: u64,
}

/// The version of the bytes. Version 1 has no identity.
const VERSION: u8 = 2;

impl Description {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.kind.code(), u8::from(self.exact), u8::from(self.beside)];
        bytes.extend(self.shards.to_le_bytes());
        bytes.extend(self.rate.to_le_bytes());
        bytes.extend(self.keys.to_le_bytes());
        bytes.extend(crate::clock::nanos(self.time).to_le_bytes());
        for hash in [self.hash, self.routing] {
            bytes.push(hash.kind().code());
            bytes.extend(hash.to_bytes());
        }
        bytes.extend(self.identity.to_le_bytes());
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Description, EngineError> {
        let damaged = |what: &str| EngineError::Damaged(format!("its description {what}"));
        let (content, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| damaged("is too short"))?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return Err(damaged("does not match its checksum"));
        }
        let (content, identity) = match content.split_last_chunk::<8>() {
            _ if content.first() == Some(&1) => (content, 0),
            Some((before, identity)) if content.first() == Some(&VERSION) => (before, u64::from_le_bytes(*identity)),
            _ => return Err(damaged("was written by a newer version of this program: update it")),
        };
        Description::parse(content, identity).ok_or_else(|| damaged("is invalid"))
    }

    fn parse(content: &[u8], identity: u64) -> Option<Description> {
        let number = |at: usize| Some(u64::from_le_bytes(content.get(at..at + 8)?.try_into().ok()?));
        let hash = |at: usize| {
            let kind = HashKind::from_code(*content.get(at)?)?;
            Some(HashKey::from_bytes(kind, content.get(at + 1..at + 17)?.try_into().ok()?))
        };
        let shards = u32::from_le_bytes(content.get(4..8)?.try_into().ok()?);
        let description = Description {
            kind: Kind::from_code(*content.get(1)?)?,
            exact: *content.get(2)? == 1,
            beside: *content.get(3)? == 1,
            shards: Some(shards).filter(|shards| (1..=MOST_SHARDS).contains(shards))?,
            rate: f64::from_bits(number(8)?),
            keys: number(16)?,
            time: Duration::from_nanos(number(24)?),
            hash: hash(32)?,
            routing: hash(49)?,
            identity,
        };
        (content.len() == 66).then_some(description)
    }

    /// The shard of a key.
    #[inline]
    pub(crate) fn shard(&self, key: &[u8]) -> Shard {
        if self.shards == 1 {
            return Shard(0);
        }
        let word = self.routing.words(key).word(0);
        Shard(((u128::from(word) * u128::from(self.shards)) >> 64) as u32)
    }

    /// The head of a shard before its first record.
    pub(crate) fn root(&self) -> Head {
        Head { position: 0, tag: self.identity }
    }

    /// The filter of an empty shard: the same for all members.
    pub(crate) fn empty_filter(&self) -> Result<Box<dyn Backed>, Error> {
        let keys = self.keys.div_ceil(u64::from(self.shards));
        // Shards differ in size, and no filter should grow at once.
        let keys = keys.saturating_add(keys / 4).saturating_add(100);
        Ok(self.kind.make(keys, self.rate, self.hash, Generation(0))?)
    }

    /// The cells of a table for this many keys.
    pub(crate) fn cells(&self, keys: u64) -> Result<u64, Error> {
        Ok(self.kind.geometry(keys, self.rate)?.0)
    }
}

/// The key of a value in the engine, which is there if a shard of a set whose values are elsewhere has every row's key. Each shard has its own, since
/// an engine may keep the values of all shards together.
pub(crate) fn complete_key(shard: Shard) -> Key {
    Key::from(format!("twiceshy: shard {} is complete", shard.0).as_bytes())
}

/// `true` if a shard has the key of every row.
pub(crate) async fn is_complete(
    engine: &dyn Engine,
    described: &Description,
    shard: Shard,
) -> Result<bool, EngineError> {
    if !described.beside {
        return Ok(true);
    }
    let values = engine.get(&[(shard, complete_key(shard))]).await?;
    Ok(values.iter().any(Option::is_some))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> Description {
        Set::new().shards(7).hash_key(HashKey::fixed(3)).describe(Promise::Exact).expect("usual options")
    }

    #[test]
    fn a_description_is_read_as_written_and_others_are_refused() {
        let written = described();
        let bytes = written.to_bytes();
        assert_eq!(Description::from_bytes(&bytes).expect("own bytes"), written);
        assert!((0..bytes.len()).all(|len| Description::from_bytes(&bytes[..len]).is_err()));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Description::from_bytes(&damaged).is_err(), "byte {at}");
        }
        assert_ne!(Description::from_bytes(&bytes).expect("own bytes"), described(), "each set has an identity");
    }

    #[test]
    fn a_description_of_the_first_version_is_read() {
        let described = described();
        let mut first = described.to_bytes();
        first.truncate(66);
        first[0] = 1;
        first.extend(crc32fast::hash(&first).to_le_bytes());
        assert_eq!(
            Description::from_bytes(&first).expect("the first version"),
            Description { identity: 0, ..described }
        );
    }

    #[test]
    fn shards_get_about_the_same_number_of_keys() {
        let described = described();
        let mut counts = [0u32; 7];
        for key in 0..70_000u64 {
            counts[described.shard(&key.to_le_bytes()).0 as usize] += 1;
        }
        // Four standard deviations of a binomial distribution.
        assert!(counts.iter().all(|count| (10_000 - 370..10_000 + 370).contains(count)), "{counts:?}");
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let refused = [
            Set::new().shards(0),
            Set::new().shards(5_000),
            Set::new().filter(Kind::Broom),
            Set::new().false_positive_rate(0.0),
            Set::new().false_positive_rate(2.0),
            Set::new().expected_keys(u64::MAX),
            Set::new().lease(Duration::ZERO),
            Set::new().level(Level::Within(Duration::from_secs(1_000_000))),
        ];
        for set in refused {
            assert!(matches!(set.describe(Promise::Exact), Err(Error::Options(_))), "{set:?}");
        }
        assert!(matches!(Set::new().describe(Promise::Within), Err(Error::TooWeak)));
        assert!(Set::new().level(Level::Within(Duration::from_secs(1))).describe(Promise::Within).is_ok());
    }
}
