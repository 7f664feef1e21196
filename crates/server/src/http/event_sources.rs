//! A request on event source mappings, in Lambda's protocol.
//!
//! It does not know what any operation does. Between admission and execution it asks whether the settings
//! name the targets, which the engine does not know.

use std::borrow::Cow;

use keywright_semantics::error::Error;
use keywright_semantics::event_sources::fault::Fault;
use keywright_semantics::event_sources::request::Request;
use keywright_semantics::operation::Operation;
use keywright_semantics::touches::{Action, Resource, Touch, Touches};
use keywright_wire::{
    Family, RequestLine, decode_event_sources, render_event_sources, render_event_sources_error,
    render_event_sources_fault,
};

use super::admission::{Asker, admit};
use super::answer_size;
use super::context::RequestContext;
use super::receive::BodyForm;
use super::request_trace::Trace;
use super::response::Answer;
use super::service::Service;
use crate::connection::body::RequestBody;

impl Service {
    /// Answers a request on event source mappings, faults too.
    pub(super) async fn serve_event_sources(
        &self,
        context: &RequestContext<'_>,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Answer {
        match self.map_event_sources(context, body, trace).await {
            Ok(answer) => answer,
            Err(error) => {
                trace.note_error(&error);
                self.delay_failed_signature(&error, context.client).await;
                Answer::event_sources(render_event_sources_error(&error))
            }
        }
    }

    /// Executes a request on event source mappings.
    async fn map_event_sources(
        &self,
        context: &RequestContext<'_>,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let expected = (Family::EventSources, BodyForm::Short);
        let signed = self.receive_signed(context, expected, body, trace).await?;
        let head = context.head;
        let line = RequestLine {
            method: head.method.as_str(),
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
        };
        let judge = self.judge(context, &signed.signer)?;
        let asker = Asker::of_network(signed.signer, judge);
        let answer = self.mapped(line, asker, &signed.body, trace).await?;
        Ok(answer.expect("a caller who may write is answered"))
    }

    /// The response to a request on event source mappings; none if it would change something and may not.
    pub(super) async fn mapped(
        &self,
        line: RequestLine<'_>,
        asker: Asker<'_>,
        body: &[u8],
        trace: &mut Trace,
    ) -> Result<Option<Answer>, Error> {
        let (decoded, _memory) = self.decode_other(body, || decode_event_sources(line, body)).await?;
        let refused = |fault: &Fault| Answer::event_sources(render_event_sources_fault(fault));
        let request = match decoded {
            Ok(request) => request,
            Err(fault) => return Ok(Some(refused(&fault))),
        };
        let touches = touches(&request);
        let admitted = admit(asker, &touches, trace, |_| Ok(request))?;
        let Some(admitted) = admitted else { return Ok(None) };
        for target in admitted.request().targets() {
            if let Err(message) = self.targets.check(target) {
                return Ok(Some(refused(&Fault::parameter(message))));
            }
        }
        let share = self.answer_share(answer_size::of_event_sources(admitted.request())).await?;
        let engine = self.engine()?;
        let changes = admitted.changes_something();
        let work = async move { admitted.map_event_sources(&engine).await };
        Ok(Some(match self.complete(changes, work).await {
            Ok(response) => Answer::event_sources(render_event_sources(&response, changes)).holding(share),
            Err(fault) => refused(&fault),
        }))
    }
}

/// What a request touches: the mapping that it names. A new one has no ARN yet; it hands out the records of
/// its stream, so its maker must be allowed to read them.
fn touches(request: &Request) -> Touches<'static> {
    let action = Action::EventSources(request.operation());
    let mapping = |uuid: &str| {
        let name = format!("event-source-mapping:{uuid}").into();
        Touches::each(action, [Resource::Foreign { service: "lambda", name }])
    };
    let own = Touches::account(action);
    let create = match request {
        Request::Create(create) => create,
        Request::Delete(uuid) | Request::Get(uuid) => return mapping(uuid),
        Request::Update(update) => return mapping(&update.uuid),
        Request::List(_) => return own,
    };
    let stream = Resource::Stream(Cow::Owned(create.stream.arn.clone()));
    let reads = [Operation::DescribeStream, Operation::GetShardIterator, Operation::GetRecords];
    let reads = reads.into_iter().map(|operation| Touch::own(operation, stream.clone()));
    Touches::Several(own.as_slice().iter().cloned().chain(reads).collect())
}
