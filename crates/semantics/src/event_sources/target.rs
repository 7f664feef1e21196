//! Where a trigger sends records: a function, an address of HTTP, a bucket.

/// Characters of a target. A function's name has at most 256.
pub const TARGET_CHARACTERS_MAX: i64 = 1024;

/// Where a trigger sends records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A function, by the name or ARN that the client gave.
    Function(String),
    /// A URL that takes the event.
    Http(String),
    /// A bucket, and what the names of objects begin with: without a slash at either end.
    Bucket {
        /// The bucket.
        bucket: String,
        /// The prefix; it may be empty.
        prefix: String,
    },
}

impl Target {
    /// Reads a target; the fault says what it may be.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("https://") || text.starts_with("http://") {
            return match host_of(text) {
                Some(_) => Ok(Self::Http(text.to_owned())),
                None => Err(format!("{text} is not a URL of a host: write https://HOST/PATH.")),
            };
        }
        if let Some(place) = text.strip_prefix("s3://").or_else(|| text.strip_prefix("arn:aws:s3:::")) {
            return bucket(place)
                .ok_or_else(|| format!("{text} does not name a bucket: write s3://BUCKET/PREFIX."));
        }
        if is_function(text) {
            return Ok(Self::Function(text.to_owned()));
        }
        Err(format!(
            "{text} is not a target: write the name or ARN of a function, https://HOST/PATH, or \
             s3://BUCKET/PREFIX."
        ))
    }

    /// The target of an error record.
    pub fn parse_destination(text: &str) -> Result<Self, String> {
        match Self::parse(text) {
            Ok(Self::Function(_)) | Err(_) if !text.contains("://") && !text.starts_with("arn:aws:s3:::") => {
                Err(format!(
                    "{text} is not a destination that is served: write s3://BUCKET/PREFIX, arn:aws:s3:::BUCKET or \
                     https://HOST/PATH."
                ))
            }
            parsed => parsed,
        }
    }

    /// The text by which clients know it. Two targets are the same if these are.
    pub fn text(&self) -> String {
        match self {
            Self::Function(name) => name.clone(),
            Self::Http(url) => url.clone(),
            Self::Bucket { bucket, prefix } if prefix.is_empty() => format!("s3://{bucket}"),
            Self::Bucket { bucket, prefix } => format!("s3://{bucket}/{prefix}"),
        }
    }

    /// The host, with its port if it has one, of a URL.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Http(url) => host_of(url),
            Self::Function(_) | Self::Bucket { .. } => None,
        }
    }

    /// The ARN of a function in a region and account; other targets as they are.
    pub fn arn(&self, region: &str, account: &str) -> String {
        assert!(!region.is_empty() && !account.is_empty(), "a trigger has a place");
        match self {
            Self::Function(name) if !name.starts_with("arn:") => {
                let name = name.rsplit_once("function:").map_or(name.as_str(), |(_, name)| name);
                let name = name.strip_prefix(account).and_then(|rest| rest.strip_prefix(':')).unwrap_or(name);
                format!("arn:aws:lambda:{region}:{account}:function:{name}")
            }
            target => target.text(),
        }
    }
}

/// The authority of a URL without a user; none if there is no host.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest.get(..end)?;
    let is_host = !host.is_empty()
        && !host.starts_with(':')
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte));
    let is_plain = rest.bytes().all(|byte| byte.is_ascii_graphic());
    (is_host && is_plain).then_some(host)
}

fn bucket(place: &str) -> Option<Target> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let prefix = prefix.trim_matches('/');
    let is_bucket = (3..=63).contains(&bucket.len())
        && bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        && !bucket.contains("..")
        && !bucket.starts_with('.');
    let is_prefix = !prefix.contains('\0')
        && (prefix.is_empty() || prefix.split('/').all(|part| !matches!(part, "" | "." | "..")));
    let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
    (is_bucket && is_prefix).then_some(Target::Bucket { bucket, prefix })
}

fn is_function(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.$".contains(&byte))
    };
    let length = text.chars().count();
    (1..=256).contains(&length)
        && (!text.starts_with("arn:") || text.starts_with("arn:aws:lambda:"))
        && text.split(':').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_apart_and_equal_ones_have_one_text() {
        for (text, shown) in [
            ("archiver", "archiver"),
            (
                "arn:aws:lambda:eu-west-1:000000000000:function:f:live",
                "arn:aws:lambda:eu-west-1:000000000000:function:f:live",
            ),
            ("https://hooks.example/a?b=c", "https://hooks.example/a?b=c"),
            ("http://127.0.0.1:9/", "http://127.0.0.1:9/"),
            ("s3://archive", "s3://archive"),
            ("s3://archive/", "s3://archive"),
            ("s3://archive/a/b/", "s3://archive/a/b"),
            ("arn:aws:s3:::archive", "s3://archive"),
        ] {
            assert_eq!(Target::parse(text).map(|target| target.text()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_names_no_target_is_refused_with_what_to_write() {
        for text in [
            "",
            "a b",
            "https://",
            "https:///x",
            "https://user@host/",
            "https://a b/",
            "s3://",
            "s3://a",
            "s3://bucket/../x",
            "s3://bucket/a//b",
            "ftp://host/",
            "arn:aws:sqs:eu-west-1:000000000000:q",
        ] {
            assert!(Target::parse(text).unwrap_err().contains("rite "), "{text}");
        }
        for text in ["arn:aws:sqs:eu-west-1:000000000000:q", "kafka://topic", "f"] {
            assert!(Target::parse_destination(text).is_err(), "{text}");
        }
        assert!(Target::parse_destination("arn:aws:s3:::failures").is_ok());
    }

    #[test]
    fn a_functions_name_becomes_an_arn() {
        for text in ["f", "function:f", "000000000000:function:f"] {
            let target = Target::parse(text).unwrap();
            assert_eq!(
                target.arn("eu-west-1", "000000000000"),
                "arn:aws:lambda:eu-west-1:000000000000:function:f"
            );
        }
    }
}
