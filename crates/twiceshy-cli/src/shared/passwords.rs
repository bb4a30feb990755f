//! Passwords from the environment: command lines can be seen by others.

/// An address with the password of the environment, if it has none: `PGPASSWORD` or `REDISCLI_AUTH`, as for the databases' own commands.
pub(super) fn with_password(address: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let is_postgres = scheme.starts_with("postgres");
    let name = if is_postgres { "PGPASSWORD" } else { "REDISCLI_AUTH" };
    let password = variable(name).filter(|password| !password.is_empty() && !has_password(rest));
    let Some(password) = password.map(|password| encoded(&password)) else { return address.to_owned() };
    if is_postgres {
        // An option: an address without a user cannot have a password before its host.
        let (url, set) = rest.rsplit_once('#').map_or((rest, String::new()), |(url, set)| (url, format!("#{set}")));
        let mark = if url.contains('?') { '&' } else { '?' };
        return format!("{scheme}://{url}{mark}password={password}{set}");
    }
    match rest.split_once('@') {
        Some((user, place)) => format!("{scheme}://{user}:{password}@{place}"),
        None => format!("{scheme}://:{password}@{rest}"),
    }
}

/// `true` if what follows the scheme has a password already.
fn has_password(rest: &str) -> bool {
    let user = rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    let option = rest.split_once('?').is_some_and(|(_, options)| options.contains("password="));
    user || option
}

/// Every byte that could end a password or mean something else as `%` and two digits.
fn encoded(password: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    password.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(address: &str) -> String {
        with_password(address, |name| match name {
            "PGPASSWORD" => Some("p w/é".to_owned()),
            "REDISCLI_AUTH" => Some("r@#".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_password_is_taken_from_the_environment_only_if_the_address_has_none() {
        for (address, expected) in [
            ("postgres://host/data#users", "postgres://host/data?password=p%20w%2F%C3%A9#users"),
            (
                "postgresql://me@host/d?sslmode=disable",
                "postgresql://me@host/d?sslmode=disable&password=p%20w%2F%C3%A9",
            ),
            ("redis://host:6379#users", "redis://:r%40%23@host:6379#users"),
            ("rediss://me@host", "rediss://me:r%40%23@host"),
            ("redis-cluster://a:1,b:2", "redis-cluster://:r%40%23@a:1,b:2"),
        ] {
            assert_eq!(with(address), expected);
            assert_eq!(with_password(address, |_| None), address);
            assert_eq!(with_password(address, |_| Some(String::new())), address);
        }
        for address in
            ["postgres://me:own@host/data", "postgres://host/data?password=own", "redis://:own@host", "folder"]
        {
            assert_eq!(with(address), address);
        }
    }
}
