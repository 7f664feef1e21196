//! The steps from one design to the other: who does each, what it reads and writes once, what that costs and
//! how long it takes.
//!
//! The order keeps a running application working (expand, migrate, contract). First come new indexes and
//! settings that add protection or capacity. Then the application writes old and new, a job fills what is
//! missing without overwriting newer values, and another job verifies. Then the reads move, and only then the
//! old data goes: indexes before items, since deletes then need no index writes. Settings that take something
//! away come last.

use super::actions::Action;
use super::remarks::Remark;
use keywright_workbench::cost::Gigabyte;
use keywright_workbench::price::{Item, Money, Prices};

/// Bytes of a gigabyte as the service bills it.
const GIGABYTE: i128 = Gigabyte::Binary.bytes();

/// Read units that a partition offers per write unit (developer guide: 3000 and 1000).
const READS_PER_WRITE: u64 = 3;

/// The steps in the order in which they keep the application running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What each added entity and pattern needs, what is left out, and why there is no plan.
    pub summary: Vec<Remark>,
    /// How many of the differences it carries out.
    pub extent: Extent,
    /// In the order of execution; each waits for the one before it.
    pub steps: Vec<Step>,
}

/// How many of the differences a plan carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of them.
    #[default]
    Whole,
    /// All but what the summary names as open or not planned.
    Part,
    /// There are differences, and no plan for them.
    None,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind.
    pub kind: StepKind,
    /// What is done, in any order.
    pub operations: Vec<Operation>,
    /// What it consumes; `None` if no example shows how large the items are.
    pub units: Option<Units>,
    /// What its units are paid by.
    pub place: Place,
    /// Another way to do the same.
    pub alternative: Option<Alternative>,
}

/// One operation of a step, with what it consumes. Operations that share a scan name its units once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub action: Action,
    /// `None` if no example shows how large the items are.
    pub units: Option<Units>,
}

/// Request units, consumed once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Read units.
    pub reads: u64,
    /// To the table and its local indexes.
    pub table_writes: u64,
    /// To global indexes.
    pub index_writes: u64,
}

/// The parts of a table's definition that decide the price of its units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Whether the table's class is Standard-IA.
    pub infrequent: bool,
    /// Replica regions, without the table's own.
    pub replicas: usize,
}

/// An export and import as files, billed by the gigabyte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// What is done instead.
    pub action: Action,
    /// Bytes that are billed; `None` if no example shows how large the items are.
    pub bytes: Option<u64>,
}

/// Who does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The table's operator: a call of the control plane.
    Table,
    /// A release of the application.
    Application,
    /// A job that runs next to the application.
    Job,
}

impl Who {
    /// As reports print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Application => "application",
            Self::Job => "job",
        }
    }
}

/// The kind of a step; the order is the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// A new table.
    CreateTable,
    /// Settings that add something.
    ChangeSetting,
    /// A new index, which the service fills.
    CreateIndex,
    /// Reads understand old and new.
    ReadBoth,
    /// Writes keep old and new.
    WriteBoth,
    /// Existing items get what new ones have.
    Backfill,
    /// Items are put into a new table.
    LoadItems,
    /// Old and new are compared.
    Verify,
    /// Reads use the new design alone.
    SwitchReads,
    /// Writes keep the new design alone.
    StopWrites,
    /// An index that nothing reads.
    DeleteIndex,
    /// Items that nothing reads.
    DeleteItems,
    /// A table that nothing reads.
    DeleteTable,
    /// Settings that take something away.
    LowerSetting,
}

impl Extent {
    /// As reports print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Part => "part",
            Self::None => "none",
        }
    }
}

impl StepKind {
    /// Who does it.
    pub const fn who(self) -> Who {
        match self {
            Self::CreateTable
            | Self::ChangeSetting
            | Self::CreateIndex
            | Self::DeleteIndex
            | Self::DeleteTable
            | Self::LowerSetting => Who::Table,
            Self::ReadBoth | Self::WriteBoth | Self::SwitchReads | Self::StopWrites => Who::Application,
            Self::Backfill | Self::LoadItems | Self::Verify | Self::DeleteItems => Who::Job,
        }
    }

    /// The beginning of the step's line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateTable => "create table",
            Self::ChangeSetting | Self::LowerSetting => "change settings",
            Self::CreateIndex => "create index",
            Self::ReadBoth => "read old and new",
            Self::WriteBoth => "write old and new",
            Self::Backfill => "backfill",
            Self::LoadItems => "load",
            Self::Verify => "verify",
            Self::SwitchReads => "switch reads",
            Self::StopWrites => "stop old writes",
            Self::DeleteItems => "delete old",
            Self::DeleteIndex => "delete index",
            Self::DeleteTable => "delete table",
        }
    }
}

impl Units {
    /// Write units of the table and its indexes.
    pub const fn writes(self) -> u64 {
        self.table_writes.saturating_add(self.index_writes)
    }

    /// The sum of both.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self {
            reads: self.reads.saturating_add(more.reads),
            table_writes: self.table_writes.saturating_add(more.table_writes),
            index_writes: self.index_writes.saturating_add(more.index_writes),
        }
    }

    /// Seconds at this many write units a second, and three times as many read units.
    pub fn seconds(self, rate: u64) -> u64 {
        let rate = rate.max(1);
        let reads = self.reads.div_ceil(rate.saturating_mul(READS_PER_WRITE));
        reads.max(self.writes().div_ceil(rate))
    }
}

impl Step {
    /// What it costs on demand; `None` if its units or a price are unknown. Writes to a table with replicas
    /// are billed in each region (developer guide: billing for global tables).
    pub fn cost(&self, prices: &Prices) -> Option<Money> {
        let units = self.units?;
        let ordinary =
            |common, infrequent| prices.of(if self.place.infrequent { infrequent } else { common });
        let read = ordinary(Item::ReadRequest, Item::InfrequentReadRequest)?;
        let write = ordinary(Item::WriteRequest, Item::InfrequentWriteRequest)?;
        let replicated = if self.place.replicas > 0 && !self.place.infrequent {
            prices.of(Item::ReplicatedWriteRequest)?
        } else {
            write
        };
        let regions = i128::try_from(self.place.replicas).ok()? + 1;
        let times = |price: Money, units: u64| price.times(i128::from(units), 1);
        Some(
            times(read, units.reads)
                + times(replicated, units.table_writes).times(regions, 1)
                + times(write, units.index_writes).times(regions, 1),
        )
    }
}

impl Alternative {
    /// The cost of exporting and importing the bytes.
    pub fn cost(&self, prices: &Prices) -> Option<Money> {
        let each = prices.of(Item::Export)? + prices.of(Item::Import)?;
        Some(each.times(i128::from(self.bytes?), GIGABYTE))
    }
}

impl Plan {
    /// Units of all steps together; `None` if one is unknown.
    pub fn units(&self) -> Option<Units> {
        self.steps.iter().try_fold(Units::default(), |sum, step| Some(sum.and(step.units?)))
    }

    /// What all steps cost on demand, once; `None` if a step's units or a price are unknown.
    pub fn cost(&self, prices: &Prices) -> Option<Money> {
        self.steps.iter().map(|step| step.cost(prices)).sum()
    }
}
