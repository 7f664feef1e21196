//! Data models in the formats of other tools, read and written.
//!
//! Every import yields a [`draft::Draft`], every export starts from one: tables, entities with key templates,
//! items. The parts that only the model file has are added when a draft becomes a model.
//!
//! It owns the import and export of Workbench documents, `CreateTable` requests and `CloudFormation`
//! templates, tables that are in use with the client libraries' schemas in their items, and rows of items.
//! It does not know how the model file is read (`keywright-model`), nor the engine. It opens no files and
//! calls no endpoint; callers pass texts and answers.

pub mod apply;
pub mod cli_script;
pub mod cloudformation;
pub mod create_table;
pub mod draft;
pub mod export;
pub mod fault;
pub mod import;
pub mod infer;
mod item_file;
pub mod item_lines;
pub mod lines;
pub mod live;
pub mod of_model;
pub mod plain_json;
mod repair;
mod sample_counts;
mod sidecar;
pub mod supported;
pub mod table_key;
pub mod to_model;
pub mod workbench_json;
pub mod yaml;

pub use item_file::item_file;
