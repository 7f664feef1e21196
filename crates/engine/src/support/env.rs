//! The engine's environment: time, randomness, and the caller.
//!
//! All else the engine does follows from these and the store, so a failure replays from a seed.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use keywright_semantics::place::{RegionName, is_account};
use keywright_semantics::request::TableRef;

use crate::support::lane;

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

    /// Waits, before another look at what other processes do. Where time stands still, nothing is waited for.
    fn pause(&self, _ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(lane::yield_now())
    }
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
    /// A region, such as `us-east-1`. A request names one that is a `RegionName`; stores of earlier releases
    /// have tables under other texts.
    Region
);

impl From<&str> for AccountId {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl From<RegionName<'_>> for Region {
    fn from(name: RegionName<'_>) -> Self {
        Self(Arc::from(name.as_str()))
    }
}

/// A name in the source code.
impl From<&'static str> for Region {
    fn from(text: &'static str) -> Self {
        Self(Arc::from(text))
    }
}

impl Region {
    /// The region of a stored row, whose text may be one that no request can name.
    pub fn stored(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

/// The account and region whose tables a request sees: where names of tables are unique.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace {
    /// The account.
    pub account: AccountId,
    /// The region.
    pub region: Region,
}

impl Namespace {
    /// Whether a request can name this place. Earlier releases took nearly any text as a region.
    pub fn can_be_named(&self) -> bool {
        is_account(self.account.as_str()) && RegionName::parse(self.region.as_str()).is_some()
    }
}

/// In whose name a request is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Principal {
    /// The account itself: no signature was verified.
    Account,
    /// The account itself, by the access key with this id, whose signature was verified.
    AccessKey(Arc<str>),
    /// A user, or the session of a user or role, who may do only what policies allow.
    Limited(Arc<Limited>),
}

/// A principal whose rights its policies give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limited {
    /// The ARN of the user or of the role's session.
    pub arn: String,
    /// The user's id, or the role's with the name of the session.
    pub user_id: String,
    /// The name of the user; none for the session of a role.
    pub user: Option<String>,
    /// The id of the access key.
    pub access_key_id: String,
}

/// Who makes a request, and in which namespace. Names of tables are looked up in the namespace alone; a
/// decision on access reads the principal too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// The account and region of the request.
    pub namespace: Namespace,
    /// In whose name it is made.
    pub principal: Principal,
    /// Whose tables it may name.
    pub reach: Reach,
}

/// Whose tables a request may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Those of the caller's namespace.
    #[default]
    Own,
    /// By ARN also those of other accounts, in batches and transactions: access to each table was decided.
    Others,
}

impl Caller {
    /// The account itself as caller in this namespace.
    pub const fn account(namespace: Namespace) -> Self {
        Self { namespace, principal: Principal::Account, reach: Reach::Own }
    }

    /// The namespace in which a table is looked up.
    pub(crate) fn namespace_of(&self, table: &TableRef) -> Cow<'_, Namespace> {
        match table.arn_scope() {
            Some(scope)
                if self.reach == Reach::Others && scope.account != self.namespace.account.as_str() =>
            {
                let account = AccountId::from(scope.account.as_str());
                Cow::Owned(Namespace { account, region: self.namespace.region.clone() })
            }
            _ => Cow::Borrowed(&self.namespace),
        }
    }
}
