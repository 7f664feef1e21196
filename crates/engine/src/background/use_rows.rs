//! The rows by which processes over one store tell each other what they have used of throughput limits.
//!
//! Four times a second each process writes what its requests have used since, and charges what the others
//! wrote to its own buckets. So for a quarter of a second a process knows of its own requests only; what the
//! processes let through too much then is a debt of all of them, which time repays.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Store, Transaction};

use super::members;
use crate::state::Engine;
use crate::state::use_exchange::Span;
use crate::support::fault;
use crate::support::layout::{Space, prefix_range};
use crate::support::member_row::MemberId;
use crate::support::rows::each_row;

/// The time between two exchanges.
const EXCHANGE_MS: u64 = 250;
/// The first byte of a row: its format.
const FORMAT: u8 = 1;

pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<(), Error> {
    if !engine.ledgers().is_used() || !engine.use_exchange().is_due(now_ms, EXCHANGE_MS) {
        return Ok(());
    }
    publish(engine).await?;
    receive(engine).await
}

async fn publish<S: Store>(engine: &Engine<S>) -> Result<(), Error> {
    let uses = engine.ledgers().take_uses();
    if uses.is_empty() {
        return Ok(());
    }
    let spans = engine.use_exchange().publish(uses);
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    txn.put(engine.members().own().row_key(Space::Uses), encode(&spans));
    // Without this commit the next one writes the spans.
    members::ended(txn.commit().await)
}

async fn receive<S: Store>(engine: &Engine<S>) -> Result<(), Error> {
    let own = engine.members().own();
    let mut rows = Vec::new();
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    each_row(&view, prefix_range(vec![Space::Uses.byte()]), |entry| {
        rows.extend(decode(&entry.key, &entry.value).filter(|(member, _)| *member != own));
    })
    .await
    .map_err(|error| fault::storage(&error))?;
    drop(view);
    let uses = engine.use_exchange().receive(rows);
    if uses.is_empty() {
        return Ok(());
    }
    let tables: BTreeMap<_, _> =
        engine.catalogue().all().into_iter().map(|table| (table.id, table)).collect();
    for used in &uses {
        if let Some(table) = tables.get(&used.table()) {
            engine.take_use(table, used);
        }
    }
    Ok(())
}

fn encode(spans: &[Span]) -> Bytes {
    let mut row = vec![FORMAT];
    row.extend(postcard::to_allocvec(spans).expect("plain data is serialized"));
    row.into()
}

/// `None` for a row of another format.
fn decode(key: &[u8], row: &[u8]) -> Option<(MemberId, Vec<Span>)> {
    let member = MemberId::of_row(key)?;
    let spans = postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()?;
    Some((member, spans))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(numbers: std::ops::RangeInclusive<u64>) -> Vec<Span> {
        numbers.map(|number| Span { number, uses: Vec::new() }).collect()
    }

    #[test]
    fn a_row_is_read_as_it_was_written_and_other_formats_are_passed_over() {
        let member = MemberId(7);
        let row = encode(&spans(3..=5));
        let (read, found) = decode(&member.row_key(Space::Uses), &row).expect("it is a row");
        assert_eq!((read, found.len()), (member, 3));
        let newer = [&[FORMAT + 1], row.get(1..).unwrap()].concat();
        assert!(decode(&member.row_key(Space::Uses), &newer).is_none());
    }
}
