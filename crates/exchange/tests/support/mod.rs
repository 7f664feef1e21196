//! Shared by the tests of other tools' formats: what the tests of models share, and live tables.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use keywright_exchange::live::LiveTable;
use keywright_model::json::Json;

#[path = "../../../model/tests/support/mod.rs"]
mod shared;

pub use shared::*;

/// A live table of which only the description and some items are known.
pub fn live_table(description: &str, items: Vec<Json>) -> LiveTable {
    LiveTable {
        description: Json::parse(description).expect("JSON"),
        time_to_live: None,
        backups: None,
        other_settings: Vec::new(),
        unanswered: Vec::new(),
        items,
    }
}
