//! Keys of 16 bytes and values of 100.

/// Odd, so that no two numbers have the same key; with bits everywhere, so that keys are scattered.
const SCATTER: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// The key of a number.
pub fn key(number: u64) -> [u8; 16] {
    u128::from(number).wrapping_add(1).wrapping_mul(SCATTER).to_be_bytes()
}

/// The value of a number's key.
pub fn value(number: u64) -> [u8; 100] {
    let mut value = [b'.'; 100];
    value[..8].copy_from_slice(&number.to_be_bytes());
    value
}
