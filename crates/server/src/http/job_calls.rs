//! Our own calls about jobs: their list, the errors of imports, rollbacks, and backups with their copies; and
//! about the deliveries of triggers and to destinations.
//!
//! Their forms are in `jobs`, `rollbacks`, `backups`, `triggers` and `destinations`.

use keywright_archive::Scope;
use keywright_engine::{Env as _, Namespace};
use keywright_semantics::error::{Error, ErrorKind};

use super::jobs::{self, Question};
use super::response::Answer;
use super::rollbacks::{self, Wish};
use super::service::Service;
use super::{backups, destinations, import_errors, triggers};
use crate::studio::Access;

impl Service {
    /// Answers how the jobs of the caller's account and region stand.
    pub(super) async fn jobs_answer(&self, namespace: &Namespace, body: &[u8]) -> Result<Answer, Error> {
        let engine = self.engine()?;
        let jobs = match jobs::read(body)? {
            Question::Newest(limit) => engine.jobs(Some(namespace), limit).await?,
            Question::One(id) => {
                let job = engine.job(&id).await?.filter(|job| job.namespace == *namespace);
                let missing = || Error::new(ErrorKind::ResourceNotFound, format!("There is no job {id}"));
                vec![job.ok_or_else(missing)?]
            }
        };
        Ok(Answer::json(jobs::shown(&jobs).compact().into_bytes(), None))
    }

    /// Answers the errors of an import.
    pub(super) async fn import_errors_answer(
        &self,
        namespace: &Namespace,
        body: &[u8],
    ) -> Result<Answer, Error> {
        let arn = import_errors::read(body)?;
        let share = self.answer_share(Some(import_errors::ANSWER_BYTES)).await?;
        let errors = self.engine()?.import_errors(namespace, &arn).await?;
        let answer =
            self.offload(import_errors::ANSWER_BYTES, || import_errors::shown(&errors).compact()).await;
        Ok(Answer::json(answer.into_bytes(), share))
    }

    /// Answers how the destinations of the caller's account and region stand. The body says nothing.
    pub(super) async fn destinations_answer(&self, namespace: &Namespace) -> Result<Answer, Error> {
        let views = self.engine()?.destinations(namespace).await?;
        Ok(Answer::json(destinations::shown(&views).compact().into_bytes(), None))
    }

    /// Answers how the triggers of the caller's account and region stand. The body says nothing.
    pub(super) async fn triggers_answer(&self, namespace: &Namespace) -> Result<Answer, Error> {
        let found = self.engine()?.triggers(Some(namespace)).await?;
        let (figures, now_ms) = (self.deliveries.all(), self.database.clock().now_ms());
        Ok(Answer::json(triggers::shown(&found, &figures, now_ms).compact().into_bytes(), None))
    }

    /// Begins a rollback, or answers a page of what it would do; none if it would change something and may
    /// not.
    pub(super) async fn rollback_answer(
        &self,
        namespace: &Namespace,
        body: &[u8],
        access: Access,
    ) -> Result<Option<Answer>, Error> {
        let engine = self.engine()?;
        let answer = match rollbacks::read(body)? {
            Wish::Begin(_) if access == Access::Read => return Ok(None),
            Wish::Begin(request) => {
                let namespace = namespace.clone();
                let begin = async move { engine.rollback(&namespace, &request).await };
                let job = self.complete(true, begin).await?;
                Answer::json(jobs::job(&job).compact().into_bytes(), None)
            }
            Wish::Preview(request, from) => {
                let share = self.answer_share(Some(rollbacks::ANSWER_BYTES)).await?;
                let page = engine.preview_rollback(namespace, &request, from.as_ref()).await?;
                let answer = || rollbacks::page(&page).compact();
                let answer = self.offload(rollbacks::ANSWER_BYTES, answer).await;
                Answer::json(answer.into_bytes(), share)
            }
        };
        Ok(Some(answer))
    }
    /// Answers how backups and their copies stand, or begins to verify a copy; none if it would change
    /// something and may not.
    pub(super) async fn backups_answer(
        &self,
        namespace: &Namespace,
        body: &[u8],
        access: Access,
    ) -> Result<Option<Answer>, Error> {
        let store = &self.backups;
        let answer = match backups::read(body)? {
            backups::Wish::Known => {
                let engine = self.engine()?;
                let known = engine.backups(namespace).await?;
                let jobs = engine.jobs(Some(namespace), usize::MAX).await?;
                backups::known(&known, &jobs, store.shown())
            }
            // The engine is not held while the store is asked: it may be opened again meanwhile.
            backups::Wish::Stored => {
                let (account, region) = (namespace.account.as_str(), namespace.region.to_string());
                let listed = match Scope::new(account, region) {
                    Ok(scope) => store.list(scope).await,
                    Err(name) => Err(name.to_string()),
                };
                backups::stored(store.shown(), listed.as_ref())
            }
            backups::Wish::Verify { .. } if access == Access::Read => return Ok(None),
            backups::Wish::Verify { .. } if store.shown().is_none() => {
                let message = "This server has no backup store: start it with --backup-to";
                return Err(Error::validation(message));
            }
            backups::Wish::Verify { table, id } => {
                let engine = self.engine()?;
                let namespace = namespace.clone();
                let begin = async move { engine.verify_backup(&namespace, &table, &id).await };
                jobs::job(&self.complete(true, begin).await?)
            }
        };
        Ok(Some(Answer::json(answer.compact().into_bytes(), None)))
    }
}
