//! Strongly consistent tables under simulation: regions that are cut off, and writes of several regions to
//! one item at once.
//!
//! Without rules nothing here is asked. It knows no requests: `write` and `read` ask what they may do. Writes
//! of this process only are seen.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::global as messages;
use keywright_semantics::request::Consistency;
use keywright_store::Store;

use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::fault;

/// Writes that are remembered at most. Beyond them a conflict is missed, and nothing else.
const RECENT_WRITES_MAX: usize = 65_536;

/// A region that is cut off, and what its clients see.
struct CutOff<View> {
    /// When it was cut off.
    since_ms: u64,
    view: Arc<View>,
}

/// The last write of an item.
struct Write {
    region: String,
    /// Until then another region's write conflicts with it.
    until_ms: u64,
}

/// What the simulation of strongly consistent tables keeps.
pub(crate) struct SharedTables<View> {
    /// By region.
    cut_off: tokio::sync::Mutex<BTreeMap<String, CutOff<View>>>,
    /// Regions in it.
    count: AtomicU64,
    /// By the key of the item's row.
    writes: Mutex<BTreeMap<Bytes, Write>>,
    draws: AtomicU64,
}

impl<View> Default for SharedTables<View> {
    fn default() -> Self {
        Self {
            cut_off: tokio::sync::Mutex::default(),
            count: AtomicU64::new(0),
            writes: Mutex::default(),
            draws: AtomicU64::new(0),
        }
    }
}

impl<View: Send + Sync> SharedTables<View> {
    /// What a read of a member sees: the newest rows, or those of the moment when its region was cut off.
    pub(crate) async fn view<S: Store<Snapshot = View>>(
        &self,
        engine: &Engine<S>,
        (table, consistency): (&Table, Consistency),
    ) -> Result<Option<Arc<View>>, Error> {
        let now_ms = engine.env().now_ms();
        if engine.links().isolated_since(&table.region, now_ms).is_none() {
            return Ok(None);
        }
        if consistency == Consistency::Strong {
            return Err(fault::internal());
        }
        self.keep_views(engine, table).await?;
        let held = self.cut_off.lock().await;
        Ok(held.get(&table.region).map(|cut_off| Arc::clone(&cut_off.view)))
    }

    /// Refuses writes of a region that is cut off, and keeps what such regions see before others write.
    pub(crate) async fn admit_write<S: Store<Snapshot = View>>(
        &self,
        engine: &Engine<S>,
        table: &Table,
    ) -> Result<(), Error> {
        if engine.links().isolated_since(&table.region, engine.env().now_ms()).is_some() {
            return Err(fault::internal());
        }
        self.keep_views(engine, table).await
    }

    /// Keeps a view for each region of a group that was cut off since the last call: nobody wrote in between.
    async fn keep_views<S: Store<Snapshot = View>>(
        &self,
        engine: &Engine<S>,
        table: &Table,
    ) -> Result<(), Error> {
        let now_ms = engine.env().now_ms();
        let since = |region: &str| engine.links().isolated_since(region, now_ms);
        let members = table.strong_members().map(|(member, _)| member.region.as_str());
        let cut: Vec<(&str, u64)> = members.filter_map(|region| Some((region, since(region)?))).collect();
        if cut.is_empty() && self.count.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let mut held = self.cut_off.lock().await;
        held.retain(|region, cut_off| since(region) == Some(cut_off.since_ms));
        for (region, since_ms) in cut {
            if !held.contains_key(region) {
                let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
                held.insert(region.to_owned(), CutOff { since_ms, view: Arc::new(view) });
            }
        }
        self.count.store(u64::try_from(held.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(())
    }

    /// Lets go of what regions saw that are not cut off any more.
    pub(crate) async fn forget_healed<S: Store<Snapshot = View>>(&self, engine: &Engine<S>, now_ms: u64) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut held = self.cut_off.lock().await;
        held.retain(|region, cut_off| {
            engine.links().isolated_since(region, now_ms) == Some(cut_off.since_ms)
        });
        self.count.store(u64::try_from(held.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Refuses writes of items of a member that another region wrote within the simulated round trip, and
    /// those that chance refuses; notes the others.
    pub(crate) fn contend<S: Store<Snapshot = View>>(
        &self,
        engine: &Engine<S>,
        writes: &[(&Table, &Bytes)],
    ) -> Result<(), Error> {
        let now_ms = engine.env().now_ms();
        let conflict = || Error::new(ErrorKind::ReplicatedWriteConflict, messages::WRITE_CONFLICT);
        let mut recent = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut noted = Vec::new();
        for (table, row) in writes {
            let Some(rule) = engine.links().strong_rule((&table.account, &table.name), now_ms) else {
                continue;
            };
            let before = recent.get(*row).filter(|write| now_ms < write.until_ms);
            if before.is_some_and(|write| write.region != table.region)
                || rule.conflict.hits(self.draw(rule.seed))
            {
                return Err(conflict());
            }
            if rule.round_trip_ms > 0 {
                noted.push((table, row, now_ms.saturating_add(rule.round_trip_ms)));
            }
        }
        if recent.len().saturating_add(noted.len()) > RECENT_WRITES_MAX {
            recent.retain(|_, write| now_ms < write.until_ms);
        }
        for (table, row, until_ms) in noted {
            if recent.len() < RECENT_WRITES_MAX {
                recent.insert((*row).clone(), Write { region: table.region.clone(), until_ms });
            }
        }
        Ok(())
    }

    /// The next draw: the same seed and requests have the same ones.
    fn draw(&self, seed: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (seed, self.draws.fetch_add(1, Ordering::Relaxed)).hash(&mut hasher);
        hasher.finish()
    }
}
