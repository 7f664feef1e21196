//! The engine's environment: time, randomness, and the caller.
//!
//! All else the engine does follows from these and the store, so a failure replays from a seed.

use std::fmt;
use std::sync::Arc;

/// Milliseconds of a minute.
pub(crate) const MINUTE_MS: u64 = 60_000;

/// Time and randomness.
pub trait Env: Send + Sync {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Microseconds since 1970, on the same clock: for how long requests take.
    fn now_us(&self) -> u64 {
        self.now_ms().saturating_mul(1000)
    }

    /// 128 random bits.
    fn random_u128(&self) -> u128;
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

name!(
    /// An account: twelve digits.
    AccountId
);
name!(
    /// A region, such as `us-east-1`.
    Region
);

/// The account and region whose tables a request sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// The account.
    pub account: AccountId,
    /// The region.
    pub region: Region,
}
