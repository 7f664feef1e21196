//! Whom roles trust: a user or role is stored by its unique id, so that another one of its name is not
//! trusted, and shown by its ARN as long as it exists (IAM user guide, element Principal).
//!
//! It does not know who asks. Users and roles that do not exist when a policy is written stay named by ARN.

use std::collections::BTreeSet;

use keywright_access::document::rename_principals;
use keywright_semantics::iam::names::{IamArn, Kind};
use keywright_semantics::iam::response::{EntityView, Response};
use keywright_store::Store;

use crate::state::Engine;
use crate::support::env::AccountId;

/// The policy as it is stored.
pub(super) fn stored<S: Store>(engine: &Engine<S>, trust: &str) -> String {
    rename_principals(trust, |name| id_of(engine, name))
}

fn id_of<S: Store>(engine: &Engine<S>, arn: &str) -> Option<String> {
    let arn = IamArn::parse(arn)?;
    let kind = match arn.kind {
        "user" => Kind::User,
        "role" => Kind::Role,
        _ => return None,
    };
    let account = engine.directory().account(&AccountId::from(arn.account));
    let entity = account.entity(kind, arn.name)?;
    (entity.name == arn.name && entity.path == arn.path).then(|| entity.id.clone())
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
    let mut ids = BTreeSet::new();
    for trust in &trusts {
        rename_principals(trust, |name| {
            ids.insert(name.to_owned());
            None
        });
    }
    if ids.is_empty() {
        return response;
    }
    let arns = engine.directory().arns_of(&ids);
    for trust in &mut trusts {
        **trust = rename_principals(trust, |name| arns.get(name).cloned());
    }
    response
}
