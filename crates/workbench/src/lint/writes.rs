//! Rules on writes: L039, L052 to L054, L057.

use std::collections::BTreeSet;

use super::context::{Context, finding, is_transaction, names};
use super::{Finding, Severity};
use keywright_model::expression::{Clause, Comparator, ConditionExpression, Effect, Operand, Section};
use keywright_model::{AttributeFormat, Condition, Entity, Pattern, Write, WriteKind};
use keywright_semantics::limits::{TRANSACTION_BYTES_MAX, TRANSACTION_ITEMS_MAX};
use keywright_semantics::value::ValueType;

pub(super) fn transactions(context: &Context<'_>) -> Vec<Finding> {
    let patterns = context.model.patterns.iter().filter(|pattern| is_transaction(pattern));
    patterns
        .flat_map(|pattern| [too_many(pattern), too_large(context, pattern), twice(context, pattern)])
        .flatten()
        .collect()
}

fn too_many(pattern: &Pattern) -> Option<Finding> {
    let items: u64 = pattern.steps().iter().map(|step| step.n).sum();
    let most = u64::try_from(TRANSACTION_ITEMS_MAX).unwrap_or(u64::MAX);
    let (severity, text, fix) = if items > most {
        (
            Severity::Error,
            format!("{} has {items} items; a transaction has at most {most}", pattern.id),
            "do it in several steps that can be repeated",
        )
    } else if items == 1 {
        (
            Severity::Warning,
            format!(
                "{} is a transaction of one item: it costs twice as much as a conditional write and guarantees nothing more",
                pattern.id
            ),
            "write it as a single put, update, delete or get",
        )
    } else {
        return None;
    };
    Some(finding("L039", severity, pattern.at, &pattern.id, text, fix))
}

/// Uses the largest size that the file or the sample knows.
fn too_large(context: &Context<'_>, pattern: &Pattern) -> Option<Finding> {
    let bytes_of = |step: &Write| Some(context.bytes_max(context.model.entity(&step.entity)?));
    let bytes: u64 =
        pattern.steps().iter().map(|step| bytes_of(step).unwrap_or(0).saturating_mul(step.n)).sum();
    let most = u64::try_from(TRANSACTION_BYTES_MAX).unwrap_or(u64::MAX);
    (bytes > most).then(|| {
        finding(
            "L039",
            Severity::Error,
            pattern.at,
            &pattern.id,
            format!(
                "the items of {} can have {} KB; a transaction has at most 4 MB",
                pattern.id,
                bytes / 1024
            ),
            "do it in several steps that can be repeated, or keep the large part of the items elsewhere",
        )
    })
}

fn twice(context: &Context<'_>, pattern: &Pattern) -> Option<Finding> {
    let touched = &context.report.pattern(&pattern.id)?.touched;
    let (_, key) = touched
        .iter()
        .enumerate()
        .find(|(place, item)| touched.iter().take(*place).any(|other| other == *item))?
        .1;
    let checks = pattern.steps().iter().any(|step| step.kind == WriteKind::Check);
    let fix = if checks {
        "put condition and change of an item into one step: an update can have an `if`"
    } else {
        "give each step an `example` with the key of an item of its own, of items that are in `data`"
    };
    Some(finding(
        "L039",
        Severity::Error,
        pattern.at,
        &pattern.id,
        format!("{} touches [{}] twice, which the service refuses", pattern.id, key.join(", ")),
        fix,
    ))
}

pub(super) fn unconditional(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps().filter(|(_, step, _)| step.condition.is_none()) {
        let batch = matches!(pattern.operation, keywright_model::Operation::Batch(_));
        let (text, fix) = match step.kind {
            WriteKind::Put if !batch => (
                format!("{} puts {} and would overwrite one that is there", pattern.id, entity.name),
                "write `if: not-exists`",
            ),
            WriteKind::Update => (
                format!("{} updates {} and would make one that is not there", pattern.id, entity.name),
                "write `if: exists`",
            ),
            _ => continue,
        };
        found.push(finding("L052", Severity::Warning, step.at, &pattern.id, text, fix));
    }
    found
}

pub(super) fn stale(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps() {
        if !has_stream(context, entity) {
            for holder in &context.model.entities {
                found.extend(left_behind(pattern, step, entity, holder));
            }
        }
        if step.kind == WriteKind::Update {
            found.extend(stale_keys(pattern, step, entity));
        }
    }
    found.extend(unwritten(context));
    found
}

/// Derived entities that no pattern writes, nor their source: nothing creates their items or keeps them
/// right.
fn unwritten(context: &Context<'_>) -> Vec<Finding> {
    let writes = |name: &str| {
        context.steps().any(|(_, step, entity)| {
            entity.name == name && !matches!(step.kind, WriteKind::Check | WriteKind::Get)
        })
    };
    let derived = context.model.derived_entities().into_iter();
    let derived = derived.filter(|(holder, _)| !has_stream(context, holder));
    let unwritten = derived.filter(|(holder, source)| !writes(&holder.name) && !writes(&source.name));
    unwritten
        .map(|(holder, source)| {
            let (holder_name, source_name) = (&holder.name, &source.name);
            finding(
                "L053",
                Severity::Warning,
                holder.at,
                holder_name,
                format!("nothing writes {holder_name}, a derived item of {source_name}: the cost of keeping it is missing"),
                format!("write down the writes of {source_name}, each with {holder_name} in one transaction, or give the table a `stream`"),
            )
        })
        .collect()
}

/// The copies of an entity that a write of it leaves stale.
fn left_behind(pattern: &Pattern, step: &Write, entity: &Entity, holder: &Entity) -> Vec<Finding> {
    let copied = holder.attributes.iter().filter_map(|own| {
        let (source, name) = own.copy_of.as_ref()?;
        (*source == entity.name).then_some((own.name.as_str(), name.as_str()))
    });
    let copied: Vec<(&str, &str)> = copied.collect();
    let follows = |other: &Write, name: &str| match other.kind {
        WriteKind::Put | WriteKind::Delete => true,
        WriteKind::Update => other.changed().any(|own| own == name),
        WriteKind::Check | WriteKind::Get => false,
    };
    let kept =
        |name: &str| pattern.steps().iter().any(|other| other.entity == holder.name && follows(other, name));
    let say = |text: String, fix: &str| finding("L053", Severity::Warning, step.at, &pattern.id, text, fix);
    match step.kind {
        WriteKind::Update => {
            let stale =
                copied.into_iter().filter(|(own, name)| step.changed().any(|one| one == *name) && !kept(own));
            stale
                .map(|(own, name)| {
                    let text = format!(
                        "{} changes {}.{name} and leaves its copy {}.{own} as it was",
                        pattern.id, entity.name, holder.name
                    );
                    say(text, FOLLOW)
                })
                .collect()
        }
        WriteKind::Put if may_replace(pattern, step, entity) => {
            // A put of an existing item leaves its key unchanged.
            let stale = copied
                .into_iter()
                .filter(|(own, name)| !entity.key_attributes().any(|key| key == *name) && !kept(own));
            let stale: Vec<String> = stale.map(|(own, _)| format!("{}.{own}", holder.name)).collect();
            let one = |stale: &[String]| {
                let text = format!(
                    "{} puts {} and may replace one that is there: what is copied of it, {}, stays as it was",
                    pattern.id,
                    entity.name,
                    stale.join(", ")
                );
                say(text, ONLY_NEW)
            };
            (!stale.is_empty()).then(|| one(&stale)).into_iter().collect()
        }
        WriteKind::Delete if is_derived(holder, entity) => {
            let text =
                format!("{} deletes {} and leaves its {} behind", pattern.id, entity.name, holder.name);
            let left = !copied.iter().any(|(own, _)| kept(own));
            left.then(|| say(text, DELETE_TOO)).into_iter().collect()
        }
        WriteKind::Put | WriteKind::Delete | WriteKind::Check | WriteKind::Get => Vec::new(),
    }
}

const FOLLOW: &str = "update the copies in the same transaction; or from the table's stream: write `stream: new-and-old` on the table";
const ONLY_NEW: &str = "write `if: not-exists` if it only makes new ones; else write the copies in the same transaction, or from the table's stream: write `stream: new-and-old` on the table";
const DELETE_TOO: &str =
    "delete it in the same transaction; or from the table's stream: write `stream: new-and-old` on the table";

/// Whether a put can replace an existing item. Puts of a batch cannot have conditions: they load new items.
fn may_replace(pattern: &Pattern, step: &Write, entity: &Entity) -> bool {
    let alone = !matches!(pattern.operation, keywright_model::Operation::Batch(_));
    alone && !step.must_create(entity)
}

/// Whether an entity is a derived item of another, one for each: it has only copies and its key, and either
/// every attribute is a copy of that entity, or both keys are made of the same attributes.
fn is_derived(holder: &Entity, entity: &Entity) -> bool {
    let of_entity = |name: &str| {
        let (source, copied) = holder.attribute(name)?.copy_of.as_ref()?;
        (*source == entity.name).then_some(copied.as_str())
    };
    let in_key = |name: &str| holder.key_attributes().any(|key| key == name);
    let bare = holder.attributes.iter().all(|own| own.copy_of.is_some() || in_key(&own.name));
    let copies = holder.attributes.iter().filter(|own| of_entity(&own.name).is_some()).count();
    let own_key: BTreeSet<&str> =
        holder.key_attributes().map(|name| of_entity(name).unwrap_or(name)).collect();
    bare && copies > 0 && (copies == holder.attributes.len() || own_key == entity.key_attributes().collect())
}

/// The keys of an entity that an update leaves stale although attributes in them change.
fn stale_keys(pattern: &Pattern, step: &Write, entity: &Entity) -> Vec<Finding> {
    let changed: Vec<&str> = step.changed().collect();
    let mut found = Vec::new();
    for (key, template) in names(entity) {
        let derived = template.attributes().find(|name| changed.contains(name));
        if let Some(name) = derived.filter(|_| !changed.contains(&key.as_str())) {
            found.push(finding(
                "L053",
                Severity::Warning,
                step.at,
                &pattern.id,
                format!(
                    "{} changes `{name}` but not `{key}`, which is made of it (`{template}`)",
                    pattern.id
                ),
                format!(
                    "{} `{key}` in the same update; the table's own key cannot change: delete and put",
                    if step.removed().any(|own| own == name) { "remove" } else { "set" }
                ),
            ));
        }
    }
    found
}

/// Whether the entity's table has a stream, by which copies can follow.
fn has_stream(context: &Context<'_>, entity: &Entity) -> bool {
    context.model.table(&entity.table).is_some_and(|table| table.stream.is_some())
}

pub(super) fn lost_update(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps() {
        let mut say = |text: String, fix: String| {
            found.push(finding("L054", Severity::Warning, step.at, &pattern.id, text, fix));
        };
        match step.kind {
            WriteKind::Put if replaces(step) => say(
                format!(
                    "{} replaces a whole {} that was read before: what another wrote in between is lost",
                    pattern.id, entity.name
                ),
                "update only what changes, or add a condition on a version: `if: \"version = :read\"`"
                    .to_owned(),
            ),
            WriteKind::Update => {
                for (name, value_type) in overwritten(context, step, entity) {
                    say(
                        format!(
                            "{} writes `{name}` as a value computed from an earlier read: two at once lose one",
                            pattern.id
                        ),
                        format!(
                            "write {}, or add a condition on a version: `if: \"version = :read\"`",
                            instead(name, value_type)
                        ),
                    );
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a step replaces an item without a condition on its previous state.
fn replaces(step: &Write) -> bool {
    match &step.condition {
        Some(Condition::Exists) => true,
        Some(Condition::Expression(condition)) => {
            condition.tree().calls().iter().any(|call| call.required().is_some())
                && compared(condition).is_empty()
        }
        Some(Condition::NotExists) | None => false,
    }
}

/// Counters and collections that an update sets to a value of the program's own, without a condition on the
/// value that was read.
fn overwritten<'a>(context: &Context<'_>, step: &'a Write, entity: &Entity) -> Vec<(&'a str, ValueType)> {
    let written: Vec<&str> = step.changed().collect();
    let guards = step.expression().map(compared).unwrap_or_default();
    let best = |condition: &ConditionExpression| {
        step.assigned().any(|(name, value)| is_best_so_far(condition, name, value))
    };
    if step.expression().is_some_and(best) {
        return Vec::new();
    }
    let computed = step.assigned().filter_map(|(name, _)| {
        let value_type = entity.attribute(name)?.value_type;
        let collected = match value_type {
            ValueType::S | ValueType::B | ValueType::Bool | ValueType::Null => false,
            ValueType::N => is_counted(context, entity, name),
            _ => true,
        };
        collected.then_some((name, value_type))
    });
    // The value that was read is guarded if the condition requires equality; another attribute that the
    // update changes as well guards it if it is compared at all.
    computed
        .filter(|(name, _)| {
            !guards.iter().any(
                |(guard, equal)| {
                    if guard == name { *equal } else { *equal || written.contains(guard) }
                },
            )
        })
        .collect()
}

/// Whether a number's new value is computed from its old one: it is a sequence, a write adds to it or
/// compares it with a bound, or another write of the entity checks a version. Other numbers, such as a
/// measured value or a price, are just written.
fn is_counted(context: &Context<'_>, entity: &Entity, name: &str) -> bool {
    let Some(attribute) = entity.attribute(name) else { return false };
    if attribute.format.is_some_and(AttributeFormat::is_time) {
        return false;
    }
    let mut steps =
        context.steps().filter(|(_, _, other)| other.name == entity.name).map(|(_, step, _)| step);
    attribute.format == Some(AttributeFormat::Sequence)
        || steps.any(|step| moves(step, name) || checks_a_version(step))
}

/// Whether a write requires that an attribute has the value that was read, and changes it: a version.
fn checks_a_version(step: &Write) -> bool {
    let equal = step.expression().map(compared).unwrap_or_default();
    step.changed().any(|name| equal.contains(&(name, true)))
}

/// Whether a write adds to an attribute, or compares it with a bound.
fn moves(step: &Write, name: &str) -> bool {
    let whole = |effect: &&Effect| effect.path.whole() == Some(name);
    let added = step.section(Section::Add).any(|effect| whole(&effect));
    let relative = step.section(Section::Set).filter(whole).any(|effect| effect.reads().contains(&name));
    let bounded = step.expression().is_some_and(|condition| compared(condition).contains(&(name, false)));
    added || relative || bounded
}

/// Whether a condition allows a new value of an attribute only if it is greater, or less, than the stored
/// one: of two concurrent writers the better value stays, with everything that is set together with it.
fn is_best_so_far(condition: &ConditionExpression, name: &str, value: &str) -> bool {
    keeps_best(condition.tree(), name, value) == Some(Best::Compared)
}

/// When a condition that keeps the best value holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Best {
    /// There was no value.
    First,
    Compared,
}

/// Whether a condition holds only if there is no value yet or the new one is better; `None` if it can hold
/// otherwise.
fn keeps_best(condition: &Clause, name: &str, value: &str) -> Option<Best> {
    let recur = |side: &Clause| keeps_best(side, name, value);
    match condition {
        Clause::And(left, right) => match (recur(left), recur(right)) {
            (Some(Best::Compared), _) | (_, Some(Best::Compared)) => Some(Best::Compared),
            (left, right) => left.or(right),
        },
        Clause::Or(left, right) => match (recur(left)?, recur(right)?) {
            (Best::First, Best::First) => Some(Best::First),
            _ => Some(Best::Compared),
        },
        Clause::Compare { .. } => {
            let (comparator, own, other) = condition.compared()?;
            let ordered = !matches!(comparator, Comparator::Eq | Comparator::Ne);
            (ordered && (own, other) == (name, value)).then_some(Best::Compared)
        }
        Clause::Call(call) => {
            (call.excluded().and_then(|path| path.whole()) == Some(name)).then_some(Best::First)
        }
        Clause::Not(_) | Clause::Between { .. } | Clause::In { .. } => None,
    }
}

/// The attributes that a condition compares with a value, and whether for equality. A clause that also tests
/// whether an attribute exists does not count: it says nothing about the value.
fn compared(condition: &ConditionExpression) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for clause in condition.clauses() {
        let mut compared = Compared { names: Vec::new(), equal: true, asks_existence: false };
        compared.read(clause);
        if !compared.asks_existence {
            found.extend(compared.names.into_iter().map(|name| (name, compared.equal)));
        }
    }
    found
}

/// The comparisons of one of the clauses that `AND` joins.
struct Compared<'t> {
    names: Vec<&'t str>,
    equal: bool,
    asks_existence: bool,
}

impl<'t> Compared<'t> {
    fn read(&mut self, clause: &'t Clause) {
        match clause {
            Clause::And(left, right) | Clause::Or(left, right) => {
                self.read(left);
                self.read(right);
            }
            Clause::Not(inner) => {
                self.equal = false;
                self.read(inner);
            }
            Clause::Compare { comparator, left, right } => {
                self.equal &= *comparator == Comparator::Eq;
                self.operand(left);
                self.operand(right);
            }
            Clause::Call(call) => {
                self.asks_existence |= matches!(
                    call.function.as_str(),
                    "attribute_exists" | "attribute_not_exists" | "attribute_type"
                );
            }
            Clause::Between { .. } | Clause::In { .. } => {}
        }
    }

    fn operand(&mut self, operand: &'t Operand) {
        match operand {
            Operand::Path(path) => self.names.push(&path.attribute),
            Operand::Call(call) => call.arguments.iter().for_each(|argument| self.operand(argument)),
            Operand::Value(_) => {}
        }
    }
}

fn instead(name: &str, value_type: ValueType) -> String {
    match value_type {
        ValueType::N => format!("`{name} = {name} + :n`"),
        ValueType::L => format!("`{name} = list_append({name}, :more)`"),
        ValueType::M => format!("`{name}.part = :value`"),
        _ => format!("`add: \"{name} :more\"`"),
    }
}

/// Whether the key consists of these attributes only, so that `if: not-exists` guards it, or their values are
/// generated to be unique.
fn unique_by_itself(entity: &Entity, unique: &[String]) -> bool {
    let is_key = is_made_of(entity, |name| unique.iter().any(|own| own == name));
    let made = unique.iter().filter_map(|name| entity.attribute(name)?.format);
    is_key || made.into_iter().any(AttributeFormat::is_unique)
}

/// Whether an entity's key is made of some of these attributes and nothing else: another attribute in it
/// would allow two keys for the same values.
fn is_made_of(entity: &Entity, these: impl Fn(&str) -> bool) -> bool {
    let mut key = entity.key_attributes().peekable();
    key.peek().is_some() && key.all(these)
}

/// Whether another step of the transaction puts a uniqueness guard for these values.
fn has_sentinel(context: &Context<'_>, pattern: &Pattern, entity: &Entity, unique: &[String]) -> bool {
    let guards = |sentinel: &Entity| {
        is_made_of(sentinel, |name| {
            let copied = sentinel.attribute(name).and_then(|own| own.copy_of.as_ref());
            // The guard may have another name for the attribute that it repeats.
            let meant = match copied {
                Some((source, original)) if *source == entity.name => original.as_str(),
                _ => name,
            };
            unique.iter().any(|own| own == meant)
        })
    };
    let mut others = pattern.steps().iter().filter(|other| other.entity != entity.name);
    is_transaction(pattern)
        && others.any(|other| {
            other.kind == WriteKind::Put
                && other.condition == Some(Condition::NotExists)
                && context.model.entity(&other.entity).is_some_and(guards)
        })
}

pub(super) fn uniqueness(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (_, entity) in context.entities() {
        for unique in entity.unique.iter().filter(|unique| !unique_by_itself(entity, unique)) {
            let sets = |step: &Write| match step.kind {
                WriteKind::Put => true,
                WriteKind::Update => {
                    let mut targets = step.section(Section::Set).filter_map(|effect| effect.path.whole());
                    targets.any(|name| unique.iter().any(|own| own == name))
                }
                WriteKind::Delete | WriteKind::Check | WriteKind::Get => false,
            };
            let own = context.steps().filter(|(_, step, own)| own.name == entity.name && sets(step));
            for (pattern, step, _) in own {
                if has_sentinel(context, pattern, entity, unique) {
                    continue;
                }
                let text = format!(
                    "nothing in {} keeps {} of {} unique: a check before the write is overtaken",
                    pattern.id,
                    unique.join("+"),
                    entity.name
                );
                let fix = format!(
                    "put a sentinel item whose key is `{}#{{{}}}` and nothing else in the same transaction, with `if: not-exists`",
                    unique.join("_"),
                    unique.join("}#{")
                );
                found.push(finding("L057", Severity::Warning, step.at, &pattern.id, text, fix));
            }
        }
    }
    found
}
