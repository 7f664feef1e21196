//! What a member of a group sets differently, and the values that the group has otherwise.
//!
//! A table's record holds the values in force. For a change of the group they are lifted to the group's
//! values, changed like those of any table, and laid back: an override stays while the group's value that it
//! replaces is what it was (observed: a change of the value ends the override).

use std::collections::BTreeMap;

use keywright_semantics::schema::TableClass;

use super::replicas::{IndexOverrides, Overrides};
use super::table::{ClassState, Table};
use crate::support::layout::TableId;

/// The settings of a table that a replica can set differently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    pub read_units: u64,
    pub read_units_max: Option<i64>,
    pub class: Option<TableClass>,
    /// By the names of global indexes.
    pub indexes: BTreeMap<String, IndexValues>,
}

/// The same of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexValues {
    pub read_units: u64,
    pub read_units_max: Option<i64>,
}

impl Values {
    /// Those in force.
    fn of(table: &Table) -> Self {
        let indexes = table.indexes_with_states().map(|(schema, state)| {
            let values = IndexValues {
                read_units: state.throughput.read_units,
                read_units_max: state.on_demand.read_units_max,
            };
            (schema.name.clone(), values)
        });
        Self {
            read_units: table.throughput.read_units,
            read_units_max: table.on_demand.read_units_max,
            class: table.class.map(|state| state.class),
            indexes: indexes.collect(),
        }
    }

    /// Those of a group: each is the value of the first member, in the order of joining, that does not
    /// override it. If all do, it is the first member's.
    pub(crate) fn of_group(tables: &[Table]) -> Self {
        let mut members: Vec<&Table> = tables.iter().collect();
        members.sort_by_key(|table| place(table));
        let Some(first) = members.first() else { return Self::default() };
        let mut values = Self::of(first);
        for table in members.iter().rev() {
            let own = Self::of(table);
            let none = Overrides::default();
            let overrides = table.as_member().map_or(&none, |member| &member.overrides);
            values.take(&own, overrides);
        }
        values
    }

    /// Takes the values of a member that it does not override.
    fn take(&mut self, own: &Self, overrides: &Overrides) {
        if overrides.read_units.is_none() {
            self.read_units = own.read_units;
        }
        if overrides.read_units_max.is_none() {
            self.read_units_max = own.read_units_max;
        }
        if overrides.class.is_none() {
            self.class = own.class;
        }
        for (name, own) in &own.indexes {
            let overrides = overrides.indexes.get(name).copied().unwrap_or_default();
            let values = self.indexes.entry(name.clone()).or_insert(*own);
            if overrides.read_units.is_none() {
                values.read_units = own.read_units;
            }
            if overrides.read_units_max.is_none() {
                values.read_units_max = own.read_units_max;
            }
        }
    }

    /// Puts these values in force in a table.
    pub(crate) fn put_into(&self, table: &mut Table) {
        table.throughput.read_units = self.read_units;
        table.on_demand.read_units_max = self.read_units_max;
        table.class = self
            .class
            .map(|class| ClassState { class, changed_ms: table.class.and_then(|state| state.changed_ms) });
        assert_eq!(table.schema.indexes.len(), table.states.len(), "every index has a state");
        for (schema, state) in table.schema.indexes.iter().zip(&mut table.states) {
            if let Some(values) = self.indexes.get(&schema.name) {
                state.throughput.read_units = values.read_units;
                state.on_demand.read_units_max = values.read_units_max;
            }
        }
    }

    /// These values with a member's overrides.
    pub(crate) fn with(&self, overrides: &Overrides) -> Self {
        let mut values = self.clone();
        values.read_units = overrides.read_units.unwrap_or(values.read_units);
        values.read_units_max = overrides.read_units_max.or(values.read_units_max);
        values.class = overrides.class.map(|own| own.class).or(values.class);
        for (name, own) in &overrides.indexes {
            if let Some(index) = values.indexes.get_mut(name) {
                index.read_units = own.read_units.unwrap_or(index.read_units);
                index.read_units_max = own.read_units_max.or(index.read_units_max);
            }
        }
        values
    }

    /// The class as it is in force: a table without one has the standard class.
    pub(crate) fn class(&self) -> TableClass {
        self.class.unwrap_or(TableClass::Standard)
    }

    /// The overrides that replace a value which is the same now.
    fn kept(&self, now: &Self, overrides: &Overrides) -> Overrides {
        let same = |is_same: bool| is_same.then_some(());
        let indexes = overrides.indexes.iter().filter_map(|(name, own)| {
            let (before, now) = (self.indexes.get(name)?, now.indexes.get(name)?);
            let kept = IndexOverrides {
                read_units: same(before.read_units == now.read_units).and(own.read_units),
                read_units_max: same(before.read_units_max == now.read_units_max).and(own.read_units_max),
            };
            (kept != IndexOverrides::default()).then(|| (name.clone(), kept))
        });
        Overrides {
            read_units: same(self.read_units == now.read_units).and(overrides.read_units),
            read_units_max: same(self.read_units_max == now.read_units_max).and(overrides.read_units_max),
            class: same(self.class() == now.class()).and(overrides.class),
            key_arn: overrides.key_arn.clone(),
            indexes: indexes.collect(),
        }
    }
}

/// The place of a table in its group.
fn place(table: &Table) -> usize {
    let members = table.replication.iter().flat_map(|group| &group.members);
    members.into_iter().position(|member| member.table == table.id).unwrap_or(0)
}

/// The tables of a group while all of them have the group's values.
pub(crate) struct Lifted {
    before: Values,
}

impl Lifted {
    /// Gives all tables the group's values. A table without replicas has them already.
    pub(crate) fn lift(tables: &mut [Table]) -> Self {
        let before = Values::of_group(tables);
        if tables.len() > 1 {
            for table in tables.iter_mut() {
                before.put_into(table);
            }
        }
        Self { before }
    }

    /// Puts the overrides in force again that still replace the value that they did.
    pub(crate) fn lay(self, tables: &mut [Table]) {
        let is_group = tables.first().is_some_and(|first| first.replication.is_some());
        assert!(is_group || tables.len() <= 1, "several tables are a group");
        // A table whose group is on other servers may have overrides too.
        let Some(first) = tables.first().filter(|first| first.replication.is_some()) else { return };
        let now = Values::of(first);
        let members = first.replication.iter().flat_map(|group| &group.members);
        let kept: Vec<(TableId, Overrides)> =
            members.map(|member| (member.table, self.before.kept(&now, &member.overrides))).collect();
        for (member, overrides) in kept {
            set_overrides(tables, member, &overrides);
            if let Some(table) = tables.iter_mut().find(|table| table.id == member) {
                now.with(&overrides).put_into(table);
            }
        }
    }
}

/// Notes a member's overrides in every record of its group.
pub(crate) fn set_overrides(tables: &mut [Table], member: TableId, overrides: &Overrides) {
    for table in tables {
        if let Some(member) = table.replication.as_mut().and_then(|group| group.member_mut(member)) {
            member.overrides = overrides.clone();
        }
    }
}
