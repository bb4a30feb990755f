//! A gzip file of any number of members.

use std::io::{self, BufRead, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::GzDecoder;

/// The first bytes of a member.
pub(super) const MARK: &[u8] = b"\x1F\x8B\x08";

/// Reads member after member. Other bytes after a member end the file, as they do for `gzip` itself.
pub(super) struct GzipMembers<R> {
    /// `None` at the end of the file.
    member: Option<GzDecoder<Chain<Cursor<Vec<u8>>, R>>>,
    /// Set if the file ended with other bytes.
    has_more: Arc<AtomicBool>,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(file: R, has_more: Arc<AtomicBool>) -> Self {
        Self { member: Some(GzDecoder::new(Cursor::new(Vec::new()).chain(file))), has_more }
    }

    /// Begins the next member, if the file has one.
    fn begin(&mut self, mut file: R) -> io::Result<()> {
        let mut start = Vec::new();
        (&mut file).take(MARK.len() as u64).read_to_end(&mut start)?;
        if start == MARK {
            self.member = Some(GzDecoder::new(Cursor::new(start).chain(file)));
        } else if !start.is_empty() && MARK.starts_with(&start) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a member is cut short"));
        } else if !start.is_empty() {
            self.has_more.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while let Some(mut member) = self.member.take() {
            let read = member.read(into)?;
            if read > 0 {
                self.member = Some(member);
                return Ok(read);
            }
            // The start of the member has been read, so that nothing of it is lost.
            let (_, file) = member.into_inner().into_inner();
            self.begin(file)?;
        }
        Ok(0)
    }
}
