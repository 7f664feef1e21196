//! Parses a profile; every fault has its line and column and says what to write.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use keywright_model::{
    At, Fault, Faults, IndexKind, Model, Node, NodeKind, Skew, Table, did_you_mean, read_yaml,
};

use super::units::{micro, seconds, share_ppm, time_ms};
use super::{
    Arrivals, Bounds, Change, Expect, Keys, PatternProfile, Point, Profile, RATE_MICRO_MAX, Scaling,
    TableMode, TableProfile, Units,
};

/// The longest simulation: four weeks.
const LENGTH_S_MAX: u64 = 28 * super::DAY_SECONDS;
/// Attempts of the most patient client.
const RETRIES_MAX: u64 = 20;
const RETRIES: u32 = 3;
/// Nano-dollars in a millionth of a dollar.
const NANOS_PER_MICRO: i128 = 1000;

const FIELDS: &[&str] =
    &["start", "length", "seed", "arrivals", "retries", "saved", "tables", "patterns", "expect"];
const TABLE_FIELDS: &[&str] =
    &["mode", "read", "write", "warm", "peak", "max", "indexes", "changes", "scaling"];
const SCALING_FIELDS: &[&str] = &["target", "read", "write"];
/// The target of the console, and those that the service allows, in percent.
const TARGET_PERCENT: u64 = 70;
const TARGET_PERCENTS: RangeInclusive<u64> = 20..=90;
const PATTERN_FIELDS: &[&str] = &["rate", "day", "keys", "by", "values"];
const EXPECT_FIELDS: &[&str] = &["throttled-per-minute", "throttled-minutes", "lost", "cost"];

/// Parses a profile for a model.
pub fn parse(text: &str, model: &Model) -> Result<Profile, Faults> {
    let root = read_yaml(text).map_err(|fault| vec![fault])?;
    let mut reader = Reader { model, faults: Faults::new() };
    let profile = reader.profile(&root);
    if reader.faults.is_empty() {
        return Ok(profile);
    }
    reader.faults.sort();
    Err(reader.faults)
}

struct Reader<'a> {
    model: &'a Model,
    faults: Faults,
}

impl Reader<'_> {
    fn fault(&mut self, at: At, text: impl Into<String>) {
        self.faults.push(Fault::new(at, text));
    }

    /// Checks that a node is a mapping of these fields only.
    fn fields(&mut self, node: &Node, what: &str, known: &[&str]) {
        let NodeKind::Map(members) = &node.kind else {
            let text = format!("{what} is {}: write a mapping with {}", node.description(), known.join(", "));
            return self.fault(node.at, text);
        };
        for (name, _) in members {
            let text = name.scalar().unwrap_or_default();
            if !known.contains(&text.as_str()) {
                let hint = did_you_mean(&text, known.iter().copied());
                self.fault(name.at, format!("{what} has no field `{text}`{hint}"));
            }
        }
    }

    /// A field parsed by `read`; what to write if it cannot be.
    fn field<T>(
        &mut self,
        node: &Node,
        name: &str,
        write: &str,
        read: impl Fn(&Node) -> Option<T>,
    ) -> Option<T> {
        let value = node.get(name)?;
        let found = read(value);
        if found.is_none() {
            let shown = value.scalar().map_or_else(|| value.description().to_owned(), |it| format!("`{it}`"));
            self.fault(value.at, format!("`{name}` cannot be {shown}: write {write}"));
        }
        found
    }

    fn whole(&mut self, node: &Node, name: &str, example: &str) -> Option<u64> {
        self.field(node, name, &format!("a whole number, such as `{name}: {example}`"), |node| {
            node.scalar()?.parse().ok()
        })
    }

    fn profile(&mut self, root: &Node) -> Profile {
        self.fields(root, "the profile", FIELDS);
        for name in ["start", "length"] {
            if root.get(name).is_none() {
                let example = if name == "start" { "2026-11-27T17:00:00Z" } else { "60m" };
                self.fault(
                    At { line: 1, column: 1 },
                    format!("`{name}` is missing: write `{name}: {example}`"),
                );
            }
        }
        let start_ms = self.field(root, "start", "a time in UTC, such as `2026-11-27T17:00:00Z`", |node| {
            time_ms(&node.scalar()?)
        });
        let length_s = self.field(root, "length", "`90s`, `60m`, `2h` or at most `28d`", |node| {
            seconds(node).filter(|length| (1..=LENGTH_S_MAX).contains(length))
        });
        let arrivals =
            self.field(root, "arrivals", "`even` or `poisson`", |node| match node.scalar()?.as_str() {
                "even" => Some(Arrivals::Even),
                "poisson" => Some(Arrivals::Poisson),
                _ => None,
            });
        let retries = self.field(root, "retries", "the further attempts, from 0 to 20", |node| {
            let number: u64 = node.scalar()?.parse().ok()?;
            (number <= RETRIES_MAX).then(|| u32::try_from(number).ok())?
        });
        let saved_s =
            self.field(root, "saved", "the seconds of unused units saved, from `0s` to `300s`", |node| {
                seconds(node).filter(|saved| *saved <= keywright_semantics::limits::BURST_SECONDS)
            });
        Profile {
            start_ms: start_ms.unwrap_or(0),
            length_s: length_s.unwrap_or(1),
            seed: self.whole(root, "seed", "7").unwrap_or(1),
            arrivals: arrivals.unwrap_or_default(),
            retries: retries.unwrap_or(RETRIES),
            saved_s: saved_s.unwrap_or(1),
            tables: self.tables(root),
            patterns: self.patterns(root),
            expect: self.expect(root),
        }
    }

    fn tables(&mut self, root: &Node) -> BTreeMap<String, TableProfile> {
        let model = self.model;
        let mut found = BTreeMap::new();
        for (name, node) in root.get("tables").into_iter().flat_map(Node::members) {
            let Some(table) = model.table(name) else {
                let hint = did_you_mean(name, model.tables.iter().map(|table| &*table.name));
                self.fault(node.at, format!("the model has no table `{name}`{hint}"));
                continue;
            };
            found.insert(name.to_owned(), self.table(node, table));
        }
        found
    }

    fn table(&mut self, node: &Node, table: &Table) -> TableProfile {
        self.fields(node, "a table", TABLE_FIELDS);
        let mode =
            self.field(node, "mode", "`provisioned` or `on-demand`", |node| match node.scalar()?.as_str() {
                "provisioned" => Some(TableMode::Provisioned),
                "on-demand" => Some(TableMode::OnDemand),
                _ => None,
            });
        let units = self.units(node);
        if mode == Some(TableMode::OnDemand) && units != Units::default() {
            self.fault(node.at, "an on-demand table has no units: write `max: {write: 4000}` for a maximum");
        }
        let mut indexes = BTreeMap::new();
        for (name, node) in node.get("indexes").into_iter().flat_map(Node::members) {
            let globals = table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
            let globals: Vec<&str> = globals.map(|index| index.name.as_str()).collect();
            if globals.contains(&name) {
                self.fields(node, "an index", &["read", "write"]);
                indexes.insert(name.to_owned(), self.units(node));
            } else {
                let hint = did_you_mean(name, globals);
                self.fault(node.at, format!("`{}` has no global index `{name}`{hint}", table.name));
            }
        }
        let mut changes = Vec::new();
        for change in node.get("changes").map_or(&[][..], Node::elements) {
            self.fields(change, "a change", &["at", "read", "write"]);
            let at_s = self.at(change);
            changes.push(Change { at_s, units: self.units(change) });
        }
        changes.sort_by_key(|change| change.at_s);
        TableProfile {
            mode,
            units,
            warm: self.named_units(node, "warm"),
            peak: self.named_units(node, "peak"),
            max: self.named_units(node, "max"),
            indexes,
            changes,
            scaling: self.scaling(node, mode),
        }
    }

    fn scaling(&mut self, node: &Node, mode: Option<TableMode>) -> Option<Scaling> {
        let own = node.get("scaling")?;
        self.fields(own, "`scaling`", SCALING_FIELDS);
        if mode == Some(TableMode::OnDemand) {
            self.fault(own.at, "an on-demand table does not scale: leave out `scaling`");
        }
        let target = self.field(own, "target", "a percentage from 20 to 90, such as `target: 70`", |node| {
            let text = node.scalar()?;
            let percent = text.trim_end_matches('%').trim_end().parse::<u64>().ok()?;
            TARGET_PERCENTS.contains(&percent).then_some(percent)
        });
        let mut bounds = |name: &str| {
            let both = own.get(name)?;
            self.fields(both, &format!("`{name}`"), &["min", "max"]);
            let (min, max) = (self.whole(both, "min", "5"), self.whole(both, "max", "1000"));
            let (Some(min), Some(max)) = (min.filter(|min| *min > 0), max.filter(|max| Some(*max) >= min))
            else {
                self.fault(both.at, format!("`{name}` has no bounds: write `{name}: {{min: 5, max: 1000}}`"));
                return None;
            };
            Some(Bounds { min, max })
        };
        let (read, write) = (bounds("read"), bounds("write"));
        if own.get("read").is_none() && own.get("write").is_none() {
            self.fault(
                own.at,
                "`scaling` has nothing to scale: write `write: {min: 5, max: 1000}`, or `read`",
            );
        }
        Some(Scaling { target_percent: target.unwrap_or(TARGET_PERCENT), read, write })
    }

    fn named_units(&mut self, node: &Node, name: &str) -> Units {
        let Some(own) = node.get(name) else { return Units::default() };
        self.fields(own, &format!("`{name}`"), &["read", "write"]);
        self.units(own)
    }

    fn units(&mut self, node: &Node) -> Units {
        let mut of = |name: &str| {
            let write = format!("whole units a second, such as `{name}: 1000`");
            self.field(node, name, &write, |node| {
                node.scalar()?.parse::<u64>().ok().filter(|units| *units > 0)
            })
        };
        Units { read: of("read"), write: of("write") }
    }

    fn at(&mut self, node: &Node) -> u64 {
        if node.get("at").is_none() {
            self.fault(node.at, "`at` is missing: write the time after the start, such as `at: 10m`");
        }
        self.field(node, "at", "the time after the start, such as `at: 10m`", seconds).unwrap_or(0)
    }

    fn patterns(&mut self, root: &Node) -> BTreeMap<String, PatternProfile> {
        let model = self.model;
        let mut found = BTreeMap::new();
        for (id, node) in root.get("patterns").into_iter().flat_map(Node::members) {
            if model.pattern(id).is_none() {
                let hint = did_you_mean(id, model.patterns.iter().map(|pattern| &*pattern.id));
                self.fault(node.at, format!("the model has no pattern `{id}`{hint}"));
                continue;
            }
            found.insert(id.to_owned(), self.pattern(node));
        }
        found
    }

    fn pattern(&mut self, node: &Node) -> PatternProfile {
        if node.scalar().is_some() {
            let points = self.constant(node).into_iter().collect();
            return PatternProfile { at: node.at, points, day: None, keys: None, by: None, values: None };
        }
        self.fields(node, "a pattern", PATTERN_FIELDS);
        let day = self.field(node, "day", "24 percentages, one for each hour of the day in UTC", |node| {
            let hours: Option<Vec<u64>> =
                node.elements().iter().map(|hour| hour.scalar()?.parse().ok()).collect();
            hours.filter(|hours| hours.len() == 24)
        });
        let values = self.field(node, "values", "a whole number above 0, such as `values: 1000`", |node| {
            node.scalar()?.parse::<u64>().ok().filter(|values| *values > 0)
        });
        PatternProfile {
            at: node.at,
            points: self.points(node),
            day,
            keys: self.keys(node),
            by: self.field(node, "by", "the name of an attribute", Node::scalar),
            values,
        }
    }

    fn constant(&mut self, node: &Node) -> Option<Point> {
        let rate = node.scalar().and_then(|text| micro(&text)).filter(|rate| *rate <= RATE_MICRO_MAX);
        if rate.is_none() {
            self.fault(node.at, "a rate is a number of requests a second up to 1000000: write `rate: 200`");
        }
        rate.map(|rate_micro| Point { at_s: 0, rate_micro, is_linear: false })
    }

    fn points(&mut self, node: &Node) -> Vec<Point> {
        let Some(rate) = node.get("rate") else { return Vec::new() };
        if rate.scalar().is_some() {
            return self.constant(rate).into_iter().collect();
        }
        let mut points: Vec<Point> = Vec::new();
        for element in rate.elements() {
            self.fields(element, "a point of a rate", &["at", "rate", "shape"]);
            let at_s = self.at(element);
            let is_linear =
                self.field(element, "shape", "`step` or `linear`", |node| match node.scalar()?.as_str() {
                    "step" => Some(false),
                    "linear" => Some(true),
                    _ => None,
                });
            let Some(own) = element.get("rate") else {
                self.fault(element.at, "`rate` is missing: write `{at: 10m, rate: 200}`");
                continue;
            };
            let Some(point) = self.constant(own) else { continue };
            if points.last().is_some_and(|last| last.at_s >= at_s) {
                self.fault(
                    element.at,
                    "the points of a rate are in the order of their times: write later ones below",
                );
            }
            points.push(Point { at_s, is_linear: is_linear.unwrap_or(false), ..point });
        }
        points
    }

    fn keys(&mut self, node: &Node) -> Option<Keys> {
        const WRITE: &str = "`uniform`, `sequence`, `{zipf: 1.1}` or `{hot: 80%, keys: 1}`";
        let own = node.get("keys")?;
        if let Some(exponent) = own.get("zipf") {
            self.fields(own, "`keys`", &["zipf"]);
            let exponent_milli = exponent.scalar().and_then(|text| micro(&text)).map(|micro| micro / 1000);
            let found = exponent_milli.filter(|milli| *milli <= 10_000);
            if found.is_none() {
                self.fault(exponent.at, "`zipf` is an exponent from 0 to 10: write `keys: {zipf: 1.1}`");
            }
            return found.map(|exponent_milli| Keys::Skewed(Skew::Zipf { exponent_milli }));
        }
        if own.get("hot").is_some() {
            self.fields(own, "`keys`", &["hot", "keys"]);
            let share_ppm = self.field(own, "hot", "a share, such as `80%`", share_ppm)?;
            let keys = self.whole(own, "keys", "1").unwrap_or(1).max(1);
            return Some(Keys::Hot { share_ppm, keys });
        }
        self.field(node, "keys", WRITE, |node| match node.scalar()?.as_str() {
            "uniform" => Some(Keys::Skewed(Skew::Uniform)),
            "sequence" => Some(Keys::Sequence),
            _ => None,
        })
    }

    fn expect(&mut self, root: &Node) -> Expect {
        let Some(node) = root.get("expect") else { return Expect::default() };
        self.fields(node, "`expect`", EXPECT_FIELDS);
        let cost =
            self.field(node, "cost", "dollars a month, such as `cost: 1200`", |node| micro(&node.scalar()?));
        Expect {
            throttled_per_minute: self.whole(node, "throttled-per-minute", "0"),
            throttled_minutes: self.whole(node, "throttled-minutes", "2"),
            lost: self.whole(node, "lost", "0"),
            monthly_nanos: cost.map(|micro| i128::from(micro) * NANOS_PER_MICRO),
        }
    }
}
