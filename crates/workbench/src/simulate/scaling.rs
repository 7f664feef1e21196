//! Auto scaling of the simulated tables: targets and policies as a client registers them with the engine,
//! which then follows them on the virtual clock.

use keywright_model::{DeclaredCapacity, IndexKind, Table};
use keywright_semantics::monitoring::document::Document;
use keywright_semantics::scaling::request::Request;
use keywright_semantics::scaling::response::ActivityView;
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::scaling::{NAMESPACE, Operation};
use keywright_semantics::throttle::Direction;

use super::profile::{Bounds, Scaling, TableMode, TableProfile};

const POLICY: &str = "simulated";

/// A table's scaling: the profile's, else the model's.
fn scaling_of(table: &Table, own: &TableProfile) -> Option<Scaling> {
    own.scaling.or(match table.billing {
        DeclaredCapacity::Provisioned { autoscale: Some(declared), .. } => {
            let bounds = Some(Bounds { min: declared.min, max: declared.max });
            Some(Scaling { target_percent: declared.target_percent, read: bounds, write: bounds })
        }
        _ => None,
    })
}

/// The requests that make a table and its global indexes scale, in order.
pub(super) fn requests(table: &Table, mode: TableMode, own: &TableProfile) -> Result<Vec<Request>, String> {
    let Some(scaling) = scaling_of(table, own).filter(|_| mode == TableMode::Provisioned) else {
        return Ok(Vec::new());
    };
    let globals = table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    let indexes = std::iter::once(None).chain(globals.map(|index| Some(index.name.clone())));
    let mut found = Vec::new();
    for index in indexes {
        for (direction, bounds) in [(Direction::Read, scaling.read), (Direction::Write, scaling.write)] {
            let Some(bounds) = bounds else { continue };
            let target = TargetId { table: table.name.clone(), index: index.clone(), direction };
            found.push(register(&target, bounds)?);
            found.push(follow(&target, scaling.target_percent)?);
        }
    }
    Ok(found)
}

fn named(target: &TargetId) -> [(&'static str, Document); 3] {
    [
        ("ServiceNamespace", Document::text(NAMESPACE)),
        ("ResourceId", Document::text(target.resource_id())),
        ("ScalableDimension", Document::text(target.dimension())),
    ]
}

fn register(target: &TargetId, bounds: Bounds) -> Result<Request, String> {
    let [namespace, resource, dimension] = named(target);
    let units = |units: u64| Document::Integer(i64::try_from(units).unwrap_or(i64::MAX));
    let body = Document::object([
        namespace,
        resource,
        dimension,
        ("MinCapacity", units(bounds.min)),
        ("MaxCapacity", units(bounds.max)),
    ]);
    Request::validate(Operation::RegisterScalableTarget, &body).map_err(|fault| fault.message)
}

fn follow(target: &TargetId, percent: u64) -> Result<Request, String> {
    let [namespace, resource, dimension] = named(target);
    let metric = Document::object([("PredefinedMetricType", Document::text(target.metric()))]);
    let percent = f64::from(u32::try_from(percent).unwrap_or(u32::MAX));
    let tracking = [("TargetValue", Document::Number(percent)), ("PredefinedMetricSpecification", metric)];
    let body = Document::object([
        namespace,
        resource,
        dimension,
        ("PolicyName", Document::text(POLICY)),
        ("PolicyType", Document::text("TargetTrackingScaling")),
        ("TargetTrackingScalingPolicyConfiguration", Document::object(tracking)),
    ]);
    Request::validate(Operation::PutScalingPolicy, &body).map_err(|fault| fault.message)
}

/// The request for a page of what scaling did.
pub(super) fn activities(next_token: Option<String>) -> Result<Request, String> {
    let body = Document::object([
        ("ServiceNamespace", Document::text(NAMESPACE)),
        ("NextToken", Document::maybe(next_token, Document::text)),
    ]);
    Request::validate(Operation::DescribeScalingActivities, &body).map_err(|fault| fault.message)
}

/// The table and index of an activity.
pub(super) fn resource_of(activity: &ActivityView) -> Option<(String, Option<String>)> {
    let target = TargetId::parse(NAMESPACE, &activity.resource, &activity.dimension).ok()?;
    Some((target.table, target.index))
}
