//! The model file: tables, entities, access patterns and data as their author
//! wrote them, parsed once into one model, and its items.
//!
//! It owns the file format and its faults, key templates and the texts they produce, and item generation. It
//! does not know other tools' formats (`keywright-exchange`) nor the engine: `keywright-workbench` decides
//! whether a model works, what it costs and how hot its partitions get. It opens no files; callers pass the
//! text.
//!
//! Layers: json, yaml, tables, template, expression < file < overlap, distribution

pub mod data;
pub mod distribution;
pub mod expression;
mod file;
pub mod item_json;
pub mod json;
pub mod overlap;
pub mod shell;
pub mod tables;
pub mod template;
pub mod yaml;

pub use file::{
    At, Attribute, AttributeFormat, AutoScale, Condition, Consistency, DataSource, DeclaredCapacity, Entity,
    Expectation, FAULTS_MAX, FailsWhen, Fault, Faults, Generate, Given, GivenOp, HalfUnits, Index, IndexKind,
    KeyAttribute, KeyType, MicroPerSecond, MilliItems, Model, Node, NodeKind, Operation, Order, Origin,
    Pattern, Projection, Rate, RawItems, Read, ReadKind, Records, Returns, Skew, Slot, StreamView,
    TARGET_PERCENT, Table, Write, WriteKind, did_you_mean, parse, read_yaml, schema, starter, value, write,
};
pub use template::{Part, Template};
