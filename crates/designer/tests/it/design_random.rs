//! Random small models: each is refused with a sentence, or its designed model does what was predicted and
//! passes the check.

use std::fmt::Write as _;

use keywright_designer::design::{self, Billed, Design, Problem, Proof, billed};
use keywright_model::{Model, parse, write};
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::price::{Prices, TODAY};
use keywright_workbench::report::text;

use crate::support::{Dice, check, fault_lines, no_files};

/// The number of cases of every test run; `KEYWRIGHT_CASES` changes it, `KEYWRIGHT_SEED` the first one.
const CASES: u64 = 40;

/// Attributes that entities of random models can have besides their identity.
const ATTRIBUTES: [(&str, &str); 8] = [
    ("x", "{type: S, distinct: 20}"),
    ("y", "S"),
    ("kind", "{type: S, values: [A, B, C]}"),
    ("at", "{type: S, format: iso8601}"),
    ("n", "N"),
    ("maybe", "{type: S, distinct: 20, present: 0.5}"),
    ("signed", "{type: N, values: [-5, 2, 12.5, 40, 41]}"),
    ("rare", "{type: S, distinct: 20, present: 0.004}"),
];

/// Attributes that some items lack.
const OPTIONAL: [&str; 2] = ["maybe", "rare"];

struct Kind {
    name: &'static str,
    id: Vec<&'static str>,
    own: Vec<&'static str>,
    /// Whether it may become a list in the other entity's items.
    child: bool,
}

fn all<'a>(id: &[&'a str], own: &[&'a str]) -> Vec<&'a str> {
    id.iter().chain(own).copied().collect()
}

fn kinds(dice: &mut Dice, out: &mut String) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for name in ["Ant", "Bee"].into_iter().take(1 + dice.below(2)) {
        let id = match (name, dice.below(6)) {
            ("Ant", 0) => vec!["aid", "x"],
            ("Ant", 4) => vec!["aid", "signed"],
            ("Ant", 5) => vec!["x", "y"],
            ("Ant", _) => vec!["aid"],
            (_, 0) => vec!["bid"],
            (_, 1) => vec!["aid", "bid"],
            _ => vec!["x", "bid"],
        };
        let mut own: Vec<&str> =
            ATTRIBUTES.iter().map(|(name, _)| *name).filter(|_| dice.chance(60)).collect();
        own.retain(|name| !id.contains(name));
        let said = |name: &str| {
            let known = ATTRIBUTES.iter().find(|(own, _)| *own == name).map(|(_, said)| *said);
            // Identities of other entities occur more than once.
            known
                .unwrap_or(if name == "aid" && id.len() > 1 { "{type: S, distinct: 300}" } else { "S" })
                .to_owned()
        };
        let attributes: Vec<String> =
            id.iter().chain(&own).map(|name| format!("{name}: {}", said(name))).collect();
        let size = *dice.of(&["", "size: 200, ", "size: 3000, "]);
        let of_ant = kinds.first().is_some_and(|ant: &Kind| ant.id == ["aid"]);
        let child = name == "Bee" && of_ant && id == ["aid", "bid"] && dice.chance(60);
        let parent = if child { "parent: Ant, " } else { "" };
        let owner = (*dice.of(&all(&id, &own))).to_owned();
        let owner = if dice.chance(25) && !OPTIONAL.contains(&owner.as_str()) {
            format!("owner: {owner}, ")
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "  {name}: {{count: {}, {size}{parent}{owner}unique: [[{}]], attrs: {{{}}}}}",
            *dice.of(&["1000", "400"]),
            id.join(", "),
            attributes.join(", ")
        );
        kinds.push(Kind { name, id, own, child });
    }
    kinds
}

fn reads(dice: &mut Dice, kinds: &[Kind], out: &mut String) {
    for number in 1..=1 + dice.below(4) {
        let kind = dice.of(kinds);
        let strong = if dice.chance(25) { ", consistency: strong" } else { "" };
        let rate = *dice.of(&["1", "5", "50"]);
        let both = kinds.len() == 2 && dice.chance(15);
        let all = all(&kind.id, &kind.own);
        if kind.child && dice.chance(60) {
            // With this read it can be a list.
            let of = *dice.of(&["Bee", "[Ant, Bee]"]);
            let _ = writeln!(
                out,
                "  - {{id: P{number}, query: {of}, given: {{aid: eq}}, returns: {{avg: 2, max: 20}}, rate: {rate}{strong}}}"
            );
            continue;
        }
        if both {
            let shared: Vec<&str> = all
                .iter()
                .copied()
                .filter(|name| {
                    !OPTIONAL.contains(name)
                        && kinds.iter().all(|kind| kind.id.contains(name) || kind.own.contains(name))
                })
                .collect();
            if !shared.is_empty() {
                let by = *dice.of(&shared);
                let _ = writeln!(
                    out,
                    "  - {{id: P{number}, query: [Ant, Bee], given: {{{by}: eq}}, returns: {{avg: 4, max: 40}}, rate: {rate}{strong}}}"
                );
                continue;
            }
        }
        if dice.chance(35) {
            let given: Vec<String> = kind.id.iter().map(|name| format!("{name}: eq")).collect();
            let _ = writeln!(
                out,
                "  - {{id: P{number}, get: {}, given: {{{}}}, rate: {rate}{strong}}}",
                kind.name,
                given.join(", ")
            );
            continue;
        }
        let by = *dice.of(&all);
        let mut given = format!("{by}: eq");
        let mut order = String::new();
        let second = *dice.of(&all);
        if second != by {
            match dice.below(4) {
                0 => given = format!("{given}, {second}: eq"),
                1 => given = format!("{given}, {second}: ge"),
                2 => order = format!(", order: {{by: {second}, direction: desc}}"),
                _ => {}
            }
        }
        let attributes = if dice.chance(20) { format!(", attributes: [{by}]") } else { String::new() };
        let _ = writeln!(
            out,
            "  - {{id: P{number}, query: {}, given: {{{given}}}{order}{attributes}, returns: {{avg: 4, max: 40}}, rate: {rate}{strong}}}",
            kind.name
        );
    }
}

/// The value of the item with a number: two examples of one item agree about it.
fn value(number: usize, name: &str) -> String {
    match name {
        "n" => format!("{}", number + 2),
        "signed" => ["-5", "12.5", "40"].get(number - 1).copied().unwrap_or("2").to_owned(),
        "kind" => ["A", "B", "C"].get(number - 1).copied().unwrap_or("A").to_owned(),
        "at" => format!("\"2026-01-0{number}T03:04:05.000Z\""),
        _ => format!("{name}{number}"),
    }
}

/// One change: the text in the braces of a step, and its example's values.
fn change(dice: &mut Dice, kind: &Kind) -> (String, Vec<String>) {
    let name = kind.name;
    let mut example = Vec::new();
    let item = 1 + dice.below(3);
    if dice.chance(35) {
        for id in &kind.id {
            example.push(format!("{id}: {}", value(item, id)));
        }
    }
    match dice.below(4) {
        0 => {
            let condition = *dice.of(&["", ", if: not-exists", ", if: not-exists", ", if: exists"]);
            (format!("put: {name}{condition}"), Vec::new())
        }
        1 => {
            let condition = *dice.of(&["", ", if: exists"]);
            let known: Vec<&str> = kind.own.iter().copied().filter(|_| !example.is_empty()).collect();
            for own in known {
                if dice.chance(70) {
                    example.push(format!("{own}: {}", value(item, own)));
                }
            }
            (format!("delete: {name}{condition}"), example)
        }
        _ if kind.own.is_empty() => (format!("delete: {name}"), example),
        _ => {
            let target = *dice.of(&kind.own);
            let mut clause = format!("set: '{target} = :{target}'");
            if target == "n" && dice.chance(60) {
                clause = String::from("set: 'n = n + :more'");
            } else if target == "maybe" && dice.chance(50) {
                clause = String::from("remove: maybe");
            } else if dice.chance(25) {
                let also = *dice.of(&kind.own);
                if also != target {
                    clause = format!("set: '{target} = :{target}, {also} = :{also}'");
                }
            }
            let asked = *dice.of(&kind.own);
            let condition = match dice.below(6) {
                0 => String::new(),
                1 => format!(", if: '{asked} = :was'"),
                2 if kind.own.contains(&"n") => ", if: 'n >= :least'".to_owned(),
                3 => format!(", if: '{asked} <> :not'"),
                _ => ", if: exists".to_owned(),
            };
            if !example.is_empty() {
                for own in kind.own.clone() {
                    if dice.chance(60) {
                        example.push(format!("{own}: {}", value(item, own)));
                    }
                }
            }
            (format!("update: {name}, {clause}{condition}"), example)
        }
    }
}

fn writes(dice: &mut Dice, kinds: &[Kind], out: &mut String) {
    for number in 1..=dice.below(5) {
        let rate = *dice.of(&["0.1", "1", "10"]);
        let kind = dice.of(kinds);
        if dice.chance(10) {
            let _ =
                writeln!(out, "  - {{id: W{number}, batch: [{{put: {}, n: 3}}], rate: {rate}}}", kind.name);
            continue;
        }
        let (step, example) = change(dice, kind);
        let example =
            if example.is_empty() { String::new() } else { format!(", example: {{{}}}", example.join(", ")) };
        let other = dice.of(kinds);
        if dice.chance(15) && other.name != kind.name {
            let _ = writeln!(
                out,
                "  - {{id: W{number}, transact: [{{{step}}}, {{put: {}, if: not-exists}}], rate: {rate}{example}}}",
                other.name
            );
        } else {
            let _ = writeln!(out, "  - {{id: W{number}, {step}, rate: {rate}{example}}}");
        }
    }
}

/// Three items of each entity, of which the last lacks the optional attributes.
fn inline(kinds: &[Kind]) -> String {
    let mut out = "data:\n  inline:\n".to_owned();
    for kind in kinds {
        let items: Vec<String> = (1..=3)
            .map(|number| {
                let names = all(&kind.id, &kind.own);
                let has = |name: &&str| number < 3 || !OPTIONAL.contains(name);
                let values: Vec<String> = names
                    .into_iter()
                    .filter(has)
                    .map(|name| format!("{name}: {}", value(number, name)))
                    .collect();
                format!("{{{}}}", values.join(", "))
            })
            .collect();
        let _ = writeln!(out, "    {}: [{}]", kind.name, items.join(", "));
    }
    out
}

fn made(seed: u64) -> (String, usize) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995);
    dice.below(2);
    let mut out = "format: 1\nmodel: random\ntables: {Tab: {key: {pk: S, sk: S}}}\nentities:\n".to_owned();
    let kinds = kinds(&mut dice, &mut out);
    out += "patterns:\n";
    reads(&mut dice, &kinds, &mut out);
    writes(&mut dice, &kinds, &mut out);
    match dice.below(4) {
        0 | 1 => out += "data: {generate: {seed: 3, sample: 40}}\n",
        2 => out += &inline(&kinds),
        _ => {}
    }
    (out, dice.below(3))
}

/// The outcome of a model.
enum Became {
    Refused,
    Designed,
}

/// A design as the command makes it from a model: verified by running, with carried-over data, written and
/// billed.
fn proved(original: &Model, found: &Design, prices: &Prices) -> Result<Billed, String> {
    let table = original.tables.first().ok_or("no table")?;
    let model = design::to_model(original, &table.name, found)?;
    for own in design::verify(&model).map_err(|them| fault_lines(&them))? {
        if !own.agrees() {
            return Err(format!("{own:?}\n{}", write(&model)));
        }
    }
    for own in design::verify_writes(&model).map_err(|them| fault_lines(&them))? {
        if !own.agrees() || own.refused {
            return Err(format!("{own:?}\n{}", write(&model)));
        }
    }
    let costing = Costing { prices, settings: Settings::default() };
    let shown = write(&model);
    let billed = billed(original, model, &found.embedded, &no_files, &costing)
        .map_err(|fault| format!("{fault:?}\n{shown}"))?;
    if let Some(reason) = billed.unmetered() {
        return Err(format!("no bill: {reason}\n{}", billed.text));
    }
    let checked = check(&billed.model);
    if !checked.passes() {
        return Err(format!("{}\n{}", text(&checked, "x.yaml"), billed.text));
    }
    let again = crate::support::billed(&billed.model);
    if again == billed.bill { Ok(billed) } else { Err(format!("the file has another bill\n{}", billed.text)) }
}

/// A design announced with fewer indexes is the result when they are requested.
fn promised(original: &Model, problem: &Problem, found: &Design, prices: &Prices) -> Result<(), String> {
    let fewer = |gsis: usize| design::solve(&Problem { gsi_max: gsis, ..problem.clone() }, prices);
    match &found.proof {
        Proof::NoIndexes | Proof::AllKept => Ok(()),
        Proof::Impossible { gsis, .. } => match fewer(*gsis) {
            Ok(other) => Err(format!("with {gsis} it is possible: {:?}", other.placed)),
            Err(_) => Ok(()),
        },
        Proof::Possible { gsis, .. } => {
            let other = fewer(*gsis).map_err(|them| format!("with {gsis}, which is promised: {them:?}"))?;
            let announced = found.fewer.as_deref().ok_or("no design is promised")?;
            let (asked, announced) =
                (proved(original, &other, prices)?, proved(original, announced, prices)?);
            let (asked, announced) = (asked.bill.total(), announced.bill.total());
            let same = (asked - announced).as_nanos().abs() < 10_000_000;
            if same { Ok(()) } else { Err(format!("with {gsis}: {announced} announced, {asked} made")) }
        }
    }
}

fn designed(original: &Model, indexes: usize, prices: &Prices) -> Result<Became, String> {
    let table = original.tables.first().ok_or("no table")?;
    let Ok(mut problem) = design::from_model(original, table) else { return Ok(Became::Refused) };
    problem.gsi_max = indexes;
    let found = match design::solve(&problem, prices) {
        Ok(found) => found,
        Err(reasons) => {
            let said = reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            let sentence = !said.is_empty() && !said.contains("the solver gave up");
            return if sentence { Ok(Became::Refused) } else { Err(format!("no sentence: {said}")) };
        }
    };
    proved(original, &found, prices)?;
    promised(original, &problem, &found, prices)?;
    Ok(Became::Designed)
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn designs_of_random_models_pass_their_check_or_are_refused_with_a_sentence() {
    let prices = Prices::built_in(TODAY).expect("built in");
    let first = number("KEYWRIGHT_SEED", 1);
    let mut wrong = Vec::new();
    let mut ran = 0;
    for seed in first..first + number("KEYWRIGHT_CASES", CASES) {
        let (made, indexes) = made(seed);
        let model = match parse(&made) {
            Ok(model) => model,
            Err(them) => panic!("seed {seed}: {}\n{made}", fault_lines(&them)),
        };
        match designed(&model, indexes, &prices) {
            Ok(Became::Designed) => ran += 1,
            Ok(Became::Refused) => {}
            Err(fault) => wrong.push(format!("== seed {seed}, {indexes} indexes\n{made}\n{fault}\n")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran > 0);
}
