//! Whom roles trust, as it is stored and shown (`directory::naming`).
//!
//! It does not know who asks. Users and roles that do not exist when a policy is written stay named by ARN.

use std::collections::BTreeMap;

use keywright_access::document::{account_and_id, rename_principals};
use keywright_semantics::iam::response::{EntityView, Response};
use keywright_store::Store;

use crate::state::Engine;
use crate::support::env::AccountId;

/// The policy of a role of this account as it is stored. An id without account is one that was shown: it
/// means what it meant in the policy that it replaces, else an entity of the role's account.
pub(super) fn stored<S: Store>(
    engine: &Engine<S>,
    account: &AccountId,
    (trust, replaced): (&str, &str),
) -> String {
    let mut before = BTreeMap::new();
    rename_principals(replaced, |name| {
        if let Some((Some(account), id)) = account_and_id(name) {
            before.insert(id.to_owned(), account.to_owned());
        }
        None
    });
    rename_principals(trust, |name| match account_and_id(name) {
        Some((None, id)) => {
            let account = before.get(id).map_or(account.as_str(), String::as_str);
            Some(format!("{account}:{id}"))
        }
        Some((Some(_), _)) => None,
        None => engine.directory().stored_name(name),
    })
}

/// A response whose roles name those whom they trust by ARN.
pub(super) fn shown<S: Store>(engine: &Engine<S>, mut response: Response) -> Response {
    let views: &mut [EntityView] = match &mut response {
        Response::Entity(view) => std::slice::from_mut(view),
        Response::Entities { page, .. } => &mut page.elements,
        _ => return response,
    };
    let mut trusts: Vec<&mut String> =
        views.iter_mut().filter_map(|view| view.role.as_mut()).map(|role| &mut role.trust).collect();
    engine.directory().show_policies(&mut trusts);
    response
}
