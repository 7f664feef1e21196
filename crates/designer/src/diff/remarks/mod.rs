//! What a comparison says next to the steps: notes, changes that are left out of the plan, and reasons why
//! there is no plan.

mod not_planned;
mod notes;
mod refusals;

use std::fmt;

pub use not_planned::NotPlanned;
pub use notes::{Estimate, Note};
pub use refusals::{Refusal, SearchedBy};

use super::kinds::Field;
use keywright_model::json::Json;

/// One line of a plan's summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// What the plan requires or assumes.
    Note(Note),
    /// A change that the plan leaves out.
    NotPlanned(NotPlanned),
    /// A reason why there is no plan.
    NoPlan(Refusal),
}

/// The items of an entity, with the key that tells them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Items {
    /// The entity.
    pub entity: String,
    /// The table that has them.
    pub table: String,
    /// The templates of the key.
    pub key: Vec<String>,
}

impl Remark {
    /// A sentence without a full stop at its end.
    pub fn text(&self) -> String {
        match self {
            Self::Note(note) => note.text(),
            Self::NotPlanned(open) => format!("not planned: {}", open.text()),
            Self::NoPlan(refusal) => format!("no plan: {}", refusal.text()),
        }
    }

    /// How much of the plan it concerns, for programs.
    pub const fn level(&self) -> &'static str {
        match self {
            Self::Note(_) => "note",
            Self::NotPlanned(_) => "not planned",
            Self::NoPlan(_) => "no plan",
        }
    }

    /// Its level, kind, fields and text.
    pub(super) fn json(&self) -> Json {
        let mut json = match self {
            Self::Note(note) => note.json(),
            Self::NotPlanned(open) => open.json(),
            Self::NoPlan(refusal) => refusal.json(),
        };
        json.set("level", Json::text(self.level()));
        json.set("text", Json::text(self.text()));
        json
    }

    /// All kinds, each with the names of its fields.
    pub fn kinds() -> Vec<(&'static str, &'static [&'static str])> {
        [Note::KINDS, NotPlanned::KINDS, Refusal::KINDS].concat()
    }
}

impl From<Note> for Remark {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

impl From<NotPlanned> for Remark {
    fn from(open: NotPlanned) -> Self {
        Self::NotPlanned(open)
    }
}

impl From<Refusal> for Remark {
    fn from(refusal: Refusal) -> Self {
        Self::NoPlan(refusal)
    }
}

impl fmt::Display for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) of {}", self.entity, self.key.join(", "), self.table)
    }
}

impl Field for Items {
    fn json(&self) -> Option<Json> {
        let (entity, table) = (Json::text(&self.entity), Json::text(&self.table));
        Some(Json::object([("entity", entity), ("table", table), ("key", self.key.json()?)]))
    }
}
