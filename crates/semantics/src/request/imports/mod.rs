//! ImportTable, DescribeImport and ListImports: their typed requests, and every rule that needs no table.

use super::create_table::CreateTable;
use super::fingerprint::Digest;
use super::parts::{
    AttributeDefinitionParts, CreateTableParts, DescribeImportParts, GlobalSecondaryIndexParts,
    ImportTableParts, InputCompressionType, KeySchemaElementParts, ListImportsParts, OnDemandThroughputParts,
    ProjectionParts, ProvisionedThroughputParts, TableCreationParametersParts, WarmThroughputParts,
};
use super::table_ref::{ArnScope, TableRef};
use super::transact_write_items::Fingerprint;
use super::transfer_arn::TransferArn;
use super::unserved::{Unserved, VECTOR_INDEXES, refuse};
use crate::error::{Error, ErrorKind};
use crate::limits::IMPORTS_PER_PAGE_MAX;
use crate::messages::{import, table};

/// The word in an import's ARN.
const KIND: &str = "import";

/// An ImportTable.
#[derive(Clone, Debug)]
pub struct ImportTable {
    /// What was asked. The compression is there; the owner of the bucket and the token may be absent.
    pub parts: ImportTableParts,
    /// The table that is to be made.
    pub creation: CreateTable,
    /// What a second request with the same token has to say too.
    pub fingerprint: Fingerprint,
}

impl ImportTable {
    /// Validates the parts: first the table, then the options of the format.
    pub fn validate(mut parts: ImportTableParts) -> Result<Self, Error> {
        let vector_indexes = parts.table_creation_parameters.vector_indexes.as_ref();
        refuse(&[Unserved {
            name: "TableCreationParameters.VectorIndexes",
            is_asked: vector_indexes.is_some_and(|indexes| !indexes.is_empty()),
            feature: VECTOR_INDEXES,
        }])?;
        let creation = CreateTable::validate(creation(&parts.table_creation_parameters))?;
        let has_csv_options =
            parts.input_format_options.as_ref().is_some_and(|options| options.csv.is_some());
        if has_csv_options && parts.input_format != super::parts::InputFormat::Csv {
            return Err(Error::validation(import::unsupported_options(parts.input_format.name())));
        }
        parts.input_compression_type.get_or_insert(InputCompressionType::None);
        let fingerprint = fingerprint(&parts);
        Ok(Self { parts, creation, fingerprint })
    }
}

/// The parts of a CreateTable that makes such a table.
fn creation(parts: &TableCreationParametersParts) -> CreateTableParts {
    CreateTableParts {
        attribute_definitions: Some(parts.attribute_definitions.clone()),
        table_name: parts.table_name.clone(),
        key_schema: Some(parts.key_schema.clone()),
        global_secondary_indexes: parts.global_secondary_indexes.clone(),
        billing_mode: parts.billing_mode,
        provisioned_throughput: parts.provisioned_throughput.clone(),
        sse_specification: parts.sse_specification.clone(),
        on_demand_throughput: parts.on_demand_throughput.clone(),
        vector_indexes: parts.vector_indexes.clone(),
        ..CreateTableParts::default()
    }
}

/// The hash of everything but the token.
fn fingerprint(parts: &ImportTableParts) -> Fingerprint {
    let mut digest = Digest::new();
    let text = |digest: &mut Digest, text: &String| digest.text(text);
    let source = &parts.s3_bucket_source;
    digest.text(&source.s3_bucket);
    digest.optional(source.s3_key_prefix.as_ref(), text);
    digest.optional(source.s3_bucket_owner.as_ref(), text);
    digest.text(parts.input_format.name());
    let csv = parts.input_format_options.as_ref().and_then(|options| options.csv.as_ref());
    digest.optional(csv, |digest, csv| {
        digest.optional(csv.delimiter.as_ref(), text);
        digest.optional(csv.header_list.as_ref(), add_names);
    });
    digest.optional(parts.input_compression_type.as_ref(), |digest, kind| digest.text(kind.name()));
    add_table(&mut digest, &parts.table_creation_parameters);
    Fingerprint(digest.finish())
}

fn add_table(digest: &mut Digest, table: &TableCreationParametersParts) {
    let text = |digest: &mut Digest, text: &String| digest.text(text);
    digest.text(&table.table_name);
    digest.count(table.attribute_definitions.len());
    for AttributeDefinitionParts { attribute_name, attribute_type } in &table.attribute_definitions {
        digest.text(attribute_name);
        digest.text(attribute_type.name());
    }
    add_key(digest, &table.key_schema);
    digest.optional(table.billing_mode.as_ref(), |digest, mode| digest.text(mode.name()));
    digest.optional(table.provisioned_throughput.as_ref(), add_units);
    digest.optional(table.on_demand_throughput.as_ref(), add_ceilings);
    digest.optional(table.sse_specification.as_ref(), |digest, sse| {
        digest.optional(sse.enabled.as_ref(), |digest, enabled| digest.tag(u8::from(*enabled)));
        digest.optional(sse.sse_type.as_ref(), |digest, kind| digest.text(kind.name()));
        digest.optional(sse.kms_master_key_id.as_ref(), text);
    });
    digest.optional(table.global_secondary_indexes.as_ref(), |digest, indexes| {
        digest.count(indexes.len());
        for index in indexes {
            add_index(digest, index);
        }
    });
}

fn add_key(digest: &mut Digest, key: &[KeySchemaElementParts]) {
    digest.count(key.len());
    for KeySchemaElementParts { attribute_name, key_type } in key {
        digest.text(attribute_name);
        digest.text(key_type.name());
    }
}

fn add_names(digest: &mut Digest, names: &Vec<String>) {
    digest.count(names.len());
    for name in names {
        digest.text(name);
    }
}

fn add_number(digest: &mut Digest, number: i64) {
    digest.bytes(&number.to_be_bytes());
}

/// A number that may be absent.
fn add_if(digest: &mut Digest, number: Option<i64>) {
    digest.optional(number.as_ref(), |digest, number| add_number(digest, *number));
}

fn add_units(digest: &mut Digest, units: &ProvisionedThroughputParts) {
    add_number(digest, units.read_capacity_units);
    add_number(digest, units.write_capacity_units);
}

fn add_ceilings(digest: &mut Digest, ceilings: &OnDemandThroughputParts) {
    add_if(digest, ceilings.max_read_request_units);
    add_if(digest, ceilings.max_write_request_units);
}

fn add_index(digest: &mut Digest, index: &GlobalSecondaryIndexParts) {
    digest.text(&index.index_name);
    add_key(digest, &index.key_schema);
    let ProjectionParts { projection_type, non_key_attributes } = &index.projection;
    digest.optional(projection_type.as_ref(), |digest, kind| digest.text(kind.name()));
    digest.optional(non_key_attributes.as_ref(), add_names);
    digest.optional(index.provisioned_throughput.as_ref(), add_units);
    digest.optional(index.on_demand_throughput.as_ref(), add_ceilings);
    digest.optional(index.warm_throughput.as_ref(), |digest, warm: &WarmThroughputParts| {
        add_if(digest, warm.read_units_per_second);
        add_if(digest, warm.write_units_per_second);
    });
}

/// A DescribeImport.
#[derive(Clone, Debug)]
pub struct DescribeImport {
    /// The import.
    pub import: TransferArn,
}

impl DescribeImport {
    /// Validates the parts.
    pub fn validate(parts: &DescribeImportParts) -> Result<Self, Error> {
        Ok(Self { import: import_of_arn(&parts.import_arn)? })
    }
}

/// The import of an ARN.
pub fn import_of_arn(arn: &str) -> Result<TransferArn, Error> {
    TransferArn::parse(arn, KIND).ok_or_else(|| Error::validation(import::INVALID_ARN))
}

/// Checks that an import is one of the caller's region and account. As with exports, another region has no
/// such import (inferred).
pub fn check_caller(named: &TransferArn, caller: &ArnScope) -> Result<(), Error> {
    if named.scope.region != caller.region {
        return Err(Error::new(ErrorKind::ImportNotFound, import::ARN_OF_OTHER_REGION));
    }
    if named.scope.account != caller.account {
        return Err(Error::new(ErrorKind::AccessDenied, table::ACCESS_DENIED));
    }
    Ok(())
}

/// A ListImports.
#[derive(Clone, Debug)]
pub struct ListImports {
    /// Only imports into this table.
    pub table: Option<TableRef>,
    /// Imports of a page.
    pub limit: usize,
    /// Where the page begins, as an earlier response said.
    pub token: Option<String>,
}

impl ListImports {
    /// Validates the parts, whose page size the shape check has bounded.
    pub fn validate(parts: ListImportsParts) -> Result<Self, Error> {
        let limit = parts.page_size.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(IMPORTS_PER_PAGE_MAX);
        assert!((1..=IMPORTS_PER_PAGE_MAX).contains(&limit), "the shape check bounds the limit");
        let table = parts.table_arn.as_deref().map(table_of_arn).transpose()?;
        Ok(Self { table, limit, token: parts.next_token })
    }
}

/// The table of an ARN: a name is none.
fn table_of_arn(arn: &str) -> Result<TableRef, Error> {
    let table = TableRef::parse(arn).ok().filter(|table| table.arn_scope().is_some());
    table.ok_or_else(|| Error::validation(table::invalid(import::NOT_A_TABLE_ARN)))
}

/// No import has this ARN.
pub fn import_not_found(arn: &str) -> Error {
    Error::new(ErrorKind::ImportNotFound, import::not_found(arn))
}
