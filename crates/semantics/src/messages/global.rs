//! Messages about global tables: tables with replicas in other regions.
//!
//! Source: messages of the service of October 2026 that public compatibility suites recorded; where none did,
//! the API reference. Those that are Keywright's own say so.

use super::table::in_use;
use crate::place::GLOBAL_TABLE_REGIONS;

/// `ReplicaUpdates` together with another change.
pub const REPLICAS_ALONE: &str = "Replica modification must be the only operation in the request";
/// The same where the replicas are to be strongly consistent.
pub const STRONG_REPLICAS_ALONE: &str =
    "Requests that modify replicas or witnesses must not also modify other fields";
/// Elements of `ReplicaUpdates` with different actions, or an element with several.
pub const SEVERAL_TYPES: &str =
    "Update table operation with more than one type of replica actions not allowed.";
/// Several regions that are added, or several that are removed.
pub const SEVERAL_REPLICAS: &str =
    "Update table operation with more than one create or delete replica actions not allowed";
/// An element of `ReplicaUpdates` without an action, or a change of a replica that changes nothing.
pub const NO_REPLICA_ACTION: &str =
    "There are no actions specified in the Replica Update Action of the request.";
/// `MultiRegionConsistency` without a new replica.
pub const CONSISTENCY_WITHOUT_CREATE: &str =
    "Only Replica Create actions are supported when MultiRegionConsistency parameter is provided.";
/// A strongly consistent group of other than three regions.
pub const STRONG_REPLICA_COUNT: &str =
    "Unsupported replica count for global tables with MultiRegionConsistency set to STRONG.";
/// A new witness without strong consistency.
pub const WITNESS_WITHOUT_STRONG: &str =
    "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates parameter is present.";
/// A witness in the region of a replica.
pub const WITNESS_WITH_REPLICA: &str = "Cannot add a witness in the same region as an existing replica when \
    creating a global table with MultiRegionConsistency set to STRONG.";
/// A witness that is made and deleted at once.
pub const WITNESS_OF_SEVERAL_REGIONS: &str = "Cannot target multiple regions with the same action";
/// A new replica of a strongly consistent group.
pub const STRONG_GROUP_IS_FROZEN: &str =
    "Cannot add replicas to a global table with strong MultiRegionConsistency";
/// A consistency for a group that is there.
pub const CONSISTENCY_OF_GROUP: &str =
    "MultiRegionConsistency parameter is unsupported on existing global table";
/// The end of a strongly consistent group without its witness.
pub const WITNESS_LEFT: &str = "Update table delete operation does not include all witnesses.";
/// The end of one replica of a strongly consistent group.
pub const STRONG_REPLICA_ALONE: &str = "Deletion of only one table replica is not supported for global tables \
    with MultiRegionConsistency set to STRONG.";
/// A write of an item that another region is writing.
pub const WRITE_CONFLICT: &str = "The request was rejected because one or more items in the request are being \
    modified by a request in another Region.";
/// A replica in the region of the request.
pub const LOCAL_REGION: &str = "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, \
    DeleteTable, or UpdateTable as required.";
/// A key of the account's for a table that the service's own key encrypts, a replica without one, or another
/// key for a replica.
pub const KEY_OF_EACH_REPLICA: &str = "KMSMasterKeyId must be specified for each replica.";
/// A key of the account's for the replica of a table with the service's managed key.
pub const KEYS_OF_ONE_KIND: &str = "All replica keys must either be Customer Managed CMK or AWS Managed CMK.";
/// A new replica while the table's key changes.
pub const KEY_BEING_CHANGED: &str = "Operation cannot be performed while replica server-side encryption status \
    is in UPDATING state. Please retry the request after the status is updated to ENABLED.";
/// A new replica of a provisioned table whose write units nothing scales.
pub const WRITES_NOT_SCALED: &str = "Table write capacity should either be Pay-Per-Request or AutoScaled.";
/// The same of a global index.
pub const INDEX_WRITES_NOT_SCALED: &str =
    "GSI write capacity should either be Pay-Per-Request or AutoScaled.";
/// The end of a stream that replicas need.
pub const STREAM_NEEDED: &str = "Disabling Stream is not allowed for a Global Table replica.";
/// A region that others were filled from, too early.
pub const SOURCE_REGION: &str = "Replica cannot be deleted because it has acted as a source region for new \
    replica(s) being added to the table in the last 24 hours.";
/// A change of a table while one of its replicas is added, changed or removed.
pub const REPLICA_CHANGES: &str = "The resource which you are attempting to change is in use.";

/// CreateTable with a source and another mode. This text and the others about several accounts are
/// ours: the service's are not known.
pub const SETTINGS_OF_ACCOUNTS: &str =
    "GlobalTableSettingsReplicationMode must be ENABLED when GlobalTableSourceArn is present.";
/// CreateTable that replicates settings without a source.
pub const SETTINGS_WITHOUT_SOURCE: &str =
    "GlobalTableSettingsReplicationMode ENABLED requires GlobalTableSourceArn in CreateTable.";
/// CreateTable with a source and with a schema or settings.
pub const SCHEMA_OF_SOURCE: &str = "A table with GlobalTableSourceArn takes its schema and settings from the \
    source: only TableName, ResourcePolicy, Tags, DeletionProtectionEnabled and \
    GlobalTableSettingsReplicationMode can be specified with it.";
/// A source that is named without its account.
pub const SOURCE_IS_NO_ARN: &str = "GlobalTableSourceArn must be the ARN of a table.";
/// A source in the caller's account.
pub const SOURCE_OF_OWN_ACCOUNT: &str = "GlobalTableSourceArn must be the ARN of a table in another account. \
    UpdateTable with ReplicaUpdates adds a replica in the same account.";
/// An account or region that has a replica already.
pub const ONE_REPLICA_OF_ACCOUNT: &str = "A global table in several accounts has one replica in each account and \
    one in each region.";
/// UpdateTable that changes replicas of a table in several accounts.
pub const REPLICAS_OF_ACCOUNTS: &str = "ReplicaUpdates are not supported for a table whose \
    GlobalTableSettingsReplicationMode is ENABLED: an account adds its replica with CreateTable and removes it \
    with DeleteTable.";
/// UpdateTable that ends the replication of settings of a table with replicas, or begins it.
pub const SETTINGS_MODE_OF_REPLICAS: &str =
    "GlobalTableSettingsReplicationMode cannot be changed while the table has replicas.";
/// A source that a key of KMS encrypts.
pub const KEYS_IN_ACCOUNTS: &str =
    "A table that is encrypted with a KMS key cannot have replicas in other accounts.";

/// CreateGlobalTable without a region.
pub const NO_REPLICA: &str = "Global table must have atleast one replica";
/// A new region of a global table of version 2017.
pub const VERSION_2017: &str = "DynamoDB global tables version 2017.11.29 is not supported. We recommend using \
    DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 (Legacy).";
/// ListGlobalTables with a region that does not exist.
pub const UNKNOWN_REGION_OF_LIST: &str = "Internal server error";

/// A global table of version 2017 that does not exist, in the operations on its settings.
pub fn no_global_table_with_settings(name: &str) -> String {
    format!("Global table with name: '{name}' does not exist.")
}

/// The same in the other operations.
pub fn no_global_table(name: &str) -> String {
    format!("Global table not found: {}", no_global_table_with_settings(name))
}

fn settings_failed(table: &str) -> String {
    format!("Failed to update settings for global table with name: ‘{table}’")
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}

/// A change of auto scaling without some of its parameters.
pub fn scaling_required(table: &str, names: &[&str]) -> String {
    let (start, names) = (settings_failed(table), quoted(names));
    format!("{start}: Parameters {names} are required unless auto scaling is being disabled.")
}

/// The end of auto scaling together with parameters of it. Observed: without the colon.
pub fn scaling_left_blank(table: &str, names: &[&str]) -> String {
    let names = quoted(names);
    format!(
        "Failed to update settings for global table with name ‘{table}’: Parameters {names} must be left blank \
         when disabling auto scaling."
    )
}

/// A change of auto scaling that changes nothing.
pub fn no_scaling_update(table: &str) -> String {
    format!("{} because at least one update parameter must be specified.", settings_failed(table))
}

/// The same for one replica.
pub fn no_scaling_update_of_region(table: &str, region: &str) -> String {
    let start = settings_failed(table);
    format!("{start} because at least one update parameter must be specified for region: ‘{region}’.")
}

/// A replica whose auto scaling is changed twice.
pub fn scaled_twice(table: &str, region: &str) -> String {
    format!("{} because the regions: ‘[{region}]’ were specified more than once.", settings_failed(table))
}

/// Auto scaling of replicas without provisioned units. Observed: both quotation marks of the name are equal.
pub fn scaled_on_demand(table: &str, regions: &[&str], names: &[&str]) -> String {
    format!(
        "Failed to update global table with name ‘{table}‘. Replicas {} BillingMode is PayPerRequest. You must \
         convert table's BillingMode to PROVISIONED to set parameters: {}.",
        quoted(regions),
        quoted(names)
    )
}

/// A target of auto scaling out of its bounds, as Application Auto Scaling says it.
pub fn scaling_target_out_of_bounds(metric: &str, target: f64) -> String {
    format!(
        "For predefined metric type {metric}, target value must be between '10.0' and '90.0', but was '{target:?}'."
    )
}

/// A fault of Application Auto Scaling, as the operations on replicas pass it on.
pub fn of_scaling(message: &str, code: &str, status: u16, request_id: &str) -> String {
    format!(
        "{message} (Service: AWSApplicationAutoScaling; Status Code: {status}; Error Code: {code}; Request ID: \
         {request_id}; Proxy: null)"
    )
}

/// Keywright's own: a negative time between two changes of capacity.
pub const NEGATIVE_COOLDOWN: &str = "ScaleInCooldown and ScaleOutCooldown must be 0 or more";

/// Keywright's own: auto scaling of a replica that the table does not have.
pub fn no_scaled_replica(table: &str, region: &str) -> String {
    format!("Global table with name: '{table}' has no replica in region: '{region}'.")
}

/// Keywright's own: settings of one replica of a strongly consistent group.
pub const STRONG_REPLICA_SETTINGS: &str = "Replicas of a global table with MultiRegionConsistency set to STRONG \
    have no settings of their own on this server.";
/// Keywright's own: time to live in a strongly consistent group, or before it is made.
pub const STRONG_WITHOUT_TTL: &str =
    "Time to live is not supported for global tables with MultiRegionConsistency set to STRONG.";
/// Keywright's own: a table with local indexes is to be strongly consistent.
pub const STRONG_WITHOUT_LOCAL_INDEXES: &str = "Local secondary indexes are not supported for global tables with \
    MultiRegionConsistency set to STRONG.";
/// Keywright's own: a Kinesis destination of a strongly consistent group, or before it is made.
pub const STRONG_WITHOUT_DESTINATIONS: &str = "Kinesis streaming destinations are not supported on this server for \
    global tables with MultiRegionConsistency set to STRONG.";
/// Keywright's own: a table with items is to be strongly consistent.
pub const STRONG_NOT_EMPTY: &str = "The table must be empty to set MultiRegionConsistency to STRONG.";
/// Keywright's own: a replica of a strongly consistent group is to leave with its data.
pub const STRONG_STAYS_WHOLE: &str =
    "Disassociate is not supported for global tables with MultiRegionConsistency set to STRONG.";
/// Keywright's own: a region of a strongly consistent group is owned by another server.
pub const STRONG_ON_ONE_SERVER: &str = "A region of a global table with MultiRegionConsistency set to STRONG is owned by another Keywright server.";
/// Keywright's own: a transaction on a strongly consistent table.
pub const STRONG_WITHOUT_TRANSACTIONS: &str =
    "Transactions are not supported for global tables with MultiRegionConsistency set to STRONG.";

/// Regions that cannot have a replica or a witness of a strongly consistent group.
pub fn unsupported_strong_regions(regions: &[&str]) -> String {
    format!(
        "Unsupported Region(s) specified for global tables with MultiRegionConsistency set to STRONG: [{}].",
        regions.join(", ")
    )
}

/// The end of a witness that a group does not have.
pub fn no_such_witness(region: &str) -> String {
    format!(
        "Update global table operation failed because one or more witnesses were not part of the global table. \
         Please retry the request without these witnesses: [{region}]."
    )
}

/// Keywright's own: the removal of a replica with its data together with another change of replicas.
pub const DISASSOCIATE_ALONE: &str = "Disassociate must be the only element of ReplicaUpdates";
/// Keywright's own: the protection of a replica together with another change.
pub const DISASSOCIATION_PROTECTION_ALONE: &str =
    "DisassociationProtectionEnabled must be the only change of the request";

/// Keywright's own: a replica is taken out of its group by a request to another region.
pub fn disassociated_elsewhere(region: &str, own: &str) -> String {
    format!("Disassociate takes the replica in the region of the request, which is {own}, not {region}")
}

/// Keywright's own: a protected replica is to be taken out of its group.
pub fn protected_from_disassociation(table: &str, region: &str) -> String {
    format!(
        "Cannot disassociate table {table} in region {region} because it has disassociation protection enabled. \
         Disable disassociation protection first."
    )
}

/// Keywright's own: the protection of a table without replicas.
pub fn protection_of_no_replica(table: &str) -> String {
    format!("DisassociationProtectionEnabled is a setting of replicas, and the table {table} has none")
}

/// Keywright's own: the versions that an earlier group left in the table are still being removed.
pub fn earlier_versions(table: &str) -> String {
    format!("The table {table} was part of a global table until now. Add the replica once that is cleared up")
}

/// Keywright's own: a replica of a table that a branch made.
pub fn of_branch(table: &str) -> String {
    format!("The table {table} was made by a branch, and tables of branches have no replicas")
}

/// Keywright's own: a table gets its first replica while a server of an older release serves the store.
pub fn older_servers(table: &str) -> String {
    format!(
        "The table {table} can have replicas once every server over the store runs a release that knows them: \
         a server of an older release would not send them the table's changes"
    )
}

/// A region that has no global tables.
pub fn unknown_region(region: &str) -> String {
    format!(
        "Region {region} is not supported. The latest version of global tables are only supported in the \
         following regions: [{}]",
        GLOBAL_TABLE_REGIONS.join(", ")
    )
}

/// A replica that has another name than its source.
pub fn source_of_other_name(table: &str, source: &str) -> String {
    format!("All replicas of a global table have one name: TableName is {table}, and the source is {source}.")
}

/// A source that does not replicate its settings.
pub fn source_not_shared(arn: &str) -> String {
    format!(
        "The table {arn} takes no replicas of other accounts: set its GlobalTableSettingsReplicationMode to \
         ENABLED with UpdateTable."
    )
}

/// A source that has replicas in its own account.
pub fn source_of_one_account(arn: &str) -> String {
    format!("The table {arn} has replicas in its own account, so it cannot have replicas in other accounts.")
}

/// A policy that does not allow replication what a replica in another account needs.
pub fn replication_not_allowed(action: &str, arn: &str) -> String {
    format!(
        "replication.dynamodb.amazonaws.com is not authorized to perform: dynamodb:{action} on resource: {arn} \
         because no resource-based policy allows the dynamodb:{action} action"
    )
}

/// A new replica in a region that has a table of the name.
pub fn replica_exists(table: &str) -> String {
    format!(
        "Failed to create a the new replica of table with name: ‘{table}’ because one or more replicas already \
         existed as tables."
    )
}

/// A new replica in a region where one is being added; `regions` are those of all members.
pub fn already_added(table: &str, regions: &[&str]) -> String {
    let regions = regions.join(", ");
    format!("Global table with name: {table} already exists with replicas in regions: {regions}.")
}

/// A change of a replica that the table does not have.
pub fn no_such_replica(region: &str) -> String {
    format!(
        "Update global table operation failed because one or more replicas were not part of the global table. \
         Please retry the request without these replicas: [{region}]."
    )
}

/// A request to a replica that is being added. The recordings end after "in region".
pub fn being_added(table: &str, region: &str) -> String {
    format!(
        "Create/Update/Delete of replica is not allowed while the replica is being added to table with name: \
         {table} in region {region}"
    )
}

/// DeleteTable on a replica that is being added.
pub fn delete_while_added(table: &str) -> String {
    in_use(format_args!("Table: {table} is being used."))
}

/// The removal of the last other replica before it has all writes.
pub fn writes_not_replicated(table: &str, region: &str) -> String {
    format!(
        "The last active replica of table: '{table}'  in region: '{region}' cannot be deleted until all writes \
         are replicated."
    )
}

/// The removal of a replica whose table is protected.
pub fn protected(table: &str, region: &str) -> String {
    format!(
        "Cannot delete table {table} in region {region} because it has deletion protection enabled. Disable \
         deletion protection first."
    )
}

/// A change of a replica's table class after too many.
pub fn too_many_class_changes(region: &str) -> String {
    format!(
        "Limit exceeded for replica in {region}. Updates to TableClass are limited to 2 times in 30 day(s)"
    )
}

/// A table that another server does not take, or that must not be sent to it.
pub fn not_among_tables(table: &str, region: &str) -> String {
    format!(
        "Table {table} is not among the tables that the settings of the peer for region {region} name: add it to \
         tables in [[peer]] on both servers."
    )
}

/// The source of a replica in another account is on another server.
pub fn source_on_another_server(region: &str) -> String {
    format!(
        "Region {region} is owned by another Keywright server: GlobalTableSourceArn must name a table of this one. \
         Add a replica there by UpdateTable with ReplicaUpdates at its server."
    )
}

/// A table of an account that the key of the peer is not of.
pub fn not_of_account(table: &str, region: &str, account: &str) -> String {
    format!(
        "Table {table} cannot have a replica in region {region}: the key of its peer is one for account {account}. \
         Tables of another account need a server of their own."
    )
}

/// A member cannot be made or removed now.
pub fn peer_unreachable(region: &str, cause: &str) -> String {
    format!("{}. Nothing was changed.", peer_unasked(region, cause))
}

/// Another server was to say something, and does not.
pub fn peer_unasked(region: &str, cause: &str) -> String {
    format!("The Keywright server of region {region} cannot be asked: {cause}")
}

/// A refusal of the server of a region, which says what it sees from there.
pub fn at_server(text: &str, region: &str) -> String {
    format!("{text} (At the Keywright server of {region}.)")
}

/// The server of a region does not know another region of a group as one of another server.
pub fn no_peer_there(server: &str, region: &str, has_other_key: bool) -> String {
    if has_other_key {
        return format!(
            "The [[peer]] for region {region} that the server of {server} has names another key than the one that \
             signs the requests of region {region}."
        );
    }
    format!("The server of {server} has no [[peer]] for region {region}: add it there, and start it again.")
}

/// A remote member whose server the settings do not name any more.
pub fn no_peer_here(region: &str) -> String {
    format!("no [[peer]] names the server of region {region}")
}

/// A member of a group is in a region that the joining server does not know.
pub fn unknown_peer(region: &str) -> String {
    format!("The group has a replica in region {region}, for which the server to be joined has no [[peer]].")
}

/// The settings of a table come from a release that is not understood.
pub const UNKNOWN_SETTINGS: &str =
    "The settings of the table are of a release that this server does not know.";

/// A comparison that another server asks for cannot be one of this table.
pub const UNKNOWN_COMPARISON: &str = "The comparison is none of the table's rows.";

/// A server speaks for a region that its key does not stand for.
pub fn not_of_peer(region: &str) -> String {
    format!("No [[peer]] for region {region} has the key that signed the request.")
}

/// A server was asked for a region that it does not own.
pub fn not_of_this_server(region: &str) -> String {
    format!("Region {region} is not owned by the Keywright server that was asked: see its [[peer]].")
}

/// A request is signed for a region that another server owns.
pub fn owned_elsewhere(region: &str) -> String {
    format!(
        "Region {region} is owned by another Keywright server, which [[peer]] names: send requests for it to that \
         server."
    )
}
