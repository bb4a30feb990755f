//! A set that is created, and is empty.

use super::{SHARDS, asked, ensure, equal, head, records, values};
use crate::engine::{Engine, Span};
use crate::names::Head;
use twiceshy::remote::{Generation, Order};

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    ensure(engine.longest_key() >= 255, "an engine must hold keys of 255 bytes")?;
    equal("the description before there is a set", asked("description", engine.description().await)?, None)?;
    let description: Vec<u8> = (0..=255).collect();
    ensure(asked("create", engine.create(&description, 2).await)?, "the first set was not created")?;
    ensure(!asked("create", engine.create(b"another", 3).await)?, "a second set was created over the first")?;
    equal("the description", asked("description", engine.description().await)?, Some(description))?;
    for shard in SHARDS {
        equal("the head of a new shard", head(engine, shard).await?, Head::default())?;
        equal("the log of a new shard", records(engine, "a new shard", shard, Head::default()).await?, Vec::new())?;
        equal("the members of a new shard", asked("members", engine.members(shard).await)?, Vec::new())?;
        equal("the announcements of a new shard", asked("open", engine.open(shard).await)?, Vec::new())?;
        equal("the snapshot of a new shard", asked("newest", engine.newest(shard).await)?, None)?;
        equal("a value in a new shard", values(engine, shard, &[b"key"]).await?, vec![None])?;
        let span = Span { generation: Generation(0), order: Order(0), first: 0, last: u64::MAX };
        let found = asked("candidates", engine.candidates(shard, &[span]).await)?;
        equal("the index of a new shard", found, (Head::default(), vec![Vec::new()]))?;
        let found = asked("walk", engine.walk(shard, Generation(0), None, 10).await)?;
        equal("a walk of a new shard", found, (Head::default(), Vec::new()))?;
    }
    equal("the values of no keys", asked("get", engine.get(&[]).await)?, Vec::new())?;
    equal("the renewal of no members", asked("renew", engine.renew(&[]).await)?, Vec::new())?;
    equal("the outbox of a new set", asked("outbox", engine.outbox(0, 10).await)?, Vec::new())
}
