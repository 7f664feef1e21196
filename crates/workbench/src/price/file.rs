//! The price file: TOML with one section per price, each with amount, quantity, source and date.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Free, Item, Money, MoneyFault, Price, Prices};

/// The faults of a price file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No built-in file has this name.
    Unknown {
        /// The requested name.
        name: String,
        /// The built-in names.
        known: Vec<&'static str>,
    },
    /// The text is not the format.
    Format(String),
    /// An amount cannot be used.
    Amount(Item, MoneyFault),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, known } => {
                write!(f, "no price file `{name}`; there are: {}", known.join(", "))
            }
            Self::Format(fault) => write!(f, "the price file cannot be read: {fault}"),
            Self::Amount(item, fault) => write!(f, "the price of {item:?}: {fault}"),
        }
    }
}

impl std::error::Error for Fault {}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: String,
    free: FreeSection,
    price: BTreeMap<Item, Section>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FreeSection {
    storage_gb: u64,
    stream_reads: u64,
    /// Older files have no free units.
    #[serde(default)]
    read_units: u64,
    #[serde(default)]
    write_units: u64,
    source: String,
    date: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Section {
    /// Dollars as text: a binary fraction cannot hold 0.1 exactly.
    usd: String,
    /// How many units the amount buys.
    #[serde(default = "one")]
    per: u32,
    source: String,
    date: String,
    #[serde(default = "yes")]
    verified: bool,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// Reads a price file.
pub fn parse(text: &str) -> Result<Prices, Fault> {
    let document: Document = toml::from_str(text).map_err(|fault| Fault::Format(fault.to_string()))?;
    let items = document
        .price
        .into_iter()
        .map(|(item, section)| {
            let each =
                Money::parse_per(&section.usd, section.per).map_err(|fault| Fault::Amount(item, fault))?;
            let Section { source, date, verified, .. } = section;
            Ok((item, Price { each, source, date, verified }))
        })
        .collect::<Result<_, Fault>>()?;
    let FreeSection { storage_gb, stream_reads, read_units, write_units, .. } = document.free;
    let free = Free { storage_gb, stream_reads, read_units, write_units };
    Ok(Prices { name: document.name, free, items })
}

/// Writes a price file that [`parse`] reads back to the same table.
pub fn render(prices: &Prices, free_source: &str, free_date: &str) -> Result<String, Fault> {
    let price = prices
        .items
        .iter()
        .map(|(item, price)| {
            let section = Section {
                usd: decimal(price.each),
                per: 1,
                source: price.source.clone(),
                date: price.date.clone(),
                verified: price.verified,
            };
            (*item, section)
        })
        .collect();
    let free = FreeSection {
        storage_gb: prices.free.storage_gb,
        stream_reads: prices.free.stream_reads,
        read_units: prices.free.read_units,
        write_units: prices.free.write_units,
        source: free_source.to_owned(),
        date: free_date.to_owned(),
    };
    toml::to_string(&Document { name: prices.name.clone(), free, price })
        .map_err(|fault| Fault::Format(fault.to_string()))
}

/// All nine places, so that nothing is lost.
fn decimal(money: Money) -> String {
    let nanos = money.as_nanos();
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}
