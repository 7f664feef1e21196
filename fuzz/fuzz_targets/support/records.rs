//! Any bytes as an object of records: no reader panics, the sizes of the pieces change nothing, a reader that
//! goes on gives what is left, and what is read and written again reads back equal.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::value::Item;
use keywright_wire::files::{Contents, Format, Outcome, Record, Records, ion, json_lines};

/// Checks the bytes after the first one, which says what the records hold and how large the pieces are.
pub fn check(format: &Format, data: &[u8]) {
    let Some((choice, object)) = data.split_first() else { return };
    let contents = if choice % 2 == 0 { Contents::Items } else { Contents::ConditionalPuts };
    let whole = read(Records::new(format, contents), object, object.len().max(1));
    let pieces = read(Records::new(format, contents), object, usize::from(choice / 2) + 1);
    assert_eq!(shown(&pieces), shown(&whole));
    let done = whole.len() / 2;
    let resumed = Records::resumed(format, contents, u64::try_from(done).expect("a length"));
    assert_eq!(shown(&read(resumed, object, 64)), shown(&whole[done..]));
    let items: Vec<Item> = whole.into_iter().filter_map(item).collect();
    let (mut json, mut text) = (Vec::new(), Vec::new());
    for item in &items {
        let encoded = EncodedItem::encode(item);
        json_lines::push_item(&mut json, &encoded);
        ion::push_item(&mut text, &encoded);
    }
    for (format, written) in [(Format::JsonLines, json), (Format::Ion, text)] {
        let again = read(Records::new(&format, Contents::Items), &written, 1024);
        let again: Vec<Item> = again.into_iter().filter_map(item).collect();
        assert_eq!(again, items);
    }
}

fn item(record: Record) -> Option<Item> {
    match record.outcome {
        Outcome::Put(put) => Some(put.item),
        Outcome::Invalid(_) | Outcome::Unreadable(_) => None,
    }
}

fn read(mut records: Records, object: &[u8], piece_bytes: usize) -> Vec<Record> {
    let mut found = Vec::new();
    for piece in object.chunks(piece_bytes) {
        records.feed(piece);
        found.extend(std::iter::from_fn(|| records.next_record()));
    }
    records.finish();
    found.extend(std::iter::from_fn(|| records.next_record()));
    found
}

fn shown(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| format!("{record:?}")).collect()
}
