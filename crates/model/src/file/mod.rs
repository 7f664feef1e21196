//! The model file: tables, entities and access patterns, read
//! from YAML with a position for every fault, and written back.
//!
//! It knows the file's format and resolves names; it does not
//! judge the design (`lint`) and does not run it (`run`).

mod ast;
mod fault;
mod meaning;
mod names;
mod origin;
mod read;
mod read_entity;
mod read_pattern;
mod read_table;
mod references;
mod schema;
pub mod value;
mod write;
mod yaml;

pub use ast::{
    Attribute, AttributeFormat, AutoScale, Condition, Consistency, DataSource, DeclaredCapacity, Entity,
    Expectation, FailsWhen, Generate, Given, GivenOp, HalfUnits, Index, IndexKind, KeyAttribute, KeyType,
    MicroPerSecond, MilliItems, Model, Operation, Order, Pattern, Projection, Rate, RawItems, Read, ReadKind,
    Records, Returns, Skew, Slot, StreamView, Table, Write, WriteKind,
};
pub(crate) use fault::Found;
pub use fault::{At, FAULTS_MAX, Fault, Faults};
pub use names::did_you_mean;
pub use origin::Origin;
pub use read::parse;
pub use read_table::TARGET_PERCENT;
pub use schema::{schema, starter};
pub use write::write;
pub use yaml::read_yaml;
pub use yaml::{Node, NodeKind};
