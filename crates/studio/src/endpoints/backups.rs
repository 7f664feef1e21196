//! Where the items of backups are, which DynamoDB's API has no word for.

use keywright_engine::BackupView;
use keywright_model::json::Json;
use tokio::runtime::Handle;

use super::{Context, Outcome, optional};
use crate::refusal::{Kind, Refusal};

/// Backups of one answer, the newest ones: as many as a page lists.
const LISTED_MAX: usize = 1_000;

/// The newest backups, each with its number of items and with where they are.
pub(super) fn places(context: &Context, _request: &Json) -> Outcome {
    let backups = Handle::current().block_on(context.shared.api.backups(&context.caller.namespace));
    let backups = backups.map_err(|error| Refusal::new(Kind::Internal, error.message))?;
    let newest = backups.iter().rev().take(LISTED_MAX);
    Ok(Json::object([("backups", Json::List(newest.map(shown).collect()))]))
}

fn shown(backup: &BackupView) -> Json {
    Json::object([
        ("table", Json::text(&backup.table)),
        ("id", Json::text(&backup.id)),
        ("items", Json::number(backup.items)),
        ("sealed", Json::Bool(backup.sealed_at.is_some())),
        ("sealing", optional(backup.sealing.as_ref())),
    ])
}
