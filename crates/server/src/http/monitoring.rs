//! A request on metrics or alarms, in each of CloudWatch's protocols.
//!
//! It does not know what any operation does.

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::Operation;
use keywright_semantics::monitoring::request::Request;
use keywright_semantics::touches::{Action, Resource, Touches};
use keywright_wire::{
    Family, Protocol, decode_monitoring, render_common_error, render_fault, render_monitoring,
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
    /// Answers a request on metrics or alarms in its own protocol, faults too.
    pub(super) async fn serve_monitoring(
        &self,
        context: &RequestContext<'_>,
        (protocol, operation): (Protocol, &str),
        body: RequestBody,
        trace: &mut Trace,
    ) -> Answer {
        match self.monitor(context, (protocol, operation), body, trace).await {
            Ok(answer) => answer,
            Err(error) => {
                trace.note_error(&error);
                self.delay_failed_signature(&error, context.client).await;
                Answer::monitoring(render_common_error(protocol, &error), protocol)
            }
        }
    }

    /// Executes a request on metrics or alarms.
    async fn monitor(
        &self,
        context: &RequestContext<'_>,
        (protocol, operation): (Protocol, &str),
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let expected = (Family::Monitoring(protocol), BodyForm::Short);
        let signed = self.receive_signed(context, expected, body, trace).await?;
        let judge = self.judge(context, &signed.signer)?;
        let asker = Asker::of_network(signed.signer, judge);
        let answer = self.monitored((protocol, operation), asker, &signed.body, trace).await?;
        Ok(answer.expect("a caller who may write is answered"))
    }

    /// The response to a request on metrics or alarms; none if it would change something and may not.
    pub(super) async fn monitored(
        &self,
        (protocol, operation): (Protocol, &str),
        asker: Asker<'_>,
        body: &[u8],
        trace: &mut Trace,
    ) -> Result<Option<Answer>, Error> {
        let (decoded, _memory) =
            self.decode_other(body, || decode_monitoring(protocol, operation, body)).await?;
        let refused = |fault: &_| Answer::monitoring(render_fault(protocol, fault), protocol);
        let (operation, request) = match decoded {
            Ok(decoded) => decoded,
            Err(fault) => {
                asker.permit(Operation::from_name(operation).map(Action::Monitoring))?;
                return Ok(Some(refused(&fault)));
            }
        };
        let touches = touches(operation, &request);
        let admitted = admit(asker, &touches, trace, |_| Ok(request))?;
        let Some(admitted) = admitted else { return Ok(None) };
        let share = self.answer_share(answer_size::of_monitoring(admitted.request())).await?;
        let engine = self.engine()?;
        let changes = admitted.changes_something();
        let work = async move { admitted.monitor(&engine).await };
        Ok(Some(match self.complete(changes, work).await {
            Ok(response) => {
                let render = || render_monitoring(protocol, operation, &response);
                let rendered = self.offload(response.size_estimate_bytes(), render).await;
                Answer::monitoring(rendered, protocol).holding(share)
            }
            Err(fault) => refused(&fault),
        }))
    }
}

/// What a request touches: the alarms that it names, all of them if it names none, else the account (service
/// authorization reference).
fn touches(operation: Operation, request: &Request) -> Touches<'static> {
    let action = Action::Monitoring(operation);
    let resource = |name: String| Resource::Foreign { service: "cloudwatch", name: name.into() };
    let alarms =
        |names: &[String]| Touches::each(action, names.iter().map(|name| resource(format!("alarm:{name}"))));
    match request {
        Request::DeleteAlarms(names)
        | Request::DisableAlarmActions(names)
        | Request::EnableAlarmActions(names) => alarms(names),
        Request::DescribeAlarms(describe) if !describe.names.is_empty() => alarms(&describe.names),
        Request::DescribeAlarmHistory(history) if history.alarm.is_some() => alarms(history.alarm.as_slice()),
        Request::DescribeAlarms(_) | Request::DescribeAlarmHistory(_) => alarms(&["*".to_owned()]),
        Request::PutMetricAlarm(alarm) => alarms(std::slice::from_ref(&alarm.name)),
        Request::SetAlarmState(state) => alarms(std::slice::from_ref(&state.name)),
        Request::GetInsightRuleReport(report) => {
            Touches::each(action, [resource(format!("insight-rule/{}", report.rule))])
        }
        Request::ListTagsForResource(arn) => Touches::each(action, [resource(arn.clone())]),
        Request::DescribeAlarmsForMetric(_)
        | Request::DescribeInsightRules(_)
        | Request::GetMetricData(_)
        | Request::GetMetricStatistics(_)
        | Request::ListMetrics(_)
        | Request::PutMetricData(_) => Touches::account(action),
    }
}
