//! ExportTableToPointInTime: an export begins with a hold on its table's history, so what is exported is as
//! of its time, however long that takes and also if the table is deleted meanwhile.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::{EXPORT_WINDOW_MS_MAX, EXPORTS_MAX};
use keywright_semantics::messages::{backup as backup_messages, export as messages};
use keywright_semantics::request::parts::FilterSpecificationParts;
use keywright_semantics::request::{ExportTable, ExportWindow, S3Encryption};
use keywright_semantics::response::Response;
use keywright_semantics::value::Item;
use keywright_store::Store;

use super::describe::description;
use super::scope;
use crate::catalogue::{OtherRows, Table, TableStatus};
use crate::history::cut::Cut;
use crate::jobs::export::{Filter, parts_of};
use crate::jobs::row::{self as jobs, Job, NewJob, Work, new_id};
use crate::jobs::transfer::{Beginning, Verdict};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::stamp::Stamp;
use crate::tables::create::uuid;
use crate::transfers::export::{Encryption, Export, Extent, FilterTexts, Format, View};
use crate::transfers::row::{self, Asked, Kind, NewTransfer, Transfer, TransferName};
use crate::transfers::token::{self, RequestHash};

/// Tries while others begin exports.
const TRIES_MAX: usize = 20;
/// The ids of increments are whole seconds (observed).
const MS_PER_SECOND: u64 = 1000;

/// What a commit has done.
enum Begun {
    New(Box<Transfer>),
    Earlier(TransferName),
    Overtaken,
}

pub(crate) async fn begin<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ExportTable,
) -> Result<Response, Error> {
    request.check_caller(&scope(namespace))?;
    if let Some(transfer) = repeated(engine, namespace, request).await? {
        return Ok(Response::ExportTableToPointInTime(Box::new(description(&transfer)?)));
    }
    let not_found =
        || Error::new(ErrorKind::TableNotFound, messages::table_not_found(request.table.as_given()));
    let table = match engine.catalogue().lookup_any(namespace, &request.table) {
        Ok(table) if is_exportable(&table) => table,
        Err(error) if error.kind != ErrorKind::ResourceNotFound => return Err(error),
        Ok(_) | Err(_) => return Err(not_found()),
    };
    let asking = Asking::of(request, &table)?;
    let now_ms = engine.env().now_ms();
    asking.check_window(&table, now_ms, engine.config().export_window_ms_min)?;
    let new_token = uuid(engine.env().random_u128());
    let token = request.token.as_deref().unwrap_or(&new_token);
    let id = asking.new_id(engine, now_ms);
    for _ in 0..TRIES_MAX {
        let hash = hash_of(request);
        let kind = (namespace, Kind::Export);
        let beginning = Beginning::prepare(engine, kind, (token, hash), EXPORTS_MAX, now_ms).await?;
        let cut = Cut::prepare(engine, now_ms).await?;
        let change = |tables: &mut [Table], rows: &mut OtherRows| {
            let moment = cut.draw(engine, tables);
            let [table] = tables else { return Err(fault::internal()) };
            if !is_exportable(table) {
                return Err(not_found());
            }
            let span = asking.span(table, (moment, now_ms), engine.config().pitr_lag_ms)?;
            match beginning.judge(rows, 0)? {
                Verdict::New => {}
                Verdict::Repeated(name) => return Ok(Begun::Earlier(name)),
                Verdict::Conflict => return Err(Error::new(ErrorKind::ExportConflict, messages::CONFLICT)),
                Verdict::TooMany => {
                    return Err(Error::new(ErrorKind::LimitExceeded, messages::too_many(EXPORTS_MAX)));
                }
                Verdict::Overtaken => return Ok(Begun::Overtaken),
            }
            if !table.history.hold(&id, span.from.unwrap_or(span.to)) {
                return Err(Error::new(ErrorKind::InvalidExportTime, messages::TIME_INVALID));
            }
            // No later change comes before the end of what is exported.
            table.history.note_cut(span.to);
            let transfer = Transfer::new(NewTransfer {
                id: id.clone(),
                namespace,
                table_name: table.name.clone(),
                table_id: table.public_id.clone(),
                token: token.to_owned(),
                now_ms,
                asked: Asked::Export(Box::new(asking.stored(span))),
            });
            let parts = parts_of(engine, table, asking.filter.as_ref());
            let work = Work::Export(jobs::Export::new((span.from, span.to), parts));
            let job = Job::with_id(id.clone(), NewJob { work, namespace, table, now_ms });
            beginning.write(&transfer, &job, rows);
            Ok(Begun::New(Box::new(transfer)))
        };
        let permit = || engine.pace().check_presence();
        let changed =
            engine.catalogue().change_all(&[table.target()], &beginning.keys(), permit, change).await?;
        let transfer = match changed.1 {
            Begun::New(transfer) => {
                engine.due().jobs_changed(now_ms);
                *transfer
            }
            Begun::Earlier(name) => {
                let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
                row::find(&view, namespace, &name).await?.ok_or_else(fault::internal)?
            }
            Begun::Overtaken => continue,
        };
        return Ok(Response::ExportTableToPointInTime(Box::new(description(&transfer)?)));
    }
    Err(fault::internal())
}

/// What a request asks for.
const fn hash_of(request: &ExportTable) -> RequestHash {
    RequestHash(request.fingerprint.0)
}

/// The export that the same request with the same token has begun, also if its table is gone. A token of
/// another request is refused later, after the checks of the request itself.
async fn repeated<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ExportTable,
) -> Result<Option<Transfer>, Error> {
    let Some(token) = &request.token else { return Ok(None) };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let conflict = || Error::new(ErrorKind::ExportConflict, messages::CONFLICT);
    let kind = (namespace, Kind::Export);
    let now_ms = engine.env().now_ms();
    match token::repeated(&view, kind, (token, hash_of(request)), now_ms, conflict).await {
        Err(error) if error.kind == ErrorKind::ExportConflict => Ok(None),
        found => found,
    }
}

/// A table that is being created or deleted is none of an export.
const fn is_exportable(table: &Table) -> bool {
    matches!(table.status, TableStatus::Active | TableStatus::Updating)
}

/// The stamps that an export is between.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Option<Stamp>,
    to: Stamp,
    /// The end as a time, for clients.
    to_ms: u64,
}

/// What a request asks for, checked as far as that is possible before the commit.
struct Asking<'r> {
    request: &'r ExportTable,
    window: ExportWindow,
    encryption: S3Encryption,
    filter: Option<Filter>,
}

impl<'r> Asking<'r> {
    fn of(request: &'r ExportTable, table: &Table) -> Result<Self, Error> {
        let (window, encryption) = (request.window()?, request.encryption()?);
        let filter = request.filter()?.map(|filter| Filter::bind(filter, table)).transpose()?;
        Ok(Self { request, window, encryption, filter })
    }

    /// The rules of an increment's window that do not depend on recovery.
    fn check_window(&self, table: &Table, now_ms: u64, least_ms: u64) -> Result<(), Error> {
        let ExportWindow::Increment { from_ms, to_ms, .. } = self.window else { return Ok(()) };
        let invalid = |text: String| Err(Error::new(ErrorKind::InvalidExportTime, text));
        if from_ms / MS_PER_SECOND < table.created_ms / MS_PER_SECOND {
            return invalid(messages::from_before_creation(table.created_ms));
        }
        let window_ms = to_ms.unwrap_or(now_ms).checked_sub(from_ms);
        if window_ms.is_none_or(|window_ms| window_ms < least_ms) {
            return invalid(messages::window_too_short(least_ms));
        }
        if to_ms.is_some_and(|to_ms| to_ms > now_ms) {
            return invalid(messages::to_in_future(now_ms));
        }
        if window_ms.is_some_and(|window_ms| window_ms > EXPORT_WINDOW_MS_MAX) {
            return invalid(messages::WINDOW_TOO_LONG.to_owned());
        }
        Ok(())
    }

    /// The stamps, as the table's recovery allows them. `moment` was drawn in the commit.
    fn span(&self, table: &Table, (moment, now_ms): (Stamp, u64), lag_ms: u64) -> Result<Span, Error> {
        let invalid = |text: &str| Error::new(ErrorKind::InvalidExportTime, text);
        let Some(earliest_ms) = table.history.earliest_ms(now_ms) else {
            let text = backup_messages::recovery_not_enabled(&table.name);
            return Err(Error::new(ErrorKind::PointInTimeRecoveryUnavailable, text));
        };
        let is_before = |ms: u64| ms / MS_PER_SECOND < earliest_ms / MS_PER_SECOND;
        // The earliest second stands for the state in which recovery was turned on.
        let begin = |ms: u64| Stamp::first_of(ms.max(earliest_ms)).max(table.history.since());
        let end = |ms: Option<u64>| match ms {
            Some(ms) if ms > now_ms || is_before(ms) => Err(invalid(messages::TIME_INVALID)),
            Some(ms) if ms > now_ms.saturating_sub(lag_ms) => Err(invalid(messages::TIME_TOO_RECENT)),
            Some(ms) => Ok((begin(ms), ms)),
            // All that was answered before the request, and no part of a millisecond.
            None => {
                let whole = Stamp::first_of(moment.ms());
                let to = if whole == moment { whole } else { Stamp::first_of(moment.ms() + 1) };
                Ok((to, to.ms()))
            }
        };
        match self.window {
            ExportWindow::Full { at_ms } => {
                let (to, to_ms) = end(at_ms)?;
                Ok(Span { from: None, to, to_ms })
            }
            ExportWindow::Increment { from_ms, to_ms, .. } => {
                if is_before(from_ms) {
                    return Err(invalid(messages::TIME_INVALID));
                }
                let (to, to_ms) = end(to_ms)?;
                Ok(Span { from: Some(begin(from_ms)), to, to_ms })
            }
        }
    }

    fn new_id<S: Store>(&self, engine: &Engine<S>, now_ms: u64) -> String {
        let ms = match self.window {
            ExportWindow::Full { .. } => now_ms,
            ExportWindow::Increment { .. } => now_ms - now_ms % MS_PER_SECOND,
        };
        new_id(engine.env(), ms)
    }

    fn stored(&self, span: Span) -> Export {
        let request = self.request;
        Export {
            bucket: request.bucket.clone(),
            bucket_owner: request.bucket_owner.clone(),
            prefix: request.prefix.clone(),
            encryption: Encryption::of(self.encryption.clone()),
            format: Format::of(request.format),
            extent: match self.window {
                ExportWindow::Full { .. } => Extent::Full { at_ms: span.to_ms },
                ExportWindow::Increment { from_ms, view, .. } => {
                    Extent::Increment { from_ms, to_ms: span.to_ms, view: View::of(view) }
                }
            },
            filter: request.filter.as_ref().map(texts),
            manifest: None,
        }
    }
}

fn texts(parts: &FilterSpecificationParts) -> FilterTexts {
    let values = parts.expression_attribute_values.as_ref().map(|values| {
        let valid =
            values.iter().filter_map(|(name, value)| Some((name.clone(), value.as_ref().ok()?.clone())));
        EncodedItem::encode(&valid.collect::<Item>()).as_bytes().to_vec()
    });
    FilterTexts {
        key_condition: parts.key_condition_expression.clone(),
        filter: parts.filter_expression.clone(),
        projection: parts.projection_expression.clone(),
        names: parts.expression_attribute_names.clone(),
        values,
    }
}
