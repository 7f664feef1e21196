//! Latency over time: percentiles of each second, as a table, as JSON and as an SVG plot.

use std::fmt::Write as _;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::latency::{LATENCY_NS_MAX, nanoseconds, shown};

/// Two significant digits: a histogram per second must be small.
const DIGITS: u8 = 2;
/// The plotted and printed quantiles: name, fraction, colour of the line.
const LINES: [(&str, f64, &str); 5] = [
    ("p50", 0.5, "#2a78d6"),
    ("p90", 0.9, "#1baf7a"),
    ("p99", 0.99, "#d99a00"),
    ("p99.9", 0.999, "#d03b3b"),
    ("max", 1.0, "#8a8a85"),
];

/// The latencies of each second of a measurement, by the time when a request was due or sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Trend {
    seconds: Vec<Histogram<u32>>,
}

impl Trend {
    pub(super) fn record(&mut self, at: Duration, latency: Duration) {
        let second = usize::try_from(at.as_secs()).unwrap_or(usize::MAX);
        self.reach(second.saturating_add(1));
        if let Some(histogram) = self.seconds.get_mut(second) {
            histogram.saturating_record(nanoseconds(latency).max(1));
        }
    }

    /// Adds the latencies of the same seconds.
    pub(super) fn add(&mut self, other: &Self) {
        self.reach(other.seconds.len());
        for (own, other) in self.seconds.iter_mut().zip(&other.seconds) {
            // Both histograms have the same bounds.
            let added = own.add(other);
            debug_assert!(added.is_ok(), "histograms with the same bounds can be added");
        }
    }

    /// Appends the seconds of a later measurement.
    pub(super) fn append(&mut self, later: &Self) {
        self.seconds.extend(later.seconds.iter().cloned());
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    fn reach(&mut self, seconds: usize) {
        while self.seconds.len() < seconds {
            let empty = Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS);
            self.seconds.push(empty.expect("the bounds of histograms are constants"));
        }
    }

    /// One line per second.
    pub(super) fn table(&self) -> Vec<String> {
        let heading = LINES.map(|(name, ..)| format!("{name:>9}")).concat();
        let mut lines = vec![format!("    {:>6}{:>9}{heading}", "second", "requests")];
        for (second, histogram) in self.seconds.iter().enumerate() {
            let values = LINES
                .map(|(_, share, _)| format!("{:>9}", shown(histogram.value_at_quantile(share))))
                .concat();
            lines.push(format!("    {second:>6}{:>9}{values}", histogram.len()));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let second = |histogram: &Histogram<u32>| {
            let mut latency = json!({"requests": histogram.len()});
            for (name, share, _) in LINES {
                if let Value::Object(members) = &mut latency {
                    members.insert(format!("{name}_ns"), json!(histogram.value_at_quantile(share)));
                }
            }
            latency
        };
        self.seconds.iter().map(second).collect()
    }

    /// The values of one quantile, by second; `None` for a second without requests.
    fn line(&self, share: f64) -> impl Iterator<Item = Option<u64>> + '_ {
        let value = move |histogram: &Histogram<u32>| {
            (!histogram.is_empty()).then(|| histogram.value_at_quantile(share).max(1))
        };
        self.seconds.iter().map(value)
    }
}

const WIDTH: u32 = 960;
const PANEL_HEIGHT: u32 = 260;
const LEFT: u32 = 80;
const RIGHT: u32 = 90;
const TOP: u32 = 40;
const BOTTOM: u32 = 36;
/// Labels of the time axis.
const MARKS_MAX: usize = 10;

/// One plot below the other, each with its title. The latency axis is logarithmic.
pub(super) fn svg(panels: &[(String, Trend)]) -> String {
    let height = PANEL_HEIGHT * u32::try_from(panels.len()).unwrap_or(u32::MAX);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui, sans-serif\" \
         font-size=\"12\" fill=\"#3b3b38\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for ((title, trend), top) in panels.iter().zip((0..).step_by(usize::try_from(PANEL_HEIGHT).unwrap_or(1)))
    {
        panel(&mut text, title, trend, top);
    }
    text.push_str("</svg>\n");
    text
}

fn panel(text: &mut String, title: &str, trend: &Trend, top: u32) {
    let axis = Axis::of(trend, top);
    let (right, bottom) = (WIDTH - RIGHT, top + PANEL_HEIGHT - BOTTOM);
    let mut add = |line: std::fmt::Arguments<'_>| {
        let written = writeln!(text, "{line}");
        written.expect("a string takes any text");
    };
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    add(format_args!(
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"14\" font-weight=\"600\">{title}</text>",
        top + 22
    ));
    for decade in axis.decades() {
        let y = axis.y(decade);
        add(format_args!(
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#e4e3de\"/>"
        ));
        let label = shown(decade);
        add(format_args!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 8, y + 4.0));
    }
    for second in (0..trend.seconds.len()).step_by(trend.seconds.len().div_ceil(MARKS_MAX).max(1)) {
        let x = axis.x(second);
        add(format_args!(
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{second} s</text>",
            bottom + 20
        ));
    }
    for (place, (name, share, colour)) in LINES.into_iter().enumerate() {
        let mut path = String::new();
        let mut joined = false;
        for (second, value) in trend.line(share).enumerate() {
            if let Some(value) = value {
                let step = if joined { 'L' } else { 'M' };
                let (x, y) = (axis.x(second), axis.y(value));
                let written = write!(path, "{step}{x:.1} {y:.1}");
                written.expect("a string takes any text");
            }
            joined = value.is_some();
        }
        add(format_args!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-linejoin=\"round\"/>"
        ));
        let y = top + TOP + 10 + 18 * u32::try_from(place).unwrap_or(0);
        add(format_args!(
            "<text x=\"{}\" y=\"{y}\" fill=\"{colour}\" font-weight=\"600\">{name}</text>",
            right + 12
        ));
    }
}

/// The scales of a plot.
struct Axis {
    top: u32,
    seconds: usize,
    /// Exponents of the powers of ten at the bottom and top.
    least: u32,
    greatest: u32,
}

impl Axis {
    fn of(trend: &Trend, top: u32) -> Self {
        let values = || trend.line(0.5).chain(trend.line(1.0)).flatten();
        let least = values().min().map_or(0, u64::ilog10);
        let greatest = values().max().map_or(1, |most| most.ilog10() + 1).max(least + 1);
        Self { top, seconds: trend.seconds.len(), least, greatest }
    }

    fn decades(&self) -> impl Iterator<Item = u64> + use<> {
        (self.least..=self.greatest).map(|exponent| 10_u64.saturating_pow(exponent))
    }

    fn x(&self, second: usize) -> f64 {
        let last = u32::try_from(self.seconds.saturating_sub(1)).unwrap_or(u32::MAX).max(1);
        let second = u32::try_from(second).unwrap_or(u32::MAX);
        f64::from(LEFT) + f64::from(WIDTH - LEFT - RIGHT) * f64::from(second) / f64::from(last)
    }

    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a place on a plot")]
    fn y(&self, nanoseconds: u64) -> f64 {
        let share =
            ((nanoseconds as f64).log10() - f64::from(self.least)) / f64::from(self.greatest - self.least);
        f64::from(self.top + PANEL_HEIGHT - BOTTOM) - f64::from(PANEL_HEIGHT - TOP - BOTTOM) * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend() -> Trend {
        let mut trend = Trend::default();
        for (at_ms, latency_us) in [(0, 100), (900, 200), (2_100, 50_000)] {
            trend.record(Duration::from_millis(at_ms), Duration::from_micros(latency_us));
        }
        trend
    }

    #[test]
    fn each_second_has_its_own_percentiles() {
        let counts: Vec<u64> = trend().seconds.iter().map(Histogram::len).collect();
        assert_eq!(counts, [2, 0, 1]);
        let table = trend().table();
        assert_eq!(table.len(), 4);
        assert!(table[3].contains("50 ms"), "{table:?}");
        let json = trend().json();
        assert!(json[2]["max_ns"].as_u64().is_some_and(|max| (50_000_000..51_000_000).contains(&max)));
    }

    #[test]
    fn threads_add_up_and_rounds_follow_each_other() {
        let mut both = trend();
        both.add(&trend());
        assert_eq!(both.seconds.iter().map(Histogram::len).collect::<Vec<u64>>(), [4, 0, 2]);
        both.append(&trend());
        assert_eq!(both.seconds.len(), 6);
    }

    #[test]
    fn higher_latencies_are_plotted_higher_and_a_pause_leaves_a_gap() {
        let (trend, axis) = (trend(), Axis::of(&trend(), 0));
        assert!(axis.y(50_000_000) < axis.y(100_000));
        assert!((axis.x(0) - f64::from(LEFT)).abs() < 0.1);
        let plot = svg(&[("put-item <a&b>".to_owned(), trend)]);
        assert!(plot.contains("&lt;a&amp;b>") && plot.starts_with("<svg") && plot.ends_with("</svg>\n"));
        let path = plot.lines().find(|line| line.starts_with("<path")).unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
    }
}
