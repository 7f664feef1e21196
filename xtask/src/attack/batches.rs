//! Attacks by requests on many items, native and as PartiQL.

use super::conduct::Attack;
use super::field::{Field, must_on, preparing};
use super::request::{Sender, TABLE, filled, joined, key, put};
use super::server::Setting;

/// Items of 400 KB that a batch of 100 reads.
const LARGE: usize = 100;
/// As many writes as a BatchWriteItem takes.
const BATCH_WRITES: usize = 25;
/// The text of one item of tiny attributes: 25 of them are just under a body's 16 MB.
const TINY_TEXT_BYTES: usize = 600_000;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "batches/get-large",
        what: "100 clients read batches of 100 items of 400 KB",
        why: "an answer of 16 MB from 5 KB",
        setting: Setting::FOLDER,
        prepare: |sender| put_items(sender, 390_000),
        strike: |field| {
            let keys = joined(LARGE, ",", |number| key("batch", &number.to_string()));
            let body = format!(r#"{{"RequestItems":{{"{TABLE}":{{"Keys":[{keys}]}}}}}}"#);
            let projected = format!(
                r#"{{"RequestItems":{{"{TABLE}":{{"Keys":[{keys}],"ProjectionExpression":"sk"}}}}}}"#
            );
            field.repeat(
                100,
                &[
                    field.sender.request("BatchGetItem", body.as_bytes()),
                    field.sender.request("BatchGetItem", projected.as_bytes()),
                ],
            );
        },
    },
    Attack {
        name: "batches/transact-large",
        what: "100 clients write 100 items of 39 KB, the same token",
        why: "each holds images and waits for the others",
        setting: Setting::FOLDER,
        prepare: |sender| put_items(sender, 39_000),
        strike: transact,
    },
    Attack {
        name: "batches/partiql",
        what: "500 clients, 25 statements of 8 KB",
        why: "parsing 200 KB of statements",
        setting: Setting::MEMORY,
        prepare: |sender| put_items(sender, 1_000),
        strike: statements,
    },
    Attack {
        name: "batches/mixed-large",
        what: "100 clients, batches of 4 to 16 MB",
        why: "bodies, items, images, journal and answers of many sizes at once, and all that was freed a moment ago",
        setting: Setting::FOLDER,
        prepare: |sender| put_items(sender, 390_000),
        strike: mixed,
    },
];

fn put_items(sender: &Sender, bytes: usize) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    let value = format!(r#""v":{{"S":"{}"}}"#, "x".repeat(bytes));
    (0..LARGE).try_for_each(|number| {
        must_on(&mut connection, sender, "PutItem", &put("batch", &number.to_string(), &value))
    })
}

fn transact(field: &Field<'_>) {
    let large = |token: &str| {
        let value = "y".repeat(39_000);
        let puts = joined(LARGE, ",", |number| {
            format!(
                r#"{{"Put":{{"TableName":"{TABLE}","Item":{{"pk":{{"S":"batch"}},"sk":{{"S":"{number}"}},"v":{{"S":"{value}"}}}}}}}}"#
            )
        });
        field.sender.request(
            "TransactWriteItems",
            format!(r#"{{"ClientRequestToken":"{token}","TransactItems":[{puts}]}}"#).as_bytes(),
        )
    };
    let updates = |token: &str| {
        let updates = joined(LARGE, ",", |number| {
            format!(
                r#"{{"Update":{{"TableName":"{TABLE}","Key":{},"UpdateExpression":"SET c=:c","ExpressionAttributeValues":{{":c":{{"S":"{token}"}}}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD","ConditionExpression":"attribute_not_exists(d) OR contains(v,:c)"}}}}"#,
                key("batch", &number.to_string())
            )
        });
        field.sender.request(
            "TransactWriteItems",
            format!(r#"{{"ClientRequestToken":"{token}","TransactItems":[{updates}]}}"#).as_bytes(),
        )
    };
    let gets = joined(LARGE, ",", |number| {
        format!(r#"{{"Get":{{"TableName":"{TABLE}","Key":{}}}}}"#, key("batch", &number.to_string()))
    });
    let gets =
        field.sender.request("TransactGetItems", format!(r#"{{"TransactItems":[{gets}]}}"#).as_bytes());
    let mut requests = vec![large("same"), large("same"), gets];
    requests.extend((0..20).map(|number| updates(&format!("update{number}"))));
    field.repeat(100, &requests);
}

/// Large requests of four kinds in turn.
fn mixed(field: &Field<'_>) {
    let text = format!(r#""v":{{"S":"{}"}}"#, "z".repeat(390_000));
    let tiny = filled(TINY_TEXT_BYTES, ",", |number| format!(r#""{number:x}":{{"N":"1"}}"#));
    let write = |value: &str| {
        let puts = joined(BATCH_WRITES, ",", |number| {
            format!(r#"{{"PutRequest":{{"Item":{{"pk":{{"S":"mixed"}},"sk":{{"S":"{number}"}},{value}}}}}}}"#)
        });
        let body = format!(r#"{{"RequestItems":{{"{TABLE}":[{puts}]}}}}"#);
        field.sender.request("BatchWriteItem", body.as_bytes())
    };
    let transact = {
        let value = "y".repeat(39_000);
        let puts = joined(LARGE, ",", |number| {
            format!(
                r#"{{"Put":{{"TableName":"{TABLE}","Item":{{"pk":{{"S":"mixed"}},"sk":{{"S":"t{number}"}},"v":{{"S":"{value}"}}}}}}}}"#
            )
        });
        field.sender.request("TransactWriteItems", format!(r#"{{"TransactItems":[{puts}]}}"#).as_bytes())
    };
    let keys = joined(LARGE, ",", |number| key("batch", &number.to_string()));
    let get = field.sender.request(
        "BatchGetItem",
        format!(r#"{{"RequestItems":{{"{TABLE}":{{"Keys":[{keys}]}}}}}}"#).as_bytes(),
    );
    field.repeat(100, &[write(&text), get, write(&tiny), transact]);
}

fn statements(field: &Field<'_>) {
    let conditions = joined(150, " AND ", |number| format!("(a{number} IS MISSING OR v < 'x{number}')"));
    let set = joined(150, " ", |number| format!("SET b{number} = ['{number}', {number}, {{'a':{number}}}]"));
    let select = |number: usize| {
        format!(
            r#"{{"Statement":"SELECT * FROM {TABLE} WHERE pk='batch' AND sk='{number}' AND {conditions}"}}"#
        )
    };
    let update = |number: usize| {
        format!(r#"{{"Statement":"UPDATE {TABLE} {set} WHERE pk='batch' AND sk='{number}'"}}"#)
    };
    let batch = |statements: String| {
        field
            .sender
            .request("BatchExecuteStatement", format!(r#"{{"Statements":[{statements}]}}"#).as_bytes())
    };
    let transaction = |statements: String| {
        field
            .sender
            .request("ExecuteTransaction", format!(r#"{{"TransactStatements":[{statements}]}}"#).as_bytes())
    };
    field.repeat(
        500,
        &[
            batch(joined(25, ",", select)),
            batch(joined(25, ",", update)),
            transaction(joined(100, ",", update)),
            transaction(joined(100, ",", |number| {
                format!(r#"{{"Statement":"SELECT * FROM {TABLE} WHERE pk='batch' AND sk='{number}'"}}"#)
            })),
        ],
    );
}
