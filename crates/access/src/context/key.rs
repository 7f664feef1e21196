//! Keys of conditions by their names.
//!
//! Sources: service authorization reference for DynamoDB; IAM user guide, global condition context keys. It
//! does not know values.

use std::fmt;

macro_rules! keys {
    ($($variant:ident $name:literal $(= $alias:literal)?;)*) => {
        /// A key that has a meaning here.
        #[expect(missing_docs, reason = "each variant is the key of its name")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Known {
            $($variant,)*
        }

        impl Known {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The key's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Its bit in a set of keys.
            #[expect(clippy::as_conversions, reason = "the number of a variant")]
            pub(super) const fn bit(self) -> u64 {
                1 << self as u64
            }

            fn from_name(name: &str) -> Option<Self> {
                $(if name.eq_ignore_ascii_case($name) $(|| name.eq_ignore_ascii_case($alias))? {
                    return Some(Self::$variant);
                })*
                None
            }
        }
    };
}

keys! {
    LeadingKeys "dynamodb:LeadingKeys" = "dynamodb:FirstPartitionKeyValues";
    SecondPartitionKeyValues "dynamodb:SecondPartitionKeyValues";
    ThirdPartitionKeyValues "dynamodb:ThirdPartitionKeyValues";
    FourthPartitionKeyValues "dynamodb:FourthPartitionKeyValues";
    Attributes "dynamodb:Attributes";
    Select "dynamodb:Select";
    ReturnValues "dynamodb:ReturnValues";
    ReturnConsumedCapacity "dynamodb:ReturnConsumedCapacity";
    EnclosingOperation "dynamodb:EnclosingOperation";
    FullTableScan "dynamodb:FullTableScan";
    FisActionId "dynamodb:FisActionId";
    FisTargetArns "dynamodb:FisTargetArns";
    TagKeys "aws:TagKeys";
    PrincipalArn "aws:PrincipalArn";
    PrincipalAccount "aws:PrincipalAccount";
    PrincipalType "aws:PrincipalType";
    UserId "aws:userid";
    Username "aws:username";
    SourceIp "aws:SourceIp";
    SecureTransport "aws:SecureTransport";
    CurrentTime "aws:CurrentTime";
    EpochTime "aws:EpochTime";
    TokenIssueTime "aws:TokenIssueTime";
    MultiFactorAuthPresent "aws:MultiFactorAuthPresent";
    MultiFactorAuthAge "aws:MultiFactorAuthAge";
    RequestedRegion "aws:RequestedRegion";
    ResourceAccount "aws:ResourceAccount";
    SourceIdentity "aws:SourceIdentity" = "sts:SourceIdentity";
    UserAgent "aws:UserAgent";
    Referer "aws:Referer";
    ViaAwsService "aws:ViaAWSService";
    PrincipalIsAwsService "aws:PrincipalIsAWSService";
    PrincipalServiceName "aws:PrincipalServiceName";
    PrincipalServiceNamesList "aws:PrincipalServiceNamesList";
    PrincipalOrgId "aws:PrincipalOrgID";
    PrincipalOrgPaths "aws:PrincipalOrgPaths";
    ResourceOrgId "aws:ResourceOrgID";
    ResourceOrgPaths "aws:ResourceOrgPaths";
    SourceAccount "aws:SourceAccount";
    SourceArn "aws:SourceArn";
    SourceOrgId "aws:SourceOrgID";
    SourceOrgPaths "aws:SourceOrgPaths";
    SourceVpc "aws:SourceVpc";
    SourceVpce "aws:SourceVpce";
    VpcSourceIp "aws:VpcSourceIp";
    Ec2InstanceSourceVpc "aws:Ec2InstanceSourceVpc";
    CalledVia "aws:CalledVia";
    CalledViaFirst "aws:CalledViaFirst";
    CalledViaLast "aws:CalledViaLast";
    FederatedProvider "aws:FederatedProvider";
    ExternalId "sts:ExternalId";
    RoleSessionName "sts:RoleSessionName";
    DurationSeconds "sts:DurationSeconds";
    TransitiveTagKeys "sts:TransitiveTagKeys";
    PermissionsBoundary "iam:PermissionsBoundary";
    PolicyArn "iam:PolicyARN";
    ClientCertificateSubject "keywright:ClientCertificateSubject";
}

const _: () = assert!(Known::ALL.len() <= 64, "each key has a bit of its own");

/// The keys whose values only a bound request has.
pub const UNBOUND: [Known; 5] = [
    Known::LeadingKeys,
    Known::SecondPartitionKeyValues,
    Known::ThirdPartitionKeyValues,
    Known::FourthPartitionKeyValues,
    Known::Attributes,
];

/// The keys whose values the connection and the head of a request give.
pub const OF_CONNECTION: [Known; 5] = [
    Known::SourceIp,
    Known::SecureTransport,
    Known::UserAgent,
    Known::Referer,
    Known::ClientCertificateSubject,
];

/// A key of a condition or variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// One that has a meaning here.
    Known(Known),
    /// The value of a tag of the principal.
    PrincipalTag(Box<str>),
    /// The value of a tag of the resource.
    ResourceTag(Box<str>),
    /// The value of a tag that the request gives.
    RequestTag(Box<str>),
    /// Any other, as it was written.
    Other(Box<str>),
}

impl Key {
    /// The key of this name. Case makes no difference.
    pub fn parse(name: &str) -> Self {
        if let Some(known) = Known::from_name(name) {
            return Self::Known(known);
        }
        let of_tag = name.split_once('/').and_then(|(kind, tag)| {
            let of = |prefix: &str| kind.eq_ignore_ascii_case(prefix);
            if of("aws:PrincipalTag") {
                Some(Self::PrincipalTag(tag.into()))
            } else if of("aws:ResourceTag") {
                Some(Self::ResourceTag(tag.into()))
            } else if of("aws:RequestTag") {
                Some(Self::RequestTag(tag.into()))
            } else {
                None
            }
        });
        of_tag.unwrap_or_else(|| Self::Other(name.into()))
    }

    /// Whether a request can have several values of it; none if only the request says.
    pub const fn is_multivalued(&self) -> Option<bool> {
        match self {
            Self::Known(
                Known::LeadingKeys
                | Known::SecondPartitionKeyValues
                | Known::ThirdPartitionKeyValues
                | Known::FourthPartitionKeyValues
                | Known::Attributes
                | Known::TagKeys
                | Known::FisTargetArns
                | Known::CalledVia
                | Known::PrincipalServiceNamesList
                | Known::PrincipalOrgPaths
                | Known::ResourceOrgPaths
                | Known::SourceOrgPaths
                | Known::TransitiveTagKeys,
            ) => Some(true),
            Self::Other(_) => None,
            Self::Known(_) | Self::PrincipalTag(_) | Self::ResourceTag(_) | Self::RequestTag(_) => {
                Some(false)
            }
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(known) => formatter.write_str(known.name()),
            Self::PrincipalTag(tag) => write!(formatter, "aws:PrincipalTag/{tag}"),
            Self::ResourceTag(tag) => write!(formatter, "aws:ResourceTag/{tag}"),
            Self::RequestTag(tag) => write!(formatter, "aws:RequestTag/{tag}"),
            Self::Other(name) => formatter.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_by_its_name_in_any_case() {
        for known in Known::ALL {
            assert_eq!(Key::parse(&known.name().to_uppercase()), Key::Known(*known));
        }
        assert_eq!(Key::parse("dynamodb:FirstPartitionKeyValues"), Key::Known(Known::LeadingKeys));
        assert_eq!(Key::parse("AWS:principaltag/Team"), Key::PrincipalTag("Team".into()));
        assert_eq!(Key::parse("s3:prefix"), Key::Other("s3:prefix".into()));
    }
}
