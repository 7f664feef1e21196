//! Finds the first byte of a text that JSON requires to be escaped, in texts and in the JSON of texts.
//!
//! It knows bytes only; the writer escapes, and readers know what an escape means.

/// Bytes of long text that are checked together. The check has no early exit, so that the compiler vectorises
/// it.
const BLOCK_BYTES: usize = 64;
/// Bytes up to which text is short.
const SHORT_BYTES_MAX: usize = 32;
/// Bytes of a word.
const WORD_BYTES: usize = 8;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

const _: () = assert!(BLOCK_BYTES.is_multiple_of(WORD_BYTES), "the rest of a text begins with a word");
const _: () = assert!(SHORT_BYTES_MAX == 4 * WORD_BYTES, "two words of 16 bytes cover a short text");
const _: () = assert!(HIGH == ONES << 7, "a byte's highest bit is its mark");

/// The number of bytes before the first quote, backslash or control character; all bytes if there is none.
pub(crate) fn plain_bytes(bytes: &[u8]) -> usize {
    let mut at = 0;
    if let Some(end) = bytes.last_chunk::<BLOCK_BYTES>() {
        let (blocks, _) = bytes.as_chunks::<BLOCK_BYTES>();
        match blocks.iter().position(|block| !is_plain(block)) {
            // The last block overlaps the one before it, whose bytes are plain.
            None if is_plain(end) => return bytes.len(),
            found => at = found.unwrap_or(blocks.len()) * BLOCK_BYTES,
        }
    }
    let (words, tail) = bytes.get(at..).unwrap_or_default().as_chunks::<WORD_BYTES>();
    for word in words {
        match specials(u64::from_le_bytes(*word)) {
            0 => at += WORD_BYTES,
            hits => return at + first(hits),
        }
    }
    tail.iter().position(|byte| is_special(*byte)).map_or(bytes.len(), |place| at + place)
}

/// JSON at the end of a buffer whose texts were written without escapes.
pub(crate) struct Unescaped {
    /// Where it begins.
    pub start: usize,
    /// The quotes that are its own.
    pub quotes: usize,
}

/// Whether no text needs an escape: there is no backslash, no control character, and no quote of a text.
pub(crate) fn needs_no_escape(json: &mut Vec<u8>, written: &Unescaped) -> bool {
    let end = json.len();
    // Whole blocks take no loop over the bytes of the last one.
    json.extend_from_slice(&[b' '; 2 * LANES]);
    let (blocks, _) = json.get(written.start..).unwrap_or_default().as_chunks();
    let is_plain = are_plain(blocks, written.quotes);
    json.truncate(end);
    is_plain
}

/// Bytes that are looked at together, each in a lane of its own: two registers of the smallest processor.
const LANES: usize = 32;
/// Blocks of twice as many bytes whose quotes are counted in a byte of each lane. Four lanes are added before
/// their sum needs more.
const COUNTED_BLOCKS_MAX: usize = 0xFF / (LANES / WORD_BYTES) / 2;

fn are_plain(blocks: &[[u8; 2 * LANES]], wanted_quotes: usize) -> bool {
    // Lanes are joined once, at the end.
    let (mut least, mut least_from_backslash) = ([u8::MAX; LANES], [u8::MAX; LANES]);
    let mut quotes = 0;
    for part in blocks.chunks(COUNTED_BLOCKS_MAX) {
        let mut counts = [0_u8; LANES];
        for pair in part {
            // Two at a time, for fewer turns of the loop.
            for block in pair.as_chunks::<LANES>().0 {
                let lanes = least.iter_mut().zip(&mut least_from_backslash).zip(&mut counts);
                for (byte, ((least, from_backslash), count)) in block.iter().zip(lanes) {
                    *least = (*least).min(*byte);
                    *from_backslash = (*from_backslash).min(*byte ^ b'\\');
                    *count += u8::from(*byte == b'"');
                }
            }
        }
        let (words, _) = counts.as_chunks();
        quotes += sum_of_bytes(words.iter().map(|word| u64::from_le_bytes(*word)).sum());
    }
    let least_of = |lanes: [u8; LANES]| lanes.into_iter().fold(u8::MAX, u8::min);
    usize::try_from(quotes) == Ok(wanted_quotes)
        && least_of(least) >= 0x20
        && least_of(least_from_backslash) > 0
}

/// The sum of the eight bytes of a word: of two bytes each, then of the four sums.
const fn sum_of_bytes(word: u64) -> u64 {
    const LOW: u64 = 0x00FF_00FF_00FF_00FF;
    ((word & LOW) + ((word >> 8) & LOW)).wrapping_mul(0x0001_0001_0001_0001) >> 48
}

/// The number of bytes before the first quote, backslash or control character of JSON that goes on after this
/// text. None if there is none, or if a control character comes before the end of a long text.
#[inline]
pub(crate) fn plain_bytes_within(json: &[u8]) -> Option<usize> {
    // Most names end within a word.
    match json.split_first_chunk().map(|(word, _)| specials(u64::from_le_bytes(*word))) {
        Some(0) => plain_bytes_of_long(json, WORD_BYTES),
        Some(hits) => Some(first(hits)),
        None => plain_bytes_of_long(json, 0),
    }
}

/// The same if so many bytes have been looked at.
fn plain_bytes_of_long(json: &[u8], mut at: usize) -> Option<usize> {
    let (words, _) = json.get(at..)?.as_chunks::<WORD_BYTES>();
    for word in words.iter().take(SHORT_BYTES_MAX / WORD_BYTES - 1) {
        match specials(u64::from_le_bytes(*word)) {
            0 => at += WORD_BYTES,
            hits => return Some(at + first(hits)),
        }
    }
    let rest = json.get(at..)?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let least = rest.get(..end)?.iter().fold(u8::MAX, |least, byte| least.min(*byte));
    if least >= b' ' { Some(at + end) } else { None }
}

fn is_plain(block: &[u8; BLOCK_BYTES]) -> bool {
    block.iter().fold(0, |found, byte| found | u8::from(is_special(*byte))) == 0
}

/// Appends the text if it is short and plain; returns whether it did. Most names and values are short. They
/// are checked and copied as two overlapping words of a size known to the compiler, which is cheaper than a
/// loop and a call.
pub(crate) fn push_short(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    if bytes.len() > SHORT_BYTES_MAX {
        return false;
    }
    if let (Some(head), Some(end)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        return push_overlapping(head, end, specials_of_two(head) | specials_of_two(end), bytes.len(), out);
    }
    if let (Some(head), Some(end)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let hits = specials(u64::from_le_bytes(*head)) | specials(u64::from_le_bytes(*end));
        return push_overlapping(head, end, hits, bytes.len(), out);
    }
    let length = bytes.len();
    if let (Some(head), Some(end)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let end = u64::from(u32::from_le_bytes(*end)) << (8 * (length - 4));
        return push_word(u64::from(u32::from_le_bytes(*head)) | end, length, out);
    }
    let (Some(head), Some(middle), Some(end)) = (bytes.first(), bytes.get(length / 2), bytes.last()) else {
        return true;
    };
    let placed = |byte: &u8, place: usize| u64::from(*byte) << (8 * place);
    push_word(placed(head, 0) | placed(middle, length / 2) | placed(end, length - 1), length, out)
}

/// Appends `length` bytes: the head, then the bytes of the end that the head does not cover.
fn push_overlapping<const N: usize>(
    head: &[u8; N],
    end: &[u8; N],
    hits: u64,
    length: usize,
    out: &mut Vec<u8>,
) -> bool {
    if hits == 0 {
        let place = out.len() + length - N;
        out.extend_from_slice(head);
        out.truncate(place);
        out.extend_from_slice(end);
    }
    hits == 0
}

/// Appends the lowest `length` bytes of a word; `length` is at least 1.
fn push_word(word: u64, length: usize, out: &mut Vec<u8>) -> bool {
    let is_plain = specials(word) << (8 * (8 - length)) == 0;
    if is_plain {
        let end = out.len() + length;
        out.extend_from_slice(&word.to_le_bytes());
        out.truncate(end);
    }
    is_plain
}

fn specials_of_two(words: &[u8; 16]) -> u64 {
    let (words, _) = words.as_chunks::<8>();
    words.iter().fold(0, |hits, word| hits | specials(u64::from_le_bytes(*word)))
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Sets the high bit of each special byte of a word. Only the lowest set bit is reliable: the subtraction
/// borrows from the byte above a special one, which may then look special too. An exclusive or with 2 makes a
/// quote 0x20 and leaves control characters below it, so that one comparison finds both.
const fn specials(word: u64) -> u64 {
    at_most(word ^ (ONES * 2), QUOTE ^ 2) | at_most(word ^ (ONES * BACKSLASH), 0)
}

const QUOTE: u64 = 0x22;
const BACKSLASH: u64 = 0x5C;
const _: () = assert!(QUOTE ^ 2 == 0x20, "a quote then follows the control characters");

/// The high bits of the bytes that are at most the bound.
const fn at_most(word: u64, bound: u64) -> u64 {
    word.wrapping_sub(ONES * (bound + 1)) & !word & HIGH
}

/// The index of the lowest byte with a hit.
fn first(hits: u64) -> usize {
    usize::try_from(hits.trailing_zeros() / 8).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_at_every_place() {
        for length in 0..200 {
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
    fn short_text_is_appended_only_where_it_is_plain() {
        for length in 0..40 {
            let plain: Vec<u8> = (b'0'..).take(length).filter(|byte| *byte != b'\\').collect();
            let mut out = b"before".to_vec();
            assert_eq!(push_short(&plain, &mut out), plain.len() <= 32);
            let appended = if plain.len() <= 32 { plain.as_slice() } else { b"" };
            assert_eq!(out, [b"before", appended].concat());
            for place in 0..plain.len() {
                for special in [b'"', b'\\', 0, 0x1F] {
                    let mut bytes = plain.clone();
                    bytes[place] = special;
                    let mut out = b"before".to_vec();
                    assert!(!push_short(&bytes, &mut out), "{length} {place}");
                    assert_eq!(out, b"before");
                }
            }
        }
        for byte in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0x9F, 0xA2, 0xDC, 0xFF] {
            for length in 1..=32 {
                let mut out = Vec::new();
                assert!(push_short(&vec![byte; length], &mut out));
                assert_eq!(out, vec![byte; length]);
            }
        }
    }

    #[test]
    fn the_end_of_a_text_is_found_within_what_follows_it() {
        for length in 0..80 {
            for special in [b'"', b'\\', 0, 0x1F] {
                for plain in ["a", "\u{7f}", "!", "]", "\u{e9}", "\u{fffd}"] {
                    let text = plain.repeat(length).into_bytes();
                    let json = [text.as_slice(), &[special], b"\"\\\"\":{\"S\":\"\"}}"].concat();
                    let found = plain_bytes_within(&json);
                    // Of a control character in a long text only its presence is known.
                    let is_cut = special < b' ' && text.len() >= SHORT_BYTES_MAX;
                    assert_eq!(found, if is_cut { None } else { Some(text.len()) }, "{length} {special}");
                }
            }
        }
        assert_eq!(plain_bytes_within(b""), None);
        assert_eq!(plain_bytes_within(&[b'a'; 50]), None);
        assert_eq!(plain_bytes_within(&[b'a'; 7]), None);
    }

    fn needs_none(json: &[u8], wanted_quotes: usize) -> bool {
        let mut written = [b"before \"\\\n".as_slice(), json].concat();
        let unescaped = Unescaped { start: b"before \"\\\n".len(), quotes: wanted_quotes };
        let is_plain = needs_no_escape(&mut written, &unescaped);
        assert_eq!(written, [b"before \"\\\n".as_slice(), json].concat());
        is_plain
    }

    #[test]
    fn quotes_of_a_large_text_are_all_counted() {
        for length in [255 * LANES - 1, 255 * LANES, 255 * LANES + 1, 1000 * LANES + 7] {
            let quotes = vec![b'"'; length];
            assert!(needs_none(&quotes, length));
            assert!(!needs_none(&quotes, length - 256) && !needs_none(&quotes, length % 256));
        }
    }

    #[test]
    fn json_needs_no_escape_if_its_quotes_are_its_own() {
        for length in 0..200 {
            let plain = vec![b'a'; length];
            assert!(needs_none(&plain, 0) && !needs_none(&plain, 1));
            for place in 0..length {
                for special in [b'"', b'\\', 0, 0x1F] {
                    let mut bytes = plain.clone();
                    bytes[place] = special;
                    assert_eq!(needs_none(&bytes, 1), special == b'"', "{length} {place}");
                    assert!(!needs_none(&bytes, 0) && !needs_none(&bytes, 2));
                }
            }
            for byte in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0x9F, 0xA2, 0xDC, 0xFF] {
                assert!(needs_none(&vec![byte; length], 0), "{byte:x}");
            }
            assert!(needs_none(&vec![b'"'; length], length));
        }
    }

    #[test]
    fn neighbours_of_special_bytes_are_plain() {
        for byte in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0x9F, 0xA2, 0xDC, 0xFF] {
            assert_eq!(plain_bytes(&[byte; 150]), 150, "{byte:x}");
        }
    }
}
