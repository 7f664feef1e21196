//! Clients of the server, with and without encryption, and the record of what they send.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use aws_db_esdk::DynamoDbTablesEncryptionConfig;
use aws_db_esdk::dynamodb::types::DynamoDbTableEncryptionConfig;
use aws_db_esdk::intercept::DbEsdkInterceptor;
use aws_db_esdk::material_providers::client as providers;
use aws_db_esdk::material_providers::types::AesWrappingAlg;
use aws_db_esdk::material_providers::types::keyring::KeyringRef;
use aws_db_esdk::material_providers::types::material_providers_config::MaterialProvidersConfig;
use aws_sdk_dynamodb::config::interceptors::{
    AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{
    BehaviorVersion, ConfigBag, Credentials, Intercept, Region, RuntimeComponents,
};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    Projection, ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
};
use aws_sdk_dynamodb::{Client, Config};

pub type Item = HashMap<String, AttributeValue>;
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

pub struct Connection {
    endpoint: String,
    sent: PathBuf,
    /// Sees what the server holds.
    pub plain: Client,
}

impl Connection {
    pub fn new(endpoint: String, sent: PathBuf) -> Self {
        let plain = Client::from_conf(config(&endpoint, &sent).build());
        Self { endpoint, sent, plain }
    }

    /// A client that encrypts and decrypts the items of one table.
    pub fn encrypting(&self, table: &str, of_table: DynamoDbTableEncryptionConfig) -> Result<Client, Fault> {
        let tables = DynamoDbTablesEncryptionConfig::builder()
            .table_encryption_configs(HashMap::from([(table.to_owned(), of_table)]))
            .build()?;
        let config = config(&self.endpoint, &self.sent).interceptor(DbEsdkInterceptor::new(tables)?);
        Ok(Client::from_conf(config.build()))
    }

    /// A table with the keys pk (S) and sk (N), a stream and these indexes, each with all attributes.
    pub async fn create_table(&self, name: &str, indexes: &[(&str, [&str; 2])]) -> Result<(), Fault> {
        let mut texts: Vec<&str> = indexes.iter().flat_map(|(_, keys)| *keys).chain(["pk"]).collect();
        texts.retain(|key| *key != "sk");
        let attribute = |name: &str, kind| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
        };
        let mut attributes = vec![attribute("sk", ScalarAttributeType::N)?];
        for text in texts {
            attributes.push(attribute(text, ScalarAttributeType::S)?);
        }
        let mut table = self
            .plain
            .create_table()
            .table_name(name)
            .set_attribute_definitions(Some(attributes))
            .set_key_schema(Some(schema(["pk", "sk"])?))
            .billing_mode(BillingMode::PayPerRequest)
            .stream_specification(
                StreamSpecification::builder()
                    .stream_enabled(true)
                    .stream_view_type(StreamViewType::NewAndOldImages)
                    .build()?,
            );
        for (index, keys) in indexes {
            let all = Projection::builder().projection_type(ProjectionType::All).build();
            table = table.global_secondary_indexes(
                GlobalSecondaryIndex::builder()
                    .index_name(*index)
                    .set_key_schema(Some(schema(*keys)?))
                    .projection(all)
                    .build()?,
            );
        }
        table.send().await?;
        Ok(())
    }
}

fn schema([partition, sort]: [&str; 2]) -> Result<Vec<KeySchemaElement>, Fault> {
    let key = |name, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    Ok(vec![key(partition, KeyType::Hash)?, key(sort, KeyType::Range)?])
}

pub fn credentials() -> Credentials {
    Credentials::new("local", "local", None, None, "test")
}

fn config(endpoint: &str, sent: &std::path::Path) -> aws_sdk_dynamodb::config::Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(credentials())
        .interceptor(Recorder { sent: sent.to_owned(), pending: Mutex::default() })
}

pub fn materials() -> Result<providers::Client, Fault> {
    Ok(providers::Client::from_conf(MaterialProvidersConfig::builder().build()?)?)
}

/// Wraps data keys with a key that the client holds itself. The client for Java has the same.
pub async fn aes_keyring() -> Result<KeyringRef, Fault> {
    let keyring = materials()?
        .create_raw_aes_keyring()
        .key_name("of the test")
        .key_namespace("keywright")
        .wrapping_key((0..32).collect::<Vec<u8>>())
        .wrapping_alg(AesWrappingAlg::AlgAes256GcmIv12Tag16)
        .send()
        .await?;
    Ok(keyring)
}

pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub fn item<const SIZE: usize>(attributes: [(&str, AttributeValue); SIZE]) -> Item {
    attributes.map(|(name, value)| (name.to_owned(), value)).into()
}

pub fn key(item: &Item) -> Item {
    ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone())).into()
}

/// The elements of sets have no order.
fn in_order(value: &AttributeValue) -> AttributeValue {
    let mut value = value.clone();
    match &mut value {
        AttributeValue::Ss(elements) | AttributeValue::Ns(elements) => elements.sort(),
        AttributeValue::Bs(elements) => elements.sort_by(|a, b| a.as_ref().cmp(b.as_ref())),
        AttributeValue::M(attributes) => *attributes = item_in_order(attributes),
        _ => {}
    }
    value
}

fn item_in_order(item: &Item) -> Item {
    item.iter().map(|(name, value)| (name.clone(), in_order(value))).collect()
}

pub fn assert_same(expected: &Item, found: &Item) {
    assert_eq!(item_in_order(expected), item_in_order(found));
}

/// Compares items, in any order.
pub fn assert_same_items<'a>(expected: impl IntoIterator<Item = &'a Item>, found: &[Item]) {
    let mut expected: Vec<Item> = expected.into_iter().map(item_in_order).collect();
    let mut found: Vec<Item> = found.iter().map(item_in_order).collect();
    for items in [&mut expected, &mut found] {
        items.sort_by_key(|item| format!("{:?} {:?}", item["pk"], item["sk"]));
    }
    assert_eq!(expected, found);
}

/// Appends what was sent to a file, a line for each request that was answered without an error.
#[derive(Debug)]
struct Recorder {
    sent: PathBuf,
    pending: Mutex<String>,
}

impl Intercept for Recorder {
    fn name(&self) -> &'static str {
        "Recorder"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let target = request.headers().get("x-amz-target").ok_or("a request has a target")?;
        let (_, operation) = target.split_once('.').ok_or("a target names an operation")?;
        let body = std::str::from_utf8(request.body().bytes().ok_or("bodies are in memory")?)?;
        let line = format!("{{\"operation\":\"{operation}\",\"body\":{body}}}\n");
        *self.pending.lock().map_err(|fault| fault.to_string())? = line;
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if context.output_or_error().is_ok() {
            let line = std::mem::take(&mut *self.pending.lock().map_err(|fault| fault.to_string())?);
            OpenOptions::new().create(true).append(true).open(&self.sent)?.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}
