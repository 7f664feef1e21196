//! Forms as documents: `Dimensions.member.1.Name=…` is the name of the first element of a list.

use std::collections::BTreeMap;

use keywright_semantics::monitoring::document::Document;

/// Fields of one form. The largest request has some thousands.
const FIELDS_MAX: usize = 20_000;
/// Levels of a field's name; requests take at most ten.
const DEPTH_MAX: usize = 12;
const LIST: &str = "member";

#[derive(Default)]
struct Node {
    text: Option<String>,
    inner: BTreeMap<String, Node>,
}

/// Why a form is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormFault {
    /// It has too many fields, or too deep ones.
    TooLarge,
    /// It names no operation.
    NoAction,
}

/// The operation that a form names, and its parameters.
pub(crate) fn read(body: &[u8]) -> Result<(String, Document), FormFault> {
    let mut root = Node::default();
    for (place, (name, text)) in form_urlencoded::parse(body).enumerate() {
        if place >= FIELDS_MAX || name.split('.').count() > DEPTH_MAX {
            return Err(FormFault::TooLarge);
        }
        let mut node = &mut root;
        for part in name.split('.') {
            node = node.inner.entry(part.to_owned()).or_default();
        }
        node.text = Some(text.into_owned());
    }
    let action = root.inner.remove("Action").and_then(|node| node.text);
    Ok((action.ok_or(FormFault::NoAction)?, document(root)))
}

fn document(mut node: Node) -> Document {
    if let Some(text) = node.text {
        return Document::Form(text);
    }
    let Some(list) = node.inner.remove(LIST) else {
        return Document::Object(
            node.inner.into_iter().map(|(name, inner)| (name, document(inner))).collect(),
        );
    };
    let mut elements: Vec<(u32, Document)> = list
        .inner
        .into_iter()
        .filter_map(|(place, inner)| Some((place.parse().ok()?, document(inner))))
        .collect();
    elements.sort_by_key(|(place, _)| *place);
    Document::List(elements.into_iter().map(|(_, element)| element).collect())
}
