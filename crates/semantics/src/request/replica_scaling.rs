//! DescribeTableReplicaAutoScaling and UpdateTableReplicaAutoScaling: their typed requests, and every rule
//! that needs no table.
//!
//! It does not know which replicas a table has, or how a policy scales.

use super::parts::{
    AutoScalingSettingsUpdateParts, DescribeTableReplicaAutoScalingParts, ReplicaAutoScalingUpdateParts,
    UpdateTableReplicaAutoScalingParts,
};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::messages::global as messages;
use crate::scaling::request::Tracking;

/// A DescribeTableReplicaAutoScaling.
#[derive(Clone, Debug)]
pub struct DescribeReplicaScaling {
    /// The table in the request's region, by name or ARN.
    pub table: TableRef,
}

impl DescribeReplicaScaling {
    /// Validates the parts.
    pub fn validate(parts: &DescribeTableReplicaAutoScalingParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}

/// An UpdateTableReplicaAutoScaling.
#[derive(Clone, Debug)]
pub struct UpdateReplicaScaling {
    /// The table in the request's region, by name or ARN.
    pub table: TableRef,
    /// The scaling of writes, of all replicas.
    pub writes: Option<ScalingChange>,
    /// The scaling of writes of global indexes, of all replicas.
    pub index_writes: Vec<IndexScaling>,
    /// The scaling of reads of single replicas. Invariant: each region is there once.
    pub replicas: Vec<ReplicaScaling>,
}

/// How reads of one replica are to be scaled.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaScaling {
    /// The replica's region.
    pub region: String,
    /// The reads of its table.
    pub reads: Option<ScalingChange>,
    /// The reads of its global indexes.
    pub indexes: Vec<IndexScaling>,
}

/// How one direction of a global index is to be scaled.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexScaling {
    /// The index's name.
    pub name: String,
    /// The change.
    pub change: ScalingChange,
}

/// A change of the scaling of one capacity.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalingChange {
    /// Nothing scales it any more.
    Disable,
    /// A policy scales it within bounds.
    Enable(ScalingSettings),
}

/// Bounds and policy of a capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingSettings {
    /// The least capacity.
    pub min: u64,
    /// The greatest capacity.
    pub max: u64,
    /// The policy's name, if the client chose one.
    pub policy_name: Option<String>,
    /// What the policy aims at.
    pub tracking: Tracking,
}

impl UpdateReplicaScaling {
    /// Validates the parts. Observed: all of this comes before the table is looked up.
    pub fn validate(parts: UpdateTableReplicaAutoScalingParts) -> Result<Self, Error> {
        let table = TableRef::parse(&parts.table_name)?;
        let name = table.name.as_str();
        let writes = parts.provisioned_write_capacity_auto_scaling_update;
        let writes = writes.map(|update| change(name, update)).transpose()?;
        let mut index_writes = Vec::new();
        for index in parts.global_secondary_index_updates.unwrap_or_default() {
            let update = index.provisioned_write_capacity_auto_scaling_update;
            index_writes.push(of_index(name, index.index_name, update)?);
        }
        let mut replicas: Vec<ReplicaScaling> = Vec::new();
        for replica in parts.replica_updates.unwrap_or_default() {
            if replicas.iter().any(|known| known.region == replica.region_name) {
                return Err(Error::validation(messages::scaled_twice(name, &replica.region_name)));
            }
            replicas.push(of_replica(name, replica)?);
        }
        if writes.is_none() && index_writes.is_empty() && replicas.is_empty() {
            return Err(Error::validation(messages::no_scaling_update(name)));
        }
        Ok(Self { table, writes, index_writes, replicas })
    }

    /// The regions whose replicas it names.
    pub fn regions(&self) -> impl Iterator<Item = &str> {
        self.replicas.iter().map(|replica| replica.region.as_str())
    }
}

fn of_replica(table: &str, parts: ReplicaAutoScalingUpdateParts) -> Result<ReplicaScaling, Error> {
    let reads = parts.replica_provisioned_read_capacity_auto_scaling_update;
    let reads = reads.map(|update| change(table, update)).transpose()?;
    let mut indexes = Vec::new();
    for index in parts.replica_global_secondary_index_updates.unwrap_or_default() {
        let update = index.provisioned_read_capacity_auto_scaling_update;
        indexes.push(of_index(table, index.index_name, update)?);
    }
    if reads.is_none() && indexes.is_empty() {
        return Err(Error::validation(messages::no_scaling_update_of_region(table, &parts.region_name)));
    }
    Ok(ReplicaScaling { region: parts.region_name, reads, indexes })
}

fn of_index(
    table: &str,
    name: Option<String>,
    update: Option<AutoScalingSettingsUpdateParts>,
) -> Result<IndexScaling, Error> {
    let (Some(name), Some(update)) = (name, update) else {
        return Err(Error::validation(messages::no_scaling_update(table)));
    };
    Ok(IndexScaling { change: change(table, update)?, name })
}

fn change(table: &str, parts: AutoScalingSettingsUpdateParts) -> Result<ScalingChange, Error> {
    let (policy, is_disabled) = (parts.scaling_policy_update, parts.auto_scaling_disabled == Some(true));
    // Observed: the service names them in this order.
    let given = [
        ("MaximumUnits", parts.maximum_units.is_some()),
        ("ScalingPolicyUpdate", policy.is_some()),
        ("MinimumUnits", parts.minimum_units.is_some()),
    ];
    let named = |wanted: bool| -> Vec<&str> {
        given.iter().filter(|(_, is_given)| *is_given == wanted).map(|(name, _)| *name).collect()
    };
    if is_disabled {
        let superfluous = named(true);
        if superfluous.is_empty() {
            return Ok(ScalingChange::Disable);
        }
        return Err(Error::validation(messages::scaling_left_blank(table, &superfluous)));
    }
    let missing = || Error::validation(messages::scaling_required(table, &named(false)));
    let (Some(min), Some(max), Some(policy)) = (parts.minimum_units, parts.maximum_units, policy) else {
        return Err(missing());
    };
    let tracked = policy.target_tracking_scaling_policy_configuration;
    let tracking = Tracking {
        target_value: tracked.target_value,
        scale_in_cooldown_s: cooldown(tracked.scale_in_cooldown)?,
        scale_out_cooldown_s: cooldown(tracked.scale_out_cooldown)?,
        disable_scale_in: tracked.disable_scale_in,
    };
    let units = |units: i64| u64::try_from(units).map_err(|_| missing());
    let policy_name = policy.policy_name;
    Ok(ScalingChange::Enable(ScalingSettings { min: units(min)?, max: units(max)?, policy_name, tracking }))
}

/// Observed: the service takes a negative cooldown. It has no meaning.
fn cooldown(seconds: Option<i64>) -> Result<Option<u64>, Error> {
    let bounded =
        |seconds| u64::try_from(seconds).map_err(|_| Error::validation(messages::NEGATIVE_COOLDOWN));
    seconds.map(bounded).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::parts::{
        AutoScalingPolicyUpdateParts, AutoScalingTargetTrackingScalingPolicyConfigurationUpdateParts,
        GlobalSecondaryIndexAutoScalingUpdateParts,
    };

    type Parts = UpdateTableReplicaAutoScalingParts;

    fn policy() -> AutoScalingPolicyUpdateParts {
        AutoScalingPolicyUpdateParts {
            policy_name: Some("p".to_owned()),
            target_tracking_scaling_policy_configuration:
                AutoScalingTargetTrackingScalingPolicyConfigurationUpdateParts {
                    disable_scale_in: None,
                    scale_in_cooldown: Some(60),
                    scale_out_cooldown: None,
                    target_value: 50.0,
                },
        }
    }

    fn whole() -> AutoScalingSettingsUpdateParts {
        AutoScalingSettingsUpdateParts {
            minimum_units: Some(1),
            maximum_units: Some(9),
            auto_scaling_disabled: None,
            auto_scaling_role_arn: None,
            scaling_policy_update: Some(policy()),
        }
    }

    fn writes(update: AutoScalingSettingsUpdateParts) -> Parts {
        Parts {
            table_name: "T".to_owned(),
            provisioned_write_capacity_auto_scaling_update: Some(update),
            ..Parts::default()
        }
    }

    fn reads(region: &str, update: Option<AutoScalingSettingsUpdateParts>) -> ReplicaAutoScalingUpdateParts {
        ReplicaAutoScalingUpdateParts {
            region_name: region.to_owned(),
            replica_global_secondary_index_updates: None,
            replica_provisioned_read_capacity_auto_scaling_update: update,
        }
    }

    fn refusal(parts: Parts) -> String {
        UpdateReplicaScaling::validate(parts).expect_err("it has a fault").message
    }

    #[test]
    fn each_fault_has_its_text() {
        let nothing = || AutoScalingSettingsUpdateParts::default();
        let required = |names: &str| {
            format!(
                "Failed to update settings for global table with name: ‘T’: Parameters {names} are required unless \
                 auto scaling is being disabled."
            )
        };
        let all = "'MaximumUnits', 'ScalingPolicyUpdate', 'MinimumUnits'";
        assert_eq!(refusal(writes(nothing())), required(all));
        let enabled = AutoScalingSettingsUpdateParts { auto_scaling_disabled: Some(false), ..nothing() };
        assert_eq!(refusal(writes(enabled)), required(all));
        let bounds = AutoScalingSettingsUpdateParts { scaling_policy_update: None, ..whole() };
        assert_eq!(refusal(writes(bounds)), required("'ScalingPolicyUpdate'"));
        let disabled =
            |update| AutoScalingSettingsUpdateParts { auto_scaling_disabled: Some(true), ..update };
        let bounds = AutoScalingSettingsUpdateParts { scaling_policy_update: None, ..whole() };
        assert_eq!(
            refusal(writes(disabled(bounds))),
            "Failed to update settings for global table with name ‘T’: Parameters 'MaximumUnits', 'MinimumUnits' \
             must be left blank when disabling auto scaling."
        );
        let start = "Failed to update settings for global table with name: ‘T’ because ";
        let none = Parts { table_name: "T".to_owned(), ..Parts::default() };
        assert_eq!(refusal(none.clone()), format!("{start}at least one update parameter must be specified."));
        let region = Parts { replica_updates: Some(vec![reads("eu-west-1", None)]), ..none.clone() };
        let of_region = "at least one update parameter must be specified for region: ‘eu-west-1’.";
        assert_eq!(refusal(region), format!("{start}{of_region}"));
        let twice = vec![reads("a", Some(whole())), reads("a", Some(whole()))];
        let twice = Parts { replica_updates: Some(twice), ..none.clone() };
        assert_eq!(refusal(twice), format!("{start}the regions: ‘[a]’ were specified more than once."));
        let mut negative = whole();
        if let Some(policy) = &mut negative.scaling_policy_update {
            policy.target_tracking_scaling_policy_configuration.scale_out_cooldown = Some(-1);
        }
        assert_eq!(refusal(writes(negative)), messages::NEGATIVE_COOLDOWN);
        let unnamed = GlobalSecondaryIndexAutoScalingUpdateParts {
            index_name: None,
            provisioned_write_capacity_auto_scaling_update: Some(whole()),
        };
        let unnamed = Parts { global_secondary_index_updates: Some(vec![unnamed]), ..none };
        assert!(refusal(unnamed).starts_with(start));
    }

    #[test]
    fn a_right_request_has_bounds_and_policy_or_an_end() {
        let request = UpdateReplicaScaling::validate(writes(whole())).expect("it is right");
        let Some(ScalingChange::Enable(settings)) = request.writes else { panic!("{request:?}") };
        assert_eq!((settings.min, settings.max, settings.policy_name.as_deref()), (1, 9, Some("p")));
        assert_eq!(settings.tracking.scale_in_cooldown_s, Some(60));
        let disabled = AutoScalingSettingsUpdateParts {
            auto_scaling_disabled: Some(true),
            ..AutoScalingSettingsUpdateParts::default()
        };
        let parts = Parts {
            replica_updates: Some(vec![reads("a", Some(disabled)), reads("b", Some(whole()))]),
            table_name: "T".to_owned(),
            ..Parts::default()
        };
        let request = UpdateReplicaScaling::validate(parts).expect("it is right");
        assert_eq!(request.replicas[0].reads, Some(ScalingChange::Disable));
        assert_eq!(request.regions().collect::<Vec<_>>(), ["a", "b"]);
    }
}
