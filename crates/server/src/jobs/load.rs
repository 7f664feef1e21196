//! A table is filled from the copy of a backup. Nothing of a chunk is written before its sums were compared.

use bytes::Bytes;
use keywright_archive::{Access, Chain, Fault, Place};
use keywright_engine::{ObjectJob, Row};

use super::copies::Copy;
use super::{Stop, Tools};

/// Bytes of rows that the engine is given at a time. A job that goes on after a kill gives it the same rows
/// again, and the engine skips those that it has.
const FEED_BYTES: usize = 1024 * 1024;

pub(super) async fn load(tools: &Tools, mut job: ObjectJob, at: &Bytes, from: Bytes) -> Result<(), Stop> {
    if tools.to.is_none() {
        let message =
            "its backup stands in a backup store, and none is set: start the server with --backup-to";
        return Err(Stop::Failed { code: "NoBackupStore", message: message.to_owned() });
    }
    let copy = Copy::read(at)?;
    let place = tools.place(Access::Read)?;
    let stop = |fault: &Fault| stop_of(fault, &copy, &place);
    let chain = Chain::read(&place, &copy.path()?).await.map_err(|fault| stop(&fault))?;
    let after = (!from.is_empty()).then_some(from);
    let mut rows = chain.rows(&place, after.as_ref(), tools.job_memory_bytes);
    let (mut page, mut bytes): (Vec<Row>, usize) = (Vec::new(), 0);
    loop {
        let row = rows.next().await.map_err(|fault| stop(&fault))?;
        let is_last = row.is_none();
        if let Some((key, value)) = row {
            bytes += key.len() + value.len();
            page.push(Row { key, value });
        }
        if let Some(last) = page.last().filter(|_| is_last || bytes >= FEED_BYTES) {
            // A row shares the memory of its block.
            let next = Bytes::copy_from_slice(&last.key);
            let count = page.len();
            let loaded = tools.engine()?.load_rows(&job, std::mem::take(&mut page), &next).await?;
            job = loaded.ok_or(Stop::Overtaken)?;
            bytes = 0;
            tools.pace.pass(count).await;
        }
        if is_last {
            tools.engine()?.end_loading(&job).await?;
            return Ok(());
        }
    }
}

/// A fault of the copy, with what helps if it stands elsewhere.
fn stop_of(fault: &Fault, copy: &Copy, place: &Place) -> Stop {
    match Stop::of(fault) {
        Stop::Failed { code, message } if fault.is_missing() => {
            let advice = copy.advice(&place.to_string()).map(|advice| format!("; {advice}"));
            Stop::Failed { code, message: message + &advice.unwrap_or_default() }
        }
        stop => stop,
    }
}
