//! The text form in which Prometheus reads metrics (exposition format 0.0.4).
//!
//! A library would bring counters of its own: the official one locks at each observation, others add
//! floating-point numbers in a loop. The form itself is a few lines. It does not know which metrics there
//! are.

use std::fmt::{Display, Write as _};

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a metric means to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows, until the process or the store starts again.
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A whole number of millionths, such as microseconds of a figure in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Millionths(pub(crate) u64);

const MILLION: u64 = 1_000_000;

impl Display for Millionths {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.0 / MILLION, self.0 % MILLION);
        if rest == 0 {
            return write!(formatter, "{whole}");
        }
        let digits = format!("{rest:06}");
        write!(formatter, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// The text under construction.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
    name: &'static str,
}

impl Exposition {
    /// Begins a metric; its samples follow.
    pub(crate) fn metric(&mut self, kind: Kind, name: &'static str, help: &str) -> &mut Self {
        self.name = name;
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {}", kind.name()));
        self
    }

    /// A metric with one value and no labels.
    pub(crate) fn single(&mut self, kind: Kind, name: &'static str, help: &str, value: impl Display) {
        self.metric(kind, name, help).sample(&[], value);
    }

    /// A sample of the metric begun last.
    pub(crate) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.suffixed("", labels, value)
    }

    /// The samples of one histogram of the metric begun last: counts of each class, in the order of their
    /// upper bounds, the last without one, and the sum of all values.
    pub(crate) fn histogram(
        &mut self,
        labels: &[(&str, &str)],
        classes: &[u64],
        bounds: &[u64],
        sum: Millionths,
    ) -> &mut Self {
        let mut count: u64 = 0;
        for (place, class) in classes.iter().enumerate() {
            count = count.saturating_add(*class);
            let bound = bounds.get(place).map_or_else(|| "+Inf".to_owned(), |us| Millionths(*us).to_string());
            let mut labels = labels.to_vec();
            labels.push(("le", &bound));
            self.suffixed("_bucket", &labels, count);
        }
        self.suffixed("_sum", labels, sum).suffixed("_count", labels, count)
    }

    fn suffixed(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        let name = self.name;
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.line(format_args!("{name}{suffix}{labels} {value}"));
        self
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("a string takes every line");
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms_have_the_form_that_prometheus_reads() {
        let mut exposition = Exposition::default();
        exposition.single(Kind::Gauge, "a", "One figure.", 7);
        exposition
            .metric(Kind::Counter, "b_total", "With labels.")
            .sample(&[("x", "1"), ("y", "a\"b\\c\nd")], Millionths(1_500_000));
        exposition.metric(Kind::Histogram, "c_seconds", "Durations.").histogram(
            &[("x", "1")],
            &[1, 0, 2],
            &[100, 2_000_000],
            Millionths(10),
        );
        assert_eq!(
            exposition.into_text(),
            "# HELP a One figure.\n# TYPE a gauge\na 7\n\
             # HELP b_total With labels.\n# TYPE b_total counter\nb_total{x=\"1\",y=\"a\\\"b\\\\c\\nd\"} 1.5\n\
             # HELP c_seconds Durations.\n# TYPE c_seconds histogram\n\
             c_seconds_bucket{x=\"1\",le=\"0.0001\"} 1\nc_seconds_bucket{x=\"1\",le=\"2\"} 1\n\
             c_seconds_bucket{x=\"1\",le=\"+Inf\"} 3\nc_seconds_sum{x=\"1\"} 0.00001\nc_seconds_count{x=\"1\"} 3\n"
        );
    }
}
