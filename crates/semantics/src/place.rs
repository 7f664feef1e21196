//! The names of a place: which texts are an account and which are a region.
//!
//! One rule for every way in: signatures, the studio, our own requests and the command line. It does not know
//! which places have tables.

/// Digits of an account.
pub const ACCOUNT_DIGITS: usize = 12;

/// The account of access keys that do not name one.
pub const DEFAULT_ACCOUNT: &str = "123456789012";

/// Bytes of a region's name. It is part of every table's definition; the service's names have at most 16.
pub const REGION_BYTES_MAX: usize = 64;

/// The regions that can have a replica or a witness of a strongly consistent global table (developer guide:
/// multi-Region strong consistency). The guide has sets of them that go together. Since autumn 2026 the
/// service takes regions of different sets (observed), by a rule that it does not publish.
pub const STRONG_TABLE_REGIONS: [&str; 10] = [
    "us-east-1",
    "us-east-2",
    "us-west-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "eu-central-1",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
];

/// The regions that a table can have replicas in. The service lists them in its messages: the first five
/// stand as they were seen there, the rest are the other regions of its endpoints (botocore 1.44.8), by name.
pub const GLOBAL_TABLE_REGIONS: [&str; 34] = [
    "ap-south-2",
    "ap-south-1",
    "eu-south-1",
    "eu-south-2",
    "me-central-1",
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
];

/// Whether a text is an account: twelve digits.
pub fn is_account(text: &str) -> bool {
    text.len() == ACCOUNT_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name of a region. The service knows a list of them; here any name of this form is one.
///
/// Invariant: 1 to 64 letters, digits, hyphens and underscores of ASCII. Such a name needs no escape in a
/// URL, an ARN, a line of a log or a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionName<'t>(&'t str);

impl<'t> RegionName<'t> {
    /// The form in words, for errors.
    pub const FORM: &'static str = "1 to 64 letters, digits, hyphens and underscores, such as us-east-1";

    /// The region of this name; `None` if the text cannot name one.
    pub fn parse(text: &'t str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_name = (1..=REGION_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits);
        is_name.then_some(Self(text))
    }

    /// Whether a text has the form of the service's regions, `eu-west-1` or `us-gov-east-1`. New ones open
    /// every year, so none are listed.
    pub fn is_of_aws(text: &str) -> bool {
        let parts: Vec<&str> = text.split('-').collect();
        let lower = |part: &&str| part.len() > 1 && part.bytes().all(|letter| letter.is_ascii_lowercase());
        match parts.split_last() {
            Some((number, words)) => {
                words.len() >= 2
                    && words.iter().all(lower)
                    && words.first().is_some_and(|area| area.len() <= 4)
                    && !number.is_empty()
                    && number.bytes().all(|digit| digit.is_ascii_digit())
            }
            None => false,
        }
    }

    /// The name.
    pub const fn as_str(self) -> &'t str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_of_global_tables_are_listed_once() {
        let different: std::collections::BTreeSet<&str> = GLOBAL_TABLE_REGIONS.into_iter().collect();
        assert_eq!(different.len(), GLOBAL_TABLE_REGIONS.len());
        assert!(GLOBAL_TABLE_REGIONS.into_iter().all(RegionName::is_of_aws));
    }

    #[test]
    fn regions_of_the_service_are_recognised_by_their_form() {
        for text in ["eu-west-1", "us-gov-east-1", "ap-southeast-5", "mx-central-1", "us-isob-east-1"] {
            assert!(RegionName::is_of_aws(text), "{text}");
        }
        for text in ["mars", "eu-west", "EU-WEST-1", "eu west 1", "1-2-3", "", "eu-west-1a", "-west-1"] {
            assert!(!RegionName::is_of_aws(text), "{text}");
        }
    }

    #[test]
    fn a_region_has_letters_digits_hyphens_and_underscores() {
        let longest = "r".repeat(REGION_BYTES_MAX);
        for text in ["us-east-1", "Test_2", "7", longest.as_str()] {
            assert_eq!(RegionName::parse(text).map(RegionName::as_str), Some(text));
        }
        let too_long = "r".repeat(REGION_BYTES_MAX + 1);
        for text in [
            "",
            " ",
            "us east",
            "us\teast",
            "us\neast",
            "\\evil.example",
            "//evil",
            "a:b",
            "x;id;",
            "a.b",
            "é",
            "\u{1b}[2J",
            "\u{202e}1",
            "r\0",
            too_long.as_str(),
        ] {
            assert_eq!(RegionName::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_account_is_twelve_digits() {
        assert!(is_account("123456789012"));
        for text in ["", "12345678901", "1234567890123", "12345678901x", "١٢٣٤٥٦"] {
            assert!(!is_account(text), "{text}");
        }
    }
}
