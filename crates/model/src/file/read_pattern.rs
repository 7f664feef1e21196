//! Reads the access patterns of a model file.

use keywright_semantics::capacity::HalfUnits;

use super::ast::{
    Condition, Consistency, Expectation, FailsWhen, Given, GivenOp, MicroPerSecond, MilliItems, Operation,
    Order, OrderBy, Pattern, Rate, Read, ReadKind, Returns, Write, WriteKind,
};
use super::fault::At;
use super::read::{Fields, Reader};
use super::yaml::{Node, NodeKind};
use crate::expression::{ConditionExpression, Effect, Section};

pub(super) const PATTERN_FIELDS: &[&str] = &[
    "id",
    "text",
    "get",
    "query",
    "scan",
    "scatter-gather",
    "put",
    "update",
    "delete",
    "transact",
    "batch",
    "given",
    "order",
    "filter",
    "attributes",
    "returns",
    "limit",
    "rate",
    "consistency",
    "uses",
    "example",
    "expect",
    "admin",
    "after",
    "if",
    "set",
    "remove",
    "add",
    "deleteFrom",
    "returnValues",
];
pub(super) const STEP_FIELDS: &[&str] = &[
    "put",
    "update",
    "delete",
    "check",
    "get",
    "n",
    "if",
    "set",
    "remove",
    "add",
    "deleteFrom",
    "example",
    "returnValues",
];
pub(super) const ORDER_FIELDS: &[&str] = &["by", "direction"];
pub(super) const RETURNS_FIELDS: &[&str] = &["avg", "max", "page"];
pub(super) const RATE_FIELDS: &[&str] = &["avg", "peak"];
pub(super) const EXPECT_FIELDS: &[&str] = &["items", "exact", "count", "rcu", "wcu", "fails-when", "reason"];

const READS: &[(&str, ReadKind)] = &[
    ("get", ReadKind::Get),
    ("query", ReadKind::Query),
    ("scan", ReadKind::Scan),
    ("scatter-gather", ReadKind::ScatterGather),
];
/// Fields that name the entities of a pattern or step.
pub(super) const TARGETS: &[&str] =
    &["get", "query", "scan", "scatter-gather", "put", "update", "delete", "check"];
/// Fields that name attributes, indexes or items; their faults are reported at the field.
const NAMING: &[&str] = &[
    "attributes",
    "uses",
    "expect",
    "example",
    "filter",
    "if",
    "set",
    "remove",
    "add",
    "deleteFrom",
    "after",
];
const WRITES: &[(&str, WriteKind)] = &[
    ("put", WriteKind::Put),
    ("update", WriteKind::Update),
    ("delete", WriteKind::Delete),
    ("check", WriteKind::Check),
    ("get", WriteKind::Get),
];
pub(super) const GIVEN_OPS: &[(&str, GivenOp)] = &[
    ("eq", GivenOp::Eq),
    ("between", GivenOp::Between),
    ("begins-with", GivenOp::BeginsWith),
    ("lt", GivenOp::Lt),
    ("le", GivenOp::Le),
    ("gt", GivenOp::Gt),
    ("ge", GivenOp::Ge),
];

/// Rates have a resolution of a millionth, average item counts of a thousandth, capacity units of a half.
const RATE_DECIMALS: usize = 6;
const ITEM_DECIMALS: usize = 3;
const UNIT_DECIMALS: usize = 6;
const MICRO_PER_HALF_UNIT: u64 = 500_000;

pub(super) fn pattern(reader: &mut Reader, node: &Node) -> Option<Pattern> {
    let fields = reader.fields(node, "a pattern", PATTERN_FIELDS)?;
    let id = reader.required_text(&fields, "id");
    reader.mark(node.at, &fields, TARGETS);
    reader.mark(node.at, &fields, NAMING);
    let operation = operation(reader, node, &fields, &id)?;
    Some(Pattern {
        id,
        at: node.at,
        text: reader.optional_text(&fields, "text"),
        operation,
        rate: fields.get("rate").and_then(|node| rate(reader, node)),
        returns: fields.get("returns").and_then(|node| returns(reader, node)),
        uses: reader.optional_text(&fields, "uses"),
        example: fields.get("example").map(|node| values(reader, node)).unwrap_or_default(),
        expect: fields.get("expect").and_then(|node| expectation(reader, node)),
        admin: reader.optional_bool(&fields, "admin").unwrap_or_default(),
        after: reader.optional_texts(&fields, "after"),
    })
}

fn operation(reader: &mut Reader, node: &Node, fields: &Fields<'_>, id: &str) -> Option<Operation> {
    const KINDS: &[&str] =
        &["get", "query", "scan", "scatter-gather", "put", "update", "delete", "transact", "batch"];
    let named: Vec<&str> = KINDS.iter().copied().filter(|kind| fields.get(kind).is_some()).collect();
    let [kind] = named.as_slice() else {
        let text = if named.is_empty() {
            format!("pattern `{id}` does nothing: write one of {}", KINDS.join(", "))
        } else {
            format!("pattern `{id}` does several things ({}): write one, or a `transact`", named.join(", "))
        };
        reader.fault(node.at, text);
        return None;
    };
    let target = fields.get(kind)?;
    super::meaning::check_pattern(reader, fields, kind);
    match *kind {
        "transact" => Some(Operation::Transact(steps(reader, target, "transact"))),
        "batch" => Some(Operation::Batch(batch(reader, fields, target))),
        "put" | "update" | "delete" => step(reader, node, fields).map(Operation::Write),
        _ => {
            let (_, kind) = READS.iter().find(|(name, _)| name == kind)?;
            Some(Operation::Read(read(reader, fields, *kind, target)))
        }
    }
}

fn read(reader: &mut Reader, fields: &Fields<'_>, kind: ReadKind, target: &Node) -> Read {
    let given = fields.get("given").map(|node| given(reader, node)).unwrap_or_default();
    let (order, order_by) = fields.get("order").map(|node| order(reader, node)).unwrap_or_default();
    Read {
        kind,
        entities: reader.texts(target, "an entity's name"),
        given,
        order,
        order_by,
        filter: fields.get("filter").and_then(|node| expression(reader, node, "filter")),
        attributes: reader.optional_texts(fields, "attributes"),
        consistency: consistency(reader, fields),
        limit: reader.optional_positive(fields, "limit"),
    }
}

/// `order: desc`, or `order: {by: createdAt, direction: desc}`
/// where the key that gives the order is to be found or checked.
fn order(reader: &mut Reader, node: &Node) -> (Option<Order>, Option<OrderBy>) {
    const DIRECTIONS: &[(&str, Order)] = &[("asc", Order::Ascending), ("desc", Order::Descending)];
    if !matches!(node.kind, NodeKind::Map(_)) {
        return (reader.choice(node, "`order`", DIRECTIONS), None);
    }
    let Some(fields) = reader.fields(node, "`order`", ORDER_FIELDS) else { return (None, None) };
    let attribute = reader.required_text(&fields, "by");
    let at = fields.get("by").map_or(node.at, |node| node.at);
    let direction = fields.get("direction").and_then(|node| reader.choice(node, "`direction`", DIRECTIONS));
    (Some(direction.unwrap_or(Order::Ascending)), Some(OrderBy { attribute, at }))
}

fn consistency(reader: &mut Reader, fields: &Fields<'_>) -> Consistency {
    let choices = [("eventual", Consistency::Eventual), ("strong", Consistency::Strong)];
    let chosen = fields.get("consistency").and_then(|node| reader.choice(node, "`consistency`", &choices));
    chosen.unwrap_or_default()
}

/// The steps of a batch; its gets have one consistency.
fn batch(reader: &mut Reader, fields: &Fields<'_>, target: &Node) -> Vec<Write> {
    let mut steps = steps(reader, target, "batch");
    let consistency = consistency(reader, fields);
    if fields.get("consistency").is_some() && steps.iter().any(|step| step.kind != WriteKind::Get) {
        let text =
            "`consistency` has no meaning for a batch of writes: a write is always consistent: leave it out";
        reader.fault(fields.at("consistency"), text);
    }
    for step in &mut steps {
        step.consistency = consistency;
    }
    steps
}

fn given(reader: &mut Reader, node: &Node) -> Vec<Given> {
    let NodeKind::Map(members) = &node.kind else {
        let _ = reader.members(node, "`given`");
        return Vec::new();
    };
    members
        .iter()
        .filter_map(|(key, node)| {
            let op = reader.choice(node, "how an attribute is given", GIVEN_OPS)?;
            Some(Given { attribute: key.scalar()?, at: key.at, op })
        })
        .collect()
}

fn steps(reader: &mut Reader, node: &Node, group: &str) -> Vec<Write> {
    let elements = reader.list(node, &format!("`{group}`"));
    if elements.is_empty() {
        reader.fault(node.at, format!("`{group}` has no steps: write `[{{put: Entity}}, …]`"));
    }
    let steps: Vec<Write> = elements
        .iter()
        .filter_map(|element| {
            let fields = reader.fields(element, "a step", STEP_FIELDS)?;
            let step = step(reader, element, &fields)?;
            let (name, _) = WRITES.iter().find(|(_, kind)| *kind == step.kind)?;
            super::meaning::check_step(reader, &fields, group, name);
            Some(step)
        })
        .collect();
    let first = steps.first().map(|step| step.kind == WriteKind::Get);
    if let Some(other) = steps.iter().find(|step| Some(step.kind == WriteKind::Get) != first) {
        let text = format!(
            "a {group} reads or writes, not both: write one pattern for the gets and one for the rest"
        );
        reader.fault(other.at, text);
    }
    steps
}

fn step(reader: &mut Reader, node: &Node, fields: &Fields<'_>) -> Option<Write> {
    let named: Vec<&(&str, WriteKind)> =
        WRITES.iter().filter(|(name, _)| fields.get(name).is_some()).collect();
    let [(name, kind)] = named.as_slice() else {
        reader.fault(node.at, "a step is one of put, update, delete, check or get: `{put: Entity}`");
        return None;
    };
    let entity = reader.required_text(fields, name);
    reader.mark(node.at, fields, TARGETS);
    reader.mark(node.at, fields, NAMING);
    let examples = fields.get("example").map(|node| examples(reader, node)).unwrap_or_default();
    let n = reader.optional_positive(fields, "n");
    let examples_of_step = node.get("transact").is_none() && node.get("id").is_none();
    Some(Write {
        kind: *kind,
        at: node.at,
        entity,
        n: n.or_else(|| u64::try_from(examples.len()).ok().filter(|_| examples_of_step)).unwrap_or(1).max(1),
        condition: fields.get("if").and_then(|node| condition(reader, node)),
        effects: effects(reader, fields),
        examples: if examples_of_step { examples } else { Vec::new() },
        returns_values: reader.optional_bool(fields, "returnValues").unwrap_or_default(),
        consistency: Consistency::Eventual,
    })
}

fn condition(reader: &mut Reader, node: &Node) -> Option<Condition> {
    let text = reader.text(node, "`if`")?;
    Some(match text.as_str() {
        "not-exists" => Condition::NotExists,
        "exists" => Condition::Exists,
        _ => Condition::Expression(expression(reader, node, "if")?),
    })
}

fn expression(reader: &mut Reader, node: &Node, field: &str) -> Option<ConditionExpression> {
    let text = reader.text(node, &format!("`{field}`"))?;
    let read = ConditionExpression::parse(&text);
    read.map_err(|fault| unreadable(reader, node, field, &fault)).ok()
}

/// The fields of an update, each with the section that it fills.
pub(super) const SECTIONS: [(&str, Section); 4] = [
    ("set", Section::Set),
    ("remove", Section::Remove),
    ("add", Section::Add),
    ("deleteFrom", Section::Delete),
];

fn effects(reader: &mut Reader, fields: &Fields<'_>) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (field, section) in SECTIONS {
        let Some(node) = fields.get(field) else { continue };
        let Some(text) = reader.text(node, &format!("`{field}`")) else { continue };
        match Effect::parse(section, &text) {
            Ok(own) => effects.extend(own),
            Err(fault) => unreadable(reader, node, field, &fault),
        }
    }
    effects
}

fn unreadable(reader: &mut Reader, node: &Node, field: &str, fault: &str) {
    reader.fault(node.at, format!("`{field}` is no expression: {fault}"));
}

fn examples(reader: &mut Reader, node: &Node) -> Vec<Vec<(String, Node)>> {
    node.elements().iter().map(|element| values(reader, element)).collect()
}

fn values(reader: &mut Reader, node: &Node) -> Vec<(String, Node)> {
    reader
        .members(node, "`example`")
        .into_iter()
        .map(|(name, node)| (name.trim_start_matches(':').to_owned(), node.clone()))
        .collect()
}

fn returns(reader: &mut Reader, node: &Node) -> Option<Returns> {
    let fields = reader.fields(node, "`returns`", RETURNS_FIELDS)?;
    let returns = Returns {
        average: fields
            .get("avg")
            .and_then(|node| reader.decimal(node, "`avg`", ITEM_DECIMALS))
            .map(MilliItems),
        max: reader.optional_integer(&fields, "max"),
        page: reader.optional_positive(&fields, "page"),
    };
    if returns.max.zip(returns.average).is_some_and(|(max, average)| max < average.whole()) {
        reader.fault(fields.at("max"), "`max` is below `avg`: no question returns more than its most");
    }
    Some(returns)
}

fn rate(reader: &mut Reader, node: &Node) -> Option<Rate> {
    if node.scalar().is_some() {
        let average = MicroPerSecond(reader.decimal(node, "`rate`", RATE_DECIMALS)?);
        return Some(Rate { average, peak: average, is_peak_only: false });
    }
    let fields = reader.fields(node, "`rate`", RATE_FIELDS)?;
    let mut value = |name: &str| {
        fields
            .get(name)
            .and_then(|node| reader.decimal(node, &format!("`{name}`"), RATE_DECIMALS))
            .map(MicroPerSecond)
    };
    let (average, peak) = (value("avg"), value("peak"));
    let rate = Rate { average: average.or(peak)?, peak: peak.or(average)?, is_peak_only: average.is_none() };
    if rate.peak < rate.average {
        reader.fault(fields.at("peak"), "`peak` is below `avg`");
    }
    Some(rate)
}

fn expectation(reader: &mut Reader, node: &Node) -> Option<Expectation> {
    let fields = reader.fields(node, "`expect`", EXPECT_FIELDS)?;
    let items = fields.get("items").map(|node| {
        let rows = reader.list(node, "`items`");
        rows.iter().map(|row| reader.texts(row, "a part of an item's key")).collect()
    });
    let reasons = reader.optional_texts(&fields, "reason");
    let when = fields.get("fails-when").map(|node| fails_when(reader, node));
    let fails = (when.is_some() || !reasons.is_empty())
        .then(|| FailsWhen { when: when.unwrap_or_default(), reasons });
    Some(Expectation {
        at: node.at,
        items,
        exact: reader.optional_bool(&fields, "exact").unwrap_or_default(),
        count: reader.optional_integer(&fields, "count"),
        read_units: units(reader, &fields, "rcu"),
        write_units: units(reader, &fields, "wcu"),
        fails,
    })
}

fn fails_when(reader: &mut Reader, node: &Node) -> Vec<(String, String, Node)> {
    let members = reader.members(node, "`fails-when`");
    let mut changes = Vec::new();
    for (name, value) in members {
        match name.split_once('.') {
            Some((entity, attribute)) => {
                changes.push((entity.to_owned(), attribute.to_owned(), value.clone()));
            }
            None => reader.fault(value.at, format!("`{name}`: write `Entity.attribute: value`")),
        }
    }
    changes
}

fn units(reader: &mut Reader, fields: &Fields<'_>, name: &str) -> Option<HalfUnits> {
    let node = fields.get(name)?;
    let micro = reader.decimal(node, &format!("`{name}`"), UNIT_DECIMALS)?;
    if !micro.is_multiple_of(MICRO_PER_HALF_UNIT) {
        reader.fault(node.at, format!("`{name}` counts in halves: 0.5, 1, 1.5 …"));
    }
    Some(HalfUnits(micro / MICRO_PER_HALF_UNIT))
}

/// The position of a pattern whose id occurs twice.
pub(super) fn repeated(patterns: &[Pattern]) -> impl Iterator<Item = (&str, At)> {
    patterns.iter().enumerate().filter_map(|(place, pattern)| {
        let earlier = patterns.iter().take(place).any(|other| other.id == pattern.id);
        earlier.then_some((pattern.id.as_str(), pattern.at))
    })
}
