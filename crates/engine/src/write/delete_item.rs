//! DeleteItem: removes an item.

use keywright_semantics::error::Error;
use keywright_semantics::request::common::ReturnOld;
use keywright_semantics::request::delete_item::DeleteItem;
use keywright_semantics::response::WriteItemOutput;
use keywright_store::Store;

use crate::bind::item::check_condition;
use crate::bind::key::bind_key;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::write::change::{Action, Effect};
use crate::write::single_write::{Reported, output, write_one};

pub(crate) async fn delete_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &DeleteItem,
) -> Result<WriteItemOutput, Error> {
    let outcome = write_one(engine, request.on_condition_failure, || bind(engine, caller, request)).await?;
    let attributes = match request.return_values {
        ReturnOld::None => None,
        ReturnOld::AllOld => outcome.change.old.clone(),
    };
    let reported = Reported {
        table_name: &request.table.as_given,
        item: &request.key,
        capacity: request.capacity,
        metrics: request.metrics,
    };
    Ok(output(&outcome, attributes, reported))
}

fn bind<'r, S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &'r DeleteItem,
) -> Result<Action<'r>, Error> {
    let table = engine.catalogue().lookup(caller, &request.table)?;
    let key = bind_key(table.id, &table.schema, &request.key)?;
    check_condition(&table.schema, request.condition.as_ref())?;
    Ok(Action { key, effect: Effect::Delete, condition: request.condition.as_ref(), table })
}
