//! The choices that several operations share.
//!
//! It does not know which operation allows which choice: their `sense` constructors do.

/// Whether a read sees every write acknowledged before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    Eventual,
    Strong,
}

/// The order in which Query walks sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortOrder {
    Ascending,
    Descending,
}

/// What PutItem and DeleteItem may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnOld {
    None,
    AllOld,
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
