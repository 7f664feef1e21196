//! A job that needs an object store, as its caller sees it: what is to be done, and how far it is.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::request::BulkOutput;
use keywright_semantics::request::parts::{InputCompressionType, InputFormat};
use keywright_semantics::schema::KeyAttribute;

use super::row::Job;
use crate::support::env::Namespace;
use crate::transfers::export::ExportTarget;

/// A job for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectJob {
    /// The job's id.
    pub id: String,
    /// The account and region of its table.
    pub namespace: Namespace,
    /// The name of the table; of a restore, of the new one.
    pub table: String,
    /// Items that are done.
    pub items: u64,
    /// What is to be done.
    pub work: ObjectWork,
    pub(super) job: Job,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectWork {
    /// A backup is to be copied to the backup store.
    Seal {
        /// The backup's id.
        backup: String,
        /// The stamp as of which its table is copied. Stamps are in the order of time.
        stamp: u64,
        /// When the backup was asked for, in milliseconds since 1970.
        created_ms: u64,
        /// The table's id for clients.
        public_id: String,
        /// The settings of the table, in the stored form that a restore from outside takes.
        settings: Bytes,
        /// The same settings for people.
        described: BTreeMap<String, String>,
        /// Where the next rows begin; `None` at the beginning.
        from: Option<Bytes>,
        /// Whether all objects were noted.
        is_at_end: bool,
    },
    /// A table is to be filled from a sealed backup.
    Restore {
        /// The place that the caller gave when the backup was sealed.
        place: Bytes,
        /// Where the next rows begin, in the caller's words; empty at the beginning.
        from: Bytes,
    },
    /// A table is to be filled with the records of objects.
    Import {
        /// The import's ARN.
        arn: String,
        /// Which objects, and what they hold.
        source: Box<ObjectSource>,
        /// Objects that are listed; `None` until all are.
        objects: Option<u32>,
        /// The next record: the number of its object, and how many records of that come before it.
        from: (u32, u64),
    },
    /// The objects of a sealed backup are to be read whole.
    Verify {
        /// The backup's id.
        backup: String,
        /// The place that the caller gave when the backup was sealed.
        place: Bytes,
        /// Where the next objects begin, in the caller's words; empty at the beginning.
        from: Bytes,
    },
    /// The records of objects are to be put into a table that is in use.
    BulkPut(Box<BulkPutWork>),
    /// A table, or what changed in it, is to be written to a bucket.
    Export(Box<ExportWork>),
    /// The objects of a deleted backup are to be removed.
    Delete {
        /// The backup's id.
        backup: String,
        /// The place that the caller gave when the backup was sealed; `None` if it was not.
        place: Option<Bytes>,
    },
}

impl ObjectWork {
    /// Objects that are listed, of work that reads objects of a list; `None` until all are.
    pub fn listed(&self) -> Option<u32> {
        match self {
            Self::Import { objects, .. } => *objects,
            Self::BulkPut(work) => work.objects,
            Self::Seal { .. }
            | Self::Restore { .. }
            | Self::Verify { .. }
            | Self::Export(_)
            | Self::Delete { .. } => None,
        }
    }
}

impl ObjectJob {
    /// Whether it keeps to a rate, and so rests most of the time.
    pub const fn is_paced(&self) -> bool {
        matches!(&self.work, ObjectWork::BulkPut(work) if work.units_per_second.is_some())
    }
}

/// The objects that a job reads, and what they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSource {
    /// The bucket.
    pub bucket: String,
    /// What the keys of the objects begin with; absent: all of them.
    pub prefix: Option<String>,
    /// The format of the records.
    pub format: InputFormat,
    /// How the objects are compressed.
    pub compression: InputCompressionType,
    /// The sign between two fields of CSV; absent: a comma.
    pub delimiter: Option<String>,
    /// The names of the fields of CSV; absent: the first line has them.
    pub header: Option<Vec<String>>,
    /// The attributes of keys with their types, which CSV does not have.
    pub definitions: Vec<KeyAttribute>,
}

/// What a caller has to know of a bulk put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkPutWork {
    /// The operation's ARN.
    pub arn: String,
    /// The ARN of the table.
    pub table_arn: String,
    /// The table's id for clients.
    pub table_id: String,
    /// Which objects are read, and what they hold.
    pub source: ObjectSource,
    /// Where the reports go, and which.
    pub output: BulkOutput,
    /// Write units of a second at most.
    pub units_per_second: Option<u64>,
    /// Objects that are listed; `None` until all are.
    pub objects: Option<u32>,
    /// How many lanes there are.
    pub lanes: u32,
    /// The time of the request, in milliseconds since 1970.
    pub started_ms: u64,
    /// It does not end before this time, unless it is cancelled.
    pub not_before_ms: u64,
    /// Whether a client has cancelled it.
    pub is_cancelled: bool,
}

/// What a caller has to know of an export to write its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportWork {
    /// The export's ARN.
    pub arn: String,
    /// The ARN of the table.
    pub table_arn: String,
    /// The table's id for clients.
    pub table_id: String,
    /// Where the objects are written to, in which form, and what they are of.
    pub asked: ExportTarget,
    /// The time of the request, in milliseconds since 1970.
    pub started_ms: u64,
    /// The export does not end before this time.
    pub not_before_ms: u64,
    /// The part that is exported next; `None` once all are.
    pub part: Option<ExportPart>,
    /// Why it cannot go on, as a code and a sentence: what it has written is to be removed.
    pub failure: Option<(String, String)>,
}

/// A part of an export, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPart {
    /// Its number, from zero on.
    pub number: u32,
    /// Files of it that stand.
    pub files: u32,
    /// Where the next items begin; `None` at the beginning of the part.
    pub from: Option<Bytes>,
}
