//! One line of an incremental export, in any format.

use keywright_semantics::codec::EncodedItem;

/// The net change of one item within the window of an incremental export.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// When the item was last written within the window, in microseconds since 1970.
    pub written_at_us: u64,
    /// The key attributes alone.
    pub keys: &'a EncodedItem,
    /// The item at the start of the window; none if it did not exist then, or in a view of new images.
    pub old_image: Option<&'a EncodedItem>,
    /// The item at the end of the window; none if it no longer exists.
    pub new_image: Option<&'a EncodedItem>,
}
