//! Any items, in any format, in any pieces.

use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_wire::files::{CsvOptions, Delimiter, Format, ion, json_lines};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::{in_pieces, items, records, shown, written};

/// Numbers with up to 38 digits, at any place of the range.
fn number() -> impl Strategy<Value = Number> {
    let digits = 1_u128..10_u128.pow(38);
    (digits, any::<bool>(), -130_i32..88).prop_map(|(digits, is_negative, exponent)| {
        let sign = if is_negative { "-" } else { "" };
        Number::parse(&format!("{sign}{digits}E{exponent}")).unwrap_or(Number::ZERO)
    })
}

/// Texts with what formats treat in a way of their own.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,12}", "[\"'\\\\{}\\[\\]()/*,:$\n\r\t\u{0}a1]{0,12}"]
}

fn value() -> impl Strategy<Value = AttributeValue> {
    let binary = || vec(any::<u8>(), 0..12);
    let leaf = prop_oneof![
        text().prop_map(AttributeValue::S),
        number().prop_map(AttributeValue::N),
        binary().prop_map(AttributeValue::B),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null),
        btree_set(text(), 1..4).prop_map(|set| AttributeValue::Ss(set.into_iter().collect())),
        btree_set(number(), 1..4).prop_map(|set| AttributeValue::Ns(set.into_iter().collect())),
        btree_set(binary(), 1..4).prop_map(|set| AttributeValue::Bs(set.into_iter().collect())),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(AttributeValue::L),
            btree_map(text(), inner, 0..6).prop_map(|map| AttributeValue::M(map.into_iter().collect())),
        ]
    })
}

fn item() -> impl Strategy<Value = Item> {
    let name = text().prop_filter("attributes have names", |name| !name.is_empty());
    btree_map(name, value(), 0..6).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn written_items_read_back_equal_and_formats_agree(
        all in vec(item(), 0..6),
        piece_bytes in 1_usize..200,
    ) {
        let json = written(json_lines::push_item, &all);
        let ion = written(ion::push_item, &all);
        prop_assert_eq!(&items(in_pieces(&Format::JsonLines, &json, piece_bytes)), &all);
        prop_assert_eq!(&items(in_pieces(&Format::Ion, &ion, piece_bytes)), &all);
    }

    #[test]
    fn bytes_of_any_kind_give_the_same_records_in_pieces(
        bytes in vec(prop_oneof![any::<u8>(), proptest::sample::select(br#"{}[]()"'\/*,:$;1aItem
"#.to_vec())], 0..200),
        piece_bytes in 1_usize..200,
    ) {
        let csv = CsvOptions { delimiter: Delimiter::COMMA, header: None, key_types: Vec::new() };
        for format in [Format::JsonLines, Format::Ion, Format::Csv(csv)] {
            prop_assert_eq!(
                shown(&in_pieces(&format, &bytes, piece_bytes)),
                shown(&records(&format, &bytes)),
                "{:?}",
                format
            );
        }
    }

    #[test]
    fn fields_of_csv_read_back_equal(rows in vec(vec(text(), 3), 0..6), piece_bytes in 1_usize..200) {
        let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
        let text = rows.iter().fold("a,b,c".to_owned(), |text, row| text + "\r\n" + &line(row));
        let csv = CsvOptions { delimiter: Delimiter::COMMA, header: None, key_types: Vec::new() };
        let read = items(in_pieces(&Format::Csv(csv), text.as_bytes(), piece_bytes));
        let fields = |item: &Item| {
            ["a", "b", "c"].map(|name| match &item[name] {
                AttributeValue::S(text) => text.clone(),
                other => panic!("{other:?}"),
            }).to_vec()
        };
        prop_assert_eq!(read.iter().map(fields).collect::<Vec<_>>(), rows);
    }
}
