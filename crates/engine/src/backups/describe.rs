//! DescribeBackup and ListBackups, and backups in responses.

use std::ops::ControlFlow;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::backup as messages;
use keywright_semantics::request::parts::BackupTypeFilter;
use keywright_semantics::request::{DescribeBackup, ListBackups, Throughput as Units};
use keywright_semantics::response::{
    BackupDescription, BackupDetails, BackupStatus, BackupSummary, BackupType, GlobalIndexInfo,
    ListBackupsOutput, LocalIndexInfo, Response, SourceTableDetails, SourceTableFeatureDetails,
    StreamSpecification, TimeToLiveDescription, TimeToLiveStatus, TimestampMs,
};
use keywright_semantics::schema::IndexKind;
use keywright_store::{Direction, Entry, KeyRange, Store};

use super::scope;
use crate::catalogue::backup::{self, Backup, BackupName, Items, Maker};
use crate::catalogue::names::key_schema;
use crate::catalogue::{Table, Throughput};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::rows::each_row_until;
use crate::tables::describe::{on_demand, projection, sse};

/// A backup as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupView {
    /// The name of its table.
    pub table: String,
    /// The backup's id.
    pub id: String,
    /// The backup's name.
    pub name: String,
    /// Whether the system made it when its table was deleted.
    pub is_of_system: bool,
    /// When it was asked for, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it expires; `None` for never.
    pub expires_ms: Option<u64>,
    /// Items of the table at its time.
    pub items: u64,
    /// Bytes of these items.
    pub bytes: u64,
    /// The place that the sealing caller gave; `None` while the table's history is held.
    pub sealed_at: Option<bytes::Bytes>,
    /// The job that seals it.
    pub sealing: Option<String>,
}

impl<S: Store> Engine<S> {
    /// The backups of an account and region, oldest first.
    pub async fn backups(&self, namespace: &Namespace) -> Result<Vec<BackupView>, Error> {
        let mut views = Vec::new();
        let take = |name: BackupName, backup: Backup| {
            let (sealing, place) = match backup.items {
                Items::Held { seal } => (seal, None),
                Items::Sealed { place } => (None, Some(place)),
            };
            views.push(BackupView {
                table: name.table,
                id: name.id,
                name: backup.name,
                is_of_system: backup.maker == Maker::System,
                created_ms: backup.created_ms,
                expires_ms: backup.expires_ms,
                items: backup.item_count,
                bytes: backup.size_bytes,
                sealed_at: place.map(bytes::Bytes::from),
                sealing,
            });
            ControlFlow::Continue(())
        };
        each(self, backup::between(namespace, (None, None), None), |_| true, take).await?;
        Ok(views)
    }
}

pub(crate) async fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeBackup,
) -> Result<Response, Error> {
    request.backup.check_caller(&scope(namespace))?;
    let name = BackupName { table: request.backup.table_name.clone(), id: request.backup.id.clone() };
    let backup = find(engine, namespace, &name).await?.ok_or_else(|| not_found(&request.backup.as_given))?;
    Ok(Response::DescribeBackup(Box::new(description(&backup, &name, namespace)?)))
}

pub(super) fn not_found(arn: &str) -> Error {
    Error::new(ErrorKind::BackupNotFound, messages::not_found(arn))
}

/// The backup of this name.
pub(super) async fn find<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    name: &BackupName,
) -> Result<Option<Backup>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    backup::find(&view, namespace, name).await
}

pub(crate) async fn list<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ListBackups,
) -> Result<Response, Error> {
    request.check_caller(&scope(namespace))?;
    let start = request.exclusive_start.as_ref();
    let after = start.map(|arn| BackupName { table: arn.table_name.clone(), id: arn.id.clone() });
    let range =
        backup::between(namespace, (request.created_from_ms, request.created_before_ms), after.as_ref());
    let is_named = |name: &BackupName| request.table.as_ref().is_none_or(|table| table.name == name.table);
    let mut found: Vec<(BackupName, Backup)> = Vec::new();
    let take = |name: BackupName, backup: Backup| {
        if is_of_type(&backup, request.backup_type) {
            found.push((name, backup));
        }
        // One more tells whether a page follows.
        if found.len() > request.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    each(engine, range, is_named, take).await?;
    let has_more = found.len() > request.limit;
    found.truncate(request.limit);
    let last = found.last().filter(|_| has_more).map(|(name, _)| name.arn(namespace));
    let summaries = found.iter().map(|(name, backup)| summary(backup, name, namespace));
    Ok(Response::ListBackups(ListBackupsOutput {
        summaries: summaries.collect::<Result<_, Error>>()?,
        last_evaluated_backup_arn: last,
    }))
}

fn is_of_type(backup: &Backup, wanted: BackupTypeFilter) -> bool {
    match wanted {
        BackupTypeFilter::User => backup.maker == Maker::User,
        BackupTypeFilter::System => backup.maker == Maker::System,
        BackupTypeFilter::AwsBackup => false,
        BackupTypeFilter::All => true,
    }
}

/// Passes the wanted backups of a range to `take`, oldest first, until it breaks.
pub(super) async fn each<S: Store>(
    engine: &Engine<S>,
    range: KeyRange,
    is_wanted: impl Fn(&BackupName) -> bool + Send + Sync,
    mut take: impl FnMut(BackupName, Backup) -> ControlFlow<()> + Send,
) -> Result<(), Error> {
    let mut outcome = Ok(());
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let take = |entry: &Entry| {
        let Some(name) = backup::name_of_key(&entry.key) else {
            outcome = Err(fault::internal());
            return ControlFlow::Break(());
        };
        if !is_wanted(&name) {
            return ControlFlow::Continue(());
        }
        match Backup::decode(&entry.value) {
            Ok(backup) => take(name, backup),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    };
    let read = each_row_until(&view, (range, Direction::Forward), take);
    read.await.map_err(|error| fault::storage(&error))?;
    outcome
}

pub(super) fn details(backup: &Backup, name: &BackupName, namespace: &Namespace) -> BackupDetails {
    BackupDetails {
        backup_arn: name.arn(namespace),
        backup_name: backup.name.clone(),
        size_bytes: backup.size_bytes,
        status: BackupStatus::Available,
        backup_type: match backup.maker {
            Maker::User => BackupType::User,
            Maker::System => BackupType::System,
        },
        created: TimestampMs(backup.created_ms),
        expires: backup.expires_ms.map(TimestampMs),
    }
}

fn summary(backup: &Backup, name: &BackupName, namespace: &Namespace) -> Result<BackupSummary, Error> {
    let source = backup.source()?;
    Ok(BackupSummary {
        table_name: source.name.clone(),
        table_arn: source.arn(),
        table_id: source.public_id,
        details: details(backup, name, namespace),
    })
}

pub(super) fn description(
    backup: &Backup,
    name: &BackupName,
    namespace: &Namespace,
) -> Result<BackupDescription, Error> {
    let source = backup.source()?;
    let features = match backup.maker {
        Maker::User => features(&source),
        // Observed.
        Maker::System => SourceTableFeatureDetails::default(),
    };
    Ok(BackupDescription {
        details: details(backup, name, namespace),
        source: SourceTableDetails {
            table_name: source.name.clone(),
            table_id: source.public_id.clone(),
            table_arn: source.arn(),
            table_size_bytes: backup.size_bytes,
            key_schema: key_schema(&source.schema.key),
            created: TimestampMs(source.created_ms),
            throughput: units(source.throughput),
            on_demand_throughput: on_demand(source.on_demand),
            item_count: backup.item_count,
            billing_mode: source.billing,
        },
        features,
    })
}

const fn units(throughput: Throughput) -> Units {
    Units { read_units: throughput.read_units, write_units: throughput.write_units }
}

fn features(source: &Table) -> SourceTableFeatureDetails {
    let of_kind =
        |kind: IndexKind| source.indexes_with_states().filter(move |(schema, _)| schema.kind == kind);
    let locals: Vec<LocalIndexInfo> = of_kind(IndexKind::Local)
        .map(|(schema, _)| LocalIndexInfo {
            index_name: schema.name.clone(),
            key_schema: key_schema(&schema.key),
            projection: projection(&schema.projection),
        })
        .collect();
    let globals: Vec<GlobalIndexInfo> = of_kind(IndexKind::Global)
        .map(|(schema, state)| GlobalIndexInfo {
            index_name: schema.name.clone(),
            key_schema: key_schema(&schema.key),
            projection: projection(&schema.projection),
            throughput: units(state.throughput),
            on_demand_throughput: on_demand(state.on_demand),
        })
        .collect();
    let time_to_live = source.ttl.enabled().map(|(_, attribute)| TimeToLiveDescription {
        status: TimeToLiveStatus::Enabled,
        attribute_name: Some(attribute.to_owned()),
    });
    SourceTableFeatureDetails {
        local_indexes: Some(locals).filter(|indexes| !indexes.is_empty()),
        global_indexes: Some(globals).filter(|indexes| !indexes.is_empty()),
        stream: source
            .stream
            .view
            .map(|view| StreamSpecification { stream_enabled: true, stream_view_type: Some(view) }),
        time_to_live,
        sse: source.encryption.as_ref().map(sse),
    }
}
