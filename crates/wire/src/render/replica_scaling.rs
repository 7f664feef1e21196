//! The auto scaling of a table's replicas.

use keywright_semantics::response::{EnabledScaling, ReplicaScalingDescription, ScaledIndex, ScaledReplica};
use keywright_semantics::scaling::request::Tracking;

use super::writer::{Array, Render, Writer};

impl Render for ReplicaScalingDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            members.put("TableStatus", self.table_status);
            members.put("Replicas", Array(&self.replicas));
        });
    }
}

impl Render for ScaledReplica {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("RegionName", &self.region_name);
            members.put("GlobalSecondaryIndexes", Array(&self.indexes));
            members.put("ReplicaProvisionedReadCapacityAutoScalingSettings", Settings(self.reads.as_ref()));
            members.put("ReplicaProvisionedWriteCapacityAutoScalingSettings", Settings(self.writes.as_ref()));
            members.put("ReplicaStatus", self.replica_status);
        });
    }
}

impl Render for ScaledIndex {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("IndexName", &self.index_name);
            members.put("IndexStatus", self.index_status);
            members.put("ProvisionedReadCapacityAutoScalingSettings", Settings(self.reads.as_ref()));
            members.put("ProvisionedWriteCapacityAutoScalingSettings", Settings(self.writes.as_ref()));
        });
    }
}

/// The settings of one capacity. Observed: without a policy it is said to be disabled, with one nothing is
/// said.
struct Settings<'a>(Option<&'a EnabledScaling>);

impl Render for Settings<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| match self.0 {
            None => {
                members.put("AutoScalingDisabled", true);
                members.put("ScalingPolicies", Array::<Policy<'_>>(&[]));
            }
            Some(enabled) => {
                members.put("MinimumUnits", enabled.min);
                members.put("MaximumUnits", enabled.max);
                members.put("AutoScalingRoleArn", &enabled.role_arn);
                members.put("ScalingPolicies", Array(&[Policy(enabled)]));
            }
        });
    }
}

struct Policy<'a>(&'a EnabledScaling);

impl Render for Policy<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("PolicyName", &self.0.policy_name);
            members.put("TargetTrackingScalingPolicyConfiguration", Tracked(&self.0.tracking));
        });
    }
}

struct Tracked<'a>(&'a Tracking);

impl Render for Tracked<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("DisableScaleIn", self.0.disable_scale_in);
            members.put_if("ScaleInCooldown", self.0.scale_in_cooldown_s);
            members.put_if("ScaleOutCooldown", self.0.scale_out_cooldown_s);
            members.put("TargetValue", Decimal(self.0.target_value));
        });
    }
}

/// A finite number.
struct Decimal(f64);

impl Render for Decimal {
    fn render(&self, writer: &mut Writer) {
        writer.raw(&format!("{:?}", self.0));
    }
}
