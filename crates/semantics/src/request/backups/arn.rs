//! A backup as a client names it: by its Amazon Resource Name (ARN).
//!
//! It does not know which backups exist. The account and region of an ARN are compared with the caller's by
//! [`BackupArn::check_caller`].

use crate::error::{Error, ErrorKind};
use crate::messages::{backup, table};
use crate::request::table_ref::ArnScope;

/// Digits of the time at the start of a backup's id.
const TIME_DIGITS: usize = 14;
/// Hexadecimal digits at the end of a backup's id.
const RANDOM_DIGITS: usize = 8;

/// The parts of a backup's ARN.
///
/// Invariant: the id is the backup's time in milliseconds since 1970 as 14 digits, a hyphen and eight lower
/// hexadecimal digits. So ids are ordered by time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BackupArn {
    /// What the client wrote.
    pub as_given: String,
    /// The region and account in the ARN.
    pub scope: ArnScope,
    /// The name of the table at the time of the backup.
    pub table_name: String,
    /// The backup's id.
    pub id: String,
}

impl BackupArn {
    /// Parses `arn:aws:dynamodb:region:account:table/name/backup/id`. Observed: a resource that is no backup
    /// is reported before a partition or service that is not the service's.
    pub fn parse(as_given: &str) -> Result<Self, Error> {
        let invalid = || Error::validation(backup::INVALID_ARN);
        let parts: Vec<&str> = as_given.splitn(6, ':').collect();
        let &["arn", partition, service, region, account, resource] = parts.as_slice() else {
            return Err(invalid());
        };
        let named = resource.strip_prefix("table/").and_then(|path| path.split_once("/backup/"));
        let (table_name, id) =
            named.filter(|(name, id)| !name.is_empty() && is_id(id)).ok_or_else(invalid)?;
        if partition != "aws" || service != "dynamodb" {
            return Err(Error::validation(backup::arn_not_valid()));
        }
        Ok(Self {
            as_given: as_given.to_owned(),
            scope: ArnScope { region: region.to_owned(), account: account.to_owned() },
            table_name: table_name.to_owned(),
            id: id.to_owned(),
        })
    }

    /// Checks that the ARN is of the caller's region and account. The region comes first, as in the ARNs of
    /// tables; an empty one counts as one of another account (observed).
    pub fn check_caller(&self, caller: &ArnScope) -> Result<(), Error> {
        if !self.scope.region.is_empty() && self.scope.region != caller.region {
            return Err(Error::validation(backup::arn_not_valid()));
        }
        self.check_account(caller)
    }

    pub(super) fn check_account(&self, caller: &ArnScope) -> Result<(), Error> {
        if self.scope.region.is_empty() || self.scope.account != caller.account {
            return Err(Error::new(ErrorKind::AccessDenied, table::ACCESS_DENIED));
        }
        Ok(())
    }
}

/// Whether a text has the form of an id.
pub(in crate::request) fn is_id(text: &str) -> bool {
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.split_once('-').is_some_and(|(time, random)| {
        time.len() == TIME_DIGITS
            && time.bytes().all(|byte| byte.is_ascii_digit())
            && random.len() == RANDOM_DIGITS
            && random.bytes().all(lower_hex)
    })
}
