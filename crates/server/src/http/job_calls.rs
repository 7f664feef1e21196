//! Our own calls about jobs: their list, and rollbacks.
//!
//! Their forms are in `jobs` and `rollbacks`.

use hyper::body::Incoming;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_wire::Family;

use super::context::RequestContext;
use super::jobs::{self, Question};
use super::receive::BodyForm;
use super::request_trace::Trace;
use super::response::Answer;
use super::rollbacks::{self, Wish};
use super::service::Service;

impl Service {
    /// Answers how the jobs of the caller's account and region stand.
    pub(super) async fn serve_jobs(
        &self,
        context: &RequestContext<'_>,
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, (Family::DynamoDb, BodyForm::Short), body, trace).await?;
        let (engine, namespace) = (self.engine()?, &signed.caller.namespace);
        let jobs = match jobs::read(&signed.body)? {
            Question::Newest(limit) => engine.jobs(Some(namespace), limit).await?,
            Question::One(id) => {
                let job = engine.job(&id).await?.filter(|job| job.namespace == *namespace);
                let missing = || Error::new(ErrorKind::ResourceNotFound, format!("There is no job {id}"));
                vec![job.ok_or_else(missing)?]
            }
        };
        Ok(Answer::json(jobs::shown(&jobs).compact().into_bytes(), None))
    }

    /// Begins a rollback, or answers a page of what it would do.
    pub(super) async fn serve_rollback(
        &self,
        context: &RequestContext<'_>,
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, (Family::DynamoDb, BodyForm::Short), body, trace).await?;
        let (engine, namespace) = (self.engine()?, signed.caller.namespace.clone());
        match rollbacks::read(&signed.body)? {
            Wish::Begin(request) => {
                let begin = async move { engine.rollback(&namespace, &request).await };
                let job = self.complete(true, begin).await?;
                Ok(Answer::json(jobs::job(&job).compact().into_bytes(), None))
            }
            Wish::Preview(request, from) => {
                let share = self.answer_share(Some(rollbacks::ANSWER_BYTES)).await?;
                let page = engine.preview_rollback(&namespace, &request, from.as_ref()).await?;
                let answer = || rollbacks::page(&page).compact();
                let answer = self.offload(rollbacks::ANSWER_BYTES, answer).await;
                Ok(Answer::json(answer.into_bytes(), share))
            }
        }
    }
}
