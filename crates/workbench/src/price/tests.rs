//! Prices: every value dated, money exact, the files and the offer format read to the same table.

use super::{Item, Money, MoneyFault, Prices, TODAY, offer, parse, render};

#[test]
fn every_built_in_price_carries_a_source_and_a_date() {
    for name in Prices::names() {
        let prices = Prices::built_in(name).expect("built-in files parse");
        assert_eq!(prices.name, name);
        assert!(prices.items.len() >= 28, "{name} lacks a price");
        for (item, price) in &prices.items {
            assert!(price.each > Money::ZERO, "{item:?}");
            assert!(price.source.len() > 10, "{item:?}");
            assert!(price.date.len() >= 7 && price.date.starts_with("202"), "{item:?}: {}", price.date);
        }
    }
}

#[test]
fn an_unknown_price_file_names_the_known_ones() {
    let fault = Prices::built_in("mars-1@2026-08").expect_err("there is no such file");
    assert_eq!(
        fault.to_string(),
        "no price file `mars-1@2026-08`; there are: us-east-1@2024-10, us-east-1@2026-08"
    );
}

#[test]
fn request_units_cost_whole_nano_dollars() {
    let prices = Prices::built_in(TODAY).expect("built-in");
    assert_eq!(prices.of(Item::WriteRequest), Some(Money::nanos(625)));
    assert_eq!(prices.of(Item::ReadRequest), Some(Money::nanos(125)));
    assert_eq!(prices.of(Item::ReservedThreeYearsReadHour), Some(Money::nanos(16_000)));
}

#[test]
fn r76_older_prices_can_be_selected_and_are_the_guides() {
    let prices = Prices::built_in("us-east-1@2024-10").expect("built-in");
    let million = |item| prices.of(item).map(|each| each.times(1_000_000, 1).to_string());
    assert_eq!(million(Item::WriteRequest).as_deref(), Some("$1.25"));
    assert_eq!(million(Item::ReadRequest).as_deref(), Some("$0.25"));
}

#[test]
fn amounts_finer_than_a_nano_dollar_are_refused() {
    assert_eq!(Money::parse_per("0.625", 1_000_000), Ok(Money::nanos(625)));
    assert_eq!(Money::parse_per("0.0000000001", 1), Err(MoneyFault::TooFine("0.0000000001".to_owned())));
    assert_eq!(Money::parse_per("1,5", 1), Err(MoneyFault::NotDecimal("1,5".to_owned())));
    assert_eq!(Money::parse_per("", 1), Err(MoneyFault::NotDecimal(String::new())));
}

#[test]
fn money_shows_cents_and_what_is_below_a_cent_as_that() {
    let shown = [1_642_500_000, 9_999_999, 625, 0, -625, -1_005_000_000].map(|n| Money::nanos(n).to_string());
    assert_eq!(shown, ["$1.64", "< $0.01", "< $0.01", "$0.00", "> -$0.01", "-$1.01"]);
}

#[test]
fn a_price_is_shown_with_every_place_it_has() {
    let shown = [255_000_000, 100_000_000, 625, 150_000_000_000].map(|n| Money::nanos(n).exact());
    assert_eq!(shown, ["$0.255", "$0.10", "$0.000000625", "$150.00"]);
}

#[test]
fn a_price_file_survives_being_written_and_read() {
    let prices = Prices::built_in(TODAY).expect("built-in");
    let text = render(&prices, "a source", "2026-08").expect("renders");
    assert_eq!(parse(&text).expect("reads its own writing"), prices);
}

const OFFER: &str = r#"{
  "formatVersion": "v1.0", "offerCode": "AmazonDynamoDB", "publicationDate": "2026-08-15T00:00:00Z",
  "products": {
    "AAA": {"sku": "AAA", "productFamily": "Amazon DynamoDB PayPerRequest Throughput",
            "attributes": {"regionCode": "eu-central-1", "usagetype": "EUC1-WriteRequestUnits"}},
    "BBB": {"sku": "BBB", "productFamily": "Database Storage",
            "attributes": {"regionCode": "eu-central-1", "usagetype": "EUC1-TimedStorage-ByteHrs"}},
    "CCC": {"sku": "CCC", "attributes": {"usagetype": "EUC1-IA-ReadRequestUnits"}},
    "DDD": {"sku": "DDD", "attributes": {"usagetype": "EUC1-SomethingNew"}}
  },
  "terms": {"OnDemand": {
    "AAA": {"AAA.T": {"priceDimensions": {"1": {"beginRange": "0", "endRange": "Inf", "unit": "WriteRequestUnits",
            "pricePerUnit": {"USD": "0.0000007625"}}}}},
    "BBB": {"BBB.T": {"priceDimensions": {
            "1": {"beginRange": "0", "endRange": "25", "pricePerUnit": {"USD": "0.0000000000"}},
            "2": {"beginRange": "25", "endRange": "Inf", "pricePerUnit": {"USD": "0.3060000000"}}}}},
    "CCC": {"CCC.T": {"priceDimensions": {"1": {"endRange": "Inf", "pricePerUnit": {"USD": "0.0000001890"}}}}},
    "DDD": {"DDD.T": {"priceDimensions": {"1": {"endRange": "Inf", "pricePerUnit": {"USD": "1.0"}}}}}
  }}
}"#;

#[test]
fn an_offer_file_becomes_a_price_table_named_after_region_and_month() {
    let prices = offer::parse(&OFFER.replace("7625", "7630")).expect("an offer file");
    assert_eq!(prices.name, "eu-central-1@2026-08");
    assert_eq!(prices.free.storage_gb, 25);
    assert_eq!(prices.of(Item::WriteRequest), Some(Money::nanos(763)));
    assert_eq!(prices.of(Item::Storage), Some(Money::nanos(306_000_000)));
    assert_eq!(prices.of(Item::InfrequentReadRequest), Some(Money::nanos(189)));
    assert_eq!(prices.items.len(), 3, "unknown usage types are left out");
}

#[test]
fn a_price_finer_than_a_nano_dollar_in_an_offer_is_left_out_not_rounded() {
    let prices = offer::parse(OFFER).expect("an offer file");
    assert_eq!(prices.of(Item::WriteRequest), None);
}

#[test]
fn the_offer_of_another_service_is_refused() {
    let fault = offer::parse(&OFFER.replace("AmazonDynamoDB", "AmazonS3")).expect_err("another service");
    assert_eq!(fault, offer::Fault::OtherService("AmazonS3".to_owned()));
}

#[test]
fn an_items_name_is_that_of_its_section_in_a_price_file() {
    let prices = Prices::built_in(TODAY).expect("built in");
    let text = render(&prices, "a source", "2026-08").expect("renders");
    for item in prices.items.keys() {
        assert!(text.contains(&format!("[price.{}]", item.name())), "{}", item.name());
    }
}
