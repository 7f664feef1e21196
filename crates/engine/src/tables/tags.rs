//! TagResource, UntagResource, ListTagsOfResource.

use std::sync::Arc;

use std::collections::BTreeMap;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::TAGS_MAX;
use keywright_semantics::messages::{table as messages, tags};
use keywright_semantics::request::{ListTagsOfResource, ResourceRef, TagResource, UntagResource};
use keywright_semantics::response::{ListTagsOfResourceOutput, Response};
use keywright_store::Store;

use crate::catalogue::{Table, TableStatus};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::throughput::Throttle;

/// The table of an ARN: in the caller's account, then in the caller's region, then existing and not being
/// created.
fn find<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    resource: &ResourceRef,
) -> Result<Arc<Table>, Error> {
    if resource.scope.account != namespace.account.as_str() {
        return Err(Error::new(ErrorKind::AccessDenied, messages::ACCESS_DENIED));
    }
    if resource.scope.region != namespace.region.as_str() {
        return Err(Error::validation(tags::invalid_table_arn(&resource.arn)));
    }
    let found = engine.catalogue().find(namespace, &resource.table);
    found.clone().filter(|table| table.status != TableStatus::Creating).ok_or_else(|| {
        let is_being_filled = found.is_some_and(|table| table.is_being_filled());
        let not_found = if is_being_filled {
            messages::table_not_found(&resource.table)
        } else {
            tags::resource_not_found(&resource.arn)
        };
        engine.catalogue().missing(namespace, &resource.table, not_found)
    })
}

pub(crate) async fn tag<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &TagResource,
) -> Result<Response, Error> {
    let table = find(engine, namespace, &request.resource)?;
    let add = |table: &mut Table| {
        check_throttle_tag(&request.tags)?;
        table.tags.extend(request.tags.clone());
        if table.tags.len() > TAGS_MAX {
            return Err(Error::validation(tags::TOO_MANY));
        }
        Ok(())
    };
    engine.change_table(table.target(), add).await?;
    Ok(Response::TagResource)
}

pub(crate) async fn untag<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &UntagResource,
) -> Result<Response, Error> {
    let table = find(engine, namespace, &request.resource)?;
    let remove = |table: &mut Table| {
        table.tags.retain(|key, _| !request.keys.contains(key));
        Ok(())
    };
    engine.change_table(table.target(), remove).await?;
    Ok(Response::UntagResource)
}

pub(crate) fn list<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ListTagsOfResource,
) -> Result<Response, Error> {
    let table = find(engine, namespace, &request.resource)?;
    Ok(Response::ListTagsOfResource(ListTagsOfResourceOutput { tags: table.tags.clone(), next_token: None }))
}

/// Refuses a word that the tag for throttling does not know: a misspelt one would silently have no effect.
pub(super) fn check_throttle_tag(tags: &BTreeMap<String, String>) -> Result<(), Error> {
    match tags.get(Throttle::TAG) {
        Some(word) if Throttle::from_word(word).is_none() => {
            Err(Error::validation(messages::invalid(tags::UNKNOWN_THROTTLE)))
        }
        _ => Ok(()),
    }
}
