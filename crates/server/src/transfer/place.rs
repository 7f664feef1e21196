//! A place for objects that the server writes: a bucket and what precedes the names of the objects.

/// A bucket, and what precedes the names of the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) bucket: String,
    pub(super) prefix: Option<String>,
}

impl Place {
    /// Parses `s3://bucket/prefix`; `None` if the text is no such URL.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("s3://")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = (!prefix.is_empty()).then(|| prefix.trim_end_matches('/').to_owned());
        (!bucket.is_empty()).then(|| Self { bucket: bucket.to_owned(), prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_a_bucket_and_what_precedes_the_names() {
        let parsed = |url| Place::parse(url).map(|place| (place.bucket, place.prefix));
        assert_eq!(parsed("s3://b"), Some(("b".to_owned(), None)));
        assert_eq!(parsed("s3://b/"), Some(("b".to_owned(), None)));
        assert_eq!(parsed("s3://b/p/q/"), Some(("b".to_owned(), Some("p/q".to_owned()))));
        assert_eq!((parsed("s3://"), parsed("b/p")), (None, None));
    }
}
