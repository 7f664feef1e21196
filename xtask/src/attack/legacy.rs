//! Attacks with legacy conditions (`Expected`, `ScanFilter`, `QueryFilter`), which old servers take in any
//! number.

use super::conduct::{Attack, nothing};
use super::field::Field;
use super::request::{Sender, TABLE, key, legacy_conditions};
use super::server::Setting;

/// Chained left-deep, so many overflowed a stack of 2 MiB.
const DEEP: usize = 3_160;
const MANY: usize = 100_000;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "legacy-conditions/deep",
        what: "3,160 legacy conditions, AND",
        why: "one request of 117 KB overflowed the stack",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| field.repeat(3, &requests(&field.sender, DEEP, "AND", Form::Plain)),
    },
    Attack {
        name: "legacy-conditions/deep-or-gzip",
        what: "3,160 legacy conditions, OR, gzipped",
        why: "9.3 KB on the wire did the same",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| field.repeat(3, &requests(&field.sender, DEEP, "OR", Form::Gzipped)),
    },
    Attack {
        name: "legacy-conditions/many",
        what: "100,000 legacy conditions",
        why: "what survives a deep chain must also survive a long one",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: many,
    },
];

#[derive(Clone, Copy)]
enum Form {
    Plain,
    Gzipped,
}

fn many(field: &Field<'_>) {
    let mut all = requests(&field.sender, MANY, "OR", Form::Plain);
    all.extend(requests(&field.sender, MANY, "AND", Form::Gzipped));
    field.repeat(3, &all);
}

/// A conditional put, a scan and a query with so many conditions.
fn requests(sender: &Sender, count: usize, operator: &str, form: Form) -> Vec<Vec<u8>> {
    let (conditions, item) = (legacy_conditions(count), key("quiet", "1"));
    let hash = r#"{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"quiet"}]}}"#;
    let head = format!(r#""TableName":"{TABLE}","ConditionalOperator":"{operator}""#);
    let bodies = [
        ("PutItem", format!(r#"{{{head},"Item":{item},"Expected":{conditions}}}"#)),
        ("Scan", format!(r#"{{{head},"ScanFilter":{conditions}}}"#)),
        ("Query", format!(r#"{{{head},"KeyConditions":{hash},"QueryFilter":{conditions}}}"#)),
    ];
    let render = |(operation, body): &(&str, String)| match form {
        Form::Plain => sender.request(operation, body.as_bytes()),
        Form::Gzipped => sender.gzipped(operation, body.as_bytes()),
    };
    bodies.iter().map(render).collect()
}
