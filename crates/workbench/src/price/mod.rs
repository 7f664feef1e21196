//! What DynamoDB charges, on a given day in a given region: dated price files and money in whole
//! nano-dollars.
//!
//! Every value has its source and date. Nothing is fetched: a newer table is made from a downloaded offer
//! file by [`offer::parse`]. This module does not know the consumption; that is in `cost`.

mod file;
mod money;
pub mod offer;

pub use file::{Fault, parse, render};
pub use money::{Money, MoneyFault};

use std::collections::BTreeMap;

/// The name of the current price file.
pub const TODAY: &str = "us-east-1@2026-08";

/// The built-in files, by name.
const BUILT_IN: &[(&str, &str)] = &[
    ("us-east-1@2024-10", include_str!("../../prices/us-east-1@2024-10.toml")),
    (TODAY, include_str!("../../prices/us-east-1@2026-08.toml")),
];

/// What a price is for. The unit is part of the name: a request unit, an hour of one unit, a gigabyte-month,
/// a gigabyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Item {
    /// One write request unit of a table or index in on-demand mode.
    WriteRequest,
    /// One read request unit in on-demand mode.
    ReadRequest,
    /// One replicated write request unit, for each region of a global table.
    ReplicatedWriteRequest,
    /// One write request unit of a Standard-IA table.
    InfrequentWriteRequest,
    /// One read request unit of a Standard-IA table.
    InfrequentReadRequest,
    /// One provisioned write capacity unit for an hour.
    WriteHour,
    /// One provisioned read capacity unit for an hour.
    ReadHour,
    /// One provisioned replicated write capacity unit for an hour.
    ReplicatedWriteHour,
    /// One provisioned write capacity unit of a Standard-IA table for an hour.
    InfrequentWriteHour,
    /// One provisioned read capacity unit of a Standard-IA table for an hour.
    InfrequentReadHour,
    /// Paid at once for one write capacity unit reserved for a year.
    ReservedOneYearWriteUpfront,
    /// One reserved write capacity unit for an hour, one-year term.
    ReservedOneYearWriteHour,
    /// Paid at once for one read capacity unit reserved for a year.
    ReservedOneYearReadUpfront,
    /// One reserved read capacity unit for an hour, one-year term.
    ReservedOneYearReadHour,
    /// Paid at once for one write capacity unit reserved for three years.
    ReservedThreeYearsWriteUpfront,
    /// One reserved write capacity unit for an hour, three-year term.
    ReservedThreeYearsWriteHour,
    /// Paid at once for one read capacity unit reserved for three years.
    ReservedThreeYearsReadUpfront,
    /// One reserved read capacity unit for an hour, three-year term.
    ReservedThreeYearsReadHour,
    /// A gigabyte-month in a Standard table or index.
    Storage,
    /// A gigabyte-month in a Standard-IA table or index.
    InfrequentStorage,
    /// A gigabyte-month of continuous backups.
    PointInTimeRecovery,
    /// A gigabyte-month of on-demand backups.
    Backup,
    /// A gigabyte restored.
    Restore,
    /// A gigabyte exported, full or incremental.
    Export,
    /// A gigabyte imported.
    Import,
    /// One `GetRecords` call by a reader that is neither a function trigger nor a global table.
    StreamRead,
    /// One change data capture unit delivered to a Kinesis stream.
    ChangeCapture,
    /// One `dax.r5.large` cache node for an hour.
    CacheNodeHour,
}

impl Item {
    /// Its name in price files: `write-request`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.extend(letter.to_lowercase());
        }
        name
    }
}

/// One price with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// The price of one unit.
    pub each: Money,
    /// Where it was read.
    pub source: String,
    /// When it was read or published, as `YYYY-MM` or `YYYY-MM-DD`.
    pub date: String,
    /// False where no primary source has confirmed the value.
    pub verified: bool,
}

/// The monthly free tier: once for all tables that an account has in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Free {
    /// Gigabytes of Standard storage.
    pub storage_gb: u64,
    /// Stream reads.
    pub stream_reads: u64,
    /// Provisioned read units of the Standard class.
    pub read_units: u64,
    /// Provisioned write units of the Standard class.
    pub write_units: u64,
}

/// A dated table of prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    /// Region and month, such as `us-east-1@2026-08`.
    pub name: String,
    /// The monthly free tier.
    pub free: Free,
    /// The known prices. The caller reports a missing one; it is never taken as zero.
    pub items: BTreeMap<Item, Price>,
}

impl Prices {
    /// A built-in table by name.
    pub fn built_in(name: &str) -> Result<Self, Fault> {
        let (_, text) = BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| Fault::Unknown { name: name.to_owned(), known: Self::names() })?;
        parse(text)
    }

    /// The names of the built-in tables, oldest first.
    pub fn names() -> Vec<&'static str> {
        BUILT_IN.iter().map(|(name, _)| *name).collect()
    }

    /// The price of one unit, if the table has it.
    pub fn of(&self, item: Item) -> Option<Money> {
        self.items.get(&item).map(|price| price.each)
    }
}

#[cfg(test)]
mod tests;
