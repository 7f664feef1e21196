//! A restore from the copy of a backup is refused before its table is made, if the copy is not there, or not
//! whole as far as its manifest and the lengths of its chunks tell.
//!
//! The engine reaches no backup store, so this comes between admission and execution.

use std::sync::Arc;
use std::time::Duration;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::{Request, RestoreTableFromBackup};
use tokio::runtime::Handle;

use super::admission::Admitted;
use super::service::Service;
use crate::storage::copies::CopyFault;

/// How long a client waits for a backup store that does not answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

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
        let backups = Arc::clone(&self.backups);
        // A manifest with many chunks takes long to parse.
        let runtime = Handle::current();
        let check = tokio::task::spawn_blocking(move || {
            runtime.block_on(async { tokio::time::timeout(ANSWER_WITHIN, backups.check(&at)).await })
        });
        let checked = check.await.expect("the check of a copy does not panic").unwrap_or_else(|_elapsed| {
            let seconds = ANSWER_WITHIN.as_secs();
            Err(CopyFault::Later(format!("the backup store did not answer within {seconds} seconds")))
        });
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
