//! ARNs that a request gives, looked at before it is validated.

use super::{PolicyResource, ResourceRef, TableRef};
use crate::error::Error;
use crate::operation::Operation;
use crate::touches::{Action, Resource, Touches};

/// What is wrong with the form of the first ARN that has a wrong one. A client who is denied learns it too:
/// what it wrote names nothing.
pub fn malformed_arn(touches: &Touches<'_>) -> Option<Error> {
    // The first action is the request's own. CreateTable gives tags and a policy to a table that it names.
    let asked = touches.as_slice().first()?.action;
    touches.as_slice().iter().find_map(|touch| {
        let (Resource::Table(text) | Resource::Index { table: text, .. } | Resource::Stream(text)) =
            &touch.resource
        else {
            return None;
        };
        match asked {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::touches::Touch;

    fn fault(operations: &[Operation], name: &'static str) -> Option<String> {
        let touch = |operation: &Operation| Touch::own(*operation, Resource::of_arn(name));
        let touches = Touches::Several(operations.iter().map(touch).collect());
        malformed_arn(&touches).map(|error| error.message)
    }

    #[test]
    fn only_what_the_request_itself_names_by_arn_must_be_one() {
        let of_table = [Operation::CreateTable, Operation::TagResource, Operation::PutResourcePolicy];
        assert_eq!(fault(&of_table, "New"), None);
        for operation in &of_table[1..] {
            let said = fault(&[*operation], "New").unwrap_or_default();
            assert!(said.contains("New"), "{operation:?}: {said}");
        }
        assert_eq!(fault(&[Operation::GetItem], "New"), None);
    }
}
