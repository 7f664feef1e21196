//! StartBulkPutItems: one commit that notes the bulk put in its table's record, and makes its job with its
//! lanes.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::BULK_PUTS_MAX;
use keywright_semantics::messages::{bulk as messages, table as table_messages};
use keywright_semantics::request::StartBulkPutItems;
use keywright_semantics::response::Response;
use keywright_store::Store;

use super::describe::described;
use crate::catalogue::{BulkPutting, IndexStatus, OtherRows, Table, TableStatus};
use crate::jobs::bulk_put::{LANES, Lane};
use crate::jobs::rollback::is_at_work_on;
use crate::jobs::row::{BulkPut as BulkPutWork, Job, NewJob, Work, lane_key, new_id};
use crate::jobs::transfer::{Beginning, Verdict};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::tables::create::uuid;
use crate::transfers::bulk_put::BulkPut;
use crate::transfers::row::{Asked, Kind, NewTransfer, Transfer, TransferName, find};
use crate::transfers::token::{self, RequestHash};

/// Tries while others begin bulk puts.
const TRIES_MAX: usize = 20;

/// What a commit has done.
enum Begun {
    New(Box<Transfer>),
    Earlier(TransferName),
    Overtaken,
}

/// A bulk put that is to begin.
struct New<'r> {
    namespace: &'r Namespace,
    request: &'r StartBulkPutItems,
    token: String,
    id: String,
    now_ms: u64,
}

pub(crate) async fn begin<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &StartBulkPutItems,
) -> Result<Response, Error> {
    let now_ms = engine.env().now_ms();
    let token = request.token.clone().unwrap_or_else(|| uuid(engine.env().random_u128()));
    let new = New { namespace, request, token, id: new_id(engine.env(), now_ms), now_ms };
    let transfer = match new.repeated(engine).await? {
        Some(transfer) => transfer,
        None => new.begin(engine).await?,
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    Ok(Response::StartBulkPutItems(Box::new(described(&view, &transfer).await?)))
}

fn in_use(text: String) -> Error {
    Error::new(ErrorKind::ResourceInUse, text)
}

fn limit_exceeded(text: String) -> Error {
    Error::new(ErrorKind::LimitExceeded, text)
}

fn conflict() -> Error {
    Error::new(ErrorKind::IdempotentParameterMismatch, messages::CONFLICT)
}

impl New<'_> {
    const fn hash(&self) -> RequestHash {
        RequestHash(self.request.fingerprint.0)
    }

    /// The bulk put that an earlier request with this token has begun: its table may be gone.
    async fn repeated<S: Store>(&self, engine: &Engine<S>) -> Result<Option<Transfer>, Error> {
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let kind = (self.namespace, Kind::BulkPut);
        token::repeated(&view, kind, (&self.token, self.hash()), self.now_ms, conflict).await
    }

    async fn begin<S: Store>(&self, engine: &Engine<S>) -> Result<Transfer, Error> {
        let table = engine.catalogue().lookup_settled(self.namespace, &self.request.table)?;
        for _ in 0..TRIES_MAX {
            let kind = (self.namespace, Kind::BulkPut);
            let token = (self.token.as_str(), self.hash());
            let beginning = Beginning::prepare(engine, kind, token, BULK_PUTS_MAX, self.now_ms).await?;
            let permit = || engine.pace().check_presence();
            let change = |tables: &mut [Table], rows: &mut OtherRows| self.write(&beginning, tables, rows);
            let keys = beginning.keys();
            let (_, begun) = engine.catalogue().change_all(&[table.target()], &keys, permit, change).await?;
            match begun {
                Begun::New(transfer) => {
                    engine.due().jobs_changed(self.now_ms);
                    return Ok(*transfer);
                }
                Begun::Earlier(name) => {
                    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
                    return find(&view, self.namespace, &name).await?.ok_or_else(fault::internal);
                }
                Begun::Overtaken => {}
            }
        }
        Err(fault::internal())
    }

    /// Writes the bulk put into the commit, if it may begin.
    fn write(
        &self,
        beginning: &Beginning,
        tables: &mut [Table],
        rows: &mut OtherRows,
    ) -> Result<Begun, Error> {
        let [table] = tables else { return Err(fault::internal()) };
        let verdict = beginning.judge(rows, 0)?;
        match verdict {
            Verdict::New | Verdict::TooMany => {}
            Verdict::Repeated(name) => return Ok(Begun::Earlier(name)),
            Verdict::Conflict => return Err(conflict()),
            Verdict::Overtaken => return Ok(Begun::Overtaken),
        }
        check_table(table)?;
        if verdict == Verdict::TooMany {
            return Err(limit_exceeded(messages::too_many(BULK_PUTS_MAX)));
        }
        table.bulk_put = Some(BulkPutting { job: self.id.clone(), is_cancelled: false });
        let transfer = Transfer::new(NewTransfer {
            id: self.id.clone(),
            namespace: self.namespace,
            table_name: table.name.clone(),
            table_id: table.public_id.clone(),
            token: self.token.clone(),
            now_ms: self.now_ms,
            asked: Asked::BulkPut(Box::new(BulkPut::from(self.request))),
        });
        let work = Work::BulkPut(BulkPutWork {
            lanes: LANES,
            next_index_id: table.next_index_id,
            ..BulkPutWork::default()
        });
        let new = NewJob { work, namespace: self.namespace, table, now_ms: self.now_ms };
        beginning.write(&transfer, &Job::with_id(self.id.clone(), new), rows);
        for number in 0..LANES {
            rows.put(lane_key(&self.id, number), Lane::first(number).encode());
        }
        Ok(Begun::New(Box::new(transfer)))
    }
}

/// Checks that items may be put into a table in bulk.
fn check_table(table: &Table) -> Result<(), Error> {
    match table.status {
        TableStatus::Active | TableStatus::Updating => {}
        TableStatus::Creating => return Err(in_use(table_messages::being_created(&table.name))),
        TableStatus::Deleting => return Err(in_use(table_messages::being_deleted(&table.name))),
    }
    let building = table
        .indexes_with_states()
        .find(|(_, state)| state.backfill.is_some() || state.status == IndexStatus::Creating);
    if let Some((index, _)) = building {
        return Err(in_use(messages::index_being_created(&table.name, &index.name)));
    }
    if is_at_work_on(table) {
        return Err(in_use(messages::being_rolled_back(&table.name)));
    }
    if table.bulk_put.is_some() {
        return Err(limit_exceeded(messages::table_has_one(&table.name)));
    }
    Ok(())
}
