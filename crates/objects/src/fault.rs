//! What can go wrong with an object: every text names the object and what the store said.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use object_store::Error;

use crate::key::BadName;
use crate::s3::Refusal;

/// What a fault is to the operation that meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The store has no such bucket.
    NoSuchBucket,
    /// The store does not allow it, or the keys are wrong.
    AccessDenied,
    /// The bucket has no such object.
    NoSuchKey,
    /// The object is not the one that was expected.
    Changed,
    /// The store has no room.
    Full,
    /// The store cannot use the key of an encryption.
    EncryptionKey,
    /// The store does not answer, or is busy: it may pass.
    Temporary,
    /// Anything else, which stays.
    Other,
}

/// An error of reading, writing, listing or removing an object.
#[derive(Debug)]
pub struct ObjectFault {
    object: String,
    action: &'static str,
    cause: Cause,
}

#[derive(Debug)]
pub(crate) enum Cause {
    /// The object is not there.
    Missing,
    /// It is not the one that was expected.
    Changed,
    /// A store refused, or did not answer.
    Refused {
        /// The store, for people.
        store: String,
        refusal: Refusal,
    },
    /// A link stands on the way.
    Link(PathBuf),
    /// No bucket has such a name.
    BadBucket(BadName),
    /// No object has such a key.
    BadKey(BadName),
    /// It has more bytes than a caller takes.
    TooLong(u64),
    /// Requests may name no bucket, or not this one.
    NotAllowed(String),
    /// An error of a folder, or of the library.
    Store(Error),
}

/// Turns the library's errors of one action into faults.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    /// The object, for people.
    pub(crate) object: String,
    pub(crate) action: &'static str,
    /// The S3-compatible store, for people, if it is one.
    pub(crate) s3: Option<String>,
}

impl Faults {
    pub(crate) fn of(&self, error: Error) -> ObjectFault {
        let cause = match (error, &self.s3) {
            (Error::Precondition { .. } | Error::NotModified { .. }, _) => Cause::Changed,
            (Error::NotFound { .. }, None) => Cause::Missing,
            (error, None) => Cause::Store(error),
            (error, Some(store)) => match Refusal::of(&error) {
                None => Cause::Missing,
                Some(refusal) => Cause::Refused { store: store.clone(), refusal },
            },
        };
        self.because(cause)
    }

    pub(crate) fn because(&self, cause: Cause) -> ObjectFault {
        ObjectFault::new(self.object.clone(), self.action, cause)
    }
}

impl ObjectFault {
    pub(crate) const fn new(object: String, action: &'static str, cause: Cause) -> Self {
        Self { object, action, cause }
    }

    /// The bucket may not be used. The reason is a part of a sentence.
    pub fn not_allowed(bucket: &str, reason: impl Into<String>) -> Self {
        Self::new(format!("s3://{bucket}"), "open", Cause::NotAllowed(reason.into()))
    }

    /// What it is to an operation.
    pub fn kind(&self) -> FaultKind {
        match &self.cause {
            Cause::Missing => FaultKind::NoSuchKey,
            Cause::Changed => FaultKind::Changed,
            Cause::Link(_) | Cause::NotAllowed(_) => FaultKind::AccessDenied,
            Cause::BadBucket(_) => FaultKind::NoSuchBucket,
            Cause::BadKey(_) | Cause::TooLong(_) => FaultKind::Other,
            Cause::Refused { refusal, .. } => of_refusal(refusal),
            Cause::Store(_) => self.io_error().map_or(FaultKind::Other, |error| of_io(error.kind())),
        }
    }

    /// The code of an operation that this ends: those of DynamoDB's exports and imports where they have one.
    pub fn code(&self) -> &'static str {
        match self.kind() {
            FaultKind::NoSuchBucket => "S3NoSuchBucket",
            FaultKind::AccessDenied => "S3AccessDenied",
            FaultKind::NoSuchKey => "S3NoSuchKey",
            FaultKind::Changed => "S3ObjectChanged",
            FaultKind::Full => "S3StorageFull",
            FaultKind::EncryptionKey => "KmsNotFoundException",
            FaultKind::Temporary => "S3ServiceUnavailable",
            FaultKind::Other => "S3Error",
        }
    }

    /// Whether a later attempt may succeed although nobody changes anything.
    pub fn is_temporary(&self) -> bool {
        self.kind() == FaultKind::Temporary
    }

    /// The object or bucket, for people.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// What was tried: `open`, `read`, `write`, `list`, `remove`.
    pub const fn action(&self) -> &'static str {
        self.action
    }

    /// Why a store refused, if one did.
    pub const fn refusal(&self) -> Option<&Refusal> {
        match &self.cause {
            Cause::Refused { refusal, .. } => Some(refusal),
            _ => None,
        }
    }

    /// The link that is not followed, if there is one.
    pub fn link(&self) -> Option<&Path> {
        match &self.cause {
            Cause::Link(link) => Some(link),
            _ => None,
        }
    }

    /// The length of an object that has more bytes than the caller takes.
    pub const fn too_long(&self) -> Option<u64> {
        match &self.cause {
            Cause::TooLong(bytes_max) => Some(*bytes_max),
            _ => None,
        }
    }

    /// The operating system's error below it, such as that of a full disk.
    pub fn io_error(&self) -> Option<&io::Error> {
        let Cause::Store(error) = &self.cause else { return None };
        let mut source = error.source();
        while let Some(error) = source {
            if let Some(found) = error.downcast_ref::<io::Error>() {
                return Some(found);
            }
            source = error.source();
        }
        None
    }
}

fn of_refusal(refusal: &Refusal) -> FaultKind {
    match refusal {
        Refusal::Unreachable(_) | Refusal::Busy(_) => FaultKind::Temporary,
        Refusal::NoBucket | Refusal::NoFolder(_) => FaultKind::NoSuchBucket,
        Refusal::UnknownKey | Refusal::WrongSecret | Refusal::Denied | Refusal::Clock => {
            FaultKind::AccessDenied
        }
        Refusal::Full(_) => FaultKind::Full,
        Refusal::EncryptionKey(_) => FaultKind::EncryptionKey,
        Refusal::Region | Refusal::NoCertificates | Refusal::Untrusted(_) | Refusal::Other(_) => {
            FaultKind::Other
        }
    }
}

/// What the file system says. A disk that fails, or one on a network, may answer later.
fn of_io(kind: io::ErrorKind) -> FaultKind {
    use io::ErrorKind as E;
    match kind {
        E::StorageFull | E::QuotaExceeded => FaultKind::Full,
        E::PermissionDenied | E::ReadOnlyFilesystem => FaultKind::AccessDenied,
        E::NotFound => FaultKind::NoSuchKey,
        E::AlreadyExists
        | E::NotADirectory
        | E::IsADirectory
        | E::DirectoryNotEmpty
        | E::InvalidFilename
        | E::InvalidInput
        | E::FileTooLarge
        | E::Unsupported => FaultKind::Other,
        _ => FaultKind::Temporary,
    }
}

impl fmt::Display for ObjectFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, action, cause } = self;
        write!(formatter, "cannot {action} {object}: ")?;
        match cause {
            Cause::Missing => formatter.write_str("there is no such object"),
            Cause::Changed => formatter.write_str("it has changed meanwhile"),
            Cause::Refused { store, refusal } => write!(formatter, "the store at {store} {refusal}"),
            Cause::Link(link) => write!(
                formatter,
                "{} is a link, and links in a folder of objects are not followed: replace it with what it \
                 points to",
                link.display()
            ),
            Cause::BadBucket(rule) | Cause::BadKey(rule) => rule.fmt(formatter),
            Cause::TooLong(bytes_max) => write!(formatter, "it has more than {bytes_max} bytes"),
            Cause::NotAllowed(reason) => formatter.write_str(reason),
            Cause::Store(error) => match self.io_error() {
                Some(error) => error.fmt(formatter),
                None => error.fmt(formatter),
            },
        }
    }
}

impl std::error::Error for ObjectFault {}
