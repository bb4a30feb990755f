//! Keys as users have them.

/// Types that can be a key: bytes, text, and integers of a fixed width.
///
/// A key is a byte string. Text is its UTF-8 bytes. An integer is its big-endian bytes on every platform, so `7u32` and
/// `7u64` are different keys, and unsigned numbers sort as their keys do.
///
/// ```
/// use twiceshy::AsKey;
///
/// assert_eq!("owl".as_key().as_ref(), b"owl");
/// assert_eq!(0x0102u16.as_key().as_ref(), [1, 2]);
/// ```
pub trait AsKey {
    /// The bytes.
    fn as_key(&self) -> impl AsRef<[u8]>;
}

impl AsKey for [u8] {
    fn as_key(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl<const N: usize> AsKey for [u8; N] {
    fn as_key(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl AsKey for Vec<u8> {
    fn as_key(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl AsKey for str {
    fn as_key(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl AsKey for String {
    fn as_key(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl<K: AsKey + ?Sized> AsKey for &K {
    fn as_key(&self) -> impl AsRef<[u8]> {
        (**self).as_key()
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl AsKey for $integer {
            fn as_key(&self) -> impl AsRef<[u8]> {
                self.to_be_bytes()
            }
        })*
    };
}

integers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);
