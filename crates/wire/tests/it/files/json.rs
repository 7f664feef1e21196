//! Lines of DynamoDB JSON.

use keywright_wire::files::{Format, RECORD_BYTES_MAX, json_lines};

use super::{items, records, sample_items, shown, written};

fn shown_lines(text: &str) -> Vec<String> {
    shown(&records(&Format::JsonLines, text.as_bytes()))
}

#[test]
fn items_of_every_type_read_back_equal() {
    let all = sample_items();
    assert_eq!(items(records(&Format::JsonLines, &written(json_lines::push_item, &all))), all);
}

#[test]
fn a_line_is_as_the_service_writes_it() {
    let object = r#"{"Item":{"n":{"N":"103"},"pk":{"S":"1"}}}"#.to_owned() + "\n";
    let read = items(records(&Format::JsonLines, object.as_bytes()));
    assert_eq!(String::from_utf8(written(json_lines::push_item, &read)).unwrap(), object);
}

#[test]
fn an_invalid_item_is_passed_and_what_does_not_parse_ends_the_object() {
    let text = concat!(
        "{\"Item\":{\"a\":{\"S\":\"1\"}}}\n",
        "\n",
        "{\"Item\":{\"a\":{\"N\":\"x\"}}}\r\n",
        "{\"Item\":{\"a\":{\"S\":5}}}\n",
        "{\"Thing\":1}\n",
        "[1]\n",
        "  \t\r\n",
        "{\"Item\":{\"b\":{\"S\":\"1\"}},\"Other\":1}\n",
        "garbage\n",
        "{\"Item\":{\"c\":{\"S\":\"1\"}}}\n",
    );
    assert_eq!(
        shown_lines(text),
        [
            "0 at 0: [\"a\"]",
            "1 at 26: invalid: The parameter cannot be converted to a numeric value: x",
            "2 at 52: invalid: NUMBER_VALUE cannot be converted to String",
            "3 at 75: invalid: The record has no member Item: each record is {\"Item\": {attributes}}",
            "4 at 87: invalid: The record is not an object: each record is {\"Item\": {attributes}}",
            "5 at 96: [\"b\"]",
            "6 at 131: unreadable: The line is not valid JSON; what follows it in this object was not read",
        ]
    );
}

#[test]
fn a_last_line_needs_no_end_and_a_byte_order_mark_is_passed() {
    assert_eq!(shown_lines("\u{feff}{\"Item\":{\"a\":{\"S\":\"1\"}}}"), ["0 at 3: [\"a\"]"]);
    assert_eq!(shown_lines(""), Vec::<String>::new());
    assert_eq!(shown_lines("\u{feff}"), Vec::<String>::new());
    assert_eq!(shown_lines("\n\n"), Vec::<String>::new());
}

#[test]
fn bytes_that_are_not_text_do_not_parse() {
    let found = shown(&records(&Format::JsonLines, b"{\"Item\":{\"a\":{\"S\":\"\xff\"}}}\n{\"Item\":{}}\n"));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("0 at 0: unreadable: "), "{found:?}");
}

#[test]
fn an_item_over_400_kb_is_invalid_of_few_large_attributes_and_of_many_small_ones() {
    let long_text = format!("{{\"Item\":{{\"a\":{{\"S\":\"{}\"}}}}}}\n", "x".repeat(409_600));
    let many_values = format!("{{\"Item\":{{\"a\":{{\"L\":[{}1]}}}}}}\n", "[],".repeat(1_300_000));
    for line in [long_text, many_values] {
        let found = shown_lines(&(line + "{\"Item\":{\"b\":{\"S\":\"1\"}}}\n"));
        assert_eq!(found[0], "0 at 0: invalid: Item size has exceeded the maximum allowed size");
        assert!(found[1].ends_with("[\"b\"]"), "{found:?}");
    }
    // The name, the list, and one byte of each element: no item has more values.
    let elements = 409_600 - 1 - 3;
    let line = |elements: usize| {
        let sets = r#"{"BS":[""]},"#.repeat(elements - 1);
        format!("{{\"Item\":{{\"a\":{{\"L\":[{sets}{{\"BS\":[\"\"]}}]}}}}}}\n")
    };
    assert_eq!(shown_lines(&line(elements)), ["0 at 0: [\"a\"]"]);
    assert!(shown_lines(&line(elements + 1))[0].contains("Item size has exceeded"));
}

#[test]
fn a_line_without_an_end_is_refused_before_it_is_held() {
    use keywright_wire::files::{Contents, Outcome, Records};
    let mut reader = Records::new(&Format::JsonLines, Contents::Items);
    reader.feed(b"{\"Item\":{}}\n");
    assert!(reader.next_record().is_some());
    let piece = vec![b' '; 1 << 20];
    let mut fed = 0;
    let last = loop {
        reader.feed(&piece);
        fed += piece.len();
        if let Some(record) = reader.next_record() {
            break record;
        }
        assert!(fed <= RECORD_BYTES_MAX, "a line that is too long is noticed");
    };
    assert!(matches!(&last.outcome, Outcome::Unreadable(text) if text.contains("longer than 8388608 bytes")));
    assert_eq!((last.position.index, last.position.offset_bytes), (1, 12));
    assert!(reader.is_stopped());
    reader.feed(b"\n{\"Item\":{}}\n");
    reader.finish();
    assert!(reader.next_record().is_none(), "nothing is read after it");
}
