//! The Scan of one segment of a table, page by page, with consistent reads.

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use super::super::side::Side;
use super::progress::Cursor;
use crate::client::endpoint::Client;
use crate::client::paging::Pages;
use crate::process::failure::Failure;

const SCAN: &str = "Scan";

/// A Scan that has come to the end of a page.
pub(super) struct SegmentScan {
    request: Json,
    pages: Pages,
}

/// The items of a page, as JSON, and where the next one begins.
pub(super) struct Page {
    answer: Json,
    pub(super) cursor: Cursor,
}

impl Page {
    pub(super) fn elements(&self) -> &[Json] {
        self.answer.get("Items").map_or(&[][..], Json::elements)
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Result<Item, Failure>> {
        self.elements().iter().map(|element| {
            let read = read_item(element).filter(|read| read.typed);
            let read = read.ok_or("Scan: an item is not in DynamoDB's typed form")?;
            Ok(read.item)
        })
    }
}

impl SegmentScan {
    /// A Scan of one of so many segments, from a cursor that is not the end.
    pub(super) fn new(side: &Side, (number, of): (usize, usize), cursor: Cursor) -> Self {
        let mut request = side.about();
        request.set("ConsistentRead", Json::Bool(true));
        if of > 1 {
            request.set("Segment", Json::number(number));
            request.set("TotalSegments", Json::number(of));
        }
        let after = if let Cursor::After(key) = cursor { Some(key) } else { None };
        if let Some(key) = &after {
            request.set("ExclusiveStartKey", key.clone());
        }
        Self { request, pages: Pages::new(SCAN, after) }
    }

    /// With these members of the request, too.
    pub(super) fn with(mut self, members: impl IntoIterator<Item = (&'static str, Json)>) -> Self {
        for (name, value) in members {
            self.request.set(name, value);
        }
        self
    }

    /// The next page.
    pub(super) async fn page(&mut self, client: &mut Client) -> Result<Page, Failure> {
        let answer = client.ask_again(SCAN, &self.request).await?;
        let next = answer.get("LastEvaluatedKey").filter(|key| matches!(key, Json::Object(_))).cloned();
        let page = Page { answer, cursor: next.clone().map_or(Cursor::End, Cursor::After) };
        self.pages.note(page.elements().len(), next.as_ref())?;
        if let Some(next) = next {
            self.request.set("ExclusiveStartKey", next);
        }
        Ok(page)
    }
}
