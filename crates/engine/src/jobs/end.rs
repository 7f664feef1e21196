//! The end of a job: one commit that moves its row to the ended ones, and does what belongs to it.

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_store::Store;

use super::row::{Job, State};
use super::table_of;
use crate::catalogue::{OtherRows, Table};
use crate::state::Engine;
use crate::support::layout::TableId;

/// Ends a job, and changes tables and other rows with it. Tables that are gone are left out. `change` finds
/// the rows of `others` after its own, from place 1 on. False if the job has ended already.
pub(crate) async fn end<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    state: &State,
    (tables, others): (&[TableId], &[Bytes]),
    change: impl Fn(&mut [Table], &mut OtherRows) -> Result<(), Error>,
) -> Result<bool, Error> {
    let mut present = Vec::with_capacity(tables.len());
    for id in tables {
        if table_of(engine, *id).await?.is_some() {
            present.push(*id);
        }
    }
    let keys: Vec<Bytes> = std::iter::once(job.open_key()).chain(others.iter().cloned()).collect();
    let now_ms = engine.env().now_ms();
    let finish = |tables: &mut [Table], rows: &mut OtherRows| {
        let Some(stored) = rows.found(0).and_then(|row| Job::decode(row)) else { return Ok(false) };
        rows.delete(stored.open_key());
        rows.put(stored.ended_key(), stored.ended(state.clone(), now_ms).encode());
        change(tables, rows)?;
        Ok(true)
    };
    let changed = engine.catalogue().change_all(&present, &keys, || Ok(()), finish).await;
    match changed {
        Ok((_, is_ended)) => {
            engine.due().jobs_changed(now_ms);
            Ok(is_ended)
        }
        // A table is gone meanwhile: a later step leaves it out.
        Err(error) if error.kind == ErrorKind::ResourceNotFound => {
            engine.catalogue().follow(now_ms).await?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The state of a job that cannot go on.
pub(crate) fn failed(code: &str, message: impl Into<String>) -> State {
    State::Failed { code: code.to_owned(), message: message.into() }
}
