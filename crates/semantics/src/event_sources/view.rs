//! A mapping as clients read it, and how it stands.

use super::request::Start;
use super::settings::Settings;

/// The state of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the state of its name")]
pub enum State {
    Creating,
    Enabling,
    Enabled,
    Disabling,
    Disabled,
    Updating,
    Deleting,
}

impl State {
    /// The name that clients see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Enabling => "Enabling",
            Self::Enabled => "Enabled",
            Self::Disabling => "Disabling",
            Self::Disabled => "Disabled",
            Self::Updating => "Updating",
            Self::Deleting => "Deleting",
        }
    }

    /// Whether it becomes another one by itself.
    pub const fn is_transient(self) -> bool {
        !matches!(self, Self::Enabled | Self::Disabled)
    }
}

/// What a mapping has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that the target has taken.
    pub delivered: u64,
    /// Records that no filter matched.
    pub filtered: u64,
    /// Records that were passed over because they failed or were too old.
    pub discarded: u64,
    /// Tries after the first one of a batch.
    pub retries: u64,
}

impl Counts {
    /// The sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            delivered: self.delivered.saturating_add(other.delivered),
            filtered: self.filtered.saturating_add(other.filtered),
            discarded: self.discarded.saturating_add(other.discarded),
            retries: self.retries.saturating_add(other.retries),
        }
    }
}

/// What failed last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What, for people.
    pub text: String,
    /// Whether it still goes on.
    pub is_present: bool,
}

impl Failure {
    /// Records were trimmed before they were delivered.
    pub fn lost(at_ms: u64) -> Self {
        let text = "records were older than a day before they could be delivered, and are lost";
        Self { at_ms, text: text.to_owned(), is_present: false }
    }
}

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its id.
    pub uuid: String,
    /// Its account.
    pub account: String,
    /// Its region.
    pub region: String,
    /// The ARN of its stream.
    pub stream_arn: String,
    /// The name of the stream's table.
    pub table: String,
    /// Where it began.
    pub start: Start,
    /// What it does.
    pub settings: Settings,
    /// How it stands.
    pub state: State,
    /// Why it is in this state.
    pub reason: String,
    /// When it was changed, in milliseconds since 1970.
    pub modified_ms: u64,
    /// The section of the settings file that made it; `None`: a request did.
    pub section: Option<String>,
    /// What it has done.
    pub counts: Counts,
    /// What failed last.
    pub failure: Option<Failure>,
    /// Why its stream gets no more records; `None`: it gets more.
    pub stream_end: Option<&'static str>,
    /// Whether its stream keeps no old images.
    pub lacks_old_images: bool,
    /// The age of the oldest record that is not delivered yet, in milliseconds; `None`: there is none.
    pub lag_ms: Option<u64>,
}

impl Mapping {
    /// Its ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:lambda:{}:{}:event-source-mapping:{}", self.region, self.account, self.uuid)
    }

    /// What Lambda says about the last batch.
    pub fn last_result(&self) -> String {
        match (&self.failure, self.stream_end) {
            (Some(failure), _) if failure.is_present => format!("PROBLEM: {}", failure.text),
            (_, Some(end)) => format!("PROBLEM: {end}"),
            _ if self.counts == Counts::default() => "No records processed".to_owned(),
            _ => "OK".to_owned(),
        }
    }
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Of an operation on one mapping.
    One(Box<Mapping>),
    /// A page of mappings.
    Page {
        /// The mappings.
        mappings: Vec<Mapping>,
        /// Where the next page begins.
        next_marker: Option<String>,
    },
}
