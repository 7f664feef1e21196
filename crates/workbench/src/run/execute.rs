//! Executes one pattern and reports the result.

use std::collections::BTreeSet;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::request::parts::{
    AttributeMapPart, GetItemParts, QueryParts, ReturnConsumedCapacity, ScanParts, Select, ValuePart,
};
use keywright_semantics::request::{GetItem, Query, Request, Scan};
use keywright_semantics::response::{PageOutput, Response};
use keywright_semantics::value::{AttributeValue, Item};

use super::database::{Database, UNEXPECTED, key_texts, parts_of};
use super::example::{asked, placeholder};
use super::expect::{disordered, judge, outcome};
use super::names::Names;
use super::plan::{Access, Plan, plan};
use super::range::{Bound, Inclusive, Known};
use super::report::{OperationKind, Outcome, PatternReport, add_capacity, blank};
use super::tables::IndexNumbers;
use super::writes;
use keywright_model::data::{Sample, key_text};
use keywright_model::{Consistency, Entity, GivenOp, Model, Operation, Order, Pattern, Read, ReadKind};

/// Maximum number of pages of one read; a sample does not have more.
const PAGES_MAX: usize = 100_000;

pub(super) fn pattern(
    database: &mut Database,
    model: &Model,
    samples: &[Sample],
    pattern: &Pattern,
) -> PatternReport {
    if let Some(report) = not_made(model, pattern) {
        return report;
    }
    match &pattern.operation {
        Operation::Read(read) => question(database, model, samples, pattern, read),
        Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => {
            writes::change(database, model, samples, pattern)
        }
    }
}

/// The report of a pattern whose table exceeds the service's limits.
fn not_made(model: &Model, pattern: &Pattern) -> Option<PatternReport> {
    let read = pattern.read().map(|read| read.entities.iter());
    let entities = read.into_iter().flatten().chain(pattern.steps().iter().map(|step| &step.entity));
    let mut tables = entities.filter_map(|name| model.table(&model.entity(name)?.table));
    let table = tables.find(|table| IndexNumbers::of(table).are_too_many())?;
    let mut report = blank(pattern);
    report.outcome = Outcome::Failed(format!(
        "table `{}` has more indexes or projected attributes than the service allows: do what rule L033 says",
        table.name
    ));
    Some(report)
}

fn question(
    database: &Database,
    model: &Model,
    samples: &[Sample],
    pattern: &Pattern,
    read: &Read,
) -> PatternReport {
    let mut report = blank(pattern);
    report.entities.clone_from(&read.entities);
    let asked = match asked(model, samples, pattern, read) {
        Ok(asked) => asked,
        Err(fault) => {
            report.outcome = Outcome::Failed(fault);
            return report;
        }
    };
    report.own_example = asked.own;
    let plan = match plan(model, pattern, read, &asked.known) {
        Ok(plan) => plan,
        Err(no_plan) => {
            report.outcome = Outcome::NoPlan(no_plan.refusals.iter().map(ToString::to_string).collect());
            report.refusals = no_plan.refusals;
            return report;
        }
    };
    report.table.clone_from(&plan.table.name);
    report.index = plan.index.map(|index| index.name.clone());
    let mut asking = Asking { database, model, pattern, read, plan: &plan, report };
    if let Err(fault) = asking.ask() {
        asking.report.outcome = Outcome::Failed(fault);
        return asking.report;
    }
    let mut found = judge(pattern, &asking.report);
    if let Some(disorder) = disordered(model, samples, read, &asking.report) {
        found.push(disorder);
    }
    let judged = pattern.expect.is_some() || !found.is_empty();
    asking.report.outcome = if judged { outcome(found) } else { Outcome::Ran };
    asking.report
}

struct Asking<'a> {
    database: &'a Database,
    model: &'a Model,
    pattern: &'a Pattern,
    read: &'a Read,
    plan: &'a Plan<'a>,
    report: PatternReport,
}

impl Asking<'_> {
    fn ask(&mut self) -> Result<(), String> {
        match &self.plan.access {
            Access::Get(key) => self.get(key),
            Access::Scan => self.scan(),
            Access::Query { partitions, sort } => {
                self.report.operation = if self.read.kind == ReadKind::ScatterGather {
                    OperationKind::ScatterGather
                } else {
                    OperationKind::Query
                };
                self.report.partitions = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
                partitions.iter().try_for_each(|partition| self.query(partition, sort))
            }
        }
    }

    fn strong(&self) -> Option<bool> {
        (self.read.consistency == Consistency::Strong).then_some(true)
    }

    fn get(&mut self, key: &Item) -> Result<(), String> {
        let read = self.read;
        self.report.operation = OperationKind::GetItem;
        self.report.key = Some(describe(key));
        let mut names = Names::default();
        let parts = GetItemParts {
            table_name: self.plan.table.name.clone(),
            key: parts_of(key),
            consistent_read: self.strong(),
            return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes),
            projection_expression: self.projection(&mut names),
            expression_attribute_names: names.some(),
            ..GetItemParts::default()
        };
        let request = GetItem::validate(parts).map_err(|fault| refused(read, &fault))?;
        let answer =
            self.database.execute(Request::GetItem(request)).map_err(|fault| refused(read, &fault))?;
        let Response::GetItem(output) = answer else { return Err(UNEXPECTED.to_owned()) };
        self.report.requests += 1;
        self.report.items_read += u64::from(output.item.is_some());
        if let Some(item) = output.item {
            self.returned(&item, Some(key));
        }
        add_capacity(&mut self.report.capacity, output.consumed_capacity.map(|capacity| *capacity));
        Ok(())
    }

    /// The projection: the named attributes and the table's key, which identifies the items.
    fn projection(&self, placeholders: &mut Names) -> Option<String> {
        if self.read.attributes.is_empty() {
            return None;
        }
        let keys = self.plan.table.key_parts().map(|part| &part.name);
        let mut names: Vec<&String> = keys.collect();
        // An index that holds an attribute only as part of a key cannot project it by name.
        let fetched = self.fetched();
        names.extend(self.read.attributes.iter().filter(|name| self.plan.asks_for(name, &fetched)));
        names.dedup();
        let names: BTreeSet<String> = names.into_iter().map(|name| placeholders.placeholder(name)).collect();
        Some(names.into_iter().collect::<Vec<_>>().join(", "))
    }

    fn fetched(&self) -> BTreeSet<String> {
        let entities: Vec<&Entity> =
            self.read.entities.iter().filter_map(|name| self.model.entity(name)).collect();
        self.plan.fetched(&entities, self.read)
    }

    /// A pattern without `attributes` wants all of them: a local index then also fetches from the table.
    fn select(&self) -> Option<Select> {
        let all = self.read.attributes.is_empty() && !self.fetched().is_empty();
        all.then_some(Select::AllAttributes)
    }

    fn query(
        &mut self,
        partition: &[(String, AttributeValue)],
        sort: &[(String, Bound)],
    ) -> Result<(), String> {
        let read = self.read;
        let mut request = Made::default();
        for (name, value) in partition {
            request.compare(name, "=", value);
        }
        for (name, bound) in sort {
            request.bound(name, bound);
        }
        let condition = std::mem::take(&mut request.clauses).join(" AND ");
        self.report.whole_key = self.plan.index.is_none()
            && sort.len() == self.plan.table.sort.iter().len()
            && sort.iter().all(|(_, bound)| matches!(bound, Bound::Equal(_)));
        if self.report.key.is_none() {
            self.report.key = Some(request.described(&condition));
        }
        let bare = request.clone();
        let filter = self.filter(&mut request)?;
        let projection = self.projection(&mut request.names);
        if filter.is_some() {
            self.look_behind_the_filter(&bare, &condition)?;
        }
        let parts = QueryParts {
            table_name: self.plan.table.name.clone(),
            index_name: self.plan.index.map(|index| index.name.clone()),
            key_condition_expression: Some(condition),
            filter_expression: filter,
            projection_expression: projection,
            select: self.select(),
            expression_attribute_names: request.names.some(),
            expression_attribute_values: request.some_values(),
            scan_index_forward: self.read.order.map(|order| order == Order::Ascending),
            limit: self.limit(),
            consistent_read: self.strong(),
            return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes),
            ..QueryParts::default()
        };
        self.pages(|database, start| {
            let parts = QueryParts { exclusive_start_key: start, ..parts.clone() };
            let query = Query::validate(parts).map_err(|fault| refused(read, &fault))?;
            match database.execute(Request::Query(Box::new(query))) {
                Ok(Response::Query(page)) => Ok(page),
                Ok(_) => Err(UNEXPECTED.to_owned()),
                Err(fault) => Err(refused(read, &fault)),
            }
        })
    }

    /// Reads page after page to the end; a `limit` reads one page.
    fn pages(
        &mut self,
        ask: impl Fn(&Database, Option<AttributeMapPart>) -> Result<PageOutput, String>,
    ) -> Result<(), String> {
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let page = ask(self.database, start)?;
            start = page.last_evaluated_key.as_ref().map(|key| parts_of(&key.decode()));
            self.page(page);
            // A program that knows the maximum number of items does not request the empty page after them.
            let all = self.pattern.returns.and_then(|returns| returns.max);
            let enough = all.is_some_and(|all| self.report.items_returned >= all);
            if start.is_none() || self.read.limit.is_some() || enough {
                self.report.more |= start.is_some();
                return Ok(());
            }
        }
        Err(format!("it has more than {PAGES_MAX} pages: write a larger `page` or a `limit`"))
    }

    /// The items that a filtered query reads: the same query without its filter, not counted in the cost.
    fn look_behind_the_filter(&mut self, request: &Made, condition: &str) -> Result<(), String> {
        let read = self.read;
        let parts = QueryParts {
            table_name: self.plan.table.name.clone(),
            index_name: self.plan.index.map(|index| index.name.clone()),
            key_condition_expression: Some(condition.to_owned()),
            expression_attribute_names: request.names.some(),
            expression_attribute_values: request.some_values(),
            scan_index_forward: self.read.order.map(|order| order == Order::Ascending),
            limit: self.limit(),
            ..QueryParts::default()
        };
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let parts = QueryParts { exclusive_start_key: start, ..parts.clone() };
            let query = Query::validate(parts).map_err(|fault| refused(read, &fault))?;
            let answer = self
                .database
                .execute(Request::Query(Box::new(query)))
                .map_err(|fault| refused(read, &fault))?;
            let Response::Query(page) = answer else { return Err(UNEXPECTED.to_owned()) };
            for item in page.items.into_iter().flatten() {
                self.report.read.push(key_texts(self.plan.table, &item.decode()));
            }
            start = page.last_evaluated_key.map(|key| parts_of(&key.decode()));
            if start.is_none() || self.read.limit.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn scan(&mut self) -> Result<(), String> {
        let read = self.read;
        self.report.operation = OperationKind::Scan;
        let mut request = Made::default();
        let filter = self.filter(&mut request)?;
        let projection = self.projection(&mut request.names);
        let parts = ScanParts {
            table_name: self.plan.table.name.clone(),
            index_name: self.plan.index.map(|index| index.name.clone()),
            filter_expression: filter,
            projection_expression: projection,
            select: self.select(),
            expression_attribute_names: request.names.some(),
            expression_attribute_values: request.some_values(),
            limit: self.limit(),
            consistent_read: self.strong(),
            return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes),
            ..ScanParts::default()
        };
        self.pages(|database, start| {
            let parts = ScanParts { exclusive_start_key: start, ..parts.clone() };
            let scan = Scan::validate(parts).map_err(|fault| refused(read, &fault))?;
            match database.execute(Request::Scan(Box::new(scan))) {
                Ok(Response::Scan(page)) => Ok(page),
                Ok(_) => Err(UNEXPECTED.to_owned()),
                Err(fault) => Err(refused(read, &fault)),
            }
        })
    }

    fn limit(&self) -> Option<i64> {
        let page = self.pattern.returns.and_then(|returns| returns.page);
        self.read.limit.or(page).and_then(|limit| i64::try_from(limit).ok())
    }

    /// The author's filter, and the given attributes that no key takes.
    fn filter(&mut self, request: &mut Made) -> Result<Option<String>, String> {
        for residual in &self.plan.residual {
            request.given(&residual.known);
            self.report.filtered.push(residual.known.attribute.clone());
            if !residual.of_all {
                let name = request.names.placeholder(&residual.known.attribute);
                let clause = request.clauses.pop().unwrap_or_default();
                request.clauses.push(format!("(attribute_not_exists({name}) OR {clause})"));
            }
        }
        if let Some(filter) = &self.read.filter {
            let entities: Vec<&Entity> =
                self.read.entities.iter().filter_map(|name| self.model.entity(name)).collect();
            let meanings = filter.meanings();
            let values: BTreeSet<&str> = filter.values().into_iter().collect();
            for name in values {
                let value = placeholder(&entities, &meanings, name, &self.pattern.example, None)?;
                request.values.push((format!(":{name}"), value));
            }
            self.report.filtered.extend(filter.attributes().into_iter().map(str::to_owned));
            let text = filter.render(|name| request.names.placeholder(name));
            request.clauses.push(format!("({text})"));
        }
        if request.clauses.is_empty() {
            return Ok(None);
        }
        let filter = std::mem::take(&mut request.clauses).join(" AND ");
        self.report.filter = Some(request.described(&filter));
        Ok(Some(filter))
    }

    fn page(&mut self, page: PageOutput) {
        self.report.requests += 1;
        self.report.items_read += page.scanned_count;
        for item in page.items.into_iter().flatten() {
            self.returned(&item, None);
        }
        add_capacity(&mut self.report.capacity, page.consumed_capacity.map(|capacity| *capacity));
    }

    fn returned(&mut self, item: &EncodedItem, key: Option<&Item>) {
        let decoded = item.decode();
        let texts = key_texts(self.plan.table, key.unwrap_or(&decoded));
        let owner = self.database.owner(&self.plan.table.name, &texts);
        if owner.is_some_and(|owner| !self.read.entities.iter().any(|name| name == owner)) {
            self.report.strangers.push(texts.clone());
        }
        self.report.items_returned += 1;
        if self.report.filter.is_none() {
            self.report.read.push(texts.clone());
        }
        self.report.bytes_returned += u64::try_from(item.size_bytes()).unwrap_or(u64::MAX);
        self.report.returned.push(texts);
    }
}

/// What the author of a pattern can do about a refused read.
fn refused(read: &Read, fault: &Error) -> String {
    let fields = [
        ("`given`", !read.given.is_empty()),
        ("`filter`", read.filter.is_some()),
        ("`attributes`", !read.attributes.is_empty()),
        ("`example`", true),
    ];
    let fields: Vec<&str> = fields.into_iter().filter(|(_, there)| *there).map(|(field, _)| field).collect();
    format!(
        "the service refuses the request that is made of it: {}; change its {}",
        fault.message,
        fields.join(" or ")
    )
}

/// The parts of a request's expressions.
#[derive(Clone, Default)]
struct Made {
    names: Names,
    values: Vec<(String, AttributeValue)>,
    clauses: Vec<String>,
}

impl Made {
    fn value(&mut self, value: &AttributeValue) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.push((placeholder.clone(), value.clone()));
        placeholder
    }

    fn compare(&mut self, name: &str, operator: &str, value: &AttributeValue) {
        let name = self.names.placeholder(name);
        let value = self.value(value);
        self.clauses.push(format!("{name} {operator} {value}"));
    }

    fn between(&mut self, name: &str, low: &AttributeValue, high: &AttributeValue) {
        let name = self.names.placeholder(name);
        let (low, high) = (self.value(low), self.value(high));
        self.clauses.push(format!("{name} BETWEEN {low} AND {high}"));
    }

    fn begins_with(&mut self, name: &str, prefix: &AttributeValue) {
        let name = self.names.placeholder(name);
        let prefix = self.value(prefix);
        self.clauses.push(format!("begins_with({name}, {prefix})"));
    }

    fn bound(&mut self, name: &str, bound: &Bound) {
        match bound {
            Bound::Free => {}
            Bound::Equal(value) => self.compare(name, "=", value),
            Bound::BeginsWith(prefix) => self.begins_with(name, &AttributeValue::S(prefix.clone())),
            Bound::Between(low, high) => self.between(name, low, high),
            Bound::Below(value, Inclusive::Yes) => self.compare(name, "<=", value),
            Bound::Below(value, Inclusive::No) => self.compare(name, "<", value),
            Bound::Above(value, Inclusive::Yes) => self.compare(name, ">=", value),
            Bound::Above(value, Inclusive::No) => self.compare(name, ">", value),
        }
    }

    fn given(&mut self, given: &Known) {
        let Some(first) = given.values.first() else { return };
        let name = &given.attribute;
        match (given.op, given.values.get(1)) {
            (GivenOp::Between, Some(second)) => self.between(name, first, second),
            (GivenOp::Eq | GivenOp::Between, _) => self.compare(name, "=", first),
            (GivenOp::BeginsWith, _) => self.begins_with(name, first),
            (GivenOp::Lt, _) => self.compare(name, "<", first),
            (GivenOp::Le, _) => self.compare(name, "<=", first),
            (GivenOp::Gt, _) => self.compare(name, ">", first),
            (GivenOp::Ge, _) => self.compare(name, ">=", first),
        }
    }

    fn some_values(&self) -> Option<Vec<(String, ValuePart)>> {
        let values: Vec<(String, ValuePart)> =
            self.values.iter().map(|(name, value)| (name.clone(), Ok(value.clone()))).collect();
        (!values.is_empty()).then_some(values)
    }

    /// An expression with its names and values in place of the placeholders.
    fn described(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (placeholder, name) in self.names.all().iter().rev() {
            text = text.replace(placeholder, name);
        }
        for (placeholder, value) in self.values.iter().rev() {
            text = text.replace(placeholder.as_str(), &shown(value));
        }
        text
    }
}

/// A value as text; the artificial upper bounds of ranges are named.
pub(super) fn shown(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("\"{}\"", text.replace('\u{10ffff}', "…").replace('\0', "")),
        other => key_text(other).unwrap_or_else(|| other.type_name().to_owned()),
    }
}

pub(super) fn describe(key: &Item) -> String {
    key.iter().map(|(name, value)| format!("{name} = {}", shown(value))).collect::<Vec<_>>().join(" AND ")
}
