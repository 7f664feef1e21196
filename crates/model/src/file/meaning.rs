//! The fields that each kind of pattern or step can have. A field without a meaning for its kind is a fault:
//! ignoring it would leave its author with a wrong belief.

use super::read::{Fields, Reader};
use super::read_pattern::{PATTERN_FIELDS, STEP_FIELDS};

/// Fields that every pattern can have.
const COMMON: &[&str] = &["id", "text", "rate", "example", "expect", "admin"];

/// The additional fields of a kind of pattern, without the field that names the kind.
fn of_pattern(kind: &str) -> &'static [&'static str] {
    match kind {
        "get" => &["after", "given", "attributes", "consistency", "uses"],
        "query" | "scatter-gather" => {
            &["after", "given", "order", "filter", "attributes", "returns", "limit", "consistency", "uses"]
        }
        "scan" => &["after", "given", "filter", "attributes", "returns", "limit", "consistency", "uses"],
        "put" | "delete" => &["if", "returnValues"],
        "update" => &["if", "set", "remove", "add", "deleteFrom", "returnValues"],
        "batch" => &["consistency"],
        _ => &[],
    }
}

/// The fields of a kind of step in a transaction or batch.
fn of_step(group: &str, kind: &str) -> Option<&'static [&'static str]> {
    Some(match (group, kind) {
        ("transact", "put") => &["put", "n", "if", "example"],
        ("transact", "update") => &["update", "n", "if", "set", "remove", "add", "deleteFrom", "example"],
        ("transact", "delete") => &["delete", "n", "if", "example"],
        ("transact", "check") => &["check", "n", "if", "example"],
        ("transact" | "batch", "get") => &["get", "n", "example"],
        ("batch", "put") => &["put", "n", "example"],
        ("batch", "delete") => &["delete", "n", "example"],
        _ => return None,
    })
}

/// What to do about a field that has no meaning for a kind.
fn instead(kind: &str, field: &str) -> &'static str {
    let reads = matches!(kind, "get" | "query" | "scan" | "scatter-gather");
    match (field, kind) {
        ("consistency", "transact") => "transactions always read committed data: leave it out",
        ("consistency", _) => "a write is always consistent: leave it out",
        ("filter", "get") => "a GetItem has no filter: write `query`",
        ("filter", _) => "a condition of a write is `if`",
        ("order", "scan") => "a Scan has no order: write `query`, or leave it out",
        ("order" | "limit" | "returns", "get") => "a get returns one item: leave it out, or write `query`",
        ("after", _) => "only a read sees earlier writes: leave it out",
        ("uses", _) => "a write goes to the table, and its indexes follow: leave it out",
        ("given", _) => "`example` names the item",
        ("attributes", _) => "only `get`, `query`, `scan` and `scatter-gather` have it: leave it out",
        ("order" | "limit" | "returns", _) => "only `query`, `scan` and `scatter-gather` have it",
        ("if", _) if reads => "a read has no condition: write `filter`",
        ("if", "batch") => "a batch has no conditions: write `transact`, or a single write",
        ("if" | "set" | "remove" | "add" | "deleteFrom", "transact") => {
            "write it in the step that it belongs to"
        }
        ("set" | "remove" | "add" | "deleteFrom", _) => "only an update has it: write `update`",
        ("returnValues", "transact" | "batch") => SINGLE_WRITES_RETURN,
        ("returnValues", _) => "a read returns its items anyway: leave it out",
        _ => "leave it out",
    }
}

const SINGLE_WRITES_RETURN: &str =
    "the service returns values of single writes only: write it there, or leave it out";

/// What to do about such a field of a step.
fn instead_in_step(kind: &str, field: &str) -> &'static str {
    match field {
        "if" if kind == "get" => "a get has no condition: leave it out",
        "if" => "a batch has no conditions: write `transact`, or a single write",
        "set" | "remove" | "add" | "deleteFrom" => "only an update has it: write `update`",
        "returnValues" => SINGLE_WRITES_RETURN,
        _ => "leave it out",
    }
}

/// Refuses fields of a pattern that have no meaning for its kind.
pub(super) fn check_pattern(reader: &mut Reader, fields: &Fields<'_>, kind: &str) {
    let own = of_pattern(kind);
    for (field, at) in fields.names() {
        let known = field == kind || own.contains(&field.as_str()) || COMMON.contains(&field.as_str());
        // A field that no kind has is reported as unknown.
        if !known && PATTERN_FIELDS.contains(&field.as_str()) {
            let advice = instead(kind, &field);
            reader.fault(at, format!("`{field}` has no meaning for `{kind}`: {advice}"));
        }
    }
    check_expectation(reader, fields, kind);
}

/// Refuses fields of an expectation that are never compared.
fn check_expectation(reader: &mut Reader, fields: &Fields<'_>, kind: &str) {
    let Some(expect) = fields.get("expect").map(Fields::of) else { return };
    let gets = |group: &str| {
        let steps = fields.get(group).map(super::Node::elements).unwrap_or_default();
        !steps.is_empty() && steps.iter().all(|step| step.get("get").is_some())
    };
    let returns =
        matches!(kind, "get" | "query" | "scan" | "scatter-gather") || gets("transact") || gets("batch");
    if let (true, Some(node)) = (expect.names().is_empty(), fields.get("expect")) {
        let wanted =
            if returns { "`items`, `count` or `rcu`" } else { "`wcu`, or `fails-when` and `reason`" };
        reader.fault(node.at, format!("`expect` expects nothing: write {wanted}, or leave it out"));
    }
    for (field, at) in expect.names() {
        let text = match field.as_str() {
            "items" | "exact" | "count" if !returns => {
                "a write returns no items: write `wcu`, or `fails-when` and `reason`"
            }
            "fails-when" | "reason" if returns => "a question does not fail: write `items` or `count`",
            "exact" if expect.get("items").is_none() => {
                "it says that nothing but `items` may come: write `items` as well, or `count: 0`"
            }
            _ => continue,
        };
        reader.fault(at, format!("`{field}` has no meaning here: {text}"));
    }
}

/// Refuses steps that a transaction or batch cannot have, and their fields without a meaning.
pub(super) fn check_step(reader: &mut Reader, fields: &Fields<'_>, group: &str, kind: &str) {
    let Some(own) = of_step(group, kind) else {
        let text = format!(
            "a {group} has no `{kind}`: a batch is puts and deletes, or gets; write `transact`, or a single `update`"
        );
        return reader.fault(fields.at(kind), text);
    };
    for (field, at) in fields.names() {
        if !own.contains(&field.as_str()) && STEP_FIELDS.contains(&field.as_str()) {
            let advice = instead_in_step(kind, &field);
            reader.fault(at, format!("`{field}` has no meaning for `{kind}` in a {group}: {advice}"));
        }
    }
    if kind == "check" && fields.get("if").is_none() {
        reader.fault(fields.at("check"), "a check is its condition: write `if: exists`");
    }
}
