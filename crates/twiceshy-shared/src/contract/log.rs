//! The log: its chain, how it is read, and how it is cut.

use super::{NEAR, SHARDS, append, asked, done, ensure, entry, equal, head, key, next, records, values};
use crate::engine::{Append, Appended, Engine, Log, Logged, Open, Span};
use crate::names::{Announcement, Head, MemberId, Shard};
use twiceshy::remote::{Generation, Order};

const SHARD: Shard = SHARDS[1];

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    moved(engine).await?;
    reading(engine).await?;
    cutting(engine).await
}

/// An append after another head leaves nothing behind.
async fn moved(engine: &dyn Engine) -> Result<(), String> {
    let elsewhere = head(engine, SHARDS[0]).await?;
    let first = Append { tag: NEAR[0], ..next(engine, SHARD).await? };
    done(engine, "the first append", &first).await?;
    let at = first.head();
    let wrong = [
        ("the position before", Head { position: at.position - 1, ..at }),
        ("the position after", Head { position: at.position + 1, ..at }),
        ("the same position with another tag", Head { tag: NEAR[1], ..at }),
        ("the head before", first.after),
    ];
    for (what, after) in wrong {
        let all = Append {
            record: b"lost".to_vec(),
            add: vec![entry(0, b"moved", &[1, 2])],
            open: vec![Open { id: Announcement(5), member: MemberId(1), keys: vec![key(b"moved")] }],
            values: vec![(key(b"moved"), Some(b"value".to_vec()))],
            ..Append::after(SHARD, after)
        };
        equal(&format!("an append after {what}"), append(engine, &all).await?, Appended::Moved)?;
        equal("the head after an append that was refused", head(engine, SHARD).await?, at)?;
        equal("a value of an append that was refused", values(engine, SHARD, &[b"moved"]).await?, vec![None])?;
        equal("the announcements of it", asked("open", engine.open(SHARD).await)?, Vec::new())?;
        let span = Span { generation: Generation(0), order: Order(0), first: 0, last: u64::MAX };
        let found = asked("candidates", engine.candidates(SHARD, &[span]).await)?;
        equal("the index of it", found, (at, vec![Vec::new()]))?;
    }
    equal("the head of the other shard", head(engine, SHARDS[0]).await?, elsewhere)
}

async fn read(engine: &dyn Engine, after: Head, limit: usize) -> Result<Log, String> {
    asked("read", engine.read(SHARD, after, limit).await)
}

async fn reading(engine: &dyn Engine) -> Result<(), String> {
    let mut written = Vec::new();
    let from = head(engine, SHARD).await?;
    for record in [vec![], vec![0; 1], vec![0xFF; 1_000], b"\r\n\0".to_vec(), vec![7; 1 << 20], vec![8; 300_000]] {
        let append = Append { record, ..next(engine, SHARD).await? };
        done(engine, "an append", &append).await?;
        written.push(Logged { at: append.head(), record: append.record });
    }
    let last = written.len() - 1;
    equal("the log", records(engine, "the log", SHARD, from).await?, written.clone())?;
    for (at, logged) in written.iter().enumerate() {
        let found = records(engine, "the log after a record", SHARD, logged.at).await?;
        equal("the log after a record", &found[..], &written[at + 1..])?;
    }
    for limit in [0, 1, 100] {
        let mut at = from;
        while at != written[last].at {
            let Log::Records(found) = read(engine, at, limit).await? else {
                return Err(format!("the log after {at:?} should have records"));
            };
            ensure(!found.is_empty(), format!("with a limit of {limit} no record is read after {at:?}"))?;
            let first = (at.position - from.position) as usize;
            equal("a part of the log", Some(&found[..]), written.get(first..first + found.len()))?;
            let bytes: usize = found.iter().rev().skip(1).map(|logged| logged.record.len()).sum();
            ensure(bytes <= limit.max(1), format!("a limit of {limit} bytes gave {bytes} and one record more"))?;
            at = found[found.len() - 1].at;
        }
    }
    broken(engine, from, &written).await
}

/// Positions that this log does not have.
async fn broken(engine: &dyn Engine, from: Head, written: &[Logged]) -> Result<(), String> {
    let last = written[written.len() - 1].at;
    let wrong = [
        ("the head's position with another tag", Head { tag: last.tag ^ 1, ..last }),
        ("an earlier position with another tag", Head { tag: written[1].at.tag ^ 1, ..written[1].at }),
        ("the first position with another tag", Head { tag: NEAR[1], ..from }),
        ("a position beyond the head", Head { position: last.position + 1, ..last }),
        ("a position far beyond the head", Head { position: last.position + 1_000_000, tag: 1 }),
    ];
    for (what, after) in wrong {
        equal(&format!("the log after {what}"), read(engine, after, 1 << 20).await?, Log::Broken)?;
    }
    Ok(())
}

async fn cutting(engine: &dyn Engine) -> Result<(), String> {
    let cut = async |up_to| asked("cut", engine.cut(SHARD, up_to).await);
    let all = records(engine, "the whole log", SHARD, Head::default()).await?;
    cut(0).await?;
    equal("the log after nothing was cut", records(engine, "it", SHARD, Head::default()).await?, all.clone())?;
    let (kept, last) = (all[2].at, all[all.len() - 1].at);
    cut(kept.position).await?;
    for after in [Head::default(), all[0].at, all[1].at] {
        equal("the log before its cut", read(engine, after, 1 << 20).await?, Log::Cut)?;
    }
    equal("the log from its cut on", records(engine, "it", SHARD, kept).await?, all[3..].to_vec())?;
    let other = Head { tag: kept.tag ^ 1, ..kept };
    equal("the log after its cut with another tag", read(engine, other, 1).await?, Log::Broken)?;
    cut(1).await?;
    equal("the log after a lower cut", records(engine, "it", SHARD, kept).await?, all[3..].to_vec())?;
    equal("the head after a cut", head(engine, SHARD).await?, last)?;
    cut(last.position + 5).await?;
    equal("the head after all was cut", head(engine, SHARD).await?, last)?;
    equal("the log after all was cut", records(engine, "it", SHARD, last).await?, Vec::new())?;
    equal("the log before that", read(engine, kept, 1).await?, Log::Cut)?;
    let other = Head { tag: last.tag ^ 1, ..last };
    equal("the log after all was cut, with another tag", read(engine, other, 1).await?, Log::Broken)?;
    let append = next(engine, SHARD).await?;
    done(engine, "an append after all was cut", &append).await?;
    let wanted = vec![Logged { at: append.head(), record: append.record }];
    equal("the log after that append", records(engine, "it", SHARD, last).await?, wanted)
}
