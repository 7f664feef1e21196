//! Typed answers and errors to bytes.
//!
//! Members stand in the service model's order; absent ones are not written. It does not know how an answer came about.

mod capacity;
mod error;
mod items;
mod tables;
mod writer;

use keywright_semantics::response::Response;

pub use error::{RenderedError, render_error, unknown_operation};
use writer::Writer;

/// Room for a small answer, so that most are written into one allocation.
const ANSWER_BYTES: usize = 1024;

/// The body of an answer: one JSON document without a line end; nothing at all for the operations on tags.
pub fn render(response: &Response) -> Vec<u8> {
    let mut writer = Writer::with_capacity(ANSWER_BYTES);
    match response {
        Response::BatchGetItem(output) => items::batch_get_item(&mut writer, output),
        Response::BatchWriteItem(output) => items::batch_write_item(&mut writer, output),
        Response::CreateTable(table) | Response::DeleteTable(table) | Response::UpdateTable(table) => {
            writer.object(|members| members.put("TableDescription", table));
        }
        Response::DeleteItem(output) | Response::PutItem(output) | Response::UpdateItem(output) => {
            items::write_item(&mut writer, output);
        }
        Response::DescribeEndpoints(endpoints) => {
            writer.object(|members| members.put_array("Endpoints", endpoints));
        }
        Response::DescribeLimits(limits) => tables::describe_limits(&mut writer, limits),
        Response::DescribeTable(table) => writer.object(|members| members.put("Table", table)),
        Response::GetItem(output) => items::get_item(&mut writer, output),
        Response::ListTables(output) => tables::list_tables(&mut writer, output),
        Response::ListTagsOfResource(output) => tables::list_tags(&mut writer, output),
        Response::Query(output) | Response::Scan(output) => items::page(&mut writer, output),
        Response::TagResource | Response::UntagResource => {}
        Response::TransactGetItems(output) => items::transact_get_items(&mut writer, output),
        Response::TransactWriteItems(output) => items::transact_write_items(&mut writer, output),
    }
    writer.finish()
}
