//! A table is filled from the copy of a backup. Nothing of a chunk is written before its sums were compared.

use std::time::Duration;

use bytes::Bytes;
use keywright_engine::{ObjectJob, Row};

use super::{Stop, Tools};
use crate::storage::copies::Copy;

/// Bytes of rows that the engine is given at a time. A job that goes on after a kill gives it the same rows
/// again, and the engine skips those that it has.
const FEED_BYTES: usize = 1024 * 1024;
/// The time between two looks at a clock that was late.
const WAIT_MAX: Duration = Duration::from_millis(100);

pub(super) async fn load(tools: &Tools, mut job: ObjectJob, at: &Bytes, from: Bytes) -> Result<(), Stop> {
    let copy = Copy::read(at)?;
    let (place, chain) = tools.backups.chain(&copy).await?;
    let after = (!from.is_empty()).then_some(from);
    let rows_max = tools.engine()?.load_rows_at_once();
    let mut rows = chain.rows(&place, after.as_ref(), tools.job_memory_bytes);
    let (mut page, mut bytes): (Vec<Row>, usize) = (Vec::new(), 0);
    loop {
        let row = rows.next().await.map_err(|fault| copy.fault(&fault, &place))?;
        let is_last = row.is_none();
        if let Some((key, value)) = row {
            bytes += key.len() + value.len();
            page.push(Row { key, value });
        }
        if let Some(last) = page.last().filter(|_| is_last || bytes >= FEED_BYTES || page.len() >= rows_max) {
            // A row shares the memory of its block.
            let next = Bytes::copy_from_slice(&last.key);
            let loaded = tools.engine()?.load_rows(&job, std::mem::take(&mut page), &next).await?;
            job = loaded.ok_or(Stop::Overtaken)?;
            bytes = 0;
            wait(tools).await;
        }
        if is_last {
            tools.engine()?.end_loading(&job).await?;
            return Ok(());
        }
    }
}

/// Waits until the rows that were written have had their time. A clock that stands may be moved at any time.
pub(super) async fn wait(tools: &Tools) {
    while let Ok(engine) = tools.engine() {
        let wait_ms = engine.load_wait_ms();
        drop(engine);
        if wait_ms == 0 {
            return;
        }
        let wait = Duration::from_millis(tools.database.clock().real_ms(wait_ms));
        tokio::time::sleep(wait.min(WAIT_MAX)).await;
    }
}
