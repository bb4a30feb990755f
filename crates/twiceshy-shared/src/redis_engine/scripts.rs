//! The scripts: each is one transaction in a shard.

use std::sync::LazyLock;

/// A script, and the digest that a server knows it by.
#[derive(Debug)]
pub(super) struct Lua {
    pub(super) code: &'static str,
    pub(super) digest: String,
}

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident: $($part:literal),+;)+) => {
        $($(#[$doc])* pub(super) static $name: LazyLock<Lua> = LazyLock::new(|| {
            let code = concat!($(include_str!(concat!("lua/", $part, ".lua"))),+);
            Lua { code, digest: redis::Script::new(code).get_hash().to_owned() }
        });)+
    };
}

scripts! {
    APPEND: "head", "member", "announcement", "put", "append";
    SETTLE: "announcement", "put", "settle";
    JOIN: "head", "join";
    RENEW: "head", "member", "renew";
    STRIKE: "strike";
    READ: "head", "read";
    CANDIDATES: "head", "candidates";
    WALK: "head", "walk";
    VALUED: "valued";
    PART: "part";
    PUBLISH: "publish";
    NEWEST: "head", "newest";
    CUT: "head", "cut";
}
