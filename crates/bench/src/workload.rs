//! The workload: the items of the table and the request bodies of each kind of work.

use std::fmt::Write as _;

use bytes::Bytes;
use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use super::keys::Chooser;

/// Items per partition, so that a Query has several items to return.
pub(super) const PARTITION_ITEMS: u64 = 100;

/// The table and its items.
#[derive(Clone, Debug)]
pub(super) struct DataSet {
    pub(super) table: String,
    /// A multiple of the partition's size.
    pub(super) items: u64,
    /// Size as DynamoDB counts it.
    pub(super) item_bytes: usize,
    /// Whether reads are strongly consistent.
    pub(super) consistent: bool,
}

/// One kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// One item by its key.
    GetItem,
    /// Replace one item.
    PutItem,
    /// Increment one attribute, if the item exists.
    UpdateItem,
    /// Ten items of one partition, from a random position.
    #[value(name = "query-10")]
    Query10,
    /// All hundred items of one partition.
    #[value(name = "query-100")]
    Query100,
    /// Replace 25 items of different partitions.
    BatchWriteItem,
    /// Check one item, update a second, replace a third, in one transaction.
    TransactWriteItems,
    /// A shop: 50 % get-item, 20 % query-10, 15 % put-item, 10 % update-item, 3 % transact-write-items, 2 %
    /// batch-write-item.
    Mixed,
}

/// A request and its expected response.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) target: &'static str,
    pub(super) body: Bytes,
    pub(super) expected: Expected,
}

/// What the size of a successful response's body shows without parsing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Anything,
    /// Complete items of this total size. Their JSON is longer.
    Items {
        bytes: usize,
    },
    /// No unprocessed items.
    NothingLeft,
}

/// Maximum size of a response without unprocessed items.
const NOTHING_LEFT_BYTES_MAX: usize = 100;

impl Expected {
    /// Why a response of this size is not the expected one; `None` if it can be.
    pub(super) fn fault(self, body_bytes: usize) -> Option<String> {
        match self {
            Self::Items { bytes } if body_bytes < bytes => {
                Some(format!("succeeded, but with fewer than the {bytes} bytes of the requested items"))
            }
            Self::NothingLeft if body_bytes > NOTHING_LEFT_BYTES_MAX => {
                Some("succeeded, but with unprocessed items".to_owned())
            }
            Self::Anything | Self::Items { .. } | Self::NothingLeft => None,
        }
    }
}

const BATCH_ITEMS: u64 = 25;
/// Actions of a transaction: a check, an update and a put.
const TRANSACTION_ITEMS: u64 = 3;

impl Kind {
    pub(super) const ALL: [Self; 8] = [
        Self::GetItem,
        Self::PutItem,
        Self::UpdateItem,
        Self::Query10,
        Self::Query100,
        Self::BatchWriteItem,
        Self::TransactWriteItems,
        Self::Mixed,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GetItem => "get-item",
            Self::PutItem => "put-item",
            Self::UpdateItem => "update-item",
            Self::Query10 => "query-10",
            Self::Query100 => "query-100",
            Self::BatchWriteItem => "batch-write-item",
            Self::TransactWriteItems => "transact-write-items",
            Self::Mixed => "mixed",
        }
    }

    /// The work of one request of this kind; the mix chooses anew each time.
    pub(super) fn step(self, chooser: &mut Chooser) -> Step {
        match self {
            Self::GetItem => Step::Get,
            Self::PutItem => Step::Put,
            Self::UpdateItem => Step::Update,
            Self::Query10 => Step::Query { items: 10 },
            Self::Query100 => Step::Query { items: PARTITION_ITEMS },
            Self::BatchWriteItem => Step::Batch { items: BATCH_ITEMS },
            Self::TransactWriteItems => Step::Transact { items: TRANSACTION_ITEMS },
            Self::Mixed => match chooser.below(100) {
                0..50 => Step::Get,
                50..70 => Step::Query { items: 10 },
                70..85 => Step::Put,
                85..95 => Step::Update,
                95..98 => Step::Transact { items: TRANSACTION_ITEMS },
                _ => Step::Batch { items: BATCH_ITEMS },
            },
        }
    }
}

/// The work of one request, in terms that the DynamoDB API and the bare store share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Get,
    Put,
    Update,
    Query { items: u64 },
    Batch { items: u64 },
    Transact { items: u64 },
}

/// An item's partition and its position there.
pub(super) const fn place(item: u64) -> (u64, u64) {
    (item / PARTITION_ITEMS, item % PARTITION_ITEMS)
}

/// Distinct items of different partitions, beginning with this one.
pub(super) fn strided(first: u64, count: u64, items: u64) -> impl Iterator<Item = u64> {
    let stride = (items / count).max(1);
    (0..count.min(items)).map(move |step| (first + step * stride) % items)
}

impl DataSet {
    /// The next request of a kind.
    pub(super) fn call(&self, kind: Kind, chooser: &mut Chooser) -> Call {
        let step = kind.step(chooser);
        let item = chooser.item();
        match step {
            Step::Get => self.get(item),
            Step::Put => {
                let body = self.put(item, chooser.below(1000));
                call("DynamoDB_20120810.PutItem", body, Expected::Anything)
            }
            Step::Update => {
                let body = format!("{{{}}}", self.update(item));
                call("DynamoDB_20120810.UpdateItem", body, Expected::Anything)
            }
            Step::Query { items } => {
                let from = chooser.below(PARTITION_ITEMS - items + 1);
                self.query(place(item).0, from, items)
            }
            Step::Batch { items } => {
                let version = chooser.below(1000);
                self.batch(strided(item, items, self.items), version)
            }
            Step::Transact { items } => self.transact(item, items, chooser.below(1000)),
        }
    }

    pub(super) fn get(&self, item: u64) -> Call {
        let body = format!(
            r#"{{"TableName":"{}","Key":{},"ConsistentRead":{}}}"#,
            self.table,
            key(item),
            self.consistent
        );
        call("DynamoDB_20120810.GetItem", body, self.whole(1))
    }

    fn whole(&self, items: u64) -> Expected {
        let items = usize::try_from(items).unwrap_or(usize::MAX);
        Expected::Items { bytes: self.item_bytes.saturating_mul(items) }
    }

    fn put(&self, item: u64, version: u64) -> String {
        let mut body = String::with_capacity(self.item_bytes + 256);
        push(&mut body, format_args!(r#"{{"TableName":"{}","Item":"#, self.table));
        self.push_item(&mut body, item, version);
        body.push('}');
        body
    }

    fn update(&self, item: u64) -> String {
        format!(
            r##""TableName":"{}","Key":{},"UpdateExpression":"SET #v = #v + :one","ConditionExpression":"attribute_exists(pk)","ExpressionAttributeNames":{{"#v":"version"}},"ExpressionAttributeValues":{{":one":{{"N":"1"}}}}"##,
            self.table,
            key(item)
        )
    }

    fn query(&self, partition: u64, from: u64, items: u64) -> Call {
        let body = format!(
            r#"{{"TableName":"{}","KeyConditionExpression":"pk = :p AND sk >= :s","ExpressionAttributeValues":{{":p":{{"S":"customer#{partition:010}"}},":s":{{"S":"order#{from:03}"}}}},"Limit":{items},"ConsistentRead":{}}}"#,
            self.table, self.consistent
        );
        call("DynamoDB_20120810.Query", body, self.whole(items))
    }

    /// Puts of these items, 25 at most.
    pub(super) fn batch(&self, items: impl Iterator<Item = u64>, version: u64) -> Call {
        let mut body = String::with_capacity(25 * (self.item_bytes + 256));
        push(&mut body, format_args!(r#"{{"RequestItems":{{"{}":["#, self.table));
        for (index, item) in items.enumerate() {
            body.push_str(if index == 0 {
                r#"{"PutRequest":{"Item":"#
            } else {
                r#",{"PutRequest":{"Item":"#
            });
            self.push_item(&mut body, item, version);
            body.push_str("}}");
        }
        body.push_str("]}}");
        call("DynamoDB_20120810.BatchWriteItem", body, Expected::NothingLeft)
    }

    fn transact(&self, item: u64, items: u64, version: u64) -> Call {
        let mut places = strided(item, items, self.items);
        let mut next = || places.next().unwrap_or(item);
        let (checked, updated, replaced) = (next(), next(), next());
        let body = format!(
            r#"{{"TransactItems":[{{"ConditionCheck":{{"TableName":"{}","Key":{},"ConditionExpression":"attribute_exists(pk)"}}}},{{"Update":{{{}}}}},{{"Put":{}}}]}}"#,
            self.table,
            key(checked),
            self.update(updated),
            self.put(replaced, version)
        );
        call("DynamoDB_20120810.TransactWriteItems", body, Expected::Anything)
    }

    /// Appends the item as JSON; its `note` pads it to the configured size.
    fn push_item(&self, body: &mut String, item: u64, version: u64) {
        let (partition, sort) = place(item);
        push(
            body,
            format_args!(
                r#"{{"pk":{{"S":"customer#{partition:010}"}},"sk":{{"S":"order#{sort:03}"}},"status":{{"S":"SHIPPED"}},"total":{{"N":"129.95"}},"version":{{"N":"{}"}},"note":{{"S":""#,
                version + 1
            ),
        );
        let note = self.item_bytes.saturating_sub(FIXED_BYTES).max(1);
        body.extend(letters(item ^ (version << 40)).take(note).map(char::from));
        body.push_str(r#""}}"#);
    }
}

/// Size of an item without its note: names 26, keys 19 and 9, status 7, total 4, version 3.
const FIXED_BYTES: usize = 68;
/// The alphabet of notes.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";

/// Random letters, so that a store that compresses has no advantage.
pub(super) fn letters(seed: u64) -> impl Iterator<Item = u8> {
    let mut random = SmallRng::seed_from_u64(seed);
    std::iter::repeat_with(move || random.random::<u64>().to_le_bytes()).flatten().map(|byte| {
        let place = usize::from(byte & 63);
        LETTERS.get(place).copied().unwrap_or(b' ')
    })
}

fn key(item: u64) -> String {
    let (partition, sort) = place(item);
    format!(r#"{{"pk":{{"S":"customer#{partition:010}"}},"sk":{{"S":"order#{sort:03}"}}}}"#)
}

fn call(target: &'static str, body: String, expected: Expected) -> Call {
    Call { target, body: Bytes::from(body), expected }
}

fn push(body: &mut String, text: std::fmt::Arguments<'_>) {
    let written = body.write_fmt(text);
    debug_assert!(written.is_ok(), "writing to a String does not fail");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use keywright_wire::{decode, operation_of_target};

    use super::super::keys::Spread;
    use super::*;

    fn data() -> DataSet {
        DataSet { table: "bench".to_owned(), items: 1000, item_bytes: 500, consistent: false }
    }

    #[test]
    fn every_kind_sends_valid_requests() {
        let mut chooser = Chooser::new(1000, Spread::Uniform, 1);
        for kind in Kind::ALL {
            for _ in 0..200 {
                let call = data().call(kind, &mut chooser);
                let operation = operation_of_target(call.target).unwrap();
                let decoded = decode(operation, &call.body);
                assert!(decoded.is_ok(), "{}: {decoded:?}", String::from_utf8_lossy(&call.body));
            }
        }
    }

    #[test]
    fn a_batch_names_no_item_twice() {
        for items in [100, 1000, 12_300] {
            let chosen: BTreeSet<u64> = strided(items - 1, BATCH_ITEMS, items).collect();
            assert_eq!(chosen.len(), 25);
            assert!(chosen.iter().all(|item| *item < items));
        }
    }

    #[test]
    fn items_have_the_size_asked_for() {
        let body = data().put(42, 7);
        let text = body.strip_prefix(r#"{"TableName":"bench","Item":"#).unwrap().strip_suffix('}').unwrap();
        let item: serde_json::Value = serde_json::from_str(text).unwrap();
        let size: usize = item
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| {
                let value = value.as_object().unwrap();
                let bytes = value.get("S").map_or_else(
                    || (value["N"].as_str().unwrap().replace('.', "").len()).div_ceil(2) + 1,
                    |text| text.as_str().unwrap().len(),
                );
                name.len() + bytes
            })
            .sum();
        assert!((498..=501).contains(&size), "{size}");
    }
}
