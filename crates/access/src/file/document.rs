//! Policy documents of files: the text that is sent, and the form by which two are compared.

use crate::document::Json;

/// A policy document. Two are equal if they differ in blanks and in the order of members alone.
#[derive(Clone, Debug)]
pub struct PolicyDocument {
    json: Json,
    sorted: Json,
}

impl PartialEq for PolicyDocument {
    fn eq(&self, other: &Self) -> bool {
        self.sorted == other.sorted
    }
}

impl Eq for PolicyDocument {}

impl PolicyDocument {
    pub(crate) fn new(json: Json) -> Self {
        Self { sorted: sorted(json.clone()), json }
    }

    /// The document of a text; none if it is not JSON.
    pub fn parse(text: &str) -> Option<Self> {
        Json::parse(text).map(Self::new)
    }

    /// Its text, without blanks.
    pub fn text(&self) -> String {
        super::write::compact(&self.json)
    }

    pub(super) const fn json(&self) -> &Json {
        &self.json
    }
}

fn sorted(json: Json) -> Json {
    match json {
        Json::Object(members) => {
            let mut members: Vec<_> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Json::Object(members)
        }
        Json::List(list) => Json::List(list.into_iter().map(sorted).collect()),
        other => other,
    }
}
