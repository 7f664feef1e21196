//! Alarms: what they watch, when they change their state, and the texts of their reasons.
//!
//! It does not know where alarms are stored or which points there are.

use super::Dimension;
use super::statistic::Statistic;

/// The state of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlarmState {
    /// The threshold is kept.
    Ok,
    /// The threshold is crossed.
    Alarm,
    /// There are not enough points.
    InsufficientData,
}

impl AlarmState {
    const ALL: [Self; 3] = [Self::Ok, Self::Alarm, Self::InsufficientData];

    /// The state's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Alarm => "ALARM",
            Self::InsufficientData => "INSUFFICIENT_DATA",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// How a value is compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// At or above it.
    GreaterOrEqual,
    /// Above it.
    Greater,
    /// Below it.
    Less,
    /// At or below it.
    LessOrEqual,
}

impl Comparison {
    const ALL: [Self; 4] = [Self::GreaterOrEqual, Self::Greater, Self::Less, Self::LessOrEqual];

    /// The comparison's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GreaterOrEqual => "GreaterThanOrEqualToThreshold",
            Self::Greater => "GreaterThanThreshold",
            Self::Less => "LessThanThreshold",
            Self::LessOrEqual => "LessThanOrEqualToThreshold",
        }
    }

    /// The comparison of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|comparison| comparison.name() == name)
    }

    /// Whether a value crosses the threshold.
    pub fn is_crossed(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::GreaterOrEqual => value >= threshold,
            Self::Greater => value > threshold,
            Self::Less => value < threshold,
            Self::LessOrEqual => value <= threshold,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::GreaterOrEqual => "greater than or equal to",
            Self::Greater => "greater than",
            Self::Less => "less than",
            Self::LessOrEqual => "less than or equal to",
        }
    }
}

/// What stands for a point that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingData {
    /// A point that crosses the threshold.
    Breaching,
    /// A point that does not.
    NotBreaching,
    /// Nothing: the state stays.
    Ignore,
    /// Nothing: without any point the state is `INSUFFICIENT_DATA`.
    #[default]
    Missing,
}

impl MissingData {
    const ALL: [Self; 4] = [Self::Breaching, Self::NotBreaching, Self::Ignore, Self::Missing];

    /// The name that clients write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Breaching => "breaching",
            Self::NotBreaching => "notBreaching",
            Self::Ignore => "ignore",
            Self::Missing => "missing",
        }
    }

    /// The treatment of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|treatment| treatment.name() == name)
    }
}

/// What an alarm watches and what it does, as the client set it.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmSettings {
    /// The name, unique in an account and region.
    pub name: String,
    /// A text for people.
    pub description: Option<String>,
    /// Whether changes of the state run actions.
    pub actions_enabled: bool,
    /// Actions of the state OK.
    pub ok_actions: Vec<String>,
    /// Actions of the state ALARM.
    pub alarm_actions: Vec<String>,
    /// Actions of the state `INSUFFICIENT_DATA`.
    pub insufficient_data_actions: Vec<String>,
    /// The namespace of the metric.
    pub namespace: String,
    /// The metric.
    pub metric: String,
    /// The metric's dimensions, sorted by name.
    pub dimensions: Vec<Dimension>,
    /// What is computed of each period.
    pub statistic: Statistic,
    /// Seconds of a period.
    pub period_s: u64,
    /// The unit, if the client named one.
    pub unit: Option<String>,
    /// N: the periods that are looked at.
    pub evaluation_periods: u64,
    /// M, if the client named it: the periods that must cross the threshold.
    pub datapoints_to_alarm: Option<u64>,
    /// The threshold.
    pub threshold: f64,
    /// How values are compared with it.
    pub comparison: Comparison,
    /// What stands for missing points.
    pub missing_data: Option<MissingData>,
    /// Percentiles of few values, as the client set it.
    pub low_sample_percentile: Option<String>,
    /// Tags that the client sent.
    pub tags: Vec<Dimension>,
}

impl AlarmSettings {
    /// M: the periods that must cross the threshold.
    pub fn to_alarm(&self) -> u64 {
        self.datapoints_to_alarm.unwrap_or(self.evaluation_periods)
    }

    /// What stands for missing points.
    pub fn treatment(&self) -> MissingData {
        self.missing_data.unwrap_or_default()
    }
}

/// The outcome of looking at an alarm's periods.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The state that follows.
    pub state: AlarmState,
    /// The text of the reason.
    pub reason: String,
}

/// One period of an alarm: its value and its start as the reason shows it.
pub type Period = (Option<f64>, String);

/// Periods that are looked at in addition to N, if points are missing. The service looks at "more" (guide:
/// evaluating an alarm) and does not say how many.
pub const SPARE_PERIODS: usize = 2;

/// Judges the last periods, oldest first: N and `SPARE_PERIODS` of them. `None`: the state stays.
pub fn judge(settings: &AlarmSettings, periods: &[Period]) -> Option<Verdict> {
    let most = usize::try_from(settings.evaluation_periods).unwrap_or(usize::MAX);
    let needed = usize::try_from(settings.to_alarm()).unwrap_or(usize::MAX);
    let present: Vec<(f64, &str)> =
        periods.iter().filter_map(|(value, start)| value.map(|value| (value, start.as_str()))).collect();
    let looked_at = present.get(present.len().saturating_sub(most)..).unwrap_or_default();
    let crossed = |value: f64| settings.comparison.is_crossed(value, settings.threshold);
    let breaching = looked_at.iter().filter(|(value, _)| crossed(*value)).count();
    let missing = most.saturating_sub(looked_at.len());
    let state = if missing == 0 {
        if breaching >= needed { AlarmState::Alarm } else { AlarmState::Ok }
    } else {
        judge_sparse(settings, periods, (looked_at.len(), breaching, missing), &crossed)?
    };
    let reason = reason(settings, state, (looked_at, breaching, missing));
    Some(Verdict { state, reason })
}

/// The state if fewer than N periods have points.
fn judge_sparse(
    settings: &AlarmSettings,
    periods: &[Period],
    (present, breaching, missing): (usize, usize, usize),
    crossed: &dyn Fn(f64) -> bool,
) -> Option<AlarmState> {
    let needed = usize::try_from(settings.to_alarm()).unwrap_or(usize::MAX);
    let either = |alarm: bool| Some(if alarm { AlarmState::Alarm } else { AlarmState::Ok });
    match settings.treatment() {
        MissingData::Breaching => either(breaching + missing >= needed),
        MissingData::NotBreaching => either(breaching >= needed),
        MissingData::Missing if present == 0 => Some(AlarmState::InsufficientData),
        MissingData::Ignore if present == 0 => None,
        MissingData::Missing | MissingData::Ignore if breaching >= needed => Some(AlarmState::Alarm),
        MissingData::Missing | MissingData::Ignore if breaching < present => Some(AlarmState::Ok),
        MissingData::Ignore => None,
        // Only crossing points: an alarm once the oldest of them is M periods old.
        MissingData::Missing => {
            let oldest = periods.iter().position(|(value, _)| value.is_some_and(crossed));
            let age = oldest.map_or(0, |place| periods.len() - place);
            (age >= needed).then_some(AlarmState::Alarm)
        }
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}

/// The service's sentence about a change of state.
fn reason(
    settings: &AlarmSettings,
    state: AlarmState,
    (points, breaching, missing): (&[(f64, &str)], usize, usize),
) -> String {
    if state == AlarmState::InsufficientData {
        let verb = if missing == 1 { "was" } else { "were" };
        return format!("Insufficient Data: {} {verb} unknown.", plural(missing, "datapoint"));
    }
    let most = settings.evaluation_periods;
    let needed = plural(usize::try_from(settings.to_alarm()).unwrap_or(usize::MAX), "datapoint");
    let shown: Vec<String> =
        points.iter().rev().map(|(value, start)| format!("{} ({start})", decimal(*value))).collect();
    let (words, threshold) = (settings.comparison.words(), decimal(settings.threshold));
    let missing = if missing == 0 {
        String::new()
    } else {
        let treated = settings.treatment().name();
        format!(" and {} treated as [{treated}]", plural(missing, "missing datapoint"))
    };
    let (count, negation, way) = match state {
        AlarmState::Alarm => (breaching, "", "OK -> ALARM"),
        AlarmState::Ok | AlarmState::InsufficientData => (points.len() - breaching, "not ", "ALARM -> OK"),
    };
    let verb = if count == 1 { "was" } else { "were" };
    format!(
        "Threshold Crossed: {count} out of the last {most} datapoints [{}]{missing} {verb} {negation}{words} \
         the threshold ({threshold}) (minimum {needed} for {way} transition).",
        shown.join(", ")
    )
}

/// A number with at least one decimal place.
pub fn decimal(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') || !value.is_finite() { text } else { format!("{text}.0") }
}

/// The reason of a new alarm's state.
pub const UNCHECKED: &str = "Unchecked: Initial alarm creation";

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(periods: u64, needed: u64, missing: MissingData) -> AlarmSettings {
        AlarmSettings {
            name: "a".into(),
            description: None,
            actions_enabled: true,
            ok_actions: Vec::new(),
            alarm_actions: Vec::new(),
            insufficient_data_actions: Vec::new(),
            namespace: super::super::NAMESPACE.into(),
            metric: "ReadThrottleEvents".into(),
            dimensions: Vec::new(),
            statistic: Statistic::Sum,
            period_s: 60,
            unit: None,
            evaluation_periods: periods,
            datapoints_to_alarm: Some(needed),
            threshold: 1.0,
            comparison: Comparison::GreaterOrEqual,
            missing_data: Some(missing),
            low_sample_percentile: None,
            tags: Vec::new(),
        }
    }

    /// The guide's table "evaluating an alarm with missing data" for 3 out of 3: `X` crosses, `0` does not.
    #[test]
    fn missing_points_count_as_the_guide_says() {
        let (ok, alarm) = (Some(AlarmState::Ok), Some(AlarmState::Alarm));
        let none = Some(AlarmState::InsufficientData);
        for (points, missing, ignore, breaching, not_breaching) in [
            ("0-X-X", ok, ok, ok, ok),
            ("----0", ok, ok, ok, ok),
            ("-----", none, None, alarm, ok),
            ("0XX-X", alarm, alarm, alarm, alarm),
            ("--X--", alarm, None, alarm, ok),
        ] {
            let periods: Vec<Period> = points
                .chars()
                .map(|symbol| {
                    (
                        match symbol {
                            'X' => Some(5.0),
                            '0' => Some(0.0),
                            _ => None,
                        },
                        String::new(),
                    )
                })
                .collect();
            for (treatment, expected) in [
                (MissingData::Missing, missing),
                (MissingData::Ignore, ignore),
                (MissingData::Breaching, breaching),
                (MissingData::NotBreaching, not_breaching),
            ] {
                let verdict = judge(&settings(3, 3, treatment), &periods);
                assert_eq!(verdict.map(|verdict| verdict.state), expected, "{points} {treatment:?}");
            }
        }
    }

    #[test]
    fn m_of_n_periods_make_an_alarm_and_the_reason_shows_them() {
        let periods: Vec<Period> =
            [0.0, 5.0, 0.0, 2.5, 0.0].iter().map(|value| (Some(*value), "t".to_owned())).collect();
        let verdict = judge(&settings(5, 2, MissingData::Missing), &periods).unwrap();
        assert_eq!(verdict.state, AlarmState::Alarm);
        assert_eq!(
            verdict.reason,
            "Threshold Crossed: 2 out of the last 5 datapoints [0.0 (t), 2.5 (t), 0.0 (t), 5.0 (t), 0.0 (t)] \
             were greater than or equal to the threshold (1.0) (minimum 2 datapoints for OK -> ALARM transition)."
        );
        assert_eq!(judge(&settings(5, 3, MissingData::Missing), &periods).unwrap().state, AlarmState::Ok);
    }
}
