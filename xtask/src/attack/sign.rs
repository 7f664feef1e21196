//! Signs requests with Signature Version 4, as far as the attacks need it: POST, three signed headers.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

const REGION: &str = "us-east-1";
const SCOPE_END: &str = "aws4_request";
const SIGNED_HEADERS: &str = "host;x-amz-date;x-amz-target";

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Key {
    /// A well-formed key that no credentials file holds.
    pub(crate) fn unknown() -> Self {
        Self { id: "AKIAUNKNOWNUNKNOWN00".to_owned(), secret: "no such secret".to_owned() }
    }

    /// The value of the `Authorization` header of a request to a service.
    pub(crate) fn authorization(
        &self,
        host: &str,
        date: &str,
        (service, target): (&str, &str),
        body: &[u8],
    ) -> String {
        self.authorization_at("/", host, date, (service, target), body)
    }

    /// The same of a request to another path than `/`.
    pub(crate) fn authorization_at(
        &self,
        path: &str,
        host: &str,
        date: &str,
        (service, target): (&str, &str),
        body: &[u8],
    ) -> String {
        let scope = format!("{REGION}/{service}/{SCOPE_END}");
        let canonical = format!(
            "POST\n{path}\n\nhost:{host}\nx-amz-date:{date}\nx-amz-target:{target}\n\n{SIGNED_HEADERS}\n{}",
            hex(&Sha256::digest(body))
        );
        let day = date.get(..8).unwrap_or_default();
        let to_sign = format!(
            "AWS4-HMAC-SHA256\n{date}\n{day}/{scope}\n{}",
            hex(&Sha256::digest(canonical.as_bytes()))
        );
        let mut key = format!("AWS4{}", self.secret).into_bytes();
        for part in [day].into_iter().chain(scope.split('/')) {
            key = mac(&key, part.as_bytes());
        }
        let signature = hex(&mac(&key, to_sign.as_bytes()));
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{day}/{scope}, SignedHeaders={SIGNED_HEADERS}, Signature={signature}",
            self.id
        )
    }
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The time now, in seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a signature holds for the real time")]
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// A time as forms write it, its colons escaped: `2026-10-09T12%3A00%3A00Z`.
pub(crate) fn form_time(seconds: u64) -> String {
    let text = timestamp(seconds);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let (date, time) = ([part(0, 4), part(4, 6), part(6, 8)], [part(9, 11), part(11, 13), part(13, 15)]);
    format!("{}T{}Z", date.join("-"), time.join("%3A"))
}

/// The time now, as `X-Amz-Date` says it.
pub(crate) fn now() -> String {
    timestamp(now_s())
}

/// Howard Hinnant's `civil_from_days`, for days after 1970.
fn timestamp(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day % 3600 / 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(timestamp(0), "19700101T000000Z");
        assert_eq!(timestamp(1_709_164_800 + 3661), "20240229T010101Z");
        assert_eq!(timestamp(1_735_689_599), "20241231T235959Z");
        assert_eq!(form_time(1_735_689_599), "2024-12-31T23%3A59%3A59Z");
    }
}
