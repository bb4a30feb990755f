//! The slots of a cluster, and which server has which.

use redis::Value;

/// How many slots a cluster has.
const SLOTS: u16 = 16_384;

/// The slot of a hash tag: its CRC-16 with the polynomial 0x1021.
pub(super) fn slot_of(tag: &[u8]) -> u16 {
    let step = |sum: u16, _| if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ 0x1021 };
    tag.iter().fold(0u16, |sum, byte| (0..8).fold(sum ^ (u16::from(*byte) << 8), step)) % SLOTS
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// Reads `host:port`. Without a host it is that of the server that said so.
    pub(super) fn parse(text: &str, said_by: &Address) -> Option<Address> {
        let (host, port) = text.rsplit_once(':')?;
        let host = if host.is_empty() { &said_by.host } else { host };
        Some(Address { host: host.to_owned(), port: port.parse().ok()? })
    }
}

/// Slots, and the server that has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    first: u16,
    last: u16,
    pub(super) primary: Address,
}

/// The map of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Map {
    pub(super) ranges: Vec<Range>,
    /// Servers that copy others: they can be asked for the map.
    pub(super) replicas: Vec<Address>,
}

impl Map {
    pub(super) fn primary(&self, slot: u16) -> Option<&Address> {
        self.ranges.iter().find(|range| (range.first..=range.last).contains(&slot)).map(|range| &range.primary)
    }

    /// Takes out the slots of a server.
    pub(super) fn forget(&mut self, server: &Address) {
        self.ranges.retain(|range| range.primary != *server);
    }

    /// Reads the answer to `CLUSTER SLOTS`.
    pub(super) fn parse(answer: &Value, said_by: &Address) -> Option<Map> {
        let mut map = Map::default();
        for range in answer.as_sequence()? {
            let [Value::Int(first), Value::Int(last), servers @ ..] = range.as_sequence()? else { return None };
            let mut servers = servers.iter().map(|server| parse_server(server, said_by));
            let primary = servers.next()??;
            map.ranges.push(Range { first: (*first).try_into().ok()?, last: (*last).try_into().ok()?, primary });
            map.replicas.extend(servers.flatten());
        }
        (!map.ranges.is_empty()).then_some(map)
    }
}

fn parse_server(server: &Value, said_by: &Address) -> Option<Address> {
    let [host, Value::Int(port), ..] = server.as_sequence()? else { return None };
    let host = match host {
        Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
        Value::SimpleString(host) if !host.is_empty() => host.clone(),
        // It does not know its own name.
        _ => said_by.host.clone(),
    };
    Some(Address { host, port: (*port).try_into().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16) -> Address {
        Address { host: host.to_owned(), port }
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot_of(b"123456789"), 0x31C3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b""), 0);
    }

    #[test]
    fn a_map_is_read_and_one_that_is_damaged_is_refused() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let server = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id"), Value::Array(vec![])]);
        let range = |first, last, servers: Vec<Value>| {
            Value::Array([vec![Value::Int(first), Value::Int(last)], servers].concat())
        };
        let said_by = address("seed", 1);
        let answer = Value::Array(vec![
            range(0, 99, vec![server(text("a"), 7_000), server(text("b"), 7_001)]),
            range(100, 16_383, vec![server(Value::Nil, 7_002)]),
        ]);
        let map = Map::parse(&answer, &said_by).expect("a map");
        assert_eq!(map.primary(99), Some(&address("a", 7_000)));
        assert_eq!(map.primary(100), Some(&address("seed", 7_002)));
        assert_eq!(map.replicas, [address("b", 7_001)]);
        let mut rest = map.clone();
        rest.forget(&address("a", 7_000));
        assert_eq!((rest.primary(99), rest.primary(100)), (None, map.primary(100)));
        for damaged in [
            Value::Nil,
            Value::Array(vec![]),
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![range(0, 99, vec![])]),
            Value::Array(vec![range(0, 70_000, vec![server(text("a"), 7_000)])]),
            Value::Array(vec![range(0, 99, vec![server(text("a"), -1)])]),
        ] {
            assert_eq!(Map::parse(&damaged, &said_by), None, "{damaged:?}");
        }
    }

    #[test]
    fn addresses_are_read() {
        let said_by = address("seed", 1);
        assert_eq!(Address::parse("host:7000", &said_by), Some(address("host", 7_000)));
        assert_eq!(Address::parse("::1:7000", &said_by), Some(address("::1", 7_000)));
        assert_eq!(Address::parse(":7000", &said_by), Some(address("seed", 7_000)));
        assert_eq!(Address::parse("host", &said_by), None);
    }
}
