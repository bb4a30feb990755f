//! Numbers of a few bits, packed one after the other.

use super::strings::Bits;

/// Writes numbers into bytes.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    held: u128,
    count: u32,
}

impl BitWriter {
    /// Writes up to 64 bits, the first one lowest.
    pub(super) fn put(&mut self, bits: u64, len: u32) {
        self.held |= u128::from(bits) << self.count;
        self.count += len;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Writes fewer than 64 zeros, and a one.
    pub(super) fn put_zeros(&mut self, zeros: u32) {
        self.put(1 << zeros, zeros + 1);
    }

    /// The bytes; the last one is padded with zeros.
    pub(super) fn finish(mut self) -> Box<[u8]> {
        if self.count > 0 {
            self.bytes.push(self.held as u8);
        }
        self.bytes.into()
    }
}

/// Reads what a [`BitWriter`] has written.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl BitReader<'_> {
    pub(super) fn new(bytes: &[u8]) -> BitReader<'_> {
        BitReader { bytes, bit: 0 }
    }

    /// Reads up to 64 bits, the first one lowest. After the end there are zeros.
    pub(super) fn take(&mut self, len: u32) -> u64 {
        let at = self.bit / 8;
        let mut window = [0; 16];
        let rest = self.bytes.get(at..).unwrap_or_default();
        let bytes = rest.len().min(window.len());
        window[..bytes].copy_from_slice(&rest[..bytes]);
        let bits = u128::from_le_bytes(window) >> (self.bit % 8);
        self.bit += len as usize;
        Bits::prefix(bits as u64, len).bits
    }

    /// The number of bytes read so far, up to the length.
    pub(super) fn bytes_read(&self) -> usize {
        self.bit.div_ceil(8).min(self.bytes.len())
    }

    /// The number of zeros before the next one, which is also consumed; 63 if there are more.
    pub(super) fn take_zeros(&mut self) -> u32 {
        let zeros = self.take(64).trailing_zeros().min(63);
        self.bit -= 63 - zeros as usize;
        zeros
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn what_is_written_is_read() {
        let mut rng = SplitMix64::from_state(4);
        for _ in 0..200 {
            let numbers: Vec<(bool, Bits)> = (0..rng.below(60))
                .map(|_| (rng.below(3) == 0, Bits::prefix(rng.next(), rng.below(65) as u32)))
                .collect();
            let mut writer = BitWriter::default();
            for (zeros, number) in &numbers {
                if *zeros { writer.put_zeros(number.len.min(63)) } else { writer.put(number.bits, number.len) }
            }
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            for (zeros, number) in numbers {
                match zeros {
                    true => assert_eq!(reader.take_zeros(), number.len.min(63)),
                    false => assert_eq!(reader.take(number.len), number.bits),
                }
            }
            assert_eq!(reader.take(64), 0, "zeros behind the end");
        }
    }
}
