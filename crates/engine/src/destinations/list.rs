//! DescribeKinesisStreamingDestination, and the same with figures for operators.

use keywright_semantics::error::Error;
use keywright_semantics::request::DescribeKinesisStreamingDestination;
use keywright_semantics::response::{DestinationDescription, DestinationsDescription, Response};
use keywright_store::{LogRead, Snapshot, Store};

use super::table_of;
use crate::catalogue::{ChangeLog, Counts, Destination, Phase, Table};
use crate::changes::delivered::{self, Cursor};
use crate::changes::record::written_ms;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::log_of;

/// A destination with figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationView {
    /// The table.
    pub table: String,
    /// The destination as clients see it.
    pub description: DestinationDescription,
    /// Records that were sent since it was enabled.
    pub delivered: u64,
    /// Records that were given up because of their age.
    pub dropped: u64,
    /// Records that were passed over because of their size.
    pub skipped: u64,
    /// How old the oldest record is that waits to be sent, in milliseconds; 0 if none waits.
    pub lag_ms: u64,
    /// Why it could not be sent yet.
    pub waits_for: Option<String>,
}

pub(crate) fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeKinesisStreamingDestination,
) -> Result<Response, Error> {
    let table = table_of(engine, namespace, &request.table)?;
    let now_ms = engine.env().now_ms();
    let destinations = table.destinations.all.iter().map(|destination| described(destination, now_ms));
    Ok(Response::DescribeKinesisStreamingDestination(DestinationsDescription {
        table_name: table.name.clone(),
        destinations: destinations.collect(),
    }))
}

fn described(destination: &Destination, now_ms: u64) -> DestinationDescription {
    let status = destination.status(now_ms);
    let description = match &destination.phase {
        Phase::Failed(why) if destination.settled_ms <= now_ms => Some(why.clone()),
        Phase::Failed(_) | Phase::Enabling | Phase::Active | Phase::Updating | Phase::Disabled => None,
    };
    DestinationDescription {
        stream_arn: destination.stream_arn.clone(),
        status,
        description,
        precision: destination.precision.map(Into::into),
    }
}

impl<S: Store> Engine<S> {
    /// The destinations of an account and region, in the order of tables.
    pub async fn destinations(&self, namespace: &Namespace) -> Result<Vec<DestinationView>, Error> {
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut views = Vec::new();
        for table in self.catalogue().named(namespace) {
            for destination in &table.destinations.all {
                views.push(self.view_of(&view, &table, destination).await?);
            }
        }
        Ok(views)
    }

    async fn view_of(
        &self,
        view: &S::Snapshot,
        table: &Table,
        destination: &Destination,
    ) -> Result<DestinationView, Error> {
        let now_ms = self.env().now_ms();
        let (mut counts, mut oldest_ms, mut waits_for) = (destination.ended, None::<u64>, None);
        let logs = table.destination_logs().filter(|(_, terms)| terms.id == destination.id);
        for (log, _) in logs {
            let figures = figures(view, table, log).await?;
            counts = counts.plus(figures.counts);
            oldest_ms = oldest_ms.into_iter().chain(figures.oldest_ms).min();
            waits_for = waits_for.or(figures.waits_for);
        }
        Ok(DestinationView {
            table: table.name.clone(),
            description: described(destination, now_ms),
            delivered: counts.delivered,
            dropped: counts.dropped,
            skipped: counts.skipped,
            lag_ms: oldest_ms.map_or(0, |oldest_ms| now_ms.saturating_sub(oldest_ms)),
            waits_for,
        })
    }
}

#[derive(Default)]
struct Figures {
    counts: Counts,
    oldest_ms: Option<u64>,
    waits_for: Option<String>,
}

async fn figures(view: &impl Snapshot, table: &Table, log: &ChangeLog) -> Result<Figures, Error> {
    let mut figures = Figures::default();
    for shard in &log.shards {
        let row = delivered::read(view, table.id, shard.number).await?;
        let cursor = Cursor::decode(row.as_ref())?;
        figures.counts = figures.counts.plus(cursor.counts);
        let id = log_of(table.id, shard.number);
        let read = LogRead { id, after: cursor.after(shard), entries_max: 1, bytes_max: 1 };
        let next = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
        if let Some(entry) = next.first() {
            let written = written_ms(&entry.bytes).map_err(|_| fault::internal())?;
            figures.oldest_ms = figures.oldest_ms.into_iter().chain([written]).min();
            figures.waits_for = figures.waits_for.or(cursor.waits_for);
        }
    }
    Ok(figures)
}
