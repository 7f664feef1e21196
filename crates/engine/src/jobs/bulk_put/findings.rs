//! What a bulk put has found out about records, for its reports: rows in the order of objects and records.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::request::parts::OutputTypeEnum;
use keywright_semantics::value::Item;
use keywright_store::{KeyRange, Store};
use serde::{Deserialize, Serialize};

use crate::jobs::object_job::ObjectJob;
use crate::jobs::row::{finding_key, findings};
use crate::state::Engine;
use crate::support::fault;
use crate::support::rows::{Budget, Pages};

/// Findings of one page.
const PAGE_ROWS_MAX: usize = 10_000;

/// A line of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The object's key.
    pub key: String,
    /// How many records of the object come before; absent: it is about the object.
    pub record: Option<u64>,
    /// What is wrong.
    pub text: String,
    /// The item, if it could be read.
    pub item: Option<Item>,
    /// The item that is there, if there is one.
    pub existing: Option<Item>,
}

/// Some findings of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindingsPage {
    /// The findings.
    pub findings: Vec<Finding>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Bytes>,
}

/// A finding as it is stored. Items are in their stored form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredFinding {
    pub key: String,
    pub record: Option<u64>,
    pub text: String,
    pub item: Option<Vec<u8>>,
    pub existing: Option<Vec<u8>>,
}

/// The number of a report in keys. It is stored.
const fn number(report: OutputTypeEnum) -> u8 {
    match report {
        OutputTypeEnum::Error => 0,
        OutputTypeEnum::ConditionCheckFailure => 1,
    }
}

impl StoredFinding {
    /// The row of the finding about this record.
    pub(super) fn row(&self, id: &str, report: OutputTypeEnum, place: (u32, u64)) -> (Bytes, Bytes) {
        let row = postcard::to_allocvec(self).expect("a finding of owned values encodes into a vector");
        (finding_key(id, number(report), place), row.into())
    }

    fn read(row: &[u8]) -> Result<Finding, Error> {
        let stored: Self = postcard::from_bytes(row).map_err(|_fault| fault::internal())?;
        let item = |bytes: Option<Vec<u8>>| {
            let item = bytes.map(|bytes| EncodedItem::from_stored(bytes.into())).transpose();
            item.map(|item| item.map(|item| item.decode())).map_err(fault::corrupt)
        };
        Ok(Finding {
            key: stored.key,
            record: stored.record,
            text: stored.text,
            item: item(stored.item)?,
            existing: item(stored.existing)?,
        })
    }
}

impl<S: Store> Engine<S> {
    /// The next findings of a bulk put for a report, in the order of objects and records.
    pub async fn bulk_put_findings(
        &self,
        job: &ObjectJob,
        report: OutputTypeEnum,
        from: Option<&Bytes>,
        bytes_max: usize,
    ) -> Result<FindingsPage, Error> {
        let mut range = findings(&job.id, number(report));
        if let Some(from) = from {
            range = KeyRange { start: from.clone(), ..range };
        }
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut pages = Pages::of(range, Budget { rows_max: PAGE_ROWS_MAX, bytes_max });
        let rows = pages.next(&view).await.map_err(|error| fault::storage(&error))?.unwrap_or_default();
        let read = rows.iter().map(|entry| StoredFinding::read(&entry.value));
        Ok(FindingsPage { findings: read.collect::<Result<_, _>>()?, next: pages.next_key().cloned() })
    }
}
