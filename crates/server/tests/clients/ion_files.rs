//! Ion as Amazon's library for Python reads and writes it.

use std::process::Command;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_wire::files::{Contents, Format, Outcome, Records, ion, json_lines};

use crate::foreign_clients::{installed, run, scripts};

/// Items with values of every type.
fn items() -> Vec<Item> {
    let number = |text: &str| AttributeValue::number(text).unwrap();
    let numbers = ["0", "-103", "600", "0.5", "-0.0125", "1E-130", "12345678901234567890.12345678"];
    let largest = number("9.9999999999999999999999999999999999999E+125");
    let texts = ["", "plain", "\"q\" 'a' \\ {{ }} // /* */ \n\r\t\u{0}\u{7f}\u{85} é 🎈 '''"];
    let names = ["true", "null", "$10", "1a", "a b", "é", "it's"];
    let nested = AttributeValue::L(vec![
        AttributeValue::M(Item::from([("k".to_owned(), largest.clone())])),
        AttributeValue::L(Vec::new()),
        AttributeValue::M(Item::new()),
    ]);
    let values = numbers.map(number).into_iter().chain(texts.map(AttributeValue::from)).chain([
        largest,
        nested,
        AttributeValue::B(Vec::new()),
        AttributeValue::B((0..=255).collect()),
        AttributeValue::Bool(true),
        AttributeValue::Bool(false),
        AttributeValue::Null,
        AttributeValue::string_set(vec![String::new(), "a\"".to_owned()]).unwrap(),
        AttributeValue::number_set(vec![1_i64.into(), (-25_i64).into()]).unwrap(),
        AttributeValue::binary_set(vec![vec![], vec![255]]).unwrap(),
    ]);
    let under_names = names.map(|name| Item::from([(name.to_owned(), AttributeValue::Null)]));
    values.map(|value| Item::from([("v".to_owned(), value)])).chain(under_names).collect()
}

fn read(bytes: &[u8]) -> Vec<Item> {
    let mut records = Records::new(&Format::Ion, Contents::Items);
    records.feed(bytes);
    records.finish();
    let item = |outcome| match outcome {
        Outcome::Put(put) => put.item,
        other => panic!("{other:?}"),
    };
    std::iter::from_fn(|| records.next_record()).map(|record| item(record.outcome)).collect()
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn amazons_library_reads_our_ion_and_we_read_its_own() {
    let python = installed("python/bin/python");
    let folder = tempfile::tempdir().unwrap();
    let (mut json, mut text) = (Vec::new(), Vec::new());
    for item in items() {
        let item = EncodedItem::encode(&item);
        json_lines::push_item(&mut json, &item);
        ion::push_item(&mut text, &item);
    }
    std::fs::write(folder.path().join("items.json"), json).unwrap();
    std::fs::write(folder.path().join("items.ion"), text).unwrap();
    run(Command::new(python).arg("-B").arg(scripts().join("run_ion.py")).arg(folder.path()));
    for written in ["text", "binary"] {
        assert_eq!(read(&std::fs::read(folder.path().join(written)).unwrap()), items(), "{written}");
    }
}
