//! The database and its naive model: both get each request, and their answers must be the same.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde_json::{Value, json};

use super::action::Action;
use super::projection::{self, Shown};
use super::random::Op;
use super::reading::Reading;
use super::{CONDITION_FAILED, DUPLICATE, Key, Naive, VALIDATION, key_json};
use crate::support::in_process::{Answer, Api, block_on};

/// A fault planted between the test and the database, which the test must detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    /// Deletes lose their condition.
    Unconditional,
    /// The global index is read in the other direction.
    Backwards,
    /// A batch loses its last request.
    ShortBatch,
    /// Filters on the local index are left out.
    Unfiltered,
    /// ADD replaces a set instead of adding to it.
    Replaced,
}

impl Planted {
    fn spoil(self, operation: &str, body: &mut Value) {
        let Some(body) = body.as_object_mut() else { return };
        match self {
            Self::Unconditional if operation == "DeleteItem" => {
                body.remove("ConditionExpression");
                body.remove("ExpressionAttributeValues");
            }
            Self::Backwards if operation == "Query" && body.get("IndexName") == Some(&json!("gsi")) => {
                let forward = body.get("ScanIndexForward") == Some(&json!(true));
                body.insert("ScanIndexForward".to_owned(), json!(!forward));
            }
            Self::ShortBatch if operation == "BatchWriteItem" => {
                let requests = body.get_mut("RequestItems").and_then(|tables| tables["tab"].as_array_mut());
                if let Some(requests) = requests.filter(|requests| requests.len() > 1) {
                    requests.pop();
                }
            }
            Self::Unfiltered if operation == "Scan" && body.get("IndexName") == Some(&json!("lsi")) => {
                body.remove("FilterExpression");
                body.remove("ExpressionAttributeValues");
            }
            Self::Replaced if operation == "UpdateItem" => {
                let text = body.get("UpdateExpression").and_then(Value::as_str).unwrap_or_default();
                if let Some(value) = text.strip_prefix("ADD u ").filter(|rest| !rest.contains([',', ' '])) {
                    body.insert("UpdateExpression".to_owned(), json!(format!("SET u = {value}")));
                }
            }
            _ => {}
        }
    }
}

pub struct Pair<A: Api> {
    database: A,
    naive: Naive,
    planted: Planted,
}

type Outcome = Result<(), String>;

fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, and {expected:?} was expected")) }
}

fn good(answer: Answer) -> Result<Value, String> {
    match answer {
        Answer::Good(body) => Ok(body),
        other => Err(format!("a good answer was expected, not {other:?}")),
    }
}

fn create_table() -> Value {
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let index = |name: &str, hash: &str, range: &str| {
        json!({
            "IndexName": name,
            "KeySchema": [key(hash, "HASH"), key(range, "RANGE")],
            "Projection": {"ProjectionType": "ALL"},
        })
    };
    json!({
        "TableName": "tab",
        "AttributeDefinitions":
            [attribute("pk", "S"), attribute("sk", "S"), attribute("g", "S"), attribute("n", "N"), attribute("l", "S")],
        "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
        "GlobalSecondaryIndexes": [index("gsi", "g", "n")],
        "LocalSecondaryIndexes": [index("lsi", "pk", "l")],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

/// The service's code of an error inside a transaction or a batch of statements.
fn code_of(fault: &str) -> &'static str {
    match fault {
        CONDITION_FAILED => "ConditionalCheckFailed",
        DUPLICATE => "DuplicateItem",
        VALIDATION => "ValidationError",
        other => panic!("no code for {other}"),
    }
}

fn shown(item: Option<Value>, projection: Option<&[Shown]>) -> Option<Value> {
    item.map(|item| match projection {
        Some(projection) => projection::apply(projection, &item),
        None => item,
    })
}

fn with_projection(mut body: Value, projection: Option<&[Shown]>) -> Value {
    if let Some(projection) = projection {
        body["ProjectionExpression"] = json!(projection::text(projection));
    }
    body
}

/// Sets and members of objects have no order.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => BTreeMap::from_iter(object)
            .into_iter()
            .map(|(name, value)| {
                let mut value = canonical(value);
                if name == "SS"
                    && let Some(set) = value.as_array_mut()
                {
                    set.sort_by_key(Value::to_string);
                }
                (name.clone(), value)
            })
            .collect(),
        Value::Array(values) => values.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

fn sorted(items: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = items.iter().map(|item| canonical(item).to_string()).collect();
    texts.sort();
    texts
}

impl<A: Api> Pair<A> {
    /// With a database that has no table yet.
    pub fn new(database: A, planted: Planted) -> Self {
        block_on(database.call("CreateTable", &create_table())).good();
        Self { database, naive: Naive::default(), planted }
    }

    fn call(&self, operation: &str, body: &Value) -> Answer {
        let mut body = body.clone();
        self.planted.spoil(operation, &mut body);
        match block_on(self.database.call(operation, &body)) {
            Answer::Good(body) => Answer::Good(canonical(&body)),
            other => other,
        }
    }

    pub fn step(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Write(action, wanted) => self.write(action, wanted),
            Op::Statement(action) => self.statement(action),
            Op::Get(key, projection) => self.get(key, projection.as_deref()),
            Op::BatchGet(keys, projection) => self.batch_get(keys, projection.as_deref()),
            Op::BatchWrite(actions) => self.batch_write(actions),
            Op::BatchStatement(actions) => self.batch_statement(actions),
            Op::TransactGet(keys, projection) => self.transact_get(keys, projection.as_deref()),
            Op::TransactWrite(actions) => {
                let requests: Vec<Value> = actions.iter().map(Action::transact_request).collect();
                let answer = self.call("TransactWriteItems", &json!({"TransactItems": requests}));
                self.transacted(actions, answer, Naive::apply)
            }
            Op::TransactStatement(actions) => {
                let (actions, statements) = statements(actions);
                if statements.is_empty() {
                    return Ok(());
                }
                let answer = self.call("ExecuteTransaction", &json!({"TransactStatements": statements}));
                self.transacted(&actions, answer, Naive::apply_statement)
            }
            Op::Read(reading) => self.read(reading),
            Op::Select(reading) => self.select(reading),
        }
    }

    fn get(&self, key: &Key, projection: Option<&[Shown]>) -> Outcome {
        let body = with_projection(json!({"TableName": "tab", "Key": key_json(key)}), projection);
        let found = good(self.call("GetItem", &body))?;
        same("GetItem", &found.get("Item").cloned(), &shown(self.naive.item_json(key), projection))
    }

    fn batch_get(&self, keys: &[Key], projection: Option<&[Shown]>) -> Outcome {
        let asked: Vec<Value> = keys.iter().map(key_json).collect();
        let of_table = with_projection(json!({ "Keys": asked }), projection);
        let answer = good(self.call("BatchGetItem", &json!({"RequestItems": {"tab": of_table}})))?;
        let expected: Vec<Value> =
            keys.iter().filter_map(|key| shown(self.naive.item_json(key), projection)).collect();
        let found = answer["Responses"]["tab"].as_array().cloned().unwrap_or_default();
        same("BatchGetItem", &sorted(&found), &sorted(&expected))
    }

    fn transact_get(&self, keys: &[Key], projection: Option<&[Shown]>) -> Outcome {
        let get = |key| json!({"Get": with_projection(json!({"TableName": "tab", "Key": key_json(key)}), projection)});
        let gets: Vec<Value> = keys.iter().map(get).collect();
        let answer = good(self.call("TransactGetItems", &json!({"TransactItems": gets})))?;
        let found = answer["Responses"].as_array().cloned().unwrap_or_default();
        let found: Vec<_> = found.iter().map(|one| one.get("Item").cloned()).collect();
        // Here an item with an empty projection is reported like a missing item.
        let expected = |key| shown(self.naive.item_json(key), projection).filter(|item| item != &json!({}));
        let expected: Vec<_> = keys.iter().map(expected).collect();
        same("TransactGetItems", &found, &expected)
    }

    fn write(&mut self, action: &Action, wanted: &str) -> Outcome {
        let (operation, mut body) = action.request();
        body["ReturnValues"] = json!(wanted);
        if action.condition().is_some() {
            body["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
        }
        let answer = self.call(operation, &body);
        let before = self.naive.clone();
        match (self.naive.apply(action), answer) {
            (Ok(()), answer) => {
                let expected = returned(action, wanted, &before, &self.naive);
                same(wanted, &good(answer)?.get("Attributes").cloned(), &expected)
            }
            (Err(fault), Answer::Fault(name, body)) if name == fault => {
                let expected = before.item_json(action.key()).filter(|_| fault == CONDITION_FAILED);
                same("the item that failed the condition", &body.get("Item").map(canonical), &expected)
            }
            (Err(fault), answer) => Err(format!("{operation}: {fault} was expected, not {answer:?}")),
        }
    }

    fn statement(&mut self, action: &Action) -> Outcome {
        let Some(statement) = action.statement() else { return Ok(()) };
        let answer = self.call("ExecuteStatement", &statement);
        match (self.naive.apply_statement(action), answer) {
            (Ok(()), answer) => good(answer).map(drop),
            (Err(fault), Answer::Fault(name, _)) if name == fault => Ok(()),
            (Err(fault), answer) => Err(format!("{statement}: {fault} was expected, not {answer:?}")),
        }
    }

    fn batch_write(&mut self, actions: &[Action]) -> Outcome {
        let requests: Vec<Value> = actions.iter().filter_map(Action::batch_request).collect();
        if requests.is_empty() {
            return Ok(());
        }
        let answer = good(self.call("BatchWriteItem", &json!({"RequestItems": {"tab": requests}})))?;
        same("UnprocessedItems", &answer["UnprocessedItems"], &json!({}))?;
        for action in actions.iter().filter(|action| action.batch_request().is_some()) {
            self.naive.apply(action)?;
        }
        Ok(())
    }

    fn batch_statement(&mut self, actions: &[Action]) -> Outcome {
        let (actions, statements) = statements(actions);
        if statements.is_empty() {
            return Ok(());
        }
        let answer = good(self.call("BatchExecuteStatement", &json!({"Statements": statements})))?;
        let code = |response: &Value| response["Error"]["Code"].as_str().map(str::to_owned);
        let found: Vec<_> = answer["Responses"].as_array().into_iter().flatten().map(code).collect();
        let expected: Vec<_> = actions
            .iter()
            .map(|action| self.naive.apply_statement(action).err().map(|fault| code_of(fault).to_owned()))
            .collect();
        same("errors of a batch of statements", &found, &expected)
    }

    fn transacted(
        &mut self,
        actions: &[Action],
        answer: Answer,
        apply: fn(&mut Naive, &Action) -> Result<(), &'static str>,
    ) -> Outcome {
        let mut after = self.naive.clone();
        let mut codes: Vec<&str> =
            actions.iter().map(|action| apply(&mut after, action).err().map_or("None", code_of)).collect();
        // Only the first of these is reported, and no other reason.
        if let Some(first) = codes.iter().position(|code| *code == "ValidationError") {
            codes = (0..codes.len())
                .map(|place| if place == first { "ValidationError" } else { "None" })
                .collect();
        }
        if codes.iter().all(|code| *code == "None") {
            self.naive = after;
            return good(answer).map(drop);
        }
        match answer {
            Answer::Fault(name, body) if name == "TransactionCanceledException" => {
                let reasons = body["CancellationReasons"].as_array().cloned().unwrap_or_default();
                let found: Vec<&str> =
                    reasons.iter().map(|reason| reason["Code"].as_str().unwrap_or_default()).collect();
                same("cancellation reasons", &found, &codes)
            }
            answer => Err(format!("a cancelled transaction was expected, {codes:?}, not {answer:?}")),
        }
    }

    pub fn read(&self, reading: &Reading) -> Outcome {
        let mut found = Vec::new();
        let (mut count, mut scanned) = (0, 0);
        let segments = if reading.hash.is_none() { reading.segments } else { 1 };
        for segment in 0..segments {
            let (operation, mut body) = reading.request(segment, segments);
            loop {
                let page = good(self.call(operation, &body))?;
                count += page["Count"].as_u64().unwrap_or_default();
                scanned += page["ScannedCount"].as_u64().unwrap_or_default();
                if let Some(items) = page["Items"].as_array() {
                    same("Count", &page["Count"].as_u64(), &items.len().try_into().ok())?;
                    found.extend(items.iter().cloned());
                }
                match page.get("LastEvaluatedKey") {
                    Some(last) => body["ExclusiveStartKey"] = last.clone(),
                    None => break,
                }
            }
        }
        let (expected, examined) = self.naive.read(reading);
        same("counts", &(count, scanned), &(u64::try_from(expected.len()).unwrap(), examined))?;
        if reading.count_only {
            return same("items of a count", &found, &Vec::new());
        }
        let Some(projection) = &reading.projection else { return compare(reading, &found, &expected) };
        let expected: Vec<Value> = expected.iter().map(|item| projection::apply(projection, item)).collect();
        same("projected items", &sorted(&found), &sorted(&expected))
    }

    fn select(&self, reading: &Reading) -> Outcome {
        let mut body = reading.statement();
        let mut found = Vec::new();
        loop {
            let page = good(self.call("ExecuteStatement", &body))?;
            found.extend(page["Items"].as_array().cloned().unwrap_or_default());
            match page.get("NextToken") {
                Some(token) => body["NextToken"] = token.clone(),
                None => break,
            }
        }
        compare(reading, &found, &self.naive.read(reading).0)
    }
}

/// The same items, and those of a Query in the same order.
fn compare(reading: &Reading, found: &[Value], expected: &[Value]) -> Outcome {
    same("items", &sorted(found), &sorted(expected))?;
    if reading.hash.is_none() {
        return Ok(());
    }
    let order = |items: &[Value]| items.iter().map(|item| reading.order_of(item)).collect::<Vec<_>>();
    same("the order of a query", &order(found), &order(expected))
}

/// The actions that PartiQL can express, with their statements.
fn statements(actions: &[Action]) -> (Vec<Action>, Vec<Value>) {
    actions.iter().filter_map(|action| Some((action.clone(), action.statement()?))).unzip()
}

/// The attributes that a write returns.
fn returned(action: &Action, wanted: &str, before: &Naive, after: &Naive) -> Option<Value> {
    let key = action.key();
    let touched = |naive: &Naive| {
        let (Action::Update { changes, .. }, Some(item)) = (action, naive.get(key)) else { return None };
        let parts =
            changes.iter().filter_map(|change| Some((change.attribute().to_owned(), change.shown(item)?)));
        let parts: serde_json::Map<String, Value> = parts.collect();
        (!parts.is_empty()).then_some(Value::Object(parts))
    };
    match wanted {
        "ALL_OLD" => before.item_json(key),
        "ALL_NEW" => after.item_json(key),
        "UPDATED_OLD" => touched(before),
        "UPDATED_NEW" => touched(after),
        _ => None,
    }
}
