//! UpdateItem: changes attributes of an item, or creates it.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::request::parts::ReturnValue;
use keywright_semantics::request::update_item::UpdateItem;
use keywright_semantics::response::WriteItemOutput;
use keywright_store::Store;

use crate::bind::item::{check_condition, check_update, check_update_size};
use crate::bind::key::bind_key;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::write::change::{Action, Change, Effect};
use crate::write::single_write::{Reported, output, write_one};

pub(crate) async fn update_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &UpdateItem,
) -> Result<WriteItemOutput, Error> {
    let outcome = write_one(engine, request.on_condition_failure, || bind(engine, caller, request)).await?;
    let attributes = returned(&outcome.change, request.return_values);
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
    request: &'r UpdateItem,
) -> Result<Action<'r>, Error> {
    let table = engine.catalogue().lookup(caller, &request.table)?;
    let key = bind_key(table.id, &table.schema, &request.key)?;
    let update = request.update.as_ref();
    if let Some(update) = update {
        check_update(&table.schema, update)?;
        check_update_size(update)?;
    }
    check_condition(&table.schema, request.condition.as_ref())?;
    let effect = Effect::Update { key: &request.key, update };
    Ok(Action { key, effect, condition: request.condition.as_ref(), table })
}

pub(crate) fn returned(change: &Change, values: ReturnValue) -> Option<EncodedItem> {
    match values {
        ReturnValue::None => None,
        ReturnValue::AllOld => change.old.clone(),
        ReturnValue::AllNew => change.new.clone(),
        ReturnValue::UpdatedOld => {
            let (updated, old) = (change.updated.as_ref()?, change.old.as_ref()?);
            Some(EncodedItem::encode(&updated.updated_old(&old.decode())))
        }
        ReturnValue::UpdatedNew => {
            let updated = change.updated.as_ref()?;
            Some(EncodedItem::encode(&updated.updated_new(&updated.new)))
        }
    }
}
