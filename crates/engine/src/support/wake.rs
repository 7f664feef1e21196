//! When background work is to run next.

/// When `step` is to be called again; `None` if only a request can make work for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextWake {
    /// Milliseconds since 1970.
    pub at_ms: Option<u64>,
}

impl NextWake {
    /// The earlier of two times.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        match (self.at_ms, other.at_ms) {
            (Some(one), Some(two)) => Self { at_ms: Some(one.min(two)) },
            (one, two) => Self { at_ms: one.or(two) },
        }
    }
}
