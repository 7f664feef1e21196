//! How much of a command is carried out.

/// How much of a command is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// It says what it would do.
    Shown,
    Done,
}
