//! Which of our own calls a request is for.

use hyper::Method;
use hyper::http::request::Parts;
use keywright_access::action::Own;

use super::{
    backups, branches, destinations, find_table, history, import_errors, jobs, restores, rollbacks, sets,
    triggers,
};

/// A call of our own below `/_keywright/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnCall {
    Branches,
    Restores,
    Sets,
    Signed(SignedCall),
}

/// A call that is received and signed as the API's requests are. The bodies of the others may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedCall {
    Backups,
    Destinations,
    FindTable,
    History,
    ImportErrors,
    Jobs,
    Rollback,
    Triggers,
}

impl SignedCall {
    /// The action that policies name.
    pub(super) const fn action(self) -> Own {
        match self {
            Self::Backups => Own::BackUpTables,
            Self::Destinations => Own::ListDestinations,
            Self::FindTable => Own::FindTable,
            Self::History => Own::GetItemHistory,
            Self::ImportErrors => Own::GetImportErrors,
            Self::Jobs => Own::ListJobs,
            Self::Rollback => Own::RollBackTable,
            Self::Triggers => Own::ListTriggers,
        }
    }
}

impl OwnCall {
    /// The call of this head.
    pub(super) fn of(head: &Parts) -> Option<Self> {
        let is_post = head.method == Method::POST;
        match head.uri.path() {
            branches::PATH if is_post || head.method == Method::DELETE => Some(Self::Branches),
            restores::PATH if is_post => Some(Self::Restores),
            sets::PATH if is_post => Some(Self::Sets),
            backups::PATH if is_post => Some(Self::Signed(SignedCall::Backups)),
            destinations::PATH if is_post => Some(Self::Signed(SignedCall::Destinations)),
            find_table::PATH if is_post => Some(Self::Signed(SignedCall::FindTable)),
            history::PATH if is_post => Some(Self::Signed(SignedCall::History)),
            import_errors::PATH if is_post => Some(Self::Signed(SignedCall::ImportErrors)),
            jobs::PATH if is_post => Some(Self::Signed(SignedCall::Jobs)),
            rollbacks::PATH if is_post => Some(Self::Signed(SignedCall::Rollback)),
            triggers::PATH if is_post => Some(Self::Signed(SignedCall::Triggers)),
            _ => None,
        }
    }
}
