//! Conditions, filters and updates of a model, parsed once by the parser of the database.
//!
//! A condition or filter is a `ConditionExpression`: its text and its tree (`tree`), with questions such as
//! which attributes it compares and whether it can hold without an item. An update is a list of `Effect`s,
//! one for each attribute that it changes. Model files write attribute names as they are, even if the service
//! reserves them or cannot read them; `names` finds them in a text. Whether functions and values fit is
//! decided by the database when the model runs.

mod condition;
mod effect;
mod names;
mod tree;

pub use condition::ConditionExpression;
pub use effect::{Change, Effect, SetValue};
pub use keywright_semantics::expression::{Arithmetic, Comparator, Section};
pub use names::is_word;
pub use tree::{Call, Clause, Operand, Path, Presence, Step};
