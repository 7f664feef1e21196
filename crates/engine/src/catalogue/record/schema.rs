//! The stored form of keys and indexes, in every format of a table's record.
//!
//! It mirrors the schema, because `semantics` has no stored format.

use std::collections::BTreeSet;

use keywright_semantics::schema::{IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection};
use serde::{Deserialize, Serialize};

use crate::catalogue::table::IndexState;

#[derive(Clone, Copy, Serialize, Deserialize)]
enum KeyTypeRecord {
    S,
    N,
    B,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AttributeRecord {
    name: String,
    key_type: KeyTypeRecord,
}

#[derive(Serialize, Deserialize)]
pub(super) struct KeyRecord {
    partition: Vec<AttributeRecord>,
    sort: Vec<AttributeRecord>,
}

#[derive(Serialize, Deserialize)]
enum ProjectionRecord {
    All,
    KeysOnly,
    Include(BTreeSet<String>),
}

#[derive(Serialize, Deserialize)]
enum KindRecord {
    Global,
    Local,
}

#[derive(Serialize, Deserialize)]
pub(super) struct IndexRecord {
    name: String,
    kind: KindRecord,
    key: KeyRecord,
    projection: ProjectionRecord,
    state: IndexState,
}

impl From<&KeyAttribute> for AttributeRecord {
    fn from(attribute: &KeyAttribute) -> Self {
        let key_type = match attribute.key_type {
            KeyType::S => KeyTypeRecord::S,
            KeyType::N => KeyTypeRecord::N,
            KeyType::B => KeyTypeRecord::B,
        };
        Self { name: attribute.name.clone(), key_type }
    }
}

impl From<AttributeRecord> for KeyAttribute {
    fn from(record: AttributeRecord) -> Self {
        let key_type = match record.key_type {
            KeyTypeRecord::S => KeyType::S,
            KeyTypeRecord::N => KeyType::N,
            KeyTypeRecord::B => KeyType::B,
        };
        Self { name: record.name, key_type }
    }
}

impl From<&KeySchema> for KeyRecord {
    fn from(key: &KeySchema) -> Self {
        Self {
            partition: key.partition.iter().map(Into::into).collect(),
            sort: key.sort.iter().map(Into::into).collect(),
        }
    }
}

impl From<KeyRecord> for KeySchema {
    fn from(record: KeyRecord) -> Self {
        Self {
            partition: record.partition.into_iter().map(Into::into).collect(),
            sort: record.sort.into_iter().map(Into::into).collect(),
        }
    }
}

pub(super) fn index_record(schema: &IndexSchema, state: &IndexState) -> IndexRecord {
    IndexRecord {
        name: schema.name.clone(),
        kind: match schema.kind {
            IndexKind::Global => KindRecord::Global,
            IndexKind::Local => KindRecord::Local,
        },
        key: (&schema.key).into(),
        projection: match &schema.projection {
            Projection::All => ProjectionRecord::All,
            Projection::KeysOnly => ProjectionRecord::KeysOnly,
            Projection::Include(names) => ProjectionRecord::Include(names.clone()),
        },
        state: state.clone(),
    }
}

pub(super) fn index_of_record(record: IndexRecord) -> (IndexSchema, IndexState) {
    let schema = IndexSchema {
        name: record.name,
        kind: match record.kind {
            KindRecord::Global => IndexKind::Global,
            KindRecord::Local => IndexKind::Local,
        },
        key: record.key.into(),
        projection: match record.projection {
            ProjectionRecord::All => Projection::All,
            ProjectionRecord::KeysOnly => Projection::KeysOnly,
            ProjectionRecord::Include(names) => Projection::Include(names),
        },
    };
    (schema, record.state)
}
