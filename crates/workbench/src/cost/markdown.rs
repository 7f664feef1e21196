//! A bill as Markdown, for pull requests and documents.

use super::text::{amplified, even, headroom, of_total, open, short, taken};
use super::{Bill, Costing, class_and_mode};

/// A bill as Markdown.
pub fn markdown(model: &str, bill: &Bill, costing: &Costing<'_>) -> String {
    let mut lines = vec![
        format!("# Monthly cost of {}", cell(model)),
        String::new(),
        format!("{} at the prices {}.", bill.total(), costing.prices.name),
        String::new(),
        "| what | of | each time | a month |".to_owned(),
        "|---|---|--:|--:|".to_owned(),
    ];
    let row = |cells: [&str; 4]| format!("| {} |", cells.map(cell).join(" | "));
    for own in &bill.lines {
        let cost = own.monthly.total().to_string();
        lines.push(row([&own.pattern, &own.target.to_string(), &taken(own), &cost]));
    }
    for own in &bill.capacity {
        lines.push(row(["unused units", &own.target.to_string(), "", &own.unused.total().to_string()]));
    }
    for own in &bill.storage {
        let bytes = format!("{} B", own.bytes);
        lines.push(row(["storage", &own.target.to_string(), &bytes, &own.monthly.to_string()]));
    }
    for own in &bill.features {
        lines.push(row([own.name, &own.table, "", &own.monthly.to_string()]));
    }
    lines.push(format!("| **total** |  |  | **{}** |", bill.total()));
    lines.extend(of_total(bill).iter().map(|(what, sum)| row([what, "", "", &sum.to_string()])));
    let said: Vec<String> = open(bill).into_iter().chain(bill.capacity.iter().flat_map(short)).collect();
    if !said.is_empty() {
        lines.extend([String::new(), "## What the model leaves open".to_owned(), String::new()]);
        lines.extend(said.iter().map(|text| format!("- {text}")));
    }
    let writes = amplified(bill);
    if !writes.is_empty() {
        lines.extend([String::new(), "## What a write becomes".to_owned(), String::new()]);
        lines.extend(writes.iter().map(|text| format!("- {}", cell(text))));
    }
    for (table, modes) in &bill.modes {
        lines.extend([String::new(), format!("## Ways to pay for {}", cell(table)), String::new()]);
        lines.push(format!("From the cheapest; {}.", headroom(costing)));
        lines.extend([String::new(), "| class, mode | a month |".to_owned(), "|---|--:|".to_owned()]);
        lines.extend(
            modes.iter().map(|(class, mode, cost)| format!("| {} | {cost} |", class_and_mode(*class, *mode))),
        );
        for (_, own) in bill.break_evens.iter().filter(|(name, _)| name == table) {
            lines.extend([String::new(), even(own).trim().to_owned()]);
        }
    }
    lines.extend([String::new(), "## Prices used".to_owned(), String::new()]);
    lines.extend(["| price | each | of | source |".to_owned(), "|---|--:|---|---|".to_owned()]);
    for item in &bill.prices {
        let Some(own) = costing.prices.items.get(item) else { continue };
        let source =
            if own.verified { own.source.clone() } else { format!("{} (not confirmed)", own.source) };
        lines.push(row([&item.name(), &own.each.exact(), &own.date, &source]));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
