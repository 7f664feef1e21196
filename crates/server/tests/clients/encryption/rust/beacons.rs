//! Searchable encryption: branch keys in a table of the server under a key of a KMS, and queries by beacons.

use std::collections::HashMap;

use aws_db_esdk::CryptoAction;
use aws_db_esdk::dynamodb::types::{
    BeaconKeySource, BeaconVersion, CompoundBeacon, DynamoDbTableEncryptionConfig, EncryptedPart,
    SearchConfig, SignedPart, SingleKeyStore, StandardBeacon,
};
use aws_db_esdk::key_store::client as key_store;
use aws_db_esdk::key_store::types::KmsConfiguration;
use aws_db_esdk::key_store::types::key_store_config::KeyStoreConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_kms::config::{BehaviorVersion, Region};

use crate::connection::{
    Connection, Fault, Item, assert_same_items, credentials, item, materials, number, text,
};

const TABLE: &str = "Inspections";
const KEYS: &str = "BranchKeys";
const ITEMS: usize = 40;
const CACHE_SECONDS: i32 = 600;
/// So short that different addresses have the same beacon, as is wanted: the client sorts them out.
const EMAIL_BITS: i32 = 4;
const FLOOR_BITS: i32 = 10;

fn made(index: usize) -> Item {
    item([
        ("pk", text(format!("work#{index}"))),
        ("sk", number(index)),
        ("email", text(format!("person{}@example", index % 20))),
        ("floor", number(index % 5)),
        ("state", text(if index.is_multiple_of(3) { "closed" } else { "open" })),
    ])
}

pub async fn run(connection: &Connection, kms: &str) -> Result<(), Fault> {
    let kms = aws_sdk_kms::Client::from_conf(
        aws_sdk_kms::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(kms)
            .region(Region::new("us-east-1"))
            .credentials_provider(credentials())
            .build(),
    );
    let created = kms.create_key().send().await?;
    let arn = created.key_metadata.and_then(|made| made.arn).ok_or("a key has an ARN")?;
    let keys = key_store::Client::from_conf(
        KeyStoreConfig::builder()
            .kms_client(kms)
            .ddb_client(connection.plain.clone())
            .ddb_table_name(KEYS)
            .logical_key_store_name(KEYS)
            .kms_configuration(KmsConfiguration::KmsKeyArn(arn))
            .build()?,
    )?;
    keys.create_key_store().send().await?;
    let branch_key = keys.create_key().send().await?.branch_key_identifier.ok_or("a branch key has an id")?;
    let indexes = [("by_email", ["aws_dbe_b_email", "sk"]), ("by_place", ["state", "aws_dbe_b_place"])];
    connection.create_table(TABLE, &indexes).await?;
    let client = client(connection, &keys, &branch_key).await?;
    for index in 0..ITEMS {
        client.put_item().table_name(TABLE).set_item(Some(made(index))).send().await?;
    }
    by_email(&client).await?;
    by_place(&client).await
}

async fn client(
    connection: &Connection,
    keys: &key_store::Client,
    branch_key: &str,
) -> Result<Client, Fault> {
    let keyring = materials()?
        .create_aws_kms_hierarchical_keyring()
        .branch_key_id(branch_key)
        .key_store(keys.clone())
        .ttl_seconds(i64::from(CACHE_SECONDS))
        .send()
        .await?;
    let of =
        |names: &[&str], action| names.iter().map(|name| ((*name).to_owned(), action)).collect::<Vec<_>>();
    let actions = [
        of(&["pk", "sk", "state"], CryptoAction::SignOnly),
        of(&["email", "floor"], CryptoAction::EncryptAndSign),
    ];
    let search =
        SearchConfig::builder().write_version(1).versions(vec![beacons(keys, branch_key)?]).build()?;
    let table = DynamoDbTableEncryptionConfig::builder()
        .logical_table_name(TABLE)
        .partition_key_name("pk")
        .sort_key_name("sk")
        .attribute_actions_on_encrypt(actions.concat().into_iter().collect::<HashMap<_, _>>())
        .keyring(keyring)
        .search(search)
        .build()?;
    connection.encrypting(TABLE, table)
}

fn beacons(keys: &key_store::Client, branch_key: &str) -> Result<BeaconVersion, Fault> {
    let encrypted = [("floor", "F-"), ("email", "E-")];
    let encrypted =
        encrypted.map(|(name, prefix)| EncryptedPart::builder().name(name).prefix(prefix).build());
    let place = CompoundBeacon::builder()
        .name("place")
        .split("|")
        .signed(vec![SignedPart::builder().name("state").prefix("S-").build()?])
        .encrypted(encrypted.into_iter().collect::<Result<Vec<_>, _>>()?)
        .build()?;
    let source = SingleKeyStore::builder().key_id(branch_key).cache_ttl(CACHE_SECONDS).build()?;
    let version = BeaconVersion::builder()
        .version(1)
        .key_store(keys.clone())
        .key_source(BeaconKeySource::Single(source))
        .standard_beacons(vec![
            StandardBeacon::builder().name("email").length(EMAIL_BITS).build()?,
            StandardBeacon::builder().name("floor").length(FLOOR_BITS).build()?,
        ])
        .compound_beacons(vec![place])
        .build()?;
    Ok(version)
}

async fn by_email(client: &Client) -> Result<(), Fault> {
    for index in 0..20 {
        let email = made(index)["email"].clone();
        let query = client.query().table_name(TABLE).index_name("by_email").limit(3);
        let query = query.key_condition_expression("email = :email");
        let query = query.expression_attribute_values(":email", email.clone());
        let found = query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await?;
        let items: Vec<Item> = (0..ITEMS).map(made).collect();
        assert_same_items(items.iter().filter(|item| item["email"] == email), &found);
    }
    Ok(())
}

async fn by_place(client: &Client) -> Result<(), Fault> {
    let query = client.query().table_name(TABLE).index_name("by_place");
    let query = query.key_condition_expression("#state = :open AND begins_with(place, :start)");
    let query = query.expression_attribute_names("#state", "state");
    let query = query.expression_attribute_values(":open", text("open"));
    let query = query.expression_attribute_values(":start", text("S-open|F-2"));
    let found = query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await?;
    let items: Vec<Item> = (0..ITEMS).map(made).collect();
    let wanted = items.iter().filter(|item| item["state"] == text("open") && item["floor"] == number(2));
    assert_same_items(wanted, &found);
    assert!(!found.is_empty());
    Ok(())
}
