//! A request on scalable targets, in Application Auto Scaling's protocol.
//!
//! It does not know what any operation does.

use keywright_semantics::error::Error;
use keywright_semantics::scaling::Operation;
use keywright_semantics::scaling::request::Request;
use keywright_semantics::touches::{Action, Resource, Touches};
use keywright_wire::{Family, decode_scaling, render_scaling, render_scaling_error, render_scaling_fault};

use super::admission::{Asker, admit};
use super::answer_size;
use super::context::RequestContext;
use super::receive::BodyForm;
use super::request_trace::Trace;
use super::response::Answer;
use super::service::Service;
use crate::connection::body::RequestBody;

impl Service {
    /// Answers a request on scalable targets, faults too.
    pub(super) async fn serve_scaling(
        &self,
        context: &RequestContext<'_>,
        operation: &str,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Answer {
        match self.scale(context, operation, body, trace).await {
            Ok(answer) => answer,
            Err(error) => {
                trace.note_error(&error);
                self.delay_failed_signature(&error, context.client).await;
                Answer::scaling(render_scaling_error(&error))
            }
        }
    }

    /// Executes a request on scalable targets.
    async fn scale(
        &self,
        context: &RequestContext<'_>,
        operation: &str,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, (Family::Scaling, BodyForm::Short), body, trace).await?;
        let judge = self.judge(context, &signed.signer)?;
        let asker = Asker::of_network(signed.signer, judge);
        let decode = || decode_scaling(operation, &signed.body);
        let (decoded, _memory) = self.decode_other(&signed.body, decode).await?;
        let (operation, request) = match decoded {
            Ok(decoded) => decoded,
            Err(fault) => {
                asker.permit(Operation::from_name(operation).map(Action::Scaling))?;
                return Ok(Answer::scaling(render_scaling_fault(&fault)));
            }
        };
        let touches = touches(operation, &request);
        let admitted = admit(asker, &touches, trace, |_| Ok(request))?;
        let admitted = admitted.expect("a caller who may write is admitted");
        let share = self.answer_share(answer_size::of_scaling(admitted.request())).await?;
        let engine = self.engine()?;
        let changes = admitted.changes_something();
        let work = async move { admitted.scale(&engine).await };
        Ok(match self.complete(changes, work).await {
            Ok(response) => {
                let rendered =
                    self.offload(response.size_estimate_bytes(), || render_scaling(&response)).await;
                Answer::scaling(rendered).holding(share)
            }
            Err(fault) => Answer::scaling(render_scaling_fault(&fault)),
        })
    }
}

/// What a request touches: a scalable target, by its ARN where the request has that, else any: which id a
/// target has is not known before the request is executed. Lists touch the account.
fn touches(operation: Operation, request: &Request) -> Touches<'static> {
    let action = Action::Scaling(operation);
    let target = |name: &str| {
        let name = name.to_owned().into();
        Touches::each(action, [Resource::Foreign { service: "application-autoscaling", name }])
    };
    match request {
        Request::ListTagsForResource(arn)
        | Request::TagResource { arn, .. }
        | Request::UntagResource { arn, .. } => target(arn),
        Request::DeleteScalingPolicy(_)
        | Request::DeleteScheduledAction(_)
        | Request::DeregisterScalableTarget(_)
        | Request::PutScalingPolicy(_)
        | Request::PutScheduledAction(_)
        | Request::RegisterScalableTarget(_) => target("scalable-target/*"),
        Request::DescribeScalableTargets(_)
        | Request::DescribeScalingActivities(_)
        | Request::DescribeScalingPolicies(_)
        | Request::DescribeScheduledActions(_) => Touches::account(action),
    }
}
