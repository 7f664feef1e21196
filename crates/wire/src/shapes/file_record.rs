//! The shape of a record of a file that is imported or put in bulk. The service model has none.

use super::{Kind, Member, Shape};

/// A record: an item, and the members of a condition.
pub(crate) static FILE_RECORD: Shape = Shape::structure(
    "FileRecord",
    &[
        Member::optional("Item", &ATTRIBUTES),
        Member::optional("ConditionExpression", &TEXT),
        Member::optional("ExpressionAttributeNames", &NAMES),
        Member::optional("ExpressionAttributeValues", &ATTRIBUTES),
    ],
);

static TEXT: Shape = Shape::new(Kind::Text);
static VALUE: Shape = Shape::attribute_value();
static ATTRIBUTES: Shape = Shape::map(&TEXT, &VALUE);
static NAMES: Shape = Shape::map(&TEXT, &TEXT);
