//! The shapes of what a record of a file consists of. The service model has no shape of a record.

use super::{Kind, Shape};

/// A map of attributes.
pub(crate) static ATTRIBUTES: Shape = Shape::map(&TEXT, &VALUE);
/// A map of placeholders to names.
pub(crate) static NAMES: Shape = Shape::map(&TEXT, &TEXT);
/// A text.
pub(crate) static TEXT: Shape = Shape::new(Kind::Text);
static VALUE: Shape = Shape::attribute_value();
