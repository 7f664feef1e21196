//! After a stop at any moment: what was done of what the book says is under way.
//!
//! Both streams are read ahead to their present ends, without taking anything in:
//!
//! - A change that was sent is under way if its echo is there; otherwise it is unsent.
//! - A write of the second table is to be expected if its record is there; otherwise it was not done, and the
//!   item is looked at again.
//!
//! The images of unsent changes are then read from the second table. If it has something else, a later change
//! is in its stream, or the bridge wrote over it: either way this one is obsolete.

use std::collections::{BTreeMap, VecDeque};

use keywright_exchange::table_key::key_text;
use keywright_semantics::schema::KeyAttribute;

use super::super::follow::{Record, Stream};
use super::super::side::Side;
use super::book::Book;
use super::entry::{Image, Own, Recheck};
use super::marker::State;
use super::reader::Reader;
use super::write::{Stop, read};
use crate::client::endpoint::Client;

/// One table, with its stream.
pub(super) struct End<'e> {
    pub(super) side: &'e Side,
    pub(super) stream: &'e Stream,
}

/// Finds out what was done.
pub(super) async fn recover(
    book: &mut Book,
    keys: &[KeyAttribute],
    (first, second): (End<'_>, End<'_>),
) -> Result<(), Stop> {
    if book.entries.values().any(|entry| entry.flight.is_some()) {
        let reader = Reader::open(first.side, first.stream.clone(), book.first.clone()).await?;
        find_echoes(book, keys, reader).await?;
    }
    if book.entries.values().any(|entry| !entry.own.is_empty()) {
        let reader = Reader::open(second.side, second.stream.clone(), book.second.clone()).await?;
        find_own(book, keys, reader).await?;
    }
    let mut client = second.side.connect().await?;
    read_unsent(book, &mut client, second.side).await?;
    book.prune();
    Ok(())
}

/// Turns back the flights without an echo.
async fn find_echoes(book: &mut Book, keys: &[KeyAttribute], mut reader: Reader) -> Result<(), Stop> {
    let mut awaited: BTreeMap<String, bool> = book
        .entries
        .iter()
        .filter(|(_, entry)| entry.flight.is_some())
        .map(|(text, _)| (text.clone(), false))
        .collect();
    let mut left = awaited.len();
    let entries = &book.entries;
    let look = |record: &Record| {
        let text = key_text(keys, &record.change.key);
        let flight = entries.get(&text).and_then(|entry| entry.flight.as_ref());
        if let (Some(flight), Some(is_found)) = (flight, awaited.get_mut(&text))
            && !*is_found
            && flight.is_echo(record)
        {
            *is_found = true;
            left -= 1;
        }
        left == 0
    };
    reader.read_to_end(look).await?;
    for (text, _) in awaited.into_iter().filter(|(_, is_found)| !is_found) {
        if let Some(entry) = book.entries.get_mut(&text) {
            entry.turn_back();
        }
    }
    Ok(())
}

/// Keeps the own writes that have a record, with what they were written over, and gives up the others.
async fn find_own(book: &mut Book, keys: &[KeyAttribute], mut reader: Reader) -> Result<(), Stop> {
    let mut found: BTreeMap<String, VecDeque<Own>> = BTreeMap::new();
    let mut left: BTreeMap<String, VecDeque<Own>> = BTreeMap::new();
    for (text, entry) in book.entries.iter().filter(|(_, entry)| !entry.own.is_empty()) {
        left.insert(text.clone(), entry.own.clone());
    }
    let look = |record: &Record| {
        let text = key_text(keys, &record.change.key);
        let after = State::of(record.change.image.as_ref());
        if let Some(own) = left.get_mut(&text)
            && let Some(place) = own.iter().position(|own| own.after == after)
        {
            own.drain(..=place);
            let before = State::of(record.before.as_ref());
            found.entry(text.clone()).or_default().push_back(Own { before, after });
            if own.is_empty() {
                left.remove(&text);
            }
        }
        left.is_empty()
    };
    reader.read_to_end(look).await?;
    for (text, entry) in book.entries.iter_mut().filter(|(_, entry)| !entry.own.is_empty()) {
        entry.own = found.remove(text).unwrap_or_default();
        if left.contains_key(text) && entry.unsent.is_none() {
            entry.recheck = Recheck::Due;
        }
    }
    Ok(())
}

/// Reads the images of unsent changes.
async fn read_unsent(book: &mut Book, client: &mut Client, second: &Side) -> Result<(), Stop> {
    for entry in book.entries.values_mut() {
        let Some(unsent) = &mut entry.unsent else { continue };
        if unsent.image != Image::Unknown {
            continue;
        }
        let item = read(client, &second.table, &entry.key).await?;
        if unsent.is_expiry || State::of(item.as_ref()) != unsent.state {
            entry.drop_unsent();
        } else {
            unsent.image = item.map_or(Image::Delete(None), Image::Put);
        }
    }
    Ok(())
}
