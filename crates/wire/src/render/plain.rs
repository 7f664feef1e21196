//! Where text stops being written as it is: the first byte that JSON demands to be escaped.
//!
//! It knows bytes only; the writer escapes.

/// Bytes that are looked at together in long text: without an early end the compiler compares them side by side.
const BLOCK_BYTES: usize = 32;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// How many bytes stand before the first quote, backslash or control character; all of them if there is none.
pub(super) fn plain_bytes(bytes: &[u8]) -> usize {
    let mut at = 0;
    // Most names and values are shorter than this.
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let hits = specials(u64::from_le_bytes(*word));
        if hits != 0 {
            return at + first(hits);
        }
        at += 8;
        if at == BLOCK_BYTES {
            at += plain_blocks(bytes.get(at..).unwrap_or_default());
        }
    }
    match bytes.last_chunk::<8>() {
        // The bytes of this word that were seen before are plain.
        Some(word) => match specials(u64::from_le_bytes(*word)) {
            0 => bytes.len(),
            hits => bytes.len() - 8 + first(hits),
        },
        None => bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len()),
    }
}

/// The length of the leading blocks that are plain; they are looked at again word by word where one is not.
fn plain_blocks(bytes: &[u8]) -> usize {
    let any = |block: &[u8]| block.iter().fold(false, |found, byte| found | is_special(*byte));
    bytes.chunks_exact(BLOCK_BYTES).take_while(|block| !any(block)).count() * BLOCK_BYTES
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The high bits of the special bytes among eight. Bits above the lowest may be wrong: a borrow from one that was found.
const fn specials(word: u64) -> u64 {
    below(word, 0x20) | below(word ^ (ONES * 0x22), 1) | below(word ^ (ONES * 0x5C), 1)
}

/// The high bits of the bytes that are below the bound.
const fn below(word: u64, bound: u64) -> u64 {
    word.wrapping_sub(ONES * bound) & !word & HIGH
}

fn first(hits: u64) -> usize {
    usize::try_from(hits.trailing_zeros() / 8).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for length in 0..120 {
            let plain: Vec<u8> =
                (0..length).map(|place| 0x23 + u8::try_from(place % 0x39).unwrap()).collect();
            let plain: Vec<u8> =
                plain.into_iter().map(|byte| if byte == b'\\' { 0xE9 } else { byte }).collect();
            assert_eq!(plain_bytes(&plain), length);
            for place in 0..length {
                for special in [b'"', b'\\', 0, 0x1F] {
                    let mut bytes = plain.clone();
                    bytes[place] = special;
                    assert_eq!(plain_bytes(&bytes), place, "{length}");
                    if let Some(after) = bytes.get_mut(place + 1) {
                        *after = 0x21;
                    }
                    assert_eq!(plain_bytes(&bytes), place, "{length}");
                }
            }
        }
    }

    #[test]
    fn neighbours_of_special_bytes_are_plain() {
        for byte in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0x9F, 0xA2, 0xDC, 0xFF] {
            assert_eq!(plain_bytes(&[byte; 50]), 50, "{byte:x}");
        }
    }
}
