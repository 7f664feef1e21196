//! Patterns of events as the guides of `EventBridge` and Lambda describe them: sixty patterns, each with what
//! it means for a record, against sixty records.

use keywright_wire::events::Pattern;
use serde_json::{Value, json};

/// What a record is made of.
struct Row {
    number: usize,
    event: &'static str,
    is_expired: bool,
    status: Option<&'static str>,
    tags: &'static [&'static str],
    has_note: bool,
    is_open: bool,
    /// Numbers and colours of its parts.
    parts: &'static [(&'static str, &'static str)],
}

const STATUS: [Option<&str>; 8] = [
    Some("NEW"),
    Some("new"),
    Some("PAID"),
    Some("PAYING"),
    Some(""),
    None,
    Some("SHIPPED-EU"),
    Some("Größe"),
];
const TAGS: [&[&str]; 4] = [&["red"], &["red", "blue"], &[], &["green"]];
const PARTS: [&[(&str, &str)]; 3] = [&[("a", "red"), ("b", "blue")], &[("a", "blue")], &[]];

fn rows() -> Vec<Row> {
    let row = |number: usize| {
        let event = ["INSERT", "MODIFY", "REMOVE"][number % 3];
        Row {
            number,
            event,
            is_expired: event == "REMOVE" && number.is_multiple_of(2),
            status: STATUS[number % 8],
            tags: TAGS[number % 4],
            has_note: number.is_multiple_of(5),
            is_open: number % 7 < 3,
            parts: PARTS[number / 3 % 3],
        }
    };
    (0..60).map(row).collect()
}

fn record(row: &Row) -> Value {
    let mut image = json!({
        "pk": {"S": format!("ORDER#{:02}", row.number)},
        "amount": {"N": row.number.to_string()},
        "open": {"BOOL": row.is_open},
        "tags": {"SS": row.tags},
        "parts": {"L": row.parts.iter().map(|(name, colour)| json!({"M": {"name": {"S": name}, "colour": {"S": colour}}})).collect::<Vec<_>>()},
    });
    if let Some(status) = row.status {
        image["status"] = json!({"S": status});
    }
    if row.has_note {
        image["note"] = json!({"NULL": true});
        image["plain"] = Value::Null;
    }
    let mut record = json!({
        "eventName": row.event,
        "dynamodb": {"Keys": {"pk": image["pk"]}, "NewImage": image, "SizeBytes": row.number * 10},
    });
    if row.is_expired {
        record["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
    }
    record
}

fn starts(row: &Row, prefix: &str) -> bool {
    row.status.is_some_and(|status| status.starts_with(prefix))
}

/// A rule for the text of the status.
fn status(rule: &str) -> String {
    format!(r#"{{"dynamodb":{{"NewImage":{{"status":{{"S":[{rule}]}}}}}}}}"#)
}

fn size(rule: &str) -> String {
    format!(r#"{{"dynamodb":{{"SizeBytes":[{rule}]}}}}"#)
}

type Means = fn(&Row) -> bool;

/// Patterns on the members of a record.
fn of_records() -> Vec<(String, Means)> {
    let text = str::to_owned;
    vec![
        (text("{}"), |_| true),
        (text(r#"{"eventName":["INSERT"]}"#), |row| row.event == "INSERT"),
        (text(r#"{"eventName":["INSERT","REMOVE"]}"#), |row| row.event != "MODIFY"),
        (text(r#"{"eventName":["insert"]}"#), |_| false),
        (text(r#"{"eventName":[{"equals-ignore-case":"insert"}]}"#), |row| row.event == "INSERT"),
        (text(r#"{"eventName":[{"anything-but":"INSERT"}]}"#), |row| row.event != "INSERT"),
        (text(r#"{"eventName":[{"anything-but":["INSERT","MODIFY"]}]}"#), |row| row.event == "REMOVE"),
        (text(r#"{"eventName":[{"prefix":"M"}]}"#), |row| row.event == "MODIFY"),
        (text(r#"{"eventName":[{"suffix":"E"}]}"#), |row| row.event == "REMOVE"),
        (text(r#"{"eventName":[{"wildcard":"*O*"}]}"#), |row| row.event != "INSERT"),
        (
            text(
                r#"{"eventName":["REMOVE"],"userIdentity":{"type":["Service"],"principalId":["dynamodb.amazonaws.com"]}}"#,
            ),
            |row| row.is_expired,
        ),
        (text(r#"{"userIdentity":{"type":["Service"]}}"#), |row| row.is_expired),
        (text(r#"{"userIdentity":{"type":[{"exists":true}]}}"#), |row| row.is_expired),
        (text(r#"{"userIdentity":{"type":[{"exists":false}]}}"#), |row| !row.is_expired),
        (text(r#"{"userIdentity":{"type":[{"anything-but":"Service"}]}}"#), |_| false),
        // It is an object: only leaves exist.
        (text(r#"{"userIdentity":[{"exists":true}]}"#), |_| false),
        (text(r#"{"eventName":["REMOVE"],"userIdentity":{"type":[{"exists":false}]}}"#), |row| {
            row.event == "REMOVE" && !row.is_expired
        }),
        (text(r#"{"missing":["x"]}"#), |_| false),
        (text(r#"{"missing":{"deeper":[{"exists":false}]}}"#), |_| true),
        (text(r#"{"eventName":{"deeper":[{"exists":false}]}}"#), |_| true),
        (text(r#"{"$or":[{"eventName":["INSERT"]},{"userIdentity":{"type":["Service"]}}]}"#), |row| {
            row.event == "INSERT" || row.is_expired
        }),
        (
            text(
                r#"{"eventName":["REMOVE"],"$or":[{"dynamodb":{"SizeBytes":[20]}},{"dynamodb":{"SizeBytes":[50]}}]}"#,
            ),
            |row| [2, 5].contains(&row.number),
        ),
    ]
}

/// Patterns on texts.
fn of_texts() -> Vec<(String, Means)> {
    vec![
        (status(r#""NEW""#), |row| row.status == Some("NEW")),
        (status(r#""NEW","PAID""#), |row| matches!(row.status, Some("NEW" | "PAID"))),
        (status(r#""""#), |row| row.status == Some("")),
        (status(r#"{"prefix":"PA"}"#), |row| starts(row, "PA")),
        (status(r#"{"prefix":""}"#), |row| row.status.is_some()),
        (status(r#"{"prefix":{"equals-ignore-case":"nE"}}"#), |row| {
            matches!(row.status, Some("NEW" | "new"))
        }),
        (status(r#"{"suffix":"EU"}"#), |row| row.status == Some("SHIPPED-EU")),
        (status(r#"{"suffix":{"equals-ignore-case":"EW"}}"#), |row| {
            matches!(row.status, Some("NEW" | "new"))
        }),
        (status(r#"{"equals-ignore-case":"GRÖSSE"}"#), |_| false),
        (status(r#"{"equals-ignore-case":"GRÖßE"}"#), |row| row.status == Some("Größe")),
        (status(r#"{"wildcard":"S*-*"}"#), |row| row.status == Some("SHIPPED-EU")),
        (status(r#"{"wildcard":"PA*"}"#), |row| starts(row, "PA")),
        (status(r#"{"wildcard":"*"}"#), |row| row.status.is_some()),
        (status(r#"{"anything-but":"NEW"}"#), |row| row.status.is_some_and(|status| status != "NEW")),
        (status(r#"{"anything-but":{"prefix":"PA"}}"#), |row| row.status.is_some() && !starts(row, "PA")),
        (status(r#"{"anything-but":{"suffix":["EU","D"]}}"#), |row| {
            row.status.is_some_and(|status| !status.ends_with("EU") && !status.ends_with('D'))
        }),
        (status(r#"{"anything-but":{"equals-ignore-case":["new"]}}"#), |row| {
            row.status.is_some_and(|status| !status.eq_ignore_ascii_case("new"))
        }),
        (status(r#"{"anything-but":{"wildcard":"*A*"}}"#), |row| {
            row.status.is_some_and(|status| !status.contains('A'))
        }),
        (status(r#"{"exists":true}"#), |row| row.status.is_some()),
        (status(r#"{"exists":false}"#), |row| row.status.is_none()),
        (status(r#""PAID",{"exists":false}"#), |row| matches!(row.status, None | Some("PAID"))),
        (status("null"), |_| false),
        (status("5"), |_| false),
        (status(r#"{"numeric":[">",0]}"#), |_| false),
    ]
}

/// Patterns on numbers, truth values, lists and nulls.
fn of_others() -> Vec<(String, Means)> {
    let image = |rest: &str| format!(r#"{{"dynamodb":{{"NewImage":{{{rest}}}}}}}"#);
    vec![
        (size("100"), |row| row.number == 10),
        (size("\"100\""), |_| false),
        (size(r#"{"numeric":["=",100]}"#), |row| row.number == 10),
        (size(r#"{"numeric":["<",100]}"#), |row| row.number < 10),
        (size(r#"{"numeric":[">=",100,"<",200]}"#), |row| (10..20).contains(&row.number)),
        (size(r#"{"numeric":[">",99.5,"<=",1e2]}"#), |row| row.number == 10),
        (size(r#"{"anything-but":[100,200]}"#), |row| ![10, 20].contains(&row.number)),
        // Numbers of items are texts.
        (image(r#""amount":{"N":[{"numeric":[">",0]}]}"#), |_| false),
        (image(r#""amount":{"N":["7"]}"#), |row| row.number == 7),
        (image(r#""open":{"BOOL":[true]}"#), |row| row.is_open),
        (image(r#""tags":{"SS":["red"]}"#), |row| row.tags.contains(&"red")),
        (image(r#""tags":{"SS":[{"anything-but":"red"}]}"#), |row| row.tags.iter().any(|tag| *tag != "red")),
        (image(r#""plain":[null]"#), |row| row.has_note),
        (image(r#""parts":{"L":{"M":{"name":{"S":["a"]},"colour":{"S":["blue"]}}}}"#), |row| {
            row.parts.contains(&("a", "blue"))
        }),
    ]
}

#[test]
fn sixty_patterns_mean_for_sixty_records_what_the_guides_say() {
    let patterns = [of_records(), of_texts(), of_others()].concat();
    let rows = rows();
    assert_eq!((patterns.len(), rows.len()), (60, 60));
    let mut matched = 0;
    for (text, means) in &patterns {
        let pattern = Pattern::compile(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        for row in &rows {
            let record = record(row).to_string();
            assert_eq!(pattern.matches(record.as_bytes()), means(row), "{text} on {record}");
            matched += usize::from(means(row));
        }
    }
    assert!(matched > 500, "{matched} of 3,600 match");
}
