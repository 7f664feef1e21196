//! Which tables take part in transactions.

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;

use crate::catalogue::Table;

/// Refuses a transaction on tables of which one is strongly consistent.
pub(crate) fn check_tables<'t>(tables: impl IntoIterator<Item = &'t Table>) -> Result<(), Error> {
    if tables.into_iter().any(|table| table.strong.is_some()) {
        return Err(Error::validation(messages::STRONG_WITHOUT_TRANSACTIONS));
    }
    Ok(())
}
