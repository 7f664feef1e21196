//! A server with a table and its stream, and requests on triggers.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, PutRequest,
    ScalarAttributeType, StreamSpecification, StreamViewType, TimeToLiveSpecification, WriteRequest,
};
use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{Caller, client};
use crate::support::raw::{Answer, Connection, DATE};

pub(crate) const TABLE: &str = "Orders";
const PATH: &str = "/2015-03-31/event-source-mappings";
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/lambda/aws4_request, \
                             SignedHeaders=host, Signature=00";

/// A server and its client.
pub(crate) struct Scene {
    pub(crate) server: Server,
    pub(crate) client: Client,
}

impl Scene {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::of(Server::start_one(arguments))
    }

    pub(crate) fn of(server: Server) -> Self {
        let client = client(&server.endpoint, Caller::default());
        Self { server, client }
    }

    /// A server in memory that calls the functions of an endpoint.
    pub(crate) fn calling(url: &str, more: &[&str]) -> Self {
        Self::start(&[&["--in-memory", "--lambda-endpoint", url], more].concat())
    }

    pub(crate) async fn create(&self, table: &str) {
        let key = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
        let text = |name: &str| {
            let text = AttributeDefinition::builder().attribute_name(name);
            text.attribute_type(ScalarAttributeType::S).build().unwrap()
        };
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::NewAndOldImages)
            .build();
        let create = self.client.create_table().table_name(table).billing_mode(BillingMode::PayPerRequest);
        let create = create
            .key_schema(key("pk", KeyType::Hash).unwrap())
            .key_schema(key("sk", KeyType::Range).unwrap());
        let create = create.attribute_definitions(text("pk")).attribute_definitions(text("sk"));
        create.stream_specification(stream.unwrap()).send().await.unwrap();
    }

    pub(crate) async fn stream(&self, table: &str) -> String {
        let described = self.client.describe_table().table_name(table).send().await.unwrap();
        described.table.unwrap().latest_stream_arn.unwrap()
    }

    /// Makes a trigger of the table's stream.
    pub(crate) async fn trigger(&self, target: &str, more: Value) -> String {
        let made = self.try_trigger(target, more).await;
        assert_eq!(made.status, 202, "{}", made.text());
        made.json()["UUID"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn try_trigger(&self, target: &str, more: Value) -> Answer {
        let mut body = json!({
            "EventSourceArn": self.stream(TABLE).await,
            "FunctionName": target,
            "StartingPosition": "TRIM_HORIZON",
        });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.ask("POST", "", &body)
    }

    /// A request on triggers.
    pub(crate) fn ask(&self, method: &str, rest: &str, body: &Value) -> Answer {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let headers =
            [("Authorization", AUTHORIZATION), ("X-Amz-Date", DATE), ("Content-Type", "application/json")];
        Connection::open(&self.server).send_to(&format!("{PATH}{rest}"), method, &headers, &body)
    }

    pub(crate) fn get(&self, uuid: &str) -> Value {
        let found = self.ask("GET", &format!("/{uuid}"), &Value::Null);
        assert_eq!(found.status, 200, "{}", found.text());
        found.json()
    }

    /// The figures of the trigger, which is the only one.
    pub(crate) fn figures(&self) -> Value {
        let headers = [
            ("Authorization", crate::support::raw::AUTHORIZATION),
            ("X-Amz-Date", DATE),
            ("Content-Type", "application/x-amz-json-1.0"),
        ];
        let answer = Connection::open(&self.server).send_to("/_keywright/triggers", "POST", &headers, b"{}");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["triggers"][0].clone()
    }

    pub(crate) async fn put(&self, pk: &str, sk: &str) {
        self.put_number(pk, sk, 0).await;
    }

    pub(crate) async fn put_number(&self, pk: &str, sk: &str, number: u64) {
        let put = self.client.put_item().table_name(TABLE).item("pk", text(pk)).item("sk", text(sk));
        put.item("n", AttributeValue::N(number.to_string())).send().await.unwrap();
    }

    /// Puts many items, which expire at a time.
    pub(crate) async fn put_expiring(&self, keys: &[String], expires_s: u64) {
        for keys in keys.chunks(25) {
            let put = |key: &String| {
                let put = PutRequest::builder().item("pk", text(key)).item("sk", text("1"));
                let put = put.item("expires", AttributeValue::N(expires_s.to_string())).build().unwrap();
                WriteRequest::builder().put_request(put).build()
            };
            let writes = keys.iter().map(put).collect();
            self.client.batch_write_item().request_items(TABLE, writes).send().await.unwrap();
        }
    }

    pub(crate) async fn enable_ttl(&self) {
        let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("expires").build().unwrap();
        self.client
            .update_time_to_live()
            .table_name(TABLE)
            .time_to_live_specification(ttl)
            .send()
            .await
            .unwrap();
    }
}

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}
