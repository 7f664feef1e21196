//! The folder of an export: names of objects, manifests and their sums. Written as the service writes them,
//! read as the service or its guide writes them.
//!
//! ```text
//! [prefix/]AWSDynamoDB/<export id>/_started                  empty, first
//! [prefix/]AWSDynamoDB/<export id>/data/<name>.json.gz       of a full export
//! [prefix/]AWSDynamoDB/data/<name>.json.gz                   of an incremental export
//! [prefix/]AWSDynamoDB/<export id>/manifest-files.json, .md5
//! [prefix/]AWSDynamoDB/<export id>/manifest-summary.json, .md5    last
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha2::{Digest, Sha256};

use super::iso_time::{iso_time, parse_iso_time};
use super::line::push_line;
use crate::json::{self, Node, NotJson};
use crate::render::writer::{Members, Writer};

/// What a manifest says of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Member `exportArn`.
    pub export_arn: String,
    /// Member `startTime`, in milliseconds since 1970.
    pub start_time_ms: u64,
    /// Member `endTime`, in milliseconds since 1970.
    pub end_time_ms: u64,
    /// Member `tableArn`.
    pub table_arn: String,
    /// Member `tableId`.
    pub table_id: String,
    /// Which state or changes of the table the export has.
    pub span: Span,
    /// Member `s3Bucket`.
    pub bucket: String,
    /// Member `s3Prefix`.
    pub prefix: Option<String>,
    /// Member `s3SseAlgorithm`.
    pub sse_algorithm: Option<String>,
    /// Member `s3SseKmsKeyId`.
    pub sse_kms_key_id: Option<String>,
    /// Member `manifestFilesS3Key`: where the list of data files is.
    pub files_key: String,
    /// Member `billedSizeBytes`.
    pub billed_size_bytes: u64,
    /// Member `itemCount`.
    pub item_count: u64,
    /// Member `outputFormat`.
    pub format: DataFormat,
}

/// The extent of an export in time. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The table as it was at one time.
    Full {
        /// Member `exportTime`.
        at_ms: u64,
    },
    /// The changes within a window.
    Incremental {
        /// Member `exportFromTime`: the first moment of the window.
        from_ms: u64,
        /// Member `exportToTime`: the first moment after the window.
        to_ms: u64,
        /// Member `outputView`.
        view: View,
    },
}

/// The images of an incremental export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// `NEW_AND_OLD_IMAGES`.
    NewAndOldImages,
    /// `NEW_IMAGE`.
    NewImage,
}

/// The format of an export's data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    /// `DYNAMODB_JSON`.
    Json,
    /// `ION`.
    Ion,
}

/// One data file, as the list of files names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Lines of the file.
    pub item_count: u64,
    /// The MD5 of the compressed file.
    pub checksum: Checksum,
    /// What the store answered when the file was put, without quotes.
    pub etag: String,
    /// The object's key.
    pub key: String,
}

/// Why a manifest cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestFault {
    /// The bytes, or a line of them, are not one JSON object.
    NotJson,
    /// A member is missing or has another type or form.
    Member(&'static str),
    /// The version of the manifest is not one that this program knows.
    Version(String),
}

impl std::fmt::Display for ManifestFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson => formatter.write_str("a manifest of an export is not JSON"),
            Self::Member(name) => {
                write!(formatter, "a manifest of an export lacks the member {name}, or it has another form")
            }
            Self::Version(version) => write!(
                formatter,
                "a manifest of an export has the version {version:?}; {FULL_VERSION} and {INCREMENTAL_VERSION} are known"
            ),
        }
    }
}

impl std::error::Error for ManifestFault {}

const FULL_VERSION: &str = "2020-06-30";
const INCREMENTAL_VERSION: &str = "2023-08-01";

impl View {
    /// The name in manifests and requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewAndOldImages => "NEW_AND_OLD_IMAGES",
            Self::NewImage => "NEW_IMAGE",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        match name {
            "NEW_AND_OLD_IMAGES" => Some(Self::NewAndOldImages),
            // The API reference writes the second name, the service's model the first.
            "NEW_IMAGE" | "NEW_IMAGES" => Some(Self::NewImage),
            _ => None,
        }
    }
}

impl DataFormat {
    /// The name in manifests and requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "DYNAMODB_JSON",
            Self::Ion => "ION",
        }
    }

    /// The ending of data files' names.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Json => "json.gz",
            Self::Ion => "ion.gz",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Json, Self::Ion].into_iter().find(|format| format.name() == name)
    }
}

impl Summary {
    /// The content of `manifest-summary.json`: one line without an end.
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.object(|members| {
            let version = match self.span {
                Span::Full { .. } => FULL_VERSION,
                Span::Incremental { .. } => INCREMENTAL_VERSION,
            };
            members.put("version", version);
            members.put("exportArn", &self.export_arn);
            members.put("startTime", iso_time(self.start_time_ms));
            members.put("endTime", iso_time(self.end_time_ms));
            members.put("tableArn", &self.table_arn);
            members.put("tableId", &self.table_id);
            match self.span {
                Span::Full { at_ms } => members.put("exportTime", iso_time(at_ms)),
                Span::Incremental { from_ms, to_ms, .. } => {
                    members.put("exportFromTime", iso_time(from_ms));
                    members.put("exportToTime", iso_time(to_ms));
                }
            }
            members.put("s3Bucket", &self.bucket);
            members.put("s3Prefix", self.prefix.as_ref());
            members.put("s3SseAlgorithm", self.sse_algorithm.as_ref());
            members.put("s3SseKmsKeyId", self.sse_kms_key_id.as_ref());
            members.put("manifestFilesS3Key", &self.files_key);
            members.put("billedSizeBytes", self.billed_size_bytes);
            members.put("itemCount", self.item_count);
            members.put("outputFormat", self.format.name());
            if let Span::Incremental { view, .. } = self.span {
                members.put("outputView", view.name());
                members.put("exportType", "INCREMENTAL_EXPORT");
            }
        });
        writer.finish()
    }

    /// Reads `manifest-summary.json`. Members that it does not know are passed over.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestFault> {
        let members = MemberReader::of(bytes)?;
        let span = match members.text("version")? {
            FULL_VERSION => Span::Full { at_ms: members.time("exportTime")? },
            INCREMENTAL_VERSION => Span::Incremental {
                from_ms: members.time("exportFromTime")?,
                to_ms: members.time("exportToTime")?,
                view: View::from_name(members.text("outputView")?)
                    .ok_or(ManifestFault::Member("outputView"))?,
            },
            other => return Err(ManifestFault::Version(other.to_owned())),
        };
        Ok(Self {
            export_arn: members.text("exportArn")?.to_owned(),
            start_time_ms: members.time("startTime")?,
            end_time_ms: members.time("endTime")?,
            table_arn: members.text("tableArn")?.to_owned(),
            table_id: members.text("tableId")?.to_owned(),
            span,
            bucket: members.text("s3Bucket")?.to_owned(),
            prefix: members.text_if("s3Prefix")?,
            sse_algorithm: members.text_if("s3SseAlgorithm")?,
            sse_kms_key_id: members.text_if("s3SseKmsKeyId")?,
            files_key: members.text("manifestFilesS3Key")?.to_owned(),
            billed_size_bytes: members.count("billedSizeBytes")?,
            item_count: members.count("itemCount")?,
            format: DataFormat::from_name(members.text("outputFormat")?)
                .ok_or(ManifestFault::Member("outputFormat"))?,
        })
    }
}

impl DataFile {
    /// Appends the file's line of `manifest-files.json`.
    pub fn push_line(&self, out: &mut Vec<u8>) {
        push_line(out, |members| self.put(members));
    }

    pub(super) fn put(&self, members: &mut Members<'_>) {
        members.put("itemCount", self.item_count);
        members.put("md5Checksum", self.checksum.base64());
        members.put("etag", &self.etag);
        members.put("dataFileS3Key", &self.key);
    }

    /// Reads `manifest-files.json`.
    pub fn read_lines(bytes: &[u8]) -> Result<Vec<Self>, ManifestFault> {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        lines.map(Self::read).collect()
    }

    fn read(line: &[u8]) -> Result<Self, ManifestFault> {
        let members = MemberReader::of(line)?;
        Ok(Self {
            item_count: members.count("itemCount")?,
            checksum: Checksum::read(members.text("md5Checksum")?.as_bytes())
                .ok_or(ManifestFault::Member("md5Checksum"))?,
            etag: members.text("etag")?.to_owned(),
            key: members.text("dataFileS3Key")?.to_owned(),
        })
    }
}

/// The members of a manifest.
struct MemberReader<'a>(Vec<(std::borrow::Cow<'a, str>, Node<'a>)>);

impl<'a> MemberReader<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, ManifestFault> {
        match json::parse(bytes) {
            Ok(Node::Object(members)) => Ok(Self(members)),
            Ok(_) | Err(NotJson) => Err(ManifestFault::NotJson),
        }
    }

    fn text_if(&self, name: &'static str) -> Result<Option<String>, ManifestFault> {
        json::member(&self.0, name).map(|_| self.text(name).map(str::to_owned)).transpose()
    }

    fn text(&self, name: &'static str) -> Result<&str, ManifestFault> {
        match json::member(&self.0, name) {
            Some(Node::Text(text)) => Ok(text),
            _ => Err(ManifestFault::Member(name)),
        }
    }

    fn time(&self, name: &'static str) -> Result<u64, ManifestFault> {
        parse_iso_time(self.text(name)?).ok_or(ManifestFault::Member(name))
    }

    fn count(&self, name: &'static str) -> Result<u64, ManifestFault> {
        match json::member(&self.0, name) {
            Some(Node::Integer(count)) => u64::try_from(*count).map_err(|_| ManifestFault::Member(name)),
            _ => Err(ManifestFault::Member(name)),
        }
    }
}

/// The MD5 of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum([u8; 16]);

/// Computes a [`Checksum`] of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct Checksummer(Md5);

impl Checksummer {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The sum of all bytes.
    pub fn finish(self) -> Checksum {
        Checksum(self.0.finalize().into())
    }
}

impl Checksum {
    /// The sum of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Md5::digest(bytes).into())
    }

    /// The content of a manifest's `.md5` object, and the form within the list of files: 24 characters.
    pub fn base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Reads the content of a manifest's `.md5` or `.checksum` object.
    pub fn read(content: &[u8]) -> Option<Self> {
        STANDARD.decode(content.trim_ascii()).ok()?.try_into().ok().map(Self)
    }
}

/// The endings of the names of manifests' sums: what the service writes, then what its guide says.
pub const SUM_EXTENSIONS: [&str; 2] = ["md5", "checksum"];

/// Where the objects of one export are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFolder {
    /// `[prefix/]AWSDynamoDB/`.
    root: String,
    export_id: String,
}

impl ExportFolder {
    /// The folder of an export with this id, below the prefix of its request, which is kept as it is.
    pub fn new(prefix: Option<&str>, export_id: &str) -> Self {
        let prefix = prefix.unwrap_or_default();
        let joint = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
        Self { root: format!("{prefix}{joint}AWSDynamoDB/"), export_id: export_id.to_owned() }
    }

    /// What the keys of all exports below the same prefix begin with.
    pub fn root(&self) -> &str {
        &self.root
    }

    fn key(&self, name: &str) -> String {
        format!("{}{}/{name}", self.root, self.export_id)
    }

    /// The empty object that is written first.
    pub fn started_key(&self) -> String {
        self.key("_started")
    }

    /// The summary, which is written last but for its sum.
    pub fn summary_key(&self) -> String {
        self.key("manifest-summary.json")
    }

    /// The list of data files.
    pub fn files_key(&self) -> String {
        self.key("manifest-files.json")
    }

    /// A data file of this name. The files of all incremental exports below a prefix share a folder.
    pub fn data_key(&self, span: Span, format: DataFormat, name: &str) -> String {
        let extension = format.extension();
        match span {
            Span::Full { .. } => self.key(&format!("data/{name}.{extension}")),
            Span::Incremental { .. } => format!("{}data/{name}.{extension}", self.root),
        }
    }
}

/// The key of the sum of a manifest: the manifest's key with another ending.
pub fn sum_key(manifest_key: &str, extension: &str) -> String {
    let stem = manifest_key.strip_suffix(".json").unwrap_or(manifest_key);
    format!("{stem}.{extension}")
}

/// The part of a job that writes a row of files by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part(pub u64);

/// Characters of a data file's name.
const NAME_CHARACTERS: usize = 26;
const NAME_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The name of a part's data file, without ending: 26 characters of a–z and 2–7, always the same for the same
/// file. `number` counts the files of the part.
pub fn data_file_name(job_id: &str, part: Part, number: u64) -> String {
    let digest = Sha256::digest(format!("{job_id}/{}/{number}", part.0));
    let mut bits = digest.iter().flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1));
    let mut character = || {
        let index = (&mut bits).take(5).fold(0_usize, |index, bit| index * 2 + usize::from(bit));
        NAME_ALPHABET.get(index).copied().map(char::from)
    };
    let name: String = std::iter::from_fn(&mut character).take(NAME_CHARACTERS).collect();
    assert_eq!(name.len(), NAME_CHARACTERS, "five bits choose one of 32 characters");
    name
}
