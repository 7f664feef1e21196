//! The choices that several operations share.
//!
//! It does not know which operation allows which choice: the `validate` constructors do.

/// Whether a read sees every write acknowledged before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// It may miss recent writes; it costs half as much.
    Eventual,
    /// It sees every acknowledged write.
    Strong,
}

impl Consistency {
    /// `ConsistentRead`; absent means false.
    pub(super) fn of(consistent_read: Option<bool>) -> Self {
        if consistent_read == Some(true) { Self::Strong } else { Self::Eventual }
    }
}

/// The order in which Query reads sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortOrder {
    /// From the smallest sort key to the greatest.
    Ascending,
    /// From the greatest sort key to the smallest.
    Descending,
}

impl SortOrder {
    /// `ScanIndexForward`; absent means true.
    pub(super) fn of(scan_index_forward: Option<bool>) -> Self {
        if scan_index_forward == Some(false) { Self::Descending } else { Self::Ascending }
    }
}

/// Whether a failed condition's error carries the item it was evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConditionFailure {
    /// The error carries no item.
    Nothing,
    /// The error carries the item.
    ReturnItem,
}

/// Which attributes a page of Query or Scan returns, from `Select`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectMode {
    /// All attributes of the item, fetched from the table where the index lacks them.
    AllAttributes,
    /// All attributes that the index holds.
    AllProjectedAttributes,
    /// The attributes of the projection.
    SpecificAttributes,
    /// No items, only their number.
    Count,
}
