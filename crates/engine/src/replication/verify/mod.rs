//! Verification: a table is compared with its replicas, key by key, and on request repaired.
//!
//! A run goes through the keys in bounded parts. Both members give the sum of a part; where the sums differ,
//! they give its rows. An item that differs may be on its way, so it is looked at again once everything that
//! was committed before is sent. If both have the same as before then, they differ for good. So what is found
//! is no false alarm, also while clients write, and no view of the store is kept for the length of a run.
//!
//! - `part`: the rows and sums of one member. `rule`: which of two is right; pure.
//! - `run`: the steps of a run; `floors`: what was sent meanwhile; `repair`: how a difference is ended,
//!   through the write core.
//! - `ends`: the two members, of which one may be on another server: `there` asks it, `answer` is its part.
//! - `row`: when the last one ended, stored. `loss`: the repair of those that remain when a member is gone.
//!
//! A step that asks another server is done in the lane of its region, so background work never waits for it.
//!
//! Runs are in memory: one that a restart ends has to be asked for again. It does not know how results are
//! shown.

pub(crate) mod answer;
mod ends;
mod floors;
mod loss;
mod part;
mod repair;
mod row;
mod rule;
mod run;
mod there;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global, table as messages};
use keywright_store::Store;

pub(super) use loss::begin_due as begin_after_loss;
pub use row::LastVerification;
pub(super) use row::last_of;
use rule::Remedy;

use super::lost;
use super::peers::Unsent;
use crate::catalogue::{Member, MemberStatus, RemoteMember, Table};
use crate::state::Engine;
use crate::state::verification::{
    Compared, Held, Mode, Run, Verification, VerificationFigures, VerifiedReplica,
};
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::stamp::Stamp;
use crate::support::wake::NextWake;

/// A page of what a table would lose if it rejoined without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsentItems {
    /// The items.
    pub items: Vec<EncodedItem>,
    /// The place of the next page, if there is one.
    pub next: Option<Bytes>,
    /// The page has everything that was written before this time, in milliseconds since 1970. That of the
    /// first page belongs into `Rejoin::Discard`: then each change is on a page, or is kept.
    pub since_ms: u64,
}

/// The time until a step is tried again that failed, or that a server did not answer or refused.
const AGAIN_MS: u64 = 1_000;
/// Steps that fail here one after the other until the replica is given up.
const FAILURES_MAX: u32 = 60;

/// Does the next piece of each verification that runs in this process and asks no other server. Of the others
/// it ends those that are not answered.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> NextWake {
    let mut wake = NextWake::default();
    for (base, runner) in engine.verifications().running() {
        let Some(mut run) = engine.verifications().take(base) else { continue };
        let stepped = match runner {
            Some(region) if engine.peers().owns(&region) && now_ms < run::late_ms(&run) => {
                wake = wake.earlier(NextWake { at_ms: Some(run::late_ms(&run)) });
                engine.verifications().give_back(base, run);
                continue;
            }
            Some(_) => Ok(run::give_up(&mut run, now_ms)),
            None => run::step(engine, (base, &mut run), now_ms).await,
        };
        wake = wake.earlier(end_step(engine, (base, run), stepped, now_ms).await);
    }
    wake
}

/// Does the next piece of each verification that asks the server of a region first.
pub(crate) async fn step_in_lane<S: Store>(
    engine: &Engine<S>,
    region: &str,
    is_in_lane: impl Fn(TableId) -> bool,
    now_ms: u64,
) -> NextWake {
    let mut wake = NextWake::default();
    for (base, runner) in engine.verifications().running() {
        if runner.as_deref() != Some(region) || !is_in_lane(base) {
            continue;
        }
        let Some(mut run) = engine.verifications().take(base) else { continue };
        let stepped = run::step(engine, (base, &mut run), now_ms).await;
        wake = wake.earlier(end_step(engine, (base, run), stepped, now_ms).await);
    }
    wake
}

/// Gives a run back after a step, or ends it; says when the next step is due. A fault of one run is none of
/// the others: it is tried again, and its replica is given up in the end.
async fn end_step<S: Store>(
    engine: &Engine<S>,
    (base, mut run): (TableId, Run),
    stepped: Result<run::Next, Unsent>,
    now_ms: u64,
) -> NextWake {
    let stepped = match stepped {
        Ok(run::Next::Ended) => match end(engine, base, &mut run, now_ms).await {
            Ok(()) => {
                engine.verifications().end(base, run.shown);
                return NextWake::default();
            }
            Err(error) => Err(Unsent::Failed(error)),
        },
        stepped => stepped,
    };
    let at_ms = match stepped {
        Ok(run::Next::At(at_ms)) => {
            (run.answered_ms, run.hindered, run.failures) = (now_ms, None, 0);
            at_ms
        }
        Ok(run::Next::Ended) => now_ms,
        Err(unsent) => {
            run.hindered = Some(unsent.text().to_owned());
            // Other work may wake the lane more often.
            if matches!(unsent, Unsent::Failed(_)) && now_ms >= run.failed_ms.saturating_add(AGAIN_MS) {
                (run.failures, run.failed_ms) = (run.failures + 1, now_ms);
            }
            if run.failures >= FAILURES_MAX {
                run.failures = 0;
                run::give_up(&mut run, now_ms);
            }
            now_ms.saturating_add(AGAIN_MS)
        }
    };
    engine.verifications().give_back(base, run);
    NextWake { at_ms: Some(at_ms) }
}

/// Does what follows the comparison with the last replica. Until it is done, the run has not ended.
async fn end<S: Store>(engine: &Engine<S>, base: TableId, run: &mut Run, now_ms: u64) -> Result<(), Error> {
    let shown = Verification { ended_ms: Some(now_ms), ..run.shown.clone() };
    if run.mode == Mode::Discard {
        lost::end(engine, base, &shown, now_ms).await?;
    }
    if let Some(loss) = &run.loss {
        loss::end(engine, base, (loss, &shown), now_ms).await?;
    }
    row::note(engine, base, &shown).await?;
    run.shown = shown;
    Ok(())
}

/// Begins the verification of a group that is due by itself. The first member that is active does it for all.
pub(super) async fn begin_due<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let Some(interval_ms) = engine.config().verification_interval_ms else { return Ok(NextWake::default()) };
    let members = table.replication.iter().flat_map(|group| &group.members);
    let first = members.into_iter().find(|member| is_verified(member));
    let Some(own) = first.filter(|first| first.table == table.id) else { return Ok(NextWake::default()) };
    // Of several servers, the one with the first region does it.
    if others_there(table).any(|member| member.region < own.region) {
        return Ok(NextWake::default());
    }
    let due_ms = if let Some(due_ms) = engine.verifications().due_ms(table.id) {
        due_ms
    } else {
        let last_ms = last_of(engine, table.id).await?.map_or(own.since_ms, |last| last.ended_ms);
        let due_ms = last_ms.saturating_add(interval_ms);
        engine.verifications().set_due(table.id, due_ms);
        due_ms
    };
    if now_ms < due_ms {
        return Ok(NextWake { at_ms: Some(due_ms) });
    }
    if has_others(table) {
        engine.verifications().begin(table.id, begun(engine, table, Mode::Compare, |_| true));
    }
    let next_ms = now_ms.saturating_add(interval_ms);
    engine.verifications().set_due(table.id, next_ms);
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// Begins to give a table what another member has, but for what it writes since a time, or from now on.
pub(super) fn begin_discard<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    (other, since_ms): (TableId, Option<u64>),
) -> Verification {
    let mut run = begun(engine, table, Mode::Discard, |member| member == other);
    run.keeps_from =
        since_ms.map_or(run.keeps_from, |since_ms| Stamp::first_of(since_ms).min(run.keeps_from));
    engine.shipping().wake();
    engine.verifications().begin(table.id, run)
}

/// Whether a member has its rows, and stays.
fn is_verified(member: &Member) -> bool {
    matches!(member.status, MemberStatus::Active | MemberStatus::Updating)
}

/// The members on other servers that a table is compared with.
fn others_there(table: &Table) -> impl Iterator<Item = &RemoteMember> {
    table.remote.members.iter().filter(|member| is_verified(&member.as_member()))
}

fn has_others(table: &Table) -> bool {
    table.replicas().any(is_verified) || others_there(table).next().is_some()
}

/// The members that a table is compared with, each with its region.
fn others_of<S: Store>(engine: &Engine<S>, table: &Table) -> Vec<(Compared, String)> {
    // What another server's members have sent to two that are here, only that server knows.
    let asked = others_there(table).map(|member| &member.region).find(|region| engine.peers().owns(region));
    let here = table
        .replicas()
        .filter(|member| is_verified(member))
        .map(|member| (Compared { table: member.table, runner: asked.cloned() }, member.region.clone()));
    let there = others_there(table).map(|member| {
        (Compared { table: member.table(), runner: Some(member.region.clone()) }, member.region.clone())
    });
    here.chain(there).collect()
}

fn begun<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    mode: Mode,
    is_wanted: impl Fn(TableId) -> bool,
) -> Run {
    let mut key = [0; 32];
    let (one, other) = key.split_at_mut(16);
    one.copy_from_slice(&engine.env().random_u128().to_be_bytes());
    other.copy_from_slice(&engine.env().random_u128().to_be_bytes());
    let now_ms = engine.env().now_ms();
    let others = others_of(engine, table).into_iter().filter(|(compared, _)| is_wanted(compared.table));
    let (others, regions): (Vec<Compared>, Vec<String>) = others.unzip();
    let replica = |region: String| VerifiedReplica { region, ..VerifiedReplica::default() };
    Run {
        key,
        mode,
        keeps_from: engine.settled_before(now_ms),
        others,
        place: 0,
        after: None,
        is_read: false,
        suspects: Vec::new(),
        look_ms: now_ms,
        steps: 0,
        answered_ms: now_ms,
        hindered: None,
        failures: 0,
        failed_ms: 0,
        loss: None,
        shown: Verification {
            table: table.name.clone(),
            region: table.region.clone(),
            begun_ms: now_ms,
            ended_ms: None,
            repairs: mode != Mode::Compare,
            is_strong: false,
            replicas: regions.into_iter().map(replica).collect(),
            differences: Vec::new(),
        },
    }
}

/// What is known of a strongly consistent table, without a look: its regions have one set of rows.
fn of_strong(table: &Table, now_ms: u64) -> Verification {
    let replica = |region: &str| VerifiedReplica { region: region.to_owned(), ..VerifiedReplica::default() };
    Verification {
        table: table.name.clone(),
        region: table.region.clone(),
        begun_ms: now_ms,
        ended_ms: Some(now_ms),
        repairs: false,
        is_strong: true,
        replicas: table.other_strong_members().map(|(member, _)| replica(&member.region)).collect(),
        differences: Vec::new(),
    }
}

impl<S: Store> Engine<S> {
    /// Begins to compare a table with its replicas, and to repair them if that is wanted; `step` does it. If
    /// the table is being compared already, that goes on. A strongly consistent table is known to be equal.
    /// `None`: it has no replicas.
    pub fn begin_verification(
        &self,
        namespace: &Namespace,
        name: &str,
        repairs: bool,
    ) -> Result<Option<Verification>, Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        if table.strong.is_some() {
            return Ok(Some(of_strong(&table, self.env().now_ms())));
        }
        let is_member = table.as_member().is_some_and(is_verified);
        if !is_member || !has_others(&table) {
            return Ok(None);
        }
        let mode = if repairs { Mode::Repair } else { Mode::Compare };
        let shown = self.verifications().begin(table.id, begun(self, &table, mode, |_| true));
        self.shipping().wake();
        Ok(Some(shown))
    }

    /// The verification of a table that runs, or the last one since the server started.
    pub fn verification(&self, namespace: &Namespace, name: &str) -> Result<Option<Verification>, Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        let strong = table.strong.is_some().then(|| of_strong(&table, self.env().now_ms()));
        Ok(strong.or_else(|| self.verifications().last(table.id)))
    }

    /// What a table has later than the members that it is lost to, a page at a time: it would be discarded if
    /// the table rejoined without it. `None` if the table is lost to no member.
    pub async fn unsent_items(
        &self,
        namespace: &Namespace,
        name: &str,
        after: Option<&[u8]>,
    ) -> Result<Option<UnsentItems>, Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        let lost = lost::lost_ways(self, &table).await?;
        let Some(other) = lost.first().map(|way| way.other_than(table.id)) else {
            return Ok(None);
        };
        // Before the view: it shows every change below this time.
        let since_ms = self.settled_before(self.env().now_ms()).ms();
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut of_base = part::read(&view, table.id, (after, None)).await?;
        let (key, now_ms) = ([0; 32], self.env().now_ms());
        let remote = table.remote.members.iter().find(|member| member.table() == other);
        let of_other = if let Some(member) = remote {
            drop(view);
            let after = after.map(Bytes::copy_from_slice);
            let asked = (&key, after.as_ref(), true);
            let found = there::compare(self, (&table, member), asked, &mut of_base).await;
            let unreached = |cause: &str| Error::validation(global::peer_unasked(&member.region, cause));
            found.map_err(|unsent| unreached(unsent.text()))?.unwrap_or_else(|| of_base.all_held(&key))
        } else {
            let of_other = part::read(&view, other, (after, of_base.until.as_deref())).await?;
            of_base.cut(of_other.until.as_ref());
            of_other.all_held(&key)
        };
        let is_discarded = |within: &Bytes, rows: &part::Rows| {
            let of_other = of_other.get(within).cloned().unwrap_or(Held::Nothing);
            let held = rows.held(&key);
            let remedy = rule::discard(&held, &of_other);
            !rule::agree(&held, &of_other, now_ms) && matches!(remedy, Remedy::Bury | Remedy::RaiseOther)
        };
        let discarded = of_base.rows.iter().filter(|(within, rows)| is_discarded(within, rows));
        let items = discarded.filter_map(|(_, rows)| EncodedItem::from_stored(rows.item.clone()?).ok());
        Ok(Some(UnsentItems { items: items.collect(), next: of_base.until.clone(), since_ms }))
    }

    /// The verifications that have ended since the last call, for the log.
    pub fn take_ended_verifications(&self) -> Vec<Verification> {
        self.verifications().take_ended()
    }

    /// What verifications have found.
    pub fn verification_figures(&self) -> VerificationFigures {
        self.verifications().figures()
    }
}
