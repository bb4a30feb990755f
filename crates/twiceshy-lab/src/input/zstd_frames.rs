//! A zstd file of any number of frames.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Reads frame after frame to the end of the file, skips the skippable ones, and verifies the checksums of those that
/// have one.
pub(super) struct ZstdFrames<R> {
    file: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(super) fn new(file: R) -> Self {
        Self { file, decoder: FrameDecoder::new(), within: false }
    }

    /// Advances to the next frame with content. Returns `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.file.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.file) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = io::copy(&mut (&mut self.file).take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a skippable frame is cut short"));
                    }
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }

    fn end(&mut self) -> io::Result<()> {
        self.within = false;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(written), Some(found)) if written != found => Err(damaged("a frame's checksum is wrong")),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within {
                self.within = self.begin()?;
                if !self.within {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder.decode_blocks(&mut self.file, BlockDecodingStrategy::UptoBlocks(1)).map_err(damaged)?;
            }
            let read = self.decoder.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            self.end()?;
        }
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
