//! Attacks on what is kept for CloudWatch.

use std::time::Duration;

use super::conduct::{Attack, nothing};
use super::http::Connection;
use super::request::{Sender, joined};
use super::server::Setting;
use super::sign;

/// Changes of the alarm's state, of 4 KB each.
const CHANGES: usize = 10_000;
const READERS: usize = 50;
const UNREAD_READERS: usize = 1_000;

pub(crate) const ATTACKS: &[Attack] = &[HISTORY, PERIOD, POINTS, UNREAD];

const PERIOD: Attack = Attack {
    name: "metric-data/period",
    what: "a period of 2^63 s, its gaps filled",
    why: "it wrapped to a negative one: 727 bytes took 390 MiB a second until the process ended",
    setting: Setting::MEMORY,
    prepare: nothing,
    strike: |field| {
        let period = i64::MAX / 60 * 60;
        let metric = r#"{"Namespace":"AWS/DynamoDB","MetricName":"UserErrors"}"#;
        let body = format!(
            r#"{{"StartTime":600,"EndTime":1200,"MetricDataQueries":[{{"Id":"m","MetricStat":{{"Metric":{metric},"Period":{period},"Stat":"Sum"}}}},{{"Id":"e","Expression":"FILL(m,0)"}}]}}"#
        );
        field.repeat(READERS, &[field.sender.monitoring("GetMetricData", body.as_bytes())]);
    },
};

const POINTS: Attack = Attack {
    name: "metric-data/points",
    what: "50 clients get 100,000 filled points",
    why: "a response of some MB was written on the threads of everyone",
    setting: Setting::MEMORY,
    prepare: nothing,
    strike: |field| {
        let now = sign::now_s() / 60 * 60;
        let metric = r#"{"Namespace":"AWS/DynamoDB","MetricName":"UserErrors"}"#;
        let body = format!(
            r#"{{"StartTime":{},"EndTime":{now},"MaxDatapoints":100800,"MetricDataQueries":[{{"Id":"m","ReturnData":false,"MetricStat":{{"Metric":{metric},"Period":60,"Stat":"Sum"}}}},{{"Id":"e","Expression":"FILL(m,0)"}},{{"Id":"f","Expression":"FILL(m,1)"}},{{"Id":"g","Expression":"FILL(m,2)"}},{{"Id":"h","Expression":"FILL(m,3)"}},{{"Id":"i","Expression":"FILL(m,4)"}}]}}"#,
            now - 14 * 86_400
        );
        field.repeat(READERS, &[field.sender.monitoring("GetMetricData", body.as_bytes())]);
    },
};

const UNREAD: Attack = Attack {
    name: "metric-data/unread",
    what: "1,000 clients ask for 7 MB of points, never read",
    why: "no budget counted them: 2.3 GB in 25 s",
    setting: Setting::MEMORY,
    prepare: nothing,
    strike: |field| field.hold_connections(UNREAD_READERS, &field.sender.form(&form_of_points())),
};

/// Asks for 100,000 points with long numbers.
fn form_of_points() -> String {
    let query = |place: usize| format!("&MetricDataQueries.member.{place}");
    let metric = query(1);
    let stat = format!("{metric}.MetricStat");
    let filled = joined(5, "", |number| {
        let query = query(number + 2);
        format!("{query}.Id=f{number}{query}.Expression=FILL(m%2C0)%2F3%2BFILL(m%2C1)%2F3")
    });
    let now_s = sign::now_s() / 60 * 60;
    let (from, to) = (sign::form_time(now_s - 14 * 86_400), sign::form_time(now_s));
    format!(
        "Action=GetMetricData&Version=2010-08-01&StartTime={from}&EndTime={to}\
         {metric}.Id=m{metric}.ReturnData=false\
         {stat}.Metric.Namespace=AWS%2FDynamoDB{stat}.Metric.MetricName=UserErrors{stat}.Period=60\
         {stat}.Stat=Sum{filled}"
    )
}

const HISTORY: Attack = Attack {
    name: "alarm-history",
    what: "50 clients read 10,000 changes of an alarm",
    why: "each read all of the history into memory before it took its page: 50 times 60 MB",
    setting: Setting::FOLDER,
    prepare: change_states,
    strike: |field| {
        let page = br#"{"AlarmName":"attack","MaxRecords":100}"#;
        let newest = field.sender.monitoring("DescribeAlarmHistory", page);
        let another = field.sender.monitoring("SetAlarmState", change(CHANGES).as_bytes());
        field.repeat(READERS, &[newest.clone(), newest, another]);
    },
};

fn change(number: usize) -> String {
    let state = if number % 2 == 0 { "ALARM" } else { "OK" };
    let data = "x".repeat(3_900);
    format!(
        r#"{{"AlarmName":"attack","StateValue":"{state}","StateReason":"{number}","StateReasonData":"{{\"d\":\"{data}\"}}"}}"#
    )
}

fn change_states(sender: &Sender) -> Result<(), String> {
    let alarm = br#"{"AlarmName":"attack","Namespace":"AWS/DynamoDB","MetricName":"UserErrors","Statistic":"Sum","Period":60,"EvaluationPeriods":1,"Threshold":1,"ComparisonOperator":"GreaterThanThreshold"}"#;
    let complain = |error: std::io::Error| format!("preparation: {error}");
    let mut connection = Connection::open(sender.address, Duration::from_secs(10)).map_err(complain)?;
    let mut must = |operation: &str, body: &[u8]| {
        let answer = connection.call(&sender.monitoring(operation, body)).map_err(complain)?;
        if answer.status == 200 {
            Ok(())
        } else {
            Err(format!("preparation: {operation}: {}", answer.text()))
        }
    };
    must("PutMetricAlarm", alarm)?;
    (0..CHANGES).try_for_each(|number| must("SetAlarmState", change(number).as_bytes()))
}
