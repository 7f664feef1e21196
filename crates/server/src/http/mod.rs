//! One HTTP request from head to response: early rejection, authentication, body, admission, decode, execute,
//! render.
//!
//! - `service`: what all requests share, and the way of a request in the large; `web_guard`: which requests
//!   of browsers are admitted; `response`: how an answer is framed.
//! - `context`: the head of a request. `receive`: a body and who signed it (`auth`, `credentials`,
//!   `failed_signatures`, `inflate`, and for users and sessions `signers`).
//! - `admission`: the one place that all requests pass on their way to the engine. `work`: memory
//!   (`answer_size`), threads, and changes that end (`run_to_completion`).
//! - `judgement`: whether policies allow a request (`rights`); `second_look`: by keys and attributes.
//!   `resource_policies`: those of tables and streams, and other accounts (`governing`). `sessions`: tokens
//!   of STS.
//! - The APIs: `dynamodb`, `event_sources`, `identity` (`assume`), `monitoring`, `scaling`; our own `calls`
//!   (which: `own_call`; `branches`, `find_table`, `history`, `triggers`, and with bytes in `frames` and
//!   `hex`: `sets`, `restores`) and `job_calls` (`backups`, `destinations`, `import_errors`, `jobs`,
//!   `rollbacks`);
//!   `studio_calls` of `visitors` who signed in before, who read why they are denied (`explanations`);
//!   `readers` of the management port. `copy_check`: what `dynamodb` asks the backup store before a restore.
//! - `request_trace`, `request_metrics` and `request_log`: what is noted about a request.
//!
//! It does not know what any operation does, or how bytes arrive (`connection`).

mod admission;
mod answer_size;
mod assume;
pub(crate) mod auth;
mod backups;
pub(crate) mod branches;
mod calls;
mod context;
mod copy_check;
pub(crate) mod credentials;
pub(crate) mod destinations;
mod dynamodb;
mod event_sources;
mod explanations;
mod failed_signatures;
pub(crate) mod find_table;
pub(crate) mod frames;
mod governing;
pub(crate) mod hex;
pub(crate) mod history;
mod identity;
pub(crate) mod import_errors;
mod inflate;
mod job_calls;
pub(crate) mod jobs;
pub(crate) mod judgement;
mod monitoring;
mod own_call;
mod readers;
mod receive;
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
pub(crate) mod triggers;
mod turns;
mod visitors;
pub(crate) mod web_guard;
mod work;

pub(crate) use service::{Service, ServiceParts};
