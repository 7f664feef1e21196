//! Builds a price table from AWS's published offer file (`AmazonDynamoDB/current/<region>/index.json`).
//!
//! The file lists products by SKU with a usage type, and terms by SKU with price dimensions. A product with
//! tiers (a free first tier, then a price) gets the price of the paid tier; the size of the free tier is
//! kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::{Free, Item, Money, Price, Prices};

/// Usage types, without the region's prefix, and the price each stands for. Global tables have a short and a
/// long spelling, depending on the age of the file.
const USAGE: &[(&str, Item)] = &[
    ("WriteRequestUnits", Item::WriteRequest),
    ("ReadRequestUnits", Item::ReadRequest),
    ("ReplWriteRequestUnits", Item::ReplicatedWriteRequest),
    ("ReplicatedWriteRequestUnits", Item::ReplicatedWriteRequest),
    ("IA-WriteRequestUnits", Item::InfrequentWriteRequest),
    ("IA-ReadRequestUnits", Item::InfrequentReadRequest),
    ("WriteCapacityUnit-Hrs", Item::WriteHour),
    ("ReadCapacityUnit-Hrs", Item::ReadHour),
    ("ReplWriteCapacityUnit-Hrs", Item::ReplicatedWriteHour),
    ("ReplicatedWriteCapacityUnit-Hrs", Item::ReplicatedWriteHour),
    ("IA-WriteCapacityUnit-Hrs", Item::InfrequentWriteHour),
    ("IA-ReadCapacityUnit-Hrs", Item::InfrequentReadHour),
    ("TimedStorage-ByteHrs", Item::Storage),
    ("IA-TimedStorage-ByteHrs", Item::InfrequentStorage),
    ("TimedPITRStorage-ByteHrs", Item::PointInTimeRecovery),
    ("TimedBackupStorage-ByteHrs", Item::Backup),
    ("RestoreDataSize-Bytes", Item::Restore),
    ("ExportDataSize-Bytes", Item::Export),
    ("ImportDataSize-Bytes", Item::Import),
    ("Streams-Requests", Item::StreamRead),
    ("ChangeDataCaptureUnits-Kinesis", Item::ChangeCapture),
];

/// Why an offer file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The text is not in the offer format.
    Format(String),
    /// It is the offer of another service.
    OtherService(String),
    /// No product in it has a known usage type.
    Nothing,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(fault) => write!(f, "this is no offer file: {fault}"),
            Self::OtherService(code) => write!(f, "this is the offer of {code}, not of AmazonDynamoDB"),
            Self::Nothing => write!(f, "the offer file holds no price of DynamoDB that is known here"),
        }
    }
}

impl std::error::Error for Fault {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Offer {
    #[serde(rename = "offerCode")]
    code: String,
    publication_date: String,
    products: BTreeMap<String, Product>,
    terms: Terms,
}

#[derive(Deserialize)]
struct Product {
    attributes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Terms {
    #[serde(rename = "OnDemand", default)]
    on_demand: BTreeMap<String, BTreeMap<String, Term>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    price_dimensions: BTreeMap<String, Dimension>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dimension {
    #[serde(default)]
    end_range: String,
    price_per_unit: BTreeMap<String, String>,
}

/// The hours of the longest month: a unit that is free all month is free for this many.
const MONTH_HOURS_MAX: u64 = 744;

/// One product's price and the width of its free tier.
struct Tiers {
    each: Money,
    free: u64,
}

/// Reads an offer file of one region. Prices finer than a nano-dollar are left out.
pub fn parse(text: &str) -> Result<Prices, Fault> {
    let offer: Offer = serde_json::from_str(text).map_err(|fault| Fault::Format(fault.to_string()))?;
    if offer.code != "AmazonDynamoDB" {
        return Err(Fault::OtherService(offer.code));
    }
    let date = offer.publication_date.get(..10).unwrap_or(&offer.publication_date).to_owned();
    let mut region = None;
    let mut free = Free::default();
    let mut items = BTreeMap::new();
    for (sku, product) in &offer.products {
        let Some((item, usage)) = known(product) else { continue };
        let Some(tiers) = offer.terms.on_demand.get(sku).and_then(tiers) else { continue };
        region = region.or_else(|| product.attributes.get("regionCode").cloned());
        match item {
            Item::Storage => free.storage_gb = tiers.free,
            Item::StreamRead => free.stream_reads = tiers.free,
            Item::ReadHour => free.read_units = tiers.free / MONTH_HOURS_MAX,
            Item::WriteHour => free.write_units = tiers.free / MONTH_HOURS_MAX,
            _ => {}
        }
        let source = format!("offer AmazonDynamoDB, SKU {sku}, usage type {usage}");
        items.insert(item, Price { each: tiers.each, source, date: date.clone(), verified: true });
    }
    if items.is_empty() {
        return Err(Fault::Nothing);
    }
    let month = date.get(..7).unwrap_or(&date);
    Ok(Prices { name: format!("{}@{month}", region.as_deref().unwrap_or("unknown")), free, items })
}

/// The price that a product stands for; its usage type may begin with the region's short name, such as
/// `EUC1-`.
fn known(product: &Product) -> Option<(Item, &str)> {
    let usage = product.attributes.get("usagetype")?;
    let bare = |text: &str| USAGE.iter().find(|(name, _)| *name == text).map(|(_, item)| *item);
    let item = bare(usage).or_else(|| {
        let (region, rest) = usage.split_once('-')?;
        let short = region.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        if short && region != "IA" { bare(rest) } else { None }
    })?;
    Some((item, usage))
}

fn tiers(terms: &BTreeMap<String, Term>) -> Option<Tiers> {
    let mut each = None;
    let mut free = 0;
    for dimension in terms.values().flat_map(|term| term.price_dimensions.values()) {
        let price = Money::parse_per(dimension.price_per_unit.get("USD")?, 1).ok()?;
        if price == Money::ZERO {
            free = dimension.end_range.parse().unwrap_or(0);
        } else {
            each = Some(each.map_or(price, |known: Money| known.max(price)));
        }
    }
    each.map(|each| Tiers { each, free })
}
