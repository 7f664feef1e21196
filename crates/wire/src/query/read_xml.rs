//! Responses of the query protocol as documents, for clients of it.
//!
//! It reads elements, texts and the five named references; what else XML has, IAM does not send.

use keywright_semantics::monitoring::document::Document;

/// Levels of elements; responses have at most ten.
const DEPTH_MAX: usize = 32;
const LIST: &str = "member";

/// An element that is open: its name, its text so far and its elements.
struct Open {
    name: String,
    text: String,
    inner: Vec<(String, Document)>,
}

impl Open {
    fn document(self) -> Document {
        match self.inner.first() {
            None => Document::Text(self.text),
            Some((name, _)) if name == LIST => {
                Document::List(self.inner.into_iter().map(|(_, element)| element).collect())
            }
            Some(_) => Document::Object(self.inner),
        }
    }
}

/// The root element of a text and its name; none if the text is not of the form.
pub(crate) fn read(text: &str) -> Option<(String, Document)> {
    let mut open: Vec<Open> = Vec::new();
    let mut rest = text.trim();
    loop {
        assert!(open.len() <= DEPTH_MAX, "deeper elements are refused");
        let (before, tag) = rest.split_once('<')?;
        if let Some(element) = open.last_mut() {
            element.text.push_str(&plain(before)?);
        }
        let (tag, after) = tag.split_once('>')?;
        assert!(after.len() < rest.len(), "each tag is read once");
        rest = after;
        if tag.starts_with(['?', '!']) {
            continue;
        }
        let closed = if let Some(name) = tag.strip_prefix('/') {
            open.pop().filter(|element| element.name == name.trim())?
        } else {
            let name = tag.trim_end_matches('/').split_whitespace().next()?.to_owned();
            let element = Open { name, text: String::new(), inner: Vec::new() };
            if !tag.ends_with('/') {
                if open.len() >= DEPTH_MAX {
                    return None;
                }
                open.push(element);
                continue;
            }
            element
        };
        assert!(!closed.name.is_empty(), "an element has a name");
        let name = closed.name.clone();
        match open.last_mut() {
            Some(outer) => outer.inner.push((name, closed.document())),
            None => return Some((name, closed.document())),
        }
    }
}

/// A text with its references resolved.
fn plain(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, reference)) = rest.split_once('&') {
        let (name, after) = reference.split_once(';')?;
        assert!(!before.contains('&'), "references are resolved in their order");
        out.push_str(before);
        out.push(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let digits = name.strip_prefix('#')?;
                let number = match digits.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                    None => digits.parse().ok()?,
                };
                char::from_u32(number)?
            }
        });
        rest = after;
    }
    out.push_str(rest);
    assert!(out.len() <= text.len(), "a reference is longer than what it stands for");
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let document = Document::object([
            ("Name", Document::text("a<b>&\"c\"\r\n")),
            ("List", Document::List(vec![Document::object([("Key", Document::text("k"))])])),
        ]);
        let written = super::super::xml::response("urn:x", "GetIt", Some(&document));
        let (name, read) = read(std::str::from_utf8(&written).unwrap()).unwrap();
        assert_eq!((name.as_str(), read.member("GetItResult")), ("GetItResponse", &document));
    }

    #[test]
    fn what_is_no_response_is_none() {
        for text in ["", "a", "<a>", "<a></b>", "<a>&b;</a>", "<>", "</a>", &"<a>".repeat(100)] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("<a b='c'/>"), Some(("a".to_owned(), Document::text(""))));
    }
}
