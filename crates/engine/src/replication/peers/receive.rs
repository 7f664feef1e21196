//! Writing a batch that a remote member sends, together with the place that it moves the sender to.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::messages::table as messages;
use keywright_store::Store;

use super::message::{Answer, Batch, RefusalKind, Row};
use super::received::{self, Received};
use crate::bind::key::bind_item_key;
use crate::catalogue::{Member, Table, remote_table};
use crate::changes::replicated::Way;
use crate::replication::apply::{Sent, conflict};
use crate::replication::clocks;
use crate::replication::pair::COMMIT_ITEMS_MAX;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{TableId, within_items};
use crate::support::links::Route;
use crate::support::stamp::Stamp;
use crate::support::version::Version;
use crate::write::change::{Incoming, Outcome};
use crate::write::group::{GroupEnd, GroupKind, binding_steps, run};
use crate::write::own_row::{NewProgress, OwnRow};
use crate::write::version_rows::Deleted;

/// The longest name of a region that a version may have.
const REGION_BYTES_MAX: usize = 64;
/// No clock is later: the end of the year 9999, in milliseconds since 1970.
const STAMP_MS_MAX: u64 = 253_402_300_799_999;

/// Writes a batch that is meant for this table.
pub(crate) async fn receive<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    batch: &Batch,
) -> Result<Answer, Error> {
    let remote = remote_table(&batch.ends.from);
    let route = Route {
        account: &table.account,
        table: &table.name,
        from: (&batch.ends.from_region, remote),
        to: (&table.region, table.id),
    };
    if engine.links().is_cut(&route, engine.env().now_ms()) {
        return Ok(Answer::Held);
    }
    if is_lost(engine, (table.id, remote)).await? {
        return Ok(Answer::Lost);
    }
    let (received, row) = received::read(engine, (table.id, remote)).await?;
    let follows = batch.moves == received.moves || Some(batch.moves) == received.moves.checked_add(1);
    if !follows && !batch.begins_pass {
        return Ok(Answer::Elsewhere { moves: received.moves });
    }
    let Some(sent) = read(table, batch) else {
        let text = "a batch holds a row that is none of this table".to_owned();
        return Ok(Answer::Refused { kind: RefusalKind::Invalid, text });
    };
    let next = Received { moves: batch.moves, writes: received.writes + 1, mark: batch.mark }.encode();
    let own = OwnRow::Progress(NewProgress {
        key: received::key(table.id, remote),
        before: row,
        after: Box::new(move |_| next.clone()),
        others: Vec::new(),
    });
    let bytes = |one: &Sent| one.incoming.item.as_ref().map_or(0, EncodedItem::size_bytes);
    let steps = binding_steps(sent.iter().map(bytes).sum());
    let bind = || {
        let table = engine.catalogue().newest(table);
        if !table.as_member().is_some_and(Member::receives) {
            return Err(Error::new(ErrorKind::ResourceNotFound, messages::RESOURCE_NOT_FOUND));
        }
        sent.iter().map(|one| one.action(&table)).collect()
    };
    match run(engine, GroupKind::Replicated, Some(&own), steps, bind).await? {
        GroupEnd::Written(outcomes) => {
            note(engine, (table, batch), &sent, &outcomes);
            Ok(Answer::Taken)
        }
        GroupEnd::Overtaken | GroupEnd::Conflict(_) => Ok(Answer::Later),
        GroupEnd::Refused(_) | GroupEnd::Replayed(_) | GroupEnd::TooLarge | GroupEnd::Throttled(_) => {
            Err(fault::internal())
        }
    }
}

/// Whether a remote member is lost to a table here: both send each other nothing then.
pub(crate) async fn is_lost<S: Store>(
    engine: &Engine<S>,
    (table, remote): (TableId, TableId),
) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let cursor = Way { sender: table, receiver: remote }.read(&view).await?;
    Ok(cursor.is_some_and(|(cursor, _)| cursor.is_lost()))
}

/// Lists the conflicts that a batch has ended.
fn note<S: Store>(engine: &Engine<S>, (table, batch): (&Table, &Batch), sent: &[Sent], outcomes: &[Outcome]) {
    assert_eq!(sent.len(), outcomes.len(), "each row has its outcome");
    let now_ms = engine.env().now_ms();
    let regions = (batch.ends.from_region.as_str(), table.region.as_str());
    let found = sent.iter().zip(outcomes);
    let found = found.filter_map(|(sent, outcome)| conflict(regions, sent, outcome, now_ms)).collect();
    engine.shipping().note_conflicts(table.id, found);
    clocks::note(engine, (regions.0, remote_table(&batch.ends.from)), table, sent.iter().map(Sent::versions));
}

/// The rows of a batch as writes of a table; `None` if one is not whole. Nothing that the sender says of keys
/// is believed.
fn read(table: &Table, batch: &Batch) -> Option<Vec<Sent>> {
    if batch.rows.len() > COMMIT_ITEMS_MAX {
        return None;
    }
    batch.rows.iter().map(|row| read_row(table, row)).collect()
}

/// A row of a message as a write of a table; `None` if it is not whole.
pub(in crate::replication) fn read_row(table: &Table, row: &Row) -> Option<Sent> {
    let image = EncodedItem::from_stored(Bytes::copy_from_slice(&row.image)).ok()?;
    image.validate().ok()?;
    if image.size_bytes() > ITEM_BYTES_MAX || !is_sound(&row.version) {
        return None;
    }
    let key = bind_item_key(table.id, &table.schema, &image.decode()).ok()?;
    let (item, deleted) = match row.deleted {
        None => (Some(image), None),
        Some(at) if is_possible(at) => {
            let keys = image.view().encode_subset(|name| table.schema.key.contains(name));
            (None, Some(Deleted { at, keys }))
        }
        Some(_) => return None,
    };
    assert_ne!(item.is_some(), deleted.is_some(), "a row is an item or a deletion");
    let incoming = Incoming { version: row.version.clone(), item, deleted };
    Some(Sent { within: within_items(&key.row), incoming, replaced: row.replaced.clone() })
}

/// Whether a version can be one of a change: later changes must be able to go above it.
pub(in crate::replication) fn is_sound(version: &Version) -> bool {
    version.region.len() <= REGION_BYTES_MAX && is_possible(version.stamp)
}

fn is_possible(stamp: Stamp) -> bool {
    stamp.ms() < STAMP_MS_MAX
}

#[cfg(test)]
mod tests {
    use keywright_semantics::value::{AttributeValue, Item};

    use super::*;
    use crate::replication::peers::message::Ends;
    use crate::tests::harness::{bench, namespace};

    fn row(names: &[&str], stamp: Stamp) -> Row {
        let value = |name: &&str| ((*name).to_owned(), AttributeValue::S("v".to_owned()));
        let item: Item = names.iter().map(value).collect();
        let version = Version { stamp, region: "eu-west-1".to_owned() };
        let image = EncodedItem::encode(&item).as_bytes().to_vec();
        Row { version, image, deleted: None, replaced: None }
    }

    #[test]
    fn rows_without_key_or_with_an_impossible_version_are_none_of_the_table() {
        let bench = bench();
        let table = bench.engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let whole = row(&["pk", "sk", "x"], Stamp::first_of(5));
        assert!(read_row(&table, &whole).is_some());
        assert!(read_row(&table, &row(&["pk", "x"], Stamp::first_of(5))).is_none());
        assert!(read_row(&table, &row(&["pk", "sk"], Stamp::first_of(u64::MAX))).is_none());
        assert!(read_row(&table, &Row { image: vec![1, 2, 3], ..whole.clone() }).is_none());
        let dead = read_row(&table, &Row { deleted: Some(Stamp::first_of(6)), ..whole.clone() });
        let dead = dead.expect("a deletion");
        assert!(dead.incoming.item.is_none());
        assert_eq!(dead.incoming.deleted.map(|deleted| deleted.keys.decode().len()), Some(2));
        let ends = Ends {
            name: "t".to_owned(),
            group: String::new(),
            from_region: String::new(),
            from: String::new(),
            to_region: String::new(),
            to: String::new(),
        };
        let rows = vec![whole; COMMIT_ITEMS_MAX + 1];
        let batch = Batch { ends, moves: 1, begins_pass: false, made_ms: 0, mark: None, rows };
        assert!(read(&table, &batch).is_none(), "a commit of more rows than one has");
    }
}
