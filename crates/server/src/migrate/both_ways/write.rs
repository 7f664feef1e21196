//! Writes of either table, each sent once: an answer that does not come leaves open whether it was done.

use std::time::Duration;

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use super::super::follow::Interruption;
use super::super::side::Side;
use super::book::Departure;
use super::entry::{Flight, Image};
use super::marker::{State, bare, marked};
use super::request::{self, Request};
use crate::client::endpoint::{Client, Refusal};
use crate::process::failure::Failure;

/// Answers that say that nothing was done, and that the same request may succeed.
const BUSY: [&str; 5] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionConflictException",
    "ReplicatedWriteConflictException",
];

/// Answers that do not say whether something was done.
const UNCLEAR: [&str; 2] = ["InternalServerError", "ServiceUnavailable"];

const UNMET: &str = "ConditionalCheckFailedException";

/// How often a busy table is asked, and the pauses between.
const ATTEMPTS_MAX: u32 = 200;
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// How often a delete is tried while others put the item again.
const DELETES_MAX: u32 = 1_000;

/// Why a session between the tables ends.
#[derive(Debug)]
pub(super) enum Stop {
    /// It is open what was done: as after a kill, the state file has the answer.
    Unclear(Failure),
    Ended(Interruption),
}

impl From<Interruption> for Stop {
    fn from(interruption: Interruption) -> Self {
        Self::Ended(interruption)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Ended(Interruption::Failed(failure))
    }
}

/// What a write has come to.
pub(super) enum Answer {
    Done(Json),
    /// Its condition did not hold.
    Unmet,
}

/// Sends a write, again only while the table is busy.
async fn write(client: &mut Client, (operation, request): &Request) -> Result<Answer, Stop> {
    let mut pause = PAUSE_MIN;
    for _ in 0..ATTEMPTS_MAX {
        let refusal: Refusal = match client.ask(operation, request).await {
            Ok(answer) => return Ok(Answer::Done(answer)),
            Err(refusal) => refusal,
        };
        let kind = refusal.kind.as_str();
        if kind == UNMET {
            return Ok(Answer::Unmet);
        }
        if kind.is_empty() || UNCLEAR.contains(&kind) {
            return Err(Stop::Unclear(refusal.into()));
        }
        if !BUSY.contains(&kind) {
            return Err(Stop::from(Failure::from(refusal)));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Err(Stop::from(Failure::new(format!("{operation}: the table was too busy {ATTEMPTS_MAX} times"))))
}

/// An item as it is now, without the marker.
pub(super) async fn read(client: &mut Client, table: &str, key: &Item) -> Result<Option<Item>, Failure> {
    let (operation, request) = request::get(table, key);
    let answer = client.ask_again(operation, &request).await?;
    let Some(json) = answer.get("Item") else { return Ok(None) };
    Ok(Some(bare(typed(operation, json)?)))
}

fn typed(operation: &str, json: &Json) -> Result<Item, Failure> {
    let read = read_item(json).filter(|read| read.typed);
    let read = read.ok_or_else(|| format!("{operation}: an item is not in DynamoDB's typed form"))?;
    Ok(read.item)
}

/// A change of the first table that is to be written to the second one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) key: Item,
    /// What the second table had when it was read.
    pub(super) was: Option<Item>,
    pub(super) image: Option<Item>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// It was done. This was there before, as its record will say.
    Over(State),
    /// The item was that already: there is no record.
    Unneeded,
    /// The item had changed.
    Refused,
}

pub(super) async fn arrive(
    client: &mut Client,
    side: &Side,
    keys: &[KeyAttribute],
    arrival: &Arrival,
) -> Result<Arrived, Stop> {
    let request =
        request::replace(&side.table, keys, &arrival.key, (arrival.was.as_ref(), arrival.image.as_ref()));
    let Answer::Done(answer) = write(client, &request).await? else { return Ok(Arrived::Refused) };
    let old = answer.get("Attributes").filter(|old| !old.members().is_empty());
    let old = old.map(|old| typed(request.0, old)).transpose()?;
    let state = State::of(old.as_ref());
    Ok(if state == State::of(arrival.image.as_ref()) { Arrived::Unneeded } else { Arrived::Over(state) })
}

/// What became of a change that was sent to the first table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The item was put: its echo will come.
    Put,
    /// The item was deleted by the attempt with this number, which its echo will have.
    Deleted(u32),
    /// There was nothing to delete: no echo will come.
    Nothing,
}

pub(super) async fn send(
    client: &mut Client,
    side: &Side,
    keys: &[KeyAttribute],
    send: &Departure,
) -> Result<Sent, Stop> {
    let expired = match &send.image {
        Image::Put(image) => {
            let request = request::put(&side.table, &marked(image, &send.id));
            return match write(client, &request).await? {
                Answer::Done(_) => Ok(Sent::Put),
                Answer::Unmet => {
                    Err(Failure::new("PutItem: a condition that was not sent is not met").into())
                }
            };
        }
        Image::Delete(before) => before.as_ref().filter(|_| send.is_expiry),
        Image::Unknown => return Err(Failure::new("an item that is not known was about to be sent").into()),
    };
    for attempt in 0..DELETES_MAX {
        let id = Flight::attempt_id(&send.id, attempt);
        let mark = request::mark(&side.table, keys, &send.key, (&id, expired));
        if matches!(write(client, &mark).await?, Answer::Unmet) {
            return Ok(Sent::Nothing);
        }
        // Who puts the item meanwhile, without the marker, has it deleted in the next attempt.
        let delete = request::delete_marked(&side.table, &send.key, &id);
        if matches!(write(client, &delete).await?, Answer::Done(_)) {
            return Ok(Sent::Deleted(attempt));
        }
    }
    Err(Failure::new(format!(
        "{}: an item is put again {DELETES_MAX} times before it is deleted",
        side.table
    ))
    .into())
}
