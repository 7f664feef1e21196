//! Enums of which each variant has a name for programs and named fields, so that one function renders their
//! JSON.

use keywright_model::json::Json;
use keywright_semantics::schema::{IndexSchema, Projection};

/// A value in the JSON of an operation or a remark.
pub(super) trait Field {
    /// Its JSON; none if the field is left out.
    fn json(&self) -> Option<Json>;
}

/// Declares an enum with a kind for each variant.
macro_rules! kinds {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $kind:literal $variant:ident { $($field:ident: $type:ty),* $(,)? })*
    }) => {
        $(#[$meta])*
        #[expect(missing_docs, reason = "the line above a variant says what its fields are")]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant { $($field: $type),* },)*
        }

        impl $name {
            /// The kinds, each with the names of its fields.
            pub const KINDS: &'static [(&'static str, &'static [&'static str])] =
                &[$(($kind, &[$(stringify!($field)),*])),*];

            /// The variant's name for programs.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $kind,)*
                }
            }

            fn fields(&self) -> Vec<(&'static str, Option<keywright_model::json::Json>)> {
                match self {
                    $(Self::$variant { $($field),* } => vec![
                        $((stringify!($field), $crate::diff::kinds::Field::json($field))),*
                    ],)*
                }
            }

            /// Its kind and its fields.
            pub(super) fn json(&self) -> keywright_model::json::Json {
                $crate::diff::kinds::object(self.kind(), self.fields())
            }
        }
    };
}
pub(super) use kinds;

pub(super) fn object(kind: &str, fields: Vec<(&str, Option<Json>)>) -> Json {
    let mut json = Json::object([("kind", Json::text(kind))]);
    for (name, value) in fields {
        if let Some(value) = value {
            json.set(name, value);
        }
    }
    json
}

impl Field for String {
    fn json(&self) -> Option<Json> {
        Some(Json::text(self))
    }
}

impl Field for u64 {
    fn json(&self) -> Option<Json> {
        Some(Json::number(self))
    }
}

/// `false` is left out.
impl Field for bool {
    fn json(&self) -> Option<Json> {
        self.then_some(Json::Bool(true))
    }
}

impl<T: Field> Field for Option<T> {
    fn json(&self) -> Option<Json> {
        self.as_ref().and_then(Field::json)
    }
}

impl<T: Field> Field for Vec<T> {
    fn json(&self) -> Option<Json> {
        Some(Json::List(self.iter().filter_map(Field::json).collect()))
    }
}

impl Field for IndexSchema {
    fn json(&self) -> Option<Json> {
        let key = self.key.attributes().map(|attribute| Json::text(&attribute.name));
        let projection = match &self.projection {
            Projection::All => Json::text("ALL"),
            Projection::KeysOnly => Json::text("KEYS_ONLY"),
            Projection::Include(names) => Json::List(names.iter().map(Json::text).collect()),
        };
        Some(Json::object([("key", Json::List(key.collect())), ("projection", projection)]))
    }
}
