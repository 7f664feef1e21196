//! Verification: a table is compared with its replicas, key by key, and on request repaired.
//!
//! A run goes through the keys in bounded parts. Both members give the sum of a part; where the sums differ,
//! they give its rows. An item that differs may be on its way, so it is looked at again once everything that
//! was committed before is sent. If both have the same as before then, they differ for good. So what is found
//! is no false alarm, also while clients write, and no view of the store is kept for the length of a run.
//!
//! - `part`: the rows and sums of one member. `rule`: which of two is right; pure.
//! - `run`: the steps of a run; `repair`: how a difference is ended, through the write core.
//! - `row`: when the last one ended, stored.
//!
//! Runs are in memory: one that a restart ends has to be asked for again. It does not know how results are
//! shown.

mod ends;
mod part;
mod repair;
mod row;
mod rule;
mod run;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_store::Store;

pub use row::LastVerification;
pub(super) use row::last_of;
use rule::Remedy;

use super::lost;
use crate::catalogue::{Member, MemberStatus, Table};
use crate::state::Engine;
use crate::state::verification::{Mode, Run, Verification, VerificationFigures, VerifiedReplica};
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::wake::NextWake;

/// Does the next piece of each verification that runs in this process.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let mut wake = NextWake::default();
    for base in engine.verifications().running() {
        let Some(mut run) = engine.verifications().take(base) else { continue };
        let stepped = run::step(engine, (base, &mut run), now_ms).await;
        match &stepped {
            Ok(run::Next::At(at_ms)) => {
                wake = wake.earlier(NextWake { at_ms: Some(*at_ms) });
                engine.verifications().give_back(base, run);
            }
            Ok(run::Next::Ended) => {
                run.shown.ended_ms = Some(now_ms);
                if run.mode == Mode::Discard {
                    lost::end(engine, base, &run.shown, now_ms).await?;
                }
                let noted = row::note(engine, base, &run.shown).await;
                engine.verifications().end(base, run.shown);
                noted?;
            }
            Err(_fault) => engine.verifications().give_back(base, run),
        }
        stepped?;
    }
    Ok(wake)
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
    if others_of(table).next().is_some() {
        engine.verifications().begin(table.id, begun(engine, table, Mode::Compare, |_| true));
    }
    let next_ms = now_ms.saturating_add(interval_ms);
    engine.verifications().set_due(table.id, next_ms);
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// Begins to give a table what another member has.
pub(super) fn begin_discard<S: Store>(engine: &Engine<S>, table: &Table, other: TableId) -> Verification {
    let run = begun(engine, table, Mode::Discard, |member| member.table == other);
    engine.shipping().wake();
    engine.verifications().begin(table.id, run)
}

/// Whether a member has its rows, and stays.
fn is_verified(member: &Member) -> bool {
    matches!(member.status, MemberStatus::Active | MemberStatus::Updating)
}

/// The members that a table is compared with.
fn others_of(table: &Table) -> impl Iterator<Item = &Member> {
    table.replicas().filter(|member| is_verified(member))
}

fn begun<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    mode: Mode,
    is_wanted: impl Fn(&Member) -> bool,
) -> Run {
    let mut key = [0; 32];
    let (one, other) = key.split_at_mut(16);
    one.copy_from_slice(&engine.env().random_u128().to_be_bytes());
    other.copy_from_slice(&engine.env().random_u128().to_be_bytes());
    let now_ms = engine.env().now_ms();
    let others = || others_of(table).filter(|member| is_wanted(member));
    let replica =
        |member: &Member| VerifiedReplica { region: member.region.clone(), ..VerifiedReplica::default() };
    Run {
        key,
        mode,
        others: others().map(|member| member.table).collect::<Vec<TableId>>(),
        place: 0,
        after: None,
        is_read: false,
        suspects: Vec::new(),
        look_ms: now_ms,
        steps: 0,
        shown: Verification {
            table: table.name.clone(),
            region: table.region.clone(),
            begun_ms: now_ms,
            ended_ms: None,
            repairs: mode != Mode::Compare,
            replicas: others().map(replica).collect(),
            differences: Vec::new(),
        },
    }
}

impl<S: Store> Engine<S> {
    /// Begins to compare a table with its replicas, and to repair them if that is wanted; `step` does it. If
    /// the table is being compared already, that goes on. `None`: it has no replicas.
    pub fn begin_verification(
        &self,
        namespace: &Namespace,
        name: &str,
        repairs: bool,
    ) -> Result<Option<Verification>, Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        let is_member = table.as_member().is_some_and(is_verified);
        if !is_member || others_of(&table).next().is_none() {
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
        Ok(self.verifications().last(table.id))
    }

    /// What a table has later than the members that it is lost to, a page at a time: it would be discarded if
    /// the table rejoined without it. The second part is the place of the next page.
    pub async fn unsent_items(
        &self,
        namespace: &Namespace,
        name: &str,
        after: Option<&[u8]>,
    ) -> Result<(Vec<EncodedItem>, Option<Bytes>), Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        let lost = lost::lost_ways(self, &table).await?;
        let Some(other) = lost.first().map(|way| way.other_than(table.id)) else {
            return Ok((Vec::new(), None));
        };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut of_base = part::read(&view, table.id, (after, None)).await?;
        let of_other = part::read(&view, other, (after, of_base.until.as_deref())).await?;
        of_base.cut(of_other.until.as_ref());
        let (key, now_ms) = ([0; 32], self.env().now_ms());
        let is_discarded = |within: &Bytes, rows: &part::Rows| {
            let (held, of_other) = (rows.held(&key), of_other.held(&key, within));
            let remedy = rule::discard(&held, &of_other);
            !rule::agree(&held, &of_other, now_ms) && matches!(remedy, Remedy::Bury | Remedy::RaiseOther)
        };
        let discarded = of_base.rows.iter().filter(|(within, rows)| is_discarded(within, rows));
        let items = discarded.filter_map(|(_, rows)| EncodedItem::from_stored(rows.item.clone()?).ok());
        Ok((items.collect(), of_base.until.clone()))
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
