//! Records of files of the log, as the command shows them.
//!
//! It does not know how they were written. A torn last line of a file is left out: the server that wrote it
//! was killed before it answered.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use keywright_model::did_you_mean;
use serde_json::Value;

use super::form::Form;
use crate::limits::AUDIT_NAMES_MAX;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::io_fault;

/// Which records are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) table: Option<String>,
    /// A user, a role or an access key, by name, ARN, or the end of an ARN as in `user/ann`.
    pub(crate) principal: Option<String>,
    /// In upper or lower case.
    pub(crate) event: Option<String>,
    pub(crate) denied: bool,
    /// A time as records have it, or its beginning.
    pub(crate) since: Option<String>,
}

fn text<'r>(record: &'r Value, path: &str) -> Option<&'r str> {
    record.pointer(path).and_then(Value::as_str)
}

/// The tables that a record names.
fn tables(record: &Value) -> impl Iterator<Item = &str> {
    let resources = record.get("resources").and_then(Value::as_array).into_iter().flatten();
    resources.filter_map(table_of).chain(text(record, "/requestParameters/tableName"))
}

/// The table of a resource.
fn table_of(resource: &Value) -> Option<&str> {
    resource.get("ARN")?.as_str()?.split_once(":table/")?.1.split('/').next()
}

/// The end of an ARN of IAM or STS, as in `user/team/ann`, `assumed-role/reader/today` and `root`.
fn end_of_arn(arn: &str) -> Option<&str> {
    arn.splitn(6, ':').nth(5)
}

/// Whether an ARN is meant by all of it, by its end, or by its end without the path of the user or role.
fn is_named(arn: &str, asked: &str) -> bool {
    let Some(end) = end_of_arn(arn) else { return false };
    let without_path = end.split_once('/').is_some_and(|(kind, named)| {
        let name = named.rsplit('/').next().unwrap_or_default();
        matches!(kind, "user" | "role") && asked.split_once('/') == Some((kind, name))
    });
    arn == asked || end == asked || without_path
}

fn is_by(record: &Value, asked: &str) -> bool {
    let arns = ["/userIdentity/arn", "/userIdentity/sessionContext/sessionIssuer/arn"];
    let names = [
        "/userIdentity/userName",
        "/userIdentity/accessKeyId",
        "/userIdentity/sessionContext/sessionIssuer/userName",
    ];
    arns.iter().any(|path| text(record, path).is_some_and(|arn| is_named(arn, asked)))
        || names.iter().any(|path| text(record, path) == Some(asked))
}

impl Filter {
    /// Whether a record is one of those.
    pub(crate) fn matches(&self, record: &Value) -> bool {
        let text = |path: &str| text(record, path).unwrap_or_default();
        self.table.as_ref().is_none_or(|table| tables(record).any(|name| name == table))
            && self.principal.as_ref().is_none_or(|principal| is_by(record, principal))
            && self.event.as_ref().is_none_or(|event| text("/eventName").eq_ignore_ascii_case(event))
            && (!self.denied || text("/errorCode").starts_with("AccessDenied"))
            && self.since.as_ref().is_none_or(|since| text("/eventTime") >= since.as_str())
    }
}

/// Names in records that no filter has taken, to be proposed.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tables: BTreeSet<String>,
    principals: BTreeSet<String>,
    events: BTreeSet<String>,
}

impl Names {
    /// Notes the names of a record.
    pub(crate) fn note(&mut self, record: &Value) {
        let note = |names: &mut BTreeSet<String>, name: &str| {
            if names.len() < AUDIT_NAMES_MAX && !names.contains(name) {
                names.insert(name.to_owned());
            }
        };
        tables(record).for_each(|name| note(&mut self.tables, name));
        if let Some(end) = text(record, "/userIdentity/arn").and_then(end_of_arn) {
            note(&mut self.principals, end);
        }
        if let Some(event) = text(record, "/eventName") {
            note(&mut self.events, event);
        }
    }

    /// Why nothing was shown: which names of the filter no record has, and which it has instead.
    pub(crate) fn advice(&self, filter: &Filter) -> String {
        let asked = [
            ("--table", &filter.table, &self.tables),
            ("--principal", &filter.principal, &self.principals),
            ("--event", &filter.event, &self.events),
        ];
        let unknown = asked.into_iter().filter_map(|(option, asked, known)| {
            let asked = asked.as_deref()?;
            let is_known = known.iter().any(|name| {
                let is_event = option == "--event" && name.eq_ignore_ascii_case(asked);
                is_event || name == asked || is_meant(name, asked)
            });
            let proposed =
                || did_you_mean(end_of_arn(asked).unwrap_or(asked), known.iter().map(String::as_str));
            (!is_known).then(|| format!("; no record has {option} {asked}{}", proposed()))
        });
        inline(&format!("no record matches{}", unknown.collect::<String>())).into_owned()
    }
}

/// Whether a principal that is shown as `user/ann` is meant by its name alone.
fn is_meant(name: &str, asked: &str) -> bool {
    name.split('/').skip(1).any(|part| part == asked) || asked.ends_with(&format!(":{name}"))
}

/// Calls `show` with each record of a file, in the file's order.
pub(crate) fn each(path: &Path, form: &Form, mut show: impl FnMut(&Value)) -> Result<(), Failure> {
    let failed = io_fault::failed("read", path);
    let mut lines = BufReader::new(form.read(path).map_err(failed)?);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        lines.read_until(b'\n', &mut line).map_err(failed)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        let record: Value = serde_json::from_slice(&line).map_err(|error| {
            Failure::new(format!("{} line {number} is not a record: {error}", path.display()))
        })?;
        show(&record);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_filter_takes_tables_principals_denials_and_times() {
        let record = json!({"eventTime": "2026-11-28T10:00:00Z", "eventName": "DeleteTable",
            "errorCode": "AccessDeniedException",
            "userIdentity": {"userName": "Ann", "arn": "arn:aws:iam::1:user/Ann"},
            "resources": [{"ARN": "arn:aws:dynamodb:r:1:table/Orders/index/i"}]});
        let all = Filter::default();
        assert!(all.matches(&record));
        assert!(Filter { table: Some("Orders".to_owned()), denied: true, ..all.clone() }.matches(&record));
        assert!(!Filter { table: Some("Order".to_owned()), ..all.clone() }.matches(&record));
        assert!(
            Filter { principal: Some("Ann".to_owned()), since: Some("2026-11-28".to_owned()), ..all.clone() }
                .matches(&record)
        );
        assert!(!Filter { principal: Some("Ben".to_owned()), ..all.clone() }.matches(&record));
        assert!(Filter { event: Some("deletetable".to_owned()), ..all.clone() }.matches(&record));
        assert!(!Filter { since: Some("2026-11-29".to_owned()), ..all }.matches(&record));
    }

    #[test]
    fn a_principal_is_meant_by_its_name_its_arn_and_the_end_of_its_arn() {
        let user = json!({"userIdentity": {"userName": "ann", "arn": "arn:aws:iam::1:user/team/ann"}});
        for asked in ["ann", "user/ann", "user/team/ann", "arn:aws:iam::1:user/team/ann"] {
            assert!(is_by(&user, asked), "{asked}");
        }
        for other in ["nn", "role/ann", "team/ann", "user/team", "user/", "", "arn:aws:iam::2:user/team/ann"]
        {
            assert!(!is_by(&user, other), "{other}");
        }
        let session = json!({"userIdentity": {"arn": "arn:aws:sts::1:assumed-role/reader/today",
            "sessionContext": {"sessionIssuer": {"arn": "arn:aws:iam::1:role/reader", "userName": "reader"}}}});
        for asked in ["reader", "role/reader", "arn:aws:iam::1:role/reader", "assumed-role/reader/today"] {
            assert!(is_by(&session, asked), "{asked}");
        }
        assert!(is_by(&json!({"userIdentity": {"arn": "arn:aws:iam::1:root"}}), "root"));
    }

    #[test]
    fn where_nothing_is_shown_the_names_of_the_records_are_proposed() {
        let mut names = Names::default();
        for (event, arn, table) in
            [("DeleteTable", "user/ann", "Orders"), ("CreateTable", "user/ben", "Users")]
        {
            names.note(&json!({"eventName": event, "requestParameters": {"tableName": table},
                "userIdentity": {"arn": format!("arn:aws:iam::1:{arn}")}}));
        }
        let advice = |table: &str, principal: &str, event: &str| {
            let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let filter = Filter {
                table: given(table),
                principal: given(principal),
                event: given(event),
                ..Filter::default()
            };
            names.advice(&filter)
        };
        assert_eq!(
            advice("orders", "", ""),
            "no record matches; no record has --table orders; did you mean `Orders`?"
        );
        assert_eq!(
            advice("", "user/Ann", "Delete"),
            "no record matches; no record has --principal user/Ann; did you mean `user/ann`?; no record has --event \
             Delete; did you mean `DeleteTable`?"
        );
        assert_eq!(
            advice("xyz", "", ""),
            "no record matches; no record has --table xyz; known are Orders, Users"
        );
        assert_eq!(advice("Users", "ann", "deletetable"), "no record matches");
        let none = Names::default().advice(&Filter { table: Some("x".to_owned()), ..Filter::default() });
        assert_eq!(none, "no record matches; no record has --table x");
    }
}
