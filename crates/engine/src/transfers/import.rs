//! What an import's request asked for, as it is stored.

use keywright_semantics::request::parts::{
    AttributeDefinitionParts, BillingMode, CsvOptionsParts, GlobalSecondaryIndexParts, ImportTableParts,
    InputCompressionType, InputFormat, InputFormatOptionsParts, KeySchemaElementParts, KeyType,
    OnDemandThroughputParts, ProjectionParts, ProjectionType, ProvisionedThroughputParts,
    S3BucketSourceParts, ScalarAttributeType, SseSpecificationParts, SseType, TableCreationParametersParts,
    WarmThroughputParts,
};
use serde::{Deserialize, Serialize};

/// What was asked for, so that Describe answers it as it was sent. Its fields are stored; values of
/// enumerations are stored by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Import {
    pub bucket: String,
    pub bucket_owner: Option<String>,
    pub prefix: Option<String>,
    pub format: String,
    /// Whether the request had options of the format; then those of CSV.
    #[expect(clippy::option_option, reason = "options without those of CSV are options too")]
    pub options: Option<Option<Csv>>,
    pub compression: Option<String>,
    pub table: NewTable,
}

/// How CSV is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Csv {
    pub delimiter: Option<String>,
    pub header: Option<Vec<String>>,
}

type Units = (i64, i64);
type Ceilings = (Option<i64>, Option<i64>);

/// The table that an import makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewTable {
    name: String,
    /// Names with types.
    definitions: Vec<(String, String)>,
    /// Names with roles.
    key: Vec<(String, String)>,
    billing: Option<String>,
    units: Option<Units>,
    ceilings: Option<Ceilings>,
    encryption: Option<Encryption>,
    global_indexes: Option<Vec<GlobalIndex>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Encryption {
    is_on: Option<bool>,
    kind: Option<String>,
    key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct GlobalIndex {
    name: String,
    key: Vec<(String, String)>,
    projection: Option<String>,
    projected: Option<Vec<String>>,
    units: Option<Units>,
    ceilings: Option<Ceilings>,
    warm: Option<Ceilings>,
}

impl From<&ImportTableParts> for Import {
    fn from(parts: &ImportTableParts) -> Self {
        let source = &parts.s3_bucket_source;
        let csv =
            |csv: &CsvOptionsParts| Csv { delimiter: csv.delimiter.clone(), header: csv.header_list.clone() };
        Self {
            bucket: source.s3_bucket.clone(),
            bucket_owner: source.s3_bucket_owner.clone(),
            prefix: source.s3_key_prefix.clone(),
            format: parts.input_format.name().to_owned(),
            options: parts.input_format_options.as_ref().map(|options| options.csv.as_ref().map(csv)),
            compression: parts.input_compression_type.map(|kind| kind.name().to_owned()),
            table: (&parts.table_creation_parameters).into(),
        }
    }
}

impl Import {
    /// The request with this token; `None` if it has a value that this release does not know.
    pub(crate) fn parts(&self, token: &str) -> Option<ImportTableParts> {
        let csv =
            |csv: Csv| CsvOptionsParts { delimiter: csv.delimiter.clone(), header_list: csv.header.clone() };
        let options = self.options.clone();
        Some(ImportTableParts {
            client_token: Some(token.to_owned()),
            s3_bucket_source: S3BucketSourceParts {
                s3_bucket_owner: self.bucket_owner.clone(),
                s3_bucket: self.bucket.clone(),
                s3_key_prefix: self.prefix.clone(),
            },
            input_format: InputFormat::from_name(&self.format)?,
            input_format_options: options.map(|options| InputFormatOptionsParts { csv: options.map(csv) }),
            input_compression_type: known(self.compression.as_deref(), InputCompressionType::from_name)?,
            table_creation_parameters: self.table.parts()?,
        })
    }
}

/// A value that may be absent; `None` if it is there and not known.
#[expect(clippy::option_option, reason = "absent and unknown are two things")]
fn known<T>(name: Option<&str>, of: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    match name {
        None => Some(None),
        Some(name) => of(name).map(Some),
    }
}

fn key_of(parts: &[KeySchemaElementParts]) -> Vec<(String, String)> {
    parts.iter().map(|part| (part.attribute_name.clone(), part.key_type.name().to_owned())).collect()
}

fn key_parts(key: &[(String, String)]) -> Option<Vec<KeySchemaElementParts>> {
    let element = |(name, role): &(String, String)| {
        Some(KeySchemaElementParts { attribute_name: name.clone(), key_type: KeyType::from_name(role)? })
    };
    key.iter().map(element).collect()
}

const fn units_of(parts: &ProvisionedThroughputParts) -> Units {
    (parts.read_capacity_units, parts.write_capacity_units)
}

const fn unit_parts((read, write): Units) -> ProvisionedThroughputParts {
    ProvisionedThroughputParts { read_capacity_units: read, write_capacity_units: write }
}

const fn ceilings_of(parts: &OnDemandThroughputParts) -> Ceilings {
    (parts.max_read_request_units, parts.max_write_request_units)
}

const fn ceiling_parts((read, write): Ceilings) -> OnDemandThroughputParts {
    OnDemandThroughputParts { max_read_request_units: read, max_write_request_units: write }
}

impl From<&TableCreationParametersParts> for NewTable {
    fn from(parts: &TableCreationParametersParts) -> Self {
        let definition = |part: &AttributeDefinitionParts| {
            (part.attribute_name.clone(), part.attribute_type.name().to_owned())
        };
        let encryption = |sse: &SseSpecificationParts| Encryption {
            is_on: sse.enabled,
            kind: sse.sse_type.map(|kind| kind.name().to_owned()),
            key: sse.kms_master_key_id.clone(),
        };
        let indexes = parts.global_secondary_indexes.as_ref();
        Self {
            name: parts.table_name.clone(),
            definitions: parts.attribute_definitions.iter().map(definition).collect(),
            key: key_of(&parts.key_schema),
            billing: parts.billing_mode.map(|mode| mode.name().to_owned()),
            units: parts.provisioned_throughput.as_ref().map(units_of),
            ceilings: parts.on_demand_throughput.as_ref().map(ceilings_of),
            encryption: parts.sse_specification.as_ref().map(encryption),
            global_indexes: indexes.map(|indexes| indexes.iter().map(GlobalIndex::from).collect()),
        }
    }
}

impl NewTable {
    fn parts(&self) -> Option<TableCreationParametersParts> {
        let definition = |(name, of_type): &(String, String)| {
            let attribute_type = ScalarAttributeType::from_name(of_type)?;
            Some(AttributeDefinitionParts { attribute_name: name.clone(), attribute_type })
        };
        let encryption = |sse: &Encryption| {
            Some(SseSpecificationParts {
                enabled: sse.is_on,
                sse_type: known(sse.kind.as_deref(), SseType::from_name)?,
                kms_master_key_id: sse.key.clone(),
            })
        };
        let indexes =
            |indexes: &Vec<GlobalIndex>| indexes.iter().map(GlobalIndex::parts).collect::<Option<Vec<_>>>();
        Some(TableCreationParametersParts {
            table_name: self.name.clone(),
            attribute_definitions: self.definitions.iter().map(definition).collect::<Option<_>>()?,
            key_schema: key_parts(&self.key)?,
            billing_mode: known(self.billing.as_deref(), BillingMode::from_name)?,
            provisioned_throughput: self.units.map(unit_parts),
            on_demand_throughput: self.ceilings.map(ceiling_parts),
            sse_specification: match &self.encryption {
                None => None,
                Some(sse) => Some(encryption(sse)?),
            },
            global_secondary_indexes: match &self.global_indexes {
                None => None,
                Some(found) => Some(indexes(found)?),
            },
            ..TableCreationParametersParts::default()
        })
    }
}

impl From<&GlobalSecondaryIndexParts> for GlobalIndex {
    fn from(parts: &GlobalSecondaryIndexParts) -> Self {
        let warm = |warm: &WarmThroughputParts| (warm.read_units_per_second, warm.write_units_per_second);
        Self {
            name: parts.index_name.clone(),
            key: key_of(&parts.key_schema),
            projection: parts.projection.projection_type.map(|kind| kind.name().to_owned()),
            projected: parts.projection.non_key_attributes.clone(),
            units: parts.provisioned_throughput.as_ref().map(units_of),
            ceilings: parts.on_demand_throughput.as_ref().map(ceilings_of),
            warm: parts.warm_throughput.as_ref().map(warm),
        }
    }
}

impl GlobalIndex {
    fn parts(&self) -> Option<GlobalSecondaryIndexParts> {
        let warm = |(read, write)| WarmThroughputParts {
            read_units_per_second: read,
            write_units_per_second: write,
        };
        Some(GlobalSecondaryIndexParts {
            index_name: self.name.clone(),
            key_schema: key_parts(&self.key)?,
            projection: ProjectionParts {
                projection_type: known(self.projection.as_deref(), ProjectionType::from_name)?,
                non_key_attributes: self.projected.clone(),
            },
            provisioned_throughput: self.units.map(unit_parts),
            on_demand_throughput: self.ceilings.map(ceiling_parts),
            warm_throughput: self.warm.map(warm),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_as_it_was_sent() {
        let parts = ImportTableParts {
            client_token: Some("once".to_owned()),
            s3_bucket_source: S3BucketSourceParts {
                s3_bucket_owner: Some("123456789012".to_owned()),
                s3_bucket: "bucket".to_owned(),
                s3_key_prefix: Some("in/".to_owned()),
            },
            input_format: InputFormat::Csv,
            input_format_options: Some(InputFormatOptionsParts {
                csv: Some(CsvOptionsParts {
                    delimiter: Some(";".to_owned()),
                    header_list: Some(vec!["pk".to_owned()]),
                }),
            }),
            input_compression_type: Some(InputCompressionType::Zstd),
            table_creation_parameters: TableCreationParametersParts {
                table_name: "New".to_owned(),
                attribute_definitions: vec![AttributeDefinitionParts {
                    attribute_name: "pk".to_owned(),
                    attribute_type: ScalarAttributeType::N,
                }],
                key_schema: vec![KeySchemaElementParts {
                    attribute_name: "pk".to_owned(),
                    key_type: KeyType::Hash,
                }],
                billing_mode: Some(BillingMode::PayPerRequest),
                on_demand_throughput: Some(ceiling_parts((Some(1), None))),
                sse_specification: Some(SseSpecificationParts {
                    enabled: Some(true),
                    sse_type: Some(SseType::Kms),
                    kms_master_key_id: Some("key".to_owned()),
                }),
                global_secondary_indexes: Some(vec![GlobalSecondaryIndexParts {
                    index_name: "byPk".to_owned(),
                    key_schema: vec![KeySchemaElementParts {
                        attribute_name: "pk".to_owned(),
                        key_type: KeyType::Hash,
                    }],
                    projection: ProjectionParts {
                        projection_type: Some(ProjectionType::Include),
                        non_key_attributes: Some(vec!["a".to_owned()]),
                    },
                    provisioned_throughput: Some(unit_parts((5, 6))),
                    on_demand_throughput: Some(ceiling_parts((None, Some(7)))),
                    warm_throughput: Some(WarmThroughputParts {
                        read_units_per_second: Some(8),
                        write_units_per_second: Some(9),
                    }),
                }]),
                ..TableCreationParametersParts::default()
            },
        };
        assert_eq!(Import::from(&parts).parts("once"), Some(parts));
    }
}
