//! `keywright audit`: what files of the audit log say.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_encryption::{KEYS, KeyFile, Keyring, key_of};
use serde_json::Value;

use crate::audit::reader::{self, Filter, Names};
use crate::audit::rotation::{as_it_is_now, in_order};
use crate::audit::{Form, missing_in};
use crate::client::listing::counted;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;
use crate::settings::encryption::FolderKeyArguments;
use crate::storage::encryption::folder;

/// Show records of audit logs, also of compressed files: who did what, and what was denied
///
/// Files of an encrypted data folder need its key, and its file `KEYS`.
#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Files of the log. The log itself, such as audit.log, is shown with all of its closed files; files are
    /// shown in the order of time
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only requests about this table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Only requests of this user, role or access key: a name, user/NAME, role/NAME, or an ARN
    #[arg(long, value_name = "WHO")]
    principal: Option<String>,
    /// Only requests of this name, such as DeleteTable, in upper or lower case
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Only requests that a policy denied
    #[arg(long)]
    denied: bool,
    /// Only requests since this time in UTC, such as 2026-11-28 or 2026-11-28T10:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Print the records as they are, one in each line
    #[arg(long)]
    json: bool,
    /// The data folder that encrypted files were moved away from; without it the folder above them that has
    /// keys
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    key: FolderKeyArguments,
}

/// The keys of encrypted files.
struct Keys<'a> {
    data: Option<&'a Path>,
    arguments: &'a FolderKeyArguments,
    /// Those of the last folder: its source is asked once.
    opened: Option<(PathBuf, Keyring)>,
}

impl Keys<'_> {
    /// How a file lies on disk. One that cannot be read is so reported by its reader.
    fn form(&mut self, file: &Path) -> Result<Form, Failure> {
        if !matches!(key_of(file), Ok(Some(_))) {
            return Ok(Form::Plain);
        }
        let folder = self.folder(file)?;
        if let Some((_, keyring)) = self.opened.as_ref().filter(|(opened, _)| *opened == folder) {
            return Ok(Form::Encrypted(keyring.clone()));
        }
        let Some(source) = self.arguments.source()? else {
            let kept = KeyFile::read(&folder).ok().flatten();
            return Err(Failure::new(format!("{} is encrypted", file.display()))
                .advising(folder::key_advice(kept.as_ref())));
        };
        let keyring = folder::open(&folder, &source)?;
        self.opened = Some((folder, keyring.clone()));
        Ok(Form::Encrypted(keyring))
    }

    /// The data folder whose keys a file is under.
    fn folder(&self, file: &Path) -> Result<PathBuf, Failure> {
        if let Some(data) = self.data {
            return Ok(data.to_owned());
        }
        let whole = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let above = whole.ancestors().skip(1).find(|folder| folder.join(KEYS).is_file());
        above.map(Path::to_owned).ok_or_else(|| {
            Failure::new(format!("{} is encrypted, and no folder above it has keys", file.display()))
                .advising("write --data FOLDER, the data folder that it was moved away from")
        })
    }
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: AuditArguments) -> Result<(), Failure> {
    let AuditArguments { files, table, principal, event, denied, since, json, data, key } = arguments;
    if let Some(since) = since.as_deref().filter(|since| !is_time(since)) {
        return Err(Failure::new(format!(
            "--since {since} is not a time: write it as 2026-11-28 or 2026-11-28T10:00:00Z"
        )));
    }
    let filter = Filter { table, principal, event, denied, since };
    let (mut is_shown, mut names) = (false, Names::default());
    let mut keys = Keys { data: data.as_deref(), arguments: &key, opened: None };
    // One damaged file hides nothing of the others.
    let mut damaged = Vec::new();
    for file in in_order(&files) {
        let file = as_it_is_now(&file);
        let form = keys.form(&file)?;
        let read = reader::each(&file, &form, |record| {
            if filter.matches(record) {
                is_shown = true;
                output::say(&if json { record.to_string() } else { line(record) });
            } else if !is_shown {
                names.note(record);
            }
        });
        damaged.extend(read.err());
    }
    if !is_shown && damaged.is_empty() {
        output::note(&names.advice(&filter));
    }
    let Some(last) = damaged.pop() else { return Ok(()) };
    for fault in damaged {
        output::complain(&fault.to_string());
    }
    Err(last)
}

/// Whether a text is a time as records have it, or the beginning of one.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z";
    let is_alike =
        |(byte, form): (u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form };
    (4..=FORM.len()).contains(&text.len()) && text.bytes().zip(FORM).all(is_alike)
}

/// A record for people.
fn line(record: &Value) -> String {
    let at = |path: &str| record.pointer(path).and_then(Value::as_str).map(inline);
    let text = |path: &str| at(path).unwrap_or_else(|| "-".into());
    let who = at("/userIdentity/arn").unwrap_or_else(|| text("/userIdentity/type"));
    let outcome = match missing_in(record) {
        Some(records) => counted(records, "record").into(),
        None => at("/errorCode").unwrap_or_else(|| "ok".into()),
    };
    let (time, name, from) = (text("/eventTime"), text("/eventName"), text("/sourceIPAddress"));
    let mut line = format!("{time}  {name}  {outcome}  {who}  {from}");
    for resource in record.get("resources").and_then(Value::as_array).into_iter().flatten() {
        line.push_str("  ");
        line.push_str(&inline(resource.get("ARN").and_then(Value::as_str).unwrap_or_default()));
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_is_that_of_records_or_its_beginning() {
        for time in ["2026", "2026-11", "2026-11-28", "2026-11-28T10:00:00Z"] {
            assert!(is_time(time), "{time}");
        }
        for other in ["", "yesterday", "28.11.2026", "2026/11", "2026-11-28 10:00", "2026-11-28T10:00:00ZZ"] {
            assert!(!is_time(other), "{other}");
        }
    }

    #[test]
    fn a_record_is_a_line_with_who_did_what_to_which_table() {
        let record = json!({"eventTime": "2026-11-28T10:00:00Z", "eventName": "DeleteTable",
            "sourceIPAddress": "127.0.0.1",
            "userIdentity": {"type": "IAMUser", "arn": "arn:aws:iam::1:user/Ann"},
            "resources": [{"ARN": "arn:aws:dynamodb:r:1:table/T"}]});
        assert_eq!(
            line(&record),
            "2026-11-28T10:00:00Z  DeleteTable  ok  arn:aws:iam::1:user/Ann  127.0.0.1  \
             arn:aws:dynamodb:r:1:table/T"
        );
        let gap = json!({"eventTime": "t", "eventName": "RecordsMissing", "eventSource": "keywright",
            "userIdentity": {"type": "AWSService"}, "serviceEventDetails": {"records": 7}});
        assert_eq!(line(&gap), "t  RecordsMissing  7 records  AWSService  -");
        let gap = json!({"eventTime": "t", "eventName": "RecordsMissing", "eventSource": "keywright",
            "userIdentity": {"type": "AWSService"}, "serviceEventDetails": {"records": 1}});
        assert_eq!(line(&gap), "t  RecordsMissing  1 record  AWSService  -");
    }
}
