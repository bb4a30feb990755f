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
    #[cfg(not(any(feature = "postgres", feature = "redis")))]
    let _ = set;
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

/// An address that can be shown: without its user and password. Of an address that may hold a password where none belongs, only the scheme.
pub fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return "an address".to_owned() };
    let hidden = || format!("{scheme}://…");
    let is_name = |set: &str| set.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (url, set) = match rest.rsplit_once('#') {
        Some((url, set)) if is_name(set) => (url, format!("#{set}")),
        // A password with a `#` that is not written as `%23`.
        Some(_) => return hidden(),
        None => (rest, String::new()),
    };
    // What follows a question mark may hold a password.
    let (plain, options) = url.split_once('?').unwrap_or((url, ""));
    let place = plain.rsplit_once('@').map_or(plain, |(_, place)| place);
    let hosts = place.split_once('/').map_or(place, |(hosts, _)| hosts);
    let port = |host: &str| match host.rsplit_once(':') {
        Some((_, port)) if !host.ends_with(']') => port.to_owned(),
        _ => String::new(),
    };
    let are_ports = hosts.split(',').all(|host| port(host).bytes().all(|byte| byte.is_ascii_digit()));
    // Without a user before it, what looks like a port may be the beginning of a password.
    if options.contains('@') || !(are_ports || plain.contains('@')) {
        return hidden();
    }
    format!("{scheme}://{place}{set}")
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
        for odd in [
            "postgres://me:se/cret@host/data",
            "postgres://me:se?cret@host/data",
            "postgres://me:se#cret@host/data",
            "postgres://me:secret/data",
            "postgres://host/data?password=se@cret",
            "postgres://host/data#set?password=secret",
        ] {
            let shown = shown(odd);
            assert!(!shown.contains("cret") && !shown.contains("me:"), "{odd}: {shown}");
        }
        assert_eq!(shown("postgres://me:secret@host:port/data"), "postgres://host:port/data");
        assert_eq!(shown("postgres://[::1]:5432/data"), "postgres://[::1]:5432/data");
        assert!(!is_address("folder/file"));
        let error = connect("postgres://me:secret@host:port:port").expect_err("an impossible address");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
