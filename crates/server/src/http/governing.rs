//! Which policy of a table or stream governs a target, and whose tables a request may name.
//!
//! It does not know who asks.

use std::collections::BTreeSet;
use std::sync::Arc;

use keywright_access::arn::{Arn, Target};
use keywright_access::needs::{action_crosses_accounts, foreign_owner};
use keywright_access::policies::Policy;
use keywright_engine::{AccountId, Engine, Namespace, Region};
use keywright_semantics::error::Error;
use keywright_semantics::messages::access::ONE_ACCOUNT_ONLY;
use keywright_semantics::touches::Touches;

use crate::storage::any_store::AnyStore;

/// The accounts whose keys stand in the credentials file.
pub(crate) type Accounts = Arc<BTreeSet<String>>;

/// The policy that governs a target: a table's own also for its indexes, a stream's own for the stream.
pub(super) fn policy_of(engine: &Engine<AnyStore>, target: &Target<'_>) -> Option<Arc<Policy>> {
    let Target::One(Arn { service, account, region, resource, .. }) = target else { return None };
    if service != "dynamodb" || !engine.has_resource_policies() {
        return None;
    }
    let path = resource.strip_prefix("table/")?;
    let (table, stream) = match path.split_once('/') {
        None => (path, None),
        Some((table, below)) => match below.split_once('/')? {
            ("index", _) => (table, None),
            ("stream", label) => (table, Some(label)),
            _ => return None,
        },
    };
    let namespace = Namespace { account: AccountId::from(&**account), region: Region::stored(region) };
    engine.resource_policy(&namespace, table, stream)
}

/// Refuses a resource of another account in a request that works within one.
pub(super) fn check_accounts(touches: &Touches<'_>, own: &AccountId) -> Result<(), Error> {
    let is_out_of_reach = touches.as_slice().iter().any(|touch| {
        !action_crosses_accounts(touch.action) && foreign_owner(&touch.resource, own.as_str()).is_some()
    });
    if is_out_of_reach { Err(Error::validation(ONE_ACCOUNT_ONLY)) } else { Ok(()) }
}
