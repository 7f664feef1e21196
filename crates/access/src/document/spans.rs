//! Where in a document's text its statements stand.
//!
//! It reads texts that are documents already, and of others says nothing of use.

/// The places of the first and behind the last byte of each statement, in their order.
pub fn statement_spans(text: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let (mut open, mut is_statement, mut start) = (Vec::new(), false, 0);
    let mut bytes = text.bytes().enumerate();
    while let Some((place, byte)) = bytes.next() {
        match byte {
            b'"' => {
                let mut end = place + 1;
                while let Some((at, inner)) = bytes.next() {
                    end = at;
                    match inner {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
                if open == [b'{'] && text.get(place + 1..end) == Some("Statement") {
                    is_statement = true;
                }
            }
            b'{' | b'[' => {
                open.push(byte);
                if is_statement && byte == b'{' && is_depth_of_statement(&open) {
                    start = place;
                }
            }
            b'}' | b']' => {
                if is_statement && byte == b'}' && is_depth_of_statement(&open) {
                    spans.push((start, place + 1));
                }
                open.pop();
            }
            b',' if open == [b'{'] => is_statement = false,
            _ => {}
        }
    }
    spans
}

/// Whether what is open is a member of the document, or an element of one.
fn is_depth_of_statement(open: &[u8]) -> bool {
    matches!(open, [b'{', b'{'] | [b'{', b'[', b'{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stand_where_their_braces_are() {
        let of = |text: &str| {
            let spans = statement_spans(text).into_iter();
            spans.map(|(start, end)| text[start..end].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(r#"{"Version": "x", "Statement": {"a": {"b": "}"}}}"#), [r#"{"a": {"b": "}"}}"#]);
        assert_eq!(of(r#"{"Statement": [{"a": [{"b": 1}]}, {"c": "\"{"}], "Id": {}}"#).len(), 2);
        for text in ["", "{", "\"", "]}", "{\"Statement\":{", "\"\\"] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }
}
