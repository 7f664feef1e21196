//! TagResource, UntagResource, ListTagsForResource.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::request::TAGS_MAX;
use keywright_semantics::scaling::response::Response;
use keywright_store::Store;

use super::failed;
use super::rows::{self, Becomes, Target};
use crate::metrics::series::Place;
use crate::state::Engine;

fn missing(arn: &str) -> Fault {
    Fault::about(FaultKind::ResourceNotFound, arn, messages::no_resource(arn))
}

async fn find<S: Store>(engine: &Engine<S>, place: &Place, arn: &str) -> Result<Target, Fault> {
    let mut found = None;
    let take = |target: Target| {
        if target.arn() != arn {
            return ControlFlow::Continue(());
        }
        found = Some(target);
        ControlFlow::Break(())
    };
    rows::each_target_of(engine, place, take).await.map_err(failed)?;
    found.ok_or_else(|| missing(arn))
}

/// Changes the tags of the target with this ARN.
async fn change<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    arn: &str,
    change: impl Fn(&mut BTreeMap<String, String>),
) -> Result<Response, Fault> {
    let id = find(engine, place, arn).await?.id();
    let set = |before: Option<Target>| {
        let mut target = before.filter(|target| target.arn() == arn).ok_or_else(|| missing(arn))?;
        change(&mut target.tags);
        if target.tags.len() > TAGS_MAX {
            return Err(Fault::about(FaultKind::TooManyTags, arn, messages::TOO_MANY_TAGS));
        }
        Ok((Becomes::This(Box::new(target)), Vec::new(), ()))
    };
    rows::change(engine, (place, &id), set).await?;
    Ok(Response::Done)
}

pub(super) async fn add<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    arn: &str,
    tags: BTreeMap<String, String>,
) -> Result<Response, Fault> {
    change(engine, place, arn, |stored| stored.extend(tags.clone())).await
}

pub(super) async fn remove<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    arn: &str,
    keys: BTreeSet<String>,
) -> Result<Response, Fault> {
    change(engine, place, arn, |stored| stored.retain(|key, _| !keys.contains(key))).await
}

pub(super) async fn list<S: Store>(engine: &Engine<S>, place: &Place, arn: &str) -> Result<Response, Fault> {
    Ok(Response::ListTagsForResource(find(engine, place, arn).await?.tags))
}
