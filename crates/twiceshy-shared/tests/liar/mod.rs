//! An engine that breaks one promise.

use std::time::Duration;
use twiceshy::remote::{Generation, Key, Position};
use twiceshy_shared::{
    Append, Appended, Engine, Head, Log, Member, MemberId, MemoryEngine, Open, Promise, Renewal, Renewed, Reply,
    Settle, Shard, Snapshot, SnapshotId, Span,
};

/// What the engine gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    None,
    CreatesTwice,
    TakesNoRoot,
    RenewsTheGone,
    ForgetsToCountRenewals,
    AcknowledgesNothing,
    AcknowledgesForStrangers,
    StrikesAnybody,
    AppendsAnywhere,
    IgnoresTheTag,
    LeavesValuesBehind,
    IgnoresAnnouncements,
    IgnoresValues,
    ClosesWhatIsNotOpen,
    NamesKeysWithoutValue,
    SettlesHalf,
    LeavesOutTheLastWord,
    SortsWordsAsSigned,
    ForgetsTheSecondOrder,
    WalksFromTheStart,
    WalksBackwards,
    IgnoresTheLimitOfAWalk,
    IgnoresTheLimitOfARead,
    HidesABreak,
    HidesACut,
    NeverCuts,
    LosesEmptyValues,
    ListsFromTheStart,
    IgnoresTheLimitOfAList,
    EndsAListEarly,
    LosesItsPlaceInAList,
    ShortensSnapshots,
    KeepsOldSnapshots,
    NeverTellsNews,
    AlwaysTellsNews,
    LetsTwoWin,
}

impl Lie {
    /// All but the truth, each with what the suite says of it.
    pub(crate) const ALL: [(Lie, &str); 35] = [
        (Lie::CreatesTwice, "a second set"),
        (Lie::TakesNoRoot, "the head of a shard that was joined"),
        (Lie::RenewsTheGone, "the renewal of a stranger"),
        (Lie::ForgetsToCountRenewals, "after one renewal"),
        (Lie::AcknowledgesNothing, "after a member's append"),
        (Lie::AcknowledgesForStrangers, "after acknowledgements that change nothing"),
        (Lie::StrikesAnybody, "was struck out for 0"),
        (Lie::AppendsAnywhere, "an append after the position before"),
        (Lie::IgnoresTheTag, "with another tag"),
        (Lie::LeavesValuesBehind, "a value of an append that was refused"),
        (Lie::IgnoresAnnouncements, "keys that are announced"),
        (Lie::IgnoresValues, "forbids a value"),
        (Lie::ClosesWhatIsNotOpen, "closes what is not open"),
        (Lie::NamesKeysWithoutValue, "the deleted keys"),
        (Lie::SettlesHalf, "was not settled"),
        (Lie::LeavesOutTheLastWord, "the keys of Span"),
        (Lie::SortsWordsAsSigned, "the keys of Span"),
        (Lie::ForgetsTheSecondOrder, "order: Order(1)"),
        (Lie::WalksFromTheStart, "does not end"),
        (Lie::WalksBackwards, "a walk with a limit of 2"),
        (Lie::IgnoresTheLimitOfAWalk, "a walk with a limit of 1 gave"),
        (Lie::IgnoresTheLimitOfARead, "a limit of 0 bytes"),
        (Lie::HidesABreak, "another tag"),
        (Lie::HidesACut, "before its cut"),
        (Lie::NeverCuts, "before its cut"),
        (Lie::LosesEmptyValues, "the values"),
        (Lie::ListsFromTheStart, "a list goes on after it has ended"),
        (Lie::IgnoresTheLimitOfAList, "a list of at most 7 keys has"),
        (Lie::EndsAListEarly, "a list goes on after it has ended"),
        (Lie::LosesItsPlaceInAList, "a list after a key that is gone"),
        (Lie::ShortensSnapshots, "is not loaded as it was saved"),
        (Lie::KeepsOldSnapshots, "is not loaded as it was saved"),
        (Lie::NeverTellsNews, "the news after an append"),
        (Lie::AlwaysTellsNews, "when there are none"),
        (Lie::LetsTwoWin, "after the same head were done"),
    ];
}

/// An engine in memory that breaks one promise.
#[derive(Debug)]
pub(crate) struct Liar {
    honest: MemoryEngine,
    lie: Lie,
}

impl Liar {
    pub(crate) fn new(lie: Lie) -> Liar {
        Liar { honest: MemoryEngine::new(), lie }
    }

    fn tells(&self, lie: Lie) -> bool {
        self.lie == lie
    }

    /// The append that is made in place of the one that was asked for.
    async fn bent(&self, append: &Append) -> Append {
        let mut bent = append.clone();
        let head = self.honest.head(append.shard).await.expect("memory");
        match self.lie {
            Lie::AppendsAnywhere => bent.after = head,
            Lie::IgnoresTheTag if head.position == append.after.position => bent.after = head,
            Lie::IgnoresAnnouncements => bent.unopened.clear(),
            Lie::IgnoresValues => bent.rowless.clear(),
            Lie::ClosesWhatIsNotOpen => {
                let open = self.honest.open(append.shard).await.expect("memory");
                bent.close.retain(|id| open.iter().any(|open| open.id == *id));
            }
            Lie::AcknowledgesNothing => bent.applied_by = None,
            _ => {}
        }
        bent
    }
}

impl Engine for Liar {
    fn promise(&self) -> Promise {
        self.honest.promise()
    }

    fn longest_key(&self) -> usize {
        self.honest.longest_key()
    }

    fn create<'a>(&'a self, description: &'a [u8], shards: u32) -> Reply<'a, bool> {
        Box::pin(async move { Ok(self.honest.create(description, shards).await? || self.tells(Lie::CreatesTwice)) })
    }

    fn description(&self) -> Reply<'_, Option<Vec<u8>>> {
        self.honest.description()
    }

    fn join(&self, shard: Shard, member: MemberId, root: u64) -> Reply<'_, ()> {
        self.honest.join(shard, member, if self.tells(Lie::TakesNoRoot) { 0 } else { root })
    }

    fn leave(&self, shard: Shard, member: MemberId) -> Reply<'_, ()> {
        self.honest.leave(shard, member)
    }

    fn renew<'a>(&'a self, renewals: &'a [Renewal]) -> Reply<'a, Vec<Option<Renewed>>> {
        Box::pin(async move {
            let mut answers = self.honest.renew(renewals).await?;
            for (renewal, answer) in renewals.iter().zip(&mut answers) {
                let head = self.honest.head(renewal.shard).await?;
                if self.tells(Lie::RenewsTheGone) && renewal.shard == Shard(0) {
                    *answer = Some(Renewed { head, outbox_is_empty: true });
                }
            }
            Ok(answers)
        })
    }

    fn acknowledge(&self, shard: Shard, member: MemberId, position: u64) -> Reply<'_, ()> {
        Box::pin(async move {
            let members = self.honest.members(shard).await?;
            if self.tells(Lie::AcknowledgesForStrangers) && members.iter().all(|other| other.id != member) {
                self.honest.join(shard, member, 0).await?;
            }
            self.honest.acknowledge(shard, member, position).await
        })
    }

    fn members(&self, shard: Shard) -> Reply<'_, Vec<Member>> {
        Box::pin(async move {
            let mut members = self.honest.members(shard).await?;
            if self.tells(Lie::ForgetsToCountRenewals) {
                members.iter_mut().for_each(|member| member.renewed = 0);
            }
            Ok(members)
        })
    }

    fn strike(&self, shard: Shard, member: MemberId, renewed: u64) -> Reply<'_, bool> {
        Box::pin(async move {
            let members = self.honest.members(shard).await?;
            let real = members.iter().find(|other| other.id == member).map(|member| member.renewed);
            let renewed = if self.tells(Lie::StrikesAnybody) { real.unwrap_or(renewed) } else { renewed };
            self.honest.strike(shard, member, renewed).await
        })
    }

    fn head(&self, shard: Shard) -> Reply<'_, Head> {
        self.honest.head(shard)
    }

    fn read(&self, shard: Shard, after: Head, limit: usize) -> Reply<'_, Log> {
        Box::pin(async move {
            let limit = if self.tells(Lie::IgnoresTheLimitOfARead) { usize::MAX } else { limit };
            Ok(match self.honest.read(shard, after, limit).await? {
                Log::Broken if self.tells(Lie::HidesABreak) => Log::Records(Vec::new()),
                Log::Cut if self.tells(Lie::HidesACut) => Log::Records(Vec::new()),
                log => log,
            })
        })
    }

    fn candidates<'a>(&'a self, shard: Shard, spans: &'a [Span]) -> Reply<'a, (Head, Vec<Vec<Key>>)> {
        Box::pin(async move {
            let (head, mut found) = self.honest.candidates(shard, spans).await?;
            for (span, found) in spans.iter().zip(&mut found) {
                let is_wrong = match self.lie {
                    Lie::LeavesOutTheLastWord => span.first == span.last,
                    Lie::SortsWordsAsSigned => span.first as i64 > span.last as i64,
                    Lie::ForgetsTheSecondOrder => span.order.0 == 1,
                    _ => false,
                };
                if is_wrong {
                    found.clear();
                }
            }
            Ok((head, found))
        })
    }

    fn walk<'a>(
        &'a self,
        shard: Shard,
        generation: Generation,
        after: Option<&'a Position>,
        limit: usize,
    ) -> Reply<'a, (Head, Vec<Position>)> {
        Box::pin(async move {
            let after = after.filter(|_| !self.tells(Lie::WalksFromTheStart));
            let limit = if self.tells(Lie::IgnoresTheLimitOfAWalk) { usize::MAX } else { limit };
            let (head, mut found) = self.honest.walk(shard, generation, after, limit).await?;
            if self.tells(Lie::WalksBackwards) {
                found.reverse();
            }
            Ok((head, found))
        })
    }

    fn append<'a>(&'a self, append: &'a Append) -> Reply<'a, Appended> {
        Box::pin(async move {
            let answer = self.honest.append(&self.bent(append).await).await?;
            let deletes = append.values.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key.clone());
            Ok(match answer {
                Appended::Done(_) if self.tells(Lie::NamesKeysWithoutValue) => Appended::Done(deletes.collect()),
                // Only of appends without values, so that it is the race that finds it.
                Appended::Moved if self.tells(Lie::LetsTwoWin) && append.values.is_empty() => {
                    Appended::Done(Vec::new())
                }
                Appended::Moved if self.tells(Lie::LeavesValuesBehind) => {
                    let written = append.values.iter().cloned();
                    let values = written.filter_map(|(key, value)| Some((append.shard, key, value?))).collect();
                    self.honest.settle(&Settle { close: Vec::new(), values }).await?;
                    Appended::Moved
                }
                answer => answer,
            })
        })
    }

    fn settle<'a>(&'a self, settle: &'a Settle) -> Reply<'a, bool> {
        Box::pin(async move {
            let settled = self.honest.settle(settle).await?;
            if !settled && self.tells(Lie::SettlesHalf) {
                self.honest.settle(&Settle { close: Vec::new(), values: settle.values.clone() }).await?;
            }
            Ok(settled)
        })
    }

    fn open(&self, shard: Shard) -> Reply<'_, Vec<Open>> {
        self.honest.open(shard)
    }

    fn get<'a>(&'a self, keys: &'a [(Shard, Key)]) -> Reply<'a, Vec<Option<Vec<u8>>>> {
        Box::pin(async move {
            let found = self.honest.get(keys).await?.into_iter();
            Ok(found
                .map(|value| value.filter(|value| !(value.is_empty() && self.tells(Lie::LosesEmptyValues))))
                .collect())
        })
    }

    fn keys_of_values<'a>(&'a self, after: Option<&'a Key>, limit: usize) -> Reply<'a, Vec<Key>> {
        Box::pin(async move {
            let limit = if self.tells(Lie::IgnoresTheLimitOfAList) { usize::MAX } else { limit };
            let from = after.filter(|_| !self.tells(Lie::ListsFromTheStart));
            let mut found = self.honest.keys_of_values(from, limit).await?;
            if self.tells(Lie::EndsAListEarly) && found.len() == limit {
                found.pop();
            }
            let is_there = |listed: Vec<Key>| listed.iter().any(|key| Some(key) == after);
            if self.tells(Lie::LosesItsPlaceInAList)
                && after.is_some()
                && !is_there(self.honest.keys_of_values(None, usize::MAX).await?)
            {
                found.clear();
            }
            Ok(found)
        })
    }

    fn outbox(&self, after: u64, limit: usize) -> Reply<'_, Vec<(u64, Key)>> {
        self.honest.outbox(after, limit)
    }

    fn save<'a>(&'a self, shard: Shard, snapshot: Snapshot, bytes: &'a [u8]) -> Reply<'a, ()> {
        let len = if self.tells(Lie::ShortensSnapshots) { bytes.len().min(1 << 20) } else { bytes.len() };
        self.honest.save(shard, snapshot, &bytes[..len])
    }

    fn load(&self, shard: Shard, id: SnapshotId) -> Reply<'_, Option<Vec<u8>>> {
        self.honest.load(shard, id)
    }

    fn newest(&self, shard: Shard) -> Reply<'_, Option<Snapshot>> {
        self.honest.newest(shard)
    }

    fn cut(&self, shard: Shard, up_to: u64) -> Reply<'_, ()> {
        Box::pin(async move {
            if self.tells(Lie::NeverCuts) {
                return Ok(());
            }
            let keeps = self.tells(Lie::KeepsOldSnapshots) && self.honest.newest(shard).await?.is_some();
            self.honest.cut(shard, if keeps { 0 } else { up_to }).await
        })
    }

    fn wait<'a>(&'a self, known: &'a [(Shard, u64)], timeout: Duration) -> Reply<'a, Vec<Shard>> {
        Box::pin(async move {
            match self.lie {
                Lie::NeverTellsNews => {
                    tokio::time::sleep(timeout.min(Duration::from_millis(300))).await;
                    Ok(Vec::new())
                }
                Lie::AlwaysTellsNews => Ok(known.iter().map(|(shard, _)| *shard).collect()),
                _ => self.honest.wait(known, timeout).await,
            }
        })
    }
}
