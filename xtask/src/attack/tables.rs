//! Attacks by tens of thousands of tables, used or at rest.

use super::conduct::Attack;
use super::field::{Field, answered, must_on, preparing};
use super::request::{Account, Sender, joined};
use super::server::Setting;
use super::streams::text;

/// As many as definitions of all accounts may take.
const TABLES: usize = 25_000;
/// As many as one account has in one region.
const TABLES_OF_ACCOUNT: usize = 2_500;
/// Tables whose streams outlive them.
const DELETED: usize = 20_000;
/// Tables that all have figures in the present minute.
const USED: usize = 2_500;
const CLIENTS: usize = 50;
const QUERIES: usize = 500;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "tables/at-rest",
        what: "25,000 tables, nobody uses them",
        why: "background work looks at every table again and again",
        setting: Setting::MEMORY,
        prepare: |sender| create(sender, TABLES, ""),
        strike: |field| field.count("none"),
    },
    Attack {
        name: "tables/lists",
        what: "50 clients list 25,000 tables",
        why: "a page of ten is chosen among all",
        setting: Setting::MEMORY,
        prepare: |sender| create(sender, TABLES, ""),
        strike: lists,
    },
    Attack {
        name: "tables/deleted-streams",
        what: "50 clients read streams of 20,000 deleted tables",
        why: "a stream's table is looked for among all deleted ones",
        setting: Setting::MEMORY,
        prepare: delete_tables_with_streams,
        strike: read_streams_of_deleted,
    },
    Attack {
        name: "metric-data/used-tables",
        what: "500 metrics of one of 2,500 used tables",
        why: "each metric was looked for among the figures of all tables",
        setting: Setting::MEMORY,
        prepare: use_tables,
        strike: read_metrics,
    },
    Attack {
        name: "alarms/used-tables",
        what: "50 clients list 5,000 alarms, 2,500 tables in use",
        why: "a list without a match reads all of them",
        setting: Setting::MEMORY,
        prepare: |sender| {
            use_tables(sender)?;
            put_alarms(sender)
        },
        strike: list_alarms,
    },
];

const ATTRIBUTES: &str = r#""AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]"#;
const STREAM: &str = r#","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}"#;

fn name(number: usize) -> String {
    format!("table{number}")
}

fn account(number: usize) -> Account {
    let place = u64::try_from(number / TABLES_OF_ACCOUNT).unwrap_or_default();
    Account(Account::FIRST.0 + 1 + place)
}

/// Creates tables, up to 2,500 for each account.
fn create(sender: &Sender, count: usize, more: &str) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    for number in 0..count {
        let body = format!(
            r#"{{"TableName":"{}","BillingMode":"PAY_PER_REQUEST",{ATTRIBUTES}{more}}}"#,
            name(number)
        );
        must_on(&mut connection, &sender.of(account(number)), "CreateTable", &body)?;
    }
    Ok(())
}

fn lists(field: &Field<'_>) {
    let sender = field.sender.of(account(0));
    field.repeat(
        CLIENTS,
        &[
            sender.streams("ListStreams", br#"{"Limit":1}"#),
            sender.request("ListTables", br#"{"Limit":100}"#),
            sender.request("ListContributorInsights", br#"{"MaxResults":1}"#),
            sender.request(
                "UpdateContributorInsights",
                br#"{"TableName":"table0","ContributorInsightsAction":"ENABLE"}"#,
            ),
            sender.request("DescribeLimits", b"{}"),
        ],
    );
}

fn delete_tables_with_streams(sender: &Sender) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    for number in 0..DELETED {
        let body = format!(r#"{{"TableName":"gone","BillingMode":"PAY_PER_REQUEST",{ATTRIBUTES}{STREAM}}}"#);
        must_on(&mut connection, sender, "CreateTable", &body)?;
        if number + 1 < DELETED {
            must_on(&mut connection, sender, "DeleteTable", r#"{"TableName":"gone"}"#)?;
        }
    }
    Ok(())
}

fn read_streams_of_deleted(field: &Field<'_>) {
    let found = preparing(&field.sender).and_then(|mut connection| {
        let streams = answered(
            &mut connection,
            &field.sender.streams("ListStreams", br#"{"TableName":"gone","Limit":1}"#),
        )?;
        let streams: serde_json::Value =
            serde_json::from_slice(&streams.body).map_err(|error| error.to_string())?;
        text(&streams, "/Streams/0/StreamArn")
    });
    match found {
        Err(fault) => field.fault(fault),
        Ok(arn) => {
            let body = format!(r#"{{"StreamArn":"{arn}"}}"#);
            let list = field.sender.streams("ListStreams", br#"{"TableName":"gone","Limit":1}"#);
            let describe = field.sender.streams("DescribeStream", body.as_bytes());
            field.repeat(CLIENTS, &[describe, list]);
        }
    }
}

fn use_tables(sender: &Sender) -> Result<(), String> {
    create(sender, USED, "")?;
    use_again(sender)
}

/// A write and several reads of each table.
fn use_again(sender: &Sender) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    let sender = sender.of(account(0));
    for number in 0..USED {
        let name = name(number);
        let key = r#"{"p":{"S":"p"}}"#;
        must_on(&mut connection, &sender, "PutItem", &format!(r#"{{"TableName":"{name}","Item":{key}}}"#))?;
        must_on(&mut connection, &sender, "GetItem", &format!(r#"{{"TableName":"{name}","Key":{key}}}"#))?;
        must_on(&mut connection, &sender, "Scan", &format!(r#"{{"TableName":"{name}"}}"#))?;
        must_on(&mut connection, &sender, "DeleteItem", &format!(r#"{{"TableName":"{name}","Key":{key}}}"#))?;
    }
    Ok(())
}

fn read_metrics(field: &Field<'_>) {
    if let Err(fault) = use_again(&field.sender) {
        return field.fault(fault);
    }
    let metric = r#"{"Namespace":"AWS/DynamoDB","MetricName":"ConsumedReadCapacityUnits","Dimensions":[{"Name":"TableName","Value":"table7"}]}"#;
    let queries = joined(QUERIES, ",", |number| {
        format!(r#"{{"Id":"m{number}","MetricStat":{{"Metric":{metric},"Period":60,"Stat":"Sum"}}}}"#)
    });
    let now = super::sign::now_s();
    let body =
        format!(r#"{{"StartTime":{},"EndTime":{},"MetricDataQueries":[{queries}]}}"#, now - 3_600, now + 600);
    let sender = field.sender.of(account(0));
    let list = sender.monitoring("ListMetrics", br#"{"MetricName":"none"}"#);
    field.repeat(CLIENTS, &[sender.monitoring("GetMetricData", body.as_bytes()), list]);
}

fn put_alarms(sender: &Sender) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    let sender = sender.of(account(0));
    let description = "x".repeat(1_000);
    for number in 0..5_000 {
        let body = format!(
            r#"{{"AlarmName":"alarm{number}","AlarmDescription":"{description}","Namespace":"AWS/DynamoDB","MetricName":"ConsumedReadCapacityUnits","Dimensions":[{{"Name":"TableName","Value":"{}"}}],"Statistic":"Sum","Period":60,"EvaluationPeriods":1,"Threshold":1,"ComparisonOperator":"GreaterThanThreshold"}}"#,
            name(number % USED)
        );
        answered(&mut connection, &sender.monitoring("PutMetricAlarm", body.as_bytes()))?;
    }
    Ok(())
}

fn list_alarms(field: &Field<'_>) {
    let sender = field.sender.of(account(0));
    let none = sender.monitoring("DescribeAlarms", br#"{"AlarmNamePrefix":"none"}"#);
    let page = sender.monitoring("DescribeAlarms", br#"{"MaxRecords":100}"#);
    field.repeat(CLIENTS, &[none, page]);
}
