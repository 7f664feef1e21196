//! Writes the generated files: the shape table, the parts of requests, and how parts are made from JSON.
//!
//! It knows Rust's syntax and our names for the model's shapes; what is in the model is `model`'s business.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::model::{Model, Presence, Shape};
use super::overlay::Extras;

/// The one shape that is decoded by hand: it is recursive and its faults are data.
const ATTRIBUTE_VALUE: &str = "AttributeValue";

/// Structures whose own name would say too little: the actions of a transaction.
const TRANSACTION_ACTIONS: &[&str] = &["ConditionCheck", "Delete", "Get", "Put", "Update"];

/// Operations whose usual requests are decoded in one pass over their bytes.
const SHORT: &[&str] = &[
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
];

/// The shapes that the inputs of some operations are made of.
pub(super) struct Reached<'a> {
    model: &'a Model,
    /// Operation and input shape, of the operations that are decoded.
    inputs: Vec<(&'a str, &'a str)>,
    shapes: BTreeMap<&'a str, &'a Shape>,
}

impl<'a> Reached<'a> {
    pub(super) fn from(model: &'a Model, served: &BTreeSet<String>) -> Result<Self, String> {
        let inputs: Vec<(&str, &str)> = model
            .inputs
            .iter()
            .filter(|(operation, _)| served.contains(operation))
            .map(|(operation, input)| (operation.as_str(), input.as_str()))
            .collect();
        let mut reached = Self { model, inputs, shapes: BTreeMap::new() };
        for index in 0..reached.inputs.len() {
            let Some((_, input)) = reached.inputs.get(index).copied() else { break };
            reached.visit(input)?;
        }
        Ok(reached)
    }

    fn visit(&mut self, name: &str) -> Result<(), String> {
        let Some((name, shape)) = self.model.shapes.get_key_value(name) else {
            return Err(format!("the model has no shape {name}"));
        };
        if self.shapes.insert(name, shape).is_some() || name == ATTRIBUTE_VALUE {
            return Ok(());
        }
        for member in &shape.members {
            self.visit(&member.shape)?;
        }
        for inner in shape.element.iter().chain(&shape.key) {
            self.visit(inner)?;
        }
        Ok(())
    }

    fn shape(&self, name: &str) -> Result<&'a Shape, String> {
        self.shapes.get(name).copied().ok_or_else(|| format!("shape {name} was not reached"))
    }

    /// The structures in requests that have the short way.
    fn short(&self) -> Result<BTreeSet<&'a str>, String> {
        let inputs = self.inputs.iter().filter(|(operation, _)| SHORT.contains(operation));
        let mut open: Vec<&str> = inputs.map(|(_, input)| *input).collect();
        let mut found = BTreeSet::new();
        while let Some(name) = open.pop() {
            let shape = self.shape(name)?;
            if found.insert(name) && name != ATTRIBUTE_VALUE {
                open.extend(shape.members.iter().map(|member| member.shape.as_str()));
                open.extend(shape.element.as_deref());
            }
        }
        Ok(found)
    }

    fn structures(&self) -> Vec<(String, &'a str, &'a Shape)> {
        let mut found: Vec<(String, &str, &Shape)> = self
            .shapes
            .iter()
            .filter(|(name, shape)| shape.kind == "structure" && **name != ATTRIBUTE_VALUE)
            .map(|(name, shape)| (self.parts_name(name), *name, *shape))
            .collect();
        found.sort_by(|left, right| left.0.cmp(&right.0));
        found
    }

    fn enums(&self) -> impl Iterator<Item = (&'a str, &'a Shape)> {
        self.shapes
            .iter()
            .filter(|(_, shape)| shape.kind == "string" && !shape.values.is_empty())
            .map(|(name, shape)| (*name, *shape))
    }

    fn parts_name(&self, shape: &str) -> String {
        let input = self.inputs.iter().find(|(_, input)| *input == shape);
        let name = match input {
            Some((operation, _)) => type_name(operation),
            None if TRANSACTION_ACTIONS.contains(&shape) => format!("Transact{shape}"),
            None => type_name(shape),
        };
        format!("{name}Parts")
    }

    /// The Rust type of a value of that shape.
    fn rust_type(&self, name: &str) -> Result<String, String> {
        if name == ATTRIBUTE_VALUE {
            return Ok("ValuePart".to_owned());
        }
        let shape = self.shape(name)?;
        let element = || shape.element.as_deref().ok_or_else(|| format!("{name} has no element"));
        Ok(match shape.kind.as_str() {
            "structure" => self.parts_name(name),
            "string" if !shape.values.is_empty() => type_name(name),
            "string" => "String".to_owned(),
            "integer" | "long" | "timestamp" => "i64".to_owned(),
            "double" => "f64".to_owned(),
            "boolean" => "bool".to_owned(),
            "list" => format!("Vec<{}>", self.rust_type(element()?)?),
            "map" if shape.spelling_kept => "KeyPart".to_owned(),
            "map" if element()? == ATTRIBUTE_VALUE => "AttributeMapPart".to_owned(),
            "map" => format!("Vec<(String, {})>", self.rust_type(element()?)?),
            kind => return Err(format!("{name}: no type for {kind}")),
        })
    }

    /// The bounds of a member's value as the end of a sentence; empty if the Rust type says all.
    fn member_bounds(&self, structure: &Shape, member: &str) -> Result<String, String> {
        let found = structure.members.iter().find(|other| other.name == member);
        let Some(member) = found.filter(|member| member.shape != ATTRIBUTE_VALUE) else {
            return Ok(String::new());
        };
        let shape = self.shape(&member.shape)?;
        let unit = match shape.kind.as_str() {
            "string" if shape.values.is_empty() => " characters",
            "integer" | "long" => "",
            "timestamp" => return Ok(", in milliseconds since 1970".to_owned()),
            "list" => " elements",
            "map" => " entries",
            _ => return Ok(String::new()),
        };
        Ok(match (shape.min.filter(|min| *min > 0), shape.max) {
            (None, None) => String::new(),
            (Some(min), None) => format!(", {min} or more{unit}"),
            (None, Some(max)) => format!(", at most {max}{unit}"),
            (Some(min), Some(max)) => format!(", {min} to {max}{unit}"),
        })
    }

    /// The members in the public model's own order, whatever the order of checks is.
    fn members(&self, name: &str, shape: &'a Shape) -> Result<Vec<(String, &'a str, String)>, String> {
        let original = self.model.original_order(name);
        let mut members: Vec<_> = shape.members.iter().collect();
        members.sort_by_key(|member| original.iter().position(|other| *other == member.name));
        let mut found = Vec::new();
        for member in members {
            let plain = self.rust_type(&member.shape)?;
            let optional = self.model.originally_optional(name, &member.name);
            let kind = if optional { format!("Option<{plain}>") } else { plain };
            found.push((raw_field_name(&member.name), member.name.as_str(), kind));
        }
        Ok(found)
    }
}

/// `crates/semantics/src/request/parts.rs`.
pub(super) fn parts(reached: &Reached<'_>) -> Result<String, String> {
    let mut out = String::from(PARTS_HEADER);
    for (name, _) in reached.enums() {
        let rust = type_name(name);
        let mut values = String::new();
        let mut list = String::new();
        let mut names = String::new();
        for value in reached.model.original_values(name).unwrap_or_default() {
            let variant = variant_name(value);
            let _ = write!(values, "\n/// `{value}` on the wire.\n{variant},");
            let _ = write!(list, "Self::{variant},");
            let _ = write!(names, "Self::{variant} => \"{value}\",");
        }
        let _ = write!(
            out,
            "\n/// `{name}` of the service model.\n\
             #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum {rust} {{ {values} }}\n\n\
             impl {rust} {{\n/// All values, in the service model's order.\n\
             pub const ALL: &'static [Self] = &[{list}];\n\n\
             /// The name on the wire.\npub const fn name(self) -> &'static str {{ match self {{ {names} }} }}\n\n\
             /// The value of that name, if there is one.\n\
             pub fn from_name(name: &str) -> Option<Self> {{\n\
             Self::ALL.iter().copied().find(|value| value.name() == name)\n}}\n}}\n"
        );
    }
    for (rust, name, shape) in reached.structures() {
        let mut fields = String::new();
        let mut default = ", Default";
        for (field, wire, kind) in reached.members(name, shape)? {
            if !has_default(&kind) {
                default = "";
            }
            let bounds = reached.member_bounds(shape, wire)?;
            let _ = write!(fields, "\n/// Member `{wire}`{bounds}.\npub {field}: {kind},");
        }
        let _ = write!(
            out,
            "\n/// `{name}` of the service model.\n#[derive(Clone, Debug{default}, PartialEq)]\n\
             pub struct {rust} {{ {fields} }}\n"
        );
    }
    Ok(out)
}

/// Whether a member of this kind has an empty value, so that a program writes only the members it means.
fn has_default(kind: &str) -> bool {
    kind.starts_with("Option<") || kind.starts_with("Vec<") || ["String", "AttributeMapPart"].contains(&kind)
}

/// `crates/wire/src/decode/parts.rs`.
pub(super) fn decoders(reached: &Reached<'_>) -> Result<String, String> {
    let names: Vec<String> = reached.enums().map(|(name, _)| type_name(name)).collect();
    let structures: Vec<String> = reached.structures().into_iter().map(|(rust, _, _)| rust).collect();
    let mut out = DECODERS_HEADER.replace("NAMES", &[names, structures].concat().join(","));
    out.push_str("\nchoices! {");
    for (name, _) in reached.enums() {
        let _ = write!(out, "\n    {},", type_name(name));
    }
    out.push_str("\n}\n\nstructures! {");
    let short = reached.short()?;
    for (rust, name, shape) in reached.structures() {
        let shown = if short.contains(name) { format!(": {}", constant_name(name)) } else { String::new() };
        let _ = write!(out, "\n    {rust}{shown} {{");
        for (field, wire, _) in reached.members(name, shape)? {
            let _ = write!(out, "\n        {field}: \"{wire}\",");
        }
        out.push_str("\n    }");
    }
    out.push_str("\n}\n");
    Ok(out)
}

/// `crates/wire/src/shapes/table.rs`.
pub(super) fn table(reached: &Reached<'_>, extras: &Extras, version: &str) -> Result<String, String> {
    let constraint = if extras.unechoed.is_empty() { "" } else { "Constraint, " };
    let mut out = TABLE_HEADER.replace("VERSION", version).replace("CONSTRAINT", constraint);
    out.push_str("\n/// The input of each operation that is decoded.\n");
    out.push_str(
        "#[allow(clippy::match_same_arms, reason = \"some operations have one input shape\")]\n\
         #[allow(clippy::match_wildcard_for_single_variants, reason = \"one or more are not decoded\")]\n\
         pub(crate) fn input(operation: Operation) -> Option<Input> {\n    let input = match operation {\n",
    );
    for (operation, input) in &reached.inputs {
        let words: Vec<&str> = extras
            .unechoed
            .iter()
            .filter(|wording| wording.operation == *operation)
            .map(|wording| wording.kind.as_str())
            .collect();
        let unechoed: Vec<String> =
            words.iter().map(|kind| format!(".unechoed(Constraint::{})", variant_name(kind))).collect();
        let unechoed = unechoed.concat();
        let _ = writeln!(out, "Operation::{operation} => Input::of(&{}){unechoed},", constant_name(input));
    }
    out.push_str("        _ => return None,\n    };\n    Some(input)\n}\n");
    for (name, shape) in &reached.shapes {
        let _ = writeln!(
            out,
            "\npub(crate) static {}: Shape = {};",
            constant_name(name),
            table_shape(name, shape, extras)?
        );
    }
    Ok(out)
}

fn table_shape(name: &str, shape: &Shape, extras: &Extras) -> Result<String, String> {
    if name == ATTRIBUTE_VALUE {
        return Ok("Shape::attribute_value()".to_owned());
    }
    let element = shape.element.as_deref().map(constant_name).unwrap_or_default();
    let mut row = match shape.kind.as_str() {
        "structure" => {
            let members: Vec<String> = shape
                .members
                .iter()
                .map(|member| {
                    format!(
                        "Member::{}(\"{}\", &{}),",
                        presence_name(member.presence),
                        member.name,
                        constant_name(&member.shape)
                    )
                })
                .collect();
            return Ok(format!("Shape::structure(\"{name}\", &[{}])", members.concat()));
        }
        "list" => format!("Shape::list(&{element})"),
        "map" => {
            let key = shape.key.as_deref().map(constant_name).unwrap_or_default();
            format!("Shape::map(&{key}, &{element})")
        }
        "string" if extras.unchecked_enums.iter().any(|other| other == name) => "Shape::text()".to_owned(),
        "string" if !shape.values.is_empty() => {
            let values: Vec<String> = shape.values.iter().map(|value| format!("\"{value}\"")).collect();
            return Ok(format!("Shape::choice(&[{}])", values.join(", ")));
        }
        "string" => "Shape::text()".to_owned(),
        "integer" => "Shape::integer()".to_owned(),
        "long" => "Shape::long()".to_owned(),
        "double" => "Shape::double()".to_owned(),
        "boolean" => "Shape::boolean()".to_owned(),
        "timestamp" => "Shape::timestamp()".to_owned(),
        kind => return Err(format!("{name}: no row for {kind}")),
    };
    if let Some(min) = shape.min {
        let _ = write!(row, ".min({})", separated(min));
    }
    if let Some(max) = shape.max {
        let _ = write!(row, ".max({})", separated(max));
    }
    if shape.arn_passes {
        row.push_str(".arn_passes()");
    }
    match shape.pattern.as_deref() {
        None => {}
        Some("[a-zA-Z0-9_.-]+") => row.push_str(".pattern(Pattern::Name)"),
        Some("empty-or-[a-zA-Z0-9_.-]+") => row.push_str(".pattern(Pattern::NameOrEmpty)"),
        Some("[0-9]{12}") => row.push_str(".pattern(Pattern::Account)"),
        Some(r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$") => row.push_str(".pattern(Pattern::Bucket)"),
        Some(r"^[^\$]+$") => row.push_str(".pattern(Pattern::ClientToken)"),
        Some(r"\p{Print}+") => row.push_str(".pattern(Pattern::Printed)"),
        Some(r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*") => {
            row.push_str(".pattern(Pattern::Xml)");
        }
        Some(r"[,;:|\t ]") => row.push_str(".pattern(Pattern::Delimiter)"),
        Some(r"[\x20-\x21\x23-\x2B\x2D-\x7E]*") => row.push_str(".pattern(Pattern::Header)"),
        Some("([0-9a-f]{16})+") => row.push_str(".pattern(Pattern::PageToken)"),
        Some(other) => return Err(format!("{name}: crates/wire/src/shapes has no pattern {other}")),
    }
    Ok(row)
}

/// A number as Rust's style writes it: `1_000_000`.
fn separated(number: i64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len() > 4 && (digits.len() - index) % 3 == 0 {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

const fn presence_name(presence: Presence) -> &'static str {
    match presence {
        Presence::Optional => "optional",
        Presence::Required => "required",
        Presence::RequiredFirst => "required_first",
    }
}

/// The words of a model name: `SSESpecification` is `SSE` and `Specification`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut after_lower = true;
    for (index, letter) in letters.iter().enumerate() {
        let before_lower = letters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        let starts = letter.is_ascii_uppercase() && (after_lower || before_lower);
        match words.last_mut() {
            Some(word) if !starts => word.push(*letter),
            _ => words.push(letter.to_string()),
        }
        after_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    words
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters.map(|letter| letter.to_ascii_lowercase())).collect()
}

fn type_name(name: &str) -> String {
    words(name).iter().map(|word| capitalised(word)).collect()
}

fn field_name(name: &str) -> String {
    words(name).iter().map(|word| word.to_ascii_lowercase()).collect::<Vec<_>>().join("_")
}

/// A field's name where it is also a word of the language.
fn raw_field_name(name: &str) -> String {
    match field_name(name) {
        name if name == "type" => format!("r#{name}"),
        name => name,
    }
}

fn constant_name(name: &str) -> String {
    field_name(name).to_ascii_uppercase()
}

fn variant_name(value: &str) -> String {
    value.split('_').map(capitalised).collect()
}

const PARTS_HEADER: &str = "\
//! The parts of each request: what a client wrote, with its shape checked and nothing validated.
//!
//! One struct for each structure of the public service model, with the members in the model's order. A member
//! that the model requires is plain, any other is an `Option`; times are milliseconds since 1970. The
//! documentation of a member is its name on the wire and the bounds that the shape check enforces; the API
//! reference says what it means.
//!
//! The `validate` constructors in the sibling modules turn parts into typed requests. This file knows neither
//! JSON nor tables. It is generated by `cargo xtask shapes`.

use super::key_part::KeyPart;
use crate::value::{AttributeValue, ValueFault};

/// One attribute value as the client wrote it, or its first fault. The order of checks of an operation
/// decides whether that fault is reported, so the fault travels with the value.
pub type ValuePart = Result<AttributeValue, ValueFault>;

/// A map from attribute name or placeholder to value, in the client's order. A repeated name keeps its last
/// value.
pub type AttributeMapPart = Vec<(String, ValuePart)>;
";

const DECODERS_HEADER: &str = "\
//! Which JSON member each field of each part comes from. Generated by `cargo xtask shapes`; do not edit.

use keywright_semantics::error::Error;
use keywright_semantics::request::parts::{
NAMES
};

use super::build::{FromNode, Members, choice, choices, long_structure, structures};
use super::short::{self, ReadShort, Reader, filled, short_structure};
use crate::json::Node;
use crate::shapes::{Shape, table};
";

const TABLE_HEADER: &str = "\
//! The shape of each operation's input: the public service model as botocore VERSION ships it, changed as
//! `overlay.txt` says. Generated by `cargo xtask shapes`; do not edit.

use super::{CONSTRAINTInput, Member, Pattern, Shape};
use crate::operation::Operation;
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_rust_even_where_the_model_shouts() {
        assert_eq!(type_name("SSESpecification"), "SseSpecification");
        assert_eq!(field_name("KMSMasterKeyId"), "kms_master_key_id");
        assert_eq!(field_name("SSEType"), "sse_type");
        assert_eq!(field_name("GlobalTableSourceArn"), "global_table_source_arn");
        assert_eq!(constant_name("BatchGetRequestMap"), "BATCH_GET_REQUEST_MAP");
        assert_eq!(variant_name("PAY_PER_REQUEST"), "PayPerRequest");
        assert_eq!(variant_name("AES256"), "Aes256");
    }
}
