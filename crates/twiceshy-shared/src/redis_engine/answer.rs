//! What servers answer, as numbers, bytes and lists.

use crate::engine::EngineError;
use crate::names::Head;
use redis::Value;

/// An answer that a server of this set cannot give.
pub(super) fn unexpected() -> EngineError {
    EngineError::Damaged("a server's answer cannot be understood".to_owned())
}

pub(super) fn list(value: Value) -> Result<Vec<Value>, EngineError> {
    match value {
        Value::Array(values) => Ok(values),
        Value::Nil => Ok(Vec::new()),
        _ => Err(unexpected()),
    }
}

/// Bytes; `None` if there are none.
pub(super) fn maybe_bytes(value: Value) -> Result<Option<Vec<u8>>, EngineError> {
    match value {
        Value::BulkString(bytes) => Ok(Some(bytes)),
        Value::Nil => Ok(None),
        _ => Err(unexpected()),
    }
}

pub(super) fn bytes(value: Value) -> Result<Vec<u8>, EngineError> {
    maybe_bytes(value)?.ok_or_else(unexpected)
}

pub(super) fn all_bytes(values: impl IntoIterator<Item = Value>) -> Result<Vec<Vec<u8>>, EngineError> {
    values.into_iter().map(bytes).collect()
}

pub(super) fn is_one(value: Value) -> Result<bool, EngineError> {
    match value {
        Value::Int(number) => Ok(number == 1),
        _ => Err(unexpected()),
    }
}

/// A number in digits.
pub(super) fn number(text: &[u8]) -> Result<u64, EngineError> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(unexpected)
}

/// Numbers in digits, with spaces between them.
pub(super) fn numbers<const N: usize>(text: &[u8]) -> Result<[u64; N], EngineError> {
    let numbers: Vec<u64> = text.split(|byte| *byte == b' ').map(number).collect::<Result<_, _>>()?;
    numbers.try_into().map_err(|_| unexpected())
}

/// A field of a hash, and its value.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// The fields and values of a hash.
pub(super) fn pairs(value: Value) -> Result<Vec<Pair>, EngineError> {
    let values = all_bytes(list(value)?)?;
    Ok(values.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
}

/// A head, and what follows it.
pub(super) fn head(value: Value) -> Result<(Head, std::vec::IntoIter<Value>), EngineError> {
    let mut values = list(value)?.into_iter();
    let mut next = || values.next().ok_or_else(unexpected).and_then(bytes).and_then(|text| number(&text));
    let head = Head { position: next()?, tag: next()? };
    Ok((head, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_is_an_error() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        assert!(list(Value::Int(1)).is_err());
        assert!(bytes(Value::Nil).is_err());
        assert!(is_one(text("1")).is_err());
        assert!(number(b"-1").is_err() && number(b"").is_err() && number(b"18446744073709551616").is_err());
        assert_eq!(numbers(b"1 18446744073709551615").expect("two"), [1, u64::MAX]);
        assert!(numbers::<3>(b"1 2").is_err());
        let (at, rest) = head(Value::Array(vec![text("5"), text("6"), Value::Nil])).expect("a head");
        assert_eq!((at, rest.len()), (Head { position: 5, tag: 6 }, 1));
        assert!(head(Value::Array(vec![text("5")])).is_err());
    }
}
