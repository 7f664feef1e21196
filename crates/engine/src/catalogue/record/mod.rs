//! A table's stored record: a format byte, the record's version (u64), then what the format says.
//!
//! Format 3 is a list of tagged sections (`framing`), each a small struct of its own (`sections`). Formats 1
//! and 2 are one struct each (`untagged`); which format is written is decided by `format`.

mod framing;
mod schema;
mod sections;
mod untagged;

pub(super) use sections::{critical_tags, known_tags};

use super::change_log::{ChangeLog, Purpose};
use super::destination::Destinations;
use super::history::History;
use super::policies::Policies;
use super::refused::RefusedTable;
use super::rows::record_version;
use super::table::Table;

/// The format of records in sections.
pub(super) const TAGGED: u8 = 3;
/// Bytes before the sections: the format and the record's version.
const HEAD_BYTES: usize = 9;

/// Whether a table has history, is being restored, or has a bulk put at work: only releases that know such
/// jobs may serve it.
pub(super) fn has_history(table: &Table) -> bool {
    table.history != History::default() || table.filling.is_some() || table.bulk_put.is_some()
}

/// Whether a table has policies: a release that does not know them must not serve it.
pub(super) fn has_policies(table: &Table) -> bool {
    table.policies != Policies::default()
}

/// Whether a table has destinations, or logs of some: only releases that know them may serve it.
pub(super) fn has_destinations(table: &Table) -> bool {
    table.destinations != Destinations::default() || table.destination_logs().next().is_some()
}

/// Whether a table is in a group of replicas, or left one: only releases that write versions may serve it.
pub(super) fn has_replicas(table: &Table) -> bool {
    let is_for_replicas = |log: &ChangeLog| log.purpose == Purpose::Replication;
    table.replication.is_some() || table.has_old_versions || table.logs.iter().any(is_for_replicas)
}

/// Whether a table's rows are those of a strongly consistent group, or streams of one are left: only releases
/// that know the other names may serve it.
pub(super) fn is_strong(table: &Table) -> bool {
    let is_of_other = |log: &ChangeLog| matches!(&log.purpose, Purpose::Stream(terms) if terms.owner != 0);
    table.strong.is_some() || table.logs.iter().any(is_of_other)
}

/// Why a stored table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordFault {
    UnknownFormat(Option<u8>),
    Malformed(String),
    /// The record is whole, but says what this release does not know and must not ignore.
    Refused(Box<RefusedTable>),
}

impl std::fmt::Display for RecordFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownFormat(Some(version)) => {
                write!(formatter, "its format version is {version}, which this release does not know")
            }
            Self::UnknownFormat(None) => formatter.write_str("it is empty"),
            Self::Malformed(text) => formatter.write_str(text),
            Self::Refused(table) => formatter.write_str(&table.sentence()),
        }
    }
}

/// A table's record in sections.
pub(crate) fn encode(table: &Table) -> Vec<u8> {
    let mut record = vec![TAGGED];
    record.extend_from_slice(&table.version.to_be_bytes());
    sections::encode(table, &mut record);
    record
}

/// A table's record in the newest format that releases without sections read.
pub(super) fn encode_untagged(table: &Table) -> Vec<u8> {
    untagged::encode(table)
}

/// The table of a record of any format.
pub(crate) fn decode(bytes: &[u8]) -> Result<Table, RecordFault> {
    match bytes.first().copied() {
        Some(TAGGED) => {
            let cut_short = || RecordFault::Malformed("it is cut short".to_owned());
            let version = record_version(bytes).ok_or_else(cut_short)?;
            sections::decode(version, bytes.get(HEAD_BYTES..).ok_or_else(cut_short)?)
        }
        Some(untagged::FORMAT_FIRST | untagged::FORMAT) => untagged::decode(bytes),
        format => Err(RecordFault::UnknownFormat(format)),
    }
}

/// A tagged record with one more section, as a later release may write it.
#[cfg(test)]
pub(crate) fn with_section(record: &[u8], tag: u16, is_critical: bool, bytes: &[u8]) -> Vec<u8> {
    let (head, rest) = record.split_at(HEAD_BYTES);
    let mut sections = framing::read(rest).expect("a record in sections");
    sections.push(framing::Section { tag, is_critical, bytes });
    sections.sort_by_key(|section| section.tag);
    let mut changed = head.to_vec();
    framing::write(&sections, &mut changed);
    changed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use keywright_semantics::schema::{BillingMode, StreamView, TableClass};

    use super::*;
    use crate::catalogue::insights::{InsightsMode, InsightsPhase, InsightsState};
    use crate::catalogue::table::{
        ClassState, DoomedIndex, LaterSection, ModeChanges, OnDemandLimits, Throughput, Warm, WarmJob,
    };
    use crate::catalogue::table_state::{EncryptionState, KeyChange, TableStatus};
    use crate::catalogue::{BulkPutting, Founding, NewLog, NewMember, Replication, StreamTerms, TtlState};
    use crate::support::layout::IndexId;
    use crate::support::member_row::MemberId;
    use crate::support::stamp::Stamp;
    use crate::tests::harness::{bench, namespace, seeds};

    fn table() -> Table {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        (*table).clone()
    }

    /// A table that has, by chance, any of what a record holds.
    fn random_table(seed: u64) -> Table {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut table = table();
        let maybe = |random: &mut fastrand::Rng| random.bool().then(|| random.u64(..));
        table.version = random.u64(..);
        table.status = random.choice([TableStatus::Active, TableStatus::Deleting]).expect("one of two");
        table.status_until_ms = random.u64(..);
        table.billing =
            random.choice([BillingMode::Provisioned, BillingMode::PayPerRequest]).expect("one of two");
        table.on_demand_since_ms = maybe(&mut random);
        table.throughput = Throughput { read_units: random.u64(..), ..Throughput::default() };
        table.on_demand = OnDemandLimits { read_units_max: Some(7), write_units_max: None };
        table.warm = maybe(&mut random).map(|read_units| Warm { read_units, write_units: 1 });
        if random.bool() {
            let view = StreamView::OldImage;
            let label = random.u64(..).to_string();
            let purpose = Purpose::Stream(StreamTerms { label, view, settled_ms: 2, owner: 0 });
            table.open_log(NewLog { purpose, opened_ms: 1, after: 3 }, 2);
        }
        if random.bool() {
            table.ttl.enable("e", random.u64(..), 1);
        }
        if random.bool() {
            let (schema, state) = (table.schema.indexes.remove(0), table.states.remove(0));
            table.doomed_indexes.push(DoomedIndex { schema, state });
        }
        table.class = maybe(&mut random)
            .map(|at| ClassState { class: TableClass::StandardInfrequentAccess, changed_ms: Some(at) });
        table.encryption = maybe(&mut random).map(|key| EncryptionState { key_arn: key.to_string() });
        table.deletion_protection = random.bool();
        table.deletion_protection_changed_ms = maybe(&mut random);
        table.tags = (0..random.usize(..3)).map(|at| (at.to_string(), "v".to_owned())).collect();
        table.mode_changes =
            ModeChanges { to_on_demand_ms: maybe(&mut random).into_iter().collect(), class_ms: vec![] };
        let insights = InsightsState {
            phase: InsightsPhase::On,
            mode: InsightsMode::Throttled,
            rules_ms: random.u64(..),
            changed_ms: 8,
            settled_ms: 9,
        };
        table.insights = random.bool().then_some((None, insights)).into_iter().collect();
        let wanted = Warm { read_units: 1, write_units: 2 };
        table.warm_jobs = maybe(&mut random)
            .map(|done_ms| WarmJob { index: Some(IndexId(1)), wanted, done_ms })
            .into_iter()
            .collect();
        table.copied_bytes = maybe(&mut random);
        table
    }

    #[test]
    fn any_table_reads_back_from_its_record_in_either_form() {
        for seed in seeds(50) {
            let mut table = random_table(seed);
            assert_eq!(decode(&encode_untagged(&table)).as_ref(), Ok(&table), "seed {seed}");
            table.key_change =
                Some(KeyChange { began_ms: seed, until_ms: seed + 1, before: table.encryption.clone() });
            table.later = vec![LaterSection { tag: 99, bytes: vec![7; 3] }];
            table.history.enable_recovery(seed, 35, Stamp::first_of(seed));
            assert!(table.history.hold("backup", Stamp::first_of(seed + 1)));
            table.policies.put(None, "{}".to_owned(), seed);
            table.policies.put(Some("label".to_owned()), "{}".to_owned(), seed);
            table.policies.remove(Some("label".to_owned()), seed);
            if seed % 3 == 0 {
                let group = Replication::found(&table, seed);
                table.enter_group(group, (seed, 4));
            }
            if seed % 3 == 1 {
                let new = [NewMember { region: "eu-west-1", public_id: "other" }];
                let when = Founding { now_ms: seed, shown_from_ms: seed + 1, active_ms: seed + 2 };
                table.found_strong((&new, Some("us-west-2")), |_| None, when);
                let terms = StreamTerms {
                    label: seed.to_string(),
                    view: StreamView::KeysOnly,
                    settled_ms: seed,
                    owner: 1,
                };
                table.open_log(NewLog { purpose: Purpose::Stream(terms), opened_ms: seed, after: 5 }, 1);
            }
            table.copied_by = table.copied_bytes.map(|bytes| MemberId(u128::MAX - u128::from(bytes)));
            table.bulk_put = Some(BulkPutting { job: "job".to_owned(), is_cancelled: seed % 2 == 0 });
            let record = encode(&table);
            let read = decode(&record).expect("it was just written");
            assert_eq!(read, table, "seed {seed}");
            assert_eq!(encode(&read), record, "seed {seed}: the same table has the same bytes");
        }
    }

    #[test]
    fn a_plain_table_has_no_section_that_says_nothing() {
        let mut plain = table();
        plain.ttl = TtlState::default();
        plain.tags = BTreeMap::new();
        let sections = framing::read(&encode(&plain)[HEAD_BYTES..]).expect("it was just written").len();
        plain.tags.insert("k".to_owned(), "v".to_owned());
        let tagged = framing::read(&encode(&plain)[HEAD_BYTES..]).expect("it was just written").len();
        assert!(tagged == sections + 1 && sections < 7, "{sections}");
    }

    #[test]
    fn no_bytes_make_reading_a_record_panic_and_no_part_of_one_is_read() {
        for seed in seeds(20) {
            let mut random = fastrand::Rng::with_seed(seed);
            let record = encode(&random_table(seed));
            for end in 0..record.len() {
                assert!(decode(&record[..end]).is_err(), "seed {seed}, cut at {end}");
            }
            for _ in 0..200 {
                let mut damaged = record.clone();
                for _ in 0..random.usize(1..4) {
                    let place = random.usize(..damaged.len());
                    damaged[place] = random.u8(..);
                }
                let _read_or_refused = decode(&damaged);
            }
            let length = random.usize(..300);
            let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
            let _refused = decode(&[&[TAGGED; 9], noise.as_slice()].concat());
        }
        assert_eq!(decode(&[9; 40]), Err(RecordFault::UnknownFormat(Some(9))));
    }

    #[test]
    fn a_section_with_more_bytes_than_its_content_is_damage() {
        let record = encode(&table());
        let (head, rest) = record.split_at(HEAD_BYTES);
        let sections = framing::read(rest).expect("it was just written");
        for place in 0..sections.len() {
            let longer = [sections[place].bytes, &[0]].concat();
            let mut sections = sections.clone();
            sections[place].bytes = &longer;
            let mut damaged = head.to_vec();
            framing::write(&sections, &mut damaged);
            assert!(matches!(decode(&damaged), Err(RecordFault::Malformed(_))), "section {place}");
        }
    }

    #[test]
    fn an_unknown_optional_section_is_written_again_byte_for_byte() {
        for tag in [15, 99, 0x7fff] {
            let record = with_section(&encode(&table()), tag, false, b"of a later release");
            let mut read = decode(&record).expect("an optional section may be ignored");
            assert_eq!(encode(&read), record);
            read.tags.insert("k".to_owned(), "v".to_owned());
            assert_eq!(decode(&encode(&read)).map(|table| table.later), Ok(read.later));
        }
    }

    #[test]
    fn an_unknown_critical_section_refuses_the_table_by_name_and_says_what_it_holds() {
        for (tag, contents) in [(98, "section 98"), (99, "section 99")] {
            let record = with_section(&encode(&table()), tag, true, b"of a later release");
            let Err(RecordFault::Refused(refused)) = decode(&record) else { panic!("it is refused") };
            assert_eq!((refused.id, refused.name.as_str()), (table().id, "t"));
            let sentence = refused.sentence();
            for part in ["table t ", contents, "Run a release that knows it"] {
                assert!(sentence.contains(part), "{sentence}");
            }
        }
    }
}
