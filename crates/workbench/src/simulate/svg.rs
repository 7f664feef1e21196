//! The report as a picture for people who run a business: one chart for each table and index, with demand,
//! limit and refusals over time.

use std::fmt::Write as _;

use keywright_semantics::capacity::HalfUnits;

use super::program::Resource;
use super::report::{Minute, Simulation};
use super::text::answer;

const WIDTH: u64 = 960;
const LEFT: u64 = 70;
const PLOT_WIDTH: u64 = 860;
const PLOT_HEIGHT: u64 = 170;
const CHART_HEIGHT: u64 = 270;
const HEAD: u64 = 120;
const HALVES_PER_MINUTE: u64 = 120;
/// Characters of a line of the answer.
const LINE_CHARACTERS: usize = 120;
/// Labels of the time axis.
const LABELS: usize = 6;

/// The picture.
pub fn svg(simulation: &Simulation) -> String {
    let mut charts = Vec::new();
    for (resource, minutes) in simulation.resources.iter().zip(&simulation.minutes) {
        for (place, name) in [(0, "reads"), (1, "writes")] {
            if minutes.iter().any(|minute| units(minute.demanded, place) > 0) {
                charts.push((resource, minutes.as_slice(), place, name));
            }
        }
    }
    let count = u64::try_from(charts.len()).unwrap_or(1);
    let height = HEAD + CHART_HEIGHT * count + 30;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2933\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    put(
        &mut out,
        20,
        34,
        "font-size=\"22\" font-weight=\"bold\"",
        &format!("{}: will it throttle?", simulation.model),
    );
    let color = if simulation.stretches().is_empty() { "#16794c" } else { "#b42318" };
    for (row, line) in (0_u64..).zip(wrapped(&answer(simulation)).iter().take(3)) {
        put(&mut out, 20, 58 + row * 18, &format!("font-size=\"14\" fill=\"{color}\""), line);
    }
    let cost = format!("A month of this traffic costs {} (requests and capacity).", simulation.bill.total());
    put(&mut out, 20, 112, "", &cost);
    for (row, (resource, minutes, place, name)) in (0_u64..).zip(charts) {
        let title = format!("{} – {name}, units a second", resource_name(resource));
        chart(&mut out, simulation, (minutes, place), HEAD + 20 + row * CHART_HEIGHT, &title);
    }
    out.push_str("</svg>\n");
    out
}

fn resource_name(resource: &Resource) -> String {
    match &resource.index {
        None => format!("Table {}", resource.table),
        Some(index) => format!("Index {index} of {}", resource.table),
    }
}

fn units(two: [HalfUnits; 2], place: usize) -> u64 {
    two.get(place).map_or(0, |units| units.0)
}

fn put(out: &mut String, x: u64, y: u64, style: &str, text: &str) {
    let _infallible = writeln!(out, "<text x=\"{x}\" y=\"{y}\" {style}>{}</text>", escaped(text));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() {
            last.push_str(word);
        } else if last.len() + word.len() < LINE_CHARACTERS {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Demand as an area, what passed as a darker one, the limit as a line, and a red mark where requests are
/// refused.
fn chart(
    out: &mut String,
    simulation: &Simulation,
    (minutes, place): (&[Minute], usize),
    top: u64,
    title: &str,
) {
    let limit = |minute: &Minute| minute.units.get(place).copied().unwrap_or(0);
    let demand = |minute: &Minute| units(minute.demanded, place).div_ceil(HALVES_PER_MINUTE);
    let passed = |minute: &Minute| units(minute.consumed, place).div_ceil(HALVES_PER_MINUTE);
    let demand_max = minutes.iter().map(demand).max().unwrap_or(0).max(1);
    let limit_max = minutes.iter().map(limit).max().unwrap_or(0);
    // A limit far above the demand would flatten the demand.
    let shows_limit = limit_max <= demand_max.saturating_mul(8);
    let highest = if shows_limit { demand_max.max(limit_max) } else { demand_max } * 11 / 10 + 1;
    let bottom = top + 20 + PLOT_HEIGHT;
    let count = u64::try_from(minutes.len()).unwrap_or(1).max(1);
    let x = |minute: u64| LEFT + minute * PLOT_WIDTH / count;
    let y = |value: u64| bottom - value.min(highest) * PLOT_HEIGHT / highest;
    put(out, 20, top + 6, "font-weight=\"bold\"", title);
    for (row, minute) in (0_u64..).zip(minutes) {
        let (from, width) = (x(row), (x(row + 1) - x(row)).max(1));
        let bar = |out: &mut String, value: u64, color: &str| {
            let _infallible = writeln!(
                out,
                "<rect x=\"{from}\" y=\"{}\" width=\"{width}\" height=\"{}\" fill=\"{color}\"/>",
                y(value),
                bottom - y(value)
            );
        };
        bar(out, demand(minute), if minute.refusals() > 0 { "#f97066" } else { "#b2ccff" });
        bar(out, passed(minute).min(demand(minute)), "#528bff");
        if minute.refusals() > 0 {
            let _infallible = writeln!(
                out,
                "<rect x=\"{from}\" y=\"{}\" width=\"{width}\" height=\"5\" fill=\"#b42318\"/>",
                bottom + 2
            );
        }
    }
    if shows_limit {
        let points: Vec<String> = (0_u64..)
            .zip(minutes)
            .flat_map(|(row, minute)| [x(row), x(row + 1)].map(|x| format!("{x},{}", y(limit(minute)))))
            .collect();
        let _infallible = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f2933\" stroke-width=\"2\" stroke-dasharray=\"6 3\"/>",
            points.join(" ")
        );
    }
    axes(out, simulation, (top, bottom), highest, minutes.len());
    let limit_text =
        if shows_limit { "limit (dashed)".to_owned() } else { format!("limit {limit_max}, far above") };
    let legend = [
        ("#528bff", "served"),
        ("#f97066", "asked for while requests were refused"),
        ("#b2ccff", "asked for"),
    ];
    let mut left = LEFT;
    for (color, text) in legend {
        let _infallible = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{}\" width=\"11\" height=\"11\" fill=\"{color}\"/>",
            bottom + 28
        );
        put(out, left + 16, bottom + 38, "", text);
        left += 50 + 7 * u64::try_from(text.len()).unwrap_or(0);
    }
    put(out, left, bottom + 38, "", &limit_text);
}

fn axes(out: &mut String, simulation: &Simulation, (top, bottom): (u64, u64), highest: u64, minutes: usize) {
    for part in 0..=2 {
        let value = highest * part / 2;
        let y = bottom - PLOT_HEIGHT * part / 2;
        let _infallible = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"#d0d5dd\"/>",
            LEFT + PLOT_WIDTH
        );
        put(out, LEFT - 8, y + 4, "text-anchor=\"end\" font-size=\"11\"", &value.to_string());
    }
    let step = (minutes / LABELS).max(1);
    for minute in (0..minutes).step_by(step) {
        let x = LEFT
            + u64::try_from(minute * usize::try_from(PLOT_WIDTH).unwrap_or(0) / minutes.max(1)).unwrap_or(0);
        let time = simulation.time(minute);
        let time = time.split_once('T').map_or(time.as_str(), |(_, time)| time).trim_end_matches('Z');
        put(out, x, bottom + 20, "font-size=\"11\"", time);
    }
    let _infallible =
        writeln!(out, "<line x1=\"{LEFT}\" y1=\"{top}\" x2=\"{LEFT}\" y2=\"{bottom}\" stroke=\"#98a2b3\"/>");
}
