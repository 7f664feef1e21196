//! When keys were changed last, by their first byte: enough to tell that rows which rarely change did not.

/// First bytes share a place if they agree in this many lower values.
const PLACES: usize = 16;

/// At each place, the version of the last commit that changed a key with such a first byte, or a later one.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastChanged([u64; PLACES]);

impl LastChanged {
    /// For a store of which nothing else is known: anything may have been changed by this version's commit.
    pub const fn all(version: u64) -> Self {
        Self([version; PLACES])
    }

    pub fn note(&mut self, key: &[u8], version: u64) {
        // A key without a first byte stands with those whose first byte is zero.
        let place = place(key.first().copied().unwrap_or_default());
        if let Some(last) = self.0.get_mut(place) {
            *last = version;
        }
    }

    pub fn at(&self, first_byte: u8) -> u64 {
        self.0.get(place(first_byte)).copied().unwrap_or(u64::MAX)
    }
}

fn place(first_byte: u8) -> usize {
    usize::from(first_byte) % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noted_at_its_first_byte() {
        let mut changed = LastChanged::all(3);
        changed.note(&[1, 9], 5);
        assert_eq!([0, 1, 2].map(|byte| changed.at(byte)), [3, 5, 3]);
        changed.note(&[], 6);
        assert_eq!(changed.at(0), 6);
    }
}
