//! The real request of a row: its keys, attributes and other values are those that the row names.

use serde_json::{Map, Value, json};

use super::rows::{Design, Row};

/// What a table has that a request names.
pub(crate) struct Place<'p> {
    /// The account that owns the tables.
    pub(crate) owner: &'p str,
    pub(crate) stream: Option<&'p str>,
    /// The first shard of the stream, and an iterator of it.
    pub(crate) shard: &'p str,
    pub(crate) iterator: &'p str,
}

/// What a row's request is made of.
struct Parts<'r> {
    row: &'r Row,
    design: Design,
    /// The table as the request names it: its ARN across accounts.
    table: String,
    names: Map<String, Value>,
}

/// The operation of a row's request, and its body.
pub(crate) fn request(row: &Row, place: &Place<'_>) -> (String, Value) {
    let design = row.design();
    let name = &design.name;
    let arn = format!("arn:aws:dynamodb:{}:{}:table/{name}", row.region(), place.owner);
    let is_own = row.caller_account(place.owner) == place.owner;
    let table = if is_own { name.clone() } else { arn.clone() };
    let action = row.action();
    let body = match action {
        "ListTables" => json!({}),
        "DescribeTable" | "DeleteTable" => json!({"TableName": table}),
        "CreateTable" => {
            let mut body = design.create();
            body["Tags"] = given_tags(row);
            body
        }
        "TagResource" => json!({"ResourceArn": arn, "Tags": given_tags(row)}),
        "DeleteResourcePolicy" => json!({"ResourceArn": arn}),
        "DescribeStream" => json!({"StreamArn": stream(row, place)}),
        "GetShardIterator" => json!({"StreamArn": stream(row, place), "ShardId": place.shard,
            "ShardIteratorType": "TRIM_HORIZON"}),
        "GetRecords" => json!({"ShardIterator": place.iterator}),
        _ => return Parts { row, design, table, names: Map::new() }.of_items(action),
    };
    (action.to_owned(), body)
}

fn stream(row: &Row, place: &Place<'_>) -> String {
    place.stream.map_or_else(|| row.resource(place.owner), str::to_owned)
}

/// The tags that a request gives.
fn given_tags(row: &Row) -> Value {
    let value = |key: &str| row.context(&format!("aws:RequestTag/{key}")).unwrap_or("any").to_owned();
    let keys = row.values("aws:TagKeys").unwrap_or_default();
    keys.into_iter().map(|key| json!({"Key": key, "Value": value(key)})).collect()
}

impl Parts<'_> {
    /// The values of the partition key.
    fn leading(&self) -> Vec<&str> {
        self.row.values("dynamodb:LeadingKeys").unwrap_or_else(|| vec!["a"])
    }

    /// The key of the item of that place among the leading keys.
    fn key(&self, which: usize) -> Value {
        let mut key = json!({});
        key[&self.design.key] = json!({"S": self.leading()[which]});
        if let Some(sort) = &self.design.sort {
            key[sort] = json!({"S": format!("s{which}")});
        }
        key
    }

    fn keys(&self) -> Value {
        (0..self.leading().len()).map(|which| self.key(which)).collect()
    }

    /// Attributes that are not those of the key.
    fn others(&self) -> Vec<String> {
        let names = self.row.values("dynamodb:Attributes").unwrap_or_default();
        let is_other = |name: &&str| *name != self.design.key && Some(*name) != self.design.sort.as_deref();
        names.into_iter().filter(is_other).map(str::to_owned).collect()
    }

    fn item(&self, which: usize) -> Value {
        let mut item = self.key(which);
        for name in self.others() {
            item[&name] = json!({"S": "v"});
        }
        item
    }

    /// A placeholder for a name.
    fn name(&mut self, name: &str) -> String {
        let placeholder = format!("#n{}", self.names.len());
        self.names.insert(placeholder.clone(), name.into());
        placeholder
    }

    /// The body with the projection or selection of the row, on its index.
    fn reading(&mut self, mut body: Value) -> Value {
        match self.row.context("dynamodb:Select") {
            Some("SPECIFIC_ATTRIBUTES") => {
                let names = self.row.values("dynamodb:Attributes").unwrap_or_default();
                let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
                let names: Vec<String> = names.iter().map(|name| self.name(name)).collect();
                body["ProjectionExpression"] = names.join(", ").into();
            }
            Some(select) if ["Query", "Scan"].contains(&self.row.action()) => body["Select"] = select.into(),
            _ => {}
        }
        if let Some((index, _)) = &self.design.index {
            body["IndexName"] = index.as_str().into();
        }
        self.named(body)
    }

    fn named(&mut self, mut body: Value) -> Value {
        if !self.names.is_empty() {
            body["ExpressionAttributeNames"] = Value::Object(std::mem::take(&mut self.names));
        }
        body
    }

    fn query(&mut self) -> Value {
        let keys = self.design.index.as_ref().map_or(vec![self.design.key.clone()], |index| index.1.clone());
        let second = self.row.values("dynamodb:SecondPartitionKeyValues").unwrap_or_default();
        let wanted = [self.leading()[0].to_owned()];
        let wanted: Vec<String> = wanted.into_iter().chain(second.into_iter().map(str::to_owned)).collect();
        let mut values = json!({});
        let mut terms = Vec::new();
        for (place, (name, value)) in keys.iter().zip(&wanted).enumerate() {
            terms.push(format!("{} = :v{place}", self.name(name)));
            values[format!(":v{place}")] = json!({"S": value});
        }
        let body = json!({"TableName": self.table, "KeyConditionExpression": terms.join(" AND "),
            "ExpressionAttributeValues": values});
        self.reading(body)
    }

    fn update(&mut self) -> Value {
        let mut body = json!({"TableName": self.table, "Key": self.key(0)});
        let others = self.others();
        if !others.is_empty() {
            let terms: Vec<String> = others.iter().map(|name| format!("{} = :v", self.name(name))).collect();
            body["UpdateExpression"] = format!("SET {}", terms.join(", ")).into();
            body["ExpressionAttributeValues"] = json!({":v": {"S": "v"}});
        }
        self.named(body)
    }

    fn of_items(mut self, action: &str) -> (String, Value) {
        let table = self.table.clone();
        let mut body = match action {
            "GetItem" => {
                let body = json!({"TableName": table, "Key": self.key(0)});
                self.reading(body)
            }
            "PutItem" => json!({"TableName": table, "Item": self.item(0)}),
            "DeleteItem" => json!({"TableName": table, "Key": self.key(0)}),
            "UpdateItem" => self.update(),
            "Query" => self.query(),
            "Scan" => self.reading(json!({"TableName": table})),
            "BatchGetItem" => {
                let body = json!({"Keys": self.keys()});
                json!({"RequestItems": {table: self.reading(body)}})
            }
            "BatchWriteItem" => json!({"RequestItems": {table: [{"PutRequest": {"Item": self.item(0)}}]}}),
            "ConditionCheckItem" => json!({"TableName": table, "Key": self.key(0),
                "ConditionExpression": "attribute_not_exists(other)"}),
            _ => json!({"Statement": self.statement(action)}),
        };
        if let Some(returned) = self.row.context("dynamodb:ReturnValues").filter(|_| action != "PutItem") {
            body["ReturnValues"] = returned.into();
        }
        let is_check = action == "ConditionCheckItem";
        let enclosing = self.row.context("dynamodb:EnclosingOperation");
        match enclosing.or(is_check.then_some("TransactWriteItems")) {
            Some("ExecuteTransaction") => {
                ("ExecuteTransaction".to_owned(), json!({"TransactStatements": [body]}))
            }
            Some(operation) => {
                let member = action.strip_suffix("Item").unwrap();
                (operation.to_owned(), json!({"TransactItems": [{member: body}]}))
            }
            None if body.get("Statement").is_some() => ("ExecuteStatement".to_owned(), body),
            None => (action.to_owned(), body),
        }
    }

    fn statement(&self, action: &str) -> String {
        let Design { name, key, index, .. } = &self.design;
        let value = self.leading()[0];
        let table = match index {
            Some((index, _)) => format!("\"{name}\".\"{index}\""),
            None => format!("\"{name}\""),
        };
        let of_item = format!("WHERE \"{key}\" = '{value}'");
        match action {
            "PartiQLInsert" => {
                format!("INSERT INTO {table} VALUE {{'{key}': 'new {}'}}", self.row.number)
            }
            "PartiQLUpdate" => format!("UPDATE {table} SET other = 1 {of_item}"),
            "PartiQLDelete" => format!("DELETE FROM {table} {of_item}"),
            "PartiQLSelect" if self.row.context("dynamodb:FullTableScan") == Some("true") => {
                format!("SELECT * FROM {table}")
            }
            "PartiQLSelect" => format!("SELECT * FROM {table} {of_item}"),
            other => panic!("no request for {other}: write one here"),
        }
    }
}
