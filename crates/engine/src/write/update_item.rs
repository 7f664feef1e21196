//! UpdateItem: changes attributes of an item, or creates it.

use keywright_semantics::error::Error;
use keywright_semantics::request::update_item::UpdateItem;
use keywright_semantics::response::WriteItemOutput;
use keywright_store::Store;

use crate::bind::item::{check_update, check_update_size};
use crate::bind::key::bind_key;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::write::change::Effect;
use crate::write::single_write::{WriteTarget, WrittenBy, write_one};

pub(crate) async fn update_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &UpdateItem,
) -> Result<WriteItemOutput, Error> {
    let update = request.update.as_ref();
    let target = WriteTarget { table: &request.table, item: &request.key, update, by: WrittenBy::Operation };
    write_one(engine, caller, target, &request.write, |table| {
        let key = bind_key(table.id, &table.schema, &request.key)?;
        if let Some(update) = update {
            check_update(&table.schema, update)?;
            check_update_size(update)?;
        }
        Ok((key, Effect::Update { key: &request.key, update }))
    })
    .await
}
