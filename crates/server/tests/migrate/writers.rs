//! Writers that put, update and delete items of one table at any endpoint until they are stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use tokio::task::JoinHandle;

use crate::support::client::{Caller, client};
use crate::support::dice::Dice;

/// Writers side by side, each with items of its own.
const WRITERS: u64 = 3;
/// Partitions of each writer, and items of each partition.
const PARTITIONS: u64 = 4;
const ITEMS: u64 = 30;

pub(crate) struct Writers {
    tasks: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
}

impl Writers {
    /// Starts them, each with a pause after every write.
    pub(crate) fn start(endpoint: &str, table: &'static str, seed: u64, pause: Duration) -> Self {
        let (stop, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let tasks = (0..WRITERS).map(|number| {
            let client = client(endpoint, Caller::default());
            let (stop, writes) = (Arc::clone(&stop), Arc::clone(&writes));
            let mut dice = Dice::new(seed * 100 + number);
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    write(&client, table, number, &mut dice).await;
                    writes.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(pause).await;
                }
            })
        });
        Self { tasks: tasks.collect(), stop, writes }
    }

    /// Stops them and returns how much they have written.
    pub(crate) async fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.writes.load(Ordering::Relaxed)
    }
}

async fn write(client: &Client, table: &str, writer: u64, dice: &mut Dice) {
    let pk = AttributeValue::S(format!("w{writer}-{}", dice.roll(PARTITIONS)));
    let sk = AttributeValue::N(dice.roll(ITEMS).to_string());
    let round = AttributeValue::N(dice.roll(1_000_000).to_string());
    match dice.roll(10) {
        0..5 => {
            let put = client.put_item().table_name(table).item("pk", pk).item("sk", sk).item("round", round);
            let put = put.item("state", AttributeValue::S(format!("s{}", dice.roll(5))));
            put.item("bytes", AttributeValue::B(Blob::new(vec![0, 255]))).send().await.unwrap();
        }
        5..7 => {
            let update = client.update_item().table_name(table).key("pk", pk).key("sk", sk);
            let update =
                update.update_expression("SET round = :round").expression_attribute_values(":round", round);
            update.send().await.unwrap();
        }
        _ => {
            client.delete_item().table_name(table).key("pk", pk).key("sk", sk).send().await.unwrap();
        }
    }
}

/// Puts so many items that nothing writes afterwards, with every type of value.
pub(crate) async fn fill(endpoint: &str, table: &str, count: u64) {
    let client = client(endpoint, Caller::default());
    let text = |text: String| AttributeValue::S(text);
    for batch in (0..count).collect::<Vec<_>>().chunks(25) {
        let requests = batch.iter().map(|number| {
            let list =
                AttributeValue::L(vec![AttributeValue::Bool(number % 2 == 0), AttributeValue::Null(true)]);
            let put = PutRequest::builder()
                .item("pk", text(format!("p{}", number % 50)))
                .item("sk", AttributeValue::N(format!("{number}.5")))
                .item("state", text(format!("s{}", number % 5)))
                .item("round", AttributeValue::N("-1.5e-7".to_owned()))
                .item("texts", AttributeValue::Ss(vec!["b".to_owned(), "ä".to_owned()]))
                .item("numbers", AttributeValue::Ns(vec!["1".to_owned(), "0.25".to_owned()]))
                .item("blobs", AttributeValue::Bs(vec![Blob::new([1]), Blob::new([0, 255])]))
                .item("map", AttributeValue::M([("list".to_owned(), list)].into()))
                .item("filler", text("x".repeat(200)));
            WriteRequest::builder().put_request(put.build().unwrap()).build()
        });
        client.batch_write_item().request_items(table, requests.collect()).send().await.unwrap();
    }
}
