//! Attacks that make the server work on its own: indexes filled and removed, items that expire, branches,
//! scaling, contributor insights.

use super::conduct::{Attack, PEAK_MIB_MAX};
use super::field::{Field, answered, must, must_on, preparing};
use super::request::{Sender, TINY, create_tiny_table, joined, put_tiny};
use super::server::Setting;

const ITEMS: usize = 50_000;
const BATCH: usize = 25;
/// Tables whose indexes are made and removed at the same time.
const TABLES: usize = 20;
const CLIENTS: usize = 50;
/// Items that many branches copy.
const MULTIPLIED: usize = 20_000;
/// The default of `--branch-mib-per-account`.
const BRANCH_MIB: u64 = 512;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "indexes/made-and-removed",
        what: "indexes of 50,000 items made, removed, 4 tables",
        why: "each is filled and purged in the background",
        setting: Setting::FOLDER,
        prepare: fill_four,
        strike: make_and_remove,
    },
    Attack {
        name: "indexes/definitions",
        what: "200 clients make and remove indexes of 20 tables",
        why: "a removed index stays in the definition until its entries are gone",
        setting: Setting::MEMORY,
        prepare: |sender| (0..TABLES).try_for_each(|number| must(sender, "CreateTable", &table(number))),
        strike: |field| {
            let requests: Vec<_> = (0..TABLES * 2)
                .map(|number| index_change(&field.sender, number / 2, number % 2 == 0))
                .collect();
            field.repeat(200, &requests);
        },
    },
    Attack {
        name: "expiry/at-once",
        what: "50,000 items expire at once, TTL switched",
        why: "all are due in the same moment, and their rows are purged again and again",
        setting: Setting::FOLDER,
        prepare: expiring,
        strike: |field| {
            let switch = |enabled: bool| {
                let body = format!(
                    r#"{{"TableName":"expiring","TimeToLiveSpecification":{{"Enabled":{enabled},"AttributeName":"e"}}}}"#
                );
                field.sender.request("UpdateTimeToLive", body.as_bytes())
            };
            field.repeat(20, &[switch(true), switch(false)]);
        },
    },
    Attack {
        name: "branches",
        what: "100 clients make and drop branches of 50,000 items",
        why: "each copies all tables of an account",
        setting: Setting::FOLDER,
        prepare: |sender| fill(sender, ITEMS),
        strike: branch,
    },
    Attack {
        name: "branches/multiplied",
        what: "100 clients make branches of 20,000 items in memory and drop none",
        why: "each copies 20,000 items, and nothing takes them away",
        setting: Setting { peak_mib_max: PEAK_MIB_MAX + BRANCH_MIB, ..Setting::MEMORY },
        prepare: |sender| fill(sender, MULTIPLIED),
        strike: |field| {
            let requests: Vec<_> = (0..2_000).map(|number| made(field, number)).collect();
            field.repeat(100, &requests);
            refused_by(field, "--branch-mib-per-account");
        },
    },
    Attack {
        name: "branches/tiny",
        what: "100 clients make branches of one item in memory and drop none",
        why: "each has definitions of its own, which stay in memory",
        setting: Setting { peak_mib_max: PEAK_MIB_MAX + BRANCH_MIB, ..Setting::MEMORY },
        prepare: |sender| fill(sender, BATCH),
        strike: |field| {
            let requests: Vec<_> = (0..20_000).map(|number| made(field, number)).collect();
            field.repeat(100, &requests);
            refused_by(field, "--branches-per-account");
        },
    },
    Attack {
        name: "scaling/targets",
        what: "50 clients list and change 1,000 targets",
        why: "a list without a match reads all targets, a policy makes alarms",
        setting: Setting::FOLDER,
        prepare: targets,
        strike: scale,
    },
    Attack {
        name: "insights/long-keys",
        what: "200 clients write keys of 2 KB, 20 read reports",
        why: "each key is counted, and kept for a report",
        setting: Setting::FOLDER,
        prepare: observe,
        strike: write_keys,
    },
];

fn fill(sender: &Sender, count: usize) -> Result<(), String> {
    must(sender, "CreateTable", &create_tiny_table())?;
    let mut connection = preparing(sender)?;
    (0..count / BATCH).try_for_each(|batch| {
        must_on(&mut connection, sender, "BatchWriteItem", &put_tiny(batch * BATCH, (batch + 1) * BATCH))
    })
}

fn table(number: usize) -> String {
    format!(
        r#"{{"TableName":"many{number}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"p","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"p","KeyType":"HASH"}}]}}"#
    )
}

fn index_change(sender: &Sender, number: usize, creates: bool) -> Vec<u8> {
    let name = format!("many{number}");
    let change = if creates {
        r#""AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"byP","KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]"#.to_owned()
    } else {
        r#""GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"byP"}}]"#.to_owned()
    };
    sender.request("UpdateTable", format!(r#"{{"TableName":"{name}",{change}}}"#).as_bytes())
}

fn fill_four(sender: &Sender) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    for number in 0..4 {
        must(sender, "CreateTable", &table(number))?;
        for batch in 0..ITEMS / 4 / BATCH {
            let items = joined(BATCH, ",", |item| {
                format!(
                    r#"{{"PutRequest":{{"Item":{{"p":{{"S":"{}"}},"v":{{"S":"{}"}}}}}}}}"#,
                    batch * BATCH + item,
                    "x".repeat(1000)
                )
            });
            must_on(
                &mut connection,
                sender,
                "BatchWriteItem",
                &format!(r#"{{"RequestItems":{{"many{number}":[{items}]}}}}"#),
            )?;
        }
    }
    Ok(())
}

fn make_and_remove(field: &Field<'_>) {
    let requests: Vec<_> =
        (0..8).map(|number| index_change(&field.sender, number / 2, number % 2 == 0)).collect();
    field.repeat(4, &requests);
}

fn expiring(sender: &Sender) -> Result<(), String> {
    must(
        sender,
        "CreateTable",
        r#"{"TableName":"expiring","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]}"#,
    )?;
    let mut connection = preparing(sender)?;
    // Long ago enough that they may be deleted at once.
    let past = super::sign::now_s() - 100_000;
    for batch in 0..ITEMS / BATCH {
        let items = joined(BATCH, ",", |item| {
            format!(
                r#"{{"PutRequest":{{"Item":{{"p":{{"S":"{}"}},"e":{{"N":"{past}"}}}}}}}}"#,
                batch * BATCH + item
            )
        });
        must_on(
            &mut connection,
            sender,
            "BatchWriteItem",
            &format!(r#"{{"RequestItems":{{"expiring":[{items}]}}}}"#),
        )?;
    }
    Ok(())
}

fn own(field: &Field<'_>, method: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} /_keywright/branch HTTP/1.1\r\nHost: {}\r\nX-Keywright: branch\r\nContent-Length: {}\r\n\r\n{body}",
        field.sender.address, body.len()
    ).into_bytes()
}

/// A request that makes a branch in an account and region of its own.
fn made(field: &Field<'_>, number: usize) -> Vec<u8> {
    let to = format!("{:012}/branch-{number}", number % 7 + 1);
    own(field, "POST", &format!(r#"{{"from":"us-east-1","to":"{to}"}}"#))
}

/// The limit of this setting must have refused something.
fn refused_by(field: &Field<'_>, setting: &str) {
    let refusals = field.refusals();
    if !refusals.iter().any(|refusal| refusal.contains(setting)) {
        field.fault(format!("{setting} refused nothing: {} {}", field.answers(), refusals.join(" ")));
    }
}

fn branch(field: &Field<'_>) {
    let mut requests = Vec::new();
    for number in 0..10 {
        requests.push(own(field, "POST", &format!(r#"{{"from":"us-east-1","to":"branch-{number}"}}"#)));
        requests.push(own(field, "DELETE", &format!(r#"{{"branch":"branch-{number}"}}"#)));
    }
    field.repeat(100, &requests);
}

fn targets(sender: &Sender) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    for number in 0..500 {
        must_on(&mut connection, sender, "CreateTable", &scaled_table(number))?;
        for (operation, body) in ["Read", "Write"].into_iter().flat_map(|dimension| target(number, dimension))
        {
            answered(&mut connection, &sender.scaling(operation, body.as_bytes()))?;
        }
    }
    Ok(())
}

/// The body of CreateTable for a table that is scaled.
pub(crate) fn scaled_table(number: usize) -> String {
    format!(
        r#"{{"TableName":"scaled{number}","ProvisionedThroughput":{{"ReadCapacityUnits":1,"WriteCapacityUnits":1}},"AttributeDefinitions":[{{"AttributeName":"p","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"p","KeyType":"HASH"}}]}}"#
    )
}

/// The requests that scale it: their operations and bodies.
pub(crate) fn target(number: usize, dimension: &str) -> [(&'static str, String); 2] {
    let target = format!(
        r#""ServiceNamespace":"dynamodb","ResourceId":"table/scaled{number}","ScalableDimension":"dynamodb:table:{dimension}CapacityUnits""#
    );
    [
        ("RegisterScalableTarget", format!(r#"{{{target},"MinCapacity":1,"MaxCapacity":10}}"#)),
        ("PutScalingPolicy", policy(number, dimension, 70)),
    ]
}

fn policy(number: usize, dimension: &str, value: usize) -> String {
    format!(
        r#"{{"PolicyName":"p","PolicyType":"TargetTrackingScaling","ServiceNamespace":"dynamodb","ResourceId":"table/scaled{number}","ScalableDimension":"dynamodb:table:{dimension}CapacityUnits","TargetTrackingScalingPolicyConfiguration":{{"TargetValue":{value},"PredefinedMetricSpecification":{{"PredefinedMetricType":"DynamoDB{dimension}CapacityUtilization"}}}}}}"#
    )
}

fn scale(field: &Field<'_>) {
    let filter = br#"{"ServiceNamespace":"dynamodb","ResourceIds":["table/none"]}"#;
    let page = br#"{"ServiceNamespace":"dynamodb","MaxResults":50}"#;
    let mut requests: Vec<Vec<u8>> = [
        "DescribeScalableTargets",
        "DescribeScalingActivities",
        "DescribeScalingPolicies",
        "DescribeScheduledActions",
    ]
    .iter()
    .flat_map(|operation| [field.sender.scaling(operation, filter), field.sender.scaling(operation, page)])
    .collect();
    requests.extend((0..10).map(|number| {
        field.sender.scaling("PutScalingPolicy", policy(number, "Read", 20 + number).as_bytes())
    }));
    field.repeat(CLIENTS, &requests);
}

fn observe(sender: &Sender) -> Result<(), String> {
    fill(sender, BATCH)?;
    must(sender, "CreateTable", &table(0))?;
    for table in ["many0", TINY] {
        must(
            sender,
            "UpdateContributorInsights",
            &format!(r#"{{"TableName":"{table}","ContributorInsightsAction":"ENABLE"}}"#),
        )?;
    }
    Ok(())
}

fn write_keys(field: &Field<'_>) {
    let mut requests: Vec<Vec<u8>> = (0..10_000)
        .map(|number| {
            let body =
                format!(r#"{{"TableName":"many0","Key":{{"p":{{"S":"{number}{}"}}}}}}"#, "k".repeat(2000));
            field.sender.request("DeleteItem", body.as_bytes())
        })
        .collect();
    let now = super::sign::now_s() / 60 * 60;
    let rules = preparing(&field.sender).and_then(|mut connection| {
        let rules = answered(
            &mut connection,
            &field.sender.request("DescribeContributorInsights", br#"{"TableName":"many0"}"#),
        )?;
        let rules: serde_json::Value =
            serde_json::from_slice(&rules.body).map_err(|error| error.to_string())?;
        let list = rules.get("ContributorInsightsRuleList").and_then(serde_json::Value::as_array);
        Ok(list.cloned().unwrap_or_default())
    });
    match rules {
        Err(fault) => field.fault(fault),
        Ok(rules) => {
            for (place, rule) in rules.iter().enumerate() {
                let body = format!(
                    r#"{{"RuleName":{rule},"StartTime":{},"EndTime":{},"Period":60,"MaxContributorCount":25}}"#,
                    now - 3600,
                    now + 120
                );
                requests.insert(place * 50, field.sender.monitoring("GetInsightRuleReport", body.as_bytes()));
            }
            field.repeat(200, &requests);
        }
    }
}
