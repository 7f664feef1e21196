//! Attacks with updates that copy a large attribute many times before anything checks the new item's size.

use super::conduct::Attack;
use super::field::{Field, must};
use super::request::{Sender, TABLE, filled, joined, key, put};
use super::server::Setting;

/// An item's limit of 400 KB holds so many elements of 3 bytes.
const ELEMENTS: usize = 130_000;
/// The service's limit of an expression.
const EXPRESSION_BYTES: usize = 4096;
/// The service's limit of a PartiQL statement.
const STATEMENT_BYTES: usize = 8192;
/// Copies of the list, so that no request waits for the latch of another.
const ITEMS: usize = 10;
/// Each keeps a thread of the server busy; more than a small machine has.
const CLIENTS: usize = 4;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "update-copies/set",
        what: "SET a0=l, a1=l, … of a long list",
        why: "4.1 KB copied a list of 390 KB 598 times: 3.7 GB",
        setting: Setting::MEMORY,
        prepare: put_lists,
        strike: |field| update(field, &sets()),
    },
    Attack {
        name: "update-copies/partiql",
        what: "PartiQL SET a0=l SET a1=l …",
        why: "a second parser, the same copies",
        setting: Setting::MEMORY,
        prepare: put_lists,
        strike: partiql,
    },
    Attack {
        name: "update-copies/list-append",
        what: "nested list_append of a long list",
        why: "doubles in each of eight levels: 3.9 KB make 33 million elements",
        setting: Setting::MEMORY,
        prepare: put_lists,
        strike: list_append,
    },
    Attack {
        name: "update-copies/transaction",
        what: "5 such SETs in one transaction",
        why: "a transaction multiplies what one update costs",
        setting: Setting::MEMORY,
        prepare: put_lists,
        strike: transaction,
    },
    Attack {
        name: "update-copies/remove",
        what: "REMOVE of 500 elements of a long list",
        why: "each removal moves all elements behind it",
        setting: Setting::MEMORY,
        prepare: put_lists,
        strike: |field| {
            update(field, &format!("REMOVE {}", filled(EXPRESSION_BYTES - 7, ",", |n| format!("l[{n}]"))));
        },
    },
];

fn put_lists(sender: &Sender) -> Result<(), String> {
    let list = format!(r#""l":{{"L":[{}]}}"#, joined(ELEMENTS, ",", |_| r#"{"N":"1"}"#.to_owned()));
    (0..ITEMS).try_for_each(|number| must(sender, "PutItem", &put("list", &number.to_string(), &list)))
}

fn update(field: &Field<'_>, expression: &str) {
    let requests = (0..ITEMS).map(|number| update_request(field, number, expression));
    field.repeat(CLIENTS, &requests.collect::<Vec<_>>());
}

fn update_request(field: &Field<'_>, number: usize, expression: &str) -> Vec<u8> {
    let key = key("list", &number.to_string());
    let body = format!(r#"{{"TableName":"{TABLE}","Key":{key},"UpdateExpression":"{expression}"}}"#);
    field.sender.request("UpdateItem", body.as_bytes())
}

/// `SET a0=l,a1=l,…`, as many as the service lets one write.
fn sets() -> String {
    format!("SET {}", filled(EXPRESSION_BYTES - 4, ",", |number| format!("a{number}=l")))
}

fn partiql(field: &Field<'_>) {
    field.repeat(CLIENTS, &statements(field, &filled(STATEMENT_BYTES - 100, " ", |n| format!("SET a{n}=l"))));
}

/// The statement for each item.
fn statements(field: &Field<'_>, sets: &str) -> Vec<Vec<u8>> {
    let statement = |number| {
        let body = format!(r#"{{"Statement":"UPDATE {TABLE} {sets} WHERE pk='list' AND sk='{number}'"}}"#);
        field.sender.request("ExecuteStatement", body.as_bytes())
    };
    (0..ITEMS).map(statement).collect()
}

/// Nested in a statement, where an expression takes no function in a function; and next to each other.
fn list_append(field: &Field<'_>) {
    let mut requests = statements(field, &format!("SET l={}", doubled(8)));
    let flat = filled(EXPRESSION_BYTES - 4, ",", |number| format!("a{number}=list_append(l,l)"));
    requests.push(update_request(field, 0, &format!("SET {flat}")));
    field.repeat(CLIENTS, &requests);
}

/// `list_append(X,X)` with X of the level below; `l` at level zero.
fn doubled(level: usize) -> String {
    (0..level).fold("l".to_owned(), |inner, _| format!("list_append({inner},{inner})"))
}

/// Two transactions of half of the items each, so that they do not conflict.
fn transaction(field: &Field<'_>) {
    let sets = sets();
    let requests = [0, ITEMS / 2].map(|first| {
        let updates = joined(ITEMS / 2, ",", |number| {
            let key = key("list", &(first + number).to_string());
            format!(r#"{{"Update":{{"TableName":"{TABLE}","Key":{key},"UpdateExpression":"{sets}"}}}}"#)
        });
        field.sender.request("TransactWriteItems", format!(r#"{{"TransactItems":[{updates}]}}"#).as_bytes())
    });
    field.repeat(CLIENTS, &requests);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_stay_within_the_services_limits() {
        assert!((3500..EXPRESSION_BYTES).contains(&doubled(8).len()));
        assert!(filled(EXPRESSION_BYTES, ",", |n| format!("a{n}=l")).len() <= EXPRESSION_BYTES);
    }
}
