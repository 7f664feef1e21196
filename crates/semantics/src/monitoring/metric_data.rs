//! PutMetricData: values of a client's own metrics, within the service's limits.
//!
//! Source: the API reference's pages on `PutMetricData` and `MetricDatum`. It does not know how values are
//! kept.

use super::document::{Document, TimeMs};
use super::fault::{Fault, FaultKind};
use super::request::{dimensions, name_of};
use super::unit::Unit;
use super::{Dimension, RESERVED_NAMESPACES};

/// Metrics of one request.
const METRICS_MAX: usize = 1000;
/// Different values of one metric in a request.
const VALUES_MAX: usize = 150;
/// The largest size of a value, and the smallest that is not zero, as powers of two.
const VALUE_EXPONENT_MAX: i32 = 360;
/// How old a value can be, and how far in the future.
const AGE_MS_MAX: i64 = 14 * 86_400_000;
const AHEAD_MS_MAX: i64 = 2 * 3_600_000;

/// The parts of PutMetricData.
#[derive(Clone, Debug, PartialEq)]
pub struct PutMetricData {
    /// The namespace: none of a service.
    pub namespace: String,
    /// The values; at least one.
    pub data: Vec<Datum>,
}

/// What a request reports of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Datum {
    /// Where the request has it: `MetricData.member.1`.
    pub member: String,
    /// The metric.
    pub metric: String,
    /// The dimensions, sorted by name.
    pub dimensions: Vec<Dimension>,
    /// When the values were measured; absent: when the request arrives.
    pub time: Option<TimeMs>,
    /// The unit.
    pub unit: Unit,
    /// The values.
    pub values: Values,
}

/// Values of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Each value with how often it occurred.
    Each(Vec<(f64, f64)>),
    /// Only what many values have together.
    Set {
        /// The values added up.
        sum: f64,
        /// How many they are.
        count: f64,
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
}

fn invalid(parameter: &str, value: impl std::fmt::Display) -> Fault {
    Fault::new(
        FaultKind::InvalidParameterValue,
        format!("The value {value} for parameter {parameter} is invalid."),
    )
}

impl PutMetricData {
    /// Checks the parameters that need no clock.
    pub(super) fn validate(body: &Document) -> Result<Self, Fault> {
        let namespace = name_of(body, "Namespace")?;
        check_text("Namespace", &namespace)?;
        if namespace.starts_with(RESERVED_NAMESPACES) || namespace.starts_with(':') {
            return Err(invalid("Namespace", namespace));
        }
        let mut data = Vec::new();
        take_data(body, "MetricData", &mut data)?;
        // Entities name what a metric belongs to; their values count like all others.
        for (place, entity) in body.list_of("EntityMetricData")?.iter().enumerate() {
            let list = format!("EntityMetricData.member.{}.MetricData", place + 1);
            take_data(entity, &list, &mut data)?;
        }
        if data.is_empty() {
            return Err(Fault::missing("MetricData"));
        }
        assert!(data.len() <= METRICS_MAX, "both lists together are within the limit");
        Ok(Self { namespace, data })
    }

    /// Checks that each value is two weeks old at most, and two hours in the future.
    pub fn check_times(&self, now: TimeMs) -> Result<(), Fault> {
        let is_out = |datum: &&Datum| {
            let is_in = |time: TimeMs| {
                (now.0.saturating_sub(AGE_MS_MAX)..=now.0.saturating_add(AHEAD_MS_MAX)).contains(&time.0)
            };
            datum.time.is_some_and(|time| !is_in(time))
        };
        let line = |datum: &Datum| {
            format!("The parameter {}.Timestamp must specify a time within the past two weeks.", datum.member)
        };
        let lines: Vec<String> = self.data.iter().filter(is_out).map(line).collect();
        if lines.is_empty() {
            return Ok(());
        }
        Err(Fault::new(FaultKind::InvalidParameterValue, lines.join("\n")))
    }
}

/// Names and values are ASCII without control characters, and not blank.
fn check_text(parameter: &str, text: &str) -> Result<(), Fault> {
    let is_plain = text.chars().all(|symbol| symbol.is_ascii() && !symbol.is_ascii_control());
    if is_plain && !text.trim().is_empty() {
        return Ok(());
    }
    Err(Fault::value(
        parameter,
        "must contain ASCII characters only, none of them a control character, and not be blank",
    ))
}

fn take_data(body: &Document, list: &str, data: &mut Vec<Datum>) -> Result<(), Fault> {
    let elements = body.list_of("MetricData")?;
    if data.len().saturating_add(elements.len()) > METRICS_MAX {
        return Err(Fault::validation(format!(
            "The collection MetricData must not have a size greater than {METRICS_MAX}."
        )));
    }
    for (place, element) in elements.iter().enumerate() {
        data.push(datum(element, format!("{list}.member.{}", place + 1))?);
    }
    Ok(())
}

fn datum(element: &Document, member: String) -> Result<Datum, Fault> {
    let unit = element.text_of("Unit")?;
    let unit =
        unit.map(|name| Unit::from_name(&name).ok_or_else(|| invalid(&format!("{member}.Unit"), name)));
    if !matches!(element.integer_of("StorageResolution")?, None | Some(1 | 60)) {
        return Err(Fault::value(&format!("{member}.StorageResolution"), "must be 1 or 60"));
    }
    let (metric, dimensions) = (name_of(element, "MetricName")?, dimensions(element)?);
    check_text(&format!("{member}.MetricName"), &metric)?;
    for (name, value) in &dimensions {
        check_text(&format!("{member}.Dimensions"), name)?;
        check_text(&format!("{member}.Dimensions"), value)?;
        if name.starts_with(':') {
            return Err(Fault::value(
                &format!("{member}.Dimensions"),
                "must not have a name that begins with a colon",
            ));
        }
    }
    Ok(Datum {
        metric,
        dimensions,
        time: element.time_of("Timestamp")?,
        unit: unit.transpose()?.unwrap_or(Unit::NONE),
        values: values(element, &member)?,
        member,
    })
}

/// Exactly one of a value, several values, and what many have together.
fn values(element: &Document, member: &str) -> Result<Values, Fault> {
    let (value, set, list) =
        (element.member("Value"), element.member("StatisticValues"), element.list_of("Values")?);
    let exclusive = |first: &str, second: &str| {
        Err(Fault::combination(format!(
            "The parameters {member}.{first} and {member}.{second} are mutually exclusive and you have \
             specified both."
        )))
    };
    match (value, list, set) {
        (Document::Null, [], Document::Null) => Err(Fault::missing(&format!("{member}.Value"))),
        (value, [], Document::Null) => {
            Ok(Values::Each(vec![(checked(value, &format!("{member}.Value"))?, 1.0)]))
        }
        (Document::Null, list, Document::Null) => Ok(Values::Each(counted(element, list, member)?)),
        (Document::Null, [], set) => statistic_set(set, &format!("{member}.StatisticValues")),
        (Document::Null, _, _) => exclusive("Values", "StatisticValues"),
        (_, [], _) => exclusive("Value", "StatisticValues"),
        (_, _, _) => exclusive("Value", "Values"),
    }
}

/// A number of the service's range.
fn checked(value: &Document, parameter: &str) -> Result<f64, Fault> {
    let number = value.number(parameter)?.ok_or_else(|| Fault::missing(parameter))?;
    let most = 2_f64.powi(VALUE_EXPONENT_MAX);
    if number == 0.0 || (most.recip()..=most).contains(&number.abs()) {
        return Ok(number);
    }
    Err(invalid(parameter, number))
}

/// The elements of `Values`, each with its element of `Counts` or one.
fn counted(element: &Document, values: &[Document], member: &str) -> Result<Vec<(f64, f64)>, Fault> {
    let counts = element.list_of("Counts")?;
    if values.len() > VALUES_MAX {
        let rule = format!("must have at most {VALUES_MAX} elements");
        return Err(Fault::value(&format!("{member}.Values"), &rule));
    }
    if !counts.is_empty() && counts.len() != values.len() {
        let rule = format!("must have as many elements as {member}.Values");
        return Err(Fault::value(&format!("{member}.Counts"), &rule));
    }
    let mut pairs = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        let value = checked(value, &format!("{member}.Values.member.{}", place + 1))?;
        let parameter = format!("{member}.Counts.member.{}", place + 1);
        let count = counts.get(place).map_or(Ok(1.0), |count| checked(count, &parameter))?;
        if count < 0.0 {
            return Err(invalid(&parameter, count));
        }
        if count > 0.0 {
            pairs.push((value, count));
        }
    }
    assert!(pairs.len() <= values.len(), "each value is taken once at most");
    if pairs.is_empty() {
        return Err(Fault::value(&format!("{member}.Counts"), "must have an element above 0"));
    }
    Ok(pairs)
}

fn statistic_set(set: &Document, member: &str) -> Result<Values, Fault> {
    let part = |name: &str| checked(set.member(name), &format!("{member}.{name}"));
    let (count, sum, min, max) = (part("SampleCount")?, part("Sum")?, part("Minimum")?, part("Maximum")?);
    if count <= 0.0 {
        return Err(invalid(&format!("{member}.SampleCount"), count));
    }
    if min > max {
        return Err(Fault::combination(format!(
            "The parameter {member}.Minimum must be less than or equal to {member}.Maximum."
        )));
    }
    assert!(count > 0.0 && min <= max, "numbers of the service's range can be compared");
    Ok(Values::Set { sum, count, min, max })
}

#[cfg(test)]
mod tests {
    use super::super::Operation;
    use super::super::request::Request;
    use super::*;

    const NOW: TimeMs = TimeMs(1_791_547_200_000);

    fn validate(namespace: &str, data: Vec<Document>) -> Result<PutMetricData, Fault> {
        let body = Document::object([
            ("Namespace", Document::text(namespace)),
            ("MetricData", Document::List(data)),
        ]);
        match Request::validate(Operation::PutMetricData, &body)? {
            Request::PutMetricData(request) => Ok(request),
            other => panic!("{other:?}"),
        }
    }

    /// A metric with one more member.
    fn metric(name: &str, value: Document) -> Document {
        Document::object([("MetricName", Document::text("Lag")), (name, value)])
    }

    fn numbers(numbers: &[f64]) -> Document {
        Document::List(numbers.iter().copied().map(Document::Number).collect())
    }

    #[test]
    fn a_value_comes_alone_with_others_or_as_a_set() {
        let one = |element| validate("App", vec![element]).unwrap().data.remove(0);
        let datum = one(metric("Value", Document::Number(-1.5)));
        assert_eq!((datum.values, datum.unit), (Values::Each(vec![(-1.5, 1.0)]), Unit::NONE));
        let several = Document::object([
            ("MetricName", Document::text("Lag")),
            ("Values", numbers(&[1.0, 2.0, 3.0])),
            ("Counts", numbers(&[2.0, 0.0, 1.0])),
            ("Unit", Document::text("Milliseconds")),
        ]);
        let datum = one(several);
        assert_eq!(datum.values, Values::Each(vec![(1.0, 2.0), (3.0, 1.0)]));
        assert_eq!(datum.unit.name(), "Milliseconds");
        let set = Document::object([
            ("SampleCount", Document::Integer(4)),
            ("Sum", Document::Integer(10)),
            ("Minimum", Document::Integer(1)),
            ("Maximum", Document::Integer(5)),
        ]);
        let datum = one(metric("StatisticValues", set));
        assert_eq!(datum.values, Values::Set { sum: 10.0, count: 4.0, min: 1.0, max: 5.0 });
    }

    #[test]
    fn what_the_service_refuses_is_refused_with_the_parameter() {
        let refused = |element| validate("App", vec![element]).unwrap_err();
        for (element, kind, part) in [
            (metric("Value", Document::Number(f64::NAN)), FaultKind::InvalidParameterValue, "1.Value is inv"),
            (metric("Value", Document::Number(1e109)), FaultKind::InvalidParameterValue, "member.1.Value"),
            (metric("Values", numbers(&[1.0; 151])), FaultKind::InvalidParameterValue, "at most 150"),
            (metric("Unit", Document::text("Parsecs")), FaultKind::InvalidParameterValue, "1.Unit"),
            (metric("Timestamp", Document::Time(NOW)), FaultKind::MissingParameter, "member.1.Value"),
            (metric("StorageResolution", Document::Integer(2)), FaultKind::InvalidParameterValue, "1 or 60"),
            (Document::object([]), FaultKind::MissingParameter, "MetricName"),
        ] {
            let fault = refused(element);
            assert_eq!(fault.kind, kind, "{}", fault.message);
            assert!(fault.message.contains(part), "{}", fault.message);
        }
        let both = Document::object([
            ("MetricName", Document::text("Lag")),
            ("Value", Document::Integer(1)),
            ("Values", numbers(&[1.0])),
        ]);
        assert_eq!(refused(both).kind, FaultKind::InvalidParameterCombination);
        let value = || metric("Value", Document::Integer(1));
        for (name, text) in [("a\u{1b}", "v"), ("ä", "v"), (":a", "v"), ("a", " "), ("a", "ü")] {
            let dimension =
                Document::object([("Name", Document::text(name)), ("Value", Document::text(text))]);
            let fault = refused(Document::object([
                ("MetricName", Document::text("Lag")),
                ("Value", Document::Integer(1)),
                ("Dimensions", Document::List(vec![dimension])),
            ]));
            assert_eq!(fault.kind, FaultKind::InvalidParameterValue, "{name:?} {text:?}");
        }
        assert_eq!(validate("a\nb", vec![value()]).unwrap_err().kind, FaultKind::InvalidParameterValue);
        assert_eq!(validate("AWS/App", vec![value()]).unwrap_err().kind, FaultKind::InvalidParameterValue);
        assert_eq!(validate("App", Vec::new()).unwrap_err().kind, FaultKind::MissingParameter);
        assert!(validate("App", vec![value(); 1000]).is_ok());
        assert_eq!(validate("App", vec![value(); 1001]).unwrap_err().kind, FaultKind::Validation);
    }

    #[test]
    fn values_are_two_weeks_old_at_most_and_two_hours_ahead() {
        let at = |offset_ms: i64| {
            let time = Document::Time(TimeMs(NOW.0 + offset_ms));
            Document::object([
                ("MetricName", Document::text("Lag")),
                ("Value", Document::Integer(1)),
                ("Timestamp", time),
            ])
        };
        let check = |offsets: &[i64]| {
            validate("App", offsets.iter().map(|offset| at(*offset)).collect()).unwrap().check_times(NOW)
        };
        assert_eq!(check(&[0, -AGE_MS_MAX, AHEAD_MS_MAX]), Ok(()));
        let fault = check(&[-AGE_MS_MAX - 1, 0, AHEAD_MS_MAX + 1]).unwrap_err();
        assert_eq!(
            fault.message,
            "The parameter MetricData.member.1.Timestamp must specify a time within the past two weeks.\n\
             The parameter MetricData.member.3.Timestamp must specify a time within the past two weeks."
        );
    }
}
