//! Memory for the images of items that are being written.
//!
//! A request of a few bytes may update an item of 400 KB that 20 indexes copy, and thousands of clients may
//! send it at once. A write therefore reserves room for all images it holds, by the sizes it has read.
//! Without room it drops the images, waits, and reads again. Small writes reserve none.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Room for all writes together: some 50 updates of the largest items.
const IMAGE_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Writes of fewer bytes take no room: 10,000 of them hold 160 MiB.
const FREE_BYTES: usize = 16 * 1024;
/// Room is counted in units of this size.
const UNIT_BYTES: usize = 1024;

/// Room for images, shared by all writes of an engine. Invariant: units taken and units free are `units`.
#[derive(Debug)]
pub struct ImageMemory {
    free: Semaphore,
    units: u32,
}

impl Default for ImageMemory {
    fn default() -> Self {
        Self::new(IMAGE_BYTES_MAX)
    }
}

impl ImageMemory {
    /// Room for so many bytes, at least one unit.
    pub fn new(bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX).max(1);
        let permits = usize::try_from(units).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Self { free: Semaphore::new(permits), units }
    }

    /// The units for so many bytes. A write that needs more than exists takes all.
    fn units_of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).min(self.units)
    }
}

/// What one write has taken. It goes back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Room<'m> {
    permit: Option<SemaphorePermit<'m>>,
    units: u32,
}

impl<'m> Room<'m> {
    /// Takes room for so many bytes if it is free; true if the write has it.
    pub(crate) fn take(&mut self, memory: &'m ImageMemory, bytes: usize) -> bool {
        let units = memory.units_of(bytes);
        if bytes <= FREE_BYTES || units <= self.units {
            return true;
        }
        let Ok(more) = memory.free.try_acquire_many(units - self.units) else { return false };
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        self.units = units;
        true
    }

    /// Waits for this many bytes, first come first served. The bytes held so far are released first: a
    /// waiting write holds nothing.
    pub(crate) async fn wait_for(&mut self, memory: &'m ImageMemory, bytes: usize) {
        *self = Self::default();
        let units = memory.units_of(bytes);
        let permit = memory.free.acquire_many(units).await.expect("the memory is never closed");
        *self = Self { permit: Some(permit), units };
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn small_writes_take_nothing() {
        let memory = ImageMemory::new(MIB);
        let mut large = Room::default();
        assert!(large.take(&memory, MIB));
        assert!(Room::default().take(&memory, FREE_BYTES));
        assert!(!Room::default().take(&memory, FREE_BYTES + 1));
    }

    #[test]
    fn a_write_takes_what_it_lacks_and_gives_back_all() {
        let memory = ImageMemory::new(MIB);
        let mut room = Room::default();
        assert!(room.take(&memory, MIB / 2) && room.take(&memory, MIB) && room.take(&memory, MIB));
        assert!(!Room::default().take(&memory, MIB));
        drop(room);
        assert!(Room::default().take(&memory, MIB));
    }

    #[test]
    fn a_write_larger_than_all_memory_takes_all_of_it() {
        let memory = ImageMemory::new(MIB);
        let mut room = Room::default();
        assert!(room.take(&memory, 40 * MIB));
        assert!(!Room::default().take(&memory, MIB / 2));
    }

    #[test]
    fn a_write_that_waits_holds_nothing() {
        let memory = ImageMemory::new(MIB);
        let mut room = Room::default();
        assert!(room.take(&memory, MIB / 2));
        block_on(room.wait_for(&memory, MIB));
        assert!(!Room::default().take(&memory, MIB / 2));
        assert!(room.take(&memory, MIB));
    }
}
