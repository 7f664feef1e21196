//! The memory of all batches together.
//!
//! No lane waits for it: a target that hangs holds its batch for long, and others must go on. A lane that
//! gets none makes smaller batches, of at most `FREE_BYTES` and one record. Only an object that was begun is
//! made again beyond the bound, while it is put. No lane holds a batch while it pauses.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What all batches may take beyond their free part.
const ALL_BYTES: usize = 64 * 1024 * 1024;
/// What a batch takes at a time.
const PIECE_BYTES: u32 = 256 * 1024;
/// What every batch may have.
pub(super) const FREE_BYTES: usize = 128 * 1024;

pub(super) struct Memory(Arc<Semaphore>);

impl Default for Memory {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ALL_BYTES)))
    }
}

/// The share of one batch; it is given back when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Share {
    bytes: usize,
    pieces: Vec<OwnedSemaphorePermit>,
}

impl Share {
    /// Whether so many bytes have room, perhaps after taking more.
    pub(super) fn has_room(&mut self, memory: &Memory, bytes: usize) -> bool {
        while bytes > FREE_BYTES + self.bytes {
            let Ok(piece) = Arc::clone(&memory.0).try_acquire_many_owned(PIECE_BYTES) else { return false };
            self.bytes += piece.num_permits();
            self.pieces.push(piece);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_pieces_until_there_are_none_and_keeps_its_free_part() {
        let memory = Memory(Arc::new(Semaphore::new(usize::try_from(PIECE_BYTES).unwrap())));
        let (mut one, mut other) = (Share::default(), Share::default());
        assert!(one.has_room(&memory, FREE_BYTES) && one.has_room(&memory, FREE_BYTES + 1));
        assert!(other.has_room(&memory, FREE_BYTES) && !other.has_room(&memory, FREE_BYTES + 1));
        drop(one);
        assert!(other.has_room(&memory, FREE_BYTES + 1));
    }
}
