//! Items of every type, written and read in every way, and changes that the client must notice. The client
//! for Java writes and reads the same ones.

use std::collections::HashMap;

use aws_db_esdk::CryptoAction;
use aws_db_esdk::dynamodb::types::DynamoDbTableEncryptionConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue, Get, KeysAndAttributes, Put, PutRequest, TransactGetItem, TransactWriteItem, WriteRequest,
};

use crate::connection::{
    Connection, Fault, Item, aes_keyring, assert_same, assert_same_items, item, key, number, text,
};

const TABLE: &str = "Vault";
const BY_STATUS: &str = "by_status";
const NOTE: &str = ":note";
const ENCRYPTED: [&str; 12] = [
    "name", "empty", "amount", "tiny", "photo", "active", "nothing", "tags", "scores", "chips", "orders",
    "address",
];
const SIGNED: [&str; 6] = ["pk", "sk", "status", "price", "labels", "limits"];
const KEPT: usize = 30;

pub struct Items<'a> {
    connection: &'a Connection,
    encrypting: Client,
}

/// An item with values of every type, as the service gives them back.
fn made(index: usize) -> Item {
    let photo: Vec<u8> = (0..256).map(|at| u8::try_from((at + index) % 256).unwrap_or_default()).collect();
    let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    let address = item([("city", text("Köln")), ("zip", number(50667))]);
    item([
        ("pk", text(format!("customer#{}", index % 7))),
        ("sk", number(index)),
        ("name", text(format!("Zoë Ångström \"{index}\" 🎈 \0\n"))),
        ("empty", text("")),
        ("amount", number("12345678901234567890.12345678")),
        ("tiny", number("-0.0000000000000000000000000000000000000000000000000001")),
        ("photo", AttributeValue::B(Blob::new(photo.clone()))),
        ("active", AttributeValue::Bool(index.is_multiple_of(2))),
        ("nothing", AttributeValue::Null(true)),
        ("tags", AttributeValue::Ss(texts(&["rot", "grün", "blau"]))),
        ("scores", AttributeValue::Ns(texts(&["3", "-1.5", "100"]))),
        ("chips", AttributeValue::Bs(vec![Blob::new(photo), Blob::new("x")])),
        ("orders", AttributeValue::L(vec![text("o#1"), AttributeValue::L(Vec::new())])),
        ("address", AttributeValue::M(address)),
        ("status", text(if index.is_multiple_of(3) { "closed" } else { "open" })),
        ("price", number("1.5")),
        ("labels", AttributeValue::Ss(texts(&["b", "a", "é"]))),
        ("limits", AttributeValue::Ns(texts(&["20", "3"]))),
        (NOTE, text(format!("note {index}"))),
    ])
}

impl<'a> Items<'a> {
    pub async fn new(connection: &'a Connection) -> Result<Self, Fault> {
        let of = |names: &[&str], action| {
            names.iter().map(|name| ((*name).to_owned(), action)).collect::<Vec<_>>()
        };
        let actions = [
            of(&ENCRYPTED, CryptoAction::EncryptAndSign),
            of(&SIGNED, CryptoAction::SignOnly),
            of(&[NOTE], CryptoAction::DoNothing),
        ];
        let table = DynamoDbTableEncryptionConfig::builder()
            .logical_table_name(TABLE)
            .partition_key_name("pk")
            .sort_key_name("sk")
            .attribute_actions_on_encrypt(actions.concat().into_iter().collect::<HashMap<_, _>>())
            .keyring(aes_keyring().await?)
            .allowed_unsigned_attribute_prefix(":")
            .build()?;
        Ok(Self { connection, encrypting: connection.encrypting(TABLE, table)? })
    }

    pub async fn run(&self) -> Result<(), Fault> {
        self.connection.create_table(TABLE, &[(BY_STATUS, ["status", "sk"])]).await?;
        self.one_by_one().await?;
        self.many_at_once().await?;
        self.changes_are_noticed().await?;
        self.read_all().await
    }

    async fn get(&self, client: &Client, index: usize) -> Result<Item, Fault> {
        let found = client.get_item().table_name(TABLE).set_key(Some(key(&made(index)))).send().await?;
        found.item.ok_or_else(|| format!("item {index} is missing").into())
    }

    async fn one_by_one(&self) -> Result<(), Fault> {
        let put = |item: Item| self.encrypting.put_item().table_name(TABLE).set_item(Some(item));
        for index in 0..4 {
            put(made(index)).condition_expression("attribute_not_exists(pk)").send().await?;
            assert_same(&made(index), &self.get(&self.encrypting, index).await?);
        }
        let twice = put(made(1)).condition_expression("attribute_not_exists(pk)").send().await;
        assert_eq!(twice.err().and_then(|error| error.code().map(str::to_owned)).as_deref(), Some(FAILED));
        // What the service writes in another way than it was sent: the signature is about the value.
        let mut numbers = made(4);
        numbers.extend(item([("sk", number("04.00")), ("price", number("1.500"))]));
        put(numbers).send().await?;
        assert_same(&made(4), &self.get(&self.encrypting, 4).await?);
        for note in ["changed", "note 2"] {
            self.update("#note = :note", &[("#note", NOTE)], note).await?;
            let changed = made(2).into_iter().chain(item([(NOTE, text(note))])).collect();
            assert_same(&changed, &self.get(&self.encrypting, 2).await?);
        }
        let signed = self.update("#note = :note", &[("#note", "status")], "x").await;
        assert_refused(signed.err(), "forbidden on signed attributes");
        Ok(())
    }

    async fn update(&self, set: &str, names: &[(&str, &str)], value: &str) -> Result<(), Fault> {
        let names = names.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect();
        let update = self.encrypting.update_item().table_name(TABLE).set_key(Some(key(&made(2))));
        let update =
            update.update_expression(format!("SET {set}")).set_expression_attribute_names(Some(names));
        update.expression_attribute_values(":note", text(value)).send().await?;
        Ok(())
    }

    async fn many_at_once(&self) -> Result<(), Fault> {
        let batch: Vec<Item> = (5..25).map(made).collect();
        let mut writes = Vec::new();
        for one in &batch {
            let put = PutRequest::builder().set_item(Some(one.clone())).build()?;
            writes.push(WriteRequest::builder().put_request(put).build());
        }
        let answer = self.encrypting.batch_write_item().request_items(TABLE, writes).send().await?;
        assert!(answer.unprocessed_items.is_none_or(|left| left.is_empty()));
        let keys = KeysAndAttributes::builder().set_keys(Some(batch.iter().map(key).collect())).build()?;
        let found = self.encrypting.batch_get_item().request_items(TABLE, keys).send().await?;
        assert_same_items(&batch, &found.responses.unwrap_or_default()[TABLE]);

        let mut writes = self.encrypting.transact_write_items();
        let mut reads = self.encrypting.transact_get_items();
        for index in 25..KEPT {
            let put = Put::builder().table_name(TABLE).set_item(Some(made(index))).build()?;
            writes = writes.transact_items(TransactWriteItem::builder().put(put).build());
            let get = Get::builder().table_name(TABLE).set_key(Some(key(&made(index)))).build()?;
            reads = reads.transact_items(TransactGetItem::builder().get(get).build());
        }
        writes.send().await?;
        let found = reads.send().await?.responses.unwrap_or_default();
        let found: Vec<Item> = found.into_iter().filter_map(|one| one.item).collect();
        assert_same_items(&(25..KEPT).map(made).collect::<Vec<_>>(), &found);
        Ok(())
    }

    async fn changes_are_noticed(&self) -> Result<(), Fault> {
        let held = self.get(&self.connection.plain, 6).await?;
        for name in ENCRYPTED.into_iter().chain(["aws_dbe_head", "aws_dbe_foot"]) {
            let AttributeValue::B(bytes) = &held[name] else {
                return Err(format!("{name} is no binary").into());
            };
            let mut bytes = bytes.clone().into_inner();
            *bytes.last_mut().ok_or("an encrypted value has a tag")? ^= 1;
            let mut forged = held.clone();
            forged.insert(name.to_owned(), AttributeValue::B(Blob::new(bytes)));
            self.put_plain(forged).await?;
            let reason = match name {
                "aws_dbe_head" => "Key commitment mismatch",
                "aws_dbe_foot" => "Signature did not verify",
                _ => "Signature of record does not match",
            };
            assert_refused(self.get(&self.encrypting, 6).await.err(), reason);
        }
        let mut forged = held.clone();
        forged.extend(item([("status", text("forged"))]));
        self.put_plain(forged).await?;
        assert_refused(self.get(&self.encrypting, 6).await.err(), "Signature of record does not match");
        self.put_plain(held).await
    }

    async fn put_plain(&self, item: Item) -> Result<(), Fault> {
        self.connection.plain.put_item().table_name(TABLE).set_item(Some(item)).send().await?;
        Ok(())
    }

    /// Reads what the scene left behind, in pages.
    pub async fn read_all(&self) -> Result<(), Fault> {
        let items: Vec<Item> = (0..KEPT).map(made).collect();
        let scan = self.encrypting.scan().table_name(TABLE).limit(7).into_paginator().items().send();
        assert_same_items(&items, &scan.collect::<Result<Vec<_>, _>>().await?);
        let query = self.encrypting.query().table_name(TABLE).index_name(BY_STATUS).limit(4);
        let query = query.key_condition_expression("#s = :closed").expression_attribute_names("#s", "status");
        let query = query.expression_attribute_values(":closed", text("closed"));
        let closed = query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await?;
        assert_same_items(items.iter().filter(|item| item["status"] == text("closed")), &closed);
        Ok(())
    }
}

const FAILED: &str = "ConditionalCheckFailedException";

/// The client refuses, for this reason.
fn assert_refused(fault: Option<Fault>, reason: &str) {
    let fault = fault.map(|fault| format!("{fault:?}"));
    assert!(fault.as_ref().is_some_and(|fault| fault.contains(reason)), "expected {reason}, got {fault:?}");
}
