//! An export becomes objects: a marker first, data files part by part, then the manifests, the summary last.
//!
//! A file ends with the item that fills it, so which items it has depends on the table alone. Its name and
//! its bytes depend on them and on the job, so one that is written again is the same. Each file that stands
//! is noted in the job's row. An export that fails removes what it has written.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use keywright_engine::{
    ExportPage, ExportPart, ExportSpan, ExportTarget, ExportWork, Exported, ExportedContent, ExportedItem,
    ObjectJob, ObjectWork,
};
use keywright_objects::{Bucket, Encryption, FaultKind};
use keywright_semantics::request::S3Encryption;
use keywright_semantics::request::parts::{ExportFormat, ExportViewType};
use keywright_wire::files::{
    Change, Checksum, DataFile, DataFormat, ExportFolder, Part, SUM_EXTENSIONS, Span, Summary, View,
    data_file_name, ion, json_lines, sum_key,
};

use super::files::{gzip, put_manifests};
use super::{Stop, Tools, shown};
use crate::storage::object_faults::sentence;

/// Bytes of lines after which a file ends. The lines of an increment are held to be sorted.
const FULL_FILE_BYTES: usize = 16 * 1024 * 1024;
const INCREMENT_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a page of items; one item more may follow.
const PAGE_BYTES: usize = 1024 * 1024;
/// Why a server with an encrypted folder does not export, unless its settings allow it.
const ENCRYPTED: &str = "the data folder of the server is encrypted, and the files of an export would not be: \
     start the server with --plain-exports if the buckets encrypt them, or if that is meant";
/// The time between two looks at a clock that was late.
const WAIT_MAX: Duration = Duration::from_millis(100);

pub(super) async fn export(tools: &Tools, job: ObjectJob) -> Result<(), Stop> {
    let ObjectWork::Export(work) = &job.work else { return Err(Stop::Overtaken) };
    if work.failure.is_some() {
        return give_up(tools, &job).await;
    }
    let to = Destination::open(tools, &job.id, work)?;
    let mut newest = job.clone();
    match write(tools, &to, &mut newest).await {
        Err(Stop::Failed { code, message }) => {
            // Another process that has overtaken this one needs the objects.
            let failing = tools.engine()?.note_failing(&newest, code, &message).await?;
            give_up(tools, &failing.ok_or(Stop::Overtaken)?).await
        }
        ended => ended,
    }
}

/// Removes what an export has written that cannot go on, and ends it. Its row says so, so no process adds an
/// object meanwhile, and after a kill the next one goes on here.
async fn give_up(tools: &Tools, job: &ObjectJob) -> Result<(), Stop> {
    let ObjectWork::Export(work) = &job.work else { return Err(Stop::Overtaken) };
    let Some((code, message)) = &work.failure else { return Err(Stop::Overtaken) };
    tracing::error!("{} has failed: {message}", shown(job));
    if let Ok(to) = Destination::open(tools, &job.id, work) {
        to.remove(tools, job).await;
    }
    tools.engine()?.fail_job(job, code, message).await?;
    Ok(())
}

async fn write(tools: &Tools, to: &Destination, job: &mut ObjectJob) -> Result<(), Stop> {
    if !tools.may_export {
        return Err(Stop::Failed { code: "S3AccessDenied", message: ENCRYPTED.to_owned() });
    }
    to.put(&to.folder.started_key(), Bytes::new()).await?;
    to.remove_unfinished(job)?;
    to.check(tools, job).await?;
    while let ObjectWork::Export(work) = &job.work
        && let Some(part) = work.part.clone()
    {
        write_part(tools, to, job, part).await?;
    }
    let ObjectWork::Export(work) = job.work.clone() else { return Err(Stop::Overtaken) };
    while let now_ms = tools.now_ms()
        && now_ms < work.not_before_ms
    {
        let wait_ms = tools.database.clock().real_ms(work.not_before_ms - now_ms);
        tokio::time::sleep(Duration::from_millis(wait_ms).min(WAIT_MAX)).await;
    }
    let ended_ms = tools.now_ms();
    to.put_manifests(tools, job, &work, ended_ms).await?;
    tools.engine()?.end_export(job, &to.folder.summary_key(), ended_ms).await?;
    Ok(())
}

/// Writes the rest of a part.
async fn write_part(
    tools: &Tools,
    to: &Destination,
    job: &mut ObjectJob,
    mut part: ExportPart,
) -> Result<(), Stop> {
    let number = part.number;
    let mut file = File::new(to);
    loop {
        let page = tools.engine()?.export_page(job, part.from.as_ref(), PAGE_BYTES).await?;
        // Over a shared store, this process may not have seen the newest settings of the table yet.
        let page = page.ok_or_else(|| Stop::Later("the history of the table is not there".to_owned()))?;
        let ExportPage { items, passed_bytes, next } = page;
        for item in items {
            let last = item.key.clone();
            file.push(&item);
            if file.is_full() {
                let whole = std::mem::replace(&mut file, File::new(to));
                part.files += note(tools, to, job, (number, part.files), (whole, Some(&last))).await?;
            }
        }
        file.read_bytes += passed_bytes;
        match next {
            Some(next) => part.from = Some(next),
            None => break,
        }
    }
    note(tools, to, job, (number, part.files), (file, None)).await?;
    Ok(())
}

/// Puts a file and notes it. The end of a part whose last file was full has none. Returns the number of
/// files that were put.
async fn note(
    tools: &Tools,
    to: &Destination,
    job: &mut ObjectJob,
    (part, files): (u32, u32),
    (file, last): (File, Option<&Bytes>),
) -> Result<u32, Stop> {
    let (items, read_bytes) = (file.items, file.read_bytes);
    let line =
        if items > 0 || files == 0 { Some(to.put_file(tools, (part, files), file).await?) } else { None };
    let exported = Exported { file: line.as_ref(), last, items, read_bytes };
    let noted = tools.engine()?.note_exported(job, exported).await?;
    *job = noted.ok_or(Stop::Overtaken)?;
    Ok(u32::from(line.is_some()))
}

/// A data file that is being made.
struct File {
    format: DataFormat,
    bytes_max: usize,
    /// Whether lines are in the order of time.
    is_sorted: bool,
    lines: Vec<u8>,
    /// The end of each line, with the time of its change.
    ends: Vec<(u64, usize)>,
    items: u64,
    read_bytes: u64,
}

impl File {
    fn new(to: &Destination) -> Self {
        Self::of(to.span, to.format)
    }

    fn of(span: Span, format: DataFormat) -> Self {
        let (bytes_max, is_sorted) = match span {
            Span::Full { .. } => (FULL_FILE_BYTES, false),
            Span::Incremental { .. } => (INCREMENT_FILE_BYTES, true),
        };
        let (lines, ends) = (Vec::new(), Vec::new());
        Self { format, bytes_max, is_sorted, lines, ends, items: 0, read_bytes: 0 }
    }

    fn push(&mut self, item: &ExportedItem) {
        let mut time_us = 0;
        match (&item.content, self.format) {
            (ExportedContent::Item(item), DataFormat::Json) => json_lines::push_item(&mut self.lines, item),
            (ExportedContent::Item(item), DataFormat::Ion) => ion::push_item(&mut self.lines, item),
            (ExportedContent::Change { keys, old, new, written_us }, format) => {
                time_us = *written_us;
                let change = Change {
                    written_at_us: *written_us,
                    keys,
                    old_image: old.as_ref(),
                    new_image: new.as_ref(),
                };
                match format {
                    DataFormat::Json => json_lines::push_change(&mut self.lines, &change),
                    DataFormat::Ion => ion::push_change(&mut self.lines, &change),
                }
            }
        }
        if self.is_sorted {
            self.ends.push((time_us, self.lines.len()));
        }
        self.items += 1;
        self.read_bytes += item.read_bytes;
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= self.bytes_max
    }

    /// The bytes of the object.
    fn compressed(self) -> Bytes {
        if self.is_sorted {
            let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
            let mut lines: Vec<(u64, &[u8])> = starts
                .zip(&self.ends)
                .map(|(start, (time_us, end))| (*time_us, self.lines.get(start..*end).unwrap_or_default()))
                .collect();
            lines.sort_by_key(|(time_us, _)| *time_us);
            gzip(lines.into_iter().map(|(_, line)| line))
        } else {
            gzip([self.lines.as_slice()])
        }
    }
}

/// Where the objects of an export are put.
struct Destination {
    bucket: Bucket,
    /// The folder on a disk of this machine that the bucket is, if it is one.
    on_disk: Option<PathBuf>,
    folder: ExportFolder,
    job_id: String,
    span: Span,
    format: DataFormat,
}

impl Destination {
    fn open(tools: &Tools, job_id: &str, work: &ExportWork) -> Result<Self, Stop> {
        let ExportTarget { bucket, prefix, encryption, format, span: of, .. } = &work.asked;
        let mut opened = tools.buckets.open(bucket)?;
        // What a store does with keys of its own is its default.
        if let S3Encryption::Kms { key } = encryption {
            let encryption = Encryption::Kms { key_id: key.clone() };
            opened = opened.encrypted(&encryption)?;
        }
        Ok(Self {
            bucket: opened,
            on_disk: tools.buckets.folder(bucket),
            folder: ExportFolder::new(prefix.as_deref(), job_id),
            job_id: job_id.to_owned(),
            span: span(*of),
            format: match format {
                ExportFormat::DynamodbJson => DataFormat::Json,
                ExportFormat::Ion => DataFormat::Ion,
            },
        })
    }

    async fn put(&self, key: &str, content: Bytes) -> Result<String, Stop> {
        let etag = self.bucket.put(key, content).await?;
        Ok(etag.as_str().to_owned())
    }

    fn key_of_file(&self, (part, number): (u32, u32)) -> String {
        let name = data_file_name(&self.job_id, Part(part.into()), number.into());
        self.folder.data_key(self.span, self.format, &name)
    }

    /// Puts a data file; returns its line of the list of files.
    async fn put_file(&self, tools: &Tools, place: (u32, u32), file: File) -> Result<Bytes, Stop> {
        let (item_count, key) = (file.items, self.key_of_file(place));
        let content = file.compressed();
        self.check_room(tools, content.len())?;
        let checksum = Checksum::of(&content);
        let etag = self.put(&key, content).await?;
        let mut line = Vec::new();
        DataFile { item_count, checksum, etag, key }.push_line(&mut line);
        Ok(line.into())
    }

    /// Checks that a file leaves the database the room that it needs on its disk.
    fn check_room(&self, tools: &Tools, bytes: usize) -> Result<(), Stop> {
        let reason = self.on_disk.as_ref().and_then(|folder| tools.database.refuses_copy(folder, bytes));
        match reason {
            None => Ok(()),
            Some(reason) => Err(Stop::Failed {
                code: "S3StorageFull",
                message: format!("{reason}: free some, or export to a bucket elsewhere"),
            }),
        }
    }

    /// Removes the files of a folder that a killed process was writing.
    fn remove_unfinished(&self, job: &ObjectJob) -> Result<(), Stop> {
        for key in self.manifest_keys().chain([self.folder.started_key()]).chain(self.next_key(job)) {
            self.bucket.remove_unfinished_of(&key)?;
        }
        Ok(())
    }

    /// The keys of the manifests, and of their sums.
    fn manifest_keys(&self) -> impl Iterator<Item = String> {
        let [extension, ..] = SUM_EXTENSIONS;
        let with_sum = |key: String| {
            let sum = sum_key(&key, extension);
            [key, sum]
        };
        [self.folder.summary_key(), self.folder.files_key()].into_iter().flat_map(with_sum)
    }

    /// The key of the next data file. It may stand without a note.
    fn next_key(&self, job: &ObjectJob) -> Option<String> {
        let ObjectWork::Export(work) = &job.work else { return None };
        work.part.as_ref().map(|part| self.key_of_file((part.number, part.files)))
    }

    /// Checks that the files that were noted are still there.
    async fn check(&self, tools: &Tools, job: &ObjectJob) -> Result<(), Stop> {
        for file in noted_files(tools, job).await? {
            self.bucket.stat(&file.key).await?;
        }
        Ok(())
    }

    async fn put_manifests(
        &self,
        tools: &Tools,
        job: &ObjectJob,
        work: &ExportWork,
        ended_ms: u64,
    ) -> Result<(), Stop> {
        let lines = tools.engine()?.exported_files(job).await?;
        let (algorithm, key) = match &work.asked.encryption {
            S3Encryption::Aes256 => ("AES256", None),
            S3Encryption::Kms { key } => ("KMS", key.clone()),
        };
        let summary = Summary {
            export_arn: work.arn.clone(),
            start_time_ms: work.started_ms,
            end_time_ms: ended_ms,
            table_arn: work.table_arn.clone(),
            table_id: work.table_id.clone(),
            span: self.span,
            bucket: work.asked.bucket.clone(),
            prefix: work.asked.prefix.clone(),
            sse_algorithm: Some(algorithm.to_owned()),
            sse_kms_key_id: key,
            files_key: self.folder.files_key(),
            billed_size_bytes: job.billed_bytes(),
            item_count: job.items,
            format: self.format,
        };
        let manifests =
            [(self.folder.files_key(), lines.concat()), (self.folder.summary_key(), summary.write())];
        put_manifests(&self.bucket, manifests).await
    }

    /// Removes what an export has written that has failed, as far as that is possible.
    async fn remove(&self, tools: &Tools, job: &ObjectJob) {
        let mut keys: Vec<String> = self.manifest_keys().chain(self.next_key(job)).collect();
        keys.extend(noted_files(tools, job).await.unwrap_or_default().into_iter().map(|file| file.key));
        keys.push(self.folder.started_key());
        for key in keys {
            match self.bucket.remove(&key).await {
                Ok(()) => {}
                // Nothing was written.
                Err(fault) if fault.kind() == FaultKind::NoSuchBucket => return,
                Err(fault) => {
                    tracing::warn!("objects of an export that failed may stay: {}", sentence(&fault));
                    return;
                }
            }
        }
    }
}

/// The files of a job that stand.
async fn noted_files(tools: &Tools, job: &ObjectJob) -> Result<Vec<DataFile>, Stop> {
    let lines = tools.engine()?.exported_files(job).await?;
    let mut files = Vec::with_capacity(lines.len());
    for line in lines {
        files.extend(DataFile::read_lines(&line).map_err(|fault| Stop::Failed {
            code: "DamagedJob",
            message: format!("what was noted of the files cannot be read: {fault}"),
        })?);
    }
    Ok(files)
}

const fn span(span: ExportSpan) -> Span {
    match span {
        ExportSpan::Full { at_ms } => Span::Full { at_ms },
        ExportSpan::Increment { from_ms, to_ms, view } => {
            let view = match view {
                ExportViewType::NewImage => View::NewImage,
                ExportViewType::NewAndOldImages => View::NewAndOldImages,
            };
            Span::Incremental { from_ms, to_ms, view }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use keywright_semantics::codec::EncodedItem;
    use keywright_semantics::value::{AttributeValue, Item};

    use super::*;

    fn item(text: &str) -> EncodedItem {
        let item: Item = [("pk".to_owned(), AttributeValue::S(text.to_owned()))].into();
        EncodedItem::encode(&item)
    }

    fn exported(content: ExportedContent) -> ExportedItem {
        ExportedItem { key: Bytes::new(), read_bytes: 7, content }
    }

    fn text(file: File) -> String {
        let mut text = String::new();
        let read = flate2::read::GzDecoder::new(&file.compressed()[..]).read_to_string(&mut text);
        read.expect("it was just written");
        text
    }

    #[test]
    fn an_empty_file_has_twenty_bytes_and_none_has_a_time() {
        let span = Span::Full { at_ms: 1 };
        assert_eq!(File::of(span, DataFormat::Json).compressed().len(), 20);
        let mut file = File::of(span, DataFormat::Json);
        file.push(&exported(ExportedContent::Item(item("a"))));
        assert_eq!((file.items, file.read_bytes), (1, 7));
        let bytes = file.compressed();
        assert_eq!(bytes.get(4..8), Some(&[0; 4][..]));
    }

    #[test]
    fn lines_of_a_full_export_stay_in_their_order_and_those_of_an_increment_are_by_time() {
        let change = |name: &str, written_us| {
            let content = ExportedContent::Change { keys: item(name), old: None, new: None, written_us };
            exported(content)
        };
        let mut increment =
            File::of(Span::Incremental { from_ms: 1, to_ms: 2, view: View::NewImage }, DataFormat::Json);
        for (name, us) in [("late", 9), ("early", 1), ("second", 1)] {
            increment.push(&change(name, us));
        }
        let found = text(increment);
        let places = ["early", "second", "late"].map(|name| found.find(name));
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{found}");
        let mut full = File::of(Span::Full { at_ms: 1 }, DataFormat::Ion);
        for name in ["b", "a"] {
            full.push(&exported(ExportedContent::Item(item(name))));
        }
        assert_eq!(text(full), "$ion_1_0 {Item:{pk:\"b\"}}\n$ion_1_0 {Item:{pk:\"a\"}}\n");
    }
}
