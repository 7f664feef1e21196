//! A design written into a model: its table's keys and indexes, its entities' templates, its patterns' indexes.

use super::{Design, Named, Problem, name};
use crate::model::{Index, IndexKind, KeyPart, KeyType, Model, Projection, Slot, Template};

/// The name of a slot's index; none for the base table.
pub fn index_name(slot: usize) -> Option<String> {
    (slot > 0).then(|| format!("gsi{slot}"))
}

/// The model with the keys of one table replaced. The faults are templates that cannot be written.
pub fn to_model(model: &Model, table: &str, problem: &Problem, design: &Design) -> Result<Model, String> {
    let mut model = model.clone();
    if let Some(table) = model.tables.iter_mut().find(|own| own.name == table) {
        table.partition = string("pk".to_owned());
        table.sort = Some(string("sk".to_owned()));
        table.indexes = (1..=design.gsis).filter_map(index).collect();
    }
    let named = name(problem, design);
    for entity in model.entities.iter_mut().filter(|entity| entity.table == table) {
        let own = |wanted: usize| named.iter().find(|own| own.entity == entity.name && own.slot == wanted);
        entity.key = own(0).map(slot).transpose()?.unwrap_or_default();
        let slots = (1..=design.gsis).filter_map(|number| Some((index_name(number)?, own(number)?)));
        entity.slots = slots.map(|(name, own)| Ok((name, slot(own)?))).collect::<Result<_, String>>()?;
    }
    for asked in &design.asked {
        for pattern in model.patterns.iter_mut().filter(|pattern| pattern.id == asked.pattern) {
            pattern.uses = index_name(asked.slot);
        }
    }
    Ok(model)
}

fn string(name: String) -> KeyPart {
    KeyPart { name, key_type: KeyType::S }
}

fn index(slot: usize) -> Option<Index> {
    let name = index_name(slot)?;
    Some(Index {
        partition: vec![string(format!("{name}pk"))],
        sort: vec![string(format!("{name}sk"))],
        name,
        at: crate::model::At::default(),
        kind: IndexKind::Global,
        projection: Projection::All,
    })
}

fn slot(named: &Named) -> Result<Slot, String> {
    let prefix = index_name(named.slot).unwrap_or_default();
    Ok(Slot {
        templates: vec![
            (format!("{prefix}pk"), Template::parse(&named.partition)?),
            (format!("{prefix}sk"), Template::parse(&named.sort)?),
        ],
        at: crate::model::At::default(),
    })
}
