//! PutItem: replaces a whole item.

use keywright_semantics::error::Error;
use keywright_semantics::request::common::ReturnOld;
use keywright_semantics::request::put_item::PutItem;
use keywright_semantics::response::WriteItemOutput;
use keywright_semantics::schema::TableSchema;
use keywright_store::Store;

use crate::bind::item::{bind_put, check_condition};
use crate::state::Engine;
use crate::support::env::Caller;
use crate::write::change::{Action, Effect};
use crate::write::single_write::{Reported, output, write_one};

pub(crate) async fn put_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &PutItem,
) -> Result<WriteItemOutput, Error> {
    let outcome = write_one(engine, request.on_condition_failure, || bind(engine, caller, request)).await?;
    let attributes = match request.return_values {
        ReturnOld::None => None,
        ReturnOld::AllOld => outcome.change.old.clone(),
    };
    let reported = Reported {
        table_name: &request.table.as_given,
        item: &request.item,
        capacity: request.capacity,
        metrics: request.metrics,
    };
    Ok(output(&outcome, attributes, reported))
}

fn bind<'r, S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &'r PutItem,
) -> Result<Action<'r>, Error> {
    let table = engine.catalogue().lookup(caller, &request.table)?;
    let schema: &TableSchema = &table.schema;
    let put = bind_put(table.id, schema, &request.item)?;
    check_condition(schema, request.condition.as_ref())?;
    Ok(Action { key: put.key, effect: Effect::Put(put.item), condition: request.condition.as_ref(), table })
}
