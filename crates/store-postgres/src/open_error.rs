//! Why a store is not opened, in sentences for the person who starts the server.

/// Why a store cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// No server answers.
    Unreachable(String),
    /// Servers answer, and none takes writes at present.
    NoPrimary(String),
    /// The server wants a password, and there is none.
    PasswordMissing(String),
    /// The server refuses the password.
    PasswordWrong(String),
    /// The server refuses us: its sentence, and what to do.
    Refused(String, String),
    /// The server refuses us for a reason on which there is no advice.
    Failed(String),
    /// There is no connection that is encrypted as the address says.
    Tls(String),
    /// No server can be used, for the reason in this sentence.
    Unfit(String),
    /// The server takes writes and does not confirm them.
    Unconfirmed(String),
    /// The server is older than what we need.
    TooOld(String),
    /// What the server calls itself, and the features that it lacks.
    Lacking(String, Vec<&'static str>),
    /// The schema holds tables that are not ours.
    Foreign(String),
    /// The schema was written by another version of Keywright: its layout, and ours.
    OtherLayout(String, &'static str),
    /// This machine's clock and the server's are so many milliseconds apart.
    Clock(u64),
}

impl OpenError {
    pub(crate) const fn refused(sentence: String, advice: String) -> Self {
        Self::Refused(sentence, advice)
    }

    /// The reason, if it may pass by itself within seconds, as a fail-over does.
    pub fn passing(&self) -> Option<&str> {
        match self {
            Self::NoPrimary(reason) | Self::Unconfirmed(reason) => Some(reason),
            _ => None,
        }
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(text) => {
                write!(formatter, "{text}: check the host and port in the address, and that the server runs")
            }
            Self::NoPrimary(text) => write!(
                formatter,
                "no server of the address takes writes now: {text}; a fail-over may be under way: start again \
                 when it is over, with the server that takes writes or all of them in the address, as in \
                 postgres://USER@HOST1,HOST2/DATABASE"
            ),
            Self::PasswordMissing(text) => write!(formatter, "{text}: give one"),
            Self::PasswordWrong(text) => write!(formatter, "{text}: check the user and the password"),
            Self::Refused(sentence, advice) => write!(formatter, "{sentence}: {advice}"),
            Self::Tls(sentence) | Self::Failed(sentence) => formatter.write_str(sentence),
            Self::Unfit(sentence) => write!(
                formatter,
                "{sentence}: name the server that takes writes, or all of them, as in \
                 postgres://USER@HOST1,HOST2/DATABASE, and it is found"
            ),
            Self::Unconfirmed(text) => {
                write!(formatter, "{text}: start the server again when the standby is there")
            }
            Self::Lacking(server, features) => write!(
                formatter,
                "{server} lacks what Keywright needs of PostgreSQL: {}; use PostgreSQL 13 or newer itself",
                features.join(", ")
            ),
            Self::TooOld(version) => {
                write!(formatter, "PostgreSQL {version} is too old: version 13 or newer is needed")
            }
            Self::Foreign(schema) => write!(
                formatter,
                "the schema {schema} holds tables that are not Keywright's: name another one with ?schema=NAME"
            ),
            Self::OtherLayout(found, needed) => write!(
                formatter,
                "the schema has the layout `{found}`, this Keywright needs `{needed}`: \
                 use the version that wrote it, or another schema with ?schema=NAME"
            ),
            Self::Clock(apart_ms) => write!(
                formatter,
                "the clocks of this machine and of PostgreSQL are {} seconds apart, and servers over one store \
                 must agree on the time: set the clock that is wrong, best by NTP",
                apart_ms / 1000
            ),
        }
    }
}

impl std::error::Error for OpenError {}
