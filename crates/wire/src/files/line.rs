//! Lines of JSON.

use crate::render::writer::{Members, Writer};

/// Appends an object and the end of its line.
pub(super) fn push_line(out: &mut Vec<u8>, members: impl FnOnce(&mut Members<'_>)) {
    let mut writer = Writer::appending_to(std::mem::take(out));
    writer.object(members);
    writer.raw("\n");
    *out = writer.finish();
}
