//! The scaling of members on other servers, as it is asked of their servers.
//!
//! It does not know which changes a request plans (`replicas`).

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_semantics::request::{ScalingChange, ScalingSettings};
use keywright_semantics::scaling::request::Tracking;
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::throttle::Direction;
use keywright_store::Store;

use super::rows::Target;
use crate::catalogue::{RemoteMember, Table};
use crate::replication::peers::{Answer, Message, ScalingBounds, ScalingRule, ask, ends, refused};
use crate::state::Engine;

/// Bounds without a policy scale nothing.
pub(super) fn bounds_of(target: Target) -> Option<ScalingBounds> {
    let policy = target.policy?;
    let Tracking { target_value, scale_in_cooldown_s, scale_out_cooldown_s, disable_scale_in } =
        policy.tracking();
    Some(ScalingBounds {
        min: target.min,
        max: target.max,
        policy_name: Some(policy.name),
        target_bits: target_value.to_bits(),
        scale_in_cooldown_s,
        scale_out_cooldown_s,
        disable_scale_in,
    })
}

fn tracking_of(bounds: &ScalingBounds) -> Tracking {
    Tracking {
        target_value: f64::from_bits(bounds.target_bits),
        scale_in_cooldown_s: bounds.scale_in_cooldown_s,
        scale_out_cooldown_s: bounds.scale_out_cooldown_s,
        disable_scale_in: bounds.disable_scale_in,
    }
}

pub(super) fn enabling(bounds: &ScalingBounds) -> ScalingChange {
    ScalingChange::Enable(ScalingSettings {
        min: bounds.min,
        max: bounds.max,
        policy_name: bounds.policy_name.clone(),
        tracking: tracking_of(bounds),
    })
}

/// A planned change of a remote member's target, as messages have it.
pub(super) fn rule(id: &TargetId, change: &ScalingChange) -> ScalingRule {
    let settings = match change {
        ScalingChange::Disable => None,
        ScalingChange::Enable(ScalingSettings { min, max, policy_name, tracking }) => Some(ScalingBounds {
            min: *min,
            max: *max,
            policy_name: policy_name.clone(),
            target_bits: tracking.target_value.to_bits(),
            scale_in_cooldown_s: tracking.scale_in_cooldown_s,
            scale_out_cooldown_s: tracking.scale_out_cooldown_s,
            disable_scale_in: tracking.disable_scale_in,
        }),
    };
    ScalingRule { index: id.index.clone(), scales_writes: id.direction == Direction::Write, settings }
}

/// What scales something, for people: bounds, the policy's name and what it tracks.
pub(super) fn shown(rules: &[ScalingRule], index: Option<&str>, direction: Direction) -> Option<Shown> {
    let is_asked = |rule: &&ScalingRule| {
        rule.index.as_deref() == index && rule.scales_writes == (direction == Direction::Write)
    };
    let bounds = rules.iter().find(is_asked)?.settings.as_ref()?;
    let policy_name = bounds.policy_name.clone().unwrap_or_default();
    Some(Shown { min: bounds.min, max: bounds.max, policy_name, tracking: tracking_of(bounds) })
}

/// What scales a capacity.
pub(super) struct Shown {
    pub min: u64,
    pub max: u64,
    pub policy_name: String,
    pub tracking: Tracking,
}

/// Has the server of a member change what scales it; what scaled it before. Without changes it only says
/// that.
pub(super) async fn ask_change<S: Store>(
    engine: &Engine<S>,
    (table, member): (&Table, &RemoteMember),
    changes: Vec<ScalingRule>,
) -> Result<Vec<ScalingRule>, Error> {
    let region = member.region.as_str();
    let unasked = if changes.is_empty() { messages::peer_unasked } else { messages::peer_unreachable };
    let message = Message::Scaling { ends: ends(table, member)?, changes };
    match ask(engine, region, &message).await {
        Ok(Answer::Scaling(rules)) => Ok(rules),
        Ok(Answer::Refused { kind, text }) => Err(Error::new(kind.error(), text)),
        Ok(other) => Err(Error::validation(unasked(region, refused(region, other).text()))),
        Err(unsent) => Err(Error::validation(unasked(region, unsent.text()))),
    }
}
