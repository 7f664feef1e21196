//! Statistics: what is computed from the values of one period.

use super::fault::Fault;

/// A statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// The number of values.
    SampleCount,
    /// The sum divided by the number.
    Average,
    /// All values added up.
    Sum,
    /// The smallest value.
    Minimum,
    /// The largest value.
    Maximum,
    /// The value below which this part of all values lies, in thousandths of a percent.
    Percentile(u32),
}

const PLAIN: [Statistic; 5] =
    [Statistic::SampleCount, Statistic::Average, Statistic::Sum, Statistic::Minimum, Statistic::Maximum];

/// All values, in thousandths of a percent.
pub const WHOLE: u32 = 100_000;

impl Statistic {
    /// The name of a plain statistic.
    pub const fn plain_name(self) -> Option<&'static str> {
        match self {
            Self::SampleCount => Some("SampleCount"),
            Self::Average => Some("Average"),
            Self::Sum => Some("Sum"),
            Self::Minimum => Some("Minimum"),
            Self::Maximum => Some("Maximum"),
            Self::Percentile(_) => None,
        }
    }

    /// The name, such as `Sum` or `p99.9`.
    pub fn name(self) -> String {
        match (self.plain_name(), self) {
            (Some(name), _) => name.to_owned(),
            (None, Self::Percentile(part)) => {
                let (whole, rest) = (part / 1000, part % 1000);
                let rest = format!("{rest:03}");
                let rest = rest.trim_end_matches('0');
                if rest.is_empty() { format!("p{whole}") } else { format!("p{whole}.{rest}") }
            }
            (None, _) => String::new(),
        }
    }

    /// A plain statistic by its name.
    pub fn plain(name: &str) -> Option<Self> {
        PLAIN.into_iter().find(|statistic| statistic.plain_name() == Some(name))
    }

    /// A percentile, such as `p99.9`.
    pub fn percentile(name: &str) -> Option<Self> {
        let digits = name.strip_prefix('p')?;
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 3 || rest.len() > 3 || !is_digits(whole) || !is_digits(rest) {
            return None;
        }
        let part = whole.parse::<u32>().ok()? * 1000 + format!("{rest:0<3}").parse::<u32>().ok()?;
        (part <= WHOLE).then_some(Self::Percentile(part))
    }

    /// Any statistic by its name.
    pub fn parse(parameter: &str, name: &str) -> Result<Self, Fault> {
        let found = Self::plain(name).or_else(|| Self::percentile(name));
        found.ok_or_else(|| {
            let rule = "must be SampleCount, Average, Sum, Minimum, Maximum or a percentile such as p99.9";
            Fault::value(parameter, rule)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["Sum", "Average", "p50", "p99.9", "p0.125", "p100"] {
            assert_eq!(Statistic::parse("Stat", name).map(Statistic::name), Ok(name.to_owned()));
        }
        for name in ["", "sum", "p", "p101", "p9.1234", "tm90", "p-1", "p+1"] {
            assert!(Statistic::parse("Stat", name).is_err(), "{name}");
        }
    }
}
