//! Writes a model as YAML that `parse` reads as the same model. Comments are lost.

use std::fmt::Write as _;

use keywright_semantics::schema::KeyType;

use super::ast::{
    Attribute, Condition, Consistency, DataSource, DeclaredCapacity, Entity, Expectation, HalfUnits, Index,
    IndexKind, MicroPerSecond, Model, Operation, Order, Pattern, Projection, Rate, Read, ReadKind, Skew,
    Slot, Table, Write as Step, WriteKind,
};
use super::read_entity::FORMATS;
use super::read_pattern::{GIVEN_OPS, SECTIONS};
use super::read_table::STREAMS;
use super::yaml::{self, Node, NodeKind};

/// Mappings and lists up to this width are written on one line.
const LINE_CHARACTERS_MAX: usize = 110;

/// The model as YAML.
pub fn write(model: &Model) -> String {
    let mut out = String::new();
    block(&mut out, &root(model), 0);
    out
}

type Members = Vec<(String, Node)>;

/// Adds a field unless it is empty.
fn put(members: &mut Members, name: &str, node: Option<Node>) {
    if let Some(node) = node {
        members.push((name.to_owned(), node));
    }
}

fn text(text: Option<&String>) -> Option<Node> {
    text.map(Node::text)
}

fn number(number: Option<u64>) -> Option<Node> {
    number.map(Node::number)
}

fn texts(texts: &[String]) -> Option<Node> {
    match texts {
        [] => None,
        [one] => Some(Node::text(one)),
        many => Some(Node::list(many.iter().map(Node::text).collect())),
    }
}

fn flag(value: bool) -> Option<Node> {
    value.then(|| NodeKind::Bool(true).into())
}

fn some_map(members: Members) -> Option<Node> {
    (!members.is_empty()).then(|| Node::map(members))
}

fn root(model: &Model) -> Node {
    let mut members =
        vec![("format".to_owned(), Node::number(1)), ("model".to_owned(), Node::text(&model.name))];
    put(&mut members, "text", text(model.text.as_ref()));
    put(&mut members, "prices", text(model.prices.as_ref()));
    put(
        &mut members,
        "tables",
        some_map(model.tables.iter().map(|it| (it.name.clone(), table(it))).collect()),
    );
    let entities = model.entities.iter().map(|it| (it.name.clone(), entity(model, it))).collect();
    put(&mut members, "entities", some_map(entities));
    if !model.patterns.is_empty() {
        members.push(("patterns".to_owned(), Node::list(model.patterns.iter().map(pattern).collect())));
    }
    put(&mut members, "data", data(&model.data));
    members.extend(model.extensions.iter().cloned());
    Node::map(members)
}

fn name_of<T: Copy + PartialEq>(value: T, names: &[(&'static str, T)]) -> Option<Node> {
    names.iter().find(|(_, named)| *named == value).map(|(name, _)| Node::text(*name))
}

fn table(table: &Table) -> Node {
    let mut members = Vec::new();
    put(&mut members, "text", text(table.text.as_ref()));
    let key = table.key_parts().map(|part| (part.name.clone(), Node::text(type_name(part.key_type))));
    members.push(("key".to_owned(), Node::map(key)));
    members.push(("billing".to_owned(), billing(&table.billing)));
    put(&mut members, "ttl", text(table.ttl.as_ref()));
    put(&mut members, "stream", table.stream.and_then(|view| name_of(Some(view), STREAMS)));
    put(&mut members, "pitr", table.pitr.map(|on| NodeKind::Bool(on).into()));
    put(&mut members, "deletionProtection", table.deletion_protection.map(|on| NodeKind::Bool(on).into()));
    put(&mut members, "class", table.infrequent_access.then(|| Node::text("infrequent-access")));
    put(&mut members, "replicas", texts(&table.replicas));
    put(
        &mut members,
        "indexes",
        some_map(table.indexes.iter().map(|it| (it.name.clone(), index(it))).collect()),
    );
    Node::map(members)
}

const fn type_name(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::S => "S",
        KeyType::N => "N",
        KeyType::B => "B",
    }
}

fn billing(billing: &DeclaredCapacity) -> Node {
    let DeclaredCapacity::Provisioned { read_units, write_units, autoscale } = billing else {
        return Node::text("on-demand");
    };
    let mut members =
        vec![("rcu".to_owned(), Node::number(read_units)), ("wcu".to_owned(), Node::number(write_units))];
    if let Some(scale) = autoscale {
        let bounds = [("min", scale.min), ("max", scale.max), ("target", scale.target_percent)];
        members.push((
            "autoscale".to_owned(),
            Node::map(bounds.map(|(name, value)| (name, Node::number(value)))),
        ));
    }
    Node::map([("provisioned", Node::map(members))])
}

fn index(index: &Index) -> Node {
    let names =
        |parts: &[super::ast::KeyAttribute]| parts.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
    let mut members = Vec::new();
    put(&mut members, "local", flag(index.kind == IndexKind::Local));
    put(&mut members, "pk", texts(&names(&index.partition)));
    put(&mut members, "sk", texts(&names(&index.sort)));
    let projection = match &index.projection {
        Projection::All => Node::text("all"),
        Projection::KeysOnly => Node::text("keys"),
        Projection::Include(names) => Node::list(names.iter().map(Node::text).collect()),
    };
    members.push(("project".to_owned(), projection));
    Node::map(members)
}

fn entity(model: &Model, entity: &Entity) -> Node {
    let mut members = Vec::new();
    put(&mut members, "text", text(entity.text.as_ref()));
    put(&mut members, "table", (model.tables.len() != 1).then(|| Node::text(&entity.table)));
    put(&mut members, "count", number(entity.count));
    put(&mut members, "size", number(entity.size_bytes));
    put(&mut members, "maxSize", number(entity.size_bytes_max));
    put(&mut members, "parent", texts(&entity.parents));
    put(&mut members, "key", slot(&entity.key));
    for (name, this) in &entity.slots {
        put(&mut members, name, slot(this));
    }
    let attributes = entity.attributes.iter().map(|it| (it.name.clone(), attribute(it))).collect();
    put(&mut members, "attrs", some_map(attributes));
    let skew = entity.skew.iter().map(|(name, skew)| (name.clone(), Node::text(skew_text(*skew)))).collect();
    put(&mut members, "skew", some_map(skew));
    let unique: Vec<Node> = entity.unique.iter().filter_map(|names| texts(names)).collect();
    put(&mut members, "unique", (!unique.is_empty()).then(|| Node::list(unique)));
    put(&mut members, "owner", text(entity.owner.as_ref()));
    put(&mut members, "prefix", text(entity.prefix.as_ref()));
    Node::map(members)
}

fn slot(slot: &Slot) -> Option<Node> {
    let templates = slot.templates.iter();
    some_map(templates.map(|(name, template)| (name.clone(), Node::text(template.to_string()))).collect())
}

fn attribute(attribute: &Attribute) -> Node {
    let mut members = vec![("type".to_owned(), Node::text(attribute.value_type.name()))];
    put(&mut members, "size", number(attribute.size_bytes));
    put(&mut members, "distinct", number(attribute.distinct));
    put(&mut members, "values", (!attribute.values.is_empty()).then(|| Node::list(attribute.values.clone())));
    put(&mut members, "format", attribute.format.and_then(|format| name_of(format, FORMATS)));
    let copy = attribute.copy_of.as_ref().map(|(entity, name)| Node::text(format!("{entity}.{name}")));
    put(&mut members, "copyOf", copy);
    put(&mut members, "present", attribute.present_ppm.map(|share| Node::number(decimal(share, 6))));
    match members.as_slice() {
        [(_, only)] => only.clone(),
        _ => Node::map(members),
    }
}

fn skew_text(skew: Skew) -> String {
    match skew {
        Skew::Uniform => "uniform".to_owned(),
        Skew::Zipf { exponent_milli } => format!("zipf({})", decimal(exponent_milli, 3)),
        Skew::Hottest { share_ppm } => format!("hottest({})", decimal(share_ppm, 6)),
    }
}

/// A number in units of its last decimal as a decimal text: 500000 with six decimals is `0.5`.
fn decimal(value: u64, decimals: u32) -> String {
    let unit = 10_u64.pow(decimals);
    let (whole, rest) = (value / unit, value % unit);
    let width = usize::try_from(decimals).unwrap_or(0);
    let fraction = format!("{rest:0width$}");
    match fraction.trim_end_matches('0') {
        "" => whole.to_string(),
        fraction => format!("{whole}.{fraction}"),
    }
}

fn pattern(pattern: &Pattern) -> Node {
    let mut members = vec![("id".to_owned(), Node::text(&pattern.id))];
    put(&mut members, "text", text(pattern.text.as_ref()));
    match &pattern.operation {
        Operation::Read(this) => read(&mut members, this),
        Operation::Write(this) => step(&mut members, this),
        Operation::Transact(steps) => members.push(("transact".to_owned(), step_list(steps))),
        Operation::Batch(steps) => {
            members.push(("batch".to_owned(), step_list(steps)));
            let strong = steps.iter().any(|step| step.consistency == Consistency::Strong);
            put(&mut members, "consistency", strong.then(|| Node::text("strong")));
        }
    }
    if let Some(returns) = pattern.returns {
        let mut bounds = Vec::new();
        put(&mut bounds, "avg", returns.average.map(|average| Node::number(average.to_string())));
        for (name, value) in [("max", returns.max), ("page", returns.page)] {
            put(&mut bounds, name, number(value));
        }
        put(&mut members, "returns", some_map(bounds));
    }
    put(&mut members, "rate", pattern.rate.map(rate));
    put(&mut members, "uses", text(pattern.uses.as_ref()));
    put(&mut members, "example", some_map(pattern.example.clone()));
    put(&mut members, "expect", pattern.expect.as_ref().map(expectation));
    put(&mut members, "admin", flag(pattern.admin));
    put(&mut members, "after", texts(&pattern.after));
    Node::map(members)
}

fn read(members: &mut Members, read: &Read) {
    let kind = match read.kind {
        ReadKind::Get => "get",
        ReadKind::Query => "query",
        ReadKind::Scan => "scan",
        ReadKind::ScatterGather => "scatter-gather",
    };
    put(members, kind, texts(&read.entities));
    let given =
        read.given.iter().filter_map(|given| Some((given.attribute.clone(), name_of(given.op, GIVEN_OPS)?)));
    put(members, "given", some_map(given.collect()));
    let direction = read.order.map(|order| match order {
        Order::Ascending => Node::text("asc"),
        Order::Descending => Node::text("desc"),
    });
    let order = match &read.order_by {
        None => direction,
        Some(by) => {
            let mut order = Vec::new();
            put(&mut order, "by", text(Some(&by.attribute)));
            put(&mut order, "direction", direction.filter(|_| read.order == Some(Order::Descending)));
            Some(Node::map(order))
        }
    };
    put(members, "order", order);
    put(members, "filter", read.filter.as_ref().map(|filter| Node::text(filter.text())));
    put(members, "attributes", texts(&read.attributes));
    put(members, "limit", number(read.limit));
    put(members, "consistency", (read.consistency == Consistency::Strong).then(|| Node::text("strong")));
}

fn step_list(steps: &[Step]) -> Node {
    let node = |this: &Step| {
        let mut members = Vec::new();
        step(&mut members, this);
        Node::map(members)
    };
    Node::list(steps.iter().map(node).collect())
}

fn step(members: &mut Members, step: &Step) {
    let kind = match step.kind {
        WriteKind::Put => "put",
        WriteKind::Update => "update",
        WriteKind::Delete => "delete",
        WriteKind::Check => "check",
        WriteKind::Get => "get",
    };
    members.push((kind.to_owned(), Node::text(&step.entity)));
    put(members, "n", (step.n != 1).then(|| Node::number(step.n)));
    let condition = step.condition.as_ref().map(|condition| match condition {
        Condition::NotExists => Node::text("not-exists"),
        Condition::Exists => Node::text("exists"),
        Condition::Expression(expression) => Node::text(expression.text()),
    });
    put(members, "if", condition);
    put_effects(members, step);
    let examples: Vec<Node> = step.examples.iter().map(|example| Node::map(example.clone())).collect();
    put(members, "example", (!examples.is_empty()).then(|| Node::list(examples)));
    put(members, "returnValues", flag(step.returns_values));
}

fn put_effects(members: &mut Members, step: &Step) {
    for (field, section) in SECTIONS {
        put(members, field, step.section_text(section).map(|text| Node::text(&text)));
    }
}

fn rate(rate: Rate) -> Node {
    let node = |MicroPerSecond(micro): MicroPerSecond| Node::number(decimal(micro, 6));
    if rate.is_peak_only {
        return Node::map([("peak", node(rate.peak))]);
    }
    if rate.average == rate.peak {
        return node(rate.average);
    }
    Node::map([("avg", node(rate.average)), ("peak", node(rate.peak))])
}

fn expectation(expect: &Expectation) -> Node {
    let mut members = Vec::new();
    let rows = expect.items.as_ref().map(|rows| {
        Node::list(rows.iter().map(|row| Node::list(row.iter().map(Node::text).collect())).collect())
    });
    put(&mut members, "items", rows);
    put(&mut members, "exact", flag(expect.exact));
    put(&mut members, "count", number(expect.count));
    let units = |units: Option<HalfUnits>| units.map(|HalfUnits(half)| Node::number(decimal(half * 5, 1)));
    put(&mut members, "rcu", units(expect.read_units));
    put(&mut members, "wcu", units(expect.write_units));
    if let Some(fails) = &expect.fails {
        let when = fails.when.iter().map(|(entity, name, node)| (format!("{entity}.{name}"), node.clone()));
        let when = some_map(when.collect());
        put(
            &mut members,
            "fails-when",
            when.or_else(|| fails.reasons.is_empty().then(|| NodeKind::Null.into())),
        );
        put(&mut members, "reason", texts(&fails.reasons));
    }
    Node::map(members)
}

fn data(source: &DataSource) -> Option<Node> {
    let mut members = Vec::new();
    let files: Vec<String> = source.files.iter().map(|(file, _)| file.clone()).collect();
    put(&mut members, "files", texts(&files));
    let inline = source.records.iter().map(|it| (it.entity.clone(), Node::list(it.records.clone())));
    put(&mut members, "inline", some_map(inline.collect()));
    let items = source.items.iter().map(|it| (it.table.clone(), Node::list(it.items.clone())));
    put(&mut members, "items", some_map(items.collect()));
    let generate = source.generate.map(|generate| {
        Node::map([("seed", Node::number(generate.seed)), ("sample", Node::number(generate.sample))])
    });
    put(&mut members, "generate", generate);
    some_map(members)
}

/// Writes a collection over several lines, each member on one line if it fits.
fn block(out: &mut String, node: &Node, level: usize) {
    match &node.kind {
        NodeKind::Map(members) => {
            for (place, (name, value)) in members.iter().enumerate() {
                if place > 0 || out.ends_with('\n') || out.is_empty() {
                    indent(out, level);
                }
                let _ = write!(out, "{}:", flow(name));
                member(out, value, level, level + 1);
            }
        }
        NodeKind::List(elements) => {
            for element in elements {
                indent(out, level);
                out.push('-');
                if let (NodeKind::Map(members), true) =
                    (&element.kind, flow(element).len() + level * 2 > LINE_CHARACTERS_MAX)
                    && !members.is_empty()
                {
                    out.push(' ');
                    block(out, element, level + 1);
                } else {
                    member(out, element, level, level + 1);
                }
            }
        }
        _ => {
            indent(out, level);
            out.push_str(&flow(node));
            out.push('\n');
        }
    }
}

/// Top-level sections are always written as blocks.
fn member(out: &mut String, value: &Node, level: usize, inner: usize) {
    let line = flow(value);
    let collection = matches!(&value.kind, NodeKind::Map(members) if !members.is_empty())
        || matches!(&value.kind, NodeKind::List(elements) if !elements.is_empty());
    if collection && (level == 0 || line.len() + level * 2 > LINE_CHARACTERS_MAX) {
        out.push('\n');
        block(out, value, inner);
    } else {
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
    }
}

fn indent(out: &mut String, level: usize) {
    out.extend(std::iter::repeat_n("  ", level));
}

fn flow(node: &Node) -> String {
    match &node.kind {
        NodeKind::Null => "null".to_owned(),
        NodeKind::Bool(value) => value.to_string(),
        NodeKind::Number(digits) => digits.clone(),
        NodeKind::Text(text) => quoted(text),
        NodeKind::List(elements) => {
            format!("[{}]", elements.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        NodeKind::Map(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("{}: {}", flow(name), flow(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// Text that reads back as the same text: plain where that is safe, else in double quotes.
fn quoted(text: &str) -> String {
    let plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./()@ ".contains(letter))
        && !text.ends_with(' ')
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        )
        && !yaml::is_number(text);
    if plain {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if u32::from(letter) < 0x20 || letter == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
