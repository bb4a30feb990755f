//! Handmade captures: complete, cut and changed.

use super::*;
use crate::workload::rng::Rng;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// An IPv4 packet from 10.0.0.1 to 10.0.0.`to`, from port 1000 to port 80.
fn ipv4(protocol: u8, to: u8, fragment: u16, payload: usize) -> Vec<u8> {
    let total = (20 + 4 + payload) as u16;
    let [high, low] = total.to_be_bytes();
    let [offset_high, offset_low] = fragment.to_be_bytes();
    let header = [0x45, 0, high, low, 0, 1, offset_high, offset_low, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, to];
    [&header[..], &[0x03, 0xE8, 0, 80], &vec![0; payload]].concat()
}

/// An IPv6 packet from ::1 to ::`to` with extension headers before the protocol.
fn ipv6(next: u8, to: u8, extensions: &[u8]) -> Vec<u8> {
    let length = (extensions.len() + 24) as u8;
    let mut packet = vec![0x60, 0, 0, 0, 0, length, next, 64];
    packet.extend([&[0; 15][..], &[1], &[0; 15], &[to], extensions, &[0x03, 0xE8, 0, 80], &[0; 20]].concat());
    packet
}

fn ethernet(tags: &[[u8; 4]], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &tags.concat(), &ether_type.to_be_bytes(), payload].concat()
}

/// The key of an IPv4 packet from 10.0.0.1.
fn key(to: u8, ports: [u8; 4], protocol: u8) -> Vec<u8> {
    [&[10, 0, 0, 1, 10, 0, 0, to][..], &ports, &[protocol]].concat()
}

const PORTS: [u8; 4] = [0x03, 0xE8, 0, 80];

fn pcap(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [0xA1B2_C3D4u32.to_le_bytes(), [2, 0, 4, 0]].concat();
    file.extend([0, 0, 65_535, link].map(u32::to_le_bytes).concat());
    for packet in packets {
        let length = packet.len() as u32;
        file.extend([1, 2, length, length + 100].map(u32::to_le_bytes).concat());
        file.extend(packet);
    }
    file
}

/// The same, in the other byte order.
fn pcap_big_endian(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [0xA1B2_3C4Du32.to_be_bytes(), [0, 2, 0, 4]].concat();
    file.extend([0, 0, 65_535, link].map(u32::to_be_bytes).concat());
    for packet in packets {
        let length = packet.len() as u32;
        file.extend([1, 2, length, length].map(u32::to_be_bytes).concat());
        file.extend(packet);
    }
    file
}

/// A block of a pcapng file; `word` writes a number in the section's byte order.
fn block(kind: u32, body: &[u8], word: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let padded = [body, &vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
    let length = word(padded.len() as u32 + 12);
    [&word(kind)[..], &length, &padded, &length].concat()
}

/// A section with one interface a link type, and packets that each name their interface.
fn pcapng(links: &[u16], packets: &[(u32, Vec<u8>)], word: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let big = word(1) == 1u32.to_be_bytes();
    let half = |half: u16| if big { half.to_be_bytes() } else { half.to_le_bytes() };
    let header = [&word(0x1A2B_3C4D)[..], &half(1), &half(0), &[0xFF; 8]].concat();
    let mut file = block(0x0A0D_0D0A, &header, word);
    for link in links {
        file.extend(block(1, &[&half(*link)[..], &[0, 0], &word(65_535)].concat(), word));
    }
    // A block that is ignored here.
    file.extend(block(5, &[0; 12], word));
    for (interface, packet) in packets {
        let length = word(packet.len() as u32);
        let body = [&word(*interface)[..], &word(1), &word(2), &length, &length, packet].concat();
        file.extend(block(6, &body, word));
    }
    if let Some((0, packet)) = packets.first() {
        file.extend(block(3, &[&word(packet.len() as u32)[..], packet].concat(), word));
    }
    file
}

/// All keys, the number of packets that are not IP, and the number of those cut short; or the fault.
fn read(file: &[u8]) -> Result<(Vec<Vec<u8>>, u64, u64), Fault> {
    assert!(recognised(&file[..START.min(file.len())]));
    let mut capture = Capture::new(&file[..START.min(file.len())], file);
    let mut keys = Vec::new();
    while capture.advance()? {
        keys.push(capture.key().to_vec());
    }
    assert_eq!(capture.keys(), keys.len() as u64);
    Ok((keys, capture.not_ip(), capture.cut_short()))
}

/// The keys of one packet under a link type.
fn keys_of(link: u32, packet: Vec<u8>) -> Vec<Vec<u8>> {
    read(&pcap(link, &[packet])).expect("a sound file").0
}

#[test]
fn every_link_type_leads_to_the_same_key() {
    let ip = ipv4(TCP, 9, 0, 20);
    let tag = |kind: u16| [kind.to_be_bytes()[0], kind.to_be_bytes()[1], 0, 7];
    let cooked = [&[0; 14][..], &[0x08, 0x00], &ip].concat();
    let cooked2 = [&[0x08, 0x00][..], &[0; 18], &ip].concat();
    for (link, packet) in [
        (1, ethernet(&[], 0x0800, &ip)),
        (1, ethernet(&[tag(0x8100)], 0x0800, &ip)),
        (1, ethernet(&[tag(0x88A8), tag(0x8100)], 0x0800, &ip)),
        (12, ip.clone()),
        (101, ip.clone()),
        (228, ip.clone()),
        (0, [&[2, 0, 0, 0][..], &ip].concat()),
        (113, cooked),
        (276, cooked2),
    ] {
        assert_eq!(keys_of(link, packet), [key(9, PORTS, TCP)], "link type {link}");
    }
}

#[test]
fn ports_are_zero_without_ports_and_for_later_fragments() {
    for (packet, expected) in [
        (ipv4(UDP, 1, 0, 4), key(1, PORTS, UDP)),
        (ipv4(132, 1, 0, 8), key(1, PORTS, 132)),
        (ipv4(1, 1, 0, 4), key(1, [0; 4], 1)),
        (ipv4(50, 1, 0, 4), key(1, [0; 4], 50)),
        // The first fragment has its ports, the next ones have other bytes there.
        (ipv4(UDP, 1, 0x2000, 4), key(1, PORTS, UDP)),
        (ipv4(UDP, 1, 0x2010, 4), key(1, [0; 4], UDP)),
    ] {
        assert_eq!(keys_of(101, packet), [expected]);
    }
}

#[test]
fn ipv6_has_longer_addresses_and_headers_in_between() {
    let expected =
        |to: u8, ports: [u8; 4], protocol| [&[0; 15][..], &[1], &[0; 15], &[to], &ports[..], &[protocol]].concat();
    let hop_by_hop = [TCP, 0, 1, 4, 0, 0, 0, 0];
    let first_fragment = [UDP, 0, 0, 1, 0, 0, 0, 9];
    let later_fragment = [UDP, 0, 0x01, 0x01, 0, 0, 0, 9];
    for (packet, expected) in [
        (ipv6(TCP, 3, &[]), expected(3, PORTS, TCP)),
        (ipv6(0, 3, &hop_by_hop), expected(3, PORTS, TCP)),
        (ipv6(44, 3, &first_fragment), expected(3, PORTS, UDP)),
        (ipv6(44, 3, &later_fragment), expected(3, [0; 4], UDP)),
        (ipv6(58, 3, &[]), expected(3, [0; 4], 58)),
    ] {
        assert_eq!(keys_of(1, ethernet(&[], 0x86DD, &packet)), [expected]);
    }
}

#[test]
fn packets_without_a_key_are_counted_and_skipped() {
    let whole = ethernet(&[], 0x0800, &ipv4(TCP, 5, 0, 1_400));
    let arp = ethernet(&[], 0x0806, &[0; 28]);
    // Recorded as far as the ports, and one byte less; and not even the addresses.
    let packets = [arp, whole[..38].to_vec(), whole[..37].to_vec(), whole[..30].to_vec(), vec![1; 5], whole];
    let expected = vec![key(5, PORTS, TCP); 2];
    let ng = packets.clone().map(|packet| (0, packet));
    for file in [pcap(1, &packets), pcap_big_endian(1, &packets)] {
        assert_eq!(read(&file).expect("a sound file"), (expected.clone(), 2, 2));
    }
    // The last packet of these files is the first one, the ARP, once more.
    for word in [u32::to_le_bytes, u32::to_be_bytes] {
        assert_eq!(read(&pcapng(&[1], &ng, word)).expect("a sound file"), (expected.clone(), 3, 2));
    }
}

#[test]
fn sections_have_their_own_byte_order_and_interfaces() {
    let ip = ipv4(TCP, 9, 0, 20);
    let framed = ethernet(&[], 0x0800, &ipv4(UDP, 8, 0, 3));
    let first = pcapng(&[101, 1], &[(0, ip.clone()), (1, framed.clone())], u32::to_le_bytes);
    let second = pcapng(&[1, 101], &[(1, ip), (0, framed)], u32::to_be_bytes);
    let (tcp, udp) = (key(9, PORTS, TCP), key(8, PORTS, UDP));
    let (keys, ..) = read(&[first, second].concat()).expect("a sound file");
    assert_eq!(keys, [tcp.clone(), udp.clone(), tcp.clone(), tcp, udp]);
}

#[test]
fn a_damaged_file_is_reported_with_its_byte_and_packet() {
    let packet = ethernet(&[], 0x0800, &ipv4(TCP, 5, 0, 10));
    let file = pcap(1, &[packet.clone(), packet.clone()]);
    let second = 24 + 16 + packet.len();
    let ng = pcapng(&[1], &[(0, packet.clone()), (7, packet.clone())], u32::to_le_bytes);
    let mut long = file.clone();
    long[second + 8..second + 12].copy_from_slice(&[0xFF; 4]);
    let mut odd = ng.clone();
    odd[28 + 4] = 21;
    for (file, expected_at, expected_packets, part) in [
        (file[..20].to_vec(), 0, 0, "header is cut"),
        (file[..second + 7].to_vec(), second, 1, "within a packet's header"),
        (file[..file.len() - 1].to_vec(), second, 1, "within a packet"),
        (long, second, 1, "too long"),
        (odd, 28, 0, "21 bytes is invalid"),
        (ng[..30].to_vec(), 28, 0, "within a block"),
        (ng.clone(), 28 + 20 + 24 + 32 + packet.len(), 1, "interface 7"),
    ] {
        match read(&file) {
            Err(Fault::Damaged { at, packets, why }) => {
                assert!(why.contains(part), "{why}");
                assert_eq!((at as usize, packets), (expected_at, expected_packets), "{why}");
            }
            other => panic!("{part}: {other:?}"),
        }
    }
    assert!(matches!(read(&pcap(105, &[packet])), Err(Fault::LinkType { link: 105 })));
}

#[test]
fn changed_bytes_give_keys_or_a_fault_and_never_a_panic() {
    let packets = [
        ethernet(&[[0x81, 0, 0, 7]], 0x0800, &ipv4(TCP, 5, 0, 30)),
        ethernet(&[], 0x86DD, &ipv6(0, 3, &[44, 0, 1, 4, 0, 0, 0, 0, UDP, 0, 0, 1, 0, 0, 0, 9])),
        ethernet(&[], 0x0806, &[0; 28]),
    ];
    let ng = packets.clone().map(|packet| (0, packet));
    let mut rng = Rng::new(99);
    let mut faults = 0;
    for file in [pcap(1, &packets), pcap_big_endian(113, &packets), pcapng(&[1, 276], &ng, u32::to_le_bytes)] {
        for _ in 0..20_000 {
            let mut changed = file.clone();
            for _ in 0..=rng.below(4) {
                // The first bytes stay the same, or it would not be recognised.
                let at = START + rng.below((file.len() - START) as u64) as usize;
                changed[at] = rng.word() as u8;
            }
            changed.truncate(file.len() - rng.below(3) as usize * rng.below(60) as usize);
            match read(&changed) {
                Ok((keys, ..)) => assert!(keys.iter().all(|key| key.len() == 13 || key.len() == 37)),
                Err(_) => faults += 1,
            }
        }
    }
    assert!((10_000..55_000).contains(&faults), "{faults}");
}
