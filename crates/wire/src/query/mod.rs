//! The query protocol: forms as documents, documents as XML. CloudWatch, IAM and STS speak it.
//!
//! It does not know what any operation means.

pub(crate) mod form;
pub(crate) mod read_xml;
pub(crate) mod xml;
