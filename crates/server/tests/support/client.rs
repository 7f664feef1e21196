//! The official Rust SDK as a client of a test server.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex,
    Projection, ProjectionType, ScalarAttributeType,
};

/// Access key and region of a client.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    pub access_key_id: &'a str,
    pub secret: &'a str,
    pub region: &'a str,
}

impl Default for Caller<'_> {
    fn default() -> Self {
        Self { access_key_id: "local", secret: "local", region: "us-east-1" }
    }
}

/// A client without retries, so that every error shows.
pub fn client(endpoint: &str, caller: Caller<'_>) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(endpoint)
        .region(Region::new(caller.region.to_owned()))
        .credentials_provider(Credentials::new(caller.access_key_id, caller.secret, None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

fn key(name: &str, key_type: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(key_type).build().unwrap()
}

fn text(name: &str) -> AttributeDefinition {
    AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(ScalarAttributeType::S)
        .build()
        .unwrap()
}

fn all() -> Projection {
    Projection::builder().projection_type(ProjectionType::All).build()
}

/// A table with keys `pk`, `sk`, a global index `gsi` on `g`, `sk` and a local index `lsi` on `l`.
pub async fn create_indexed_table(client: &Client, name: &str) {
    let global = GlobalSecondaryIndex::builder()
        .index_name("gsi")
        .key_schema(key("g", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .projection(all());
    let local = LocalSecondaryIndex::builder()
        .index_name("lsi")
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("l", KeyType::Range))
        .projection(all());
    client
        .create_table()
        .table_name(name)
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .attribute_definitions(text("pk"))
        .attribute_definitions(text("sk"))
        .attribute_definitions(text("g"))
        .attribute_definitions(text("l"))
        .global_secondary_indexes(global.build().unwrap())
        .local_secondary_indexes(local.build().unwrap())
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await
        .unwrap();
}
