//! Bounds of the trees that are read from YAML: their levels, and the memory that anchors and aliases take
//! beyond that of the text.
//!
//! A short text can name a long one a hundred thousand times. It knows neither of the trees that are read.

/// The most nesting levels of one document. Values nest up to 32 levels, and a level takes two in typed form;
/// the rest is for the file around them.
const LEVELS_MAX: usize = 120;

/// Bytes that aliases copy and anchors keep beyond the text's own size. A text that needs more is taken for
/// an attack: models and templates repeat some kilobytes.
const COPIED_BYTES_MAX: usize = 4 << 20;

/// Bytes of a node apart from its text: itself, its place in a list, and what the allocator adds.
const NODE_BYTES: usize = 64;

const _: () = assert!(NODE_BYTES > 0, "a copy of nothing takes memory, or aliases of it could be endless");

/// The size of a copied tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// An estimate of its memory.
    pub bytes: usize,
    /// Levels of lists and mappings.
    pub levels: usize,
}

impl Extent {
    /// A node with a text of so many bytes; zero if it has none.
    pub const fn of_leaf(text_bytes: usize) -> Self {
        Self { bytes: NODE_BYTES + text_bytes, levels: 0 }
    }

    /// A list or a mapping of these nodes, names included.
    pub fn of_all(nodes: impl Iterator<Item = Self>) -> Self {
        let empty = Self { bytes: NODE_BYTES, levels: 0 };
        let all = nodes.fold(empty, |all, node| Self {
            bytes: all.bytes + node.bytes,
            levels: all.levels.max(node.levels),
        });
        Self { levels: all.levels + 1, ..all }
    }
}

/// Refuses a document of more levels than are read.
pub(super) fn check_levels(levels: usize) -> Result<(), String> {
    if levels > LEVELS_MAX { Err(format!("more than {LEVELS_MAX} levels")) } else { Ok(()) }
}

/// What is left for the copies of one text.
#[derive(Debug)]
pub(super) struct Copies {
    left: usize,
    max: usize,
}

impl Copies {
    pub(super) const fn of(text: &str) -> Self {
        let max = COPIED_BYTES_MAX + text.len();
        Self { left: max, max }
    }

    /// [`Self::take`] for an alias below so many levels.
    pub(super) fn take_below(&mut self, levels: usize, copy: Extent) -> Result<(), String> {
        check_levels(levels + copy.levels)?;
        self.take(copy)
    }

    /// Takes the bytes of a copy before it is made.
    pub(super) fn take(&mut self, copy: Extent) -> Result<(), String> {
        let Some(left) = self.left.checked_sub(copy.bytes) else {
            return Err(format!("anchors and aliases repeat more than {} bytes: write them out", self.max));
        };
        assert!(left <= self.max, "copies only take from what is left");
        self.left = left;
        Ok(())
    }
}
