//! Items as lines of Ion text, as the service's exports have them: a version marker and a struct on each
//! line. Written straight from stored bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keywright_semantics::codec::{EncodedItem, ListRef, MapRef, StoredRef, ValueRef};

use super::{ANNOTATION_BS, ANNOTATION_NS, ANNOTATION_SS};
use crate::files::change::Change;

/// Appends a line of a full export, or of an import: `$ion_1_0 {Item:{…}}`.
pub fn push_item(out: &mut Vec<u8>, item: &EncodedItem) {
    out.extend_from_slice(b"$ion_1_0 {Item:");
    map(out, &item.view());
    out.extend_from_slice(b"}\n");
}

/// Appends a line of an incremental export. Its members are those of JSON; the service's own form was not
/// seen.
pub fn push_change(out: &mut Vec<u8>, change: &Change<'_>) {
    out.extend_from_slice(b"$ion_1_0 {Metadata:{WriteTimestampMicros:");
    decimal(out, &change.written_at_us.to_string());
    out.extend_from_slice(b"},Keys:");
    map(out, &change.keys.view());
    for (opening, image) in [(",OldImage:", change.old_image), (",NewImage:", change.new_image)] {
        if let Some(image) = image {
            out.extend_from_slice(opening.as_bytes());
            map(out, &image.view());
        }
    }
    out.extend_from_slice(b"}\n");
}

fn map(out: &mut Vec<u8>, members: &MapRef<'_>) {
    out.push(b'{');
    separated(out, members.members(), |out, (name, value)| {
        field_name(out, name.as_bytes());
        out.push(b':');
        stored(out, &value);
    });
    out.push(b'}');
}

fn list(out: &mut Vec<u8>, elements: &ListRef<'_>) {
    sequence(out, elements.iter_stored(), |out, value| stored(out, &value));
}

fn sequence<T>(out: &mut Vec<u8>, elements: impl Iterator<Item = T>, push: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    separated(out, elements, push);
    out.push(b']');
}

fn set<T>(
    out: &mut Vec<u8>,
    annotation: &str,
    members: impl Iterator<Item = T>,
    push: impl FnMut(&mut Vec<u8>, T),
) {
    out.extend_from_slice(annotation.as_bytes());
    out.extend_from_slice(b"::");
    sequence(out, members, push);
}

fn separated<T>(out: &mut Vec<u8>, elements: impl Iterator<Item = T>, mut push: impl FnMut(&mut Vec<u8>, T)) {
    for (place, element) in elements.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        push(out, element);
    }
}

fn stored(out: &mut Vec<u8>, value: &StoredRef<'_>) {
    match value {
        StoredRef::S(text) => string(out, text.as_bytes()),
        StoredRef::N(number) => {
            let mut text = Vec::new();
            number.push_text(&mut text);
            decimal(out, &String::from_utf8_lossy(&text));
        }
        StoredRef::Other(other) => decoded(out, other),
    }
}

fn decoded(out: &mut Vec<u8>, value: &ValueRef<'_>) {
    match value {
        ValueRef::S(text) => string(out, text.as_bytes()),
        ValueRef::N(number) => decimal(out, &number.to_string()),
        ValueRef::B(bytes) => blob(out, bytes),
        ValueRef::Bool(true) => out.extend_from_slice(b"true"),
        ValueRef::Bool(false) => out.extend_from_slice(b"false"),
        ValueRef::Null => out.extend_from_slice(b"null"),
        ValueRef::L(elements) => list(out, elements),
        ValueRef::M(members) => map(out, members),
        ValueRef::Ss(members) => {
            set(out, ANNOTATION_SS, members.iter(), |out, text| string(out, text.as_bytes()));
        }
        ValueRef::Ns(members) => {
            set(out, ANNOTATION_NS, members.iter(), |out, number| decimal(out, &number.to_string()));
        }
        ValueRef::Bs(members) => set(out, ANNOTATION_BS, members.iter(), blob),
    }
}

fn blob(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"{{");
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.extend_from_slice(b"}}");
}

/// A number from its plain decimal text. Trailing zeros of an integer and leading zeros of a fraction become
/// an exponent, as in what Ion's Java library writes for numbers without trailing zeros.
fn decimal(out: &mut Vec<u8>, text: &str) {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if unsigned.len() < text.len() {
        out.push(b'-');
    }
    let (coefficient, exponent) = match unsigned.split_once('.') {
        None if unsigned == "0" => ("0.".to_owned(), 0),
        None => {
            let digits = unsigned.trim_end_matches('0');
            match unsigned.len() - digits.len() {
                0 => (format!("{digits}."), 0),
                zeros => (digits.to_owned(), isize::try_from(zeros).unwrap_or(isize::MAX)),
            }
        }
        Some(("0", fraction)) => {
            let digits = fraction.trim_start_matches('0');
            let places = isize::try_from(fraction.len() - digits.len() + 1).unwrap_or(isize::MAX);
            let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
            let point = if rest.is_empty() { "" } else { "." };
            (format!("{first}{point}{rest}"), -places)
        }
        Some(_) => (unsigned.to_owned(), 0),
    };
    out.extend_from_slice(coefficient.as_bytes());
    if exponent != 0 {
        out.extend_from_slice(format!("d{exponent}").as_bytes());
    }
}

fn string(out: &mut Vec<u8>, text: &[u8]) {
    quoted(out, b'"', text);
}

/// The name of a field: an identifier as it is, any other text in quotes.
fn field_name(out: &mut Vec<u8>, name: &[u8]) {
    if is_identifier(name) { out.extend_from_slice(name) } else { quoted(out, b'\'', name) }
}

fn is_identifier(name: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    let Some((first, rest)) = name.split_first() else { return false };
    // `$10` is a symbol's number, and some readers take `$10a` for one too.
    let is_symbol_id = *first == b'$' && rest.first().is_some_and(u8::is_ascii_digit);
    is_letter(first)
        && rest.iter().all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && !is_symbol_id
        && !matches!(name, b"null" | b"true" | b"false" | b"nan")
}

/// A text in quotes. Only what must be escaped is.
fn quoted(out: &mut Vec<u8>, quote: u8, text: &[u8]) {
    out.push(quote);
    for byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 | 0x7f => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
            byte if *byte == quote => out.extend_from_slice(&[b'\\', quote]),
            byte => out.push(*byte),
        }
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use keywright_semantics::number::Number;
    use keywright_semantics::value::{AttributeValue, Item};

    use super::*;

    fn written(value: AttributeValue) -> String {
        let mut out = Vec::new();
        push_item(&mut out, &EncodedItem::encode(&Item::from([("a".to_owned(), value)])));
        let text = String::from_utf8(out).unwrap();
        text.strip_prefix("$ion_1_0 {Item:{a:").unwrap().strip_suffix("}}\n").unwrap().to_owned()
    }

    #[test]
    fn numbers_are_decimals_with_their_shortest_coefficient() {
        for (number, ion) in [
            ("0", "0."),
            ("1", "1."),
            ("-103", "-103."),
            ("600", "6d2"),
            ("-1200", "-12d2"),
            ("1.5", "1.5"),
            ("100.25", "100.25"),
            ("0.5", "5d-1"),
            ("-0.05", "-5d-2"),
            ("0.0125", "1.25d-2"),
            ("1E-130", "1d-130"),
            ("9.9999999999999999999999999999999999999E+125", "99999999999999999999999999999999999999d88"),
        ] {
            assert_eq!(written(AttributeValue::number(number).unwrap()), ion, "{number}");
            let set = AttributeValue::number_set(vec![Number::parse(number).unwrap()]).unwrap();
            assert_eq!(written(set), format!("$dynamodb_NS::[{ion}]"), "{number}");
        }
    }

    #[test]
    fn names_that_are_no_identifiers_are_quoted() {
        let name = |name: &str| {
            let mut out = Vec::new();
            field_name(&mut out, name.as_bytes());
            String::from_utf8(out).unwrap()
        };
        for plain in ["a", "_a1", "$", "$a1", "a$b", "nulls", "ITEM"] {
            assert_eq!(name(plain), plain);
        }
        for quoted in ["", "$1a", "1a", "a-b", "a b", "é", "null", "true", "false", "nan", "$10"] {
            assert_eq!(name(quoted), format!("'{quoted}'"));
        }
        assert_eq!(name("it's\n"), "'it\\'s\\n'");
    }

    #[test]
    fn strings_escape_what_ion_requires() {
        let text = AttributeValue::from("\"q\" 'a' \\ \n\r\t\u{0}\u{1f}\u{7f} é 🎈");
        assert_eq!(written(text), r#""\"q\" 'a' \\ \n\r\t\x00\x1f\x7f é 🎈""#);
    }
}
