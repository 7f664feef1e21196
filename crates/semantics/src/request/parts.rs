//! The parts of each request: what a client wrote, shape-checked, not yet understood.
//!
//! One struct for each structure of the public service model, its members in the model's order. A member the model
//! requires is plain, any other is an `Option`. Nothing here has been checked beyond its shape: the `sense` constructors
//! in the sibling modules turn parts into typed requests. This file knows neither JSON nor tables.

use crate::value::{AttributeValue, ValueFault};

/// One attribute value as the client wrote it, or the first thing wrong with it. Which fault is reported when is a
/// matter of the order of checks, so the fault travels with the value.
pub type ValuePart = Result<AttributeValue, ValueFault>;

/// A map from attribute name (or placeholder) to value, in the client's order; a repeated name keeps its last value.
pub type AttributeMapPart = Vec<(String, ValuePart)>;

/// `AttributeAction` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeAction {
    Add,
    Put,
    Delete,
}

impl AttributeAction {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Add, Self::Put, Self::Delete];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "ADD",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `BillingMode` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BillingMode {
    Provisioned,
    PayPerRequest,
}

impl BillingMode {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Provisioned, Self::PayPerRequest];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provisioned => "PROVISIONED",
            Self::PayPerRequest => "PAY_PER_REQUEST",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ComparisonOperator` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    Eq,
    Ne,
    In,
    Le,
    Lt,
    Ge,
    Gt,
    Between,
    NotNull,
    Null,
    Contains,
    NotContains,
    BeginsWith,
}

impl ComparisonOperator {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[
        Self::Eq,
        Self::Ne,
        Self::In,
        Self::Le,
        Self::Lt,
        Self::Ge,
        Self::Gt,
        Self::Between,
        Self::NotNull,
        Self::Null,
        Self::Contains,
        Self::NotContains,
        Self::BeginsWith,
    ];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eq => "EQ",
            Self::Ne => "NE",
            Self::In => "IN",
            Self::Le => "LE",
            Self::Lt => "LT",
            Self::Ge => "GE",
            Self::Gt => "GT",
            Self::Between => "BETWEEN",
            Self::NotNull => "NOT_NULL",
            Self::Null => "NULL",
            Self::Contains => "CONTAINS",
            Self::NotContains => "NOT_CONTAINS",
            Self::BeginsWith => "BEGINS_WITH",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ConditionalOperator` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionalOperator {
    And,
    Or,
}

impl ConditionalOperator {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::And, Self::Or];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::And => "AND",
            Self::Or => "OR",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `GlobalTableSettingsReplicationMode` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GlobalTableSettingsReplicationMode {
    Enabled,
    Disabled,
    EnabledWithOverrides,
}

impl GlobalTableSettingsReplicationMode {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Enabled, Self::Disabled, Self::EnabledWithOverrides];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enabled => "ENABLED",
            Self::Disabled => "DISABLED",
            Self::EnabledWithOverrides => "ENABLED_WITH_OVERRIDES",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `KeyType` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    Hash,
    Range,
}

impl KeyType {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Hash, Self::Range];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hash => "HASH",
            Self::Range => "RANGE",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `MultiRegionConsistency` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MultiRegionConsistency {
    Eventual,
    Strong,
}

impl MultiRegionConsistency {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Eventual, Self::Strong];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eventual => "EVENTUAL",
            Self::Strong => "STRONG",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ProjectionType` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProjectionType {
    All,
    KeysOnly,
    Include,
}

impl ProjectionType {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::All, Self::KeysOnly, Self::Include];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::KeysOnly => "KEYS_ONLY",
            Self::Include => "INCLUDE",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ReturnConsumedCapacity` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReturnConsumedCapacity {
    Indexes,
    Total,
    None,
}

impl ReturnConsumedCapacity {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Indexes, Self::Total, Self::None];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Indexes => "INDEXES",
            Self::Total => "TOTAL",
            Self::None => "NONE",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ReturnItemCollectionMetrics` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReturnItemCollectionMetrics {
    Size,
    None,
}

impl ReturnItemCollectionMetrics {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Size, Self::None];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Size => "SIZE",
            Self::None => "NONE",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ReturnValue` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReturnValue {
    None,
    AllOld,
    UpdatedOld,
    AllNew,
    UpdatedNew,
}

impl ReturnValue {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] =
        &[Self::None, Self::AllOld, Self::UpdatedOld, Self::AllNew, Self::UpdatedNew];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::AllOld => "ALL_OLD",
            Self::UpdatedOld => "UPDATED_OLD",
            Self::AllNew => "ALL_NEW",
            Self::UpdatedNew => "UPDATED_NEW",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ReturnValuesOnConditionCheckFailure` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReturnValuesOnConditionCheckFailure {
    AllOld,
    None,
}

impl ReturnValuesOnConditionCheckFailure {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::AllOld, Self::None];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllOld => "ALL_OLD",
            Self::None => "NONE",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `SSEType` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SseType {
    Aes256,
    Kms,
}

impl SseType {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Aes256, Self::Kms];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes256 => "AES256",
            Self::Kms => "KMS",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `ScalarAttributeType` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarAttributeType {
    S,
    N,
    B,
}

impl ScalarAttributeType {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::S, Self::N, Self::B];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `Select` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Select {
    AllAttributes,
    AllProjectedAttributes,
    SpecificAttributes,
    Count,
}

impl Select {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] =
        &[Self::AllAttributes, Self::AllProjectedAttributes, Self::SpecificAttributes, Self::Count];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllAttributes => "ALL_ATTRIBUTES",
            Self::AllProjectedAttributes => "ALL_PROJECTED_ATTRIBUTES",
            Self::SpecificAttributes => "SPECIFIC_ATTRIBUTES",
            Self::Count => "COUNT",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `StreamViewType` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamViewType {
    NewImage,
    OldImage,
    NewAndOldImages,
    KeysOnly,
}

impl StreamViewType {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::NewImage, Self::OldImage, Self::NewAndOldImages, Self::KeysOnly];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewImage => "NEW_IMAGE",
            Self::OldImage => "OLD_IMAGE",
            Self::NewAndOldImages => "NEW_AND_OLD_IMAGES",
            Self::KeysOnly => "KEYS_ONLY",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `TableClass` of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableClass {
    Standard,
    StandardInfrequentAccess,
}

impl TableClass {
    /// All values, in the service model's order.
    pub const ALL: &'static [Self] = &[Self::Standard, Self::StandardInfrequentAccess];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "STANDARD",
            Self::StandardInfrequentAccess => "STANDARD_INFREQUENT_ACCESS",
        }
    }

    /// The value of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// `AttributeDefinition` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeDefinitionParts {
    pub attribute_name: String,
    pub attribute_type: ScalarAttributeType,
}

/// `AttributeValueUpdate` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeValueUpdateParts {
    pub value: Option<ValuePart>,
    pub action: Option<AttributeAction>,
}

/// `BatchGetItemInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchGetItemParts {
    pub request_items: Vec<(String, KeysAndAttributesParts)>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
}

/// `BatchWriteItemInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchWriteItemParts {
    pub request_items: Vec<(String, Vec<WriteRequestParts>)>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
}

/// `Condition` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionParts {
    pub attribute_value_list: Option<Vec<ValuePart>>,
    pub comparison_operator: ComparisonOperator,
}

/// `CreateGlobalSecondaryIndexAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateGlobalSecondaryIndexActionParts {
    pub index_name: String,
    pub key_schema: Vec<KeySchemaElementParts>,
    pub projection: ProjectionParts,
    pub provisioned_throughput: Option<ProvisionedThroughputParts>,
    pub on_demand_throughput: Option<OnDemandThroughputParts>,
    pub warm_throughput: Option<WarmThroughputParts>,
}

/// `CreateGlobalTableWitnessGroupMemberAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateGlobalTableWitnessGroupMemberActionParts {
    pub region_name: String,
}

/// `CreateReplicationGroupMemberAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateReplicationGroupMemberActionParts {
    pub region_name: String,
    pub kms_master_key_id: Option<String>,
    pub provisioned_throughput_override: Option<ProvisionedThroughputOverrideParts>,
    pub on_demand_throughput_override: Option<OnDemandThroughputOverrideParts>,
    pub global_secondary_indexes: Option<Vec<ReplicaGlobalSecondaryIndexParts>>,
    pub table_class_override: Option<TableClass>,
}

/// `CreateTableInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableParts {
    pub attribute_definitions: Option<Vec<AttributeDefinitionParts>>,
    pub table_name: String,
    pub key_schema: Option<Vec<KeySchemaElementParts>>,
    pub local_secondary_indexes: Option<Vec<LocalSecondaryIndexParts>>,
    pub global_secondary_indexes: Option<Vec<GlobalSecondaryIndexParts>>,
    pub billing_mode: Option<BillingMode>,
    pub provisioned_throughput: Option<ProvisionedThroughputParts>,
    pub stream_specification: Option<StreamSpecificationParts>,
    pub sse_specification: Option<SseSpecificationParts>,
    pub tags: Option<Vec<TagParts>>,
    pub table_class: Option<TableClass>,
    pub deletion_protection_enabled: Option<bool>,
    pub warm_throughput: Option<WarmThroughputParts>,
    pub resource_policy: Option<String>,
    pub on_demand_throughput: Option<OnDemandThroughputParts>,
    pub global_table_source_arn: Option<String>,
    pub global_table_settings_replication_mode: Option<GlobalTableSettingsReplicationMode>,
}

/// `DeleteGlobalSecondaryIndexAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteGlobalSecondaryIndexActionParts {
    pub index_name: String,
}

/// `DeleteGlobalTableWitnessGroupMemberAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteGlobalTableWitnessGroupMemberActionParts {
    pub region_name: String,
}

/// `DeleteItemInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteItemParts {
    pub table_name: String,
    pub key: AttributeMapPart,
    pub expected: Option<Vec<(String, ExpectedAttributeValueParts)>>,
    pub conditional_operator: Option<ConditionalOperator>,
    pub return_values: Option<ReturnValue>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
    pub condition_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// `DeleteReplicationGroupMemberAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteReplicationGroupMemberActionParts {
    pub region_name: String,
}

/// `DeleteRequest` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteRequestParts {
    pub key: AttributeMapPart,
}

/// `DeleteTableInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteTableParts {
    pub table_name: String,
}

/// `DescribeEndpointsRequest` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeEndpointsParts {}

/// `DescribeLimitsInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeLimitsParts {}

/// `DescribeTableInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeTableParts {
    pub table_name: String,
}

/// `ExpectedAttributeValue` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedAttributeValueParts {
    pub value: Option<ValuePart>,
    pub exists: Option<bool>,
    pub comparison_operator: Option<ComparisonOperator>,
    pub attribute_value_list: Option<Vec<ValuePart>>,
}

/// `GetItemInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct GetItemParts {
    pub table_name: String,
    pub key: AttributeMapPart,
    pub attributes_to_get: Option<Vec<String>>,
    pub consistent_read: Option<bool>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub projection_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
}

/// `GlobalSecondaryIndex` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalSecondaryIndexParts {
    pub index_name: String,
    pub key_schema: Vec<KeySchemaElementParts>,
    pub projection: ProjectionParts,
    pub provisioned_throughput: Option<ProvisionedThroughputParts>,
    pub on_demand_throughput: Option<OnDemandThroughputParts>,
    pub warm_throughput: Option<WarmThroughputParts>,
}

/// `GlobalSecondaryIndexUpdate` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalSecondaryIndexUpdateParts {
    pub update: Option<UpdateGlobalSecondaryIndexActionParts>,
    pub create: Option<CreateGlobalSecondaryIndexActionParts>,
    pub delete: Option<DeleteGlobalSecondaryIndexActionParts>,
}

/// `GlobalTableWitnessGroupUpdate` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalTableWitnessGroupUpdateParts {
    pub create: Option<CreateGlobalTableWitnessGroupMemberActionParts>,
    pub delete: Option<DeleteGlobalTableWitnessGroupMemberActionParts>,
}

/// `KeySchemaElement` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySchemaElementParts {
    pub attribute_name: String,
    pub key_type: KeyType,
}

/// `KeysAndAttributes` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct KeysAndAttributesParts {
    pub keys: Vec<AttributeMapPart>,
    pub attributes_to_get: Option<Vec<String>>,
    pub consistent_read: Option<bool>,
    pub projection_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
}

/// `ListTablesInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ListTablesParts {
    pub exclusive_start_table_name: Option<String>,
    pub limit: Option<i64>,
}

/// `ListTagsOfResourceInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ListTagsOfResourceParts {
    pub resource_arn: String,
    pub next_token: Option<String>,
}

/// `LocalSecondaryIndex` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalSecondaryIndexParts {
    pub index_name: String,
    pub key_schema: Vec<KeySchemaElementParts>,
    pub projection: ProjectionParts,
}

/// `OnDemandThroughputOverride` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct OnDemandThroughputOverrideParts {
    pub max_read_request_units: Option<i64>,
}

/// `OnDemandThroughput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct OnDemandThroughputParts {
    pub max_read_request_units: Option<i64>,
    pub max_write_request_units: Option<i64>,
}

/// `Projection` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionParts {
    pub projection_type: Option<ProjectionType>,
    pub non_key_attributes: Option<Vec<String>>,
}

/// `ProvisionedThroughputOverride` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionedThroughputOverrideParts {
    pub read_capacity_units: Option<i64>,
}

/// `ProvisionedThroughput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionedThroughputParts {
    pub read_capacity_units: i64,
    pub write_capacity_units: i64,
}

/// `PutItemInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct PutItemParts {
    pub table_name: String,
    pub item: AttributeMapPart,
    pub expected: Option<Vec<(String, ExpectedAttributeValueParts)>>,
    pub return_values: Option<ReturnValue>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
    pub conditional_operator: Option<ConditionalOperator>,
    pub condition_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// `PutRequest` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct PutRequestParts {
    pub item: AttributeMapPart,
}

/// `QueryInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryParts {
    pub table_name: String,
    pub index_name: Option<String>,
    pub select: Option<Select>,
    pub attributes_to_get: Option<Vec<String>>,
    pub limit: Option<i64>,
    pub consistent_read: Option<bool>,
    pub key_conditions: Option<Vec<(String, ConditionParts)>>,
    pub query_filter: Option<Vec<(String, ConditionParts)>>,
    pub conditional_operator: Option<ConditionalOperator>,
    pub scan_index_forward: Option<bool>,
    pub exclusive_start_key: Option<AttributeMapPart>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub projection_expression: Option<String>,
    pub filter_expression: Option<String>,
    pub key_condition_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
}

/// `ReplicaGlobalSecondaryIndex` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaGlobalSecondaryIndexParts {
    pub index_name: String,
    pub provisioned_throughput_override: Option<ProvisionedThroughputOverrideParts>,
    pub on_demand_throughput_override: Option<OnDemandThroughputOverrideParts>,
}

/// `ReplicationGroupUpdate` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationGroupUpdateParts {
    pub create: Option<CreateReplicationGroupMemberActionParts>,
    pub update: Option<UpdateReplicationGroupMemberActionParts>,
    pub delete: Option<DeleteReplicationGroupMemberActionParts>,
}

/// `ScanInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanParts {
    pub table_name: String,
    pub index_name: Option<String>,
    pub attributes_to_get: Option<Vec<String>>,
    pub limit: Option<i64>,
    pub select: Option<Select>,
    pub scan_filter: Option<Vec<(String, ConditionParts)>>,
    pub conditional_operator: Option<ConditionalOperator>,
    pub exclusive_start_key: Option<AttributeMapPart>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub total_segments: Option<i64>,
    pub segment: Option<i64>,
    pub projection_expression: Option<String>,
    pub filter_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub consistent_read: Option<bool>,
}

/// `SSESpecification` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct SseSpecificationParts {
    pub enabled: Option<bool>,
    pub sse_type: Option<SseType>,
    pub kms_master_key_id: Option<String>,
}

/// `StreamSpecification` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSpecificationParts {
    pub stream_enabled: bool,
    pub stream_view_type: Option<StreamViewType>,
}

/// `Tag` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TagParts {
    pub key: String,
    pub value: String,
}

/// `TagResourceInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TagResourceParts {
    pub resource_arn: String,
    pub tags: Vec<TagParts>,
}

/// `ConditionCheck` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactConditionCheckParts {
    pub key: AttributeMapPart,
    pub table_name: String,
    pub condition_expression: String,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// `Delete` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactDeleteParts {
    pub key: AttributeMapPart,
    pub table_name: String,
    pub condition_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// `TransactGetItem` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactGetItemParts {
    pub get: TransactGetParts,
}

/// `TransactGetItemsInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactGetItemsParts {
    pub transact_items: Vec<TransactGetItemParts>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
}

/// `Get` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactGetParts {
    pub key: AttributeMapPart,
    pub table_name: String,
    pub projection_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
}

/// `Put` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactPutParts {
    pub item: AttributeMapPart,
    pub table_name: String,
    pub condition_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// `Update` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactUpdateParts {
    pub key: AttributeMapPart,
    pub update_expression: String,
    pub table_name: String,
    pub condition_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// `TransactWriteItem` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactWriteItemParts {
    pub condition_check: Option<TransactConditionCheckParts>,
    pub put: Option<TransactPutParts>,
    pub delete: Option<TransactDeleteParts>,
    pub update: Option<TransactUpdateParts>,
}

/// `TransactWriteItemsInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactWriteItemsParts {
    pub transact_items: Vec<TransactWriteItemParts>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
    pub client_request_token: Option<String>,
}

/// `UntagResourceInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct UntagResourceParts {
    pub resource_arn: String,
    pub tag_keys: Vec<String>,
}

/// `UpdateGlobalSecondaryIndexAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateGlobalSecondaryIndexActionParts {
    pub index_name: String,
    pub provisioned_throughput: Option<ProvisionedThroughputParts>,
    pub on_demand_throughput: Option<OnDemandThroughputParts>,
    pub warm_throughput: Option<WarmThroughputParts>,
}

/// `UpdateItemInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateItemParts {
    pub table_name: String,
    pub key: AttributeMapPart,
    pub attribute_updates: Option<Vec<(String, AttributeValueUpdateParts)>>,
    pub expected: Option<Vec<(String, ExpectedAttributeValueParts)>>,
    pub conditional_operator: Option<ConditionalOperator>,
    pub return_values: Option<ReturnValue>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
    pub update_expression: Option<String>,
    pub condition_expression: Option<String>,
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    pub expression_attribute_values: Option<AttributeMapPart>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// `UpdateReplicationGroupMemberAction` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateReplicationGroupMemberActionParts {
    pub region_name: String,
    pub kms_master_key_id: Option<String>,
    pub provisioned_throughput_override: Option<ProvisionedThroughputOverrideParts>,
    pub on_demand_throughput_override: Option<OnDemandThroughputOverrideParts>,
    pub global_secondary_indexes: Option<Vec<ReplicaGlobalSecondaryIndexParts>>,
    pub table_class_override: Option<TableClass>,
}

/// `UpdateTableInput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateTableParts {
    pub attribute_definitions: Option<Vec<AttributeDefinitionParts>>,
    pub table_name: String,
    pub billing_mode: Option<BillingMode>,
    pub provisioned_throughput: Option<ProvisionedThroughputParts>,
    pub global_secondary_index_updates: Option<Vec<GlobalSecondaryIndexUpdateParts>>,
    pub stream_specification: Option<StreamSpecificationParts>,
    pub sse_specification: Option<SseSpecificationParts>,
    pub replica_updates: Option<Vec<ReplicationGroupUpdateParts>>,
    pub table_class: Option<TableClass>,
    pub deletion_protection_enabled: Option<bool>,
    pub multi_region_consistency: Option<MultiRegionConsistency>,
    pub global_table_witness_updates: Option<Vec<GlobalTableWitnessGroupUpdateParts>>,
    pub on_demand_throughput: Option<OnDemandThroughputParts>,
    pub warm_throughput: Option<WarmThroughputParts>,
    pub global_table_settings_replication_mode: Option<GlobalTableSettingsReplicationMode>,
}

/// `WarmThroughput` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmThroughputParts {
    pub read_units_per_second: Option<i64>,
    pub write_units_per_second: Option<i64>,
}

/// `WriteRequest` of the service model.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteRequestParts {
    pub put_request: Option<PutRequestParts>,
    pub delete_request: Option<DeleteRequestParts>,
}
