//! Typed requests, with the checks that need neither mappings nor streams.

use super::Operation;
use super::fault::{Fault, FaultKind};
use super::reader::{Range, Reader};
use super::settings::{Changes, Settings};
use super::target::{TARGET_CHARACTERS_MAX, Target};
use crate::messages::shape;
use crate::monitoring::document::Document;
use crate::request::StreamRef;

/// Mappings of a page (service model), and by default.
const PAGE_MAX: i64 = 10_000;
const PAGE_DEFAULT: i64 = 100;
const PATTERN_CHARACTERS_MAX: usize = 4_096;
const REPORT_FAILURES: &str = "ReportBatchItemFailures";
/// The least age of records that are passed over, if there is one (guide).
const RECORD_AGE_S_MIN: i64 = 60;
/// Parameters of other kinds of sources, and what is not served.
const UNSERVED: [&str; 14] = [
    "AmazonManagedKafkaEventSourceConfig",
    "DocumentDBEventSourceConfig",
    "KMSKeyArn",
    "LoggingConfig",
    "MetricsConfig",
    "ProvisionedPollerConfig",
    "Queues",
    "ScalingConfig",
    "SelfManagedEventSource",
    "SelfManagedKafkaEventSourceConfig",
    "SourceAccessConfigurations",
    "StartingPositionTimestamp",
    "Tags",
    "Topics",
];

/// Where a mapping begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the oldest record that is kept.
    TrimHorizon,
    /// After the newest record.
    Latest,
}

impl Start {
    /// The name that clients see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TrimHorizon => "TRIM_HORIZON",
            Self::Latest => "LATEST",
        }
    }

    /// The start of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::TrimHorizon, Self::Latest].into_iter().find(|start| start.name() == name)
    }
}

/// The parts of `CreateEventSourceMapping`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// The stream.
    pub stream: StreamRef,
    /// Where it begins.
    pub start: Start,
    /// Whether it delivers at once.
    pub is_enabled: bool,
    /// What it does.
    pub settings: Settings,
}

/// The parts of `UpdateEventSourceMapping`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The mapping.
    pub uuid: String,
    /// Whether it delivers from now on.
    pub is_enabled: Option<bool>,
    /// What it does from now on.
    pub changes: Changes,
}

/// The parts of `ListEventSourceMappings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Only of this stream.
    pub stream: Option<String>,
    /// Only to this target.
    pub target: Option<String>,
    /// Where the page begins.
    pub marker: Option<String>,
    /// Mappings of a page.
    pub limit: usize,
}

/// A request of any operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the operation of its name")]
pub enum Request {
    Create(Box<Create>),
    Delete(String),
    Get(String),
    List(List),
    Update(Box<Update>),
}

impl Request {
    /// Whether executing it writes to the store.
    pub const fn changes_something(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Delete(_) | Self::Update(_))
    }

    /// The operation.
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Create(_) => Operation::CreateEventSourceMapping,
            Self::Delete(_) => Operation::DeleteEventSourceMapping,
            Self::Get(_) => Operation::GetEventSourceMapping,
            Self::List(_) => Operation::ListEventSourceMappings,
            Self::Update(_) => Operation::UpdateEventSourceMapping,
        }
    }

    /// The patterns that it names.
    pub fn filters(&self) -> &[String] {
        match self {
            Self::Create(create) => &create.settings.filters,
            Self::Update(update) => update.changes.filters.as_deref().unwrap_or_default(),
            Self::Delete(_) | Self::Get(_) | Self::List(_) => &[],
        }
    }

    /// The places to which records would go from now on because of it.
    pub fn targets(&self) -> Vec<&Target> {
        match self {
            Self::Create(create) => [Some(&create.settings.target), create.settings.on_failure.as_ref()]
                .into_iter()
                .flatten()
                .collect(),
            Self::Update(update) => {
                let destination = update.changes.on_failure.as_ref().and_then(Option::as_ref);
                [update.changes.target.as_ref(), destination].into_iter().flatten().collect()
            }
            Self::Delete(_) | Self::Get(_) | Self::List(_) => Vec::new(),
        }
    }

    /// A request to create a mapping.
    pub fn create(body: &Document) -> Result<Self, Fault> {
        let mut reader = Reader::new(body);
        let source = reader.text("EventSourceArn", 10_000)?;
        let start = reader.text("StartingPosition", 100)?;
        let is_enabled = reader.bool("Enabled")?.unwrap_or(true);
        let changes = changes(&mut reader)?;
        if changes.target.is_none() {
            reader.require("FunctionName");
        }
        if let Some(text) =
            start.filter(|text| !matches!(*text, "AT_TIMESTAMP") && Start::from_name(text).is_none())
        {
            reader.violate(
                "StartingPosition",
                text,
                &shape::one_of(&["LATEST", "AT_TIMESTAMP", "TRIM_HORIZON"]),
            );
        }
        unserved(&reader)?;
        reader.finish()?;
        let source = source.ok_or_else(|| Fault::parameter("EventSourceArn is required: name a stream."))?;
        let stream = StreamRef::read(source).ok_or_else(|| {
            Fault::parameter(format!(
                "Unrecognized event source: {source} is not the ARN of a table's stream."
            ))
        })?;
        let start = match start {
            None => return Err(Fault::parameter("StartingPosition is required for streams: TRIM_HORIZON or LATEST.")),
            Some(text) => Start::from_name(text).ok_or_else(|| {
                Fault::parameter(
                    "Unsupported starting position for a stream of a table: AT_TIMESTAMP. Write TRIM_HORIZON or LATEST.",
                )
            })?,
        };
        let target = changes.target.clone().ok_or_else(|| Fault::parameter("FunctionName is required."))?;
        let settings = Settings::new(target).changed(changes)?;
        Ok(Self::Create(Box::new(Create { stream, start, is_enabled, settings })))
    }

    /// A request to change a mapping.
    pub fn update(uuid: &str, body: &Document) -> Result<Self, Fault> {
        let mut reader = Reader::new(body);
        let is_enabled = reader.bool("Enabled")?;
        let changes = changes(&mut reader)?;
        unserved(&reader)?;
        reader.finish()?;
        Ok(Self::Update(Box::new(Update { uuid: uuid.to_owned(), is_enabled, changes })))
    }

    /// A request for a page of mappings, from the parameters of a query.
    pub fn list(parameters: &[(String, String)]) -> Result<Self, Fault> {
        let named = |name: &str| parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let limit = match named("MaxItems") {
            None => PAGE_DEFAULT,
            Some(text) => {
                let number = text.parse::<i64>().map_err(|_| {
                    Fault::new(FaultKind::Serialization, "The value of MaxItems is not a whole number.")
                })?;
                let document = Document::object([("MaxItems", Document::Integer(number))]);
                let mut reader = Reader::new(&document);
                reader.integer("MaxItems", Range { least: 1, most: PAGE_MAX })?;
                reader.finish()?;
                number
            }
        };
        assert!((1..=PAGE_MAX).contains(&limit), "the reader keeps the bounds of the model");
        Ok(Self::List(List {
            stream: named("EventSourceArn").cloned(),
            target: named("FunctionName").cloned(),
            marker: named("Marker").filter(|marker| !marker.is_empty()).cloned(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        }))
    }
}

fn unserved(reader: &Reader<'_>) -> Result<(), Fault> {
    match UNSERVED.iter().find(|name| reader.has(name)) {
        None => Ok(()),
        Some(name) => Err(Fault::parameter(format!("{name} is not supported for streams of tables here."))),
    }
}

fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

/// A number of which -1 means no bound.
fn bound(number: i64) -> Option<u32> {
    u32::try_from(number).ok()
}

fn changes(reader: &mut Reader<'_>) -> Result<Changes, Fault> {
    let mut number = |name: &str, least: i64, most: i64| reader.integer(name, Range { least, most });
    let batch_size = number("BatchSize", 1, 10_000)?.map(small);
    let batching_window_s = number("MaximumBatchingWindowInSeconds", 0, 300)?.map(small);
    let parallelization = number("ParallelizationFactor", 1, 10)?.map(small);
    let retries_max = number("MaximumRetryAttempts", -1, 10_000)?.map(bound);
    let age = number("MaximumRecordAgeInSeconds", -1, 604_800)?;
    let tumbling_window_s = number("TumblingWindowInSeconds", 0, 900)?.map(small);
    if let Some(age) = age.filter(|age| (0..RECORD_AGE_S_MIN).contains(age)) {
        return Err(Fault::parameter(format!(
            "MaximumRecordAgeInSeconds is {age}: write -1, or {RECORD_AGE_S_MIN} or more."
        )));
    }
    let target = match reader.text("FunctionName", TARGET_CHARACTERS_MAX)? {
        None => None,
        Some(text) => Some(Target::parse(text).map_err(Fault::parameter)?),
    };
    Ok(Changes {
        target,
        batch_size,
        batching_window_s,
        parallelization,
        filters: filters(reader)?,
        retries_max,
        record_age_s_max: age.map(bound),
        bisects: reader.bool("BisectBatchOnFunctionError")?,
        reports_failures: response_types(reader)?,
        tumbling_window_s,
        on_failure: on_failure(reader)?,
    })
}

/// The patterns; an empty object takes them all away.
fn filters(reader: &mut Reader<'_>) -> Result<Option<Vec<String>>, Fault> {
    let Some(criteria) = reader.object("FilterCriteria")? else { return Ok(None) };
    let mut patterns = Vec::new();
    for filter in Reader::new(criteria).list("Filters")?.unwrap_or_default() {
        // A filter without a pattern matches everything, as one that is empty.
        let pattern = Reader::new(filter).text("Pattern", i64::MAX)?.unwrap_or("{}");
        if pattern.chars().count() > PATTERN_CHARACTERS_MAX {
            return Err(Fault::parameter(format!(
                "A pattern of FilterCriteria has more than {PATTERN_CHARACTERS_MAX} characters."
            )));
        }
        patterns.push(pattern.to_owned());
    }
    Ok(Some(patterns))
}

fn response_types(reader: &mut Reader<'_>) -> Result<Option<bool>, Fault> {
    let Some(types) = reader.list("FunctionResponseTypes")? else { return Ok(None) };
    let mut reports = false;
    for one in types {
        match one {
            Document::Text(text) if text == REPORT_FAILURES => reports = true,
            Document::Text(text) => {
                let constraint = shape::elements(&[shape::one_of(&[REPORT_FAILURES])]);
                reader.violate("FunctionResponseTypes", &format!("[{text}]"), &constraint);
            }
            _ => {
                let message = "The value of FunctionResponseTypes is not a list of texts.";
                return Err(Fault::new(FaultKind::Serialization, message));
            }
        }
    }
    Ok(Some(reports))
}

/// The destination of reports; an empty one takes it away.
#[expect(clippy::option_option, reason = "a change that takes it away is not no change")]
fn on_failure(reader: &Reader<'_>) -> Result<Option<Option<Target>>, Fault> {
    let Some(config) = reader.object("DestinationConfig")? else { return Ok(None) };
    let config = Reader::new(config);
    if config.object("OnSuccess")?.is_some_and(|success| Reader::new(success).has("Destination")) {
        return Err(Fault::parameter("DestinationConfig.OnSuccess is not supported for streams."));
    }
    let text = match config.object("OnFailure")? {
        None => None,
        Some(destination) => {
            Reader::new(destination).text("Destination", 350)?.filter(|text| !text.is_empty())
        }
    };
    text.map(|text| Target::parse_destination(text).map_err(Fault::parameter)).transpose().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop/stream/2026-01-02T03:04:05.678";

    fn body<const N: usize>(more: [(&str, Document); N]) -> Document {
        let mut members = vec![
            ("EventSourceArn".to_owned(), Document::text(STREAM)),
            ("FunctionName".to_owned(), Document::text("f")),
            ("StartingPosition".to_owned(), Document::text("LATEST")),
        ];
        for (name, value) in more {
            members.retain(|(known, _)| known != name);
            members.push((name.to_owned(), value));
        }
        Document::Object(members)
    }

    fn created<const N: usize>(more: [(&str, Document); N]) -> Result<Create, Fault> {
        Request::create(&body(more)).map(|request| match request {
            Request::Create(create) => *create,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn what_is_not_named_has_lambdas_defaults() {
        let create = created([]).unwrap();
        assert_eq!((create.start, create.is_enabled), (Start::Latest, true));
        assert_eq!(create.settings, Settings::new(Target::Function("f".to_owned())));
        assert_eq!((create.settings.batch_size, create.settings.parallelization), (100, 1));
        let bounds = created([
            ("MaximumRetryAttempts", Document::Integer(-1)),
            ("MaximumRecordAgeInSeconds", Document::Integer(60)),
        ]);
        let settings = bounds.unwrap().settings;
        assert_eq!((settings.retries_max, settings.record_age_s_max), (None, Some(60)));
    }

    #[test]
    fn bounds_of_the_model_are_reported_together_and_rules_one_by_one() {
        let fault =
            created([("BatchSize", Document::Integer(0)), ("ParallelizationFactor", Document::Integer(11))])
                .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Validation);
        assert!(
            fault.message.starts_with("2 validation errors detected: Value '0' at 'batchSize'"),
            "{fault:?}"
        );
        for (name, value, part) in [
            ("MaximumRecordAgeInSeconds", Document::Integer(59), "60 or more"),
            ("StartingPosition", Document::text("AT_TIMESTAMP"), "TRIM_HORIZON or LATEST"),
            ("StartingPosition", Document::Null, "StartingPosition is required"),
            (
                "EventSourceArn",
                Document::text("arn:aws:sqs:eu-west-1:123456789012:q"),
                "Unrecognized event source",
            ),
            ("FunctionName", Document::text("ftp://x"), "is not a target"),
            ("Topics", Document::List(vec![Document::text("t")]), "Topics is not supported"),
        ] {
            let fault = created([(name, value)]).unwrap_err();
            assert_eq!(fault.kind, FaultKind::InvalidParameterValue, "{name}");
            assert!(fault.message.contains(part), "{fault:?}");
        }
        let both = created([
            ("TumblingWindowInSeconds", Document::Integer(1)),
            ("ParallelizationFactor", Document::Integer(2)),
        ]);
        assert!(both.unwrap_err().message.contains("exclude each other"));
        let archive = created([
            ("FunctionName", Document::text("s3://archive/x")),
            ("BisectBatchOnFunctionError", Document::Bool(true)),
        ]);
        assert!(archive.unwrap_err().message.starts_with("A bucket answers nothing"));
    }

    #[test]
    fn an_update_names_what_changes_and_empty_objects_take_away() {
        let empty = Document::Object(Vec::new());
        let body = Document::object([("FilterCriteria", empty.clone()), ("DestinationConfig", empty)]);
        let Ok(Request::Update(update)) = Request::update("u", &body) else { panic!("it is right") };
        assert_eq!(
            update.changes,
            Changes { filters: Some(Vec::new()), on_failure: Some(None), ..Changes::default() }
        );
        let mut before = Settings::new(Target::Function("f".to_owned()));
        before.filters = vec!["{}".to_owned()];
        before.batch_size = 7;
        let after = before.changed(update.changes).unwrap();
        assert_eq!((after.filters.len(), after.batch_size), (0, 7));
    }
}
