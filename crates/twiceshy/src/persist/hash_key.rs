//! The hash key as a field of saved filters.

use super::{LoadError, Reader, Writer};
use crate::hash::{HashKey, HashKind};

pub(crate) fn write(hash: &HashKey, out: &mut Writer<'_>) {
    out.u8(hash.kind().code());
    out.bytes(hash.to_bytes().to_vec());
}

pub(crate) fn read(from: &mut Reader) -> Result<HashKey, LoadError> {
    let code = from.u8()?;
    let kind = HashKind::from_code(code).ok_or_else(|| LoadError::invalid(format!("its hash is of kind {code}")))?;
    let key = from.bytes()?.try_into().map_err(|_| LoadError::invalid("its hash key is not of 16 bytes"))?;
    Ok(HashKey::from_bytes(kind, key))
}
