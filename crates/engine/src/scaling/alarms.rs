//! The alarms of policies, kept as alarms of `monitoring`: anyone can read them there.

use keywright_semantics::monitoring::alarm::AlarmState;
use keywright_semantics::monitoring::fault::{Fault as MonitoringFault, FaultKind as MonitoringKind};
use keywright_semantics::scaling::alarms::{Role, Watched, name, settings};
use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::response::AlarmName;
use keywright_semantics::scaling::target::TargetId;
use keywright_store::Store;

use super::failed;
use super::rows::{Policy, Target};
use crate::metrics::series::Place;
use crate::monitoring::owned;
use crate::state::Engine;
use crate::tables::create::uuid;

/// Names for the alarms of a new policy.
pub(super) fn new_names<S: Store>(engine: &Engine<S>, target: &TargetId) -> [String; 4] {
    Role::ALL.map(|role| name(target, role, &uuid(engine.env().random_u128())))
}

/// The alarms of a policy as responses name them.
pub(super) fn named(place: &Place, policy: &Policy) -> Vec<AlarmName> {
    let named = |name: &String| AlarmName { name: name.clone(), arn: owned::arn(place, name) };
    policy.alarms.iter().map(named).collect()
}

fn refused(fault: MonitoringFault) -> Fault {
    let kind = match fault.kind {
        MonitoringKind::LimitExceeded => FaultKind::LimitExceeded,
        _ => FaultKind::Internal,
    };
    Fault::new(kind, fault.message)
}

/// Makes the thresholds of a target's alarms anew for this capacity, and alarms that are missing.
pub(super) async fn remake<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    target: &Target,
    capacity: u64,
) -> Result<(), Fault> {
    let Some(policy) = &target.policy else { return Ok(()) };
    let (id, tracking) = (target.id(), policy.tracking());
    let watched = Watched { target: &id, tracking: &tracking, policy_arn: &policy.arn, capacity };
    for (role, name) in Role::ALL.into_iter().zip(&policy.alarms) {
        let mut wanted = settings(watched, role, name);
        let present = owned::find(engine, place, name).await.map_err(failed)?;
        if let Some(present) = &present {
            wanted.actions_enabled = present.settings.actions_enabled;
        }
        if present.is_none_or(|present| present.settings != wanted) {
            owned::put(engine, place, wanted).await.map_err(refused)?;
        }
    }
    Ok(())
}

/// Removes the alarms of a policy.
pub(super) async fn remove<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    policy: &Policy,
) -> Result<(), Fault> {
    for name in &policy.alarms {
        owned::remove(engine, place, name).await.map_err(failed)?;
    }
    Ok(())
}

/// How an alarm of a policy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Somebody has deleted it.
    Missing,
    /// It asks for nothing, or its actions are disabled.
    Quiet,
    /// It is in alarm.
    Raised,
}

/// How the alarms of a policy stand, in the order of `Role::ALL`.
pub(super) async fn standings<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    policy: &Policy,
) -> Result<[Standing; 4], Fault> {
    let mut standings = [Standing::Missing; 4];
    for (standing, name) in standings.iter_mut().zip(&policy.alarms) {
        let Some(alarm) = owned::find(engine, place, name).await.map_err(failed)? else { continue };
        let is_raised = alarm.state == AlarmState::Alarm && alarm.settings.actions_enabled;
        *standing = if is_raised { Standing::Raised } else { Standing::Quiet };
    }
    Ok(standings)
}
