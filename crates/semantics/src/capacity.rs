//! Capacity units: the rounding from bytes to units, and the units one request used of each table and index.
//!
//! It does not know prices or throttling.

use std::collections::BTreeMap;

/// Capacity units, counted in halves: an eventually consistent read of 4 KB is half a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HalfUnits(
    /// The number of half units.
    pub u64,
);

impl std::ops::Add for HalfUnits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for HalfUnits {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Read and write units of one table or index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read capacity units, in halves.
    pub read: HalfUnits,
    /// Write capacity units, in halves.
    pub write: HalfUnits,
}

/// Half units in one unit.
pub const HALVES_PER_UNIT: u64 = 2;
/// Bytes that one read unit covers (developer guide: `ProvisionedThroughput`).
pub const READ_UNIT_BYTES: u64 = 4096;
/// Bytes that one write unit covers (developer guide: `ProvisionedThroughput`).
pub const WRITE_UNIT_BYTES: u64 = 1024;
/// Bytes that one read unit covers in an eventually consistent read (developer guide:
/// `ProvisionedThroughput`).
pub const EVENTUAL_READ_UNIT_BYTES: u64 = HALVES_PER_UNIT * READ_UNIT_BYTES;
/// Bytes of an item that one change data capture unit covers (pricing page: change data capture for Kinesis
/// Data Streams).
pub const CAPTURE_UNIT_BYTES: u64 = 1024;

// A read of any mode costs no more units than a write of the same size.
const _: () = assert!(READ_UNIT_BYTES >= 2 * WRITE_UNIT_BYTES);

/// How a read is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// `ConsistentRead: false`: half a unit per 4 KB.
    Eventual,
    /// `ConsistentRead: true`: one unit per 4 KB.
    Strong,
    /// A read of a transaction: two units per 4 KB.
    Transactional,
}

impl ReadMode {
    const fn half_units_per_block(self) -> u64 {
        match self {
            Self::Eventual => 1,
            Self::Strong => 2,
            Self::Transactional => 4,
        }
    }
}

/// How a write to a table is charged. Writes to indexes are always plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// A write outside of transactions: one unit per 1 KB.
    Plain,
    /// A write of a transaction: two units per 1 KB.
    Transactional,
}

/// Units of a read of this many bytes. A missing item costs one block of 4 KB.
pub fn read_units(bytes: usize, mode: ReadMode) -> HalfUnits {
    HalfUnits(blocks(bytes, READ_UNIT_BYTES).saturating_mul(mode.half_units_per_block()))
}

/// Units of a write of an item or index entry of this many bytes. A deletion of a missing item costs one
/// block of 1 KB.
pub fn write_units(bytes: usize, mode: WriteMode) -> HalfUnits {
    let half_units_per_block = match mode {
        WriteMode::Plain => 2,
        WriteMode::Transactional => 4,
    };
    HalfUnits(blocks(bytes, WRITE_UNIT_BYTES).saturating_mul(half_units_per_block))
}

fn blocks(bytes: usize, block_bytes: u64) -> u64 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let blocks = bytes.div_ceil(block_bytes).max(1);
    assert!(blocks.saturating_mul(block_bytes) >= bytes, "units are rounded up");
    blocks
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.write += other.write;
    }
}

impl Usage {
    /// A usage of read units only.
    pub fn reading(units: HalfUnits) -> Self {
        Self { read: units, ..Self::default() }
    }

    /// A usage of write units only.
    pub fn writing(units: HalfUnits) -> Self {
        Self { write: units, ..Self::default() }
    }

    /// Read and write units together: the member `CapacityUnits`.
    pub fn units(self) -> HalfUnits {
        self.read + self.write
    }
}

impl TableUsage {
    /// The table and all its indexes together.
    pub fn total(&self) -> Usage {
        let mut total = self.table;
        for usage in self.local_indexes.values().chain(self.global_indexes.values()) {
            total += *usage;
        }
        assert!(total.units() >= self.table.units(), "indexes never make a request cheaper");
        total
    }

    /// Adds the usage of another request, or of another part of this one, on the same table.
    pub fn merge(&mut self, other: Self) {
        self.table += other.table;
        for (name, usage) in other.local_indexes {
            *self.local_indexes.entry(name).or_default() += usage;
        }
        for (name, usage) in other.global_indexes {
            *self.global_indexes.entry(name).or_default() += usage;
        }
    }
}

/// The units that one request used of one table. An index that the request did not touch has no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableUsage {
    /// Usage of the base table itself.
    pub table: Usage,
    /// Usage of each local index, by index name.
    pub local_indexes: BTreeMap<String, Usage>,
    /// Usage of each global index, by index name.
    pub global_indexes: BTreeMap<String, Usage>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_round_up_to_four_kilobytes_and_cost_by_consistency() {
        for (bytes, eventual) in [(0, 1), (1, 1), (4096, 1), (4097, 2), (409_600, 100)] {
            assert_eq!(read_units(bytes, ReadMode::Eventual), HalfUnits(eventual));
            assert_eq!(read_units(bytes, ReadMode::Strong), HalfUnits(2 * eventual));
            assert_eq!(read_units(bytes, ReadMode::Transactional), HalfUnits(4 * eventual));
        }
    }

    #[test]
    fn writes_round_up_to_one_kilobyte_and_double_in_transactions() {
        for (bytes, units) in [(0, 1), (1024, 1), (1025, 2), (409_600, 400)] {
            assert_eq!(write_units(bytes, WriteMode::Plain), HalfUnits(2 * units));
            assert_eq!(write_units(bytes, WriteMode::Transactional), HalfUnits(4 * units));
        }
    }

    #[test]
    fn the_total_is_the_table_and_every_index() {
        let mut usage = TableUsage { table: Usage::writing(HalfUnits(2)), ..TableUsage::default() };
        let mut other = TableUsage::default();
        other.global_indexes.insert("g".into(), Usage::writing(HalfUnits(4)));
        other.local_indexes.insert("l".into(), Usage::reading(HalfUnits(1)));
        usage.merge(other);
        assert_eq!(usage.total(), Usage { read: HalfUnits(1), write: HalfUnits(6) });
        assert_eq!(usage.total().units(), HalfUnits(7));
    }
}
