//! An import as a client names it: by its Amazon Resource Name (ARN).

use crate::error::{Error, ErrorKind};
use crate::messages::import;
use crate::request::backups::is_id;
use crate::request::table_ref::ArnScope;

/// The parts of an import's ARN. Invariant: the id has the form of a backup's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImportArn {
    /// What the client wrote.
    pub as_given: String,
    /// The region and account in the ARN.
    pub scope: ArnScope,
    /// The name of the table that the import made.
    pub table_name: String,
    /// The import's id.
    pub id: String,
}

impl ImportArn {
    /// Parses `arn:aws:dynamodb:region:account:table/name/import/id`.
    pub fn parse(as_given: &str) -> Result<Self, Error> {
        let invalid = || Error::validation(import::INVALID_ARN);
        let parts: Vec<&str> = as_given.splitn(6, ':').collect();
        let &["arn", "aws", "dynamodb", region, account, resource] = parts.as_slice() else {
            return Err(invalid());
        };
        let named = resource.strip_prefix("table/").and_then(|path| path.split_once("/import/"));
        let (table_name, id) =
            named.filter(|(name, id)| !name.is_empty() && is_id(id)).ok_or_else(invalid)?;
        Ok(Self {
            as_given: as_given.to_owned(),
            scope: ArnScope { region: region.to_owned(), account: account.to_owned() },
            table_name: table_name.to_owned(),
            id: id.to_owned(),
        })
    }

    /// Checks that the ARN is of the caller's region and account. As with exports, another region has no such
    /// import (inferred).
    pub fn check_caller(&self, caller: &ArnScope) -> Result<(), Error> {
        if self.scope.account != caller.account {
            return Err(Error::new(ErrorKind::AccessDenied, crate::messages::table::ACCESS_DENIED));
        }
        if self.scope.region != caller.region {
            return Err(Error::new(ErrorKind::ImportNotFound, import::ARN_OF_OTHER_REGION));
        }
        Ok(())
    }
}
