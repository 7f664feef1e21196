//! Lines of CSV.

use keywright_semantics::schema::KeyType;
use keywright_semantics::value::AttributeValue;
use keywright_wire::files::{COLUMNS_MAX, CsvOptions, Delimiter, Format, json_lines};

use super::{in_pieces, items, records, shown, written};

fn format(delimiter: &str, header: Option<&[&str]>) -> Format {
    let header = header.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    let key_types = [("pk", KeyType::S), ("n", KeyType::N), ("b", KeyType::B)];
    let key_types = key_types.map(|(name, key_type)| (name.to_owned(), key_type)).to_vec();
    Format::Csv(CsvOptions { delimiter: Delimiter::from_text(delimiter).unwrap(), header, key_types })
}

/// The items of lines that are all right, as JSON.
fn json(format: &Format, text: &str) -> String {
    String::from_utf8(written(json_lines::push_item, &items(records(format, text.as_bytes())))).unwrap()
}

#[test]
fn keys_have_their_types_and_all_else_is_a_string() {
    let text = "pk,n,note,b\r\n1,103,\"a, \"\"b\"\"\",dGVzdA==\r\n2,1e2,,\n";
    assert_eq!(
        json(&format(",", None), text),
        concat!(
            r#"{"Item":{"b":{"B":"dGVzdA=="},"n":{"N":"103"},"note":{"S":"a, \"b\""},"pk":{"S":"1"}}}"#,
            "\n",
            r#"{"Item":{"b":{"B":""},"n":{"N":"100"},"note":{"S":""},"pk":{"S":"2"}}}"#,
            "\n"
        )
    );
}

#[test]
fn every_delimiter_separates_fields() {
    for delimiter in [",", ";", ":", "|", "\t", " "] {
        let text = ["pk,a", "1,x", "2,\"y,z\""].map(|line| line.replace(',', delimiter)).join("\n");
        let read = items(records(&format(delimiter, None), text.as_bytes()));
        let values: Vec<_> = read.iter().map(|item| item["a"].clone()).collect();
        let quoted = AttributeValue::S(format!("y{delimiter}z"));
        assert_eq!(values, [AttributeValue::from("x"), quoted], "{delimiter:?}");
    }
    for other in ["", "x", ",,", "\n", "\"", "é"] {
        assert_eq!(Delimiter::from_text(other), None, "{other:?}");
    }
}

#[test]
fn a_header_of_the_request_makes_the_first_line_an_item() {
    let read = items(records(&format(",", Some(&["pk", "a"])), b"pk,a\n1,2\n"));
    assert_eq!(read.len(), 2);
    assert_eq!(read[0]["a"], AttributeValue::from("a"));
}

#[test]
fn quoted_fields_hold_delimiters_quotes_and_line_ends() {
    let text = "pk,a\r\n1,\"x\r\ny\"\"z\"\r\n\r\n\n2,\"\"\n3,5\" pipe \"a\"\n\"4\",\"\"\"\"";
    let read = items(records(&format(",", None), text.as_bytes()));
    let values: Vec<_> = read.iter().map(|item| item["a"].clone()).collect();
    assert_eq!(values, ["x\r\ny\"z", "", "5\" pipe \"a\"", "\""].map(AttributeValue::from));
    let whole = shown(&records(&format(",", None), text.as_bytes()));
    assert_eq!(whole[..2], ["0 at 6: [\"a\", \"pk\"]", "1 at 22: [\"a\", \"pk\"]"]);
    for piece_bytes in 1..text.len() {
        assert_eq!(shown(&in_pieces(&format(",", None), text.as_bytes(), piece_bytes)), whole);
    }
}

#[test]
fn an_invalid_line_is_passed() {
    let text = "pk,n,b\n1,x,\n2,,\n3\n4,1,,5\n5,1,?\n6,1,\n";
    assert_eq!(
        shown(&records(&format(",", None), text.as_bytes())),
        [
            "0 at 7: invalid: The parameter cannot be converted to a numeric value: x",
            "1 at 12: invalid: The parameter cannot be converted to a numeric value: ",
            "2 at 16: invalid: The line has 1 fields, and the header has 3 columns",
            "3 at 18: invalid: The line has 4 fields, and the header has 3 columns",
            "4 at 25: invalid: The field of the binary attribute b is not base64",
            "5 at 31: [\"b\", \"n\", \"pk\"]",
        ]
    );
}

#[test]
fn what_does_not_parse_ends_the_object() {
    for (line, fault) in [
        ("2,\"open\n3,x\n", "a quoted field is not closed"),
        ("2,\"a\"b\n", "something other than the delimiter follows a closing quote"),
    ] {
        let text = format!("pk,a\n1,x\n{line}4,x\n");
        let found = shown(&records(&format(",", None), text.as_bytes()));
        let message = "what follows it in this object was not read";
        assert_eq!(
            found[1..],
            [format!("1 at 9: unreadable: The line is not valid CSV: {fault}; {message}")]
        );
    }
    let found = shown(&records(&format(",", None), b"pk,a\n1,\xff\n2,x\n"));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("it is not UTF-8"), "{found:?}");
}

#[test]
fn a_header_has_up_to_255_columns_with_names_of_their_own() {
    let names = |count: usize| (0..count).map(|index| format!("c{index}")).collect::<Vec<_>>();
    let fault = |header: &str| {
        let found = shown(&records(&format(",", None), format!("{header}\n1,2\n").as_bytes()));
        assert_eq!(found.len(), 1);
        found[0].clone()
    };
    assert!(
        fault(&names(COLUMNS_MAX).join(","))
            .ends_with("invalid: The line has 2 fields, and the header has 255 columns")
    );
    assert!(
        fault(&names(COLUMNS_MAX + 1).join(",")).contains(
            "unreadable: The line is not valid CSV: the header has 256 columns, and at most 255 are"
        )
    );
    assert!(fault("a,b,a").contains("the header names the column a twice"));
    assert!(fault("a,b,").contains("the header has a column without a name"));
    let many = names(COLUMNS_MAX + 1);
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let found = shown(&records(&format(",", Some(&many)), b"1,2\n3,4\n"));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("256 columns"), "{found:?}");
    assert_eq!(shown(&records(&format(",", None), b"pk,a\n")), Vec::<String>::new());
    assert_eq!(shown(&records(&format(",", None), b"")), Vec::<String>::new());
}
