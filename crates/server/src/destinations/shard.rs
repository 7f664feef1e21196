//! The loop of one shard: reads a page of records, sends it, notes how far it was sent.

use std::time::Duration;

use keywright_engine::{Delivery, DeliveryPage, Engine, PagedRecord, Sent};
use keywright_wire::kinesis::{
    PUT_TARGET, RECORD_BYTES_MAX, RECORDS_MAX, Record, StreamName, first_error, put_body, put_records,
};
use keywright_wire::kinesis_record;

use super::batch::Page;
use super::endpoint::{CallFault, Endpoint};
use super::lanes::Own;
use super::{Begun, Tools};
use crate::storage::any_store::AnyStore;

/// The time between two looks at a shard that has nothing to be sent.
const IDLE: Duration = Duration::from_millis(200);
/// The time until a page that could not be sent is tried again, which doubles up to the second.
const AGAIN_MIN: Duration = Duration::from_millis(500);
const AGAIN_MAX: Duration = Duration::from_secs(15);
/// The time until records of a page that were refused are sent again, and how many calls in succession may
/// put none before the page is given up for a while.
const REFUSED_AGAIN: Duration = Duration::from_millis(100);
const REFUSALS_MAX: u32 = 5;
/// Bytes of a page, in their stored form. As JSON they may take several times as much.
const PAGE_BYTES: usize = 512 * 1024;

/// How a page ended.
enum Outcome {
    /// All that it had is done.
    Done,
    /// There was nothing.
    Nothing,
    /// The shard is gone.
    Gone,
    /// It is to be read again later, for this reason.
    Later(String),
    /// The server stops.
    Stopped,
}

/// Sends the records of a shard as long as it is wanted.
pub(super) async fn run(tools: &Tools, (delivery, shard): (&Delivery, u32), own: &Own, mut begun: Begun) {
    let mut pause = AGAIN_MIN;
    while begun.goes_on() {
        let outcome = round(tools, (delivery, shard), own, &mut begun).await;
        own.set_failing(matches!(outcome, Outcome::Later(_)));
        match outcome {
            Outcome::Gone | Outcome::Stopped => return,
            Outcome::Nothing => {
                pause = AGAIN_MIN;
                begun.pause(IDLE).await;
            }
            Outcome::Done => pause = AGAIN_MIN,
            Outcome::Later(reason) => {
                if pause == AGAIN_MIN && begun.goes_on() {
                    let Delivery { table, stream_arn, .. } = delivery;
                    tracing::warn!("changes of table {table} wait for {stream_arn}: {reason}");
                }
                begun.pause(pause).await;
                pause = (pause * 2).min(AGAIN_MAX);
            }
        }
    }
}

/// One page.
async fn round(tools: &Tools, (delivery, shard): (&Delivery, u32), own: &Own, begun: &mut Begun) -> Outcome {
    let Some(_place) = begun.unless_stopped(tools.lanes.enter(own)).await else { return Outcome::Stopped };
    let Some(engine) = tools.database.engine() else {
        return Outcome::Later("the database is being opened again".to_owned());
    };
    let read = engine.delivery_page(delivery, shard, (RECORDS_MAX, PAGE_BYTES)).await;
    let mut page = match read {
        Ok(Some(page)) => page,
        Ok(None) => return Outcome::Gone,
        Err(error) => return Outcome::Later(error.message),
    };
    tools.figures.note_oldest((delivery.number(), Some(shard)), page.oldest_ms);
    if page.is_empty() {
        return match engine.end_if_delivered(&page).await {
            Ok(()) => Outcome::Nothing,
            Err(error) => Outcome::Later(error.message),
        };
    }
    // The engine is not held during calls: the store may be opened again meanwhile.
    drop(engine);
    let (done, sent, outcome) = send(tools, delivery, &page.records, begun).await;
    let Some(engine) = tools.database.engine() else {
        return Outcome::Later("the database is being opened again".to_owned());
    };
    if let Some(outcome) = note(tools, (delivery, &engine), &mut page, (done, sent)).await {
        return outcome;
    }
    if let Outcome::Later(reason) = &outcome {
        // Where that cannot be noted, the log has it.
        let _ = engine.note_unsent(&mut page, reason).await;
    }
    outcome
}

/// Notes what was sent. Some outcome if that did not succeed.
async fn note(
    tools: &Tools,
    (delivery, engine): (&Delivery, &Engine<AnyStore>),
    page: &mut DeliveryPage,
    (done, sent): (usize, Sent),
) -> Option<Outcome> {
    let dropped = page.dropped;
    match engine.note_sent(page, done, sent).await {
        Ok(true) => {
            let Delivery { table, stream_arn, .. } = delivery;
            if dropped > 0 {
                tracing::warn!(
                    "{dropped} changes of table {table} waited for more than 24 hours and do not reach \
                     {stream_arn}"
                );
            }
            if sent.skipped > 0 {
                tracing::warn!(
                    "{} changes of table {table} are larger than 1 MB and do not reach {stream_arn}",
                    sent.skipped
                );
            }
            tools.figures.note_sent(sent.delivered, dropped, sent.skipped);
            None
        }
        // Another process has gone on: what it has noted is read with the next page.
        Ok(false) => Some(Outcome::Done),
        Err(error) => Some(Outcome::Later(error.message)),
    }
}

/// Sends a page. How many of its first records are done, also if the rest is not, and what was done with
/// them.
async fn send(
    tools: &Tools,
    delivery: &Delivery,
    records: &[PagedRecord],
    begun: &mut Begun,
) -> (usize, Sent, Outcome) {
    let nothing = |reason: &str| (0, Sent::default(), Outcome::Later(reason.to_owned()));
    let Some(endpoint) = &tools.endpoint else {
        return nothing("no Kinesis endpoint is configured: start the server with --kinesis-endpoint");
    };
    let Some(stream) = StreamName::of_arn(&delivery.stream_arn) else {
        return nothing("its ARN is not that of a stream");
    };
    let rendered: Vec<Option<Record>> = records.iter().map(rendered).collect();
    let is_skipped: Vec<bool> = rendered.iter().map(Option::is_none).collect();
    let mut page = Page::new(rendered);
    let sending = send_all(endpoint, (delivery, &stream), &mut page);
    let outcome = begun.unless_stopped(sending).await.unwrap_or(Outcome::Stopped);
    let done = page.done_to();
    let skipped = is_skipped.iter().take(done).filter(|is_skipped| **is_skipped).count();
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let sent = Sent { delivered: count(done - skipped), skipped: count(skipped) };
    (done, sent, outcome)
}

/// A record as it is sent; `None` if it is larger than a stream takes.
fn rendered(paged: &PagedRecord) -> Option<Record> {
    let record = &paged.record;
    let rendered = Record { partition_key: record.partition_key.clone(), data: kinesis_record(record) };
    (rendered.counted_bytes() <= RECORD_BYTES_MAX).then_some(rendered)
}

/// Calls until every record is put, or a call tells that it is better to wait.
async fn send_all(
    endpoint: &Endpoint,
    (delivery, stream): (&Delivery, &StreamName),
    page: &mut Page,
) -> Outcome {
    let mut refusals = 0;
    loop {
        let places = page.next();
        if places.is_empty() {
            return Outcome::Done;
        }
        let body = put_body(&delivery.stream_arn, &stream.name, page.records(&places));
        let answer = match endpoint.call(stream, PUT_TARGET, body).await {
            Ok(answer) => answer,
            Err(fault) => return Outcome::Later(fault.to_string()),
        };
        let Some(are_put) = put_records(&answer, places.len()) else {
            let fault = CallFault::Silent("its answer tells of other records".to_owned());
            return Outcome::Later(fault.to_string());
        };
        for (place, is_put) in places.iter().zip(&are_put) {
            if *is_put {
                page.done(*place);
            }
        }
        if are_put.contains(&false) {
            // A stream that takes some of them is busy, and the rest gets its turn.
            refusals = if are_put.contains(&true) { 1 } else { refusals + 1 };
            if refusals > REFUSALS_MAX {
                let name = first_error(&answer).unwrap_or_default();
                return Outcome::Later(CallFault::Busy(name).to_string());
            }
            tokio::time::sleep(REFUSED_AGAIN * refusals).await;
        }
    }
}
