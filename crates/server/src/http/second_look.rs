//! The second look: what policies say of keys and attributes, once a request is validated and the names of
//! the table's key attributes are known.
//!
//! Sources: service authorization reference for DynamoDB, developer guide "Using IAM policy conditions for
//! fine-grained access control". It does not know policies.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keywright_access::action::Verb;
use keywright_access::context::{Context, Known, Value};
use keywright_engine::Addressed;
use keywright_semantics::error::Error;
use keywright_semantics::expression::{Condition, KeyPredicate, Projection, Update};
use keywright_semantics::operation::Operation;
use keywright_semantics::partiql::{Select, Statement, Where};
use keywright_semantics::request::common::SelectMode;
use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnValue};
use keywright_semantics::request::{
    BatchExecuteStatement, BatchGetTable, BatchWrite, ConditionalWrite, OnConditionFailure, Query, Request,
    Scan, TableRef, TransactAction, TransactWrite,
};
use keywright_semantics::touches::{Action, Resource, Touch, Touches};
use keywright_semantics::value::{AttributeValue, Item};

use super::judgement::{Judge, Look};
use super::request_trace::Trace;

/// The keys of further attributes of a partition key.
const PARTITION_KEYS: [Known; 4] = [
    Known::LeadingKeys,
    Known::SecondPartitionKeyValues,
    Known::ThirdPartitionKeyValues,
    Known::FourthPartitionKeyValues,
];

/// What is known of a request besides itself.
pub(crate) trait Surroundings {
    /// The attributes of the partition key of a table or index; none if there is no such one.
    fn partition_names(&self, table: &TableRef, index: Option<&str>) -> Option<Vec<String>>;

    /// What a statement addresses; none if that is not known, or if there is no such table or index.
    fn addressed(&self, statement: &Statement) -> Option<Addressed>;

    /// What conditions see of its head, its signer and the time.
    fn context(&self) -> Context<'_>;

    /// The transaction that an action stands in.
    fn enclosing(&self, verb: Verb) -> Value<'static>;
}

impl Surroundings for Judge {
    fn partition_names(&self, table: &TableRef, index: Option<&str>) -> Option<Vec<String>> {
        self.partition_names(table, index)
    }

    fn addressed(&self, statement: &Statement) -> Option<Addressed> {
        self.addressed(statement)
    }

    fn context(&self) -> Context<'_> {
        self.context()
    }

    fn enclosing(&self, verb: Verb) -> Value<'static> {
        self.enclosing(verb)
    }
}

/// One use of a table or index by a request.
#[derive(Clone)]
struct Use<'r> {
    action: Action,
    table: &'r TableRef,
    index: Option<&'r str>,
    keys: Keys<'r>,
    /// Top-level names that the request mentions.
    names: BTreeSet<&'r str>,
    select: Option<&'static str>,
    return_values: Option<ReturnValue>,
    capacity: ReturnConsumedCapacity,
}

/// Where the values of partition keys are.
#[derive(Clone)]
enum Keys<'r> {
    /// In keys or items.
    Of(Vec<&'r Item>),
    /// In the condition on keys.
    Query(&'r Query),
    /// In a statement, which names them in ways of its own.
    Statement(&'r Statement),
    /// Nowhere: every item is addressed.
    None,
}

impl<'r> Use<'r> {
    fn new(operation: Operation, table: &'r TableRef, capacity: ReturnConsumedCapacity) -> Self {
        Self {
            action: Action::Operation(operation),
            table,
            index: None,
            keys: Keys::None,
            names: BTreeSet::new(),
            select: None,
            return_values: None,
            capacity,
        }
    }

    fn of_items(mut self, items: impl IntoIterator<Item = &'r Item>) -> Self {
        let items: Vec<&Item> = items.into_iter().collect();
        self.names.extend(items.iter().flat_map(|item| item.keys()).map(String::as_str));
        self.keys = Keys::Of(items);
        self
    }

    fn mentioning(mut self, condition: Option<&'r Condition>) -> Self {
        self.names.extend(condition.map(Condition::attributes).unwrap_or_default());
        self
    }

    fn updating(mut self, update: Option<&'r Update>) -> Self {
        let paths = update.into_iter().flat_map(Update::paths);
        self.names.extend(paths.map(|path| path.attribute.as_str()));
        self
    }

    /// A read with this projection, and what it selects unless the client says so.
    fn reading(mut self, projection: Option<&'r Projection>, select: Option<SelectMode>) -> Self {
        self.names.extend(projection.map(Projection::attributes).unwrap_or_default());
        self.select = Some(match (select, projection, self.index) {
            (Some(SelectMode::Count), ..) => "COUNT",
            (Some(SelectMode::SpecificAttributes), ..) | (None, Some(_), _) => "SPECIFIC_ATTRIBUTES",
            (Some(SelectMode::AllProjectedAttributes), ..) | (None, None, Some(_)) => {
                "ALL_PROJECTED_ATTRIBUTES"
            }
            (Some(SelectMode::AllAttributes), ..) | (None, None, None) => "ALL_ATTRIBUTES",
        });
        self
    }

    const fn returning(mut self, values: ReturnValue) -> Self {
        self.return_values = Some(values);
        self
    }

    /// This write, and again as one that returns `ALL_OLD` if a failed condition returns the item: policies
    /// have no key of its own for that, and must allow both.
    fn failing(self, on_failure: OnConditionFailure) -> Vec<Self> {
        match on_failure {
            OnConditionFailure::Nothing => vec![self],
            OnConditionFailure::ReturnItem => {
                let failed = self.clone().returning(ReturnValue::AllOld);
                vec![self, failed]
            }
        }
    }

    /// A write with a condition.
    fn writing(operation: Operation, table: &'r TableRef, write: &'r ConditionalWrite) -> Self {
        let made = Self::new(operation, table, write.capacity).returning(write.return_values);
        made.mentioning(write.condition.as_deref())
    }

    fn query(query: &'r Query) -> Self {
        let mut made = Self::new(Operation::Query, &query.table, query.capacity);
        made.index = query.index.as_deref();
        made.keys = Keys::Query(query);
        made.names.extend(query.key_condition.clauses.iter().map(|clause| clause.attribute.as_str()));
        made.mentioning(query.filter.as_ref())
            .reading(query.projection.as_ref(), query.select)
            .returning(ReturnValue::None)
    }

    fn scan(scan: &'r Scan) -> Self {
        let mut made = Self::new(Operation::Scan, &scan.table, scan.capacity);
        made.index = scan.index.as_deref();
        made.mentioning(scan.filter.as_ref())
            .reading(scan.projection.as_ref(), scan.select)
            .returning(ReturnValue::None)
    }

    fn of_batch_get(table: &'r BatchGetTable, capacity: ReturnConsumedCapacity) -> Self {
        let made = Self::new(Operation::BatchGetItem, &table.table, capacity);
        made.of_items(&table.keys).reading(table.projection.as_ref(), None)
    }

    fn member(write: &'r TransactWrite, capacity: ReturnConsumedCapacity) -> Self {
        let of = |operation, item| {
            Self::new(operation, &write.table, capacity).of_items([item]).returning(ReturnValue::None)
        };
        let made = match &write.action {
            TransactAction::Check { key } => {
                let mut made = of(Operation::GetItem, key);
                made.action = Action::ConditionCheckItem;
                made
            }
            TransactAction::Put { item } => of(Operation::PutItem, item),
            TransactAction::Update { key, update } => of(Operation::UpdateItem, key).updating(Some(update)),
            TransactAction::Delete { key } => of(Operation::DeleteItem, key),
        };
        made.mentioning(write.condition.as_ref())
    }

    /// A statement, and what it returns if its condition fails. A SELECT has none.
    fn statements(
        (statement, on_failure): (&'r Statement, OnConditionFailure),
        capacity: ReturnConsumedCapacity,
    ) -> Vec<Self> {
        let on_failure =
            if matches!(statement, Statement::Select(_)) { OnConditionFailure::Nothing } else { on_failure };
        Self::statement(statement, capacity).failing(on_failure)
    }

    fn statement(statement: &'r Statement, capacity: ReturnConsumedCapacity) -> Self {
        let mut made = Self::new(Operation::ExecuteStatement, statement.table(), capacity);
        made.action = statement.touch().action;
        made.keys = Keys::Statement(statement);
        match statement {
            Statement::Select(select) | Statement::Exists(select) => return made.selecting(select),
            Statement::Insert { item, .. } => made.names.extend(item.keys().map(String::as_str)),
            Statement::Update { update, condition, returning, .. } => {
                made.names.extend(condition.iter().flat_map(Where::attributes));
                return made.updating(Some(update)).returning(returning.return_value());
            }
            Statement::Delete { condition, returning, .. } => {
                made.names.extend(condition.iter().flat_map(Where::attributes));
                return made.returning(returning.return_value());
            }
        }
        made
    }

    fn selecting(mut self, select: &'r Select) -> Self {
        self.index = select.index.as_deref();
        let columns = select.columns.iter().flatten().map(|column| column.path.attribute.as_str());
        let condition = select.condition.iter().flat_map(Where::attributes);
        let order = select.order.iter().map(|(name, _)| name.as_str());
        self.names.extend(columns.chain(condition).chain(order));
        let is_specific = select.columns.as_ref().map(|_| SelectMode::SpecificAttributes);
        self.reading(None, is_specific)
    }

    /// What conditions see of this use, in addition to the request's head.
    fn context<'c>(&'c self, judge: &'c impl Surroundings) -> Option<Context<'c>> {
        let (partition, full_scan) = self.partition(judge)?;
        let names = self.names.iter().map(|name| Cow::Borrowed(*name)).collect();
        let mut context = judge
            .context()
            .with(Known::Attributes, Value::Many(names))
            .with(Known::Select, self.select.map_or(Value::Absent, Value::one))
            .with(Known::ReturnValues, self.return_values.map_or(Value::Absent, |one| Value::one(one.name())))
            .with(Known::ReturnConsumedCapacity, Value::one(self.capacity.name()))
            .with(Known::EnclosingOperation, judge.enclosing(Verb::Touched(self.action)));
        for (key, values) in PARTITION_KEYS.into_iter().zip(partition) {
            context = context.with(key, values);
        }
        Some(context.with(Known::FullTableScan, full_scan))
    }

    /// The values of each attribute of the partition key, and whether a SELECT reads everything; none if
    /// there is no such table or index.
    fn partition(&self, judge: &impl Surroundings) -> Option<(Vec<Value<'_>>, Value<'static>)> {
        let Keys::Statement(statement) = &self.keys else {
            let names = judge.partition_names(self.table, self.index)?;
            return Some((names.iter().map(|name| self.values(name)).collect(), Value::Absent));
        };
        let addressed = judge.addressed(statement)?;
        let values = |values: &Vec<AttributeValue>| {
            let owned = |value| text(value).map(|text| Cow::Owned(text.into_owned()));
            Value::Many(values.iter().filter_map(owned).collect())
        };
        let is_select = self.action == Action::PartiqlSelect;
        let full_scan = if is_select { Value::flag(addressed.is_full_scan) } else { Value::Absent };
        Some((addressed.partition_values.iter().map(values).collect(), full_scan))
    }

    /// The values of a key attribute in the request.
    fn values(&self, attribute: &str) -> Value<'_> {
        let values = match &self.keys {
            Keys::None | Keys::Statement(_) => return Value::Absent,
            Keys::Of(items) => items.iter().filter_map(|item| text(item.get(attribute)?)).collect(),
            Keys::Query(query) => {
                let clauses = query.key_condition.clauses.iter();
                let equal = clauses.filter(|clause| clause.attribute == attribute);
                equal
                    .filter_map(|clause| match &clause.predicate {
                        KeyPredicate::Eq(value) => text(value),
                        _ => None,
                    })
                    .collect()
            }
        };
        Value::Many(values)
    }
}

/// What conditions see of a call about one item of a table, all of whose attributes it reads, or about all
/// its items: then a caller who may reach only some of them is denied, as where there is no such table.
pub(super) fn item_context<'c>(judge: &'c Judge, table: &str, key: Option<&'c Item>) -> Context<'c> {
    let unknown = || {
        let mut context = judge.context().with(Known::Attributes, Value::Unknown);
        for key in PARTITION_KEYS {
            context = context.with(key, Value::Unknown);
        }
        context.with(Known::Select, Value::one("ALL_ATTRIBUTES"))
    };
    let names = || judge.engine().partition_names(judge.namespace(), table, None);
    let (Some(key), Some(partition)) = (key, names()) else { return unknown() };
    let names = key.keys().map(|name| Cow::Borrowed(name.as_str())).collect();
    let mut context = judge.context().with(Known::Attributes, Value::Many(names));
    for (known, name) in PARTITION_KEYS.into_iter().zip(&partition) {
        let value = key.get(name).and_then(text);
        context = context.with(known, value.map_or(Value::Unknown, |value| Value::Many(vec![value])));
    }
    context.with(Known::Select, Value::one("ALL_ATTRIBUTES"))
}

/// The value of a key as policies compare it.
fn text(value: &AttributeValue) -> Option<Cow<'_, str>> {
    match value {
        AttributeValue::S(text) => Some(Cow::Borrowed(text)),
        AttributeValue::N(number) => Some(Cow::Owned(number.to_string())),
        AttributeValue::B(bytes) => Some(Cow::Owned(STANDARD.encode(bytes))),
        _ => None,
    }
}

/// The uses of tables by a request on items; none for other requests.
fn uses<'r>(request: &'r Request) -> Option<Vec<Use<'r>>> {
    Some(match request {
        Request::GetItem(get) => vec![
            Use::new(Operation::GetItem, &get.table, get.capacity)
                .of_items([&get.key])
                .reading(get.projection.as_deref(), None),
        ],
        Request::PutItem(put) => {
            let made = Use::writing(Operation::PutItem, &put.table, &put.write).of_items([&put.item]);
            made.failing(put.write.on_condition_failure)
        }
        Request::UpdateItem(update) => Use::writing(Operation::UpdateItem, &update.table, &update.write)
            .of_items([&update.key])
            .updating(update.update.as_ref())
            .failing(update.write.on_condition_failure),
        Request::DeleteItem(delete) => {
            let made = Use::writing(Operation::DeleteItem, &delete.table, &delete.write);
            made.of_items([&delete.key]).failing(delete.write.on_condition_failure)
        }
        Request::Query(query) => vec![Use::query(query)],
        Request::Scan(scan) => vec![Use::scan(scan)],
        Request::BatchGetItem(batch) => {
            let of = |table| Use::of_batch_get(table, batch.capacity);
            batch.tables.iter().map(of).collect()
        }
        Request::BatchWriteItem(batch) => batch
            .tables
            .iter()
            .map(|table| {
                let items = table.writes.iter().map(|write| match write {
                    BatchWrite::Put(item) | BatchWrite::Delete(item) => item,
                });
                Use::new(Operation::BatchWriteItem, &table.table, batch.capacity).of_items(items)
            })
            .collect(),
        Request::TransactGetItems(transaction) => transaction
            .gets
            .iter()
            .map(|get| {
                Use::new(Operation::GetItem, &get.table, transaction.capacity)
                    .of_items([&get.key])
                    .reading(get.projection.as_ref(), None)
            })
            .collect(),
        Request::TransactWriteItems(transaction) => {
            let member = |write: &'r TransactWrite| {
                Use::member(write, transaction.capacity).failing(write.on_condition_failure)
            };
            transaction.actions.iter().flat_map(member).collect()
        }
        Request::ExecuteStatement(request) => {
            Use::statements((&request.statement, request.on_condition_failure), request.capacity)
        }
        Request::ExecuteTransaction(request) => {
            let statements = request.statements.iter().map(|one| (&one.statement, one.on_condition_failure));
            statements.flat_map(|statement| Use::statements(statement, request.capacity)).collect()
        }
        _ => return None,
    })
}

/// What conditions see of each use of a table by a request on items, to look at: no context where a table or
/// index is not known. Whether the request is on items.
pub(crate) fn each_use(
    request: &Request,
    around: &impl Surroundings,
    mut look: impl FnMut(&Touches<'_>, Option<Context<'_>>),
) -> bool {
    let Some(uses) = uses(request) else { return false };
    for used in &uses {
        let resource = Resource::of_table(used.table.as_given(), used.index);
        look(&Touches::One(Touch { action: used.action, resource }), used.context(around));
    }
    true
}

/// Judges what the first look left open. A table that does not exist has no keys: a caller who may reach only
/// some of its items is denied.
pub(super) fn look(
    request: &mut Request,
    judge: &Judge,
    touches: &Touches<'_>,
    trace: &mut Trace,
) -> Result<(), Error> {
    if let Request::BatchExecuteStatement(batch) = request {
        look_at_each(batch, judge, touches, trace);
        return Ok(());
    }
    let Some(uses) = uses(request) else { return judge.look_without_items(touches) };
    uses.iter().try_for_each(|used| look_at_use(used, judge))
}

fn look_at_use(used: &Use<'_>, judge: &Judge) -> Result<(), Error> {
    let resource = Resource::of_table(used.table.as_given(), used.index);
    let one = Touches::One(Touch { action: used.action, resource });
    let Some(context) = used.context(judge) else { return Err(judge.undecided_touches(&one)) };
    judge.look_again(&one, &context)
}

/// Judges the statements of a batch, each by itself. A denial takes the statement's place.
fn look_at_each(batch: &mut BatchExecuteStatement, judge: &Judge, touches: &Touches<'_>, trace: &mut Trace) {
    let capacity = batch.capacity;
    let touches = touches.as_slice();
    assert_eq!(touches.len(), batch.statements.len(), "every statement of a batch touches something");
    for (statement, touch) in batch.statements.iter_mut().zip(touches) {
        let looked = judge.look(&Touches::One(touch.clone())).and_then(|look| match (look, &*statement) {
            (Look::Allowed, _) | (Look::Depends, Err(_)) => Ok(()),
            (Look::Depends, Ok(statement)) => {
                let uses = Use::statements((&statement.statement, statement.on_condition_failure), capacity);
                uses.iter().try_for_each(|used| look_at_use(used, judge))
            }
        });
        if let Err(denied) = looked {
            trace.note_denial(&denied);
            *statement = Err(denied);
        }
    }
}

#[cfg(test)]
mod tests {
    use keywright_wire::{Shaped, shape};

    use super::*;

    /// Each use of a table by a request: the names it mentions, what it selects and what it returns.
    fn uses_of(operation: Operation, body: &str) -> Vec<String> {
        let request = shape(operation, body.as_bytes()).and_then(Shaped::judge);
        let request = request.unwrap_or_else(|error| panic!("{}: {body}", error.message));
        let shown = |used: &Use<'_>| {
            let names: Vec<&str> = used.names.iter().copied().collect();
            let returned = used.return_values.map_or("-", ReturnValue::name);
            format!("{}: {} {returned}", names.join(" "), used.select.unwrap_or("-"))
        };
        uses(&request).expect("a request on items").iter().map(shown).collect()
    }

    #[test]
    fn a_read_mentions_its_key_its_projection_and_its_filter_in_both_forms() {
        let [get, query] = [
            r#"{"TableName": "T", "Key": {"k": {"S": "a"}}"#,
            r#"{"TableName": "T", "KeyConditions": {"k": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}}"#,
        ];
        let modern = r#"{"TableName": "T", "KeyConditionExpression": "k = :k", "ExpressionAttributeValues": {":k": {"S": "a"}}"#;
        for (operation, body, expected) in [
            (Operation::GetItem, format!("{get}}}"), "k: ALL_ATTRIBUTES -"),
            (
                Operation::GetItem,
                format!(r#"{get}, "ProjectionExpression": "x.y, z[0]"}}"#),
                "k x z: SPECIFIC_ATTRIBUTES -",
            ),
            (
                Operation::GetItem,
                format!(r#"{get}, "AttributesToGet": ["x"]}}"#),
                "k x: SPECIFIC_ATTRIBUTES -",
            ),
            (
                Operation::Query,
                format!(r#"{modern}, "FilterExpression": "x = :k OR NOT contains(y.z, w)"}}"#),
                "k w x y: ALL_ATTRIBUTES NONE",
            ),
            (
                Operation::Query,
                format!(r#"{query}, "QueryFilter": {{"x": {{"ComparisonOperator": "NULL"}}}}}}"#),
                "k x: ALL_ATTRIBUTES NONE",
            ),
            (
                Operation::Query,
                format!(r#"{query}, "IndexName": "Ind", "Select": "COUNT"}}"#),
                "k: COUNT NONE",
            ),
            (
                Operation::Scan,
                r#"{"TableName": "T", "IndexName": "Ind",
                    "ScanFilter": {"x": {"ComparisonOperator": "NOT_NULL"}}}"#
                    .to_owned(),
                "x: ALL_PROJECTED_ATTRIBUTES NONE",
            ),
            (
                Operation::Scan,
                r#"{"TableName": "T", "AttributesToGet": ["y"],
                    "ScanFilter": {"x": {"ComparisonOperator": "NULL"}}}"#
                    .to_owned(),
                "x y: SPECIFIC_ATTRIBUTES NONE",
            ),
        ] {
            assert_eq!(uses_of(operation, &body), [expected], "{body}");
        }
    }

    #[test]
    fn a_write_mentions_its_item_its_update_and_its_condition_in_both_forms() {
        let [put, update] = [
            r#"{"TableName": "T", "Item": {"k": {"S": "a"}, "x": {"M": {"y": {"S": "a"}}}}"#,
            r#"{"TableName": "T", "Key": {"k": {"S": "a"}}"#,
        ];
        for (operation, body, expected) in [
            (
                Operation::PutItem,
                format!(r#"{put}, "Expected": {{"z": {{"Exists": false}}}}}}"#),
                &["k x z: - NONE"][..],
            ),
            (
                Operation::PutItem,
                format!(
                    r#"{put}, "ConditionExpression": "attribute_exists(z.w)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}"#
                ),
                // A failed condition returns the item: that counts as a second use.
                &["k x z: - NONE", "k x z: - ALL_OLD"],
            ),
            (
                Operation::UpdateItem,
                format!(
                    r#"{update}, "UpdateExpression": "SET x.y = if_not_exists(z, w) REMOVE v",
                        "ReturnValues": "UPDATED_NEW"}}"#
                ),
                &["k v w x z: - UPDATED_NEW"],
            ),
            (
                Operation::UpdateItem,
                format!(
                    r#"{update}, "AttributeUpdates": {{"x": {{"Action": "DELETE"}}}},
                        "Expected": {{"z": {{"ComparisonOperator": "NULL"}}}}}}"#
                ),
                &["k x z: - NONE"],
            ),
            (
                Operation::DeleteItem,
                format!(r#"{update}, "ConditionExpression": "attribute_not_exists(x)"}}"#),
                &["k x: - NONE"],
            ),
        ] {
            assert_eq!(uses_of(operation, &body), expected, "{body}");
        }
    }

    #[test]
    fn each_table_of_a_batch_and_each_member_of_a_transaction_is_a_use() {
        let batch = r#"{"RequestItems": {"Tab": {"Keys": [{"k": {"S": "a"}}], "AttributesToGet": ["x"]},
            "Two": {"Keys": [{"l": {"S": "a"}}]}}}"#;
        let expected = ["k x: SPECIFIC_ATTRIBUTES -", "l: ALL_ATTRIBUTES -"];
        assert_eq!(uses_of(Operation::BatchGetItem, batch), expected);
        let transaction = r#"{"TransactItems": [
            {"ConditionCheck": {"TableName": "T", "Key": {"k": {"S": "a"}},
                "ConditionExpression": "attribute_exists(x)"}},
            {"Update": {"TableName": "T", "Key": {"k": {"S": "b"}}, "UpdateExpression": "REMOVE y"}}]}"#;
        assert_eq!(uses_of(Operation::TransactWriteItems, transaction), ["k x: - NONE", "k y: - NONE"]);
    }
}
