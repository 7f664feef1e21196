//! Bulk puts: the members of a record, the reports, their manifests and where they stand.
//!
//! The service documents all of this on pages that could not be read. So it is our own until they can be, and
//! stands in this one file: names of members, layout of reports, names of objects. The one part that is known
//! is what the reports hold: what could not be processed, and of a failed condition the attempted item and
//! the existing one.
//!
//! ```text
//! record      {"Item":{…},"ConditionExpression":"…","ExpressionAttributeNames":{…},"ExpressionAttributeValues":{…}}
//! error       {"itemS3Pointer":{…},"errorMessages":[…],"Item":{…}}                        Item if it could be read
//! condition   {"itemS3Pointer":{…},"errorMessages":[…],"Item":{…},"ExistingItem":{…}}     ExistingItem if there is one
//! ```

use keywright_semantics::messages::files::ITEM_OF_INCREMENT;
use keywright_semantics::request::FileRecordParts;
use keywright_semantics::request::parts::AttributeMapPart;
use keywright_semantics::value::Item;

use super::errors::{ItemPointer, put_messages, put_pointer};
use super::iso_time::iso_time;
use super::line::push_line;
use super::manifest::DataFile;
use super::record::Contents;
use crate::render::writer::{Render, Writer};

/// The members of a record in any format. Each is taken once; an error is the fault of its value.
pub(super) trait RecordMembers {
    fn attributes(&mut self, name: &str) -> Result<Option<AttributeMapPart>, String>;
    fn names(&mut self, name: &str) -> Result<Option<Vec<(String, String)>>, String>;
    fn text(&mut self, name: &str) -> Result<Option<String>, String>;
}

/// What a record holds. Of a record of an import only the item is looked at.
pub(super) fn record_parts(
    contents: Contents,
    members: &mut impl RecordMembers,
) -> Result<FileRecordParts, String> {
    let item = members.attributes("Item")?;
    if item.is_none() && matches!(members.attributes("Keys"), Ok(Some(_))) {
        return Err(ITEM_OF_INCREMENT.to_owned());
    }
    match contents {
        Contents::Items => Ok(FileRecordParts { item, ..FileRecordParts::default() }),
        Contents::ConditionalPuts => Ok(FileRecordParts {
            item,
            condition_expression: members.text("ConditionExpression")?,
            expression_attribute_names: members.names("ExpressionAttributeNames")?,
            expression_attribute_values: members.attributes("ExpressionAttributeValues")?,
        }),
    }
}

/// The two reports of a bulk put, in the order of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Report {
    /// Records and objects that could not be processed.
    Error,
    /// Items whose condition did not hold.
    ConditionCheckFailure,
}

impl Report {
    /// Both reports.
    pub const ALL: [Self; 2] = [Self::Error, Self::ConditionCheckFailure];

    /// The name in requests and manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::ConditionCheckFailure => "CONDITION_CHECK_FAILURE",
        }
    }

    const fn folder(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::ConditionCheckFailure => "condition-check-failure",
        }
    }

    /// The key of a file of this report. `name` is one of [`super::data_file_name`], `summary_key` that of
    /// [`super::ExportFolder::summary_key`]: reports stand where an export of the operation's id would.
    pub fn data_key(self, summary_key: &str, name: &str) -> String {
        let folder = summary_key.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/data/{}/{name}.json.gz", self.folder())
    }
}

/// Attributes in a report.
struct Attributes<'a>(&'a Item);

impl Render for Attributes<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            for (name, value) in self.0 {
                members.entry(name, value);
            }
        });
    }
}

/// Appends a line on a record or object that could not be processed; with its item if that could be read.
pub fn push_error(out: &mut Vec<u8>, pointer: &ItemPointer<'_>, messages: &[String], item: Option<&Item>) {
    push_line(out, |members| {
        put_pointer(members, pointer);
        put_messages(members, messages);
        members.put_if("Item", item.map(Attributes));
    });
}

/// Appends a line on an item whose condition did not hold; with the existing item if there is one.
pub fn push_condition_failure(
    out: &mut Vec<u8>,
    pointer: &ItemPointer<'_>,
    messages: &[String],
    attempted: &Item,
    existing: Option<&Item>,
) {
    push_line(out, |members| {
        put_pointer(members, pointer);
        put_messages(members, messages);
        members.put("Item", Attributes(attempted));
        members.put_if("ExistingItem", existing.map(Attributes));
    });
}

/// What the manifest of a bulk put's reports says. It is written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSummary {
    /// The operation's ARN.
    pub bulk_operation_arn: String,
    /// When the operation began, in milliseconds since 1970.
    pub start_time_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub end_time_ms: u64,
    /// The table's ARN.
    pub table_arn: String,
    /// The table's id.
    pub table_id: String,
    /// The bucket of the reports.
    pub bucket: String,
    /// The prefix of the request, as it was given.
    pub prefix: Option<String>,
    /// Where the list of the reports' files is.
    pub files_key: String,
    /// Records written, failed and refused by their condition.
    pub processed_item_count: u64,
    /// Records and objects that could not be processed.
    pub failed_item_count: u64,
    /// Items whose condition did not hold.
    pub condition_check_failure_count: u64,
}

/// The version of the reports' layout.
const VERSION: &str = "2026-11-27";

impl ReportSummary {
    /// The content of `manifest-summary.json`: one line without an end.
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.object(|members| {
            members.put("version", VERSION);
            members.put("bulkOperationArn", &self.bulk_operation_arn);
            members.put("startTime", iso_time(self.start_time_ms));
            members.put("endTime", iso_time(self.end_time_ms));
            members.put("tableArn", &self.table_arn);
            members.put("tableId", &self.table_id);
            members.put("s3Bucket", &self.bucket);
            members.put("s3Prefix", self.prefix.as_ref());
            members.put("manifestFilesS3Key", &self.files_key);
            members.put("processedItemCount", self.processed_item_count);
            members.put("failedItemCount", self.failed_item_count);
            members.put("conditionCheckFailureCount", self.condition_check_failure_count);
        });
        writer.finish()
    }
}

/// Appends the line of a report's file to `manifest-files.json`.
pub fn push_report_file(out: &mut Vec<u8>, report: Report, file: &DataFile) {
    push_line(out, |members| {
        members.put("outputType", report.name());
        file.put(members);
    });
}
