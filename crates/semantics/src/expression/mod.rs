//! The expression language: conditions, filters, projections, updates and key conditions.
//!
//! A text becomes tokens (`lexer`), then a syntax tree (`parser`, `syntax`). A first pass checks names and
//! functions (`checks`); a second one replaces placeholders and checks operands (`bind`, `update`). The
//! legacy request members are desugared to the same types (`legacy`). This module does not know tables or
//! which attributes are keys.

mod apply;
mod apply_stored;
mod bind;
mod checks;
mod condition;
mod evaluate;
mod fault;
mod functions;
mod kept;
mod key_condition;
pub mod legacy;
mod lexer;
mod parser;
mod path;
mod placeholders;
mod print;
mod projection;
mod reserved;
mod selection;
mod statement_size;
mod syntax;
#[cfg(test)]
mod tests;
mod update;
mod work;

pub use apply::Updated;
pub use condition::{Condition, ConditionKind, parse_condition, read_condition};
pub(crate) use condition::{Expr, Operand};
pub use kept::{KeptExpressions, kept_expressions};
pub use key_condition::{KeyClause, KeyCondition, KeyPredicate, ParsedKey, parse_key, parse_key_condition};
pub use lexer::Comparator;
pub use path::{DocumentPath, PathStep};
pub use placeholders::Placeholders;
pub use print::CanonicalText;
pub use projection::{Projection, parse_projection};
pub use syntax::{Arithmetic, RawCall, RawCondition, RawOperand, RawPath, RawStep};
pub use syntax::{RawAction, RawChange, RawSetValue, RawUpdate, Section};
pub(crate) use update::{Action, Change, SetOperand, SetValue};
pub use update::{Update, parse_update, read_update};
pub use work::Work;
