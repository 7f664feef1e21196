//! PutItem: replaces a whole item.

use keywright_semantics::error::Error;
use keywright_semantics::request::put_item::PutItem;
use keywright_semantics::response::WriteItemOutput;
use keywright_store::Store;

use crate::bind::item::bind_put;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::write::change::Effect;
use crate::write::single_write::{WriteTarget, WrittenBy, write_one};

pub(crate) async fn put_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &PutItem,
) -> Result<WriteItemOutput, Error> {
    let target =
        WriteTarget { table: &request.table, item: &request.item, update: None, by: WrittenBy::Operation };
    write_one(engine, caller, target, &request.write, |table| {
        let put = bind_put(table.id, &table.schema, &request.item)?;
        Ok((put.key, Effect::Put(put.item)))
    })
    .await
}
