//! The scaling of tables here, as another server's client sees and changes it.

use keywright_semantics::error::Error;
use keywright_semantics::request::ScalingChange;
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::throttle::Direction;
use keywright_store::Store;

use super::remote::{bounds_of, enabling};
use super::replicas::{self, targets_of};
use super::rows;
use crate::catalogue::Table;
use crate::metrics::series::Place;
use crate::replication::peers::ScalingRule;
use crate::state::Engine;

/// Changes what scales a table here, as another server's client wants it; what scaled it before.
pub(crate) async fn change<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    changes: &[ScalingRule],
) -> Result<Vec<ScalingRule>, Error> {
    let place = Place { account: table.account.clone(), region: table.region.clone() };
    let mut before = Vec::new();
    for id in targets_of(table) {
        let found = rows::find(engine, &place, &id).await.map_err(super::internal)?;
        let rule = ScalingRule {
            index: id.index.clone(),
            scales_writes: id.direction == Direction::Write,
            settings: found.and_then(bounds_of),
        };
        before.push(rule);
    }
    for rule in changes {
        let direction = if rule.scales_writes { Direction::Write } else { Direction::Read };
        let id = TargetId { table: table.name.clone(), index: rule.index.clone(), direction };
        let change = rule.settings.as_ref().map_or(ScalingChange::Disable, enabling);
        replicas::check_change(engine, &id, &change)?;
        let applied = replicas::apply(engine, &place, id, &change).await;
        applied.map_err(|fault| replicas::passed_on(engine, &fault))?;
    }
    Ok(before)
}
