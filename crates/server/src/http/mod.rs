//! One HTTP request from head to response: early rejection, authentication, body, admission, decode, execute,
//! render.
//!
//! - `service`: what all requests share, and the way of a request in the large; `web_guard`: which requests
//!   of browsers are admitted; `response`: how an answer is framed.
//! - `context`: the head of a request, its client's address (`proxies`), what its connection has shown
//!   before (`known_claim`). `receive`: a body and who signed
//!   it (`auth`, `credentials`, `failed_signatures`, `inflate`, and for users and sessions `signers`).
//! - `admission`: the one place that all requests pass on their way to the engine. `work`: memory
//!   (`answer_size`), threads, and changes that end (`run_to_completion`).
//! - `judgement`: whether policies allow a request (`rights`); `second_look`: by keys and attributes.
//!   `resource_policies`: those of tables and streams, and other accounts (`governing`). `sessions`: tokens
//!   of STS.
//! - The APIs: `dynamodb`, `event_sources`, `identity` (`assume`), `monitoring`, `scaling`; our own `calls`
//!   (which: `own_call`; `branches`, `find_table`, `global_tables`, `history`, `table_changes`, `triggers`,
//!   and with bytes in `frames` and `hex`: `sets`, `restores`), `controls` of tests, and `job_calls`
//!   (`backups`, `destinations`, `import_errors`, `jobs`, `rollbacks`);
//!   `studio_calls` of `visitors` who signed in before, who read why they are denied (`explanations`);
//!   `readers` of the management port. `copy_check` and `key_check`: what `dynamodb`
//!   asks the backup store and the key management service before a request is executed.
//! - `request_trace`, `request_metrics`, `request_log`, `audit_notes` and `audited`: what is noted
//!   about a request.
//!
//! It does not know what any operation does, or how bytes arrive (`connection`).

mod admission;
mod answer_size;
mod assume;
mod audit_notes;
mod audited;
pub(crate) mod auth;
mod backups;
pub(crate) mod branches;
mod calls;
mod context;
mod controls;
mod copy_check;
pub(crate) mod credentials;
pub(crate) mod destinations;
mod dynamodb;
pub(crate) mod encryption;
mod event_sources;
mod explanations;
mod failed_signatures;
pub(crate) mod find_table;
pub(crate) mod frames;
pub(crate) mod global_tables;
mod governing;
pub(crate) mod hex;
pub(crate) mod history;
mod identity;
pub(crate) mod import_errors;
mod inflate;
mod job_calls;
pub(crate) mod jobs;
pub(crate) mod judgement;
mod key_check;
mod known_claim;
mod monitoring;
mod own_call;
mod peer_calls;
pub(crate) mod peer_door;
pub(crate) mod proxies;
mod readers;
mod receive;
mod replication_policies;
pub(crate) mod request_log;
pub(crate) mod request_metrics;
pub(crate) mod request_rates;
mod request_trace;
mod resource_policies;
pub(crate) mod response;
pub(crate) mod restores;
mod rights;
pub(crate) mod rollbacks;
mod run_to_completion;
mod scaling;
pub(crate) mod second_look;
mod service;
pub(crate) mod sessions;
pub(crate) mod sets;
mod signers;
mod studio_calls;
mod table_changes;
pub(crate) mod triggers;
mod turns;
pub(crate) mod verifications;
mod visitors;
pub(crate) mod web_guard;
mod work;

pub(crate) use service::{Service, ServiceParts};
