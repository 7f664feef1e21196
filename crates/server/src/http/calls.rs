//! Our own calls below `/_keywright/`: the way to each of them, and the clock, branches, in which regions a
//! table is, the history of an item, sets of tables, restores. Those about jobs are in `job_calls`.
//!
//! Their forms are in `clock`, `branches`, `find_table`, `history`, `sets` and `restores`.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use hyper::body::Incoming;
use keywright_access::action::Own;
use keywright_engine::{Caller, Namespace, Presence};
use keywright_semantics::error::Error;
use keywright_wire::Family;

use super::admission::Asker;
use super::auth::Signer;
use super::branches::{self, Command, Refusal};
use super::context::RequestContext;
use super::find_table;
use super::history::{self, Asked};
use super::own_call::{OwnCall, SignedCall};
use super::receive::BodyForm;
use super::request_trace::Trace;
use super::response::Answer;
use super::restores;
use super::run_to_completion::RunToCompletion;
use super::service::{Service, internal_error};
use super::sets;
use crate::clock::{Desk, endpoint as clock};
use crate::connection::body;
use crate::connection::refused::Cause;

impl Service {
    /// Answers in which regions the caller's account has a table of a name.
    fn regions_answer(&self, namespace: &Namespace, body: &[u8]) -> Result<Answer, Error> {
        let table = match find_table::read(body) {
            Ok(table) => table,
            Err(message) => return Ok(Answer::error(400, find_table::refusal(&message))),
        };
        let regions = self.engine()?.regions_of(&namespace.account, &table, find_table::REGIONS_MAX);
        Ok(Answer::json(find_table::shown(namespace, &regions), None))
    }

    /// Answers what an item has been.
    pub(super) async fn history_answer(&self, namespace: &Namespace, body: &[u8]) -> Result<Answer, Error> {
        let question = history::read(body)?;
        let engine = self.engine()?;
        let share = self.answer_share(Some(history::ANSWER_BYTES)).await?;
        let (table, key) = (&question.table, &question.key);
        let answer = match question.of {
            Asked::At(at_ms) => {
                let item = engine.item_at(namespace, table, key, at_ms).await.map_err(history::error)?;
                self.offload(history::ANSWER_BYTES, || history::shown(item.as_ref()).compact()).await
            }
            Asked::Versions { before, limit } => {
                let found = engine.item_history(namespace, table, key, (before, limit)).await;
                let found = found.map_err(history::error)?;
                self.offload(history::ANSWER_BYTES, || history::versions(&found).compact()).await
            }
        };
        Ok(Answer::json(answer.into_bytes(), share))
    }

    /// Shows the clock that stands, or advances it. With credentials the request must be signed; without, one
    /// that advances it must have a header that pages of other origins cannot send.
    pub(super) async fn serve_clock(
        &self,
        context: &RequestContext<'_>,
        desk: &Desk,
        mut body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let shows = context.head.method == Method::GET;
        if self.authenticator.verifies() {
            let expected = (Family::DynamoDb, BodyForm::Short);
            let signed = self.receive_signed(context, expected, body, trace).await?;
            self.allow_own(context, &signed.signer, if shows { Own::GetClock } else { Own::MoveClock })?;
            return Ok(if shows { clock_shown(desk) } else { advanced(desk, &signed.body).await });
        }
        if shows {
            return Ok(clock_shown(desk));
        }
        if context.head.headers.get(clock::HEADER).is_none_or(|value| value != clock::HEADER_VALUE) {
            self.discard(context.head, &mut body, context.client).await;
            let (header, value) = (clock::HEADER, clock::HEADER_VALUE);
            return Ok(refused_clock(403, &format!("send this request with the header {header}: {value}")));
        }
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let read = body::read(&mut body, clock::BODY_BYTES_MAX, &mut hold);
        let Some(Ok(sent)) = self.within_time(read, context.client).await else {
            let message = format!("the body is longer than {} bytes, or broken", clock::BODY_BYTES_MAX);
            return Ok(refused_clock(400, &message));
        };
        context.client.admit();
        Ok(advanced(desk, &sent).await)
    }

    /// Receives a call of our own and who signed it. With credentials it must be signed; without, it must
    /// come from this machine and have a header with this value, which pages of other origins cannot send.
    async fn receive_own(
        &self,
        context: &RequestContext<'_>,
        (header_value, bytes_max, action): (&str, usize, Own),
        mut body: Incoming,
    ) -> Result<(Option<Caller>, Bytes), Turned> {
        let verifies = self.authenticator.verifies();
        let header = branches::HEADER;
        let named = context.head.headers.get(header).is_some_and(|value| value == header_value);
        let admitted = verifies || (named && context.client.address.is_loopback());
        if !admitted {
            self.discard(context.head, &mut body, context.client).await;
            let message = format!(
                "send this request from the server's machine, with the header {header}: {header_value}"
            );
            return Err(Refusal::new(403, message).into());
        }
        let claimed = if verifies {
            match self.check_claim(context, Family::DynamoDb).await {
                Ok(claimed) => Some(claimed),
                Err(error) => {
                    self.discard(context.head, &mut body, context.client).await;
                    return Err(error.into());
                }
            }
        } else {
            None
        };
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let read = body::read(&mut body, bytes_max, &mut hold);
        let Some(Ok(sent)) = self.within_time(read, context.client).await else {
            let message = format!("the body is longer than {bytes_max} bytes, or broken");
            return Err(Refusal::new(400, message).into());
        };
        let signer = claimed.map(|claimed| claimed.verify(&context.signed(&sent))).transpose()?;
        if let Some(signer) = &signer {
            self.allow_own(context, signer, action)?;
        }
        context.client.admit();
        Ok((signer.map(|signer| signer.caller), hold.over(sent)))
    }

    /// Judges a call of our own.
    fn allow_own(&self, context: &RequestContext<'_>, signer: &Signer, action: Own) -> Result<(), Error> {
        self.judge(context, signer)?.map_or(Ok(()), |judge| judge.own_call(action))
    }

    /// Answers one of our own calls.
    pub(super) async fn serve_own(
        &self,
        context: &RequestContext<'_>,
        call: OwnCall,
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let answered = match call {
            OwnCall::Branches => self.serve_branches(context, body).await,
            OwnCall::Restores => self.serve_restores(context, body).await,
            OwnCall::Sets => self.serve_sets(context, body).await,
            OwnCall::Signed(call) => return self.serve_signed(context, call, body, trace).await,
        };
        match answered {
            Ok(answer) => Ok(answer),
            Err(Turned::Refused(refusal)) => Ok(Answer::error(refusal.status, refusal.body())),
            Err(Turned::Failed(error)) => Err(error),
        }
    }

    /// Answers a call that is received as the API's requests are.
    async fn serve_signed(
        &self,
        context: &RequestContext<'_>,
        call: SignedCall,
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, (Family::DynamoDb, BodyForm::Short), body, trace).await?;
        let judge = self.judge(context, &signed.signer)?;
        let asker = Asker::of_network(signed.signer, judge);
        self.answer_signed(call, &asker, &signed.body).await?.ok_or_else(internal_error)
    }

    /// Judges a call and answers it; none if it would change something and may not.
    pub(super) async fn answer_signed(
        &self,
        call: SignedCall,
        asker: &Asker<'_>,
        body: &[u8],
    ) -> Result<Option<Answer>, Error> {
        asker.judge.as_ref().map_or(Ok(()), |judge| call.allow(judge, body))?;
        let (namespace, access) = (&asker.caller.namespace, asker.access);
        Ok(Some(match call {
            SignedCall::Backups => return self.backups_answer(namespace, body, access).await,
            SignedCall::Destinations => self.destinations_answer(namespace).await?,
            SignedCall::FindTable => self.regions_answer(namespace, body)?,
            SignedCall::History => self.history_answer(namespace, body).await?,
            SignedCall::ImportErrors => self.import_errors_answer(namespace, body).await?,
            SignedCall::Jobs => self.jobs_answer(namespace, body).await?,
            SignedCall::Triggers => self.triggers_answer(namespace).await?,
            SignedCall::Rollback => return self.rollback_answer(namespace, body, access).await,
        }))
    }

    /// Begins, reads or ends a set of tables.
    async fn serve_sets(&self, context: &RequestContext<'_>, body: Incoming) -> Result<Answer, Turned> {
        let expected = (sets::HEADER_VALUE, sets::BODY_BYTES_MAX, Own::BackUpTables);
        let (signer, sent) = self.receive_own(context, expected, body).await?;
        let request = sets::read(&sent)?;
        let share = self.answer_share(Some(sets::ANSWER_BYTES)).await?;
        let engine = self.engine()?;
        let account = signer.map(|caller| caller.namespace.account);
        let changes = sets::changes_something(&request);
        let answered = self
            .complete(changes, async move { sets::answer(&engine, account.as_ref(), &request).await })
            .await;
        let body = answered.map_err(|fault| Turned::of(sets::refusal(fault)))?;
        Ok(Answer::json(body, share))
    }

    /// Begins, feeds or ends a restore of tables.
    async fn serve_restores(&self, context: &RequestContext<'_>, body: Incoming) -> Result<Answer, Turned> {
        let expected = (restores::HEADER_VALUE, restores::BODY_BYTES_MAX, Own::RestoreTables);
        let (signer, sent) = self.receive_own(context, expected, body).await?;
        let (request, rows) = restores::read(&sent)?;
        let engine = self.engine()?;
        let account = signer.map(|caller| caller.namespace.account);
        let restore = async move { restores::answer(&engine, account.as_ref(), &request, rows).await };
        let answered = self.complete(true, restore).await;
        let body = answered.map_err(|fault| Turned::of(restores::refusal(fault)))?;
        Ok(Answer::json(body, None))
    }

    /// Makes or drops a branch.
    async fn serve_branches(&self, context: &RequestContext<'_>, body: Incoming) -> Result<Answer, Turned> {
        let deletes = context.head.method == Method::DELETE;
        let action = if deletes { Own::DeleteBranch } else { Own::BranchTables };
        let expected = (branches::HEADER_VALUE, branches::BODY_BYTES_MAX, action);
        let (signer, sent) = self.receive_own(context, expected, body).await?;
        let engine = self.engine()?;
        let is_left = |place: &Namespace| engine.has_tables(place);
        let naming =
            branches::Naming { signer: signer.as_ref().map(|caller| &caller.namespace), is_left: &is_left };
        let command = branches::read(deletes, &sent, naming)?;
        let presence = Presence::default();
        let engine = engine.for_client(presence.clone());
        let running = Arc::clone(&self.changes).read_owned().await;
        let asked = command.clone();
        let change = async move {
            let outcome = match &asked {
                Command::Make { from, to } => engine.branch(from, to).await,
                Command::Drop(branch) => engine.drop_branch(branch).await,
            };
            drop(running);
            Ok::<_, Error>(outcome)
        };
        let outcome = RunToCompletion::new(change, presence).await?;
        match outcome {
            Ok(branch) if matches!(command, Command::Drop(_)) => {
                Ok(Answer::json(branches::dropped(&branch), None))
            }
            Ok(branch) => Ok(Answer::json(branches::made(&branch), None)),
            Err(fault) => {
                if branches::is_limit(&fault) {
                    self.refused.count(Cause::Branches);
                }
                Err(Turned::of(branches::refusal(&command, fault)))
            }
        }
    }
}

fn clock_shown(desk: &Desk) -> Answer {
    Answer::json(clock::shown(desk.now_ms()), None)
}

fn refused_clock(status: u16, message: &str) -> Answer {
    Answer::error(status, clock::refusal(message))
}

/// Advances the clock as a body says.
async fn advanced(desk: &Desk, body: &[u8]) -> Answer {
    match clock::read(body) {
        Err(message) => refused_clock(400, &message),
        Ok(by_ms) if desk.advance(by_ms).await => clock_shown(desk),
        Ok(_) => refused_clock(503, "the server stops"),
    }
}

/// Why a call of our own is not answered as it asks: in words of ours, or by an error of the API.
enum Turned {
    Refused(Refusal),
    Failed(Error),
}

impl Turned {
    /// A fault as the call tells it; errors of the API stay what they are.
    fn of(told: Result<Refusal, Error>) -> Self {
        told.map_or_else(Self::Failed, Self::Refused)
    }
}

impl From<Refusal> for Turned {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Turned {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
