//! Imports.

use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::imports::{check_caller, import_of_arn};
use keywright_semantics::request::parts::{
    AttributeDefinitionParts, BillingMode, CsvOptionsParts, ImportTableParts, InputCompressionType,
    InputFormat, InputFormatOptionsParts, KeySchemaElementParts, KeyType, ListImportsParts,
    S3BucketSourceParts, ScalarAttributeType, TableCreationParametersParts,
};
use keywright_semantics::request::{ArnScope, ImportTable, ListImports};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Shop/import/01791504762511-2779fadd";

fn parts() -> ImportTableParts {
    ImportTableParts {
        client_token: None,
        s3_bucket_source: S3BucketSourceParts {
            s3_bucket: "bucket".to_owned(),
            ..S3BucketSourceParts::default()
        },
        input_format: InputFormat::DynamodbJson,
        input_format_options: None,
        input_compression_type: None,
        table_creation_parameters: TableCreationParametersParts {
            table_name: "Shop".to_owned(),
            attribute_definitions: vec![AttributeDefinitionParts {
                attribute_name: "id".to_owned(),
                attribute_type: ScalarAttributeType::S,
            }],
            key_schema: vec![KeySchemaElementParts {
                attribute_name: "id".to_owned(),
                key_type: KeyType::Hash,
            }],
            billing_mode: Some(BillingMode::PayPerRequest),
            ..TableCreationParametersParts::default()
        },
    }
}

fn refused(parts: ImportTableParts) -> String {
    ImportTable::validate(parts).expect_err("it is refused").message
}

#[test]
fn the_table_is_checked_before_the_options_of_the_format() {
    let csv = Some(InputFormatOptionsParts { csv: Some(CsvOptionsParts::default()) });
    let mut both = ImportTableParts { input_format_options: csv.clone(), ..parts() };
    both.table_creation_parameters.billing_mode = None;
    assert_eq!(
        refused(both),
        "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be \
         specified when BillingMode is PROVISIONED"
    );
    for (format, name) in [(InputFormat::DynamodbJson, "DYNAMODB_JSON"), (InputFormat::Ion, "ION")] {
        assert_eq!(
            refused(ImportTableParts { input_format: format, input_format_options: csv.clone(), ..parts() }),
            format!("Invalid Request: Unsupported InputFormatOptions for the given input format: {name}.")
        );
    }
    let of_csv = ImportTableParts { input_format: InputFormat::Csv, input_format_options: csv, ..parts() };
    assert!(ImportTable::validate(of_csv).is_ok());
}

#[test]
fn all_but_the_token_makes_two_requests_the_same_and_no_compression_is_one() {
    let fingerprint = |parts| ImportTable::validate(parts).expect("it is valid").fingerprint;
    let same = ImportTableParts {
        client_token: Some("other".to_owned()),
        input_compression_type: Some(InputCompressionType::None),
        ..parts()
    };
    assert_eq!(fingerprint(same), fingerprint(parts()));
    let mut prefix = parts();
    prefix.s3_bucket_source.s3_key_prefix = Some("in/".to_owned());
    let mut name = parts();
    name.table_creation_parameters.table_name = "Other".to_owned();
    let format = ImportTableParts { input_format: InputFormat::Ion, ..parts() };
    for other in [prefix, name, format] {
        assert_ne!(fingerprint(other), fingerprint(parts()));
    }
}

#[test]
fn an_import_is_named_by_an_arn_of_the_caller_s_region_and_account() {
    let import = import_of_arn(ARN).expect("it is an ARN");
    let scope =
        |region: &str, account: &str| ArnScope { region: region.to_owned(), account: account.to_owned() };
    assert!(check_caller(&import, &scope("us-east-1", "123456789012")).is_ok());
    let other =
        |region, account| check_caller(&import, &scope(region, account)).expect_err("it is another's").kind;
    assert_eq!(other("eu-west-1", "123456789012"), ErrorKind::ImportNotFound);
    assert_eq!(other("us-east-1", "1"), ErrorKind::AccessDenied);
    for text in ["x", "arn:aws:dynamodb:us-east-1:123456789012:table/Shop/export/01791504762511-2779fadd"] {
        assert_eq!(import_of_arn(text).expect_err("it is none").message, "Invalid Import ARN");
    }
}

#[test]
fn a_list_is_of_the_table_of_an_arn_and_has_twenty_five_imports_on_a_page() {
    let list = |arn: &str| {
        ListImports::validate(ListImportsParts {
            table_arn: Some(arn.to_owned()),
            ..ListImportsParts::default()
        })
    };
    assert_eq!(
        list("Shop").expect_err("it is a name").message,
        "One or more parameter values were invalid: tableArn is not a valid ARN"
    );
    let listed = list("arn:aws:dynamodb:us-east-1:123456789012:table/Shop").expect("it is an ARN");
    assert_eq!((listed.limit, listed.table.map(|table| table.name)), (25, Some("Shop".to_owned())));
}
