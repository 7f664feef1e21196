//! The error log of an import: one line for each record or object that was not imported.

use super::line::push_line;
use crate::render::writer::{Array, Members, Render, Writer};

/// The record or object that a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemPointer<'a> {
    /// The bucket's name.
    pub bucket: &'a str,
    /// The object's key.
    pub key: &'a str,
    /// The index of the record in its object, the first being 0; none if the whole object is meant.
    pub item_index: Option<u64>,
}

impl Render for ItemPointer<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("bucket", self.bucket);
            members.put("key", self.key);
            members.put_if("itemIndex", self.item_index);
        });
    }
}

/// Appends a line of the error log, as the service's stream `<import id>/error` has them.
pub fn push_import_error(out: &mut Vec<u8>, item: &ItemPointer<'_>, import_arn: &str, messages: &[String]) {
    push_line(out, |members| {
        put_pointer(members, item);
        members.put("importArn", import_arn);
        put_messages(members, messages);
    });
}

pub(super) fn put_pointer(members: &mut Members<'_>, item: &ItemPointer<'_>) {
    members.put("itemS3Pointer", item);
}

pub(super) fn put_messages(members: &mut Members<'_>, messages: &[String]) {
    members.put("errorMessages", Array(messages));
}
