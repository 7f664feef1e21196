//! The version of the last change per first byte of a key. It lets callers keep rows that rarely change, such
//! as table schemas, without reading them again.

/// First bytes that are equal modulo this number share a slot.
const SLOTS: usize = 16;

/// Per slot, a version at or after the last commit that changed a key of that slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastChanged([u64; SLOTS]);

impl LastChanged {
    /// For a store that was just opened: every key counts as changed at this version.
    pub const fn all(version: u64) -> Self {
        Self([version; SLOTS])
    }

    /// Records that the commit of this version changed the key. Commits are recorded in order.
    pub fn record(&mut self, key: &[u8], version: u64) {
        // The empty key has no first byte and shares the slot of byte 0.
        let slot = slot(key.first().copied().unwrap_or_default());
        if let Some(last) = self.0.get_mut(slot) {
            assert!(*last <= version, "the version of the last change never goes back");
            *last = version;
        }
    }

    /// A version at or after the last change of a key with this first byte.
    pub fn at(&self, first_byte: u8) -> u64 {
        self.0.get(slot(first_byte)).copied().unwrap_or(u64::MAX)
    }
}

fn slot(first_byte: u8) -> usize {
    usize::from(first_byte) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_recorded_under_its_first_byte() {
        let mut changed = LastChanged::all(3);
        changed.record(&[1, 9], 5);
        assert_eq!([0, 1, 2].map(|byte| changed.at(byte)), [3, 5, 3]);
        changed.record(&[], 6);
        assert_eq!(changed.at(0), 6);
    }
}
