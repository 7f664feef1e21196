//! The form of our own calls that carry rows, for both ends: a line of JSON, and rows after it.
//!
//! ```text
//! JSON, without line ends · "\n" · for each row: bytes of the key (u32) · bytes of the value (u32) · key · value
//! ```
//!
//! The length of a value that is not there is the greatest number. It knows nothing of what a row means.

use bytes::{Buf as _, Bytes};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A key and its value; `None` for a row that was deleted.
pub(crate) type Row = (Bytes, Option<Bytes>);

/// The length of a value that is not there.
const ABSENT: u32 = u32::MAX;
/// Bytes before the key of a row.
const LENGTHS_BYTES: usize = 8;

/// A line of JSON with these rows after it.
pub(crate) fn encode(head: &impl Serialize, rows: &[Row]) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(head).expect("a head of names and numbers is JSON");
    bytes.push(b'\n');
    bytes.reserve(rows.iter().map(|(key, value)| row_bytes(key, value.as_ref())).sum());
    let length =
        |bytes: &[u8]| u32::try_from(bytes.len()).expect("a row is shorter than 4 GiB").to_be_bytes();
    for (key, value) in rows {
        bytes.extend_from_slice(&length(key));
        bytes.extend_from_slice(&value.as_ref().map_or(ABSENT.to_be_bytes(), |value| length(value)));
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    bytes
}

/// The bytes that a row takes.
pub(crate) fn row_bytes(key: &[u8], value: Option<&Bytes>) -> usize {
    LENGTHS_BYTES + key.len() + value.map_or(0, Bytes::len)
}

/// The line of JSON, and the rows, which share the memory of the bytes. An error says what is wrong.
pub(crate) fn decode<H: DeserializeOwned>(bytes: &Bytes) -> Result<(H, Vec<Row>), String> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let head =
        serde_json::from_slice(bytes.get(..end).unwrap_or_default()).map_err(|error| error.to_string())?;
    let mut rest = bytes.slice((end + 1).min(bytes.len())..);
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let cut_short = || format!("row {} is cut short", rows.len() + 1);
        if rest.len() < LENGTHS_BYTES {
            return Err(cut_short());
        }
        let (key_bytes, value_bytes) = (rest.get_u32(), rest.get_u32());
        let mut part = |length: u32| {
            let length = usize::try_from(length).ok().filter(|length| *length <= rest.len())?;
            Some(rest.split_to(length))
        };
        let key = part(key_bytes).ok_or_else(cut_short)?;
        let value = match value_bytes {
            ABSENT => None,
            length => Some(part(length).ok_or_else(cut_short)?),
        };
        rows.push((key, value));
    }
    Ok((head, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_back_and_no_part_of_it_does() {
        let rows: Vec<Row> = vec![
            (Bytes::from_static(b"a\n"), Some(Bytes::from_static(b"\nvalue"))),
            (Bytes::from_static(b"b"), None),
            (Bytes::from_static(b"c"), Some(Bytes::new())),
        ];
        let bytes = Bytes::from(encode(&"head", &rows));
        assert_eq!(decode::<String>(&bytes), Ok(("head".to_owned(), rows.clone())));
        let row_ends: Vec<usize> =
            (0..=rows.len()).map(|count| encode(&"head", &rows[..count]).len()).collect();
        for end in 0..bytes.len() {
            let read = decode::<String>(&bytes.slice(..end));
            let is_whole = row_ends.contains(&end) || end + 1 == row_ends[0];
            assert_eq!(read.is_ok(), is_whole, "cut at {end}: {read:?}");
        }
    }
}
