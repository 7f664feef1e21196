//! Ion, in text and in binary.

use keywright_semantics::value::{AttributeValue, Item};
use keywright_wire::files::{Format, ion, json_lines};

use super::{in_pieces, items, records, sample_items, shown, written};

fn shown_ion(bytes: &[u8]) -> Vec<String> {
    shown(&records(&Format::Ion, bytes))
}

#[test]
fn items_of_every_type_read_back_equal() {
    let all = sample_items();
    let text = written(ion::push_item, &all);
    assert_eq!(items(records(&Format::Ion, &text)), all);
    let json = written(json_lines::push_item, &items(records(&Format::Ion, &text)));
    assert_eq!(written(ion::push_item, &items(records(&Format::JsonLines, &json))), text);
}

#[test]
fn a_line_is_as_the_services_guide_writes_it() {
    let line = concat!(
        "$ion_1_0 {Item:{bin:{{dGVzdA==}},list:[1.,\"x\"],map:{k:\"v\"},n:103.,nothing:null,",
        "nums:$dynamodb_NS::[1.,6d2],ok:true,pk:\"1\",tags:$dynamodb_SS::[\"a\",\"b\"]}}\n",
    );
    let read = items(records(&Format::Ion, line.as_bytes()));
    assert_eq!(read[0].len(), 9);
    assert_eq!(String::from_utf8(written(ion::push_item, &read)).unwrap(), line);
}

#[test]
fn numbers_of_any_ion_type_are_numbers() {
    let text = b"{Item:{a:1,b:1.50,c:12d-1,d:5e-1,e:-0x10,f:1_000,g:0b11,h:null.int}}";
    let json = written(json_lines::push_item, &items(records(&Format::Ion, text)));
    assert_eq!(
        String::from_utf8(json).unwrap(),
        concat!(
            r#"{"Item":{"a":{"N":"1"},"b":{"N":"1.5"},"c":{"N":"1.2"},"d":{"N":"0.5"},"e":{"N":"-16"},"#,
            r#""f":{"N":"1000"},"g":{"N":"3"},"h":{"NULL":true}}}"#,
            "\n"
        )
    );
}

#[test]
fn texts_have_every_escape_and_form_of_quotes() {
    let text = concat!(
        r#"{'Item':{"a":"\0\a\b\t\n\f\r\v\"\'\?\\\/\x41\u00e9\U0001f388\ud83c\udf88","#,
        r"'''b''':'''one ''' /* two */ '''two",
        "\r\nthree\\\n''',",
        r#"c: note::"x", d:[1,2,], e:{f:{{ dGVz dA== }},},}}"#,
    );
    let read = items(records(&Format::Ion, text.as_bytes())).remove(0);
    let expected = "\0\u{7}\u{8}\t\n\u{c}\r\u{b}\"'?\\/A\u{e9}\u{1f388}\u{1f388}";
    assert_eq!(read["a"], AttributeValue::from(expected));
    assert_eq!(read["b"], AttributeValue::from("one two\nthree"));
    assert_eq!(read["c"], AttributeValue::from("x"));
    assert_eq!(read["d"], AttributeValue::L(vec![1.into(), 2.into()]));
    let blob = Item::from([("f".to_owned(), AttributeValue::B(b"test".to_vec()))]);
    assert_eq!(read["e"], AttributeValue::M(blob));
}

#[test]
fn an_invalid_item_is_passed() {
    let long_number = format!("{{Item:{{a:{}}}}}", "7".repeat(2000));
    let deep = format!("{{Item:{{a:{}{}}}}}", "[".repeat(100_000), "]".repeat(100_000));
    let many = format!("{{Item:{{a:[{}1]}}}}", "1,".repeat(1_300_000));
    for (record, message) in [
        ("{Item:{a:2026-01-01T}}", "An attribute has the Ion type timestamp; "),
        ("{Item:{a:symbol}}", "An attribute has the Ion type symbol; "),
        ("{Item:{a:(1 2)}}", "An attribute has the Ion type sexp; "),
        ("{Item:{a:{{\"clob\"}}}}", "An attribute has the Ion type clob; "),
        ("{Item:{a:nan}}", "The parameter cannot be converted to a numeric value: NaN"),
        (
            "{Item:{a:$dynamodb_SS::[]}}",
            "One or more parameter values were invalid: An string set  may not be empty",
        ),
        (
            "{Item:{a:$dynamodb_NS::[1,1.0]}}",
            "One or more parameter values were invalid: Input collection contains duplicates.",
        ),
        (
            "{Item:{a:$dynamodb_NS::[\"1\"]}}",
            "A set with the annotation $dynamodb_NS has a member of the Ion type string",
        ),
        ("{Item:{a:1d126}}", "Number overflow. "),
        ("{Item:5}", "The record has a value of the Ion type number where a struct must stand"),
        ("{}", "The record has no member Item: "),
        (&long_number, "Attempting to store more than 38 significant digits in a Number"),
        (&deep, "Nesting Levels have exceeded supported limits"),
        (&many, "Item size has exceeded the maximum allowed size"),
    ] {
        let start = &record[..record.len().min(60)];
        let found = shown_ion(format!("{record}\n{{Item:{{b:1}}}}").as_bytes());
        assert!(found[0].starts_with(&format!("0 at 0: invalid: {message}")), "{start}: {}", found[0]);
        assert!(found[1].ends_with("[\"b\"]"), "{start}: {found:?}");
    }
}

#[test]
fn what_does_not_parse_ends_the_object() {
    for text in [
        "5",
        "\"text\"",
        "[5]",
        "[[{Item:{}}]]",
        "{{dGVzdA==}}",
        "$ion_1_1 {Item:{}}",
        "$ion_2_0 {Item:{}}",
        "note::{Item:{}}",
        "$ion_symbol_table::[1]",
        "$ion_symbol_table::{imports:[{name:\"x\",version:1,max_id:4000000000}]} {Item:{}}",
        "{Item:{a:1}",
        "{Item:{a:1]}",
        "{Item {a:1}}",
        "{Item:{a:\"x}}",
        "{Item:{a:$99}}",
        "{Item:{a:01}}",
        "{Item:{a:1_}}",
        "{Item:{a:1d}}",
        "{Item:{a:1.5.2}}",
        "{Item:{null:1}}",
        "{Item:{a:null.text}}",
        "{Item:{a:\"\\q\"}}",
        "{Item:{a:\"\\ud800\"}}",
        "{Item:{a:\"line\n\"}}",
        "{Item:{a:{{dGV}}}}",
        "{Item:{a:1 b:2}}",
        "{Item:{a::1}}",
        "/* open",
        "[{Item:{}}",
    ] {
        let found = shown_ion(format!("{{Item:{{b:1}}}} {text}").as_bytes());
        let last = found.last().unwrap();
        assert!(last.contains("unreadable: The record is not valid Ion: "), "{text}: {found:?}");
    }
    assert!(shown_ion(b"{Item:{a:\"\xff\"}}")[0].starts_with("0 at 0: unreadable: "));
}

#[test]
fn tables_of_symbols_are_read_until_the_next_version_marker() {
    let text = "$ion_1_0 $ion_symbol_table::{symbols:[\"a\",\"b\"]} {Item:{$10:1}} \
                $ion_symbol_table :: { imports : $ion_symbol_table, symbols:[\"c\"] } {Item:{$11:1,$12:1}} \
                $ion_symbol_table::{symbols:[\"d\"]} {Item:{$10:1}} $ion_1_0 {Item:{$10:1}}";
    let found = shown_ion(text.as_bytes());
    let shorter: Vec<&str> = found.iter().map(|line| line.split_once(": ").unwrap().1).collect();
    assert_eq!(shorter[..3], ["[\"a\"]", "[\"b\", \"c\"]", "[\"d\"]"], "{found:?}");
    assert!(shorter[3].starts_with("unreadable: "), "{found:?}");
}

/// The sample items but the one with the longest name, as Amazon's library for Python wrote them (0.15.0,
/// `crates/server/tests/clients/run_ion.py`).
const AMAZON_TEXT: &[u8] = include_bytes!("../../ion/amazon_text.ion");
const AMAZON_BINARY: &[u8] = include_bytes!("../../ion/amazon_binary.10n");

#[test]
fn text_and_binary_of_amazons_library_are_read() {
    let expected: Vec<_> =
        sample_items().into_iter().filter(|item| item.keys().all(|name| name.len() < 100)).collect();
    for object in [AMAZON_TEXT, AMAZON_BINARY] {
        assert_eq!(items(records(&Format::Ion, object)), expected);
        let whole = shown(&records(&Format::Ion, object));
        for piece_bytes in [1, 2, 3, 5, 50, 500] {
            assert_eq!(shown(&in_pieces(&Format::Ion, object, piece_bytes)), whole, "{piece_bytes}");
        }
    }
}

#[test]
fn binary_that_is_cut_or_of_another_version_ends_the_object() {
    let whole = shown(&records(&Format::Ion, AMAZON_BINARY));
    for length in 1..AMAZON_BINARY.len() {
        let found = shown(&records(&Format::Ion, &AMAZON_BINARY[..length]));
        let (last, before) =
            found.split_last().map_or((None, &[][..]), |(last, before)| (Some(last), before));
        assert_eq!(before, &whole[..before.len()], "{length}");
        let is_whole = last.is_none() || last == whole.get(before.len());
        assert!(is_whole || last.unwrap().contains(": unreadable: "), "{length}: {last:?}");
    }
    let version = [&[0xe0, 1, 1, 0xea], &AMAZON_BINARY[4..]].concat();
    assert!(shown(&records(&Format::Ion, &version))[0].contains("it has a version other than Ion 1.0"));
    // A list at the top, and a string longer than a record.
    for (value, fault) in
        [(&[0xb1, 0x11][..], "a value is not a struct"), (&[0xde, 0x04, 0x00, 0x00, 0x81], "longer than")]
    {
        let found = shown(&records(&Format::Ion, &[AMAZON_BINARY, value].concat()));
        assert!(found.last().unwrap().contains(fault), "{:?}", found.last());
    }
}

#[test]
fn binary_with_values_that_no_item_has_is_passed() {
    let marker = [0xe0, 1, 0, 0xea];
    // {name: value}, where `name` is the system's symbol 4, within the member that is no Item.
    let record = |value: &[u8]| {
        let length = u8::try_from(value.len()).unwrap() + 1;
        [&[0xde, 0x80 | length, 0x84], value].concat()
    };
    let nested = (0..60).fold(vec![0x11], |inner, _| {
        [&[0xbe, 0x80 | u8::try_from(inner.len()).unwrap()], inner.as_slice()].concat()
    });
    for (value, message) in [
        (nested.as_slice(), "Nesting Levels have exceeded supported limits"),
        (&[0xc1, 0x11], "An attribute has the Ion type sexp"),
        (&[0x11], "The record has no member Item"),
    ] {
        let object = [&marker, record(value).as_slice(), &record(&[0x11])].concat();
        let found = shown(&records(&Format::Ion, &object));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with(&format!("0 at 4: invalid: {message}")), "{found:?}");
    }
}
