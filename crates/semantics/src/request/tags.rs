//! TagResource, UntagResource, ListTagsOfResource: their typed requests, and the rules of tags.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{ListTagsOfResourceParts, TagParts, TagResourceParts, UntagResourceParts};
use super::table_ref::ArnScope;
use crate::error::{Error, ErrorKind};
use crate::limits::{TABLE_NAME_BYTES_MIN, TAG_KEY_CHARACTERS_MAX, TAG_VALUE_CHARACTERS_MAX, TAGS_MAX};
use crate::messages::{shape, table, tags};

/// A table as an ARN names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRef {
    /// What the client wrote.
    pub arn: String,
    /// The region and account in the ARN.
    pub scope: ArnScope,
    /// The table's name, also where the ARN names one of its streams.
    pub table: String,
}

impl ResourceRef {
    /// Parses the ARN of a table or of one of its streams.
    pub fn parse(arn: &str) -> Result<Self, Error> {
        let invalid = |text: String| Err(Error::validation(table::invalid(text)));
        if !arn.starts_with("arn:") {
            return invalid(tags::arn_start(arn));
        }
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let &[_, _partition, service, region, account, resource] = parts.as_slice() else {
            return Err(Error::validation(tags::invalid_table_arn(arn)));
        };
        if service != "dynamodb" {
            return Err(Error::new(ErrorKind::AccessDenied, table::ACCESS_DENIED));
        }
        let Some(path) = resource.strip_prefix("table/") else {
            return invalid(tags::not_a_dynamodb_arn(arn));
        };
        let (name, below) = path.split_once('/').map_or((path, None), |(name, below)| (name, Some(below)));
        if below.is_some_and(|below| !below.starts_with("stream/")) {
            return invalid(tags::only_table_or_stream(arn));
        }
        if name.len() < TABLE_NAME_BYTES_MIN {
            return Err(Error::validation(tags::invalid_table_arn(arn)));
        }
        let scope = ArnScope { region: region.to_owned(), account: account.to_owned() };
        Ok(Self { arn: arn.to_owned(), scope, table: name.to_owned() })
    }
}

/// A TagResource. Invariant: at least one tag, with allowed keys and values, no key twice.
#[derive(Clone, Debug)]
pub struct TagResource {
    /// The table, by ARN.
    pub resource: ResourceRef,
    /// Tags by their keys.
    pub tags: BTreeMap<String, String>,
}

impl TagResource {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: TagResourceParts) -> Result<Self, Error> {
        let (arn, given) = both(parts.resource_arn, parts.tags, "tags")?;
        let resource = ResourceRef::parse(&arn)?;
        if given.is_empty() {
            return Err(Error::validation(tags::NO_TAG));
        }
        Ok(Self { resource, tags: validate_tags(given)? })
    }
}

/// An UntagResource.
#[derive(Clone, Debug)]
pub struct UntagResource {
    /// The table, by ARN.
    pub resource: ResourceRef,
    /// The keys of the tags to remove; a key without a tag is no fault.
    pub keys: BTreeSet<String>,
}

impl UntagResource {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: UntagResourceParts) -> Result<Self, Error> {
        let (arn, keys) = both(parts.resource_arn, parts.tag_keys, "tagKeys")?;
        let resource = ResourceRef::parse(&arn)?;
        if keys.is_empty() {
            return Err(Error::validation(tags::NO_TAG_KEY));
        }
        if keys.len() > TAGS_MAX {
            return Err(Error::validation(tags::TOO_MANY));
        }
        keys.iter().try_for_each(|key| check_key(key))?;
        Ok(Self { resource, keys: keys.into_iter().collect() })
    }
}

/// A ListTagsOfResource.
#[derive(Clone, Debug)]
pub struct ListTagsOfResource {
    /// The table, by ARN.
    pub resource: ResourceRef,
}

impl ListTagsOfResource {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: &ListTagsOfResourceParts) -> Result<Self, Error> {
        let arn = parts.resource_arn.as_deref().ok_or_else(|| Error::validation(tags::NO_ARN))?;
        Ok(Self { resource: ResourceRef::parse(arn)? })
    }
}

/// Both required members of a change of tags. Observed: a missing ARN is reported alone, with a message of
/// its own.
fn both<T>(arn: Option<String>, given: Option<T>, member: &str) -> Result<(String, T), Error> {
    let arn = arn.ok_or_else(|| Error::validation(tags::NO_ARN))?;
    let given =
        given.ok_or_else(|| Error::validation(shape::violations(&[shape::null_violation(member)])))?;
    Ok((arn, given))
}

/// Validates tags one by one, in the client's order.
pub(super) fn validate_tags(parts: Vec<TagParts>) -> Result<BTreeMap<String, String>, Error> {
    let mut tags_by_key = BTreeMap::new();
    for tag in parts {
        check_key(&tag.key)?;
        let Some(value) = tag.value else {
            return Err(Error::validation(tags::invalid_value(tags::MISSING_VALUE)));
        };
        if value.chars().count() > TAG_VALUE_CHARACTERS_MAX || !value.chars().all(is_allowed) {
            return Err(Error::validation(tags::invalid_value(&value)));
        }
        if tags_by_key.contains_key(&tag.key) {
            return Err(Error::validation(tags::duplicate_key(&tag.key)));
        }
        tags_by_key.insert(tag.key, value);
    }
    if tags_by_key.len() > TAGS_MAX {
        return Err(Error::validation(tags::TOO_MANY));
    }
    Ok(tags_by_key)
}

fn check_key(key: &str) -> Result<(), Error> {
    let characters = key.chars().count();
    if characters == 0 || characters > TAG_KEY_CHARACTERS_MAX || !key.chars().all(is_allowed) {
        return Err(Error::validation(tags::invalid_key(key)));
    }
    if key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("aws:")) {
        return Err(Error::validation(tags::reserved_key(key)));
    }
    Ok(())
}

fn is_allowed(character: char) -> bool {
    character.is_alphanumeric() || character.is_whitespace() || "+-=._:/@".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Shop";

    fn tag(key: &str, value: &str) -> TagParts {
        TagParts { key: key.to_owned(), value: Some(value.to_owned()) }
    }

    fn fault(tags: Vec<TagParts>) -> String {
        let parts = TagResourceParts { resource_arn: Some(ARN.to_owned()), tags: Some(tags) };
        TagResource::validate(parts).unwrap_err().message
    }

    #[test]
    fn a_missing_arn_is_reported_before_other_missing_members() {
        let arn = || Some(ARN.to_owned());
        let tag = |resource_arn| TagResource::validate(TagResourceParts { resource_arn, tags: None });
        let untag =
            |resource_arn| UntagResource::validate(UntagResourceParts { resource_arn, tag_keys: None });
        assert_eq!(tag(None).unwrap_err().message, "Invalid TableArn");
        assert_eq!(untag(None).unwrap_err().message, "Invalid TableArn");
        let list = ListTagsOfResource::validate(&ListTagsOfResourceParts::default());
        assert_eq!(list.unwrap_err().message, "Invalid TableArn");
        for (message, member) in
            [(tag(arn()).unwrap_err().message, "tags"), (untag(arn()).unwrap_err().message, "tagKeys")]
        {
            let null =
                format!("Value null at '{member}' failed to satisfy constraint: Member must not be null");
            assert_eq!(message, format!("1 validation error detected: {null}"));
        }
    }

    #[test]
    fn each_fault_of_tags_has_its_text() {
        for (tags, message) in [
            (vec![], "Atleast one Tag needs to be provided as Input."),
            (vec![tag("", "v")], "The Tag Key provided is invalid, Key: "),
            (vec![tag("k!", "v")], "The Tag Key provided is invalid, Key: k!"),
            (vec![tag("AWS:k", "v")], "Tag Key cannot be prefixed with aws:, Key: AWS:k"),
            (vec![tag("k", "v\u{7}")], "The Tag Value provided is invalid, Value: v\u{7}"),
            (
                vec![tag("k", "1"), tag("k", "2")],
                "Duplicate Tag Keys provided as input: Duplicate Tag Key found k",
            ),
        ] {
            assert_eq!(fault(tags), message);
        }
        let bare = TagParts { key: "k".to_owned(), value: None };
        assert_eq!(fault(vec![bare]), "The Tag Value provided is invalid, Value: null");
        let many = (0..51).map(|number| tag(&format!("k{number}"), "")).collect();
        assert_eq!(fault(many), "Number of Tags exceed the current limit for the provided ResourceArn");
    }

    #[test]
    fn each_fault_of_an_arn_has_its_text() {
        for (arn, message) in [
            (
                "not-an-arn",
                "One or more parameter values were invalid: ARNs must start with 'arn:': not-an-arn",
            ),
            (
                "arn:aws:dynamodb:us-east-1:1:table/xyz/index/y",
                "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is \
                 accepted. Provided resource arn: arn:aws:dynamodb:us-east-1:1:table/xyz/index/y",
            ),
            (
                "arn:aws:dynamodb:us-east-1:1:table/xy",
                "Invalid TableArn: Invalid ResourceArn provided as input arn:aws:dynamodb:us-east-1:1:table/xy",
            ),
        ] {
            assert_eq!(ResourceRef::parse(arn).unwrap_err().message, message);
        }
        assert_eq!(ResourceRef::parse("arn:aws:s3:::bucket").unwrap_err().kind, ErrorKind::AccessDenied);
        assert_eq!(ResourceRef::parse(ARN).unwrap().table, "Shop");
    }
}
