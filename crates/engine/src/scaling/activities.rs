//! DescribeScalingActivities, and the end of old activities.

use std::ops::ControlFlow;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::scaling::fault::Fault;
use keywright_semantics::scaling::request::Filter;
use keywright_semantics::scaling::response::Response;
use keywright_store::{Direction, Store, Transaction};

use super::rows::{self, Activity, Standing};
use super::{failed, pager};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::support::fault;
use crate::support::rows::keep;

/// Activities are kept for six weeks (API reference: `DescribeScalingActivities`).
const KEPT_MS: u64 = 6 * 7 * 86_400_000;
/// Activities that one commit removes.
const ENDED_MAX: usize = 500;

/// Newest first.
pub(super) async fn describe<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    filter: Filter,
) -> Result<Response, Fault> {
    let mut pager = pager(&filter)?;
    let is_wanted = |activity: &Activity| {
        activity.account == place.account
            && activity.region == place.region
            && filter.takes(&activity.resource, &activity.dimension)
            && (filter.with_not_scaled || activity.progress != Standing::NotScaled)
    };
    let take = |_: &Bytes, row: &[u8]| {
        let wanted = rows::decode_activity(row).filter(is_wanted);
        wanted.map_or(ControlFlow::Continue(()), |activity| pager.offer(|| activity.view()))
    };
    let range = (rows::activities_between(0, u64::MAX), Direction::Backward);
    let _turn = engine.metrics().reading.lock().await;
    rows::each(engine, range, take).await.map_err(failed)?;
    let (activities, next_token) = pager.finish();
    Ok(Response::DescribeScalingActivities { activities, next_token })
}

/// Removes some activities that are too old.
pub(super) async fn end<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<(), Error> {
    let mut keys = Vec::new();
    let range = rows::activities_between(0, now_ms.saturating_sub(KEPT_MS));
    let take = |key: &Bytes, _: &[u8]| keep(&mut keys, key.clone(), ENDED_MAX);
    rows::each(engine, (range, Direction::Forward), take).await?;
    if keys.is_empty() {
        return Ok(());
    }
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for key in keys {
        txn.delete(key);
    }
    txn.commit().await.map(|_version| ()).map_err(|_fault| fault::internal())
}
