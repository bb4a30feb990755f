//! Extracts the flow of a packet.

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket};

/// Protocols whose header begins with the two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// Headers between IPv6 and the protocol. If the protocol is one of them, the packet ends before the real one.
const EXTENSION_HEADERS: [u8; 5] = [0, 43, 44, 51, 60];

/// A key: source address, destination address, source port, destination port, protocol. 13 bytes for IPv4, 37 for IPv6;
/// the ports in network order, or 0 if there are none.
#[derive(Clone, Copy, Debug)]
pub(super) struct FiveTuple {
    bytes: [u8; 37],
    len: usize,
}

impl FiveTuple {
    pub(super) const EMPTY: FiveTuple = FiveTuple { bytes: [0; 37], len: 0 };

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn new(source: &[u8], destination: &[u8], ports: [u8; 4], protocol: u8) -> Self {
        let mut tuple = Self::EMPTY;
        for part in [source, destination, &ports, &[protocol]] {
            tuple.bytes[tuple.len..tuple.len + part.len()].copy_from_slice(part);
            tuple.len += part.len();
        }
        tuple
    }
}

/// Why a packet has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// ARP and the like, or an unknown header.
    NotIp,
    /// The recorded part ends before the ports.
    CutShort,
    /// The link type is not supported.
    LinkType,
}

/// The key of a packet with a given link type.
pub(super) fn five_tuple(link: u16, packet: &[u8]) -> Result<FiveTuple, NoKey> {
    let at = |index: usize| packet.get(index).copied().ok_or(NoKey::CutShort);
    let beyond = |length: usize| packet.get(length..).ok_or(NoKey::CutShort);
    let typed = |ether_type: [u8; 2], payload| {
        Ok(LaxSlicedPacket::from_ether_type(EtherType(u16::from_be_bytes(ether_type)), payload))
    };
    let sliced = match link {
        // Ethernet, with up to three VLAN tags.
        1 => LaxSlicedPacket::from_ethernet(packet).map_err(|_| NoKey::CutShort),
        // Without a link header: raw, as IPv4, as IPv6, and two older numbers for raw.
        12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(packet).map_err(|_| NoKey::NotIp),
        // Loopback: four bytes of address family, in either byte order.
        0 | 108 => LaxSlicedPacket::from_ip(beyond(4)?).map_err(|_| NoKey::NotIp),
        // Linux cooked: the protocol in the last two of 16 bytes, and in version 2 in the first two of 20.
        113 => typed([at(14)?, at(15)?], beyond(16)?),
        276 => typed([at(0)?, at(1)?], beyond(20)?),
        _ => Err(NoKey::LinkType),
    }?;
    match sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let later = header.fragments_offset().value() > 0;
            let (protocol, payload) = (ip.payload().ip_number, ip.payload().payload);
            let ports = ports(protocol, payload, later)?;
            Ok(FiveTuple::new(&header.source(), &header.destination(), ports, protocol.0))
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let later = later_fragment(header.next_header(), ip.extensions().slice());
            let (protocol, payload) = (ip.payload().ip_number, ip.payload().payload);
            let ports = ports(protocol, payload, later)?;
            Ok(FiveTuple::new(&header.source(), &header.destination(), ports, protocol.0))
        }
        _ => Err(NoKey::NotIp),
    }
}

/// `true` if a fragment header among the IPv6 extensions has a nonzero offset.
///
/// This does not use the crate's iterator, which reads beyond the extensions if one of them was cut off.
fn later_fragment(first: IpNumber, mut extensions: &[u8]) -> bool {
    let mut kind = first.0;
    while let [next, length, high, low, ..] = *extensions {
        let bytes = match kind {
            0 | 43 | 60 => (usize::from(length) + 1) * 8,
            51 => (usize::from(length) + 2) * 4,
            44 => return u16::from_be_bytes([high, low]) >> 3 > 0,
            _ => return false,
        };
        (kind, extensions) = (next, extensions.get(bytes..).unwrap_or(&[]));
    }
    false
}

fn ports(protocol: IpNumber, payload: &[u8], later_fragment: bool) -> Result<[u8; 4], NoKey> {
    match payload {
        _ if later_fragment => Ok([0; 4]),
        _ if EXTENSION_HEADERS.contains(&protocol.0) => Err(NoKey::CutShort),
        _ if !WITH_PORTS.contains(&protocol.0) => Ok([0; 4]),
        [a, b, c, d, ..] => Ok([*a, *b, *c, *d]),
        _ => Err(NoKey::CutShort),
    }
}
