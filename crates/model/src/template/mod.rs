//! Key templates: `c#{customerId}`, `{orderId:pad(10)}`, `views#{pageId|shard(20)}`.
//!
//! The one place that knows them: their syntax, which texts fit them (`matching`), whether two of them
//! produce the same texts or can produce a common one (`shape`, on the sets of texts in `texts`). `overlap`
//! adds what entities say of their values; `data` fills templates.

mod matching;
mod shape;
pub(crate) mod texts;
pub mod times;

pub use matching::Extent;
pub use shape::Shape;

use std::fmt;

/// The text of a key with places for attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Template {
    /// In the order of the text; never empty once parsed.
    pub parts: Vec<Part>,
}

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The same letters in every text.
    Literal(String),
    /// The attribute's value; a number is padded with zeros to `pad` digits if given.
    Attribute {
        /// The attribute.
        name: String,
        /// Digits, from 1 to 38; `None` for the value as it is.
        pad: Option<usize>,
    },
    /// A shard number from zero to `shards - 1`, computed from the attribute's value.
    Shard {
        /// The attribute, whose value the text does not show.
        name: String,
        /// From 1 to 10,000.
        shards: u32,
    },
}

/// The widest padding: the digits of the longest DynamoDB number.
const PAD_MAX: usize = 38;
/// More shards than a reader can reasonably gather.
const SHARDS_MAX: u32 = 10_000;

impl Template {
    /// Parses a template. The error is a sentence that says what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            if literal.contains('}') {
                return Err(stray(text));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let Some((inside, after)) = after.split_once('}') else {
                return Err(format!("`{text}`: `{{` has no `}}`; write `{{attribute}}`"));
            };
            parts.push(place(inside)?);
            rest = after;
        }
        if rest.contains('}') {
            return Err(stray(text));
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        if parts.is_empty() {
            return Err("a template must not be empty: DynamoDB takes no empty keys".to_owned());
        }
        Ok(Self { parts })
    }

    /// Parses the form of other tools, `c#${customerId}`. `None` if the text names no variable.
    pub fn parse_alias(text: &str) -> Option<Result<Self, String>> {
        text.contains("${").then(|| Self::parse(&text.replace("${", "{")))
    }

    /// The form of other tools: `c#${customerId}`.
    pub fn to_alias(&self) -> String {
        let form = |part: &Part| match part {
            Part::Literal(text) => text.clone(),
            place => format!("${place}"),
        };
        self.parts.iter().map(form).collect()
    }

    /// The template of a key attribute that has the value of one attribute.
    pub fn of_attribute(name: &str) -> Self {
        Self { parts: vec![Part::Attribute { name: name.to_owned(), pad: None }] }
    }

    /// The attributes that the template needs, in order, including those of shards.
    pub fn attributes(&self) -> impl Iterator<Item = &str> + Clone {
        self.parts.iter().filter_map(Part::attribute)
    }

    /// The attributes whose values can be read from its text. A shard number does not reveal its attribute.
    pub fn tells(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(Part::readable)
    }

    /// The single attribute that makes up the whole template, if it is one.
    pub fn whole(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Attribute { name, pad: None }] => Some(name),
            _ => None,
        }
    }

    /// The text before the first attribute.
    pub fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// The number of shards; one without sharding.
    pub fn shards(&self) -> u32 {
        self.parts.iter().fold(1, |shards, part| match part {
            Part::Shard { shards: more, .. } => shards.saturating_mul(*more),
            _ => shards,
        })
    }

    /// The number of literal bytes: of two templates that fit a text, the one with more is the more specific.
    pub fn literal_bytes(&self) -> usize {
        let bytes = self.parts.iter().map(|part| match part {
            Part::Literal(text) => text.len(),
            Part::Attribute { .. } | Part::Shard { .. } => 0,
        });
        bytes.sum()
    }

    /// Whether the text is the same for every item.
    pub fn is_constant(&self) -> bool {
        self.attributes().next().is_none()
    }
}

impl Part {
    /// The attribute that fills the place; `None` for a literal.
    pub fn attribute(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Attribute { name, .. } | Self::Shard { name, .. } => Some(name),
        }
    }

    /// The attribute whose value can be read back from a key. A shard number does not reveal its attribute.
    pub fn readable(&self) -> Option<&str> {
        match self {
            Self::Attribute { name, .. } => Some(name),
            Self::Literal(_) | Self::Shard { .. } => None,
        }
    }
}

fn stray(text: &str) -> String {
    format!("`{text}`: `}}` has no `{{` before it; write `{{attribute}}`")
}

fn place(inside: &str) -> Result<Part, String> {
    let help = "write `{attribute}`, `{attribute:pad(10)}` or `{attribute|shard(20)}`";
    let bad = || format!("`{{{inside}}}` is no part of a template: {help}");
    let argument = |call: &str, function: &str| -> Option<u32> {
        call.strip_prefix(function)?.strip_prefix('(')?.strip_suffix(')')?.trim().parse().ok()
    };
    let part = if let Some((name, call)) = inside.split_once(':') {
        let pad = argument(call.trim(), "pad").and_then(|pad| usize::try_from(pad).ok());
        match pad {
            Some(pad) if (1..=PAD_MAX).contains(&pad) => {
                Part::Attribute { name: name.trim().to_owned(), pad: Some(pad) }
            }
            Some(_) => return Err(format!("`{{{inside}}}`: pad to 1 … {PAD_MAX} digits")),
            None => return Err(bad()),
        }
    } else if let Some((name, call)) = inside.split_once('|') {
        match argument(call.trim(), "shard") {
            Some(shards) if (1..=SHARDS_MAX).contains(&shards) => {
                Part::Shard { name: name.trim().to_owned(), shards }
            }
            Some(_) => return Err(format!("`{{{inside}}}`: from 1 to {SHARDS_MAX} shards")),
            None => return Err(bad()),
        }
    } else {
        Part::Attribute { name: inside.trim().to_owned(), pad: None }
    };
    match part.attribute() {
        Some("") | None => Err(bad()),
        Some(_) => Ok(part),
    }
}

impl fmt::Display for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| part.fmt(formatter))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => formatter.write_str(text),
            Self::Attribute { name, pad: None } => write!(formatter, "{{{name}}}"),
            Self::Attribute { name, pad: Some(pad) } => write!(formatter, "{{{name}:pad({pad})}}"),
            Self::Shard { name, shards } => write!(formatter, "{{{name}|shard({shards})}}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_print_as_they_were_read() {
        for text in ["c#{customerId}", "{n:pad(10)}#x", "v#{pageId|shard(20)}#{day}", "PROFILE"] {
            let template = Template::parse(text).expect(text);
            assert_eq!(template.to_string(), text);
            let alias = template.to_alias();
            assert_eq!(
                Template::parse_alias(&alias),
                (!template.is_constant()).then_some(Ok(template)),
                "{alias}"
            );
        }
    }

    #[test]
    fn faults_say_what_to_write() {
        for (text, part) in [
            ("c#{customerId", "has no `}`"),
            ("c}", "has no `{`"),
            ("{a:pd(1)}", "write `{attribute}`"),
            ("{a:pad(99)}", "pad to 1 … 38"),
            ("{}", "write `{attribute}`"),
            ("", "must not be empty"),
        ] {
            let fault = Template::parse(text).expect_err(text);
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
