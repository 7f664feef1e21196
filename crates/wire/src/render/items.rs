//! The responses of the operations on items.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::request::KeyPart;
use keywright_semantics::request::parts::{
    AttributeMapPart, DeleteRequestParts, KeysAndAttributesParts, PutRequestParts, WriteRequestParts,
};
use keywright_semantics::response::{
    BatchGetItemOutput, BatchWriteItemOutput, GetItemOutput, PageOutput, TransactGetItemsOutput,
    TransactWriteItemsOutput, WriteItemOutput,
};
use keywright_semantics::value::AttributeValue;

use super::capacity::MetricsByTable;
use super::writer::{Array, Items, Render, Writer};

pub(super) fn get_item(writer: &mut Writer, output: &GetItemOutput) {
    writer.object(|members| {
        members.put_if("Item", output.item.as_ref());
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_ref());
    });
}

pub(super) fn write_item(writer: &mut Writer, output: &WriteItemOutput) {
    writer.object(|members| {
        members.put_if("Attributes", output.attributes.as_ref());
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_ref());
        members.put_if("ItemCollectionMetrics", output.item_collection_metrics.as_ref());
    });
}

pub(super) fn page(writer: &mut Writer, output: &PageOutput) {
    writer.object(|members| {
        members.put_if("Items", output.items.as_deref().map(Items));
        members.put("Count", output.count);
        members.put("ScannedCount", output.scanned_count);
        members.put_if("LastEvaluatedKey", output.last_evaluated_key.as_ref());
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_ref());
    });
}

pub(super) fn batch_get_item(writer: &mut Writer, output: &BatchGetItemOutput) {
    writer.object(|members| {
        members.put_object("Responses", |members| {
            for (table, items) in &output.responses {
                members.entry(table, Items(items));
            }
        });
        members.put_object("UnprocessedKeys", |members| {
            for (table, keys) in &output.unprocessed_keys {
                members.entry(table, keys);
            }
        });
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_deref().map(Array));
    });
}

pub(super) fn batch_write_item(writer: &mut Writer, output: &BatchWriteItemOutput) {
    writer.object(|members| {
        members.put_object("UnprocessedItems", |members| {
            for (table, writes) in &output.unprocessed_items {
                members.entry(table, Array(writes));
            }
        });
        members
            .put_if("ItemCollectionMetrics", output.item_collection_metrics.as_deref().map(MetricsByTable));
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_deref().map(Array));
    });
}

pub(super) fn transact_get_items(writer: &mut Writer, output: &TransactGetItemsOutput) {
    writer.object(|members| {
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_deref().map(Array));
        members.put_array("Responses", output.responses.iter().map(|item| ItemResponse(item.as_ref())));
    });
}

pub(super) fn transact_write_items(writer: &mut Writer, output: &TransactWriteItemsOutput) {
    writer.object(|members| {
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_deref().map(Array));
        members
            .put_if("ItemCollectionMetrics", output.item_collection_metrics.as_deref().map(MetricsByTable));
    });
}

/// One response of TransactGetItems: an empty structure if the item does not exist.
pub(super) struct ItemResponse<'a>(pub(super) Option<&'a EncodedItem>);

impl Render for ItemResponse<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put_if("Item", self.0));
    }
}

/// A map of attributes as the client sent it. A batch returns only maps without faults.
struct Attributes<'a>(&'a AttributeMapPart);

impl Render for Attributes<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            for (name, value) in self.0 {
                if let Ok(value) = value {
                    members.entry(name, value);
                }
            }
        });
    }
}

/// A number in its client's spelling.
struct NumberText<'a>(&'a str);

impl Render for NumberText<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put("N", self.0));
    }
}

/// A key's numbers stand as they were sent: two spellings of one number are two keys in the next request too.
impl Render for KeyPart {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            for (name, value) in &self.attributes {
                match (value, self.spelling(name)) {
                    (Ok(AttributeValue::N(_)), Some(text)) => members.entry(name, NumberText(text)),
                    (Ok(value), _) => members.entry(name, value),
                    (Err(_), _) => {}
                }
            }
        });
    }
}

impl Render for KeysAndAttributesParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_array("Keys", &self.keys);
            members.put_if("AttributesToGet", self.attributes_to_get.as_deref().map(Array));
            members.put_if("ConsistentRead", self.consistent_read);
            members.put_if("ProjectionExpression", self.projection_expression.as_ref());
            if let Some(names) = &self.expression_attribute_names {
                members.put_object("ExpressionAttributeNames", |members| {
                    for (placeholder, name) in names {
                        members.entry(placeholder, name);
                    }
                });
            }
        });
    }
}

impl Render for WriteRequestParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("PutRequest", self.put_request.as_ref());
            members.put_if("DeleteRequest", self.delete_request.as_ref());
        });
    }
}

impl Render for PutRequestParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put("Item", Attributes(&self.item)));
    }
}

impl Render for DeleteRequestParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put("Key", Attributes(&self.key)));
    }
}
