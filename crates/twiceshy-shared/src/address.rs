//! Engines by their address.

use crate::engine::{Engine, EngineError};
use std::sync::Arc;

/// The name of a set if the address has none.
const SET: &str = "twiceshy";

/// The schemes of addresses, with the features that they need.
const SCHEMES: [&str; 5] = ["postgres", "postgresql", "redis", "rediss", "redis-cluster"];

/// `true` if this is the address of an engine, and not the name of a file.
pub fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// The engine at an address: `postgres://user:password@host:port/database#set`. Without `#set` the set is called `twiceshy`.
/// The engine connects when it is used. An error never repeats the address, since it may hold a password.
pub fn connect(address: &str) -> Result<Arc<dyn Engine>, EngineError> {
    let failed = |what: &str| Err(EngineError::Failed(what.to_owned()));
    let (url, set) = address.rsplit_once('#').unwrap_or((address, SET));
    match url.split_once("://").map(|(scheme, _)| scheme) {
        #[cfg(feature = "postgres")]
        Some("postgres" | "postgresql") => Ok(Arc::new(crate::PostgresEngine::new(url, set)?)),
        #[cfg(feature = "redis")]
        Some("redis" | "rediss") => Ok(Arc::new(crate::RedisEngine::open(url, set)?)),
        #[cfg(feature = "redis")]
        Some("redis-cluster") => {
            let urls = cluster(url);
            let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
            Ok(Arc::new(crate::RedisEngine::open_cluster(&urls, set)?))
        }
        Some(scheme) if SCHEMES.contains(&scheme) => {
            failed(&format!("this program was built without {scheme}: the feature of the crate twiceshy-shared is off"))
        }
        _ => failed("an address begins with postgres://, redis:// or redis-cluster://"),
    }
}

/// The addresses of a cluster's nodes: `redis-cluster://:password@host:port,host:port` names one or several of them.
#[cfg(feature = "redis")]
fn cluster(url: &str) -> Vec<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (login, hosts) = rest.rsplit_once('@').map_or(("", rest), |(login, hosts)| (login, hosts));
    let at = if login.is_empty() { "" } else { "@" };
    hosts.trim_end_matches('/').split(',').map(|host| format!("redis://{login}{at}{host}")).collect()
}

/// An address that can be shown: without its password.
pub fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return "an address".to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // What follows a question mark may hold a password too.
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        for (address, expected) in [
            ("postgres://me:secret@host:5432/data#users", "postgres://host:5432/data#users"),
            ("redis://:secret@127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("postgres://me:se@cret@host/data?password=secret", "postgres://host/data"),
            ("redis-cluster://a:1,b:2#x", "redis-cluster://a:1,b:2#x"),
        ] {
            assert_eq!(shown(address), expected);
            assert!(is_address(address));
        }
        assert!(!is_address("folder/file"));
        let error = connect("postgres://me:secret@host:port:port").expect_err("an impossible address");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
