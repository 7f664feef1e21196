//! What a mapping does with records, and changes of that. Defaults and bounds are those of Lambda's guide.

use super::fault::Fault;
use super::target::Target;

/// Filters of a mapping (quota; 10 on request).
const FILTERS_MAX: usize = 10;

/// What a mapping does with records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where records go.
    pub target: Target,
    /// Records of one invocation, at most.
    pub batch_size: u32,
    /// How long records are gathered, in seconds.
    pub batching_window_s: u32,
    /// Batches of a shard that are under way at a time; each item's are in order.
    pub parallelization: u32,
    /// Patterns of which one must match; none: all records go.
    pub filters: Vec<String>,
    /// How often a batch is tried again after an error of the function; `None`: until its records are gone.
    pub retries_max: Option<u32>,
    /// Older records are passed over, in seconds; `None`: none is too old.
    pub record_age_s_max: Option<u32>,
    /// Whether a batch that fails is halved.
    pub bisects: bool,
    /// Whether answers name the records that failed.
    pub reports_failures: bool,
    /// The length of windows that pass a state on, in seconds; 0: none.
    pub tumbling_window_s: u32,
    /// Where a report about records goes that are passed over.
    pub on_failure: Option<Target>,
}

/// A change of settings: what the client has not named stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the members are those of Settings")]
pub struct Changes {
    pub target: Option<Target>,
    pub batch_size: Option<u32>,
    pub batching_window_s: Option<u32>,
    pub parallelization: Option<u32>,
    pub filters: Option<Vec<String>>,
    pub retries_max: Option<Option<u32>>,
    pub record_age_s_max: Option<Option<u32>>,
    pub bisects: Option<bool>,
    pub reports_failures: Option<bool>,
    pub tumbling_window_s: Option<u32>,
    pub on_failure: Option<Option<Target>>,
}

impl Settings {
    /// The defaults.
    pub const fn new(target: Target) -> Self {
        Self {
            target,
            batch_size: 100,
            batching_window_s: 0,
            parallelization: 1,
            filters: Vec::new(),
            retries_max: None,
            record_age_s_max: None,
            bisects: false,
            reports_failures: false,
            tumbling_window_s: 0,
            on_failure: None,
        }
    }

    /// With a change made; a fault says which settings exclude each other.
    pub fn changed(self, changes: Changes) -> Result<Self, Fault> {
        let settings = Self {
            target: changes.target.unwrap_or(self.target),
            batch_size: changes.batch_size.unwrap_or(self.batch_size),
            batching_window_s: changes.batching_window_s.unwrap_or(self.batching_window_s),
            parallelization: changes.parallelization.unwrap_or(self.parallelization),
            filters: changes.filters.unwrap_or(self.filters),
            retries_max: changes.retries_max.unwrap_or(self.retries_max),
            record_age_s_max: changes.record_age_s_max.unwrap_or(self.record_age_s_max),
            bisects: changes.bisects.unwrap_or(self.bisects),
            reports_failures: changes.reports_failures.unwrap_or(self.reports_failures),
            tumbling_window_s: changes.tumbling_window_s.unwrap_or(self.tumbling_window_s),
            on_failure: changes.on_failure.unwrap_or(self.on_failure),
        };
        settings.check().map(|()| settings)
    }

    fn check(&self) -> Result<(), Fault> {
        assert!(self.batch_size > 0 && self.parallelization > 0, "the reader keeps the bounds of the model");
        assert!(self.tumbling_window_s <= 900, "the reader keeps the bounds of the model");
        if self.filters.len() > FILTERS_MAX {
            return Err(Fault::parameter(format!(
                "FilterCriteria has {} filters: at most {FILTERS_MAX} are allowed.",
                self.filters.len()
            )));
        }
        if self.tumbling_window_s > 0 && self.parallelization > 1 {
            return Err(Fault::parameter(
                "TumblingWindowInSeconds and a ParallelizationFactor above 1 exclude each other: the state of a \
                 window passes through all records of a shard.",
            ));
        }
        let asks_for_answers = self.tumbling_window_s > 0 || self.reports_failures || self.bisects;
        if matches!(self.target, Target::Bucket { .. }) && asks_for_answers {
            return Err(Fault::parameter(
                "A bucket answers nothing: leave out TumblingWindowInSeconds, FunctionResponseTypes and \
                 BisectBatchOnFunctionError.",
            ));
        }
        Ok(())
    }
}
