//! Packet captures as recordings: each packet is a request for the key of its flow.

mod five_tuple;
mod framed;
mod pcap;
mod pcapng;

use std::io::Read;
use std::ops::Range;

use five_tuple::{FiveTuple, NoKey, five_tuple};
pub(crate) use framed::Fault;
use framed::Framed;
use pcap::Pcap;
use pcapng::PcapNg;

/// The number of first bytes needed to recognise a capture.
#[cfg(test)]
pub(super) const START: usize = 12;

/// `true` if a file with these first bytes is a capture.
pub(super) fn recognised(start: &[u8]) -> bool {
    pcap::recognised(start) || pcapng::recognised(start)
}

/// Reads packet after packet, with memory for one.
pub(super) struct Capture<R> {
    framed: Framed<R>,
    format: Format,
    buffer: Vec<u8>,
    key: FiveTuple,
    keys: u64,
    not_ip: u64,
    cut_short: u64,
}

enum Format {
    Unknown { ng: bool },
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// A packet as a range of the buffer.
struct Packet {
    link: u16,
    bytes: Range<usize>,
}

/// Why a format stopped.
enum Stop {
    Fault(Fault),
    Damaged(String),
}

impl Stop {
    fn why(why: impl Into<String>) -> Self {
        Self::Damaged(why.into())
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<R: Read> Capture<R> {
    /// A capture of either format. `start` holds its first bytes, which the reader yields too.
    pub(super) fn new(start: &[u8], reader: R) -> Self {
        Self {
            framed: Framed::new(reader),
            format: Format::Unknown { ng: pcapng::recognised(start) },
            buffer: Vec::new(),
            key: FiveTuple::EMPTY,
            keys: 0,
            not_ip: 0,
            cut_short: 0,
        }
    }

    /// Advances to the next packet that has a key. Returns `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, Fault> {
        loop {
            let packet = match self.packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => return Ok(false),
                Err(Stop::Fault(fault)) => return Err(fault),
                Err(Stop::Damaged(why)) => {
                    let packets = self.keys + self.not_ip + self.cut_short;
                    return Err(Fault::Damaged { at: self.framed.begun(), packets, why });
                }
            };
            match five_tuple(packet.link, &self.buffer[packet.bytes]) {
                Ok(key) => {
                    self.key = key;
                    self.keys += 1;
                    return Ok(true);
                }
                Err(NoKey::NotIp) => self.not_ip += 1,
                Err(NoKey::CutShort) => self.cut_short += 1,
                Err(NoKey::LinkType) => return Err(Fault::LinkType { link: packet.link }),
            }
        }
    }

    fn packet(&mut self) -> Result<Option<Packet>, Stop> {
        let Self { framed, format, buffer, .. } = self;
        loop {
            match format {
                Format::Unknown { ng: true } => *format = Format::PcapNg(PcapNg::default()),
                Format::Unknown { ng: false } => *format = Format::Pcap(Pcap::begin(framed, buffer)?),
                Format::Pcap(pcap) => return pcap.next(framed, buffer),
                Format::PcapNg(section) => return section.next(framed, buffer),
            }
        }
    }

    /// The key of the current packet.
    pub(super) fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    /// The number of keys read so far, repetitions included.
    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    /// The number of packets so far that are not IP packets.
    pub(super) fn not_ip(&self) -> u64 {
        self.not_ip
    }

    /// The number of packets so far that were recorded without their ports.
    pub(super) fn cut_short(&self) -> u64 {
        self.cut_short
    }
}

#[cfg(test)]
mod tests;
