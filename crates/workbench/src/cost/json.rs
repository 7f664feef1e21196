//! A bill as JSON: money as whole nano-dollars and as a decimal text of dollars, units as metered.

use super::text::{micro_units, open};
use super::{
    Bill, BreakEvens, Capacity, Costing, Feature, Gigabyte, Line, Provision, Storage, Target, class_name,
};
use crate::price::{Item, Money};
use crate::run::units;
use keywright_model::json::Json;

/// A bill as JSON.
pub fn json(model: &str, bill: &Bill, costing: &Costing<'_>) -> String {
    let settings = costing.settings;
    let gigabyte: u64 = match settings.gigabyte {
        Gigabyte::Binary => 1 << 30,
        Gigabyte::Decimal => 1_000_000_000,
    };
    let entity = |(name, writes): &(String, u64)| {
        Json::object([("name", Json::text(name)), ("writesOfOne", Json::number(*writes))])
    };
    let document = Json::object([
        ("model", Json::text(model)),
        ("currency", Json::text("USD")),
        ("monthHours", Json::number(settings.month.hours)),
        ("gigabyteBytes", Json::number(gigabyte)),
        ("freeTier", Json::Bool(settings.free_tier)),
        ("provisionedUsedPpm", Json::number(settings.used_ppm)),
        ("total", money(bill.total())),
        ("whole", Json::Bool(bill.is_whole())),
        ("totals", Json::List(bill.targets().iter().map(|(target, sum)| total(target, *sum)).collect())),
        ("patterns", Json::List(bill.lines.iter().map(line).collect())),
        ("capacity", Json::List(bill.capacity.iter().map(capacity).collect())),
        ("storage", Json::List(bill.storage.iter().map(storage).collect())),
        ("features", Json::List(bill.features.iter().map(feature).collect())),
        ("tables", Json::List(tables(bill))),
        ("entities", Json::List(bill.amplification.iter().map(entity).collect())),
        ("withoutRate", Json::List(bill.without_rate.iter().map(Json::text).collect())),
        ("notes", Json::List(open(bill).iter().map(Json::text).collect())),
        ("prices", prices(bill, costing)),
    ]);
    document.pretty()
}

fn money(money: Money) -> Json {
    Json::object([
        ("nanoDollars", Json::number(money.as_nanos())),
        ("dollars", Json::text(money.exact().replace('$', ""))),
    ])
}

fn place(target: &Target) -> [(&'static str, Json); 2] {
    [("table", Json::text(&target.table)), ("index", target.index.as_ref().map_or(Json::Null, Json::text))]
}

fn total(target: &Target, sum: Money) -> Json {
    object(place(target).into_iter().chain([("monthly", money(sum))]))
}

fn named(item: Item) -> Json {
    Json::text(item.name())
}

fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn line(line: &Line) -> Json {
    let rest = [
        ("ratePerSecondMicro", Json::number(line.rate.0)),
        ("readUnits", Json::number(units(line.read))),
        ("writeUnits", Json::number(units(line.write))),
        ("sharePpm", Json::number(line.share_ppm)),
        ("readPrice", named(line.read_price)),
        ("writePrice", named(line.write_price)),
        ("reads", money(line.monthly.reads)),
        ("writes", money(line.monthly.writes)),
        ("monthly", money(line.monthly.total())),
    ];
    object([("pattern", Json::text(&line.pattern))].into_iter().chain(place(&line.target)).chain(rest))
}

fn capacity(own: &Capacity) -> Json {
    let provision = |own: &Provision| {
        object([
            ("provisionedUnits", Json::number(micro_units(own.provided))),
            ("mostUnits", Json::number(own.most_units())),
            ("averageUnits", Json::number(micro_units(own.average))),
            ("peakUnits", Json::number(micro_units(own.peak))),
            ("enough", Json::Bool(!own.is_short())),
        ])
    };
    let rest = [
        ("read", provision(&own.read)),
        ("write", provision(&own.write)),
        ("monthly", money(own.monthly.total())),
        ("unused", money(own.unused.total())),
    ];
    object(place(&own.target).into_iter().chain(rest))
}

fn storage(own: &Storage) -> Json {
    let rest =
        [("bytes", Json::number(own.bytes)), ("price", named(own.price)), ("monthly", money(own.monthly))];
    object(place(&own.target).into_iter().chain(rest))
}

fn feature(own: &Feature) -> Json {
    object([
        ("table", Json::text(&own.table)),
        ("name", Json::text(own.name)),
        ("prices", Json::List(own.prices.iter().copied().map(named).collect())),
        ("monthly", money(own.monthly)),
    ])
}

fn tables(bill: &Bill) -> Vec<Json> {
    let table = |(name, modes): &(String, super::Modes)| {
        let modes = modes.iter().map(|(class, mode, cost)| {
            object([
                ("class", Json::text(class_name(*class))),
                ("mode", Json::text(mode.to_string())),
                ("monthly", money(*cost)),
            ])
        });
        let even = bill.break_evens.iter().find(|(own, _)| own == name).map(|(_, own)| breaks(own));
        let written = bill.written.iter().find(|own| own.table == *name).and_then(super::Written::percent);
        object([
            ("name", Json::text(name)),
            ("modes", Json::List(modes.collect())),
            ("breakEvens", even.unwrap_or(Json::Null)),
            ("writesWithIndexesPercent", written.map_or(Json::Null, Json::number)),
        ])
    };
    bill.modes.iter().map(table).collect()
}

fn breaks(own: &BreakEvens) -> Json {
    object([
        ("provisionedPpm", Json::number(own.provisioned_ppm)),
        ("reservedOneYearPpm", Json::number(own.one_year_ppm)),
        ("reservedThreeYearsPpm", Json::number(own.three_years_ppm)),
        ("infrequentAccessGigabytes", Json::number(own.infrequent_gigabytes)),
    ])
}

fn prices(bill: &Bill, costing: &Costing<'_>) -> Json {
    let used = bill.prices.iter().filter_map(|item| {
        let own = costing.prices.items.get(item)?;
        Some(object([
            ("item", named(*item)),
            ("each", money(own.each)),
            ("source", Json::text(&own.source)),
            ("date", Json::text(&own.date)),
            ("verified", Json::Bool(own.verified)),
        ]))
    });
    object([("name", Json::text(&costing.prices.name)), ("used", Json::List(used.collect()))])
}
