//! Attribute values decoded and rendered again: they come back as they were sent, and faults are kept as
//! data.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::messages;
use keywright_semantics::request::parts::AttributeMapPart;
use keywright_semantics::response::{GetItemOutput, Response};
use keywright_semantics::value::ValueFault;
use keywright_wire::{Operation, Parts, decode_parts, render};

fn item_of(item: &str) -> AttributeMapPart {
    let body = format!("{{\"TableName\":\"abc\",\"Item\":{item}}}");
    match decode_parts(Operation::PutItem, body.as_bytes()) {
        Ok(Parts::PutItem(parts)) => parts.item,
        other => panic!("{item}: {other:?}"),
    }
}

/// The item after decoding, storing and rendering.
fn round_trip(item: &str) -> String {
    let attributes = item_of(item).into_iter().map(|(name, value)| (name, value.unwrap())).collect();
    let output = GetItemOutput { item: Some(EncodedItem::encode(&attributes)), consumed_capacity: None };
    let body = String::from_utf8(render(&Response::GetItem(output))).unwrap();
    body.strip_prefix("{\"Item\":").unwrap().strip_suffix('}').unwrap().to_owned()
}

#[test]
fn decimals_are_written_in_full() {
    for number in
        ["0.5", "-0.05", "129.95", "100.001", "0.000000000000000001", "-123.4", "1844674407370955.1615"]
    {
        let item = format!("{{\"n\":{{\"N\":\"{number}\"}}}}");
        assert_eq!(round_trip(&item), item);
    }
    for beyond in ["0.0000000000000000001", "18446744073709551.616"] {
        let item = format!("{{\"n\":{{\"N\":\"{beyond}\"}}}}");
        assert_eq!(round_trip(&item), item);
    }
}

#[test]
fn characters_are_escaped_at_every_place_of_a_text() {
    for length in 1..100 {
        for place in 0..length {
            for escaped in ["\\\"", "\\\\", "\\n", "\\u001f"] {
                let text = format!("{}{escaped}{}", "a".repeat(place), "\u{e9}".repeat(length - place - 1));
                let item = format!(r#"{{"a":{{"S":"{text}"}}}}"#);
                assert_eq!(round_trip(&item), item);
            }
        }
    }
}

#[test]
fn values_nest_32_levels_the_innermost_included() {
    let nested = |wraps: usize, open: &str, close: &str, innermost: &str| {
        format!(r#"{{"a":{}{innermost}{}}}"#, open.repeat(wraps), close.repeat(wraps))
    };
    for (open, close) in [(r#"{"L":["#, "]}"), (r#"{"M":{"m":"#, "}}")] {
        for innermost in [r#"{"S":"x"}"#, r#"{"L":[]}"#, r#"{"M":{}}"#, r#"{"NS":["1"]}"#] {
            let deepest = nested(31, open, close, innermost);
            assert_eq!(round_trip(&deepest), deepest);
            let fault = |wraps| item_of(&nested(wraps, open, close, innermost)).pop().unwrap().1.unwrap_err();
            assert!(
                matches!(fault(32), ValueFault::TooDeepByOne(value) if value.nesting_levels() == 33),
                "{innermost}"
            );
            assert_eq!(fault(33), ValueFault::TooDeep, "{innermost}");
            assert_eq!(fault(61), ValueFault::TooDeep, "{innermost}");
            assert_eq!(fault(63), ValueFault::TooDeepToRead, "{innermost}");
            assert_eq!(fault(300), ValueFault::TooDeepToRead, "{innermost}");
        }
    }
}

#[test]
fn integers_at_the_edges_of_64_bits_come_back_digit_by_digit() {
    for number in [
        "0",
        "-1",
        "100",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
    ] {
        let item = format!(r#"{{"a":{{"N":"{number}"}}}}"#);
        assert_eq!(round_trip(&item), item);
    }
}

#[test]
fn values_of_every_type_come_back_as_they_were_sent() {
    for item in [
        "{}",
        r#"{"a":{"S":"text"}}"#,
        r#"{"a":{"S":""}}"#,
        r#"{"a":{"S":"\"quoted\" \\ / \b\f\n\r\t\u0001 é ü 漢 🎈"}}"#,
        r#"{"a":{"N":"-1.5"}}"#,
        r#"{"a":{"N":"99999999999999999999999999999999999999"}}"#,
        r#"{"a":{"B":"AQID"}}"#,
        r#"{"a":{"B":""}}"#,
        r#"{"a":{"B":"/+8="}}"#,
        r#"{"a":{"BOOL":true},"b":{"BOOL":false},"c":{"NULL":true}}"#,
        r#"{"a":{"L":[]},"b":{"M":{}}}"#,
        r#"{"a":{"L":[{"S":"x"},{"L":[{"N":"1"}]},{"M":{"k":{"NULL":true}}}]}}"#,
        r#"{"a":{"SS":["a","b"]},"b":{"NS":["-1","2"]},"c":{"BS":["AA==","AQ=="]}}"#,
    ] {
        let expected = item.replace(r"\/", "/");
        assert_eq!(round_trip(item), expected);
    }
}

#[test]
fn escapes_are_read_and_written_minimally() {
    assert_eq!(round_trip(r#"{"\u0061":{"S":"\u0041\/\ud83c\udf88"}}"#), "{\"a\":{\"S\":\"A/🎈\"}}");
}

#[test]
fn numbers_are_normalised_and_sets_sorted() {
    assert_eq!(round_trip(r#"{"a":{"N":"1.50e1"}}"#), r#"{"a":{"N":"15"}}"#);
    assert_eq!(round_trip(r#"{"a":{"NS":["10","9"]}}"#), r#"{"a":{"NS":["9","10"]}}"#);
    assert_eq!(round_trip(r#"{"a":{"SS":["b","a"]}}"#), r#"{"a":{"SS":["a","b"]}}"#);
}

#[test]
fn a_repeated_name_keeps_its_last_value() {
    assert_eq!(
        round_trip(r#"{"a":{"S":"x"},"b":{"S":"y"},"a":{"N":"1"}}"#),
        r#"{"a":{"N":"1"},"b":{"S":"y"}}"#
    );
    let many: Vec<String> =
        (0..100).map(|index| format!("\"n{}\":{{\"N\":\"{index}\"}}", index % 50)).collect();
    let item = item_of(&format!("{{{}}}", many.join(",")));
    assert_eq!(item.len(), 50);
}

#[test]
fn faults_of_values_are_kept_with_the_value() {
    for (value, message) in [
        ("{}", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (
            r#"{"S":null}"#,
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"X":"y"}"#,
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"S":"a","BOOL":true}"#,
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"NULL":false}"#,
            "One or more parameter values were invalid: Null attribute value types must have the value of true",
        ),
        (r#"{"N":"abc"}"#, "The parameter cannot be converted to a numeric value: abc"),
        (r#"{"S":"a","N":"abc"}"#, "The parameter cannot be converted to a numeric value: abc"),
        (r#"{"L":[{"M":{"k":{"N":"x"}}}]}"#, "The parameter cannot be converted to a numeric value: x"),
        (r#"{"SS":[]}"#, "One or more parameter values were invalid: An string set  may not be empty"),
        (r#"{"BS":[]}"#, "One or more parameter values were invalid: Binary sets should not be empty"),
    ] {
        let item = item_of(&format!("{{\"a\":{value}}}"));
        let fault = item[0].1.as_ref().expect_err(value);
        assert_eq!(messages::value::fault(fault, messages::Wording::Legacy), message, "{value}");
    }
}

/// An item with a value inside that many nested lists.
fn tower(levels: usize) -> String {
    format!("{{\"a\":{}{{\"S\":\"x\"}}{}}}", "{\"L\":[".repeat(levels), "]}".repeat(levels))
}

#[test]
fn any_number_of_excess_levels_is_a_fault() {
    for levels in [32, 33, 45, 46, 47, 48, 49, 50, 51, 60, 500, 100_000] {
        assert!(item_of(&tower(levels))[0].1.is_err(), "{levels}");
    }
    let maps = format!("{{\"a\":{}{{\"S\":\"x\"}}{}}}", "{\"M\":{\"k\":".repeat(70_000), "}}".repeat(70_000));
    assert!(item_of(&maps)[0].1.is_err());
}

#[test]
fn deep_nesting_outside_of_values_is_an_error_and_not_a_crash() {
    for open in ["[", "{\"a\":"] {
        let close = if open == "[" { "]" } else { "}" };
        let tower = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        for body in [tower.clone(), format!("{{\"TableName\":{tower}}}"), format!("{{\"Item\":{tower}}}")] {
            assert!(decode_parts(Operation::PutItem, body.as_bytes()).is_err());
        }
        let ignored = format!("{{\"TableName\":\"abc\",\"Item\":{{}},\"Other\":{tower}}}");
        assert!(decode_parts(Operation::PutItem, ignored.as_bytes()).is_ok());
    }
}
