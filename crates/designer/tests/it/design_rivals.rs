//! Designs against random rival keys: templates made without any part of the designer. No rival that passes
//! its check needs fewer global indexes than were proved necessary, or costs less.

use std::fmt::Write as _;

use keywright_designer::design::{self, Design, Proof, billed};
use keywright_model::{Model, Pattern, WriteKind, parse};
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::price::{Money, Prices};

use crate::support::{Dice, check, fault_lines, no_files, prices, problem};

/// The number of models of every test run; more with `KEYWRIGHT_CASES`.
const CASES: u64 = 17;

/// The first seed, or `KEYWRIGHT_SEED`. Rivals once beat three of these models while reads of part of a
/// collection were thought to need a collection of their own, and one while the order of a single item was
/// thought to need a sort key.
const FIRST: u64 = 151;

/// The first seed of models whose reads need less than whole items.
const FIRST_OF_PARTS: u64 = 1;

/// Rivals per model; `KEYWRIGHT_RIVALS` for more.
const RIVALS: u64 = 30;

/// An entity of a random model.
#[derive(Clone)]
struct Kind {
    name: &'static str,
    /// The letter that distinguishes it from others in a key.
    letter: char,
    id: Vec<&'static str>,
    own: Vec<&'static str>,
    said: String,
}

impl Kind {
    fn attributes(&self) -> Vec<&'static str> {
        self.id.iter().chain(&self.own).copied().collect()
    }
}

/// A read of a random model: its entities, what it gives, and what it orders by.
struct Asked {
    id: String,
    kinds: Vec<usize>,
    fixed: Vec<&'static str>,
    range: Option<&'static str>,
    /// The attributes that are enough for it; none if it returns whole items.
    enough: Vec<&'static str>,
}

impl Asked {
    /// Whether order matters: it returns several items.
    fn is_ordered(&self, kinds: &[Kind]) -> bool {
        let several = |place: &usize| {
            kinds.get(*place).is_some_and(|kind| kind.id.iter().any(|own| !self.fixed.contains(own)))
        };
        self.range.is_some() && self.kinds.iter().any(several)
    }
}

/// A random model without keys.
struct Made {
    kinds: Vec<Kind>,
    asked: Vec<Asked>,
    patterns: String,
}

fn attribute(name: &str) -> &'static str {
    match name {
        "x" => "{type: S, distinct: 400}",
        "at" => "{type: S, format: iso8601}",
        "a" => "{type: S, format: uuid}",
        "y" => "S",
        _ => "{type: S, format: ulid}",
    }
}

fn attribute_with(name: &str, more: &str) -> String {
    match attribute(name) {
        "S" => format!("{name}: {{type: S, {more}}}"),
        map => format!("{name}: {}, {more}}}", map.trim_end_matches('}')),
    }
}

fn kinds(dice: &mut Dice) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (place, (name, letter, own_id)) in [("Ant", 'a', "a"), ("Bee", 'b', "b"), ("Cat", 'c', "c")]
        .into_iter()
        .take(2 + dice.below(2))
        .enumerate()
    {
        // Most items belong to the first.
        let parent = if place > 0 && dice.chance(75) { "parent: Ant, " } else { "" };
        let mut id = vec![own_id];
        let mut own: Vec<&str> = ["x", "at", "y"].into_iter().filter(|_| dice.chance(45)).collect();
        if place > 0 && dice.chance(35) {
            id.insert(0, "a");
        } else if !parent.is_empty() || (place > 0 && dice.chance(50)) {
            own.push("a");
        }
        let of_parent = if id.contains(&"a") || own.contains(&"a") { parent } else { "" };
        let attributes: Vec<String> =
            id.iter().chain(&own).map(|own| format!("{own}: {}", attribute(own))).collect();
        let said = format!(
            "count: {}, size: {}, {of_parent}attrs: {{{}}}",
            if place == 0 { "10000" } else { "40000" },
            dice.of(&["300", "900", "2500"]),
            attributes.join(", ")
        );
        kinds.push(Kind { name, letter, id, own, said });
    }
    kinds
}

/// A put of each entity, and updates of some.
fn writes(dice: &mut Dice, kinds: &[Kind], patterns: &mut String) {
    for (number, kind) in kinds.iter().enumerate() {
        let _ = writeln!(
            patterns,
            "  - {{id: W{number}, put: {}, if: not-exists, rate: {}}}",
            kind.name,
            dice.of(&["1", "5", "20"])
        );
    }
    for (number, kind) in kinds.iter().enumerate() {
        if kind.own.contains(&"y") && dice.chance(40) {
            let _ = writeln!(
                patterns,
                "  - {{id: U{number}, update: {}, set: \"y = :y\", if: exists, rate: {}}}",
                kind.name,
                dice.of(&["1", "20"])
            );
        }
    }
}

/// Some of an entity's attributes, with those that a read gives and those of the identity.
fn enough(
    dice: &mut Dice,
    kind: &Kind,
    fixed: &[&'static str],
    range: Option<&'static str>,
) -> Vec<&'static str> {
    let wanted = |name: &&'static str| {
        kind.id.contains(name) || fixed.contains(name) || range == Some(name) || dice.chance(30)
    };
    let found: Vec<&'static str> = kind.attributes().into_iter().filter(wanted).collect();
    if dice.chance(70) { found } else { Vec::new() }
}

/// A random model; with `parts` some of its reads need less than whole items.
fn made(seed: u64, parts: bool) -> Made {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678);
    dice.below(2);
    let kinds = kinds(&mut dice);
    let mut patterns = String::new();
    let mut asked = Vec::new();
    for number in 1..=2 + dice.below(3) {
        let rate = dice.of(&["2", "10", "40"]);
        let place = dice.below(kinds.len());
        let kind = kinds.get(place).expect("within");
        let strong = if dice.chance(12) { ", consistency: strong" } else { "" };
        if dice.chance(25) {
            let given: Vec<String> = kind.id.iter().map(|name| format!("{name}: eq")).collect();
            let _ = writeln!(
                patterns,
                "  - {{id: R{number}, get: {}, given: {{{}}}, rate: {rate}{strong}}}",
                kind.name,
                given.join(", ")
            );
            asked.push(Asked {
                id: format!("R{number}"),
                kinds: vec![place],
                fixed: kind.id.clone(),
                range: None,
                enough: Vec::new(),
            });
            continue;
        }
        let has = |kind: &Kind, name: &str| kind.attributes().contains(&name);
        let family: Vec<usize> =
            (0..kinds.len()).filter(|own| kinds.get(*own).is_some_and(|kind| has(kind, "a"))).collect();
        if family.len() > 1 && dice.chance(35) {
            let mut some = dice.shuffled(&family);
            some.truncate(2 + dice.below(2));
            some.sort_unstable();
            let names: Vec<&str> =
                some.iter().filter_map(|own| kinds.get(*own)).map(|kind| kind.name).collect();
            let _ = writeln!(
                patterns,
                "  - {{id: R{number}, query: [{}], given: {{a: eq}}, returns: {{avg: 6, max: 60}}, rate: {rate}{strong}}}",
                names.join(", ")
            );
            let (id, fixed) = (format!("R{number}"), vec!["a"]);
            asked.push(Asked { id, kinds: some, fixed, range: None, enough: Vec::new() });
            continue;
        }
        let mut names = dice.shuffled(&kind.attributes());
        let mut fixed = vec![names.remove(0)];
        let mut given = format!("{}: eq", fixed.first().expect("one"));
        let mut order = String::new();
        let mut range = None;
        if let Some(second) = names.first() {
            match dice.below(4) {
                0 => {
                    let _ = write!(given, ", {second}: eq");
                    fixed.push(second);
                }
                1 => range = Some(*second),
                2 => {
                    order = format!(", order: {{by: {second}, direction: desc}}");
                    range = Some(*second);
                }
                _ => {}
            }
            if order.is_empty()
                && let Some(name) = range
            {
                let _ = write!(given, ", {name}: ge");
            }
        }
        let mut own = Dice(seed.wrapping_mul(31).wrapping_add(u64::try_from(number).expect("small")));
        let enough = if parts { enough(&mut own, kind, &fixed, range) } else { Vec::new() };
        let said =
            if enough.is_empty() { String::new() } else { format!(", attributes: [{}]", enough.join(", ")) };
        let _ = writeln!(
            patterns,
            "  - {{id: R{number}, query: {}, given: {{{given}}}{order}{said}, returns: {{avg: 4, max: 40}}, rate: {rate}{strong}}}",
            kind.name
        );
        asked.push(Asked { id: format!("R{number}"), kinds: vec![place], fixed, range, enough });
    }
    writes(&mut dice, &kinds, &mut patterns);
    Made { kinds, asked, patterns }
}

impl Made {
    fn unkeyed(&self) -> String {
        let keyed = self.kinds.iter().map(|kind| format!("unique: [[{}]]", kind.id.join(", ")));
        self.text("", &keyed.collect::<Vec<_>>(), None)
    }

    fn text(&self, indexes: &str, keys: &[String], second: Option<&DerivedItem<'_>>) -> String {
        let mut out = format!(
            "format: 1\nmodel: rivals\ntables: {{Tab: {{key: {{pk: S, sk: S}}{indexes}}}}}\nentities:\n"
        );
        for (kind, key) in self.kinds.iter().zip(keys) {
            let _ = writeln!(out, "  {}: {{{}, {key}}}", kind.name, kind.said);
        }
        let mut patterns = self.patterns.clone();
        if let Some(DerivedItem { asked, kind, name, key }) = second {
            let held: Vec<String> = asked
                .enough
                .iter()
                .map(|own| attribute_with(own, &format!("copyOf: {}.{own}", kind.name)))
                .collect();
            let (id, of) = (kind.id.join(", "), kind.name);
            let _ = writeln!(
                out,
                "  {name}: {{count: 40000, unique: [[{id}]], attrs: {{{}}}, {key}}}",
                held.join(", ")
            );
            let question = format!("id: {}, query: {of},", asked.id);
            patterns = patterns.replace(&question, &format!("id: {}, query: {name},", asked.id)).replace(
                &format!("put: {of}, if: not-exists,"),
                &format!("transact: [{{put: {of}, if: not-exists}}, {{put: {name}, if: not-exists}}],"),
            );
        }
        let _ = write!(out, "patterns:\n{patterns}data: {{generate: {{seed: 3, sample: 60}}}}\n");
        out
    }

    /// A derived item with the attributes of one read and none that an update changes.
    fn second(&self, dice: &mut Dice) -> Option<DerivedItem<'_>> {
        let fits = |asked: &&Asked| {
            let kind = asked.kinds.first().and_then(|place| self.kinds.get(*place));
            let updated = kind.is_some_and(|kind| {
                asked.enough.contains(&"y") && self.patterns.contains(&format!("update: {}", kind.name))
            });
            !asked.enough.is_empty() && !updated
        };
        let asked: Vec<&Asked> = self.asked.iter().filter(fits).collect();
        if asked.is_empty() || dice.chance(50) {
            return None;
        }
        let asked = *dice.of(&asked);
        let place = *asked.kinds.first()?;
        let kind = self.kinds.get(place)?;
        let (pk, sk) = key(dice, kind, Some(asked), &asked.enough);
        Some(DerivedItem {
            asked,
            kind,
            name: format!("{}Second", kind.name),
            key: format!("key: {{pk: \"2{pk}\", sk: \"{sk}\"}}"),
        })
    }

    /// Random keys, often made for one read.
    fn rival(&self, dice: &mut Dice, indexes: usize) -> String {
        let keys: Vec<String> = self
            .kinds
            .iter()
            .enumerate()
            .map(|(place, kind)| {
                let (pk, sk) = self.key(dice, place, kind);
                let mut said = format!("key: {{pk: \"{pk}\", sk: \"{sk}\"}}");
                for slot in 1..=indexes {
                    if dice.chance(60) {
                        let (pk, sk) = self.key(dice, place, kind);
                        let _ = write!(said, ", gsi{slot}: {{pk: \"{pk}\", sk: \"{sk}\"}}");
                    }
                }
                said
            })
            .collect();
        // An index without entries is left out.
        let declared = (1..=indexes)
            .filter(|slot| keys.iter().any(|said| said.contains(&format!("gsi{slot}:"))))
            .map(|slot| format!("gsi{slot}: {{pk: gsi{slot}pk, sk: gsi{slot}sk, project: all}}"));
        let declared: Vec<String> = declared.collect();
        let declared = if declared.is_empty() {
            String::new()
        } else {
            format!(", indexes: {{{}}}", declared.join(", "))
        };
        let second = self.second(dice);
        self.text(&declared, &keys, second.as_ref())
    }

    fn key(&self, dice: &mut Dice, place: usize, kind: &Kind) -> (String, String) {
        let mine: Vec<&Asked> = self.asked.iter().filter(|asked| asked.kinds.contains(&place)).collect();
        let asked = if mine.is_empty() || dice.chance(20) { None } else { Some(*dice.of(&mine)) };
        key(dice, kind, asked, &kind.attributes())
    }
}

/// A derived item with some attributes, for one read.
struct DerivedItem<'a> {
    asked: &'a Asked,
    kind: &'a Kind,
    name: String,
    key: String,
}

/// A key of some of an entity's attributes, for one read or none.
fn key(dice: &mut Dice, kind: &Kind, asked: Option<&Asked>, names: &[&'static str]) -> (String, String) {
    let (mut partition, mut sort): (Vec<&str>, Vec<&str>) = match asked {
        None => {
            let all = dice.shuffled(names);
            let (first, rest) = all.split_at(1);
            (first.to_vec(), rest.iter().take(dice.below(3)).copied().collect())
        }
        Some(asked) => {
            let fixed = dice.shuffled(&asked.fixed);
            let (first, rest) = fixed.split_at(1 + dice.below(fixed.len()));
            (first.to_vec(), rest.iter().copied().chain(asked.range).collect())
        }
    };
    partition.dedup();
    for id in &kind.id {
        if !partition.contains(id) && !sort.contains(id) {
            sort.push(id);
        }
    }
    let texts = |names: &[&str]| names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join("#");
    let open = if dice.chance(50) { format!("{}#", kind.letter) } else { "f#".to_owned() };
    let within = match dice.below(3) {
        0 => String::new(),
        _ => format!("{}#", kind.letter),
    };
    let sort = texts(&sort);
    let sort = if within.is_empty() && sort.is_empty() { "0".to_owned() } else { format!("{within}{sort}") };
    (format!("{open}{}", texts(&partition)), sort)
}

/// The cost of a rival, if it passes its check by keys alone.
fn rival_cost(made: &Made, text: &str) -> Option<(Model, Money)> {
    let model = parse(text).unwrap_or_else(|faults| panic!("{}\n{text}", fault_lines(&faults)));
    let checked = check(&model);
    // The designer uses no filters, and no keys with too many writes.
    let by_keys = checked.passes()
        && checked.report.patterns.iter().all(|ran| {
            let in_order = made.asked.iter().any(|asked| asked.id == ran.id && asked.is_ordered(&made.kinds));
            // The order of one item does not matter.
            let seen = !in_order || ran.items_returned > 1;
            ran.filter.is_none() && ran.strangers.is_empty() && ran.partitions < 2 && seen
        })
        && checked.findings.iter().all(|finding| !["L020", "L021", "L026", "L053"].contains(&finding.rule));
    // A writer that changes an item knows its identity.
    let known = model.patterns.iter().flat_map(Pattern::steps).all(|step| {
        let kind = made.kinds.iter().find(|kind| kind.name == step.entity);
        let entity = model.entity(&step.entity);
        step.kind == WriteKind::Put
            || kind
                .zip(entity)
                .is_some_and(|(kind, own)| own.key_attributes().all(|name| kind.id.contains(&name)))
    });
    (by_keys && known).then(|| (model.clone(), crate::support::billed(&model).total()))
}

fn used(model: &Model) -> usize {
    let slots = model.entities.iter().flat_map(|entity| entity.slots.iter().map(|(name, _)| name.clone()));
    slots.collect::<std::collections::BTreeSet<_>>().len()
}

/// What a rival has that the designer claimed to be impossible.
fn beaten(found: &Design, total: Money, rival: &Model, cost: Money) -> Option<String> {
    let indexes = used(rival);
    if let Proof::Impossible { gsis, .. } = &found.proof
        && indexes <= *gsis
    {
        return Some(format!("{indexes} indexes do, and with {gsis} it was called impossible"));
    }
    // Names of keys differ by some bytes.
    let less = (total - cost).as_nanos() > total.as_nanos() / 50;
    less.then(|| format!("{cost} instead of {total}"))
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn tried(seed: u64, parts: bool, prices: &Prices, stood: &mut u64) -> Result<(), String> {
    let made = made(seed, parts);
    let unkeyed = made.unkeyed();
    let original =
        parse(&unkeyed).unwrap_or_else(|faults| panic!("seed {seed}: {}\n{unkeyed}", fault_lines(&faults)));
    let mut asked = problem(&original);
    asked.gsi_max = 2;
    let mut dice = Dice(seed ^ 0xabcd_ef01);
    let rivals = number("KEYWRIGHT_RIVALS", RIVALS);
    let found = design::solve(&asked, prices);
    let (most, total, shown) = match &found {
        Ok(found) => {
            let table = original.tables.first().expect("a table");
            let model = design::to_model(&original, &table.name, found)?;
            let costing = Costing { prices, settings: Settings::default() };
            let billed = billed(&original, model, &found.embedded, &no_files, &costing)
                .map_err(|fault| format!("{fault:?}"))?;
            (found.gsis.min(2), billed.bill.total(), billed.text)
        }
        Err(_) => (2, Money::default(), String::new()),
    };
    for round in 0..rivals {
        let indexes = usize::try_from(round).expect("small") % (most + 1);
        let text = made.rival(&mut dice, indexes);
        let Some((rival, cost)) = rival_cost(&made, &text) else { continue };
        *stood += 1;
        let beaten = match &found {
            Ok(found) => beaten(found, total, &rival, cost),
            Err(reasons) => Some(format!("it was called impossible: {reasons:?}")),
        };
        if let Some(how) = beaten {
            return Err(format!("{how}\n== rival\n{text}\n== designed\n{shown}"));
        }
    }
    Ok(())
}

/// No rival beats any of the models from a seed on.
fn none_is_beaten(first: u64, parts: bool) -> u64 {
    let prices = prices();
    let first = number("KEYWRIGHT_SEED", first);
    let (mut wrong, mut stood) = (Vec::new(), 0);
    for seed in first..first + number("KEYWRIGHT_CASES", CASES) {
        if let Err(fault) = tried(seed, parts, &prices, &mut stood) {
            wrong.push(format!("== seed {seed}: {fault}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} beaten\n{}", wrong.len(), wrong.join("\n"));
    assert!(stood > 0);
    stood
}

#[test]
fn no_keys_made_up_at_random_need_fewer_indexes_or_cost_less_than_those_designed() {
    let stood = none_is_beaten(FIRST, false);
    println!("{stood} rivals pass their checks");
}

#[test]
fn nor_do_derived_items_with_the_attributes_of_one_read() {
    let stood = none_is_beaten(FIRST_OF_PARTS, true);
    println!("{stood} rivals pass their checks");
}
