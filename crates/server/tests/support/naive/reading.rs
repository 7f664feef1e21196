//! A Query or a Scan over all its pages, natively or as a SELECT.

use serde_json::{Value, json};

use super::condition::Condition;
use super::expression::Expression;
use super::projection::{self, Shown};
use super::{number, number_of, text};

/// A Query of one partition (`hash`) or a Scan.
#[derive(Clone, Debug)]
pub struct Reading {
    pub index: Option<&'static str>,
    pub hash: Option<String>,
    /// Of a Query's sort key.
    pub range: Option<Range>,
    pub forward: bool,
    pub limit: Option<usize>,
    pub filter: Option<Condition>,
    pub projection: Option<Vec<Shown>>,
    pub count_only: bool,
    pub segments: u32,
}

/// Bounds are small numbers that stand for values of the sort key.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    Compared(&'static str, u8),
    Between(u8, u8),
    /// For numbers, which have no prefix, no condition at all.
    Prefix(u8),
}

impl Reading {
    pub fn everything(index: Option<&'static str>) -> Self {
        Self {
            index,
            hash: None,
            range: None,
            forward: true,
            limit: None,
            filter: None,
            projection: None,
            count_only: false,
            segments: 1,
        }
    }

    pub fn key_names(&self) -> (&'static str, &'static str) {
        match self.index {
            None => ("pk", "sk"),
            Some("gsi") => ("g", "n"),
            Some(_) => ("pk", "l"),
        }
    }

    fn value_at(&self, place: u8) -> Value {
        match self.index {
            None => text(format!("s{place}")),
            Some("gsi") => number(i64::from(place) - 2),
            Some(_) => text(format!("v{place}")),
        }
    }

    /// The condition on the sort key, if there is one.
    fn usable_range(&self) -> Option<Range> {
        let numbers = self.key_names().1 == "n";
        self.range.filter(|range| self.hash.is_some() && !(numbers && matches!(range, Range::Prefix(_))))
    }

    pub fn range_covers(&self, sort: &Value) -> bool {
        let place = |place: u8| order(&self.value_at(place));
        let own = order(sort);
        match self.usable_range() {
            None => true,
            Some(Range::Compared("<", bound)) => own < place(bound),
            Some(Range::Compared("<=", bound)) => own <= place(bound),
            Some(Range::Compared(">", bound)) => own > place(bound),
            Some(Range::Compared(">=", bound)) => own >= place(bound),
            Some(Range::Compared(_, bound)) => own == place(bound),
            Some(Range::Between(least, greatest)) => place(least) <= own && own <= place(greatest),
            Some(Range::Prefix(bound)) => own.1.starts_with(&place(bound).1),
        }
    }

    /// A Query may not filter by the keys it reads.
    pub fn usable_filter(&self) -> Option<&Condition> {
        let (hash, sort) = self.key_names();
        self.filter
            .as_ref()
            .filter(|filter| self.hash.is_none() || !(filter.names(hash) || filter.names(sort)))
    }

    pub fn request(&self, segment: u32, segments: u32) -> (&'static str, Value) {
        let mut expression = Expression::default();
        let mut body = json!({"TableName": "tab"});
        if let Some(index) = self.index {
            body["IndexName"] = json!(index);
        }
        if let Some(limit) = self.limit {
            body["Limit"] = json!(limit);
        }
        if let Some(filter) = self.usable_filter() {
            body["FilterExpression"] = json!(filter.text(&mut expression));
        }
        if self.count_only {
            body["Select"] = json!("COUNT");
        } else if let Some(shown) = &self.projection {
            body["ProjectionExpression"] = json!(projection::text(shown));
        }
        let operation = if let Some(wanted) = &self.hash {
            let (hash, sort) = self.key_names();
            let of = format!("{hash} = {}", expression.text(wanted));
            let mut at = |place: u8| expression.value(self.value_at(place));
            let on_sort = self.usable_range().map(|range| match range {
                Range::Compared(sign, place) => format!("{sort} {sign} {}", at(place)),
                Range::Between(least, greatest) => {
                    format!("{sort} BETWEEN {} AND {}", at(least), at(greatest))
                }
                Range::Prefix(place) => format!("begins_with({sort}, {})", at(place)),
            });
            let text = on_sort.map_or_else(|| of.clone(), |on_sort| format!("{of} AND {on_sort}"));
            body["KeyConditionExpression"] = json!(text);
            body["ScanIndexForward"] = json!(self.forward);
            "Query"
        } else {
            if segments > 1 {
                body["Segment"] = json!(segment);
                body["TotalSegments"] = json!(segments);
            }
            "Scan"
        };
        expression.into(&mut body);
        (operation, body)
    }

    /// As a SELECT, without filter and projection.
    pub fn statement(&self) -> Value {
        let (hash, sort) = self.key_names();
        let from = self.index.map_or_else(|| "\"tab\"".to_owned(), |index| format!("\"tab\".\"{index}\""));
        let mut text = format!("SELECT * FROM {from}");
        let mut parameters = Vec::new();
        if let Some(wanted) = &self.hash {
            text = format!("{text} WHERE {hash} = ?");
            parameters.push(super::text(wanted.as_str()));
            match self.usable_range() {
                Some(Range::Compared(sign, place)) => {
                    text = format!("{text} AND {sort} {sign} ?");
                    parameters.push(self.value_at(place));
                }
                Some(Range::Between(least, greatest)) => {
                    text = format!("{text} AND {sort} BETWEEN ? AND ?");
                    parameters.extend([self.value_at(least), self.value_at(greatest)]);
                }
                Some(Range::Prefix(place)) => {
                    text = format!("{text} AND begins_with({sort}, ?)");
                    parameters.push(self.value_at(place));
                }
                None => {}
            }
            if !self.forward {
                text = format!("{text} ORDER BY {sort} DESC");
            }
        }
        let mut body = json!({"Statement": text});
        if !parameters.is_empty() {
            body["Parameters"] = json!(parameters);
        }
        if let Some(limit) = self.limit {
            body["Limit"] = json!(limit);
        }
        body
    }

    /// The equivalent read for a SELECT.
    pub fn as_statement(&self) -> Self {
        Self { filter: None, projection: None, count_only: false, segments: 1, ..self.clone() }
    }

    /// The value by which a Query sorts an item.
    pub fn order_of(&self, item: &Value) -> (i64, String) {
        order(&item[self.key_names().1])
    }
}

fn order(value: &Value) -> (i64, String) {
    match number_of(value) {
        Some(number) => (number, String::new()),
        None => (0, value["S"].as_str().unwrap().to_owned()),
    }
}
