//! ExecuteStatement.

use keywright_semantics::error::Error;
use keywright_semantics::partiql::Statement;
use keywright_semantics::request::ExecuteStatement;
use keywright_semantics::response::{ExecuteStatementOutput, Response};
use keywright_store::Store;

use super::position::Position;
use super::select::{Reading, select};
use super::write::{WriteReturns, write};
use crate::state::Engine;
use crate::support::env::Caller;

pub(crate) async fn execute_statement<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &ExecuteStatement,
) -> Result<Response, Error> {
    let output = match &request.statement {
        Statement::Select(statement) => {
            let token = request.next_token.as_deref();
            let from = token.map(|token| Position::parse(token, &request.fingerprint)).transpose()?;
            let reading = Reading {
                consistency: request.consistency,
                limit: request.limit,
                capacity: request.capacity,
            };
            let rows = select(engine, caller, statement, reading, from.unwrap_or_default()).await?;
            let last = rows.position.as_ref().and_then(|position| position.after.as_ref());
            ExecuteStatementOutput {
                items: rows.items,
                last_evaluated_key: last.map(keywright_semantics::codec::EncodedItem::encode),
                next_token: rows.position.map(|position| position.to_token(&request.fingerprint)),
                consumed_capacity: rows.consumed_capacity,
            }
        }
        statement => {
            let returns = WriteReturns {
                on_condition_failure: request.on_condition_failure,
                capacity: request.capacity,
            };
            let written = write(engine, caller, statement, returns).await?;
            ExecuteStatementOutput {
                items: written.attributes.into_iter().collect(),
                next_token: None,
                consumed_capacity: written.consumed_capacity,
                last_evaluated_key: None,
            }
        }
    };
    Ok(Response::ExecuteStatement(Box::new(output)))
}
