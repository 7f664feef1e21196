//! A restore from the copy of a backup is refused before its table is made, if the copy is not there, or not
//! whole as far as its manifest and the lengths of its chunks tell.
//!
//! The engine reaches no backup store, so this comes between admission and execution.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::{Request, RestoreTableFromBackup};

use super::admission::Admitted;
use super::service::Service;
use crate::storage::copies::CopyFault;

impl Service {
    /// Checks the copy that a request would restore.
    pub(super) async fn check_copy(&self, admitted: &Admitted<Request>) -> Result<(), Error> {
        match admitted.request() {
            Request::RestoreTableFromBackup(request) => Box::pin(self.check_copy_of(admitted, request)).await,
            _ => Ok(()),
        }
    }

    async fn check_copy_of(
        &self,
        admitted: &Admitted<Request>,
        request: &RestoreTableFromBackup,
    ) -> Result<(), Error> {
        // The engine is not held while the backup store is asked: it may be opened again meanwhile.
        let at = self.engine()?.copy_to_restore(&admitted.caller().namespace, request).await;
        let Some(at) = at else { return Ok(()) };
        let checked = self.backups.check(at).await;
        let arn = &request.backup.as_given;
        match checked {
            Ok(()) => Ok(()),
            Err(CopyFault::Failed { message, .. }) => Err(Error::new(
                ErrorKind::InternalServerError,
                format!("Backup {arn} cannot be restored: {message}"),
            )),
            Err(CopyFault::Later(message)) => Err(Error::new(
                ErrorKind::ServiceUnavailable,
                format!("Backup {arn} cannot be read now, try again: {message}"),
            )),
        }
    }
}
