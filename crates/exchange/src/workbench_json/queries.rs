//! Converts the saved queries of a document to access patterns.
//!
//! AWS's web modeler stores them with a table's data (its source is public; the desktop Workbench keeps
//! members that it does not know):
//! `SavedQuery: {name: {view, PK, SK: {condition, values}, filter: […]}}`.
//! They use texts of key attributes; patterns use attributes, which are found with the templates.

use std::collections::BTreeSet;

use keywright_semantics::value::{AttributeValue, Item, ValueType};

use crate::of_model::stored_items;
use keywright_model::data::{entity_of, key_text};
use keywright_model::expression::ConditionExpression;
use keywright_model::json::Json;
use keywright_model::template::{Extent, Part, Template};
use keywright_model::{
    At, Consistency, Entity, Expectation, Given, GivenOp, Index, KeyAttribute, Model, Node, NodeKind,
    Operation, Pattern, Read, ReadKind, Table,
};

/// The patterns of a document's saved queries, and notes on those left out. `model` is the imported model.
pub(super) fn patterns(root: &Json, model: &Model) -> (Vec<Pattern>, Vec<String>) {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let items = stored_items(model);
    let none = Vec::new();
    for json in root.get("DataModel").map_or(&[][..], Json::elements) {
        let table = json.str_at("TableName").and_then(|name| model.table(name));
        let Some(table) = table else { continue };
        let saved = Saved { model, table, items: items.get(&table.name).unwrap_or(&none) };
        for (name, query) in json.get("SavedQuery").map_or(&[][..], Json::members) {
            match saved.pattern(name, query, found.len() + 1) {
                Ok(pattern) => found.push(pattern),
                Err(reason) => {
                    notes.push(format!("saved query `{name}` of {}: left out, {reason}", table.name));
                }
            }
        }
    }
    (found, notes)
}

struct Saved<'a> {
    model: &'a Model,
    table: &'a Table,
    items: &'a [Item],
}

/// A condition on a text in a saved query.
struct Test<'a> {
    condition: &'a str,
    values: Vec<&'a str>,
}

/// The given attributes with their conditions and values.
type Givens = Vec<(String, GivenOp, Vec<String>)>;

/// Values by placeholder.
type Values = Vec<(String, Node)>;

impl<'a> Saved<'a> {
    fn pattern(&self, name: &str, query: &Json, number: usize) -> Result<Pattern, String> {
        let view = query.str_at("view").unwrap_or(&self.table.name);
        let index = match self.table.index(view) {
            None if view != self.table.name => return Err(format!("there is no index `{view}`")),
            index => index,
        };
        let partition = query.str_at("PK").ok_or("its PK is missing")?;
        let sort = query.get("SK").and_then(Test::of).filter(|test| !test.values.is_empty());
        let (entities, count) = self.entities(index, partition, sort.as_ref())?;
        let (givens, whole) = self.givens(index, &entities, partition, sort.as_ref())?;
        let (filter, values) = filter(query)?;
        let kind = if index.is_none() && whole { ReadKind::Get } else { ReadKind::Query };
        let mut example: Vec<(String, Node)> = Vec::new();
        for (attribute, _, values) in &givens {
            let nodes: Vec<Node> =
                values.iter().map(|value| self.node(&entities, attribute, value)).collect();
            let node = match <[Node; 1]>::try_from(nodes) {
                Ok([one]) => one,
                Err(several) => NodeKind::List(several).into(),
            };
            example.push((attribute.clone(), node));
        }
        example.extend(values);
        let given =
            |(attribute, op, _): (String, GivenOp, Vec<String>)| Given { attribute, at: At::default(), op };
        let expect = filter.is_none().then(|| Expectation { count: Some(count), ..Expectation::default() });
        let read = Read {
            kind,
            entities: entities.iter().map(|entity| entity.name.clone()).collect(),
            given: givens.into_iter().map(given).collect(),
            order_by: None,
            order: None,
            filter,
            attributes: Vec::new(),
            consistency: Consistency::Eventual,
            limit: None,
        };
        Ok(Pattern {
            id: format!("Q{number}"),
            at: At::default(),
            text: Some(name.to_owned()),
            operation: Operation::Read(read),
            rate: None,
            returns: None,
            uses: index.map(|index| index.name.clone()),
            example,
            expect,
            admin: false,
            after: Vec::new(),
        })
    }

    fn path(&self, index: Option<&'a Index>) -> (&'a KeyAttribute, Option<&'a KeyAttribute>) {
        match index {
            None => (&self.table.partition, self.table.sort.as_ref()),
            Some(index) => (index.partition.first().unwrap_or(&self.table.partition), index.sort.first()),
        }
    }

    /// The entities of the items that a query finds, otherwise
    /// those whose templates fit; and the number of items.
    fn entities(
        &self,
        index: Option<&'a Index>,
        partition: &str,
        sort: Option<&Test<'_>>,
    ) -> Result<(Vec<&'a Entity>, u64), String> {
        let (own, other) = self.path(index);
        let holds = |item: &&Item| {
            let text = |part: &KeyAttribute| item.get(&part.name).and_then(key_text);
            text(own).as_deref() == Some(partition)
                && other.is_none_or(|part| {
                    item.get(&part.name).is_some_and(|value| sort.is_none_or(|test| test.holds(value)))
                })
        };
        let items: Vec<&Item> = self.items.iter().filter(holds).collect();
        let names: BTreeSet<String> =
            items.iter().filter_map(|item| entity_of(self.model, &self.table.name, item)).collect();
        let fits = |entity: &&Entity| {
            let template = entity.template(&own.name);
            template.is_some_and(|template| template.fits(partition))
        };
        let entities = self.model.entities_of(&self.table.name);
        let found: Vec<&Entity> = if names.is_empty() {
            entities.filter(fits).collect()
        } else {
            entities.filter(|entity| names.contains(&entity.name)).collect()
        };
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        if found.is_empty() { Err("no entity has such a key".to_owned()) } else { Ok((found, count)) }
    }

    /// The conditions on attributes that follow from the
    /// query's key texts, and whether they give a whole key.
    fn givens(
        &self,
        index: Option<&'a Index>,
        entities: &[&Entity],
        partition: &str,
        sort: Option<&Test<'_>>,
    ) -> Result<(Givens, bool), String> {
        let (own, other) = self.path(index);
        let mut found: Option<Givens> = None;
        let mut whole = other.is_none();
        for entity in entities {
            let template = |part: &KeyAttribute| {
                entity.template(&part.name).ok_or_else(|| format!("{} has no `{}`", entity.name, part.name))
            };
            let mut givens = equal(&template(own)?, partition).ok_or("its PK fits no template")?;
            if let (Some(part), Some(test)) = (other, sort) {
                let template = template(part)?;
                let more =
                    test.givens(&template).ok_or_else(|| format!("its SK does not fit `{template}`"))?;
                whole |= test.condition == "=";
                for given in more {
                    if !givens.iter().any(|known| known.0 == given.0) {
                        givens.push(given);
                    }
                }
            }
            match &found {
                Some(others) if *others != givens => {
                    return Err("the entities it finds have different keys".to_owned());
                }
                _ => found = Some(givens),
            }
        }
        Ok((found.unwrap_or_default(), whole))
    }

    /// A text from a key as a value of the attribute's type.
    fn node(&self, entities: &[&Entity], attribute: &str, text: &str) -> Node {
        let _ = self;
        let number = entities
            .iter()
            .filter_map(|entity| entity.attribute(attribute))
            .any(|attribute| attribute.value_type == ValueType::N);
        if number { NodeKind::Number(text.to_owned()).into() } else { Node::text(text) }
    }
}

/// The variables of a template, each equal to its value in a text.
fn equal(template: &Template, text: &str) -> Option<Givens> {
    let mut givens = Givens::new();
    for (place, value) in template.fit(text)? {
        let Some(name) = place.attribute() else { continue };
        if !givens.iter().any(|known| known.0 == name) {
            givens.push((name.to_owned(), GivenOp::Eq, vec![value.to_owned()]));
        }
    }
    Some(givens)
}

impl<'a> Test<'a> {
    fn of(json: &'a Json) -> Option<Self> {
        let values = json.get("values").map_or(&[][..], Json::elements);
        Some(Self {
            condition: json.str_at("condition")?,
            values: values.iter().filter_map(Json::as_str).collect(),
        })
    }

    fn op(&self) -> Option<GivenOp> {
        Some(match self.condition {
            "=" => GivenOp::Eq,
            "begins" => GivenOp::BeginsWith,
            "between" => GivenOp::Between,
            "<" => GivenOp::Lt,
            "<=" => GivenOp::Le,
            ">" => GivenOp::Gt,
            ">=" => GivenOp::Ge,
            _ => return None,
        })
    }

    /// Whether a key attribute's value meets the condition, compared as the service does.
    fn holds(&self, value: &AttributeValue) -> bool {
        let [first, rest @ ..] = self.values.as_slice() else { return true };
        let compare = |other: &str| match value {
            AttributeValue::N(number) => match AttributeValue::number(other) {
                Ok(AttributeValue::N(other)) => Some(number.cmp(&other)),
                _ => None,
            },
            value => key_text(value).map(|text| text.as_str().cmp(other)),
        };
        let Some(order) = compare(first) else { return false };
        match self.op() {
            Some(GivenOp::Eq) => order.is_eq(),
            Some(GivenOp::Lt) => order.is_lt(),
            Some(GivenOp::Le) => order.is_le(),
            Some(GivenOp::Gt) => order.is_gt(),
            Some(GivenOp::Ge) => order.is_ge(),
            Some(GivenOp::BeginsWith) => key_text(value).is_some_and(|text| text.starts_with(first)),
            Some(GivenOp::Between) => {
                order.is_ge()
                    && rest.first().and_then(|high| compare(high)).is_some_and(std::cmp::Ordering::is_le)
            }
            None => false,
        }
    }

    /// The conditions on a template's variables that follow from this condition.
    fn givens(&self, template: &Template) -> Option<Givens> {
        let first = self.values.first()?;
        match self.op()? {
            GivenOp::Eq => equal(template, first),
            GivenOp::BeginsWith => begins(template, first),
            op => range(template, op, &self.values),
        }
    }
}

/// What a `begins_with` on a key says about the attributes of its template: those that lie in the prefix as a
/// whole are equal to their part of it, the last one begins with its part. `None` if the prefix does not fit
/// the template.
fn begins(template: &Template, prefix: &str) -> Option<Givens> {
    let given = |(place, value, extent): (&Part, &str, Extent)| {
        let op = match extent {
            Extent::Whole => GivenOp::Eq,
            Extent::Beginning => GivenOp::BeginsWith,
        };
        Some((place.attribute()?.to_owned(), op, vec![value.to_owned()]))
    };
    Some(template.fit_prefix(prefix)?.into_iter().filter_map(given).collect())
}

/// The conditions that follow from a range of keys: all variables except the last must be equal at both ends.
fn range(template: &Template, op: GivenOp, values: &[&str]) -> Option<Givens> {
    template.parts.last()?.attribute()?;
    let ends: Option<Vec<Givens>> = values.iter().map(|value| equal(template, value)).collect();
    let mut ends = ends?.into_iter();
    let mut givens = ends.next()?;
    let (last, fixed) = givens.split_last_mut()?;
    last.1 = op;
    for end in ends {
        let (high, others) = end.split_last()?;
        if others != fixed {
            return None;
        }
        last.2.extend(high.2.iter().cloned());
    }
    Some(givens)
}

/// The filter as an expression, and the values of its placeholders.
fn filter(query: &Json) -> Result<(Option<ConditionExpression>, Values), String> {
    let mut text = String::new();
    let mut values = Vec::new();
    for clause in query.get("filter").map_or(&[][..], Json::elements) {
        let attribute = clause
            .str_at("attribute")
            .filter(|name| !name.is_empty())
            .ok_or("a filter names no attribute")?;
        let tested = Test::of(clause).ok_or("a filter has no condition")?;
        let names: Vec<String> = tested
            .values
            .iter()
            .map(|value| {
                let name = format!("f{}", values.len());
                values.push((name.clone(), typed(clause.str_at("type"), value)));
                format!(":{name}")
            })
            .collect();
        let clause_text = match (tested.condition, names.as_slice()) {
            ("begins", [one]) => format!("begins_with({attribute}, {one})"),
            ("contains", [one]) => format!("contains({attribute}, {one})"),
            ("between", [low, high]) => format!("{attribute} BETWEEN {low} AND {high}"),
            ("in", [_, ..]) => format!("{attribute} IN ({})", names.join(", ")),
            ("=" | "<" | "<=" | ">" | ">=", [one]) => format!("{attribute} {} {one}", tested.condition),
            (condition, _) => return Err(format!("a filter's condition `{condition}` is not known")),
        };
        let operator = if clause.str_at("operator") == Some("OR") { "OR" } else { "AND" };
        text = if text.is_empty() { clause_text } else { format!("{text} {operator} {clause_text}") };
    }
    let filter = (!text.is_empty()).then(|| ConditionExpression::parse(&text)).transpose();
    Ok((filter.map_err(|fault| format!("its filter is no expression: {fault}"))?, values))
}

fn typed(name: Option<&str>, value: &str) -> Node {
    match name {
        Some("N" | "Number") => NodeKind::Number(value.to_owned()).into(),
        Some("BOOL" | "Boolean") => NodeKind::Bool(value == "true").into(),
        _ => Node::text(value),
    }
}
