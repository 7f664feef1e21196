//! The reports of a bulk put: files of findings, and manifests, the last of which makes them complete.
//!
//! They are written from rows of the engine when nothing more is put. A job that goes on after a kill writes
//! them again, with the same names and the same bytes.

use bytes::Bytes;
use keywright_engine::{BulkPutCounts, BulkPutWork, Finding, ObjectJob, ObjectSource};
use keywright_objects::{Bucket, Encryption};
use keywright_semantics::request::parts::{OutputTypeEnum, S3SseAlgorithm};
use keywright_wire::files::bulk::{
    Report, ReportSummary, push_condition_failure, push_error, push_report_file,
};
use keywright_wire::files::{Checksum, DataFile, ExportFolder, ItemPointer, Part, data_file_name};

use super::super::files::{gzip, put_manifests};
use super::super::{Stop, Tools};

/// Bytes of lines after which a file ends.
const FILE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a page of findings; one finding more may follow.
const PAGE_BYTES: usize = 1024 * 1024;

/// Where the reports of a job are put.
pub(super) struct Reports<'j> {
    job_id: &'j str,
    work: &'j BulkPutWork,
    folder: ExportFolder,
}

/// A file that is being made.
#[derive(Default)]
struct File {
    lines: Vec<u8>,
    count: u64,
}

impl<'j> Reports<'j> {
    pub(super) fn of(job_id: &'j str, work: &'j BulkPutWork) -> Self {
        Self { job_id, work, folder: ExportFolder::new(work.output.prefix.as_deref(), job_id) }
    }

    fn bucket(&self, tools: &Tools) -> Result<Bucket, Stop> {
        let output = &self.work.output;
        let bucket = tools.buckets.open(&output.bucket)?;
        // What a store does with keys of its own is its default.
        match output.algorithm {
            Some(S3SseAlgorithm::Kms) => {
                Ok(bucket.encrypted(&Encryption::Kms { key_id: output.kms_key.clone() })?)
            }
            Some(S3SseAlgorithm::Aes256) | None => Ok(bucket),
        }
    }

    /// Where among the objects of the input the reports of bulk puts are, these and earlier ones. They are no
    /// input: an item whose condition did not hold would be put without one. A prefix that names a folder of
    /// its own there, such as an export's, names just what it says.
    pub(super) fn among(&self, source: &ObjectSource) -> Option<&str> {
        let asked = source.prefix.as_deref().unwrap_or_default();
        let root = self.folder.root();
        (source.bucket == self.work.output.bucket && root.starts_with(asked)).then_some(root)
    }

    /// Marks the folder, so that a bucket that is missing is noticed before anything is put.
    pub(super) async fn begin(&self, tools: &Tools) -> Result<(), Stop> {
        self.bucket(tools)?.put(&self.folder.started_key(), Bytes::new()).await?;
        Ok(())
    }

    /// Writes all that was found out.
    pub(super) async fn write(&self, tools: &Tools, job: &ObjectJob, ended_ms: u64) -> Result<(), Stop> {
        let bucket = self.bucket(tools)?;
        let mut list = Vec::new();
        for (number, kind) in (0..).zip(&self.work.output.reports) {
            self.write_report(tools, job, (&bucket, number, *kind), &mut list).await?;
        }
        let counts = tools.engine()?.bulk_put_counts(job).await?;
        let summary = self.summary(job, counts, ended_ms);
        put_manifests(
            &bucket,
            [(self.folder.files_key(), list), (self.folder.summary_key(), summary.write())],
        )
        .await
    }

    async fn write_report(
        &self,
        tools: &Tools,
        job: &ObjectJob,
        (bucket, number, kind): (&Bucket, u64, OutputTypeEnum),
        list: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let report = report_of(kind);
        let (mut file, mut files, mut from) = (File::default(), 0_u64, None);
        loop {
            let page = tools.engine()?.bulk_put_findings(job, kind, from.as_ref(), PAGE_BYTES).await?;
            for finding in &page.findings {
                self.push(&mut file, report, finding);
            }
            let is_last = page.next.is_none();
            if file.lines.len() >= FILE_BYTES || (is_last && file.count > 0) {
                let name = data_file_name(self.job_id, Part(number), files);
                let key = report.data_key(&self.folder.summary_key(), &name);
                let whole = std::mem::take(&mut file);
                let content = gzip([whole.lines.as_slice()]);
                let checksum = Checksum::of(&content);
                let etag = bucket.put(&key, content).await?.as_str().to_owned();
                push_report_file(list, report, &DataFile { item_count: whole.count, checksum, etag, key });
                files += 1;
            }
            if is_last {
                return Ok(());
            }
            from = page.next;
        }
    }

    fn push(&self, file: &mut File, report: Report, finding: &Finding) {
        let pointer =
            ItemPointer { bucket: &self.work.source.bucket, key: &finding.key, item_index: finding.record };
        let messages = std::slice::from_ref(&finding.text);
        match (report, &finding.item) {
            (Report::ConditionCheckFailure, Some(item)) => {
                push_condition_failure(&mut file.lines, &pointer, messages, item, finding.existing.as_ref());
            }
            (Report::Error | Report::ConditionCheckFailure, item) => {
                push_error(&mut file.lines, &pointer, messages, item.as_ref());
            }
        }
        file.count += 1;
    }

    fn summary(&self, job: &ObjectJob, counts: BulkPutCounts, ended_ms: u64) -> ReportSummary {
        let BulkPutWork { arn, table_arn, table_id, output, started_ms, .. } = self.work;
        assert_eq!(job.id, self.job_id, "reports are those of their job");
        ReportSummary {
            bulk_operation_arn: arn.clone(),
            start_time_ms: *started_ms,
            end_time_ms: ended_ms,
            table_arn: table_arn.clone(),
            table_id: table_id.clone(),
            bucket: output.bucket.clone(),
            prefix: output.prefix.clone(),
            files_key: self.folder.files_key(),
            processed_item_count: counts.processed,
            failed_item_count: counts.failed,
            condition_check_failure_count: counts.refused(),
        }
    }
}

const fn report_of(kind: OutputTypeEnum) -> Report {
    match kind {
        OutputTypeEnum::Error => Report::Error,
        OutputTypeEnum::ConditionCheckFailure => Report::ConditionCheckFailure,
    }
}
