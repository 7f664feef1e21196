//! The result of a simulation, as plain data.

use std::collections::BTreeMap;

use keywright_engine::Whole;
use keywright_semantics::capacity::HalfUnits;

use super::bill::MonthlyBill;
use super::program::Resource;

/// A simulation's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The model's name.
    pub model: String,
    /// Milliseconds since 1970.
    pub start_ms: u64,
    /// How long it ran.
    pub length_s: u64,
    /// Tables and global indexes, in the model's order.
    pub resources: Vec<Resource>,
    /// Each minute of each resource: the outer list has the resources.
    pub minutes: Vec<Vec<Minute>>,
    /// Splits, and partitions that stay whole.
    pub events: Vec<Event>,
    /// Requests of the patterns, without further attempts.
    pub requests: u64,
    /// Further attempts.
    pub retries: u64,
    /// Requests given up after all attempts.
    pub lost: u64,
    /// Requests refused at the first or a later attempt, in each minute.
    pub throttled: Vec<u64>,
    /// Patterns that did not run, and why.
    pub left_out: Vec<(String, String)>,
    /// What a month of this traffic costs.
    pub bill: MonthlyBill,
    /// The assumptions behind the figures.
    pub assumptions: Vec<String>,
    /// What the profile expects and the simulation does not hold.
    pub broken: Vec<String>,
}

/// One minute of a table or index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// Read and write units that the patterns asked for, at their first attempts.
    pub demanded: [HalfUnits; 2],
    /// Units of requests that passed.
    pub consumed: [HalfUnits; 2],
    /// Units a second: provisioned, or the level that on-demand capacity has reached.
    pub units: [u64; 2],
    /// Provisioned units a second; none on demand.
    pub provisioned: Option<[u64; 2]>,
    /// Refusals by reason.
    pub refused: BTreeMap<String, u64>,
    /// Partitions at the end of the minute.
    pub partitions: usize,
    /// The partition that was asked for most; none without requests.
    pub heaviest: Option<Heaviest>,
}

impl Minute {
    /// All refusals.
    pub fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }
}

/// The partition that was asked for most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heaviest {
    /// Its place in the order of keys, from one.
    pub partition: usize,
    /// Read and write units that it was asked for, further attempts included.
    pub asked: [HalfUnits; 2],
    /// The partition key that was asked for most in it, with its units.
    pub key: Option<(String, HalfUnits)>,
}

/// Something that happened to partitions or capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The minute, from zero.
    pub minute: usize,
    /// The table or index.
    pub resource: Resource,
    /// What happened.
    pub what: What,
}

/// What happened to partitions or capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Auto scaling set the capacity, or was refused.
    Scaled {
        /// What it did, and why it failed if it did.
        text: String,
    },
    /// There are more of them.
    Split {
        /// Before.
        from: usize,
        /// After.
        to: usize,
    },
    /// A hot partition was due and stays whole.
    Whole {
        /// Its place in the order of keys, from one.
        partition: usize,
        /// Why.
        why: Whole,
    },
}

/// Minutes one after the other with refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first minute, from zero.
    pub first: usize,
    /// How many.
    pub minutes: usize,
    /// Refused attempts in all of them.
    pub refused: u64,
}

impl Simulation {
    /// The stretches of minutes with refusals, in order.
    pub fn stretches(&self) -> Vec<Stretch> {
        let mut found: Vec<Stretch> = Vec::new();
        for (minute, refused) in self.throttled.iter().enumerate().filter(|(_, refused)| **refused > 0) {
            match found.last_mut().filter(|last| last.first + last.minutes == minute) {
                Some(last) => {
                    last.minutes += 1;
                    last.refused += refused;
                }
                None => found.push(Stretch { first: minute, minutes: 1, refused: *refused }),
            }
        }
        found
    }

    /// Whether every expectation holds.
    pub fn passes(&self) -> bool {
        self.broken.is_empty()
    }

    /// The time of a minute.
    pub(super) fn time(&self, minute: usize) -> String {
        let ms = self.start_ms + u64::try_from(minute).unwrap_or(0) * super::run::MINUTE_MS;
        super::profile::minute_text(ms)
    }
}

/// Why a hot partition stays whole, in words.
pub(super) const fn why(whole: Whole) -> &'static str {
    match whole {
        Whole::OneItem => "one item bears its load",
        Whole::OneCollection => "one item collection bears its load, and a local index keeps it together",
        Whole::Sequence => "its keys grow in sequence",
    }
}
