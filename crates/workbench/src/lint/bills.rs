//! Rule on money: L040. What things cost is for `cost` to say.

use super::context::{Context, finding};
use super::{Finding, Severity};
use crate::cost::{Costing, Saving, Settings, bill};
use crate::price::{Money, Prices, TODAY};

/// Less is not worth a change.
const SAVING_MIN: Money = Money::dollars(1);

pub(super) fn cheaper_mode(context: &Context<'_>) -> Vec<Finding> {
    // A price file of the author's own is read by the `cost` command; the rule then judges by today's prices.
    let named = context.model.prices.as_deref().and_then(|name| Prices::built_in(name).ok());
    let Some(prices) = named.or_else(|| Prices::built_in(TODAY).ok()) else { return Vec::new() };
    let costing = Costing { prices: &prices, settings: Settings::default() };
    // A price that is missing is reported where money is asked for, by `cost`.
    let Ok(bill) = bill(context.model, context.report, &costing) else { return Vec::new() };
    bill.savings.iter().filter_map(|saving| judged(context, saving, &prices)).collect()
}

fn judged(context: &Context<'_>, saving: &Saving, prices: &Prices) -> Option<Finding> {
    let table = context.model.table(&saving.table)?;
    let (class, mode, now) = saving.now;
    let (best_class, best_mode, best) = saving.best;
    let (_, _, least) = saving.reserved.unwrap_or(saving.best);
    if now - least < SAVING_MIN {
        return None;
    }
    let mut text = format!("{} costs {now} a month as {class}, {mode}", saving.table);
    let mut fixes = Vec::new();
    if now - best >= SAVING_MIN {
        text = format!("{text}; {best_class}, {best_mode} costs {best}, {} less", now - best);
        fixes.push(format!("bill it as {best_class}, {best_mode}"));
    }
    if let Some((class, mode, cost)) = saving.reserved {
        text = format!("{text}; {class}, {mode} costs {cost}, {} less", now - cost);
        fixes.push("reserve what is used all year".to_owned());
    }
    Some(finding(
        "L040",
        Severity::Note,
        table.at,
        &table.name,
        format!("{text} (prices {}, provisioned units {} % used)", prices.name, saving.used_percent),
        format!("{}; `keywright model cost` shows every mode", fixes.join(", or ")),
    ))
}
