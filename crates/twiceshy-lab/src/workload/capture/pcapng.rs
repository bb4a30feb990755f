//! The newer capture format: blocks, in sections with their own byte order and interfaces.

use std::io::Read;

use pcap_parser::{Block, PcapError, parse_block_be, parse_block_le};

use super::framed::{Framed, LONGEST};
use super::{Packet, Stop};

/// A section header's type, the same in either byte order.
const SECTION: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

/// The byte-order mark of a section header.
const BIG_ENDIAN: [u8; 4] = [0x1A, 0x2B, 0x3C, 0x4D];
const LITTLE_ENDIAN: [u8; 4] = [0x4D, 0x3C, 0x2B, 0x1A];

/// Type, length, and the length again at the end.
const SHORTEST: u32 = 12;

/// `true` if a file with these first bytes is such a capture.
pub(super) fn recognised(start: &[u8]) -> bool {
    start.starts_with(&SECTION) && [BIG_ENDIAN, LITTLE_ENDIAN].iter().any(|mark| start.get(8..12) == Some(mark))
}

/// The current section.
#[derive(Default)]
pub(super) struct PcapNg {
    big_endian: bool,
    /// The link types of the section's interfaces.
    links: Vec<u16>,
}

impl PcapNg {
    pub(super) fn next<R: Read>(
        &mut self,
        framed: &mut Framed<R>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Packet>, Stop> {
        while self.block(framed, buffer)? {
            let parse = if self.big_endian { parse_block_be } else { parse_block_le };
            let block = match parse(buffer) {
                Ok((_, block)) => block,
                Err(pcap_parser::nom::Err::Error(error) | pcap_parser::nom::Err::Failure(error)) => {
                    return Err(Stop::why(reason(&error)));
                }
                Err(_) => return Err(Stop::why("a block is shorter than its length field says")),
            };
            let (interface, data, length) = match block {
                Block::InterfaceDescription(interface) => {
                    self.links.push(interface.linktype.0 as u16);
                    continue;
                }
                Block::EnhancedPacket(packet) => (packet.if_id, packet.data, packet.caplen),
                Block::SimplePacket(packet) => (0, packet.data, packet.origlen),
                _ => continue,
            };
            let Some(link) = self.links.get(interface as usize) else {
                return Err(Stop::why(format!("a packet names interface {interface}, which was not described")));
            };
            // The data is part of the buffer. Remembered as a range, since the buffer belongs to the caller.
            let begin = data.as_ptr() as usize - buffer.as_ptr() as usize;
            let length = data.len().min(length as usize);
            return Ok(Some(Packet { link: *link, bytes: begin..begin + length }));
        }
        Ok(None)
    }

    /// Reads a whole block. Returns `false` at the end of the file.
    fn block<R: Read>(&mut self, framed: &mut Framed<R>, buffer: &mut Vec<u8>) -> Result<bool, Stop> {
        const CUT: &str = "the file ends within a block";
        buffer.clear();
        framed.begin();
        match framed.take(buffer, SHORTEST)? {
            0 => return Ok(false),
            SHORTEST => {}
            _ => return Err(Stop::why(CUT)),
        }
        if buffer.starts_with(&SECTION) {
            self.big_endian = match [buffer[8], buffer[9], buffer[10], buffer[11]] {
                BIG_ENDIAN => true,
                LITTLE_ENDIAN => false,
                _ => return Err(Stop::why("a section has no byte-order mark")),
            };
            self.links.clear();
        }
        let length = [buffer[4], buffer[5], buffer[6], buffer[7]];
        let length = if self.big_endian { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
        if !(SHORTEST..=LONGEST).contains(&length) || !length.is_multiple_of(4) {
            return Err(Stop::why(format!("a block of {length} bytes is invalid")));
        }
        if framed.take(buffer, length - SHORTEST)? < length - SHORTEST {
            return Err(Stop::why(CUT));
        }
        Ok(true)
    }
}

fn reason(error: &PcapError<&[u8]>) -> String {
    match error {
        PcapError::NomError(_, kind) => format!("a block is inconsistent ({kind:?})"),
        _ => "a block is inconsistent".to_owned(),
    }
}
