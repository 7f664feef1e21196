//! The expression language: conditions, filters, projections, updates and key conditions.
//!
//! A text becomes tokens (`lexer`), then a tree of what was written (`syntax`), then, with placeholders bound and every
//! rule that needs no table checked, one of the public types here. The legacy request members are desugared to the same
//! types (`legacy`). This module knows no table: which attributes are keys is the caller's business.

mod condition;
mod key_condition;
mod path;
mod placeholders;
mod projection;
mod update;

pub use condition::{Condition, ConditionKind, parse_condition};
pub use key_condition::{KeyClause, KeyCondition, KeyPredicate, parse_key_condition};
pub use path::{DocumentPath, PathStep};
pub use placeholders::Placeholders;
pub use projection::{Projection, parse_projection};
pub use update::{Update, Updated, parse_update};
