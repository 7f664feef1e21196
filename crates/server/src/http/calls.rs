//! Our own calls below `/_keywright/`: the way to each of them, and branches, in which regions a table is,
//! how its replicas stand, who changed it, the history of an item, sets of tables, restores. Those about jobs
//! are in `job_calls`, and those that tests control the database with in `controls`.
//!
//! Their forms are in `branches`, `find_table`, `global_tables`, `table_changes`, `history`, `sets` and
//! `restores`.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use keywright_access::action::Own;
use keywright_engine::{Caller, Env as _, Namespace, Presence, Rejoining};
use keywright_model::json::Json;
use keywright_semantics::error::Error;
use keywright_wire::Family;

use super::admission::Asker;
use super::auth::Signer;
use super::branches::{self, Command, Refusal};
use super::context::RequestContext;
use super::encryption::{self, Wish};
use super::find_table;
use super::global_tables::{self, ELSEWHERE, Question};
use super::history::{self, Asked};
use super::own_call::{OwnCall, SignedCall};
use super::receive::BodyForm;
use super::request_trace::Trace;
use super::response::Answer;
use super::restores;
use super::rights::Rights;
use super::run_to_completion::RunToCompletion;
use super::service::{Service, internal_error};
use super::sets::{self, AtRest};
use super::table_changes;
use super::verifications;
use crate::connection::body::{self, RequestBody};
use crate::connection::refused::Cause;
use crate::storage::encryption::backup_keys::BackupForm;
use crate::studio::Access;

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

    /// Answers how far changes have come to replicas, which have lost to others, what an item is, or whether
    /// replicas are equal.
    async fn global_tables_answer(&self, namespace: &Namespace, body: &[u8]) -> Result<Answer, Error> {
        let body = global_tables::parsed(body)?;
        if let Some(wish) = verifications::read(&body) {
            return self.verification_answer(namespace, wish).await;
        }
        let question = global_tables::read(&body)?;
        let engine = self.engine()?;
        let none = |table: &str| Error::validation(global_tables::no_replicas(table));
        let table = match question {
            Question::Status(wanted) => {
                let found = match wanted {
                    None => engine.replications(namespace).await?,
                    Some(table) => {
                        let status = engine.replication_status(namespace, &table).await?;
                        status.into_iter().map(|status| (table.clone(), status)).collect()
                    }
                };
                let mut shown = global_tables::shown(&found, self.database.clock().now_ms());
                if found.is_empty() {
                    let regions = engine.regions_with_replicas(&namespace.account);
                    shown.set(ELSEWHERE, Json::List(regions.into_iter().map(Json::text).collect()));
                }
                return Ok(Answer::json(shown.compact().into_bytes(), None));
            }
            Question::Item(table, key) => {
                let share = self.answer_share(Some(global_tables::ANSWER_BYTES)).await?;
                let found = engine.replica_item(namespace, &table, &key).await?;
                let found = found.ok_or_else(|| none(&table))?;
                let shown = || global_tables::item(namespace.region.as_str(), &found).compact();
                let answer = self.offload(global_tables::ANSWER_BYTES, shown).await;
                return Ok(Answer::json(answer.into_bytes(), share));
            }
            Question::Conflicts(table) => table,
        };
        let share = self.answer_share(Some(global_tables::ANSWER_BYTES)).await?;
        let status = engine.replication_status(namespace, &table).await?.ok_or_else(|| none(&table))?;
        let shown = || global_tables::conflicts(&table, &status).compact();
        let answer = self.offload(global_tables::ANSWER_BYTES, shown).await;
        Ok(Answer::json(answer.into_bytes(), share))
    }

    /// Begins to compare a table with its replicas, or answers what was found.
    async fn verification_answer(
        &self,
        namespace: &Namespace,
        wish: verifications::Wish<'_>,
    ) -> Result<Answer, Error> {
        let share = self.answer_share(Some(global_tables::ANSWER_BYTES)).await?;
        let engine = self.engine()?;
        let missing = |text: String| Error::validation(text);
        let found = match wish {
            verifications::Wish::Begin { table, repairs } => engine
                .begin_verification(namespace, table, repairs)?
                .ok_or_else(|| missing(global_tables::no_replicas(table)))?,
            verifications::Wish::Show { table } => engine
                .verification(namespace, table)?
                .ok_or_else(|| missing(verifications::unknown(table)))?,
            verifications::Wish::Unsent { table, from } => {
                let found = engine.unsent_items(namespace, table, from.as_deref()).await?;
                let page = found.ok_or_else(|| missing(verifications::not_lost(table)))?;
                let shown = || verifications::unsent(&page).compact();
                let answer = self.offload(global_tables::ANSWER_BYTES, shown).await;
                return Ok(Answer::json(answer.into_bytes(), share));
            }
            verifications::Wish::Rejoin { table, how } => {
                let (namespace, name) = (namespace.clone(), table.to_owned());
                let begin = async move { engine.rejoin(&namespace, &name, how).await };
                match self.complete(true, begin).await? {
                    Rejoining::NotLost => return Err(missing(verifications::not_lost(table))),
                    Rejoining::Sends => return Ok(Answer::json(b"{}".to_vec(), share)),
                    Rejoining::Compares(shown) => *shown,
                }
            }
        };
        let answer =
            self.offload(global_tables::ANSWER_BYTES, || verifications::shown(&found).compact()).await;
        Ok(Answer::json(answer.into_bytes(), share))
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

    /// Answers who changed a table.
    async fn changes_answer(&self, namespace: &Namespace, body: &[u8]) -> Answer {
        let wanted = match table_changes::read(namespace, body) {
            Ok(wanted) => wanted,
            Err(message) => return Answer::error(400, find_table::refusal(&message)),
        };
        let newest = match self.audit() {
            Some(audit) => audit.newest(&wanted).await.map(Some),
            None => Ok(None),
        };
        match newest {
            Ok(newest) => Answer::json(table_changes::shown(newest.as_ref()).compact().into_bytes(), None),
            Err(error) => {
                let message = format!("the audit log cannot be read: {error}");
                Answer::error(500, find_table::refusal(&message))
            }
        }
    }

    /// Answers how the data folder is encrypted, or changes its keys; none if it would and may not.
    async fn encryption_answer(&self, body: &[u8], access: Access) -> Result<Option<Answer>, Error> {
        let refused = |message: &str| Some(Answer::error(400, encryption::refusal(message)));
        let wish = match encryption::read(body) {
            Ok(wish) => wish,
            Err(message) => return Ok(refused(&message)),
        };
        if wish != Wish::Status && access == Access::Read {
            return Ok(None);
        }
        // The engine is there, or the request fails as others do while the store is opened again.
        let tables = self.engine()?.tables_with_key();
        if wish != Wish::Status && self.database.encrypted().is_none() {
            return Ok(refused("the data of this server is not encrypted"));
        }
        let (database, audit) = (Arc::clone(&self.database), self.audit().cloned());
        let work = async move {
            // The log's file is given the newest key by its own thread alone.
            if let Some(audit) = audit.filter(|_| wish == Wish::Rewrite) {
                audit.finish().await;
            }
            tokio::task::block_in_place(|| encryption::answered(&database, wish))
        };
        match self.complete(wish != Wish::Status, work).await {
            Ok(mut answered) => {
                answered.census.tables_with_sse = Some(tables);
                Ok(Some(Answer::json(encryption::shown(&answered), None)))
            }
            Err(failure) => Ok(Some(Answer::error(500, encryption::refusal(&failure.to_string())))),
        }
    }

    /// Receives a call of our own and who signed it. With credentials it must be signed; without, it must
    /// come from this machine and have a header with this value, which pages of other origins cannot send.
    async fn receive_own(
        &self,
        context: &RequestContext<'_>,
        (header_value, bytes_max, action): (&str, usize, Own),
        mut body: RequestBody,
        trace: &mut Trace,
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
        if let Some(notes) = &mut trace.audit {
            match &signer {
                Some(signer) => notes.sign(signer, &Bytes::new()),
                None => notes.sign_by_machine(),
            }
        }
        if let Some(signer) = &signer {
            self.allow_own(context, signer, action)?;
        }
        trace.permit(true)?;
        context.client.admit();
        Ok((signer.map(|signer| signer.caller), hold.over(sent)))
    }

    /// Judges a call of our own.
    pub(super) fn allow_own(
        &self,
        context: &RequestContext<'_>,
        signer: &Signer,
        action: Own,
    ) -> Result<(), Error> {
        self.judge(context, signer)?.map_or(Ok(()), |judge| judge.own_call(action))
    }

    /// Answers one of our own calls.
    pub(super) async fn serve_own(
        &self,
        context: &RequestContext<'_>,
        call: OwnCall,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let answered = match call {
            OwnCall::Branches => self.serve_branches(context, body, trace).await,
            OwnCall::Restores => self.serve_restores(context, body, trace).await,
            OwnCall::Sets => self.serve_sets(context, body, trace).await,
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
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, (Family::DynamoDb, BodyForm::Short), body, trace).await?;
        let judge = self.judge(context, &signed.signer)?;
        let asker = Asker::of_network(signed.signer, judge);
        let sent = (Some(context), &*signed.body);
        self.answer_signed(call, &asker, sent, trace).await?.ok_or_else(internal_error)
    }

    /// Judges a call of the account itself by the policy of the table that it is about.
    fn allow_root(
        &self,
        call: SignedCall,
        namespace: &Namespace,
        (context, body): (Option<&RequestContext<'_>>, &[u8]),
    ) -> Result<(), Error> {
        if !call.is_about_items() || !self.authenticator.verifies() {
            return Ok(());
        }
        let engine = self.engine()?;
        if !engine.has_resource_policies() {
            return Ok(());
        }
        let rights = Arc::new(Rights::of_root(&namespace.account));
        let circumstances = self.circumstances(context, namespace.clone());
        call.allow_root(&self.judge_of(rights, engine, circumstances), body)
    }

    /// Judges a call and answers it; none if it would change something and may not. Calls of the studio have
    /// no context.
    pub(super) async fn answer_signed(
        &self,
        call: SignedCall,
        asker: &Asker<'_>,
        (context, body): (Option<&RequestContext<'_>>, &[u8]),
        trace: &mut Trace,
    ) -> Result<Option<Answer>, Error> {
        if let Some(notes) = &mut trace.audit {
            notes.name(call.right(&asker.caller.namespace, body));
        }
        match &asker.judge {
            Some(judge) => call.allow(judge, body)?,
            None => self.allow_root(call, &asker.caller.namespace, (context, body))?,
        }
        let (namespace, access) = (&asker.caller.namespace, asker.access);
        trace.permit(access == Access::Write && call.changes(namespace, body))?;
        Ok(Some(match call {
            SignedCall::Backups => return self.backups_answer(namespace, body, access).await,
            SignedCall::Destinations => self.destinations_answer(namespace).await?,
            SignedCall::Encryption => return self.encryption_answer(body, access).await,
            SignedCall::FindTable => self.regions_answer(namespace, body)?,
            SignedCall::GlobalTables if access == Access::Read && call.changes(namespace, body) => {
                return Ok(None);
            }
            SignedCall::GlobalTables => self.global_tables_answer(namespace, body).await?,
            SignedCall::History => self.history_answer(namespace, body).await?,
            SignedCall::ImportErrors => self.import_errors_answer(namespace, body).await?,
            SignedCall::Jobs => self.jobs_answer(namespace, body).await?,
            SignedCall::TableChanges => self.changes_answer(namespace, body).await,
            SignedCall::Triggers => self.triggers_answer(namespace).await?,
            SignedCall::Rollback => return self.rollback_answer(namespace, body, access).await,
        }))
    }

    /// Begins, reads or ends a set of tables.
    async fn serve_sets(
        &self,
        context: &RequestContext<'_>,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Turned> {
        let expected = (sets::HEADER_VALUE, sets::BODY_BYTES_MAX, Own::BackUpTables);
        let (signer, sent) = self.receive_own(context, expected, body, trace).await?;
        let request = sets::read(&sent)?;
        let share = self.answer_share(Some(sets::ANSWER_BYTES)).await?;
        let engine = self.engine()?;
        let account = signer.map(|caller| caller.namespace.account);
        let changes = sets::changes_something(&request);
        let encrypted = self.database.encrypted();
        let answered = self
            .complete(changes, async move {
                let at_rest = match encrypted {
                    None => AtRest::Plain,
                    Some(folder) if matches!(request, sets::Request::Begin { .. }) => {
                        let fingerprint = tokio::task::block_in_place(|| folder.fingerprint());
                        AtRest::Encrypted { fingerprint }
                    }
                    Some(_) => AtRest::Encrypted { fingerprint: None },
                };
                sets::answer(&engine, (account.as_ref(), at_rest), &request).await
            })
            .await;
        let body = answered.map_err(|fault| Turned::of(sets::refusal(fault)))?;
        Ok(Answer::json(body, share))
    }

    /// How tables lie on disk.
    fn form_at_rest(&self) -> BackupForm {
        self.database.encrypted().map_or(BackupForm::Plain, |_| BackupForm::Encrypted)
    }

    /// Begins, feeds or ends a restore of tables.
    async fn serve_restores(
        &self,
        context: &RequestContext<'_>,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Turned> {
        let expected = (restores::HEADER_VALUE, restores::BODY_BYTES_MAX, Own::RestoreTables);
        let (signer, sent) = self.receive_own(context, expected, body, trace).await?;
        let (request, rows) = restores::read(&sent)?;
        let engine = self.engine()?;
        let account = signer.map(|caller| caller.namespace.account);
        let at_rest = self.form_at_rest();
        let restore =
            async move { restores::answer(&engine, (account.as_ref(), at_rest), &request, rows).await };
        let answered = self.complete(true, restore).await;
        let body = answered.map_err(|fault| Turned::of(restores::refusal(fault)))?;
        Ok(Answer::json(body, None))
    }

    /// Makes or drops a branch.
    async fn serve_branches(
        &self,
        context: &RequestContext<'_>,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Turned> {
        let deletes = context.head.method == Method::DELETE;
        let action = if deletes { Own::DeleteBranch } else { Own::BranchTables };
        let expected = (branches::HEADER_VALUE, branches::BODY_BYTES_MAX, action);
        let (signer, sent) = self.receive_own(context, expected, body, trace).await?;
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
