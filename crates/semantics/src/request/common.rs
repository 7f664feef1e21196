//! The choices that several operations share.
//!
//! It does not know which operation allows which choice: their `validate` constructors do.

/// Whether a read sees every write acknowledged before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    Eventual,
    Strong,
}

impl Consistency {
    /// `ConsistentRead`, absent being false.
    pub(super) fn of(consistent_read: Option<bool>) -> Self {
        if consistent_read == Some(true) { Self::Strong } else { Self::Eventual }
    }
}

/// The order in which Query walks sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortOrder {
    Ascending,
    Descending,
}

impl SortOrder {
    /// `ScanIndexForward`, absent being true.
    pub(super) fn of(scan_index_forward: Option<bool>) -> Self {
        if scan_index_forward == Some(false) { Self::Descending } else { Self::Ascending }
    }
}

/// Whether a failed condition's error carries the item it was evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConditionFailure {
    Nothing,
    ReturnItem,
}

/// Which attributes a page of Query or Scan returns, when the client said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectMode {
    AllAttributes,
    AllProjectedAttributes,
    SpecificAttributes,
    Count,
}
