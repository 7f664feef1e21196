//! DeleteItem: removes an item.

use keywright_semantics::error::Error;
use keywright_semantics::request::delete_item::DeleteItem;
use keywright_semantics::response::WriteItemOutput;
use keywright_store::Store;

use crate::bind::key::bind_key;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::write::change::Effect;
use crate::write::single_write::{WriteTarget, WrittenBy, write_one};

pub(crate) async fn delete_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &DeleteItem,
) -> Result<WriteItemOutput, Error> {
    let target =
        WriteTarget { table: &request.table, item: &request.key, update: None, by: WrittenBy::Operation };
    write_one(engine, caller, target, &request.write, |table| {
        Ok((bind_key(table.id, &table.schema, &request.key)?, Effect::Delete))
    })
    .await
}
