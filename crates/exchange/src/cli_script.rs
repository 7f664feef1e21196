//! A shell script that creates the tables with the AWS command line.
//!
//! The script takes the endpoint from the environment (`AWS_ENDPOINT_URL`), as the AWS command line does, so
//! one script works with this database and with the service. Commands that only the service takes are written
//! as comments.

use std::fmt::Write as _;

use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::schema::IndexKind;

use super::create_table::write_request;
use keywright_model::json::Json;
use keywright_model::shell::quoted;
use keywright_model::tables::{Capacity, Provisioned, Scaling, TableDefinition};

/// Writes the script.
pub fn write(model: &str, tables: &[TableDefinition]) -> String {
    let mut script = String::from("#!/bin/sh\n");
    let title: String = model.chars().filter(|letter| !letter.is_control()).collect();
    let _ =
        writeln!(script, "# Creates the tables of {title}. Set AWS_ENDPOINT_URL to use another endpoint.");
    // Version 2 of the AWS command line shows answers in a
    // pager. Version 1 has no pager and no option against it.
    script.push_str("set -eu\nexport AWS_PAGER=''\n");
    for table in tables {
        write_table(&mut script, table);
    }
    script
}

fn write_table(script: &mut String, table: &TableDefinition) {
    let name = quoted(&table.name);
    let request = quoted(&write_request(&replicated(table)).pretty());
    let _ = write!(script, "\naws dynamodb create-table --cli-input-json {request}\n");
    let _ = writeln!(script, "aws dynamodb wait table-exists --table-name {name}");
    if let Some(ttl) = &table.ttl {
        let specification = quoted(&format!("Enabled=true,AttributeName={ttl}"));
        let _ = writeln!(
            script,
            "aws dynamodb update-time-to-live --table-name {name} --time-to-live-specification {specification}"
        );
    }
    let mut later = String::new();
    if table.point_in_time_recovery {
        let _ = writeln!(
            later,
            "aws dynamodb update-continuous-backups --table-name {name} --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
        );
    }
    write_scaling(&mut later, table);
    // One replica per request: the table is in state UPDATING until the replica exists.
    for region in &table.replicas {
        let updates =
            Json::List(vec![Json::object([("Create", Json::object([("RegionName", Json::text(region))]))])]);
        let _ = writeln!(
            later,
            "aws dynamodb update-table --table-name {name} --replica-updates {}",
            quoted(&updates.compact()),
        );
        let _ = writeln!(later, "aws dynamodb wait table-exists --table-name {name}");
    }
    if !later.is_empty() {
        script.push_str("# Remove the `# ` of these lines for AWS; no local endpoint takes them:\n");
    }
    // A name with a line break makes no line that is executed.
    for line in later.lines() {
        let _ = writeln!(script, "# {line}");
    }
}

/// The table with the stream of old and new images that its replicas need.
fn replicated(table: &TableDefinition) -> TableDefinition {
    let stream = if table.replicas.is_empty() { table.stream } else { Some(StreamViewType::NewAndOldImages) };
    TableDefinition { stream, ..table.clone() }
}

fn write_scaling(script: &mut String, table: &TableDefinition) {
    let Capacity::Provisioned(Provisioned { autoscaling: Some(both), .. }) = &table.billing else {
        return;
    };
    let indexes = table.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    // Indexes scale with the table: an index with too little capacity throttles the writes of both.
    let places = indexes.map(|index| (format!("{}/index/{}", table.name, index.name), "index"));
    for (place, kind) in std::iter::once((table.name.clone(), "table")).chain(places) {
        for (name, scaling) in [("Read", both.read), ("Write", both.write)] {
            if let Some(scaling) = scaling {
                write_scaling_of(script, &place, kind, name, scaling);
            }
        }
    }
}

fn write_scaling_of(script: &mut String, place: &str, kind: &str, name: &str, scaling: Scaling) {
    let target = format!(
        "--service-namespace dynamodb --resource-id {} --scalable-dimension dynamodb:{kind}:{name}CapacityUnits",
        quoted(&format!("table/{place}"))
    );
    let _ = writeln!(
        script,
        "aws application-autoscaling register-scalable-target {target} --min-capacity {} --max-capacity {}",
        scaling.units_min, scaling.units_max,
    );
    let policy = quoted(&format!("{}-{name}", place.replace('/', "-")));
    let configuration = quoted(&format!(
        "{{\"TargetValue\":{},\"PredefinedMetricSpecification\":{{\"PredefinedMetricType\":\"DynamoDB{name}CapacityUtilization\"}}}}",
        scaling.target_percent
    ));
    let _ = writeln!(
        script,
        "aws application-autoscaling put-scaling-policy {target} --policy-name {policy} --policy-type TargetTrackingScaling --target-tracking-scaling-policy-configuration {configuration}",
    );
}

#[cfg(test)]
mod tests {
    use keywright_semantics::schema::{KeyAttribute, KeySchema, KeyType, TableSchema};

    use super::*;

    #[test]
    fn names_cannot_break_out_of_their_quotes() {
        let pk = KeyAttribute { name: "p'k".to_owned(), key_type: KeyType::S };
        let schema =
            TableSchema { key: KeySchema { partition: vec![pk], sort: Vec::new() }, indexes: Vec::new() };
        let mut table = TableDefinition::new("Shop", schema);
        table.ttl = Some("expires".to_owned());
        table.point_in_time_recovery = true;
        let hostile = TableDefinition { name: "x\ntouch evil".to_owned(), ..table.clone() };
        let commented = write("shop", &[hostile]);
        let after = commented.split("# Remove the `# `").nth(1).expect("a command only for AWS");
        assert!(after.lines().skip(1).all(|line| line.starts_with("# ")), "{commented}");
        let script = write("a\nrm -rf /", &[table]);
        assert!(script.contains("p'\\''k"), "{script}");
        assert!(script.contains("# Creates the tables of arm -rf /."), "{script}");
        assert!(script.contains("update-time-to-live --table-name 'Shop'"), "{script}");
    }
}
