//! Executes typed requests as transactions over any store: catalogue, writes, reads, indexes, streams,
//! capacity.
//!
//! It does not know JSON, HTTP, threads or the clock: time and randomness come in through `Env`.
//!
//! A module imports only from layers to its left; modules joined by a comma are independent of each other.
//!
//! Layers: support < catalogue, directory < throughput, metrics, insights < bind < state < changes, history
//! < read, write < backfill, load, batch < partiql, streams, ttl < destinations, replication
//! < tables, monitoring < transfers < jobs
//! < backups, bulk, exports, imports, scaling, sets, triggers, principals < peers < background
//! < answered, copy < dispatch
//!
//! - `support`: environment, settings, key layout, latches, the lane for long computations, metering.
//! - `catalogue`: every table's stored record and its shared copy in memory.
//! - `directory`: every account's users, groups, roles, policies and keys, and their shared copy in memory.
//! - `throughput`: which request a limit refuses, and what each request leaves; pure.
//! - `bind`: a request and a table's schema become keys, ranges and plans.
//! - `metrics`: what requests consumed, per table and minute, in memory.
//! - `insights`: which keys consume most and are throttled most, per rule and minute, in memory.
//! - `state`: the `Engine` value and what it keeps in memory; it imports no operation.
//! - `changes`: the logged changes of a table's items: their stored form, their shards, trimming.
//! - `history`: undo rows, and a table as of a stamp.
//! - `read`, `write`: the page loop and the write core, each with its single-item operations.
//! - `backfill`: rows made of the items that a table has already, for indexes and time to live.
//! - `load`: the bounded writer of items in their stored form, for tables that are being restored.
//! - `batch`: operations on many items, transactions included.
//! - `partiql`, `streams`, `ttl`, `tables`: operations, one file each, and the work they leave to later
//!   steps.
//! - `destinations`: operations on Kinesis destinations, and what delivers their changes.
//! - `replication`: sending the changes of a table to its replicas in other regions.
//! - `sets`: several tables as of one stamp, read page by page from outside.
//! - `peers`: messages of other servers that own members of groups.
//! - `monitoring`: points in the store, operations on metrics, alarms.
//! - `transfers`: rows of exports, imports and bulk operations, as Describe and List answer them.
//! - `jobs`: long work with a row of its own: restores, and what needs an object store.
//! - `backups`: operations on backups, continuous backups and restores.
//! - `bulk`: operations on bulk puts.
//! - `exports`: operations on exports.
//! - `imports`: operations on imports.
//! - `scaling`: targets, policies and scheduled actions that change capacity through `tables`.
//! - `triggers`: event source mappings of streams, and how far each has delivered.
//! - `principals`: IAM's operations on the directory.
//! - `copy`: every row of one store into another.
//! - `background`: one bounded piece of due work; `answered`: metrics of answered requests; `dispatch`: open,
//!   execute, step, shut down.
//!
//! Where the next parts go:
//!
//! - A new kind of row: a line in the list of spaces of `support::layout`, and one in `Space::traits`, which
//!   purge, branch and copy read. If it depends on what the table's record says, its writers have the table's
//!   guard (`catalogue::guard`); if it is made of items, `backfill` makes it of those that are there already.
//! - A new setting of a table: a section of its record (`catalogue/record/sections.rs`), critical if an
//!   older release that ignored it would serve the table wrongly. What such a release must not open at all
//!   raises the format of the catalogue (`catalogue/format.rs`).
//! - Jobs: a variant of `jobs::row::Work` with a file in `jobs`. What reads a table as it
//!   was takes pages of `history`; what fills a new table is a source for `load`.
//! - Readers of changes: each that needs other images or another retention is a variant of
//!   `catalogue::Purpose`, with a log of its own; the header of `changes` lists them.
//! - Access control: the first decision is the server's, before a request is validated. What it leaves open
//!   (keys and attributes) is decided by each operation on items right after `bind`, from the `Caller`.

mod answered;
mod backfill;
mod background;
mod backups;
mod batch;
mod bind;
mod bulk;
mod catalogue;
mod changes;
mod copy;
mod destinations;
mod directory;
mod dispatch;
mod exports;
mod history;
mod imports;
mod insights;
mod jobs;
mod load;
mod metrics;
mod monitoring;
mod partiql;
mod peers;
mod principals;
mod read;
mod replication;
mod scaling;
mod sets;
mod state;
mod streams;
mod support;
mod tables;
mod throughput;
mod transfers;
mod triggers;
mod ttl;
mod write;

#[cfg(test)]
mod tests;

pub use backups::{BackedUp, BackupView, BackupWish, DueBackup};
pub use catalogue::{Affected, AffectedTable, CatalogueFault, KeyMap, RowRange};
pub use copy::{Copied, Copy, CopyFault};
pub use destinations::{Contact, Delivery, DeliveryPage, DestinationView, PagedRecord, Sent, Want};
pub use dispatch::OpenError;
pub use history::item::{ChangedBy, HistoryFault, HistorySpan, ItemChange, ItemHistory, ItemVersion};
pub use imports::ImportErrors;
pub use jobs::{
    Broken, BulkPutCounts, BulkPutLane, BulkPutStep, BulkPutWork, ExportPage, ExportPart, ExportWork,
    Exported, ExportedContent, ExportedItem, Finding, FindingsPage, JobKind, JobState, JobView, ObjectJob,
    ObjectSource, ObjectWork, Piece, Read, RollbackCounts, RollbackExample, RollbackFilter, RollbackPreview,
    RollbackRequest, Row, RowPage, Sealed, SourceError,
};
pub use partiql::Addressed;
pub use peers::{PeerCaller, PeerFigures, PeerReply};
pub use principals::{
    FoundKey, FoundPrincipal, FoundRole, HeldPolicies, SessionKey, Subject, built_in_policy,
};
pub use replication::peers::{PEER_PROTOCOL, PeerLane, PeerNotice};
pub use replication::{
    Chosen, DeliveryFault, LastVerification, OwedPass, Rejoin, Rejoining, ReplicaItem, ReplicaStatus,
    ReplicaVersion, ReplicationStatus, UnsentItems,
};
pub use sets::{
    BegunRestore, BegunSet, NewSet, RestoreFault, RestoredTable, SetFault, SetPage, SetTable, Wanted,
};
pub use state::{
    ClockNotice, Engine, Heat, HeldState, HotItem, HotKey, KeepingFigures, PartitionHeat, ReplicaConflict,
    ReplicaDifference, ShippingFigures, Trial, TrialArm, TrialPart, Verdict, Verification,
    VerificationFigures, VerifiedReplica,
};
pub use support::config::{BranchLimits, CountedTogether, EngineConfig, Guarding, RowSeal};
pub use support::env::{AccountId, Caller, Env, Limited, Namespace, Principal, Reach, Region};
pub use support::image_memory::ImageMemory;
pub use support::lane::{Aside, Lane, Presence};
pub use support::links::Links;
pub use support::observer::Observer;
pub use support::peers::{PeerAnswer, PeerFault, Peers};
pub use support::simulation::{
    Chance, Inaccessible, PairRule, RegionRule, Regions, ReplicaRule, Simulation, TableRule,
};
pub use support::throughput::{SplitRules, Throttle, ThroughputConfig};
pub use support::wake::NextWake;
pub use tables::branch::{Branch, BranchFault};
pub use throughput::{LimitState, PartitionLoad, PartitionState, Whole};
pub use transfers::export::{ExportSpan, ExportTarget};
pub use triggers::{
    TriggerLane, TriggerPage, TriggerPosition, TriggerProgress, TriggerRecord, TriggerSection, TriggerWindow,
};
pub use ttl::Backlog;
