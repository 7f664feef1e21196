//! The responses of the PartiQL operations.

use keywright_semantics::response::{
    BatchExecuteStatementOutput, ExecuteStatementOutput, ExecuteTransactionOutput, StatementError,
    StatementResponse,
};

use super::items::ItemResponse;
use super::writer::{Array, Render, Writer};

pub(super) fn statement(writer: &mut Writer, output: &ExecuteStatementOutput) {
    writer.object(|members| {
        members.put("Items", Array(&output.items));
        members.put_if("NextToken", output.next_token.as_ref());
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_ref());
        members.put_if("LastEvaluatedKey", output.last_evaluated_key.as_ref());
    });
}

pub(super) fn batch(writer: &mut Writer, output: &BatchExecuteStatementOutput) {
    writer.object(|members| {
        members.put("Responses", Array(&output.responses));
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_deref().map(Array));
    });
}

pub(super) fn transaction(writer: &mut Writer, output: &ExecuteTransactionOutput) {
    writer.object(|members| {
        members.put_array("Responses", output.responses.iter().map(|item| ItemResponse(item.as_ref())));
        members.put_if("ConsumedCapacity", output.consumed_capacity.as_deref().map(Array));
    });
}

impl Render for StatementResponse {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("Error", self.error.as_ref());
            members.put_if("TableName", self.table_name.as_ref());
            members.put_if("Item", self.item.as_ref());
        });
    }
}

impl Render for StatementError {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("Code", self.code);
            members.put("Message", &self.message);
            members.put_if("Item", self.item.as_ref());
        });
    }
}
