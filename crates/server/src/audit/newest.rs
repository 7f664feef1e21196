//! The newest changes of a table that the log has, read from its end over closed files.
//!
//! Records about items are no changes of a table, nor are those that only read. A record that says that
//! others are missing is one of every table. The search is bounded: a log with records about items may be
//! large.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read};
use std::path::Path;

use keywright_encryption::ContentReader;
use serde_json::Value;

use super::backwards::{Backwards, length};
use super::form::Form;
use super::record;
use super::rotation::{closed_files, compressed_name};
use crate::limits::{AUDIT_CHANGES_MAX, AUDIT_SEARCHED_BYTES_MAX};

/// Whose changes are wanted.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The ARN of the table.
    pub(crate) arn: String,
    /// Only records of this account.
    pub(crate) account: String,
}

/// The newest changes, the newest first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) records: Vec<Value>,
    /// Whether the whole log was searched.
    pub(crate) is_whole: bool,
    /// The time of the oldest record that was looked at.
    pub(crate) since: Option<String>,
}

impl Wanted {
    /// The record of a line, if it is a change of the table. Most lines are refused without being parsed.
    fn of(&self, line: &[u8]) -> Option<Value> {
        let text = std::str::from_utf8(line).ok()?;
        let says = |member: &str| text.contains(member);
        let is_likely = says(r#""readOnly":false"#)
            && says(r#""managementEvent":true"#)
            && (says(&self.arn) || says(record::MISSING));
        if !is_likely {
            return None;
        }
        let record: Value = serde_json::from_str(text).ok()?;
        (record::missing_in(&record).is_some() || self.is_about(&record)).then_some(record)
    }

    fn is_about(&self, record: &Value) -> bool {
        let is_of_table = |resource: &Value| {
            let below =
                resource.get("ARN").and_then(Value::as_str).and_then(|arn| arn.strip_prefix(&self.arn));
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        let is_of_account = record.get("recipientAccountId").and_then(Value::as_str) == Some(&self.account);
        is_of_account
            && record.get("resources").and_then(Value::as_array).into_iter().flatten().any(is_of_table)
    }
}

/// Whether the search goes on with an older file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Older,
    Stop,
}

struct Search<'w> {
    wanted: &'w Wanted,
    form: &'w Form,
    found: Vec<Value>,
    /// A file that is closed during the search may be met twice.
    ids: BTreeSet<String>,
    /// Bytes that may still be searched.
    left: u64,
    /// The oldest line that was looked at.
    oldest: Vec<u8>,
}

impl Search<'_> {
    /// Takes a change; `Stop` if there are enough.
    fn take(&mut self, record: Value) -> Next {
        let id = record.get("eventID").and_then(Value::as_str).unwrap_or_default();
        if self.ids.insert(id.to_owned()) {
            self.found.push(record);
        }
        if self.found.len() < AUDIT_CHANGES_MAX { Next::Older } else { Next::Stop }
    }

    fn backwards(&mut self, mut lines: Backwards<ContentReader>) -> io::Result<Next> {
        while let Some(line) = lines.line()? {
            let Some(left) = self.left.checked_sub(length(line.len())) else { return Ok(Next::Stop) };
            self.left = left;
            let found = self.wanted.of(&line);
            self.oldest = line;
            if let Some(record) = found
                && self.take(record) == Next::Stop
            {
                return Ok(Next::Stop);
            }
        }
        Ok(Next::Older)
    }

    /// Searches a compressed file, which can be read from its beginning only. One with more bytes than may be
    /// searched gives nothing: its newest records would be those that are not reached.
    fn forwards(&mut self, file: impl Read) -> io::Result<Next> {
        let mut lines = BufReader::new(file.take(self.left.saturating_add(1)));
        let mut newest = VecDeque::new();
        let (mut line, mut first, mut searched) = (Vec::new(), Vec::new(), 0_u64);
        loop {
            line.clear();
            let read = length(lines.read_until(b'\n', &mut line)?);
            if read == 0 {
                break;
            }
            searched = searched.saturating_add(read);
            if let Some(record) = self.wanted.of(&line) {
                newest.push_front(record);
                newest.truncate(AUDIT_CHANGES_MAX);
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
        }
        let Some(left) = self.left.checked_sub(searched) else { return Ok(Next::Stop) };
        self.left = left;
        for record in newest {
            if self.take(record) == Next::Stop {
                // The oldest that is shown: the file may have older ones.
                self.oldest = self.found.last().map(Value::to_string).unwrap_or_default().into_bytes();
                return Ok(Next::Stop);
            }
        }
        if !first.is_empty() {
            self.oldest = first;
        }
        Ok(Next::Older)
    }

    /// Searches a file. It may have been compressed or removed since it was listed.
    fn file(&mut self, path: &Path) -> io::Result<Next> {
        if path.extension().is_some_and(|extension| extension == "gz") {
            return match self.form.read(path) {
                Ok(file) => self.forwards(file),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(Next::Older),
                Err(error) => Err(error),
            };
        }
        match self.form.read_backwards(path) {
            Ok(lines) => self.backwards(lines),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.form.read(&compressed_name(path))
            {
                Ok(file) => self.forwards(file),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(Next::Older),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Searches the current file, then the closed ones. The current file is opened before the others are
    /// listed: one that is closed meanwhile is met twice, and none is missed.
    fn log(&mut self, log: &Path) -> io::Result<Next> {
        if self.file(log)? == Next::Stop {
            return Ok(Next::Stop);
        }
        for closed in closed_files(log)? {
            if self.file(&closed)? == Next::Stop {
                return Ok(Next::Stop);
            }
        }
        Ok(Next::Older)
    }
}

/// The newest changes of a table.
pub(super) fn newest((log, form): (&Path, &Form), wanted: &Wanted) -> io::Result<Newest> {
    search((log, form), wanted, AUDIT_SEARCHED_BYTES_MAX)
}

fn search((log, form): (&Path, &Form), wanted: &Wanted, left: u64) -> io::Result<Newest> {
    let (found, ids, oldest) = (Vec::new(), BTreeSet::new(), Vec::new());
    let mut search = Search { wanted, form, found, ids, left, oldest };
    let next = search.log(log)?;
    let oldest: Value = serde_json::from_slice(&search.oldest).unwrap_or_default();
    let since = oldest.get("eventTime").and_then(Value::as_str).map(str::to_owned);
    Ok(Newest { records: search.found, is_whole: next == Next::Older, since })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    const ARN: &str = "arn:aws:dynamodb:r:1:table/Orders";

    fn change(number: usize) -> Value {
        json!({"eventID": format!("{number}"), "eventTime": format!("2026-11-28T10:00:{number:02}Z"),
            "eventName": "UpdateTable", "readOnly": false, "managementEvent": true,
            "recipientAccountId": "1", "resources": [{"ARN": ARN}]})
    }

    fn with(number: usize, member: &str, value: Value) -> Value {
        let mut record = change(number);
        record[member] = value;
        record
    }

    fn lines(records: &[Value]) -> String {
        records.iter().flat_map(|record| [record.to_string(), "\n".to_owned()]).collect()
    }

    /// A log whose current file has the last records, and closed files the others.
    fn log(folder: &Path, files: &[&[Value]]) -> PathBuf {
        let log = folder.join("audit.log");
        let (current, closed) = files.split_last().unwrap();
        for (day, records) in closed.iter().enumerate() {
            let name = format!("audit.log.2026112{day}T000000000Z");
            std::fs::write(folder.join(&name), lines(records)).unwrap();
            // The newest closed file is not compressed yet.
            if day + 1 < closed.len() {
                let [closed, draft, compressed] =
                    ["", ".draft", ".gz"].map(|suffix| folder.join(format!("{name}{suffix}")));
                Form::Plain.compress(&closed, &draft, &compressed).unwrap();
            }
        }
        std::fs::write(&log, lines(current)).unwrap();
        log
    }

    fn wanted() -> Wanted {
        Wanted { arn: ARN.to_owned(), account: "1".to_owned() }
    }

    fn ids(newest: &Newest) -> Vec<&str> {
        newest.records.iter().map(|record| record["eventID"].as_str().unwrap()).collect()
    }

    #[test]
    fn changes_of_the_table_are_found_in_all_files_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let others = [
            with(90, "readOnly", json!(true)),
            with(91, "managementEvent", json!(false)),
            with(92, "recipientAccountId", json!("2")),
            with(93, "resources", json!([{"ARN": format!("{ARN}2")}])),
            with(94, "resources", json!([{"ARN": "arn:aws:dynamodb:s:1:table/Orders"}])),
        ];
        let index = with(4, "resources", json!([{"ARN": format!("{ARN}/index/i")}]));
        let gap: Value = serde_json::from_slice(&record::missing(7, 0)).unwrap();
        let gap_id = gap["eventID"].as_str().unwrap().to_owned();
        let current = [&others[..], &[index, change(5)]].concat();
        let log = log(folder.path(), &[&[change(1)], &[change(2), gap], &[change(3)], &current]);
        let newest = newest((&log, &Form::Plain), &wanted()).unwrap();
        assert_eq!(ids(&newest), ["5", "4", "3", gap_id.as_str(), "2", "1"]);
        assert_eq!((newest.is_whole, newest.since.as_deref()), (true, Some("2026-11-28T10:00:01Z")));
    }

    #[test]
    fn a_search_ends_with_enough_changes_or_after_its_bytes_and_says_since_when_it_has_all() {
        let folder = tempfile::tempdir().unwrap();
        let many: Vec<Value> = (10..10 + AUDIT_CHANGES_MAX + 5).map(change).collect();
        let file = log(folder.path(), &[&many, &[], &[change(55)]]);
        let found = newest((&file, &Form::Plain), &wanted()).unwrap();
        assert_eq!((found.records.len(), ids(&found)[0]), (AUDIT_CHANGES_MAX, "55"));
        assert_eq!(found.since.as_deref(), found.records.last().unwrap()["eventTime"].as_str());
        assert!(!found.is_whole);
        let bytes = length(lines(&[change(55)]).len());
        for (left, expected) in [(bytes, vec!["55"]), (bytes + 100, vec!["55"]), (bytes - 1, vec![])] {
            let found = search((&file, &Form::Plain), &wanted(), left).unwrap();
            assert_eq!(ids(&found), expected);
            let since = if left < bytes { None } else { Some("2026-11-28T10:00:55Z") };
            assert_eq!((found.is_whole, found.since.as_deref()), (false, since));
        }
    }

    #[test]
    fn a_file_that_is_closed_during_the_search_counts_once_and_a_missing_one_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let same = [change(1), change(2)];
        let file = log(folder.path(), &[&same, &same]);
        assert_eq!(ids(&newest((&file, &Form::Plain), &wanted()).unwrap()), ["2", "1"]);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(ids(&newest((&file, &Form::Plain), &wanted()).unwrap()), ["2", "1"]);
    }
}
