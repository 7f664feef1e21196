//! Rules on money and provisioned units: L040, L041. The amounts come from `cost`.

use super::context::{Context, finding};
use super::{Finding, Severity};
use crate::cost::{Bill, Capacity, Costing, Provision, Saving, Settings, bill, class_and_mode};
use crate::price::{Money, Prices, TODAY};

/// A smaller saving is not worth a change.
const SAVING_MIN: Money = Money::dollars(1);

pub(super) fn cheaper_mode(context: &Context<'_>) -> Vec<Finding> {
    let Some(bill) = billed(context) else { return Vec::new() };
    bill.savings.iter().filter_map(|saving| judged(context, saving)).collect()
}

/// The model's bill; `None` if the model does not run or a price is missing, which `cost`
/// reports.
fn billed(context: &Context<'_>) -> Option<Bill> {
    // Only the `cost` command reads the author's own price file; the rules use the built-in prices.
    let named = context.model.prices.as_deref().and_then(|name| Prices::built_in(name).ok());
    let prices = named.or_else(|| Prices::built_in(TODAY).ok())?;
    let costing = Costing { prices: &prices, settings: Settings::default() };
    bill(context.model, context.measured()?, &costing).ok()
}

/// L041.
pub(super) fn too_few_units(context: &Context<'_>) -> Vec<Finding> {
    let provisioned =
        |table: &keywright_model::Table| table.billing != keywright_model::DeclaredCapacity::OnDemand;
    if !context.model.tables.iter().any(provisioned) {
        return Vec::new();
    }
    let Some(bill) = billed(context) else { return Vec::new() };
    bill.shortages().flat_map(|own| short(context, own)).collect()
}

fn short(context: &Context<'_>, own: &Capacity) -> Vec<Finding> {
    let Some(table) = context.model.table(&own.target.table) else { return Vec::new() };
    let say = |provision: &Provision, what: &str, field: &str| {
        provision.is_short().then(|| {
            let (average, peak) = (provision.average_units(), provision.peak_units());
            finding(
                "L041",
                Severity::Warning,
                table.at,
                &table.name,
                format!(
                    "{} has {} {what} units a second, and its patterns take {average} on average and {peak} at the peak: what is above is throttled",
                    own.target,
                    provision.most_units()
                ),
                format!("provision for the peak: `{field}: {peak}`, or as much as `max` of `autoscale`"),
            )
        })
    };
    say(&own.read, "read", "rcu").into_iter().chain(say(&own.write, "write", "wcu")).collect()
}

fn judged(context: &Context<'_>, saving: &Saving) -> Option<Finding> {
    let table = context.model.table(&saving.table)?;
    let (class, mode, now) = saving.now;
    let (best_class, best_mode, best) = saving.best;
    let (_, _, least) = saving.reserved.unwrap_or(saving.best);
    if now - least < SAVING_MIN {
        return None;
    }
    let mut text = format!("{} costs {now} a month as {}", saving.table, class_and_mode(class, mode));
    let mut fixes = Vec::new();
    if now - best >= SAVING_MIN {
        let best_way = class_and_mode(best_class, best_mode);
        text = format!("{text}; {best_way} costs {best}, {} less", now - best);
        fixes.push(if class == best_class && mode.to_string() == best_mode.to_string() {
            "provision what the patterns take".to_owned()
        } else {
            format!("bill it as {best_way}")
        });
    }
    if let Some((class, mode, cost)) = saving.reserved {
        text = format!("{text}; {} costs {cost}, {} less", class_and_mode(class, mode), now - cost);
        fixes.push(
            "reserve what is used all year, in blocks of 100 units that all tables of the account and region share"
                .to_owned(),
        );
    }
    Some(finding(
        "L040",
        Severity::Note,
        table.at,
        &table.name,
        text,
        format!("{}; `keywright model cost` shows every mode", fixes.join(", or ")),
    ))
}
