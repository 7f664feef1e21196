//! Files of items: what is written reads back equal, in any format and in pieces of any size, and each fault
//! stands where it is.

mod bulk;
mod changes;
mod csv;
mod ion;
mod json;
mod manifests;
mod pieces;
mod properties;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_wire::files::{Contents, Format, Outcome, Record, Records};

/// The records of an object that is fed as a whole.
fn records(format: &Format, bytes: &[u8]) -> Vec<Record> {
    in_pieces(format, bytes, bytes.len().max(1))
}

/// The records of an object that is fed in pieces of that size.
fn in_pieces(format: &Format, bytes: &[u8], piece_bytes: usize) -> Vec<Record> {
    let mut reader = Records::new(format, Contents::Items);
    let mut found = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        reader.feed(piece);
        found.extend(std::iter::from_fn(|| reader.next_record()));
    }
    reader.finish();
    found.extend(std::iter::from_fn(|| reader.next_record()));
    found
}

/// A record in a line: its index, its offset, and what it is.
fn shown(records: &[Record]) -> Vec<String> {
    let show = |record: &Record| {
        let outcome = match &record.outcome {
            Outcome::Put(put) => format!("{:?}", put.item.keys().collect::<Vec<_>>()),
            Outcome::Invalid(message) => format!("invalid: {message}"),
            Outcome::Unreadable(message) => format!("unreadable: {message}"),
        };
        format!("{} at {}: {outcome}", record.position.index, record.position.offset_bytes)
    };
    records.iter().map(show).collect()
}

/// The items of records that are all right.
fn items(records: Vec<Record>) -> Vec<Item> {
    let item = |record: Record| match record.outcome {
        Outcome::Put(put) => put.item,
        other => panic!("{:?}: {other:?}", record.position),
    };
    records.into_iter().map(item).collect()
}

/// Items with values of every type: empty ones, large ones, nested ones, sets.
fn sample_items() -> Vec<Item> {
    let number = |text: &str| AttributeValue::number(text).unwrap();
    let item = |value: AttributeValue| Item::from([("pk".to_owned(), "k".into()), ("v".to_owned(), value)]);
    let mut nested = AttributeValue::S(String::new());
    for level in 0..31 {
        nested = if level % 2 == 0 {
            AttributeValue::L(vec![nested, AttributeValue::Null])
        } else {
            AttributeValue::M(Item::from([("it's \"m\" {[(/*".to_owned(), nested)]))
        };
    }
    [
        AttributeValue::S(String::new()),
        "plain".into(),
        "\"quotes\" 'and' \\ {{ }} // /* */ \n\r\t\u{0}\u{7f}\u{85} é 🎈 $ion_1_0 '''".into(),
        AttributeValue::B(Vec::new()),
        AttributeValue::B((0..=255).collect()),
        AttributeValue::Bool(true),
        AttributeValue::Bool(false),
        AttributeValue::Null,
        number("0"),
        number("-103"),
        number("600"),
        number("-0.05"),
        number("99999999999999999999999999999999999999"),
        number("1.2345678901234567890123456789012345678E-130"),
        number("-9.9999999999999999999999999999999999999E+125"),
        AttributeValue::L(Vec::new()),
        AttributeValue::M(Item::new()),
        AttributeValue::L(vec![AttributeValue::B(vec![0xff]), number("6E+2"), AttributeValue::Null]),
        nested,
        AttributeValue::string_set(vec![String::new(), "b".to_owned(), "a\"'".to_owned()]).unwrap(),
        AttributeValue::number_set(["-1.5", "0", "1E+30"].map(|text| Number::parse(text).unwrap()).to_vec())
            .unwrap(),
        AttributeValue::binary_set(vec![vec![], vec![1, 2, 3]]).unwrap(),
    ]
    .map(item)
    .into_iter()
    .chain(["true", "null", "$10", "1a", "a b", "", "é"].map(|name| {
        let name = if name.is_empty() { "x".repeat(65_535) } else { name.to_owned() };
        Item::from([(name, AttributeValue::Null)])
    }))
    .collect()
}

type Push = fn(&mut Vec<u8>, &EncodedItem);

/// All items as one object.
fn written(push: Push, items: &[Item]) -> Vec<u8> {
    let mut out = Vec::new();
    for item in items {
        push(&mut out, &EncodedItem::encode(item));
    }
    out
}
