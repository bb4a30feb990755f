//! The older capture format: a file header, then packets with a header each.

use std::io::Read;

use pcap_parser::parse_pcap_header;

use super::framed::{Framed, LONGEST};
use super::{Packet, Stop};

const FILE_HEADER: u32 = 24;

/// `true` if a file with these first bytes is such a capture.
pub(super) fn recognised(start: &[u8]) -> bool {
    matches!(
        start,
        // Microseconds, nanoseconds, and a variant with longer packet headers; in either byte order.
        [0xA1, 0xB2, 0xC3, 0xD4, ..]
            | [0xD4, 0xC3, 0xB2, 0xA1, ..]
            | [0xA1, 0xB2, 0x3C, 0x4D, ..]
            | [0x4D, 0x3C, 0xB2, 0xA1, ..]
            | [0x34, 0xCD, 0xB2, 0xA1, ..]
    )
}

/// The relevant fields of the file's header.
pub(super) struct Pcap {
    big_endian: bool,
    packet_header: u32,
    link: u16,
}

impl Pcap {
    pub(super) fn begin<R: Read>(framed: &mut Framed<R>, buffer: &mut Vec<u8>) -> Result<Self, Stop> {
        framed.take(buffer, FILE_HEADER)?;
        let (_, header) = parse_pcap_header(buffer).map_err(|_| Stop::why("its header is cut short"))?;
        Ok(Self {
            big_endian: header.is_bigendian(),
            packet_header: if header.is_modified_format() { 24 } else { 16 },
            // The upper bits hold the length of the frame checksum, which is not needed here.
            link: header.network.0 as u16,
        })
    }

    pub(super) fn next<R: Read>(&self, framed: &mut Framed<R>, buffer: &mut Vec<u8>) -> Result<Option<Packet>, Stop> {
        buffer.clear();
        framed.begin();
        match framed.take(buffer, self.packet_header)? {
            0 => return Ok(None),
            taken if taken < self.packet_header => return Err(Stop::why("the file ends within a packet's header")),
            _ => {}
        }
        let captured = [buffer[8], buffer[9], buffer[10], buffer[11]];
        let captured = if self.big_endian { u32::from_be_bytes(captured) } else { u32::from_le_bytes(captured) };
        if captured > LONGEST {
            return Err(Stop::why(format!("a packet of {captured} bytes is too long")));
        }
        if framed.take(buffer, captured)? < captured {
            return Err(Stop::why("the file ends within a packet"));
        }
        Ok(Some(Packet { link: self.link, bytes: self.packet_header as usize..buffer.len() }))
    }
}
