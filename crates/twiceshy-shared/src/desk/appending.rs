//! Appending a record, and finding out whether it was appended if nobody answers.

use super::{Desk, PAUSE, Trouble};
use crate::clock::Moment;
use crate::engine::{Append, Appended, EngineError, Log};
use crate::names::{Head, Shard, random};
use tokio::time::sleep;

/// For how many leases a member tries to find out what became of a request whose answer was lost.
pub(crate) const DOUBT: u32 = 10;

impl Desk {
    /// Appends a record. If the answer is lost, finds out what happened: the tag of the record after this head tells.
    pub(super) async fn append(&self, append: &Append) -> Result<Appended, Trouble> {
        let (begin, mut doubt) = (self.inner.now(), None);
        loop {
            let answer = self.inner.engine.append(append).await;
            let lost = match (answer, doubt) {
                (Ok(Appended::Moved), Some(lost)) => return self.was_appended(append, begin, lost).await,
                (Ok(answer), _) => return Ok(answer),
                (Err(error @ EngineError::Unknown(_)), _) => error,
                // The first attempt may still be under way, so this error decides nothing.
                (Err(_), Some(lost)) => lost,
                (Err(error), None) => return Err(error.into()),
            };
            doubt = Some(self.still_hopes(begin, lost).await?);
        }
    }

    /// Pauses before the next attempt to find out what became of a record, unless it is too late.
    async fn still_hopes(&self, begin: Moment, lost: EngineError) -> Result<EngineError, Trouble> {
        if self.inner.is_closed() || self.inner.now().since(begin) > self.inner.time() * DOUBT {
            return Err(Trouble::Doubt(lost));
        }
        sleep(PAUSE).await;
        Ok(lost)
    }

    /// The head has moved. Was it this append that moved it?
    async fn was_appended(&self, append: &Append, begin: Moment, lost: EngineError) -> Result<Appended, Trouble> {
        let mut lost = lost;
        loop {
            match self.inner.engine.read(self.shard, append.after, 1).await {
                Ok(Log::Records(records)) => {
                    let is_own = records.first().is_some_and(|logged| logged.at == append.head());
                    // They were in the index, so they had a value, but for one whose announcement is open.
                    let deleted = || append.values.iter().filter(|(_, value)| value.is_none());
                    return Ok(match is_own {
                        true => Appended::Done(deleted().map(|(key, _)| key.clone()).collect()),
                        false => Appended::Moved,
                    });
                }
                Ok(Log::Cut | Log::Broken) => return Err(Trouble::Lost),
                Err(_) => lost = self.still_hopes(begin, lost).await?,
            }
        }
    }
}

impl Append {
    /// The head that this creates.
    pub fn head(&self) -> Head {
        Head { position: self.after.position + 1, tag: self.tag }
    }

    /// An append with a new tag.
    pub(crate) fn after(shard: Shard, after: Head) -> Append {
        Append { shard, after, tag: random(), ..Append::default() }
    }
}
