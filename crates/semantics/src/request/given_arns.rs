//! ARNs that a request gives, looked at before it is validated.

use super::{PolicyResource, ResourceRef, TableRef};
use crate::error::Error;
use crate::operation::Operation;
use crate::touches::{Action, Resource, Touches};

/// What is wrong with the form of the first ARN that has a wrong one. A client who is denied learns it too:
/// what it wrote names nothing.
pub fn malformed_arn(touches: &Touches<'_>) -> Option<Error> {
    touches.as_slice().iter().find_map(|touch| {
        let (Resource::Table(text) | Resource::Index { table: text, .. } | Resource::Stream(text)) =
            &touch.resource
        else {
            return None;
        };
        match touch.action {
            Action::Operation(
                Operation::DeleteResourcePolicy | Operation::GetResourcePolicy | Operation::PutResourcePolicy,
            ) => PolicyResource::parse(text).err(),
            Action::Operation(
                Operation::ListTagsOfResource | Operation::TagResource | Operation::UntagResource,
            ) => ResourceRef::parse(text).err(),
            _ if matches!(touch.resource, Resource::Stream(_)) => None,
            _ => TableRef::parse(text).err(),
        }
    })
}
