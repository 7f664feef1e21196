//! PutMetricData: values of clients' own metrics, in rows like those of tables' metrics.
//!
//! What is acknowledged is in the store. Each process adds to rows of its own, and readers add them up.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::metric_data::{PutMetricData, Values};
use keywright_semantics::monitoring::response::Response;
use keywright_store::{CommitError, Store, StoreError, Transaction};

use super::{failed, now};
use crate::metrics::client_series::ClientSeries;
use crate::metrics::rows::{
    Grain, SeriesHash, decode_point, decode_series, directory_key, directory_prefix, encode_point,
    encode_series, names_clients_series, point_key,
};
use crate::metrics::series::{Place, Series};
use crate::metrics::tally::{Reported, Tally};
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::rows::each_row;
use crate::support::{fault, layout};

const HOUR_MINUTES: u64 = 60;
/// Points that one commit adds to.
const COMMIT_POINTS_MAX: usize = 100;
/// Only the removal of old points meets a commit, so a few attempts suffice.
const ATTEMPTS_MAX: usize = 10;

/// A series and a minute, with what is added to it.
type Addition = ((Series, u64), Tally);

pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: PutMetricData,
) -> Result<Response, Fault> {
    request.check_times(now(engine))?;
    let additions = additions(place, request, engine.env().now_ms() / MINUTE_MS);
    let mut known = engine.metrics().reporting.lock().await;
    for piece in additions.chunks(COMMIT_POINTS_MAX) {
        add(engine, place, &mut known, piece).await?;
    }
    Ok(Response::Done)
}

/// What a request adds, each series and minute once.
fn additions(place: &Place, request: PutMetricData, this_minute: u64) -> Vec<Addition> {
    let mut sums: BTreeMap<(Series, u64), Tally> = BTreeMap::new();
    for datum in request.data {
        let minute =
            datum.time.map_or(this_minute, |time| u64::try_from(time.0).unwrap_or_default() / MINUTE_MS);
        let reported = match datum.values {
            Values::Each(values) => Reported::of_values(&values).expect("a checked request has values"),
            Values::Set { sum, count, min, max } => Reported::of_set(sum, count, (min, max)),
        };
        let series = Series::named(place, Some(&request.namespace), &datum.metric, datum.dimensions);
        Tally::Reported(BTreeMap::from([(datum.unit, reported)])).add_to(&mut sums, (series, minute));
    }
    sums.into_iter().collect()
}

/// Adds to some points, in one commit.
async fn add<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    known: &mut ClientSeries,
    piece: &[Addition],
) -> Result<(), Fault> {
    let process = engine.members().own().0;
    let key =
        |((series, minute), _): &Addition| point_key(Grain::Minute, SeriesHash::of(series), *minute, process);
    let keys: Vec<Bytes> = piece.iter().map(key).collect();
    let unlisted = unlisted(engine, piece);
    let listing: Vec<Bytes> = unlisted.keys().map(|series| directory_key(*series)).collect();
    for _ in 0..ATTEMPTS_MAX {
        let mut txn = engine.store().begin().await.map_err(|error| storage(&error))?;
        let stored = txn.get_for_write(&keys).await.map_err(|error| storage(&error))?;
        for ((key, (_, tally)), before) in keys.iter().zip(piece).zip(stored) {
            let mut sum = tally.clone();
            if let Some(before) = before {
                sum.merge(decode_point(&before).ok_or_else(|| failed(fault::internal()))?);
            }
            txn.put(key.clone(), encode_point(&sum));
        }
        let rows = txn.get_for_write(&listing).await.map_err(|error| storage(&error))?;
        let added = rows.iter().filter(|row| row.is_none()).count();
        check_room(engine, place, known, added).await?;
        for ((series, hour), row) in unlisted.values().zip(rows) {
            let before = row.as_deref().and_then(decode_series).map_or(0, |(_, hour)| hour);
            txn.put(directory_key(SeriesHash::of(series)), encode_series(series, before.max(*hour)));
        }
        match txn.commit().await {
            Ok(_version) => {
                let listed = unlisted.iter().map(|(series, (_, hour))| (*series, *hour));
                engine.metrics().note_listed(listed);
                known.add(place, added);
                return Ok(());
            }
            Err(CommitError::Conflict) => {}
            Err(CommitError::Failed(error)) => return Err(storage(&error)),
            Err(CommitError::TooLarge | CommitError::Unknown) => return Err(failed(fault::internal())),
        }
    }
    Err(failed(fault::internal()))
}

/// The series that the directory does not list in the hour of their points.
fn unlisted<'p, S: Store>(
    engine: &Engine<S>,
    piece: &'p [Addition],
) -> BTreeMap<SeriesHash, (&'p Series, u64)> {
    let mut unlisted: BTreeMap<SeriesHash, (&Series, u64)> = BTreeMap::new();
    for ((series, minute), _) in piece {
        let (hash, hour) = (SeriesHash::of(series), minute / HOUR_MINUTES);
        if !engine.metrics().is_listed(hash, hour) {
            let known = unlisted.entry(hash).or_insert((series, hour));
            known.1 = known.1.max(hour);
        }
    }
    unlisted
}

/// Refuses series beyond the bound; counts them first where that was not done yet.
async fn check_room<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    known: &mut ClientSeries,
    added: usize,
) -> Result<(), Fault> {
    if added > 0 && !known.is_counted() {
        *known = counted(engine).await.map_err(failed)?;
    }
    if known.has_room(place, added) {
        return Ok(());
    }
    Err(Fault::new(
        FaultKind::LimitExceeded,
        "The account or the server has as many metrics of its own as it can have. Use fewer namespaces, \
         metrics or dimensions.",
    ))
}

/// Counts the series of clients.
async fn counted<S: Store>(engine: &Engine<S>) -> Result<ClientSeries, Error> {
    let mut series = ClientSeries::counting();
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let read = each_row(&view, layout::prefix_range(directory_prefix()), |entry| {
        if let Some((one, _)) = decode_series(&entry.value).filter(|_| names_clients_series(&entry.value)) {
            series.add(&one.place, 1);
        }
    });
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(series)
}

fn storage(error: &StoreError) -> Fault {
    failed(fault::storage(error))
}
