//! Which records one commit takes, and what becomes of each: a pure function of the records, the table, and
//! what earlier tries of the commit have found out.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, WriteMode, write_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::messages::cancellation;
use keywright_semantics::request::parts::OutputTypeEnum;
use keywright_semantics::schema::IndexKind;

use super::findings::StoredFinding;
use super::lane::Lane;
use crate::bind::item::{BoundPut, bind_put, check_condition};
use crate::catalogue::Table;
use crate::jobs::source::{Broken, Piece, Read, cut};
use crate::write::change::{Outcome, Refusal};

/// Items of one commit, and the bytes of what it writes. The latches of these items are held during it.
pub(super) const COMMIT_ITEMS_MAX: usize = 50;
const COMMIT_BYTES_MAX: usize = 512 * 1024;

/// Why a record is not put.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub report: OutputTypeEnum,
    pub text: String,
    pub existing: Option<EncodedItem>,
}

impl Refused {
    fn error(text: &str) -> Self {
        Self { report: OutputTypeEnum::Error, text: cut(text).to_owned(), existing: None }
    }

    /// What the write core refuses.
    pub(super) fn of(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Condition { item } => Self {
                report: OutputTypeEnum::ConditionCheckFailure,
                text: cancellation::CONDITIONAL_CHECK_FAILED.to_owned(),
                existing: item,
            },
            Refusal::Invalid(error) => Self::error(&error.message),
            Refusal::CollectionTooLarge => Self::error(cancellation::ITEM_COLLECTION_SIZE),
        }
    }

    /// The write units of the attempt: a failed condition costs the write of the item it failed on.
    pub(super) fn units(&self) -> HalfUnits {
        match self.report {
            OutputTypeEnum::Error => HalfUnits(0),
            OutputTypeEnum::ConditionCheckFailure => {
                write_units(self.existing.as_ref().map_or(0, EncodedItem::size_bytes), WriteMode::Plain)
            }
        }
    }
}

/// The records of one commit.
#[derive(Default)]
pub(super) struct Batch {
    /// How many of the pieces it takes.
    pub taken: usize,
    /// Items to put, with the places of their pieces.
    pub puts: Vec<(usize, BoundPut)>,
    /// The rows of findings.
    pub findings: Vec<(Bytes, Bytes)>,
    /// The lane afterwards, without what the puts add.
    after: Lane,
}

/// What batches are made of.
pub(super) struct Batcher<'p> {
    /// The job's id.
    pub id: &'p str,
    pub table: &'p Table,
    /// The lane before, and how many lanes there are.
    pub lane: &'p Lane,
    pub lanes: u32,
    pub pieces: &'p [Piece],
    /// The reports that are wanted.
    pub reports: &'p [OutputTypeEnum],
}

impl Batcher<'_> {
    /// The next batch of at most so many items. `refused` has the pieces that were refused, by their places.
    /// A batch has each item once, so its puts do not depend on each other.
    pub(super) fn batch(&self, most: usize, refused: &BTreeMap<usize, Refused>) -> Batch {
        let mut batch = Batch { after: self.lane.clone(), ..Batch::default() };
        let mut keys = BTreeSet::new();
        let mut bytes = 0;
        for (place, piece) in self.pieces.iter().enumerate() {
            let next = (batch.after.object, batch.after.record);
            assert_eq!(next, (piece.object, piece.record), "a lane takes its records in their order");
            let judged = match refused.get(&place) {
                Some(refused) => Err(refused.clone()),
                None => judge(self.table, piece),
            };
            match judged {
                Ok(Some(put)) => {
                    let size = put.item.as_bytes().len();
                    let is_new = keys.insert(put.key.row.clone());
                    let is_full = batch.puts.len() >= most || bytes + size > COMMIT_BYTES_MAX;
                    if !is_new || (is_full && batch.taken > 0) {
                        break;
                    }
                    bytes += size;
                    batch.after.counts.processed += 1;
                    batch.puts.push((place, put));
                }
                Ok(None) => {}
                Err(refused) => {
                    let row = self.finding(piece, &refused);
                    let size = row.as_ref().map_or(0, |(_, row)| row.len());
                    if bytes + size > COMMIT_BYTES_MAX && batch.taken > 0 {
                        break;
                    }
                    bytes += size;
                    batch.after.counts.processed += 1;
                    batch.after.counts.failed += u64::from(refused.report == OutputTypeEnum::Error);
                    batch.findings.extend(row);
                }
            }
            batch.taken += 1;
            (batch.after.object, batch.after.record) = match &piece.read {
                Read::Record(_) | Read::Invalid(_) => (piece.object, piece.record + 1),
                Read::End { bytes, .. } => {
                    batch.after.counts.bytes += bytes;
                    (piece.object + self.lanes, 0)
                }
            };
        }
        batch
    }

    /// The row of a finding, if its report is wanted.
    fn finding(&self, piece: &Piece, refused: &Refused) -> Option<(Bytes, Bytes)> {
        if !self.reports.contains(&refused.report) {
            return None;
        }
        let (record, item) = match &piece.read {
            Read::Record(record) => (Some(piece.record), Some(EncodedItem::encode(&record.item))),
            Read::Invalid(_) | Read::End { broken: Some(Broken::Record(_)), .. } => {
                (Some(piece.record), None)
            }
            Read::End { .. } => (None, None),
        };
        let finding = StoredFinding {
            key: piece.key.to_string(),
            record,
            text: refused.text.clone(),
            item: item.map(|item| item.as_bytes().to_vec()),
            existing: refused.existing.as_ref().map(|item| item.as_bytes().to_vec()),
        };
        Some(finding.row(self.id, refused.report, (piece.object, piece.record)))
    }
}

/// What a piece puts into the table; nothing at the end of an object.
fn judge(table: &Table, piece: &Piece) -> Result<Option<BoundPut>, Refused> {
    match &piece.read {
        Read::Record(record) => {
            let put = bind_put(table.id, &table.schema, &record.item);
            let put = put.map_err(|fault| Refused::error(&fault.message))?;
            check_condition(&table.schema, record.condition.as_ref())
                .map_err(|fault| Refused::error(&fault.message))?;
            Ok(Some(put))
        }
        Read::Invalid(text) | Read::End { broken: Some(Broken::Record(text) | Broken::Object(text)), .. } => {
            Err(Refused::error(text))
        }
        Read::End { broken: None, .. } => Ok(None),
    }
}

impl Batch {
    /// Makes the lane's next state from what the commit did.
    pub(super) fn after(&self) -> impl Fn(&[Outcome]) -> Lane + Clone + Send + Sync + use<> {
        let before = self.after.clone();
        move |outcomes| {
            let mut lane = before.clone();
            for outcome in outcomes {
                lane.counts.written += 1;
                add_usage(&mut lane, outcome);
            }
            lane
        }
    }
}

/// Adds the bytes of an item and of the entries that were written for it.
fn add_usage(lane: &mut Lane, Outcome { table, change, .. }: &Outcome) {
    let bytes = |item: &EncodedItem| u64::try_from(item.size_bytes()).unwrap_or(u64::MAX);
    lane.usage.table += change.new.as_ref().map_or(0, bytes);
    for (place, index) in &change.indexes {
        let Some((schema, entry)) = table.schema.indexes.get(*place).zip(index.put.as_ref()) else {
            continue;
        };
        let by_name = match schema.kind {
            IndexKind::Local => &mut lane.usage.local_indexes,
            IndexKind::Global => &mut lane.usage.global_indexes,
        };
        *by_name.entry(schema.name.clone()).or_default() += bytes(&entry.value);
    }
}

/// The write units that a put is charged to its table, with its local indexes.
pub(super) fn units(Outcome { table, change, .. }: &Outcome) -> HalfUnits {
    let is_local =
        |place: usize| table.schema.indexes.get(place).is_some_and(|index| index.kind == IndexKind::Local);
    let local = change.indexes.iter().filter(|(place, _)| is_local(*place));
    local.fold(write_units(change.larger_image_bytes(), WriteMode::Plain), |sum, (_, index)| {
        HalfUnits(sum.0 + index.units.0)
    })
}
