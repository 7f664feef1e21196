//! What made a store refuse writes, and whether opening it again can help.

use std::fmt;
use std::io;

/// Why a store refuses writes until it is opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of failure.
    pub cause: FaultCause,
    /// What failed, for the operator.
    pub reason: String,
}

/// The kind of failure that made a store refuse writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCause {
    /// A write found no room. No sync failed, so the files are what they seem to be, and the store can be
    /// opened again once there is room.
    NoRoom,
    /// A write failed for another reason.
    Write,
    /// A sync failed. The operating system may show bytes that are not on the disk, so opening the store
    /// again in this process could acknowledge what a loss of power would undo.
    Sync,
    /// Tables could not be merged because one of them is damaged.
    Damage,
    /// A thread of the store ended by a defect.
    Defect,
}

impl FaultCause {
    /// Whether the store may be opened again in the same process.
    pub const fn may_reopen(self) -> bool {
        matches!(self, Self::NoRoom)
    }

    /// The cause of a failed write.
    pub(crate) fn of_write(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoRoom,
            _ => Self::Write,
        }
    }
}

/// A failed write or sync of a file of the store.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: FaultCause,
    pub(crate) error: io::Error,
}

impl Failure {
    /// A failed sync.
    pub(crate) const fn sync(error: io::Error) -> Self {
        Self { cause: FaultCause::Sync, error }
    }

    /// Whether there was no room on the disk.
    pub(crate) fn is_no_room(&self) -> bool {
        self.cause == FaultCause::NoRoom
    }

    /// The fault of a store that could not do `what`.
    pub(crate) fn fault(&self, what: &str) -> Fault {
        Fault { cause: self.cause, reason: format!("{what}: {}", self.error) }
    }
}

/// Any error that is not known to be one of a sync.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { cause: FaultCause::of_write(&error), error }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_write_without_room_lets_the_store_be_opened_again() {
        let cause = |failure: Failure| failure.fault("it failed").cause;
        let no_room = || io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(cause(no_room().into()), FaultCause::NoRoom);
        assert_eq!(cause(io::Error::from(io::ErrorKind::QuotaExceeded).into()), FaultCause::NoRoom);
        assert_eq!(cause(Failure::sync(no_room())), FaultCause::Sync, "a sync may report a full disk too");
        assert_eq!(cause(io::Error::from(io::ErrorKind::PermissionDenied).into()), FaultCause::Write);
        let all =
            [FaultCause::NoRoom, FaultCause::Write, FaultCause::Sync, FaultCause::Damage, FaultCause::Defect];
        assert_eq!(all.map(FaultCause::may_reopen), [true, false, false, false, false]);
    }
}
