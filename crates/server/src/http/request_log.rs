//! The request log: one line for each request that is chosen, as text or JSON.
//!
//! A line has names, numbers and times; of a denied request also the statement that decided, by its policy's
//! name. It never has keys, attributes, expressions, statements, headers or
//! error messages, because any of these can hold values of items or secrets.

use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use keywright_semantics::capacity::HALVES_PER_UNIT;
use keywright_semantics::error::{Denied, Error};
use keywright_wire::{Operation, render_error};
use serde_json::{Value, json};

use super::request_metrics::Finished;
use super::request_trace::{Detail, Trace, milliseconds};
use crate::process::foreign;
use crate::process::log::{self, LogFormat};
use crate::process::timestamp;

/// Which requests are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestLog {
    All,
    /// Those that failed.
    Errors,
    /// Those that took at least this long.
    Slow(Duration),
}

impl FromStr for RequestLog {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("\"{text}\" is not known: write all, errors, or slow:MS as in slow:50");
        match text.split_once(':') {
            None if text == "all" => Ok(Self::All),
            None if text == "errors" => Ok(Self::Errors),
            Some(("slow", ms)) => {
                let ms = ms.strip_suffix("ms").unwrap_or(ms).parse().map_err(|_| fault())?;
                Ok(Self::Slow(Duration::from_millis(ms)))
            }
            _ => Err(fault()),
        }
    }
}

/// How a request was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'r> {
    pub(crate) status: u16,
    pub(crate) request_id: &'r str,
}

impl RequestLog {
    /// Logs a request if it is one of those.
    pub(crate) fn note(self, trace: &Trace, finished: &Finished, outcome: Outcome<'_>) {
        let is_chosen = match self {
            Self::All => true,
            Self::Errors => outcome.status >= ERROR_STATUS_MIN,
            Self::Slow(least) => finished.took >= least,
        };
        if is_chosen {
            log::line(&match log::format() {
                LogFormat::Text => text_line(&members(trace, finished, outcome)),
                LogFormat::Json => json_line(&members(trace, finished, outcome)),
            });
        }
    }
}

/// Responses from this HTTP status on are failures.
const ERROR_STATUS_MIN: u16 = 400;

/// Name and value of each part of a line, in their order.
type Members = Vec<(&'static str, Value)>;

/// The line as `name=value` pairs after the time. A value that could be taken for another one is quoted.
fn text_line(members: &Members) -> String {
    let parts: Vec<String> = members
        .iter()
        .map(|(name, value)| match value {
            Value::String(time) if *name == TIME => format!("{time} request"),
            Value::String(text) => format!("{name}={}", foreign::value(text)),
            Value::Array(texts) => {
                let texts: Vec<_> = texts.iter().filter_map(Value::as_str).map(foreign::value).collect();
                format!("{name}={}", texts.join(","))
            }
            other => format!("{name}={other}"),
        })
        .collect();
    format!("{}\n", parts.join(" "))
}

fn json_line(members: &Members) -> String {
    let parts: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}\n", parts.join(","))
}

/// The first member.
const TIME: &str = "time";

fn members(trace: &Trace, finished: &Finished, outcome: Outcome<'_>) -> Members {
    let mut line = Members::new();
    let mut put = |name: &'static str, value: Value| line.push((name, value));
    put(TIME, json!(timestamp::now()));
    put("id", json!(outcome.request_id));
    put("operation", json!(finished.operation.map_or("none", Operation::name)));
    put("status", json!(outcome.status));
    put("ms", number(&milliseconds(finished.took)));
    if let Some(kind) = finished.error {
        let type_name = render_error(&Error::new(kind, "")).type_name;
        put("error", json!(type_name.rsplit('#').next().unwrap_or_default()));
    }
    if let Some(denied) = &trace.denied {
        let Denied { principal, action, by, .. } = &**denied;
        put("denied", json!(action));
        put("denied_to", json!(principal));
        put("denied_by", json!(by));
    }
    put("received_bytes", json!(finished.received_bytes));
    put("sent_bytes", json!(finished.sent_bytes));
    let Some(detail) = &trace.detail else { return line };
    let Detail { account, region, tables, index, rows, figures } = &**detail;
    put("account", json!(account));
    put("region", json!(region));
    if !tables.is_empty() {
        put("tables", json!(tables));
    }
    if let Some(index) = index {
        put("index", json!(index));
    }
    if let Some((read, returned)) = rows {
        put("read", json!(read));
        put("returned", json!(returned));
    }
    for (name, halves) in [("read_units", &figures.read_halves), ("write_units", &figures.write_halves)] {
        let halves = halves.load(Ordering::Relaxed);
        if halves > 0 {
            put(name, number(&units(halves)));
        }
    }
    let conflicts = figures.conflicts.load(Ordering::Relaxed);
    if conflicts > 0 {
        put("conflicts", json!(conflicts));
    }
    line
}

/// A number that is already text.
fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Capacity units with their half, if there is one.
pub(crate) fn units(halves: u64) -> String {
    let half = if halves.is_multiple_of(HALVES_PER_UNIT) { "" } else { ".5" };
    format!("{}{half}", halves / HALVES_PER_UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_all_errors_or_slow_with_milliseconds() {
        assert_eq!("all".parse(), Ok(RequestLog::All));
        assert_eq!("errors".parse(), Ok(RequestLog::Errors));
        for text in ["slow:50", "slow:50ms"] {
            assert_eq!(text.parse(), Ok(RequestLog::Slow(Duration::from_millis(50))), "{text}");
        }
        for text in ["", "slow", "slow:", "slow:fast", "error", "all:1"] {
            assert!(text.parse::<RequestLog>().unwrap_err().contains("slow:MS"), "{text}");
        }
    }

    #[test]
    fn units_have_halves() {
        assert_eq!([0, 1, 2, 25].map(units), ["0", "0.5", "1", "12.5"]);
    }
}
