//! The room for a model's items. It is taken while they are read and generated, not after.

use keywright_semantics::size::item_bytes;
use keywright_semantics::value::Item;

use crate::{At, Fault, Faults};

/// The most items of a model, and their bytes in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The most items of all tables.
    pub items: usize,
    /// The most bytes of all items, by the service's size of an item.
    pub bytes: usize,
}

impl Limit {
    /// No limit: for a command on its user's own machine.
    pub const NONE: Self = Self { items: usize::MAX, bytes: usize::MAX };
}

/// Why a model's items are not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLoaded {
    /// The data section, a file or a template is wrong.
    Faults(Faults),
    /// There are more of them than the limit.
    BeyondLimit,
}

/// The fault of items that are more than a `usize` counts.
pub(super) fn too_many() -> Fault {
    Fault::new(At::default(), "there are more items than this machine can address")
}

/// What is left of a limit.
#[derive(Debug)]
pub(super) struct Room {
    left: Limit,
}

impl Room {
    pub(super) const fn of(limit: Limit) -> Self {
        Self { left: limit }
    }

    /// Takes the room of an item.
    pub(super) fn take(&mut self, item: &Item) -> Result<(), NotLoaded> {
        let items = self.left.items.checked_sub(1).ok_or(NotLoaded::BeyondLimit)?;
        let bytes = self.left.bytes.checked_sub(item_bytes(item)).ok_or(NotLoaded::BeyondLimit)?;
        self.left = Limit { items, bytes };
        Ok(())
    }

    /// Gives back the room of an item that is dropped.
    pub(super) fn give(&mut self, item: &Item) {
        self.left.items = self.left.items.saturating_add(1);
        self.left.bytes = self.left.bytes.saturating_add(item_bytes(item));
    }
}
